"""What the actions of a context showed, for an estimate that keeps no actions of its own."""

from __future__ import annotations

import numpy as np

from partial_monitoring.estimation.later import filled
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    refresh_period,
    refresh_some,
)
from partial_monitoring.estimation.linear.updating import updated_by_rows
from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, Indices


def updated_in(estimate: Estimate, part: Design, action: Indices, observation: Array) -> Estimate:
    """Return the estimate after actions (n,) of a context, by its design, showed (n, m)."""
    design = estimate.design
    if design.forgetting.active or observation.shape[1] != part.maps.shape[1]:
        return updated_by_rows(estimate, *taken_in(part, action, observation))
    every, due = part.game.row_counts, np.empty(len(action), dtype=bool)
    triangle, gram, inverse = (
        estimate.triangle.copy(),
        estimate.gram.copy(),
        estimate.inverse.copy(),
    )
    vector, x = estimate.vector.copy(), estimate.coordinates.copy()
    log_det, rounds = estimate.log_det.copy(), estimate.round.copy()
    late = compiled.context_actions.learn(
        action,
        np.array([every[a] for a in action.tolist()]),
        observation,
        part.maps,
        part.whitening,
        part.expected,
        triangle,
        gram,
        inverse,
        vector,
        x,
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
        means=estimate.means,
        variances=estimate.variances,
        signals=estimate.signals,
        plays=estimate.plays,
        sums=estimate.sums,
        triangle=triangle,
    )
    return refresh_some(known, due) if late else known


def taken_in(part: Design, action: Indices, observation: Array) -> tuple[Array, Array]:
    """Return the rows (n, m, r) that were observed and what they showed beyond theta_0 (n, m)."""
    width, m = observation.shape[1], part.maps.shape[1]
    observed = observation[:, :m]
    if not part.full:
        observed = np.where(np.arange(m) < part.counts[action][:, None], observed, 0.0)
    rows = part.maps[action]
    beyond = observed * part.whitening[action][:, None] - part.expected[action]
    if width == m:
        return rows, beyond
    room = (0, 0), (0, width - m)
    return np.pad(rows, (*room, (0, 0))), np.pad(beyond, room)
