"""States of games without contexts: one estimate of the parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, singledispatch
from typing import Any, Self

import numpy as np

from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.forgetting import Forgetting
from partial_monitoring.estimation.linear.design import Design, design
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.expected import expecting_actions, expecting_rows
from partial_monitoring.estimation.linear.least_squares import Estimate, initial
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.estimation.linear.updating import updated, updated_by_rows
from partial_monitoring.estimation.linear.weighted import (
    Rows,
    updated_by_rows_often,
    updated_by_shown,
    updated_often,
)
from partial_monitoring.estimation.state import (
    Context,
    Pending,
    Prior,
    View,
    initial_duels,
    initial_state,
    offered,
)
from partial_monitoring.model.dueling import DuelingGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class LinearState:
    """An estimate of the parameter, from observations of listed actions."""

    estimate: Estimate

    @property
    def design(self) -> Design:
        return self.estimate.design

    @property
    def normals(self) -> int:
        return int(self.design.basis.shape[1])

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        return type(self)(updated(self.estimate, action, observation))

    def after_often(
        self,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Self:
        return replace(
            self, estimate=updated_often(self.estimate, action, observation, often, weight)
        )

    def after_rows(
        self, shown: Rows, observed: Array, often: Indices, weight: Array
    ) -> Self | None:
        """Return the state after rows of theta showed values (m,), whatever action it was.

        They did so often (n,) times with a weight (n,); None if no action shows anything of them.
        """
        estimate = updated_by_shown(self.estimate, shown, observed, often, weight)
        return None if estimate is None else replace(self, estimate=estimate)

    def expecting(self, pending: Pending, context: Context | None = None) -> Self:
        return replace(self, estimate=expecting_actions(self.estimate, *pending))

    def views(
        self, schedule: Schedule, available: Array | None = None, context: Context | None = None
    ) -> Sequence[View]:
        return [offered(self.confidence(schedule), available)]

    def confidence(self, schedule: Schedule, context: Context | None = None) -> ConfidenceSet:
        kind: Any = type(schedule)
        return _kind_of_set(kind)(schedule, self.estimate)


@singledispatch
def confidence_around(schedule: Any, estimate: Estimate) -> ConfidenceSet:
    """Return E_t of an estimate: an ellipsoid, unless the kind of schedule makes another set."""
    return Ellipsoid.around(estimate, schedule)


@cache
def _kind_of_set(schedule: Any) -> Callable[[Any, Estimate], ConfidenceSet]:
    """Return what ``confidence_around`` selects for a kind of schedule, looked up once."""
    return confidence_around.dispatch(schedule)


@dataclass(frozen=True, eq=False)
class DuelState(LinearState):
    """An estimate of the parameter from duels, seen through the items."""

    def after(self, action: Indices, observation: Array, context: Context | None = None) -> Self:
        estimate = updated_by_rows(self.estimate, *self._shown(action, observation))
        return replace(self, estimate=estimate)

    def after_often(
        self,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Self:
        shown = self._shown(action, observation)
        return replace(self, estimate=updated_by_rows_often(self.estimate, *shown, often, weight))

    def _shown(self, action: Indices, observation: Array) -> tuple[Array, Array]:
        """Return the rows (n, 1, r) of duels (n,) and what they showed beyond theta_0 (n, 1)."""
        items = self.design
        first, second = np.divmod(action, items.game.k)
        rows = items.observed_features[first] - items.observed_features[second]
        residual = observation[:, 0] - (items.offsets[first] - items.offsets[second])
        return rows[:, None, :], residual[:, None]

    def expecting(self, pending: Pending, context: Context | None = None) -> Self:
        features = self.design.observed_features
        first, second = np.divmod(pending.action, self.design.game.k)
        rows = (features[first] - features[second])[:, None, :]
        return replace(self, estimate=expecting_rows(self.estimate, rows, pending.often))

    def through_pairs(self, actions: Indices, schedule: Schedule) -> Ellipsoid:
        """Return E_t, seen through some of the duels (q,) instead of the items."""
        items = self.design.game
        one, two = items.features[np.stack(np.divmod(actions, items.k))]  # (q, d) each
        pairs = Game(one + two, (one - two)[:, None, :], items.parameters, items.noise_std)
        return Ellipsoid.around(self.estimate.through(through(self.design, pairs)), schedule)


@initial_state.register
def _of_game(
    game: Game, replicates: int, prior: Prior, *, functions: bool = False, draws: bool = False
) -> LinearState:
    own = linear_design(game, prior)
    return LinearState(initial(own, replicates, by_rows=own.forgetting.active))


@initial_duels.register
def _of_duels(
    game: DuelingGame, replicates: int, prior: Prior, *, draws: bool = False
) -> DuelState:
    phi = game.item_features
    # As a game of its own: the items, of which differences are observed.
    items = Game(phi, (phi - phi[0])[:, None, :], game.parameters, game.noise_std, game.items)
    whole = linear_design(items, prior)
    silent = replace(
        whole, maps=np.zeros((items.k, 0, whole.rank)), expected=np.zeros((items.k, 0))
    )
    return DuelState(initial(silent, replicates, by_rows=True))


def linear_design(game: Game, prior: Prior) -> Design:
    """Return the design of a game under a prior."""
    found = design(
        game,
        regularization=prior.regularization,
        prior_mean=prior.mean,
        norm_bound=prior.norm_bound,
    )
    return replace(found, forgetting=Forgetting(prior.half_life))
