"""Least squares as if open decisions had been answered with what is expected of them.

What an action shows on average at the estimate does not move the estimate: only the Gram matrix
grows, as it would with the answers themselves (Desautels, Krause and Burdick, "Parallelizing
exploration-exploitation tradeoffs in Gaussian process bandit optimization", JMLR 2014).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partial_monitoring.estimation.linear.least_squares import Estimate, refreshed
from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, Indices


def expecting_actions(estimate: Estimate, action: Indices, count: Indices) -> Estimate:
    """Return the estimate with actions (c,) answered as expected, each so often (n, c)."""
    design = estimate.design
    rows = design.maps[action]  # (c, m, r)
    shown = (design.expected[action] + _means(rows, estimate.coordinates)) / design.whitening[
        action, None
    ]
    plays, sums = estimate.plays.copy(), estimate.sums.copy()
    plays[:, action] += count
    sums[:, action] += count[:, :, None] * shown
    return expecting_rows(replace(estimate, plays=plays, sums=sums), rows, count)


def expecting_rows(estimate: Estimate, rows: Array, count: Indices) -> Estimate:
    """Return the estimate with rows (c, m, r) answered as expected, each so often (n, c).

    The sums run over one action after the other, so that those of other replicates change nothing.
    """
    gram = estimate.gram.copy()
    for place, own in enumerate(rows):
        gram += count[:, place, None, None] * (own.T @ own)
    vector = (gram * estimate.coordinates[:, None, :]).sum(axis=2)
    triangle = estimate.triangle
    if triangle.size:
        n, (c, m, r) = len(count), rows.shape
        often = np.sqrt(count)[:, :, None]
        shown = (often * _means(rows, estimate.coordinates)).reshape(n, c * m)
        several = (often[..., None] * rows).reshape(n, c * m, r)
        triangle = compiled.linear.rotate_in(triangle, several, shown)
    rounds = estimate.round + count.sum(axis=1)
    moved = replace(estimate, round=rounds, gram=gram, vector=vector, triangle=triangle)
    return replace(refreshed(moved), coordinates=estimate.coordinates, means=estimate.means)


def _means(rows: Array, coordinates: Array) -> Array:
    """Return what rows (c, m, r) show beyond theta_0 at estimates (n, r), shape (n, c, m)."""
    return np.asarray((rows * coordinates[:, None, None, :]).sum(axis=-1))
