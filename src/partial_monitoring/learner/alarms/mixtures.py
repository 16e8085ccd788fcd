"""Mixtures over the parameters of one cell: what it shows, predicted without a model of the game.

They are the numerators of all e-processes. Cells are predicted independently of each other, so the
logarithms are added.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from partial_monitoring.validation import Array

DEVIATION = 1.0
"""tau: deviations of a mean are drawn with the variance of this fraction of an observation."""

ROUNDING = 1e-14
"""Relative error of a logarithm, generously; it is taken off every e-value."""


def log_signals(counts: Array) -> Array:
    """Return log Q of counts of s signals (..., s), Q the mixture of Krichevsky and Trofimov.

    Q(y_1, ..., y_n) is the probability of the signals in their order under a distribution drawn
    from Dirichlet(1/2, ..., 1/2); it depends on their counts only. The next signal i has the
    probability (n_i + 1/2) / (n + s/2), which does not need to know when the last round is. What
    rounding may add is taken off.
    """
    size, n = counts.shape[-1], counts.sum(axis=-1)
    terms = gammaln(counts + 0.5) - gammaln(0.5)
    value = terms.sum(axis=-1) + gammaln(size / 2) - gammaln(n + size / 2)
    largest = np.abs(terms).sum(axis=-1) + np.abs(gammaln(n + size / 2))
    return np.asarray(value - ROUNDING * largest)


def log_most_likely(counts: Array) -> Array:
    """Return the largest log probability of counts of signals (..., s) of one distribution."""
    n = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, n, out=np.ones(counts.shape), where=counts > 0)
    value = (counts * np.log(shares)).sum(axis=-1)
    return np.asarray(value + ROUNDING * np.abs(value))


def log_spread(plays: Array, rows: Array) -> Array:
    """Return the part of a normal mixture that the data do not change: how wide it is.

    With noise of size sigma in m rows and a mean that is off by delta, n observations whose sum
    deviates by S from n times the mean contribute exp(<delta, S> / sigma^2 - n |delta|^2 /
    (2 sigma^2)). Over delta ~ N(0, sigma^2/tau I) that is on average

        (tau / (n + tau))^(m/2) exp(|S|^2 / (2 sigma^2 (n + tau))),

    the logarithm of whose first factor is returned, for plays n and rows m of the same shape.
    """
    return np.asarray(-0.5 * rows * np.log1p(plays / DEVIATION))


def weights(plays: Array) -> Array:
    """Return w with |S|^2 / (n + tau) = w |mean deviation|^2, which is n^2 / (n + tau)."""
    return np.asarray(plays**2 / (plays + DEVIATION))


def log_some(log_e: Array) -> Array:
    """Return the logarithm of the product over cells of (1 + e_c) / 2, from log e_c (cells, ...).

    It is the average over all sets of cells of the products of their e-values, and so an e-value if
    all of these are: large if some cells contradict the hypothesis, whichever they are, at the
    price of a factor 2 for each of the others.
    """
    return np.asarray((np.logaddexp(0.0, log_e) - np.log(2)).sum(axis=0))
