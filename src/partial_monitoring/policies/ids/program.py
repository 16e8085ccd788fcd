"""Information-directed sampling as a program: compiled rounds on estimates of least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Width
from partial_monitoring.estimation.kernel.state import KernelState
from partial_monitoring.estimation.linear.contextual import ContextualState
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    in_loops,
    refresh_period,
    refreshed,
)
from partial_monitoring.estimation.linear.state import LinearState
from partial_monitoring.numerics.linalg import ILL_CONDITIONED
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.context_parts import known_pareto, listed_parts
from partial_monitoring.policies.ids.context_program import ContextsProgram, ProvenProgram
from partial_monitoring.policies.ids.function_program import function_ids_program
from partial_monitoring.policies.ids.lazy_gaps import many
from partial_monitoring.policies.ids.parts import checked_parts, parts_of, rivals_of
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import ByThread, NotCompiled, Program, Rounds, bound
from partial_monitoring.validation import Array, Indices

MOST_NUMBERS = 20_000
"""Largest number of numbers that a thread of a GPU keeps."""

Mask = NDArray[np.bool_]

GAPS = MappingProxyType({gaps.exact: 0, gaps.relaxed: 1, gaps.mean: 2})
"""The gap estimates of compiled rounds, numbered as there."""


@dataclass(eq=False)
class LeastSquaresProgram:
    """Compiled rounds of all replicates, and what these know."""

    policy: Any
    estimate: Estimate
    rule: Any
    """The options, a ``Rule`` of the loops."""

    def __post_init__(self) -> None:
        self._threads = ByThread()
        self.actions = actions_of(self.estimate.design, paired=self.paired)
        self.known, self.data = known_of(self.estimate)

    @property
    def paired(self) -> bool:
        """Whether all pairs of actions are compared."""
        return bool(self.rule.gap == 0)

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        return replace(self, rule=self.rule._replace(probe=share))

    @property
    def states(self) -> tuple[Any, ...]:
        """What differs between replicates, as named tuples of arrays."""
        return self.known, self.data

    @property
    def constants(self) -> tuple[Any, ...]:
        """What they share."""
        return (self.actions,)

    def kernel(self, world: Any, totals: Any) -> Any:
        """Return the loops for a GPU."""
        from partial_monitoring.numerics.cuda.play_ids import kernel_for

        shown = world.kind, world.width, totals.plays.shape[1]
        return kernel_for(self.rule, *self._sizes, *shown)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """k, m and r, which must fit into the memory of a thread."""
        k, m, r = self.actions.maps.shape
        if r == 0:
            raise InvalidInput("nothing can be learned in this game; play it on the processor.")
        if k * m * m + 4 * r * r + 6 * k + (k * r if self.paired else 0) > MOST_NUMBERS:
            raise InvalidInput("the game is too large for a GPU's threads; play it elsewhere.")
        return k, m, r

    def scratch(self) -> Any:
        """Return room for the numbers of one round of one replicate."""
        return scratch_for(self.actions, paired=self.paired)

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        run, due, unproven = self._threads.of(self._prepared, world, totals, reached)
        while True:
            run(stop, first, last)
            if not (np.count_nonzero(due) or np.count_nonzero(unproven)):
                return
            if due.any():
                self.settle(np.flatnonzero(due))
            for row in np.flatnonzero(unproven):
                self.decide(world, totals, reached, int(row))
            due[:] = unproven[:] = False

    def _prepared(self, world: Any, totals: Any, reached: Indices) -> tuple[Rounds, Mask, Mask]:
        """Return the loops of a thread, and what they mark."""
        due, unproven = np.zeros((2, len(reached)), dtype=bool)
        return self.loops(world, totals, reached, due, unproven), due, unproven

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        """Return a function that plays replicates from the first to before the last until a round.

        It marks those that are due to be refreshed, or whose next round is not proven.
        """
        from partial_monitoring.numerics.compiled import play_ids

        own = self.actions, self.known, self.rule, self.scratch(), due
        return bound(play_ids.play, (world, totals, self.data, reached), own)

    def settle(self, rows: Indices) -> None:
        """Compute anew what follows from the data of replicates that the loops leave to us."""
        self._keep(rows, refreshed(self.learned(rows)))

    def decide(self, world: Any, totals: Any, reached: Indices, row: int) -> None:
        """Play the next round of one replicate by the batched formulas."""
        from partial_monitoring.numerics.compiled import world as worlds

        t, rows = int(reached[row]), np.array([row])
        state = LinearState(self.learned(rows))
        uniform = worlds.uniform_for_policy(world, row, t)
        choice = self.policy.decide(state, np.array([uniform]))
        k, m = self.actions.maps.shape[:2]
        probe, shown = worlds.probe(world, row, t, self.rule.probe, k), np.zeros(m)
        action = probe if probe >= 0 else int(choice.action[0])
        worlds.observe(world, row, 0, action, t, shown)
        lost, gained, ratio = worlds.loss(world, row, 0, action), np.nan, np.nan
        if choice.information is not None:
            gained, ratio = choice.information[0, action], choice.ratio[0]
        worlds.count(totals, row, action, lost, gained, ratio)
        self._keep(rows, state.after(np.array([action]), shown[None]).estimate)
        reached[row] = t + 1

    def _keep(self, rows: Indices, estimate: Estimate) -> None:
        """Store the estimates of some replicates."""
        for own in self.states:
            for name in own._fields:
                if name != "signals" or self.rule.rows:
                    getattr(own, name)[rows] = getattr(estimate, name)

    def learned(self, rows: Indices) -> Estimate:
        """Return the estimates of some replicates."""
        return self.with_triangles(rows, self.estimate.triangle[rows])

    def with_triangles(self, rows: Indices, triangle: Array) -> Estimate:
        """Return the estimates of some replicates, with the orthogonal factors of their data."""
        own = self.known._asdict() | self.data._asdict()
        some = {name: array[rows] for name, array in own.items()}
        if not self.rule.rows:
            some["signals"] = some["variances"][:, :, None, None]
        return Estimate(design=self.estimate.design, triangle=triangle, **some)


class CutProgram(LeastSquaresProgram):
    """Compiled rounds where Theta cuts E_t."""

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled.play_cut import play

        room = self.scratch(), *cut_of(self.estimate.design), due, unproven
        own = self.actions, self.known, self.rule, *room
        return bound(play, (world, totals, self.data, reached), own)

    def kernel(self, world: Any, totals: Any) -> Any:
        raise InvalidInput("Theta cuts the confidence sets; play this game on the processor.")


class PartsProgram(LeastSquaresProgram):
    """Compiled rounds with any other gaps and information."""

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled.play_parts import play

        parts = parts_of(self.policy, self.estimate.design)
        own = self.actions, self.known, self.rule, self.scratch(), parts, due, unproven
        return bound(play, (world, totals, self.data, reached), own)

    def kernel(self, world: Any, totals: Any) -> Any:
        raise InvalidInput("these gaps with this information are played on the processor only.")


class ImprovementProgram(LeastSquaresProgram):
    """Compiled rounds of expected improvements."""

    @property
    def constants(self) -> tuple[Any, ...]:
        return self.actions, rivals_of(self.estimate.design)

    def loops(self, world: Any, totals: Any, reached: Indices, due: Mask, unproven: Mask) -> Rounds:
        from partial_monitoring.numerics.compiled import improvement, play_improvement

        weights = improvement.scratch_for(*self.actions.maps.shape)
        own = *self.constants, self.known, self.rule, self.scratch(), weights, due
        return bound(play_improvement.play, (world, totals, self.data, reached), own)

    def kernel(self, world: Any, totals: Any) -> Any:
        from partial_monitoring.numerics.cuda.play_improvement import kernel_for

        shown = world.kind, world.width, totals.plays.shape[1]
        return kernel_for(self.rule, *self._sizes, *shown)


def ids_program(policy: Any, state: Any) -> Program:
    """Return the program of IDS in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_ids import Rule

    if isinstance(state, KernelState):
        return function_ids_program(policy, state)
    estimate, parts = estimate_of(policy, state), designs_of(state)
    design, rule = estimate.design, as_rule(policy.sampling)
    most = max(parts or (design,), key=lambda own: own.game.k)
    build = _program_for(policy, most, lazy=rule.minimizes_ratio)
    code, kappa, exact, tradeoff = rule.numbers()
    options = Rule(
        policy.confidence.numbers(design),
        GAPS.get(policy.gap, -1),
        code,
        kappa,
        exact,
        tradeoff,
        *upkeep_of(design),
        0.0,
    )
    if not parts:
        return build(policy, estimate, options)
    if build is not LeastSquaresProgram:
        return _in_contexts(policy, state, options)
    from partial_monitoring.numerics.compiled.play_contexts import play_ids_in

    return ContextsProgram(state, options, play_ids_in, paired=options.gap == 0)


def _in_contexts(policy: Any, state: ContextualState, options: Any) -> ProvenProgram:
    """Return the program for any gaps and information, over any set, in listed contexts."""
    from partial_monitoring.numerics.compiled.play_contexts_cut import play_parts_in

    pareto = known_pareto(policy, state)
    return ProvenProgram(
        state,
        options,
        play_parts_in,
        paired=options.gap == 0,
        policy=policy,
        parts=lambda: (listed_parts(policy, state, pareto),),
        renew=lambda: np.copyto(pareto, known_pareto(policy, state)),
    )


def estimate_of(policy: Any, state: Any) -> Estimate:
    """Return the estimate of least squares that compiled rounds begin with, if it is one."""
    if type(state) is not LinearState and not isinstance(state, ContextualState):
        raise NotCompiled("the estimate is not that of listed actions")
    return fitting_estimate(policy, state)


def fitting_estimate(policy: Any, state: Any) -> Estimate:
    """Return the estimate of a state of least squares, if compiled rounds can go on from it."""
    if not isinstance(policy.confidence, Width):
        raise NotCompiled("the confidence schedule is a function of your own")
    estimate: Estimate = state.estimate
    if estimate.design.game.traits.finite and getattr(policy.confidence, "counts_signals", False):
        raise NotCompiled("the confidence sets are no ellipsoids")
    if estimate.design.forgetting.active and not _forgets_in_loops(
        estimate.design, designs_of(state)
    ):
        raise NotCompiled("forgetting is compiled for small games that are well conditioned")
    return estimate


def _forgets_in_loops(design: Design, parts: tuple[Design, ...]) -> bool:
    """Whether Gram matrices that forget stay so small that loops never need the data themselves."""
    rows = max(own.maps.shape[1] for own in parts or (design,))
    count = rows * (1 + design.forgetting.memory)
    return in_loops(design) and design.rank + design.leverage * count <= ILL_CONDITIONED


def designs_of(state: Any) -> tuple[Design, ...]:
    """Return the designs of all contexts; empty if there are none."""
    return getattr(state, "parts", ())


def upkeep_of(design: Design) -> tuple[int, float, int]:
    """Return ``period``, ``most`` and ``rows`` of a rule, see ``compiled.estimate.learn``."""
    most = ILL_CONDITIONED * design.regularization if in_loops(design) else -1.0
    rows = 0 if design.shows_own_reward else design.maps.shape[1]
    return refresh_period(design), most, rows


def _program_for(policy: Any, design: Design, *, lazy: bool) -> type[LeastSquaresProgram]:
    """Return the kind of program that computes these gaps and this information, or say why none."""
    checked_parts(policy, design)
    if (policy.gap, policy.information) == (gaps.improvement, information.improvement):
        return ImprovementProgram
    if policy.gap is gaps.exact and lazy and many(design.game.k, whole=design.cut.whole):
        raise NotCompiled("exact gaps of so many actions are computed only where they matter")
    if policy.information is not information.log_det or policy.gap is gaps.improvement:
        return PartsProgram
    return LeastSquaresProgram if design.cut.whole else CutProgram


def actions_of(design: Design, *, paired: bool) -> Any:
    """Return a design for compiled loops; distances of all pairs only if they are asked for."""
    from partial_monitoring.numerics.compiled.estimate import Actions

    best = np.flatnonzero(design.always_best)
    return Actions(
        np.array(design.maps),
        np.array(design.expected),
        np.array(design.whitening),
        np.array(design.counts),
        np.array(design.observed_features),
        np.array(design.features_by_coordinate),
        np.array(design.hidden_features),
        np.array(design.centred_features),
        np.array(design.hidden_distances) if paired else np.zeros((0, 0)),
        np.array(design.offsets),
        np.array(design.gap_ceiling),
        float(design.regularization),
        int(best[0]) if len(best) else -1,
        np.array(design.always_best),
        np.array(design.hidden_lengths),
        design.forgetting.keep,
        design.forgetting.memory,
        design.forgetting.fade,
    )


def cut_of(design: Design) -> tuple[Any, Any, Any]:
    """Return rewards on Theta, Theta, and room for numbers, for compiled loops."""
    from partial_monitoring.numerics.compiled import bodies, play_cut

    (k, dim), cut = design.slopes.shape, design.cut.numbers(design)
    assert cut is not None
    rewards = play_cut.Rewards(np.array(design.slopes), design.groups, np.empty(dim), np.empty(k))
    return rewards, cut, bodies.make_scratch(cut, design.rank, k)


def known_of(estimate: Estimate) -> tuple[Any, Any]:
    """Return what replicates know and have seen for compiled loops, which may change it."""
    from partial_monitoring.numerics.compiled.estimate import Data, Known

    known = {name: np.array(getattr(estimate, name), order="C") for name in Known._fields}
    if estimate.design.shows_own_reward:
        known["signals"] = np.zeros((len(estimate.round), 1, 1, 1))
    return Known(**known), Data(estimate.plays.copy(), estimate.sums.copy())


def scratch_for(actions: Any, *, paired: bool) -> Any:
    """Return room for the numbers of one round of one replicate."""
    from partial_monitoring.numerics.compiled.estimate import Scratch

    k, m, r = actions.maps.shape
    sizes = (k,), (k,), (k,), (k,), (k if paired else 1, r), (r,), (m,), (m,), (m, m), (r, r)
    return Scratch(*map(np.empty, sizes))
