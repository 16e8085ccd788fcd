"""Alternatives of asymptotically optimal IDS that are exact: the nearest parameters of cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.validation import Array, Indices


def nearest_in_cells(
    offsets: Array, slopes: Array, center: Array, metric: Array, leader: int
) -> tuple[Array, Array]:
    """Return the nearest points of all cells (k, D), and their squared distances (k,).

    The cell of y holds the x with offsets_y + <slopes_y, x> >= offsets_b + <slopes_b, x> for all b.
    Cells of duplicates of the leader, and those that are empty, are infinitely far.

    Parameters
    ----------
    offsets, slopes
        Of the rewards, shapes (k,) and (k, D).
    center, metric
        The estimate (D,) and V, shape (D, D).
    leader
        The action that is best at the estimate.
    """
    count, size = len(offsets), float(np.abs(slopes).max(initial=0.0)) or 1.0
    points, squared = np.tile(center, (count, 1)), np.full(count, np.inf)
    for y in range(count):
        away, short = slopes - slopes[y], offsets[y] - offsets
        rows = np.abs(away).max(axis=1, initial=0.0) > 1e-12 * size
        if not rows[leader] or (short[~rows] < -1e-12 * size).any():
            continue
        try:
            nearest = conic.nearest_point(center, metric, away[rows] / size, short[rows] / size)
        except SolverError:  # an empty cell
            continue
        step = nearest - center
        points[y], squared[y] = nearest, float(step @ metric @ step)
    return points, squared


def cell_information(state: Any, rows: Indices) -> Array:
    """Return what actions tell about the alternatives of some replicates, shape (q, k)."""
    from partial_monitoring.numerics.compiled.asymptotic import squared_radius

    estimate, rule = state.estimate, state.rule
    design = estimate.design
    r, hidden = design.rank, design.basis.shape[1] - design.rank
    found = np.empty((len(rows), len(design.offsets)))
    for place, i in enumerate(rows):
        center = np.concatenate([estimate.coordinates[i], np.zeros(hidden)])
        metric = design.regularization * np.eye(r + hidden)
        metric[:r, :r] = estimate.gram[i]
        leader = int(state.leader[i])
        points, squared = nearest_in_cells(design.offsets, design.slopes, center, metric, leader)
        squared = squared / rule.noise**2
        eta = rule.eta if rule.eta > 0 else 1.0 / np.sqrt(state.largest[i])
        weights = np.exp(-eta * (squared - min(float(squared.min()), 1e300)))
        weights = weights / max(float(weights.sum()), 1e-300)
        beta = squared_radius(rule, estimate.round[i], estimate.log_det[i])
        steps = (points - center)[:, :r]  # (k, r)
        shown = np.linalg.norm(design.maps @ steps.T, axis=1)  # (x, y)
        own = np.trace(estimate.signals[i], axis1=1, axis2=2)
        wide = np.sqrt(beta * np.maximum(own, 0.0))
        found[place] = 0.5 * ((shown + wide[:, None]) ** 2 * weights).sum(axis=1)
    return found
