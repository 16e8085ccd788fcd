"""The default policy, which has a rule for each kind of feedback."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.forgetting import Forgetting, checked_half_life
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.estimation.profile.model import signal_model
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.estimation.state import Context, Pending, is_unlisted
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.calibrated.gaussian import gaussian_rule
from partial_monitoring.policies.calibrated.guard import Guarded
from partial_monitoring.policies.calibrated.index import AnticipatingIndex
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, Policy, draws_needed, expecting, seen
from partial_monitoring.policies.program import Program, program_of
from partial_monitoring.policies.promise import (
    CERTIFIED,
    FORGETTING,
    MEASURED,
    PRACTICAL,
    Promise,
    practical,
)
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, Indices, positive_number, set_fields

INDEX = AnticipatingIndex()
"""The rule for signals."""


@dataclass(frozen=True, eq=False)
class CalibratedState:
    """What is known, and the rule that plays this kind of game."""

    game: AnyGame
    rule: Policy[Any]
    known: Any
    """The state of the rule."""

    def met(self, context: Context | None) -> CalibratedState:
        """Return a state that can play a context, which must be given if the game has some.

        Signals are counted in listed contexts only. When another one comes, what was counted
        becomes a least-squares estimate, and the rule for Gaussian feedback goes on from there.
        """
        if not is_unlisted(context) or self.rule != INDEX:
            return self
        half_life = self.known.model.forgetting.half_life
        rule, counted = gaussian_rule(self.game, half_life), self.known.least_squares()
        known: Any = rule.init(self.game, len(counted.round))
        known = known.having_seen(counted.plays, counted.sums, counted.round)
        return CalibratedState(self.game, rule, replace(known, seen=self.known.seen))

    @property
    def design(self) -> Any:
        """The game as the estimate sees it."""
        return self.known.design

    @property
    def replayed(self) -> bool:
        """Whether it is saved as its observations."""
        return bool(getattr(self.known, "replayed", False))


@dataclass(frozen=True)
class Calibrated:
    """Play for low regret on every kind of game, without tuning and without a proven bound.

    Parameters
    ----------
    guard
        lambda > 0: what may have been lost, by the confidence sets of the paper, is kept within
        lambda times the bound of IDS, which plays where the budget is spent; the expected regret is
        then at most 1 + lambda times that bound. For games without contexts whose actions can be
        listed. None: no guard.
    half_life
        After how many rounds an observation weighs half, for a world that changes, and sooner where
        the same was observed again; None: nothing is forgotten. Not for games over functions or
        boxes, nor with a guard.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate("apple_tasting", pm.Calibrated(), [0.9, 0.1], horizon=50, seeds=4)
    >>> result.policies
    ['calibrated']
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "every kind of game",
        "none by default; with guard=, (1 + guard) times the bound of IDS",
        "that of the index or of IDS, O(k^2 + k d^2) or less",
        "this library; docs/which-mode.md has what was measured",
    )

    needs: ClassVar[Needs] = Needs(listed=False)

    guard: float | None = None
    half_life: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        set_fields(self, half_life=checked_half_life(self.half_life))
        if self.guard is not None:
            set_fields(self, guard=positive_number("guard", self.guard))
            if self.half_life is not None:
                raise InvalidInput(
                    f"half_life must be None with a guard, whose bound is that of a world that "
                    f"does not change; got {self.half_life:g}."
                )

    def init(self, game: AnyGame, replicates: int) -> CalibratedState:
        refuse(self, game)
        signals = signal_model(game, Forgetting(self.half_life))
        rule: Policy[Any] = INDEX
        if signals is None:
            rule = gaussian_rule(game, self.half_life)
        if self.guard is not None:
            rule = Guarded(rule, self.guard)
        elif signals is not None:
            return CalibratedState(game, rule, ProfileState.initial(signals, replicates))
        return CalibratedState(game, rule, rule.init(game, replicates))

    def draws(self, state: CalibratedState) -> int:
        """Return the number of uniform numbers that a round needs."""
        return draws_needed(state.rule, state.known) or 1

    def decide(
        self,
        state: CalibratedState,
        uniforms: Array,
        available: Array | None = None,
        context: Context | None = None,
    ) -> Choices:
        state = state.met(context)
        numbers = uniforms[:, 0] if draws_needed(state.rule, state.known) is None else uniforms
        return state.rule.decide(state.known, numbers, available, **seen(context))

    def update(
        self,
        state: CalibratedState,
        action: Indices,
        observation: Array,
        context: Context | None = None,
    ) -> CalibratedState:
        state = state.met(context)
        known = state.rule.update(state.known, action, observation, **seen(context))
        return CalibratedState(state.game, state.rule, known)

    def update_often(
        self,
        state: CalibratedState,
        action: Indices,
        observation: Array,
        often: Indices,
        weight: Array,
        context: Context | None = None,
    ) -> CalibratedState | None:
        """Return the state after each observation came often (n,) times with a weight (n,)."""
        state = state.met(context)
        own = getattr(state.rule, "update_often", None)
        each = action, observation, often, weight
        known = None if own is None else own(state.known, *each, **seen(context))
        return None if known is None else CalibratedState(state.game, state.rule, known)

    def update_rows(
        self, state: CalibratedState, shown: Rows, observed: Array, often: Indices, weight: Array
    ) -> CalibratedState | None:
        """Return the state after rows of theta showed values (m,); None if it cannot take them."""
        own = getattr(state.rule, "update_rows", None)
        known = None if own is None else own(state.known, shown, observed, often, weight)
        return None if known is None else replace(state, known=known)

    def expecting(
        self, state: CalibratedState, pending: Pending, context: Context | None = None
    ) -> CalibratedState:
        """Return the state as if open decisions had been answered with what is expected.

        Before an answer comes from an unlisted context, signals are counted as they are.
        """
        if state.met(context) is not state:
            return state
        known = expecting(state.rule, state.known, [(context, pending)])
        return CalibratedState(state.game, state.rule, known)

    def program(self, state: CalibratedState) -> Program:
        """Return the compiled rounds of the rule, or say why there are none."""
        return program_of(state.rule, state.known)

    def units(self, state: CalibratedState) -> Units:
        """Return what the rule measures gaps and information in."""
        return units_of(state.rule, state.known)

    def promise(self, game: AnyGame | None = None) -> Promise:
        """Return what the guard proves; without one, where to find what was measured."""
        if self.half_life is not None:
            return Promise(PRACTICAL, f"{FORGETTING} (docs/changing-world.md)")
        if self.guard is None:
            return practical(MEASURED)
        words = f"its expected regret is at most {1 + self.guard:g} times the bound of IDS"
        return Promise(CERTIFIED, f"{words}, if the model holds")

    def confidence_set(self, state: CalibratedState, context: Context | None = None) -> Any:
        """Return E_t of the rule, which ``Learner.status`` reports."""
        state = state.met(context)
        rule: Any = state.rule
        return rule.confidence_set(state.known, **seen(context))
