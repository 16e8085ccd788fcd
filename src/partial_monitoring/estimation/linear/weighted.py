"""Least squares with many equal observations at one stroke, and with weights.

An observation that came n times with weight w adds n w (M W)' (M W) to the Gram matrix, as one
whose rows and residual are (n w)^(1/2) times as long. The plays and sums of an estimate count
observations and know no weights: with the first weight that is not 1, an estimate begins to keep
the orthogonal factor of its rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    orthogonal_factor,
    updated_by_rows,
)
from partial_monitoring.validation import Array, Indices


def updated_often(
    estimate: Estimate, action: Indices, observation: Array, often: Indices, weight: Array
) -> Estimate:
    """Return the estimate after observations (n, m) of actions (n,) came often (n,) times.

    They are in the user's units, and each has a weight (n,).
    """
    design, each = estimate.design, np.arange(len(action))
    m, r = design.maps.shape[1:]
    triangle = estimate.triangle
    if not triangle.size and (weight != 1.0).any():
        triangle = np.stack([orthogonal_factor(estimate, i)[:r] for i in each.tolist()])
    shown = np.where(np.arange(m) < design.counts[action][:, None], observation[:, :m], 0.0)
    plays, sums = estimate.plays.copy(), estimate.sums.copy()
    plays[each, action] += often
    sums[each, action] += often[:, None] * shown
    residual = shown * design.whitening[action][:, None] - design.expected[action]
    known = replace(estimate, plays=plays, sums=sums, triangle=triangle)
    return updated_by_rows_often(known, design.maps[action], residual, often, weight)


def updated_by_rows_often(
    estimate: Estimate, rows: Array, residual: Array, often: Indices, weight: Array
) -> Estimate:
    """Return the estimate after rows (n, m, r) with residuals (n, m) came often (n,) times.

    Each time they have a weight (n,).
    """
    size = np.sqrt(often * weight)[:, None]
    known = updated_by_rows(estimate, size[:, :, None] * rows, size * residual)
    return replace(known, round=estimate.round + often)
