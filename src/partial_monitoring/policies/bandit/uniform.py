"""Uniform random actions: the first baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.state import Context, is_unlisted
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, draw
from partial_monitoring.policies.program import Loops, NotCompiled
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class RandomState:
    """Nothing is learned."""

    game: Any


@dataclass(frozen=True)
class Random:
    """Play every action equally often, whatever is observed.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("apple_tasting", "random", [0.7, 0.3], horizon=1000, seeds=4)
    >>> bool(abs(result.mean("random")[-1] - 200) < 30)
    True
    """

    needs: ClassVar[Needs] = Needs(listed=False)
    card: ClassVar[Card] = Card(
        "stochastic", "every game without an oracle", "none: linear regret", "O(1)", "none"
    )

    def init(self, game: AnyGame, replicates: int) -> RandomState:
        refuse(self, game)
        return RandomState(game)

    def decide(
        self,
        state: RandomState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        if context is None and state.game.traits.contexts:
            raise InvalidInput("context must be given, the game has contexts.")
        if not state.game.traits.listed:
            return self._unlisted(state.game.k, uniforms, available)
        game = context if is_unlisted(context) else state.game
        offered = np.ones((len(uniforms), game.k), dtype=bool)
        if context is not None and game is state.game:
            offered &= game.available[context]
        if available is not None:
            offered &= np.asarray(available, dtype=bool)
        distribution = offered / offered.sum(axis=1, keepdims=True)
        return Choices(draw(distribution, uniforms), distribution)

    @staticmethod
    def _unlisted(k: int, uniforms: Array, available: Array | None) -> Choices:
        """Choose among actions that are too many to list: the one candidate that was drawn."""
        if available is not None:
            raise InvalidInput("available cannot be given for a box; restrict the box instead.")
        action = np.array([min(int(u * k), k - 1) for u in uniforms.tolist()])
        return Choices(action, np.ones((len(action), 1)), candidates=action[:, None])

    def update(
        self,
        state: RandomState,
        action: Indices,
        observation: Array,
        context: Context | None = None,
    ) -> RandomState:
        return state

    def program(self, state: RandomState) -> Loops:
        """Return rounds in compiled code; games with contexts and boxes have none."""
        from partial_monitoring.numerics.compiled.play_random import play

        if state.game.traits.contexts or not state.game.traits.listed:
            raise NotCompiled("random actions are compiled for listed actions without contexts")
        share = np.full(state.game.k, 1 / state.game.k)
        return Loops(play, (np.cumsum(share),))
