"""The state of a game over a box: in each round, policies decide among candidate points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule, squared_radius
from partial_monitoring.estimation.kernel.box import (
    BoxData,
    BoxPosterior,
    box_design,
    candidate_points,
)
from partial_monitoring.estimation.kernel.design import KernelDesign, refuse_leverage
from partial_monitoring.estimation.kernel.ellipsoid import KernelEllipsoid
from partial_monitoring.estimation.kernel.state import refuse_prior_mean
from partial_monitoring.estimation.state import (
    Context,
    Pending,
    Prior,
    View,
    initial_duels,
    initial_state,
)
from partial_monitoring.model.box_dueling import KernelBoxDuelingGame
from partial_monitoring.model.over_box import GameOverBox
from partial_monitoring.numerics.threads import one_thread
from partial_monitoring.validation import Array, Indices, brief


@dataclass(frozen=True, eq=False)
class BoxState:
    """All that was observed over a box, for each replicate."""

    game: GameOverBox
    design: KernelDesign
    """Of the reference points; for lambda, rho and B."""
    data: tuple[BoxData, ...]

    @property
    def through(self) -> dict[str, Any]:
        """What actions of the game are, seen through the candidates of a view."""
        return {"listed": False}

    @property
    def replayed(self) -> bool:
        """Saved as its observations."""
        return True

    @property
    def normals(self) -> int:
        raise InvalidInput("functions over a box cannot be drawn, only at listed candidates.")

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        seen = zip(self.data, action.tolist(), observation[:, 0].tolist(), strict=True)
        return replace(self, data=tuple(own.after(a, y) for own, a, y in seen))

    def expecting(self, pending: Pending, context: Context | None = None) -> Self:
        data = []
        with one_thread():
            for own, often in zip(self.data, pending.often, strict=True):
                means = BoxPosterior.on(self.game, self.design, own).shown_by(pending.action)
                actions, shown = np.repeat(pending.action, often), np.repeat(means, often)
                for seen in zip(actions.tolist(), shown.tolist(), strict=True):
                    own = own.after(*seen)
                data.append(own)
        return replace(self, data=tuple(data))

    def views(
        self, schedule: Schedule, available: Array | None = None, context: Context | None = None
    ) -> Iterator[View]:
        """Yield one view for each replicate: its candidate points.

        Matrices are small here: what is done with a view is done on one thread, too.
        """
        if available is not None:
            raise InvalidInput("available cannot be given for a box; restrict the box instead.")
        with one_thread():
            for i, data in enumerate(self.data):
                known = BoxPosterior.on(self.game, self.design, data)
                beta = squared_radius(schedule, self.design, known.round, known.log_det)
                points = candidate_points(known, float(np.sqrt(beta[0])))
                confidence = KernelEllipsoid.around(known.estimate(points), schedule)
                yield View(confidence, slice(i, i + 1), points, len(points), **self.through)

    def confidence(self, schedule: Schedule, context: Context | None = None) -> KernelEllipsoid:
        with one_thread():
            known = BoxPosterior.on(self.game, self.design, self.data[0])
            estimate = known.estimate(candidate_points(known, 1.0), named=True)
            return replace(KernelEllipsoid.around(estimate, schedule), anywhere=known.at)


@dataclass(frozen=True, eq=False)
class BoxDuelState(BoxState):
    """All that was observed of duels over a box, seen through the items."""

    game: KernelBoxDuelingGame

    @property
    def through(self) -> dict[str, Any]:
        return {"listed": False, "items": self.game.item_count}


@initial_state.register
def _of_box(
    game: GameOverBox,
    replicates: int,
    prior: Prior,
    *,
    functions: bool = False,
    draws: bool = False,
) -> BoxState:
    design = _design(game, prior)
    return BoxState(game, design, (BoxData.empty(),) * replicates)


@initial_state.register
def _of_listed_pairs(
    game: KernelBoxDuelingGame,
    replicates: int,
    prior: Prior,
    *,
    functions: bool = False,
    draws: bool = False,
) -> BoxState:
    raise InvalidInput(
        f"the duels of a box cannot be listed; play them with DuelingIDS or Calibrated, which "
        f"choose points; got {brief(game)}."
    )


@initial_duels.register
def _of_box_duels(
    game: KernelBoxDuelingGame, replicates: int, prior: Prior, *, draws: bool = False
) -> BoxDuelState:
    design = _design(game, prior)
    refuse_leverage(float(design.distances(0).max()) / design.regularization)
    return BoxDuelState(game, design, (BoxData.empty(),) * replicates)


def _design(game: GameOverBox, prior: Prior) -> KernelDesign:
    refuse_prior_mean(prior)
    bound = game.norm_bound if prior.norm_bound is None else prior.norm_bound
    return box_design(game, regularization=prior.regularization, norm_bound=bound)
