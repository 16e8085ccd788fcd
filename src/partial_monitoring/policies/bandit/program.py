"""Policies that play what looks best as programs: compiled rounds on estimates of least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.context_parts import listed_rewards
from partial_monitoring.policies.ids.context_program import ContextsProgram, ProvenProgram
from partial_monitoring.policies.ids.program import (
    LeastSquaresProgram,
    Mask,
    cut_of,
    designs_of,
    estimate_of,
    scratch_for,
    upkeep_of,
)
from partial_monitoring.policies.program import NotCompiled, Program, Rounds, bound
from partial_monitoring.validation import Indices

KINDS = ("optimistic", "relative", "drawn", "greedy", "mixed", "decaying", "inverse gap")
"""The policies of compiled rounds, numbered as there."""


@dataclass(eq=False)
class BanditProgram(LeastSquaresProgram):
    """Compiled rounds of all replicates, and what these know."""

    paired = False

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled.play_bandits import play

        own = self.actions, self.known, self.rule, self.scratch(), due
        return bound(play, (world, totals, self.data, reached), own)

    def kernel(self, world: Any, totals: Any) -> Any:
        from partial_monitoring.numerics.cuda.play_bandits import kernel_for

        shown = world.kind, world.width, totals.plays.shape[1]
        return kernel_for(self.rule, *self._sizes, self._width, *shown)

    def scratch(self) -> Any:
        room = scratch_for(self.actions, paired=False)
        return room._replace(pulled=np.empty((1, self._width)))

    @property
    def _width(self) -> int:
        """The number of directions of Theta."""
        return int(self.estimate.design.basis.shape[1])


class CutProgram(BanditProgram):
    """Compiled rounds of policies that compare rewards at an estimate that Theta cuts."""

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled.play_bandits import play_cut

        room = self.scratch(), *cut_of(self.estimate.design), due, unproven
        own = self.actions, self.known, self.rule, *room
        return bound(play_cut, (world, totals, self.data, reached), own)

    def kernel(self, world: Any, totals: Any) -> Any:
        raise InvalidInput("Theta cuts the estimate; play this game on the processor.")


def index_program(
    policy: Any, state: Any, kind: str, factor: float = 1.0, *, wide: bool = False
) -> BanditProgram | ContextsProgram:
    """Return the program of a policy that plays the largest index, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_bandits import Rule

    estimate = estimate_of(policy, state)
    design = estimate.design
    width, noise = policy.confidence.numbers(design), float(design.noise_std)
    options = KINDS.index(kind), float(factor), wide, noise
    rule = Rule(width, *options, *upkeep_of(design), 0.0)
    if not designs_of(state):
        return BanditProgram(policy, estimate, rule)
    from partial_monitoring.numerics.compiled.play_contexts import play_bandits_in

    return ContextsProgram(state, rule, play_bandits_in, width=state.normals)


def comparing_program(policy: Any, state: Any, kind: str, factor: float = 0.0) -> Program:
    """Return the program of a policy that compares estimated rewards, or say why there is none."""
    found = index_program(policy, state, kind, factor)
    design = found.estimate.design
    if design.cut.whole:
        return found
    if design.cut.bare(design.basis.shape[1]) is None:
        raise NotCompiled("Theta is a set of your own")
    if not designs_of(state):
        return CutProgram(policy, found.estimate, found.rule)
    from partial_monitoring.numerics.compiled.play_contexts_cut import play_comparing_in

    return ProvenProgram(
        state,
        found.rule,
        play_comparing_in,
        width=state.normals,
        policy=policy,
        parts=lambda: (listed_rewards(state, design.cut, paired=False),),
    )
