"""Policies that let the greedy item meet another as programs: compiled rounds of duels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.state import KernelDuelState
from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.estimation.linear.state import DuelState
from partial_monitoring.numerics.linalg import ILL_CONDITIONED
from partial_monitoring.policies.ids import gaps
from partial_monitoring.policies.ids.function_program import (
    IMPROVEMENT,
    FunctionProgram,
    fitting,
    scratch_for,
)
from partial_monitoring.policies.ids.program import (
    GAPS,
    LeastSquaresProgram,
    Mask,
    cut_of,
    fitting_estimate,
    upkeep_of,
)
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import NotCompiled, Program, Rounds, bound
from partial_monitoring.validation import Indices


@dataclass(eq=False)
class DuelProgram(LeastSquaresProgram):
    """Compiled rounds of duels of items with features, and what replicates know of these."""

    missed: float
    """How often what the greedy item may lose counts against a duel."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.triangles = self.estimate.triangle.copy()

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled import duels, play_duels

        design, (k, _, r) = self.estimate.design, self.actions.maps.shape
        counted = np.array(design.rivals[0])
        meeting = play_duels.Meeting(counted, float(design.noise_std), float(self.missed))
        row = play_duels.Row(*map(np.empty, (k, k, (1, r), r + 1)))
        room = self.scratch()._replace(shown=np.empty(1)), duels.room_for(k, r), row
        own = self.actions, self.known, meeting, self.rule, *room, *cut_of(design), due, unproven
        return bound(play_duels.play, (world, totals, self.triangles, reached), own)

    def decide(self, world: Any, totals: Any, reached: Indices, row: int) -> None:
        from partial_monitoring.numerics.compiled import world as worlds

        t, rows = int(reached[row]), np.array([row])
        state, k = DuelState(self.learned(rows)), len(self.actions.offsets)
        uniform = worlds.uniform_for_policy(world, row, t)
        choice: Any = self.policy.decide(state, np.array([uniform]))
        probe, shown = worlds.probe(world, row, t, self.rule.probe, k), np.zeros(1)
        first, other = divmod(int(choice.action[0]), k)
        other = probe if probe >= 0 else other
        action = first * k + other
        worlds.observe(world, row, 0, action, t, shown)
        lost = worlds.loss(world, row, 0, action)
        worlds.count(totals, row, action, lost, choice.information[0, other], choice.ratio[0])
        self._keep(rows, state.after(np.array([action]), shown[None]).estimate)
        reached[row] = t + 1

    def _keep(self, rows: Indices, estimate: Estimate) -> None:
        super()._keep(rows, estimate)
        self.triangles[rows] = estimate.triangle

    def learned(self, rows: Indices) -> Estimate:
        return self.with_triangles(rows, self.triangles[rows])

    def kernel(self, world: Any, totals: Any) -> Any:
        raise InvalidInput("duels are played on the processor; leave device out.")


@dataclass(eq=False)
class FunctionDuelProgram(FunctionProgram):
    """Compiled rounds of duels of items that are values of a function."""

    missed: float

    def prepared(self, world: Any, totals: Any, reached: Indices) -> tuple[Rounds, Mask]:
        from partial_monitoring.numerics.compiled.play_duels import play_functions

        due, room = np.zeros(len(reached), dtype=bool), scratch_for(self.functions, self.known)
        own = self.functions, self.known, self.rule, float(self.missed), room, due
        return bound(play_functions, (world, totals, reached), own), due


def duel_program(policy: Any, state: Any, *, improving: bool, missed: float = 2.0) -> Program:
    """Return the program of a policy for duels in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.duels import MOST
    from partial_monitoring.numerics.compiled.play_ids import Rule

    functions = isinstance(state, KernelDuelState)
    if not functions and not isinstance(state, DuelState):
        raise NotCompiled("the items are those of a box")
    design: Any = fitting(policy, state) if functions else fitting_estimate(policy, state).design
    if design.always_best.any():
        raise NotCompiled("an item is best whatever is true")
    rule = as_rule(policy.sampling)
    gap = IMPROVEMENT if improving else GAPS[gaps.mean]
    upkeep = (0, 0.0, 0) if functions else upkeep_of(design)
    options = Rule(policy.confidence.numbers(design), gap, *rule.numbers(), *upkeep, 0.0)
    if functions:
        return FunctionDuelProgram(state, options, "play", missed)
    if design.game.k * design.rank**2 > MOST:
        raise NotCompiled("products of matrices are faster for so many items")
    # Items are at most twice as far from each other as from the first one.
    weight = design.rank + 4.0 * design.leverage * (1 + design.forgetting.memory)
    if design.forgetting.active and weight > ILL_CONDITIONED:
        raise NotCompiled("forgetting is compiled for small games that are well conditioned")
    if design.cut.numbers(design) is None:
        raise NotCompiled("Theta is a set of your own")
    return DuelProgram(policy, state.estimate, options, missed)
