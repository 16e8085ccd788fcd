"""What policies share that decide from a least-squares estimate, with or without contexts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.contextual_game import AnyGame, ContextualGame
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import kernel
from partial_monitoring.estimation.box import BoxData, Conditioned, box_model, looked_at
from partial_monitoring.estimation.confidence import (
    AnyConfidence,
    Schedule,
    confidence_set,
    squared_radius,
)
from partial_monitoring.estimation.kernel import KernelEstimate
from partial_monitoring.estimation.kernel_model import KernelModel, kernel_model
from partial_monitoring.estimation.least_squares import (
    Estimate,
    applied,
    initial,
    updated,
    viewed,
)
from partial_monitoring.estimation.model import model
from partial_monitoring.estimation.shapes import Everything, Shape, shape_of
from partial_monitoring.game import Game
from partial_monitoring.in_context import (
    Context,
    ContextualState,
    decide_in_context,
    initial_state,
    part_at,
    update_in_context,
)
from partial_monitoring.kernel_box_game import KernelBoxGame
from partial_monitoring.kernel_game import KernelGame
from partial_monitoring.policy import Choices, joined
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


@dataclass(frozen=True, eq=False)
class BoxState:
    """What such a policy knows after some rounds of a game over a box."""

    game: KernelBoxGame
    model: KernelModel
    data: tuple[BoxData, ...]

    @property
    def replayed(self) -> bool:
        """The state is saved as what was told."""
        return True

    @property
    def estimate(self) -> KernelEstimate:
        """The estimate of the first replicate, at the points that are worth a look."""
        known = Conditioned.on(self.game, self.model, self.data[0])
        return known.estimate(looked_at(known, 1.0), named=True)


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
        functions = isinstance(game, KernelGame)
        if isinstance(game, KernelGame):
            if options.pop("prior_mean") is not None:
                raise InvalidInput("prior_mean must be left out, a kernel game has prior mean 0.")
            if isinstance(game, KernelBoxGame):
                return self._init_box(game, replicates, options)
            if self.kernelized:
                function = kernel_model(game, **options)
                return KernelState(kernel.initial(function, replicates))
            bound = options["norm_bound"]
            options["norm_bound"] = game.norm_bound if bound is None else bound
            game = game.linear
        prior = model(game, **options)
        return LinearState(initial(prior, replicates), shape_of(prior), functions)

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
            return self._decide_in_box(state, uniforms, available)
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
            seen = zip(state.data, action.tolist(), observation[:, 0].tolist(), strict=True)
            return replace(state, data=tuple(own.after(a, y) for own, a, y in seen))
        if isinstance(state, KernelState):
            return KernelState(kernel.updated(state.estimate, action, observation))
        return replace(state, estimate=updated(state.estimate, action, observation))

    def confidence_set(self, state: AnyState, context: Context | None = None) -> AnyConfidence:
        """Return E_t, with contexts seen through the actions of one."""
        if isinstance(state, ContextualState):
            part, shape = part_at(state, context)
            return confidence_set(viewed(state.estimate, part), shape, self.confidence)
        shape = Everything() if isinstance(state, BoxState) else state.shape
        return confidence_set(state.estimate, shape, self.confidence)

    def _init_box(self, game: KernelBoxGame, replicates: int, options: dict[str, Any]) -> BoxState:
        return BoxState(game, box_model(game, **options), (BoxData.empty(),) * replicates)

    def _decide_in_box(self, state: BoxState, uniforms: Array, available: Array | None) -> Choices:
        """Choose among the points that are worth a look, for one replicate after the other."""
        if available is not None:
            raise InvalidInput("available cannot be given for a box; restrict the box instead.")
        choices = []
        for i, data in enumerate(state.data):
            known = Conditioned.on(state.game, state.model, data)
            width = float(np.sqrt(squared_radius(known, self.confidence)[0]))
            points = looked_at(known, width)
            own = self.choose(known.estimate(points), Everything(), uniforms[i : i + 1], None)
            chosen = points[own.action]
            choices.append(
                replace(own, action=chosen, position=own.action, candidates=points[None])
            )
        return joined(choices)
