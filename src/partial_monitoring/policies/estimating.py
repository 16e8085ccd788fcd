"""What policies share that decide from an estimate: a state that learns, and views of it."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.estimation.state import (
    Context,
    Pending,
    Prior,
    State,
    View,
    initial_state,
    state_for,
)
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.needs import Needs, refuse, refuse_actions
from partial_monitoring.policies.policy import Choices, gathered
from partial_monitoring.validation import Array, Indices


class EstimatingPolicy:
    """A policy that is handed a confidence set and decides.

    A subclass is a dataclass with the options below and a method ``choose``. With contexts it
    decides in the game of each one, from one estimate for all of them. A kernel game it plays in
    the coordinates of its linear game, or from an estimate of the function if it is ``kernelized``.
    """

    needs: ClassVar[Needs] = Needs()
    kernelized: ClassVar[bool] = False
    drawing: ClassVar[bool] = False
    """Whether it draws from confidence sets."""

    confidence: Schedule
    regularization: float | None
    prior_mean: ArrayLike | None
    norm_bound: float | None
    half_life: float | None = None
    """After how many rounds an observation weighs half, of policies that have this option."""

    @property
    def prior(self) -> Prior:
        """What is assumed before the first round."""
        return Prior(self.regularization, self.prior_mean, self.norm_bound, self.half_life)

    def choose(self, view: View, uniforms: Array) -> Choices:
        """Decide among the actions of a view, for all its replicates."""
        raise NotImplementedError

    def init(self, game: AnyGame, replicates: int) -> Any:
        """Return the state before the first round."""
        refuse(self, game)
        self.refuse_to_forget(game)
        state = initial_state(
            game, replicates, self.prior, functions=self.kernelized, draws=self.drawing
        )
        return state_for(self.confidence, state, game.traits)

    def refuse_to_forget(self, game: AnyGame) -> None:
        """Refuse a half-life where all observations are kept and none of them has a weight."""
        if self.half_life is None:
            return
        counts = game.traits.finite and getattr(self.confidence, "counts_signals", False)
        if counts or (game.traits.function and self.kernelized):
            what = "sets of likely distributions" if counts else "estimates of functions"
            raise InvalidInput(f"half_life must be None with {what}; got {self.half_life:g}.")

    def decide(
        self,
        state: State,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        """Choose actions, with contexts in the game of each."""
        chosen = []
        for view in state.views(self.confidence, available, context):
            if view.unlisted:
                refuse_actions(self, view.confidence.game, contexts=True)
            chosen.append((view, self.choose(view, uniforms[view.rows])))
        return gathered(chosen)

    def update(
        self, state: State, action: Indices, observation: Array, context: Context | None = None
    ) -> State:
        """Return the state after one more observation."""
        return state.after(action, observation, context)

    def update_often(
        self,
        state: Any,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> Any:
        """Return the state after each observation came often (n,) times with a weight (n,).

        What is forgotten between them is forgotten one after the other.
        """
        own, forgets = getattr(state, "after_often", None), self.half_life not in (None, inf)
        signals = getattr(self.confidence, "counts_signals", False)
        if own is None or forgets or (signals and (weight != 1.0).any()):
            return None
        return own(action, observation, often, weight, context)

    def update_rows(
        self, state: Any, shown: Rows, observed: Array, often: Indices, weight: Array
    ) -> Any:
        """Return the state after rows of theta showed values (m,); None if it cannot take them."""
        own, forgets = getattr(state, "after_rows", None), self.half_life not in (None, inf)
        if own is None or forgets or getattr(self.confidence, "counts_signals", False):
            return None
        return own(shown, observed, often, weight)

    def expecting(self, state: State, pending: Pending, context: Context | None = None) -> State:
        """Return the state as if open decisions had been answered with what is expected."""
        own = getattr(state, "expecting", None)
        return state if own is None else own(pending, context)

    def confidence_set(self, state: State, context: Context | None = None) -> ConfidenceSet:
        """Return E_t; with contexts, that of the one in which all replicates are."""
        return state.confidence(self.confidence, context)
