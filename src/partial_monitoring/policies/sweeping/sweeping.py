"""What PEGE, GCB and ETC share: a state that counts sweeps, and rounds that follow a rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.policies.needs import Needs, refuse
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.program import Loops, NotCompiled
from partial_monitoring.policies.sweeping.observers import ListedActions, Plan, plan_listed
from partial_monitoring.policies.sweeping.offered import OfferedActions, plan_offered
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class SweepState:
    """What n replicates know; arrays as in ``compiled.sweeps.State``."""

    plan: Plan
    actions: ListedActions | OfferedActions
    rule: Any
    """The options of the policy, a ``compiled.sweeps.Rule``."""
    width: int
    """m, the number of rows of an observation."""
    round: Indices
    sweeps: Indices
    place: Indices
    phase: Indices
    sweeps_left: Indices
    rounds_left: Indices
    sums: Array
    theta: Array
    best: Indices
    gap: Array

    @property
    def copied(self) -> Any:
        """The arrays for compiled loops, which may change them."""
        from partial_monitoring.numerics.compiled.sweeps import State

        return State(*(getattr(self, name).copy() for name in State._fields))


@singledispatch
def planned(game: Any, policy: str) -> tuple[Plan, ListedActions | OfferedActions]:
    """Return the observers of a game and the actions that may be best; the kind of game decides."""
    return plan_listed(game, policy)


@planned.register
def _(game: OracleGame, policy: str) -> tuple[Plan, OfferedActions]:
    return plan_offered(game, policy)


class Sweeping(ABC):
    """A policy that either sweeps its observers or plays what looks best.

    Only complete sweeps count, and what is shown by actions that look best does not. An observation
    that comes out of turn, as of decisions that were asked for together, is not used.
    """

    needs: ClassVar[Needs] = Needs(contexts=False, oracle=True)
    compares: ClassVar[bool] = False
    """Whether it asks for the second best action, too."""

    @abstractmethod
    def rule(self, plan: Plan, actions: Any) -> Any:
        """Return the policy as a ``compiled.sweeps.Rule``."""

    def init(self, game: AnyGame, replicates: int) -> SweepState:
        refuse(self, game)
        plan, actions = planned(game, type(self).__name__)
        n, nothing = replicates, np.zeros(replicates, dtype=np.int64)
        return SweepState(
            plan,
            actions,
            self.rule(plan, actions),
            game.m,
            round=nothing + 1,
            sweeps=nothing,
            place=nothing,
            phase=nothing + 1,
            sweeps_left=nothing + 1,
            rounds_left=nothing,
            sums=np.zeros((n, len(plan.expected))),
            theta=np.tile(plan.frame.center, (n, 1)),
            best=np.full(n, plan.best, dtype=np.int64),
            gap=np.zeros(n),
        )

    def decide(self, state: SweepState, uniforms: Array, available: Array | None = None) -> Choices:
        from partial_monitoring.numerics.compiled.sweeps import decide_each

        action = np.empty(len(state.round), dtype=np.int64)
        decide_each(state.rule, state.plan.sweep, state.copied, action)
        if available is not None:
            mask = np.asarray(available, dtype=bool)
            action = np.where(mask[action], action, state.actions.best_of(state.theta, mask))
        k, estimate = state.actions.listed, state.theta
        if k is None:
            return Choices(
                action, np.ones((len(action), 1)), estimate=estimate, candidates=action[:, None]
            )
        return Choices(action, point_mass(action, k), estimate=estimate)

    def update(self, state: SweepState, action: Indices, observation: Array) -> SweepState:
        from partial_monitoring.numerics.compiled.sweeps import learn_each

        known, ended = state.copied, np.zeros(len(action), dtype=np.bool_)
        played = np.asarray(action, dtype=np.int64)
        learn_each(state.rule, state.plan.sweep, known, played, observation, ended)
        if ended.any():
            state.actions.choose(known, ended, second=self.compares)
        return replace(state, **known._asdict())

    def program(self, state: SweepState) -> Loops:
        """Return rounds in compiled code, from the initial state."""
        from partial_monitoring.numerics.compiled.sweeps import play

        if state.actions.listed is None:
            raise NotCompiled("the best action is asked of an oracle")
        shown = np.zeros((len(state.round), state.width))
        own = state.rule, state.plan.sweep, state.actions.loops, state.copied, shown
        return Loops(play, own)
