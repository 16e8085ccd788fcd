"""Least squares with many equal observations at one stroke, and with weights.

An observation that came n times with weight w adds n w (M W)' (M W) to the Gram matrix, as one
whose rows and residual are (n w)^(1/2) times as long. The plays and sums of an estimate count
observations and know no weights: with the first weight that is not 1, an estimate begins to keep
the orthogonal factor of its rows. So it does with the first row that is of no action of its game.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from partial_monitoring.estimation.linear.design import LARGEST_LEVERAGE
from partial_monitoring.estimation.linear.least_squares import Estimate, orthogonal_factor
from partial_monitoring.estimation.linear.updating import updated_by_rows
from partial_monitoring.validation import Array, Indices

NEGLIGIBLE = 1e-9
"""How far a row may reach out of what the actions of a game show, relative to its length."""


class Rows(NamedTuple):
    """What an observation was of, apart from any action: rows of the unknown, and noise."""

    rows: Array
    """Shape (m, d)."""
    noise: float
    """Its standard deviation."""


def updated_by_shown(
    estimate: Estimate, shown: Rows, observed: Array, often: Indices, weight: Array
) -> Estimate | None:
    """Return the estimate after rows of theta showed values (m,) often (n,) times.

    Each time they have a weight (n,). It is None if they show what no action of the game does, or
    are too large.
    """
    design, n = estimate.design, estimate.replicates
    scale = design.noise_std / shown.noise
    inside, beyond = np.split(shown.rows @ design.basis, [design.rank], axis=1)
    if np.abs(beyond).max(initial=0.0) > NEGLIGIBLE * np.abs(shown.rows).max(initial=0.0):
        return None
    residual = scale * (observed - shown.rows @ design.prior_mean)
    leverage = float(((scale * inside) ** 2).sum(axis=1).max(initial=0.0)) / design.regularization
    if leverage > LARGEST_LEVERAGE:
        return None
    known = _factored(estimate)
    if leverage > design.leverage:
        known = replace(known, design=replace(design, leverage=leverage))
    each = np.tile(scale * inside, (n, 1, 1)), np.tile(residual, (n, 1))
    return updated_by_rows_often(known, *each, often, weight)


def _factored(estimate: Estimate) -> Estimate:
    """Return the estimate with the orthogonal factor of its rows."""
    if estimate.triangle.size:
        return estimate
    r, each = estimate.design.rank, range(estimate.replicates)
    return replace(estimate, triangle=np.stack([orthogonal_factor(estimate, i)[:r] for i in each]))


def updated_often(
    estimate: Estimate, action: Indices, observation: Array, often: Indices, weight: Array
) -> Estimate:
    """Return the estimate after observations (n, m) of actions (n,) came often (n,) times.

    They are in the user's units, and each has a weight (n,).
    """
    design, each = estimate.design, np.arange(len(action))
    m = design.maps.shape[1]
    known = _factored(estimate) if (weight != 1.0).any() else estimate
    shown = np.where(np.arange(m) < design.counts[action][:, None], observation[:, :m], 0.0)
    plays, sums = estimate.plays.copy(), estimate.sums.copy()
    plays[each, action] += often
    sums[each, action] += often[:, None] * shown
    residual = shown * design.whitening[action][:, None] - design.expected[action]
    known = replace(known, plays=plays, sums=sums)
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
