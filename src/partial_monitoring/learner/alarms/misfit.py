"""Misfit: no theta in Theta explains what the actions show together.

**Signals** (finite games). Cell c shows signal i with probability p_ci(theta), linear in the
distribution theta of the outcomes. Let Q be the product over cells of the mixtures of Krichevsky
and Trofimov (``mixtures.py``), a prediction of every signal from those before, and P_theta the
probability of all signals under theta. For the true theta Q / P_theta is a nonnegative
supermartingale that starts at 1: given the past and the action, a signal i is predicted with q_i
and has the probability p_i, so the ratio is multiplied by a number with mean sum of q_i over p_i >
0, which is at most 1. And

    e_t = Q / max over theta of P_theta

is at most that ratio, whatever the true theta is. The maximum is replaced by an upper bound
(``fits.py``).

**Numbers** (linear games). y = M_a theta + noise, the noise sub-Gaussian with the constant sigma_a:
E exp(<u, noise>) <= exp(sigma_a^2 |u|^2 / 2) for all u, given the past. Nothing else is assumed, in
particular no normal distribution. Two e-processes are averaged, which gives one:

*Means.* For fixed deviations delta_c of the means of cells, and the true theta, the product over
rounds of exp(<delta, y - M_a theta> / sigma^2 - |delta|^2 / (2 sigma^2)) is a supermartingale:
insert u = delta / sigma^2. So is its average over independent delta_c ~ N(0, sigma_c^2/tau I),

    M_t(theta) = prod over c of (tau / (n_c + tau))^(m_c/2)
                 exp(n_c^2 |mean_c - M_c theta|^2 / (2 sigma_c^2 (n_c + tau))),

and e_t is the smallest M_t(theta), which is a weighted least-squares problem: it is the prior of
the deviations, centred at what theta predicts, that makes it one.

*Scatter.* For 0 <= lambda < 1 a vector of m rows has E exp(lambda |noise|^2 / (2 sigma^2)) <= (1 -
lambda)^(-m/2): the left side is the mean of E exp(sqrt(lambda) <g, noise> / sigma) over standard
normal g, at most that of exp(lambda |g|^2 / 2). So with N numbers observed in all, (1 -
lambda)^(N/2) exp(lambda/2 sum of squared residuals / sigma^2) is a supermartingale at the true
theta, and with the smallest sum of squares an e-process; several lambda are averaged. It rises if
observations scatter more than ``noise_std`` says.

Where Theta is bounded, theta is restricted to a ball around it; kernel games are linear in a vector
whose norm is at most B. A larger set of theta makes e_t smaller, never wrong. In games in which
theta can explain any means (a bandit whose arms have nothing to do with each other) e_t of the
means stays below 1: there is nothing to test.
"""

from __future__ import annotations

import numpy as np

from partial_monitoring.learner.alarms.fits import least_squares, most_likely
from partial_monitoring.learner.alarms.mixtures import log_signals, log_spread, weights
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import AllSums, Cell, Evidence
from partial_monitoring.validation import Array

LAMBDAS = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4])
"""The exponents of the test of scatter."""


def misfit(watched: Watched, sums: AllSums) -> Evidence:
    """Return the e-value against the hypothesis that one theta explains what all cells show."""
    cells = watched.random_cells(sums)
    if not cells:
        return Evidence(0.0, "")
    return (_signals if watched.signals else _numbers)(watched, sums, cells)


def _signals(watched: Watched, sums: AllSums, cells: list[Cell]) -> Evidence:
    counts = [np.array(sums[cell].total) for cell in cells]
    rows = [watched.rows(cell) for cell in cells]
    fit = most_likely(np.concatenate(rows), np.concatenate(counts))
    log_e = sum(float(log_signals(own)) for own in counts) - fit.bound
    shown = [own / own.sum() for own in counts]
    expected = [own @ fit.theta for own in rows]
    loss = [
        float((n[n > 0] * np.log(x[n > 0] / np.maximum(p[n > 0], 1e-300))).sum())
        for n, x, p in zip(counts, shown, expected, strict=True)
    ]
    worst = int(np.argmax(loss))
    return Evidence(log_e, _contrast(watched, cells[worst], shown[worst], expected[worst]))


def _contrast(watched: Watched, cell: Cell, shown: Array, expected: Array) -> str:
    words = watched.mean_in_words
    return (
        f"what the actions show together does not fit the game: {watched.label(cell)} showed "
        f"{words(cell, shown)}, the closest fit to all actions has {words(cell, expected)}."
    )


def _numbers(watched: Watched, sums: AllSums, cells: list[Cell]) -> Evidence:
    rows = [watched.rows(cell) for cell in cells]
    noise = np.array([watched.noise(cell) for cell in cells])
    plays = np.array([sums[cell].plays for cell in cells], dtype=float)
    means = [np.array(sums[cell].total) / sums[cell].plays for cell in cells]
    length = np.array([len(own) for own in rows])

    def least(weight: Array) -> tuple[Array, float]:
        """Minimize the sum over cells of weight |mean - M theta|^2 / sigma^2."""
        scale = np.repeat(np.sqrt(weight) / noise, length)
        stacked, target = np.concatenate(rows), np.concatenate(means)
        return least_squares(scale[:, None] * stacked, scale * target, *watched.ball)

    theta, bound = least(weights(plays))
    log_means = float(log_spread(plays, length).sum()) + bound / 2
    numbers = float(plays @ length)
    scatter = np.array([sums[cell].scatter for cell in cells]) / noise**2
    squares = least(plays)[1] + float(scatter.sum())
    each = 0.5 * (numbers * np.log1p(-LAMBDAS) + LAMBDAS * squares)
    log_scatter = float(np.logaddexp.reduce(each)) - np.log(len(LAMBDAS))
    log_e = float(np.logaddexp(log_means, log_scatter) - np.log(2))
    if log_scatter > log_means:
        ratio = np.sqrt(squares / numbers)
        return Evidence(log_e, f"observations scatter {ratio:.2f} times as much as noise_std says.")
    shown = [own @ theta for own in rows]
    loss = [
        n * float(((x - y) ** 2).sum()) / size**2
        for n, size, x, y in zip(plays, noise, means, shown, strict=True)
    ]
    worst = int(np.argmax(loss))
    return Evidence(log_e, _contrast(watched, cells[worst], means[worst], shown[worst]))
