"""Policies over a box: in each round they decide among the points that are worth a look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule, squared_radius
from partial_monitoring.estimation.kernel.box import BoxData, Conditioned, box_model, looked_at
from partial_monitoring.estimation.kernel.design import KernelModel
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.shapes import Everything
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.numerics.threads import one_thread
from partial_monitoring.policies.policy import Choices, joined
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class BoxState:
    """What a policy knows after some rounds over a box: all that was seen."""

    game: KernelBoxGame
    model: KernelModel
    data: tuple[BoxData, ...]
    """Of each replicate."""

    @property
    def replayed(self) -> bool:
        """The state is saved as what was told."""
        return True

    @property
    def shape(self) -> Everything:
        """The ellipsoid is not cut."""
        return Everything()

    @property
    def estimate(self) -> KernelEstimate:
        """The estimate of the first replicate, at the points that are worth a look."""
        with one_thread():
            known = Conditioned.on(self.game, self.model, self.data[0])
            return known.estimate(looked_at(known, 1.0), named=True)


def initial_over_box(game: KernelBoxGame, replicates: int, **options: Any) -> BoxState:
    """Return the state before the first round."""
    return BoxState(game, box_model(game, **options), (BoxData.empty(),) * replicates)


def decide_over_box(
    decide: Callable[[KernelEstimate, Everything, Array, Array | None], Choices],
    schedule: Schedule,
    state: BoxState,
    uniforms: Array,
    available: Array | None,
) -> Choices:
    """Let a policy decide among the points that are worth a look, for one replicate at a time."""
    if available is not None:
        raise InvalidInput("available cannot be given for a box; restrict the box instead.")
    choices = []
    with one_thread():
        for i, data in enumerate(state.data):
            known = Conditioned.on(state.game, state.model, data)
            width = float(np.sqrt(squared_radius(known, schedule)[0]))
            points = looked_at(known, width)
            own = decide(known.estimate(points), Everything(), uniforms[i : i + 1], None)
            chosen, candidates = points[own.action], points[None]
            choices.append(replace(own, action=chosen, position=own.action, candidates=candidates))
    return joined(choices)


def update_over_box(state: BoxState, action: Indices, observation: Array) -> BoxState:
    """Return the state after the observations (n, 1) of points (n,)."""
    seen = zip(state.data, action.tolist(), observation[:, 0].tolist(), strict=True)
    return replace(state, data=tuple(own.after(a, y) for own, a, y in seen))
