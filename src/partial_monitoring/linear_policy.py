"""What policies share that decide from a least-squares estimate, with or without contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from partial_monitoring.contextual_game import AnyGame, ContextualGame
from partial_monitoring.estimation.confidence import ConfidenceSet, Schedule, confidence_set
from partial_monitoring.estimation.least_squares import Estimate, initial, updated, viewed
from partial_monitoring.estimation.model import model
from partial_monitoring.estimation.shapes import Shape, shape_of
from partial_monitoring.game import Game
from partial_monitoring.in_context import (
    Context,
    ContextualState,
    decide_in_context,
    initial_state,
    part_at,
    update_in_context,
)
from partial_monitoring.policy import Choices
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class LinearState:
    """What such a policy knows after some rounds of a game without contexts."""

    estimate: Estimate
    shape: Shape


AnyState = LinearState | ContextualState


class LinearPolicy:
    """A policy that is handed an estimate and decides.

    A subclass is a dataclass with the options below and a method ``choose``. In a context it
    decides in the game of that context, from one estimate for all of them.
    """

    confidence: Schedule
    regularization: float
    prior_mean: ArrayLike | None
    norm_bound: float | None

    def accept(self, game: AnyGame) -> None:
        """Raise ``InvalidInput`` if the policy is not made for a game."""

    def choose(
        self, estimate: Estimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Decide in the game of the estimate, for all its replicates."""
        raise NotImplementedError

    def choose_in_context(
        self, estimate: Estimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Decide likewise in the game of one of several contexts."""
        return self.choose(estimate, shape, uniforms, available)

    def init(self, game: AnyGame, replicates: int) -> AnyState:
        """Return the state before the first round."""
        self.accept(game)
        options: dict[str, Any] = {
            "regularization": self.regularization,
            "prior_mean": self.prior_mean,
            "norm_bound": self.norm_bound,
        }
        if isinstance(game, ContextualGame):
            return initial_state(game, replicates, **options)
        prior = model(game, **options)
        return LinearState(initial(prior, replicates), shape_of(prior))

    def decide(
        self,
        state: AnyState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        """Choose actions, with contexts in the game of each."""
        if isinstance(state, ContextualState):
            if isinstance(context, Game):  # one that was not known before
                self.accept(ContextualGame([context]))
            return decide_in_context(self.choose_in_context, state, uniforms, available, context)
        return self.choose(state.estimate, state.shape, uniforms, available)

    def update(
        self, state: AnyState, action: Indices, observation: Array, context: Context | None = None
    ) -> AnyState:
        """Return the state after one more observation."""
        if isinstance(state, ContextualState):
            return update_in_context(state, action, observation, context)
        return LinearState(updated(state.estimate, action, observation), state.shape)

    def confidence_set(self, state: AnyState, context: Context | None = None) -> ConfidenceSet:
        """Return E_t, with contexts seen through the actions of one."""
        estimate, shape = state.estimate, state.shape
        if isinstance(state, ContextualState):
            part, shape = part_at(state, context)
            estimate = viewed(estimate, part)
        return confidence_set(estimate, shape, self.confidence)
