"""What policies share that decide from a least-squares estimate, with or without contexts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import AnyConfidence, Schedule, confidence_set
from partial_monitoring.estimation.kernel import posterior as kernel
from partial_monitoring.estimation.kernel.box_state import (
    BoxState,
    decide_over_box,
    initial_over_box,
    update_over_box,
)
from partial_monitoring.estimation.kernel.design import kernel_model
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.linear.contextual import (
    Context,
    ContextualState,
    decide_in_context,
    initial_state,
    part_at,
    update_in_context,
)
from partial_monitoring.estimation.linear.design import model
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    applied,
    initial,
    updated,
    viewed,
)
from partial_monitoring.estimation.shapes import Everything, Shape, shape_of
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.game import Game
from partial_monitoring.policies.policy import Choices
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class LinearState:
    """What such a policy knows after some rounds of a game without contexts."""

    estimate: Estimate
    shape: Shape
    functions: bool = False
    """Whether the game is a kernel game, of which decisions report f_hat over the actions."""


@dataclass(frozen=True, eq=False)
class KernelState:
    """What such a policy knows after some rounds of a kernel game."""

    estimate: KernelEstimate
    shape: Shape = field(default_factory=Everything)

    @property
    def replayed(self) -> bool:
        """The state is saved as what was told, which is much shorter."""
        return True


AnyState = LinearState | ContextualState | KernelState | BoxState


class LinearPolicy:
    """A policy that is handed an estimate and decides.

    A subclass is a dataclass with the options below and a method ``choose``. In a context it
    decides in the game of that context, from one estimate for all of them. A kernel game it plays
    in the coordinates of its linear game, or from an estimate of the function if it is
    ``kernelized``.
    """

    kernelized: ClassVar[bool] = False

    confidence: Schedule
    regularization: float | None
    prior_mean: ArrayLike | None
    norm_bound: float | None

    def accept(self, game: AnyGame) -> None:
        """Raise ``InvalidInput`` if the policy is not made for a game."""

    def choose(
        self, estimate: Any, shape: Shape, uniforms: Array, available: Array | None
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
        if isinstance(game, KernelBoxGame) and not self.kernelized:
            raise InvalidInput(
                f"{type(self).__name__} does not play games over a box, only lists of candidates."
            )
        self.accept(game)
        options: dict[str, Any] = {
            "regularization": self.regularization,
            "prior_mean": self.prior_mean,
            "norm_bound": self.norm_bound,
        }
        if isinstance(game, ContextualGame):
            return initial_state(game, replicates, **options)
        if isinstance(game, FunctionGame):
            return self._init_functions(game, replicates, **options)
        prior = model(game.linear, **options)
        return LinearState(initial(prior, replicates), shape_of(prior))

    def _init_functions(
        self,
        game: Any,
        replicates: int,
        *,
        regularization: float | None,
        prior_mean: ArrayLike | None,
        norm_bound: float | None,
    ) -> AnyState:
        """Return the state before the first round of a kernel game."""
        if prior_mean is not None:
            raise InvalidInput("prior_mean must be left out, a kernel game has prior mean 0.")
        bound = game.norm_bound if norm_bound is None else norm_bound
        options: dict[str, Any] = {"regularization": regularization, "norm_bound": bound}
        if isinstance(game, KernelBoxGame):
            return initial_over_box(game, replicates, **options)
        if self.kernelized:
            return KernelState(kernel.initial(kernel_model(game, **options), replicates))
        prior = model(game.linear, **options)
        return LinearState(initial(prior, replicates), shape_of(prior), functions=True)

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
        if isinstance(state, BoxState):
            return decide_over_box(self.choose, self.confidence, state, uniforms, available)
        choice = self.choose(state.estimate, state.shape, uniforms, available)
        if isinstance(state, LinearState) and state.functions:
            features = state.estimate.model.game.features
            return replace(choice, estimate=applied(features, choice.estimate))
        return choice

    def update(
        self, state: AnyState, action: Indices, observation: Array, context: Context | None = None
    ) -> AnyState:
        """Return the state after one more observation."""
        if isinstance(state, ContextualState):
            return update_in_context(state, action, observation, context)
        if isinstance(state, BoxState):
            return update_over_box(state, action, observation)
        if isinstance(state, KernelState):
            return KernelState(kernel.updated(state.estimate, action, observation))
        return replace(state, estimate=updated(state.estimate, action, observation))

    def confidence_set(self, state: AnyState, context: Context | None = None) -> AnyConfidence:
        """Return E_t, with contexts seen through the actions of one."""
        if isinstance(state, ContextualState):
            part, shape = part_at(state, context)
            return confidence_set(viewed(state.estimate, part), shape, self.confidence)
        return confidence_set(state.estimate, state.shape, self.confidence)
