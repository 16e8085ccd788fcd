"""The next estimate: least squares after one more observation of each replicate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partial_monitoring.estimation.later import filled
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    refresh_period,
    refresh_some,
)
from partial_monitoring.estimation.linear.weights import forgotten, weighed, weighed_triangle
from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, Indices


def updated(estimate: Estimate, action: Indices, observation: Array) -> Estimate:
    """Return the estimate after observations (n, m) of actions (n,), in the user's units.

    Entries beyond the rows of an action are ignored. Cost O(k (r + m^2) + r^2) per row.
    """
    design = estimate.design
    plays, sums = estimate.plays, estimate.sums
    if design.forgetting.active or estimate.triangle.size:
        own = design.maps, design.counts, design.whitening, design.expected
        rows, residual, *counted = compiled.linear.take_in(action, observation, *own, plays, sums)
        return _moved(estimate, rows, residual, *counted)
    plays, sums, due = plays.copy(), sums.copy(), np.empty(len(action), dtype=bool)
    gram, inverse, vector = estimate.gram.copy(), estimate.inverse.copy(), estimate.vector.copy()
    log_det, rounds, x = estimate.log_det.copy(), estimate.round.copy(), estimate.coordinates.copy()
    means, variances = estimate.means.copy(), estimate.variances.copy()
    # Of actions that show their own reward the variances say it all.
    shows_own = design.shows_own_reward
    signals = variances[:, :, None, None] if shows_own else estimate.signals.copy()
    late = compiled.learning.learn(
        action,
        observation,
        design.maps,
        design.counts,
        design.whitening,
        design.expected,
        design.observed_features,
        design.features_by_coordinate,
        shows_own,
        plays,
        sums,
        gram,
        inverse,
        vector,
        x,
        means,
        variances,
        signals,
        log_det,
        rounds,
        refresh_period(design),
        due,
    )
    known: Estimate = filled(
        Estimate,
        design=design,
        round=rounds,
        gram=gram,
        inverse=inverse,
        log_det=log_det,
        vector=vector,
        coordinates=x,
        means=means,
        variances=variances,
        signals=signals,
        plays=plays,
        sums=sums,
        triangle=estimate.triangle,
    )
    return refresh_some(known, due) if late else known


def updated_by_rows(estimate: Estimate, rows: Array, residual: Array) -> Estimate:
    """Return the estimate after rows (n, m, r) were seen with residuals (n, m) from theta_0."""
    return _moved(estimate, rows, residual, estimate.plays, estimate.sums)


def _moved(
    estimate: Estimate, rows: Array, residual: Array, plays: Indices, sums: Array
) -> Estimate:
    """Return the estimate after rows (n, m, r) and residuals (n, m), with its plays and sums."""
    design, before = estimate.design, estimate
    if design.forgetting.active:
        gram, vector, faded = forgotten(design, before.round, before.gram, before.vector, rows)
        estimate = replace(estimate, gram=gram, vector=vector)
    triangle = estimate.triangle
    if triangle.size and not design.forgetting.active:
        triangle = compiled.linear.rotate_in(triangle, rows, residual)
    # Of actions that show their own reward the variances say it all.
    shown = 0 if design.shows_own_reward else design.maps.shape[1]
    moved = compiled.linear.update(
        rows,
        residual,
        design.maps[:, :shown],
        design.observed_features,
        design.features_by_coordinate,
        estimate.gram,
        estimate.inverse,
        estimate.vector,
        estimate.coordinates,
        estimate.means,
        estimate.variances,
        estimate.signals[:, :, :shown, :shown],
        estimate.log_det,
        estimate.round,
        refresh_period(design),
    )
    gram, inverse, vector, x, means, variances, signals, log_det, rounds, due = moved
    if design.shows_own_reward:
        signals = variances[:, :, None, None]
    if design.forgetting.active:
        rounds = np.minimum(rounds, design.forgetting.memory)
        gram, vector = weighed(design, rounds, gram, vector)
        triangle = weighed_triangle(design, before.round, rounds, triangle, rows, residual, faded)
    known: Estimate = filled(
        Estimate,
        design=design,
        round=rounds,
        gram=gram,
        inverse=inverse,
        log_det=log_det,
        vector=vector,
        coordinates=x,
        means=means,
        variances=variances,
        signals=signals,
        plays=plays,
        sums=sums,
        triangle=triangle,
    )
    return refresh_some(known, due) if np.count_nonzero(due) else known
