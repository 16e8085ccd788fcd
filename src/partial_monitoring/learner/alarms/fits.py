"""The best explanation with one theta: bounds that hold whether or not a solver has converged.

They are the denominators of the e-processes. An e-value must never be too large, so what is used is
an upper bound of the largest likelihood and a lower bound of the smallest sum of squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.validation import Array

ACCURACY = 1e-3
"""Aimed-at distance between the bound and the largest log likelihood."""

MOST_STEPS = 60
"""Largest number of steps of Newton's method for each weight of the barrier."""

NEAR = 0.1
"""Relative changes up to this are made without a check, whose rounding would stop them."""

RESOLVED = 1e-13
"""The barrier weighs at least this fraction of all counts, so that its equations can be solved."""

ROUNDING = 1e-14
"""Relative error of sums."""


class Likely(NamedTuple):
    """A distribution of outcomes that makes counts likely, and how likely they can be."""

    theta: Array
    """Shape (d,)."""
    bound: float
    """No distribution of outcomes has a larger log likelihood."""


def most_likely(rows: Array, counts: Array) -> Likely:
    """Maximize sum_i n_i log <r_i, theta> over distributions theta of d outcomes.

    Newton's method for the same with weights mu on the logarithms of all probabilities. If p_i =
    <r_i, theta> then for every other distribution, with probabilities p'_i, by Jensen's inequality

        sum_i n_i log(p'_i / p_i) <= n log(sum_i (n_i/n) p'_i / p_i) = n log(<g, theta'> / n)

    with g = sum_i n_i r_i / p_i, and <g, theta'> is at most the largest entry of g. This is the
    bound; any theta gives a valid one, and at the optimum with mu it exceeds the maximum by at most
    d mu.

    Parameters
    ----------
    rows
        Which outcomes show each signal, shape (q, d), 0 or 1.
    counts
        How often each signal was seen, shape (q,).
    """
    seen = counts > 0
    rows, counts = rows[seen], counts[seen]
    n, d = float(counts.sum()), rows.shape[1]
    x = np.full(d, 1.0 / d)
    if n == 0.0:
        return Likely(x, 0.0)
    last = max(ACCURACY / d, RESOLVED * n)
    mu = max(n / d, last)
    while True:
        x = _centred(rows, counts, x, mu)
        if mu <= last:
            break
        mu = max(mu / 20.0, last)
    theta = x / x.sum()
    p = rows @ theta
    terms = counts * np.log(p)
    excess = n * np.log(max(float(((counts / p) @ rows).max()) / n, 1.0))
    return Likely(theta, float(terms.sum() + excess + ROUNDING * (np.abs(terms).sum() + n)))


def _centred(rows: Array, counts: Array, x: Array, mu: float) -> Array:
    """Maximize sum n_i log <r_i, x> + mu sum log x_j - (n + d mu) sum x_j over x > 0, from x.

    The entries of the solution sum to 1. Steps are relative to x.
    """
    total = float(counts.sum()) + len(x) * mu

    def value(point: Array) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = counts @ np.log(rows @ point) + mu * np.log(point).sum()
        return float(logs - total * point.sum())

    now = value(x)
    for _ in range(MOST_STEPS):
        scaled = rows * x / (rows @ x)[:, None]
        slope = counts @ scaled + mu - total * x
        curve = (scaled.T * counts) @ scaled + mu * np.eye(len(x))
        step = np.linalg.solve(curve, slope)
        gain = float(slope @ step)
        if gain <= (0.1 * len(x) * mu) ** 2 / total:  # the bound is about sqrt(gain total) away
            break
        size = min(1.0, 0.95 / max(float((-step).max()), 1e-300))
        if np.abs(step).max() > NEAR:
            while size > 1e-8 and not value(x * (1.0 + size * step)) >= now + 0.1 * size * gain:
                size *= 0.5
        x = x * (1.0 + size * step)
        now = value(x)
    return x


class Squares(NamedTuple):
    """A parameter with a small sum of squares, and how small it can be."""

    theta: Array
    """Shape (d,)."""
    bound: float
    """No parameter has a smaller sum."""


def least_squares(rows: Array, target: Array, center: Array, radius: float) -> Squares:
    """Minimize |target - rows theta|^2 over |theta - center| <= radius, which may be infinite.

    For every lambda >= 0 the minimum over all theta of |target - rows theta|^2 + lambda
    (|theta - center|^2 - radius^2) is at most the one that is asked for. The largest over a grid of
    lambda is returned; what rounding may add is taken off.

    Parameters
    ----------
    rows, target
        Shapes (q, d) and (q,).
    center, radius
        A ball around all parameters, center of shape (d,).
    """
    away = target - rows @ center
    if not len(away):
        return Squares(center, 0.0)
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    known = sizes > sizes.max(initial=0.0) * max(rows.shape) * np.finfo(float).eps
    left, sizes, right = left[:, known], sizes[known], right[known]  # the others are zero
    inside = left.T @ away
    rest = away - left @ inside
    outside = float(rest @ rest)
    best, chosen = outside, inside / sizes
    if np.isfinite(radius) and float(np.linalg.norm(chosen)) > radius:
        squares = sizes**2
        grid = np.geomspace(1e-9, 1e9, 181)[:, None] * max(float(squares.max(initial=0.0)), 1e-300)
        bent = inside**2 * (grid / (squares + grid))
        values = outside + bent.sum(axis=1) - grid[:, 0] * radius**2
        place = int(values.argmax())
        if values[place] > best:
            best, chosen = float(values[place]), sizes * inside / (squares + grid[place])
    error = ROUNDING * max(rows.shape) * float(np.linalg.norm(target) + np.linalg.norm(away))
    bound = max(np.sqrt(max(best, 0.0)) - error, 0.0) ** 2
    return Squares(center + right.T @ chosen, float(bound))
