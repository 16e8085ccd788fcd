"""A guard: play a rule without a bound as long as what it may have lost stays within a budget.

E_t of the paper holds whatever is played, so its exact gap bounds what any action loses in round t.
Let B(n) be the bound of IDS on the game, and S_t the sum of the exact gaps of what the guarded rule
has played. In round t the guarded rule plays a if S_t + gap_t(a) <= lambda B(t), else the paper's
IDS does, from all data. Then for every truth that the game allows

    E R_n <= (1 + lambda) B(n).

The rounds of the rule add at most lambda B(n) by construction. In the rounds F of IDS the
information ratio is bounded as ever, since that only depends on E_t; by Hoelder's inequality they
add at most |F|^(1 - 1/kappa) (max ratio sum_F I_t)^(1/kappa), and the information of F is at most
that of all rounds, gamma_n, because the log determinant grows with the data of the others, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.bounds import bounds
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.state import Pending
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.policy import Choices, Policy, expecting, over_all_actions
from partial_monitoring.policies.units import Units, units_of
from partial_monitoring.validation import Array, Indices, brief

FINENESS = 8
"""The bound is computed at that many horizons between a number of rounds and twice as many."""

LONGEST = 40
"""Up to 2 to this power of rounds; later the budget stays what it is."""


class Budget(NamedTuple):
    """lambda B(n) at some horizons."""

    horizons: Array
    amounts: Array

    def at(self, t: Indices) -> Array:
        """Return the budget of round t (n,): that of the last horizon that is not later."""
        place = np.searchsorted(self.horizons, t, side="right") - 1
        return np.asarray(self.amounts[place])


@dataclass(frozen=True, eq=False)
class GuardedState:
    """What the rule and IDS know, and what the rule may have lost."""

    known: Any
    """The state of the rule."""
    certified: Any
    """The state of IDS."""
    budget: Budget
    spent: Array
    """S_t, shape (n,)."""

    @property
    def design(self) -> Any:
        """The game as the estimate of IDS sees it."""
        return self.certified.design


@dataclass(frozen=True)
class Guarded:
    """Play a rule within a budget, and IDS beyond it."""

    rule: Policy[Any]
    guard: float
    """lambda, the budget as a multiple of the bound of IDS."""

    @property
    def ids(self) -> IDS:
        """The paper's algorithm."""
        return IDS()

    def init(self, game: AnyGame, replicates: int) -> GuardedState:
        if game.traits.contexts:
            raise InvalidInput(f"a policy with a guard takes no contexts; got {brief(game)}.")
        if not game.traits.listed:
            raise InvalidInput(
                f"a policy with a guard plays games whose actions can be listed; got {brief(game)}."
            )
        horizons = np.unique(np.floor(2.0 ** (np.arange(FINENESS * LONGEST + 1) / FINENESS)))
        bound = np.maximum.accumulate(bounds(game, horizons).regret)  # type: ignore[arg-type]
        if not np.isfinite(bound).all():
            raise InvalidInput(f"guard must be left out where no bound holds; got {brief(game)}.")
        return GuardedState(
            self.rule.init(game, replicates),
            self.ids.init(game, replicates),
            Budget(horizons, self.guard * bound),
            np.zeros(replicates),
        )

    def decide(
        self, state: GuardedState, uniforms: Array, available: Array | None = None
    ) -> Choices:
        own = self.rule.decide(state.known, uniforms, available)
        certified = self.ids.decide(state.certified, uniforms, available)
        assert certified.gaps is not None
        affordable, _ = self._affordable(state, certified.gaps, own.action)
        whole = over_all_actions(own, certified.gaps.shape[1])
        return replace(
            certified,
            action=np.where(affordable, own.action, certified.action),
            distribution=np.where(affordable[:, None], whole, certified.distribution),
            ratio=None,
            decided_by="guard" if affordable.all() else None,
        )

    def update(self, state: GuardedState, action: Indices, observation: Array) -> GuardedState:
        seen = self.ids.decide(state.certified, np.zeros(len(action)))
        assert seen.gaps is not None
        affordable, lost = self._affordable(state, seen.gaps, action)
        return replace(
            state,
            known=self.rule.update(state.known, action, observation),
            certified=self.ids.update(state.certified, action, observation),
            spent=state.spent + np.where(affordable, lost, 0.0),
        )

    def expecting(self, state: GuardedState, pending: Pending) -> GuardedState:
        """Return the state with open decisions expected by the rule; E_t holds what was told."""
        return replace(state, known=expecting(self.rule, state.known, [(None, pending)]))

    def _affordable(
        self, state: GuardedState, gaps: Array, action: Indices
    ) -> tuple[NDArray[np.bool_], Array]:
        """Return whether the budget allows what actions (n,) may lose, and how much that is."""
        lost = gaps[np.arange(len(action)), action]
        rounds = state.certified.estimate.round
        return state.spent + lost <= state.budget.at(rounds), lost

    def units(self, state: GuardedState) -> Units:
        """Return what IDS measures gaps and information in."""
        return units_of(self.ids, state.certified)

    def confidence_set(self, state: GuardedState) -> Any:
        """Return E_t of IDS."""
        return self.ids.confidence_set(state.certified)
