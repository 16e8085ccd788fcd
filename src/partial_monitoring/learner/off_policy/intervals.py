"""Intervals around means of scores: normal, or by an empirical Bernstein bound for martingales."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.off_policy.reweighted import Scores
from partial_monitoring.validation import Array

INTERVALS = ("normal", "bernstein")
"""The kinds of interval."""

MANY = 1e6
"""Degrees of freedom of what is as good as normal."""

RATES = 4.0 ** np.arange(-20, 11)
"""The values of lambda of which the Bernstein bound takes the best, whatever the data are."""


def interval_of(
    scores: Scores, kind: str, level: float, method: str, *, known: bool
) -> tuple[float, float, float, float]:
    """Return the mean of the scores, its standard error, and the ends of its interval."""
    values = scores.values
    mean = float(values.mean())
    error, freedom = _standard_error(values, scores.variance, known=known)
    if kind == "normal":
        half = float(stdtrit(freedom, (1 + level) / 2)) * error
        return mean, error, mean - half, mean + half
    if method == "self_normalised":
        raise InvalidInput(
            "interval must be 'normal' with method 'self_normalised', which is not unbiased; got "
            "'bernstein'."
        )
    if not np.isfinite(scores.low).all() or not np.isfinite(scores.high).all():
        raise InvalidInput(
            "interval must be 'normal' for observations without bounds, such as those with "
            "Gaussian noise; got 'bernstein'."
        )
    half = _bernstein(values, scores.low, scores.high, 1 - level)
    return mean, error, mean - half, mean + half


def _standard_error(values: Array, variance: Array, *, known: bool) -> tuple[float, float]:
    """Return the standard error of a mean of scores (n,), and its degrees of freedom.

    It is the larger of two: from the scores, and from their conditional variances. If these are not
    ``known``, because distributions are not, the degrees of freedom of Satterthwaite say that the
    few large scores, of rare actions, are not enough to know how large the variance is.
    """
    n = len(values)
    if n < 2:
        return float("nan"), 1.0
    error = max(float(values.std(ddof=1) / np.sqrt(n)), float(np.sqrt(variance.sum()) / n))
    if known:
        return error, MANY
    squares = (values - values.mean()) ** 2
    squares /= squares.max() or 1.0
    total, fourth = float(squares.sum()), float((squares**2).sum())
    return error, min(max(total**2 / fourth, 1.0), MANY) if fourth > 0 else MANY


def _bernstein(values: Array, low: Array, high: Array, failure: float) -> float:
    """Return by how much a mean misses the mean of conditional expectations, with high probability.

    For predictable guesses h_t and any lambda below 1 / c, where c is the largest range of a score,
    exp(lambda sum_t (X_t - mu_t) - psi(lambda) sum_t (X_t - h_t)^2) with psi(lambda) =
    (-log(1 - c lambda) - c lambda) / c^2 has expectation at most 1 (Fan, Grama and Liu 2015;
    Howard et al. 2021). A union bound over ``RATES`` and both sides gives the width. It never
    misses by more than the mean of the ranges.
    """
    n = len(values)
    before = np.concatenate([[0.0], values.cumsum()[:-1]]) / np.maximum(np.arange(n), 1)
    variation = float(((values - np.clip(before, low, high)) ** 2).sum())
    c = float((high - low).max())
    rates = RATES[c * RATES < 1]
    psi = 0.5 * rates**2 if c == 0 else (-np.log1p(-c * rates) - c * rates) / c**2
    paid = np.log(2 * len(RATES) / failure)
    surely = float((high - low).mean())
    return float(((paid + psi * variation) / (rates * n)).min(initial=surely))
