"""Information-directed sampling as a program: compiled rounds on estimates of least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Width
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.least_squares import (
    Estimate,
    in_loops,
    refresh_period,
    refreshed,
)
from partial_monitoring.numerics.linalg import ILL_CONDITIONED
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.context_program import ContextsProgram
from partial_monitoring.policies.ids.lazy_gaps import FROM as LAZY_FROM
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import NotCompiled, Program
from partial_monitoring.validation import Indices

GAPS = MappingProxyType({gaps.exact: 0, gaps.relaxed: 1, gaps.mean: 2})
"""The gap estimates of compiled rounds, numbered as there."""


@dataclass(eq=False)
class LeastSquaresProgram:
    """Compiled rounds of all replicates, and what these know."""

    estimate: Estimate
    rule: Any
    """The options, a ``Rule`` of the loops."""
    draws: int = 1

    def __post_init__(self) -> None:
        self.actions = actions_of(self.estimate.design, paired=self.paired)
        self.known, self.data = known_of(self.estimate)

    @property
    def paired(self) -> bool:
        """Whether all pairs of actions are compared."""
        return bool(self.rule.gap == 0)

    @property
    def states(self) -> tuple[Any, ...]:
        """What differs between replicates, as named tuples of arrays."""
        return self.known, self.data

    @property
    def constants(self) -> tuple[Any, ...]:
        """What they share."""
        return (self.actions,)

    def loops(self) -> Any:
        """Return the loops for the processor."""
        from partial_monitoring.numerics.compiled.play_ids import play

        return play

    def kernel(self) -> Any:
        """Return the loops for a GPU."""
        from partial_monitoring.numerics.cuda.play_ids import kernel_for

        if self.estimate.design.rank == 0:
            raise InvalidInput("nothing can be learned in this game; play it on the processor.")
        return kernel_for(self.rule, *self.actions.maps.shape)

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        return replace(self, rule=self.rule._replace(probe=share), draws=self.draws + 1)

    def scratch(self) -> Any:
        """Return room for the numbers of one round of one replicate."""
        return scratch_for(self.actions, paired=self.paired)

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        due, loops = np.zeros(len(reached), dtype=bool), self.loops()
        own = *self.constants, self.known, self.rule, self.scratch(), due
        while True:
            loops(world, totals, self.data, reached, stop, first, last, *own)
            if not due.any():
                return
            self.settle(np.flatnonzero(due))
            due[:] = False

    def settle(self, rows: Indices) -> None:
        """Compute anew what follows from the data of replicates that the loops leave to us."""
        fresh = refreshed(self.learned(rows))
        for name in ("inverse", "log_det", "coordinates", "means", "variances"):
            getattr(self.known, name)[rows] = getattr(fresh, name)
        if self.rule.upkeep[2]:
            self.known.signals[rows] = fresh.signals

    def learned(self, rows: Indices) -> Estimate:
        """Return the estimates of some replicates."""
        own = self.known._asdict() | self.data._asdict()
        some = {name: array[rows] for name, array in own.items()}
        if not self.rule.upkeep[2]:
            some["signals"] = some["variances"][:, :, None, None]
        triangle = self.estimate.triangle[rows]
        return Estimate(design=self.estimate.design, triangle=triangle, **some)


def ids_program(policy: Any, state: Any) -> Program:
    """Return the program of IDS in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_ids import Rule

    estimate = estimate_of(policy, state)
    design, parts = estimate.design, parts_of(state)
    if policy.gap not in GAPS:
        raise NotCompiled("the gap estimate is not compiled")
    if policy.information is not information.log_det:
        raise NotCompiled("the information gain is not compiled")
    if not design.cut.whole:
        raise NotCompiled("the gaps are cut by Theta")
    rule = as_rule(policy.sampling)
    most = max(part.game.k for part in parts or (design,))
    if policy.gap is gaps.exact and rule.minimizes_ratio and most >= LAZY_FROM:
        raise NotCompiled("exact gaps of so many actions are computed only where they matter")
    code, kappa, exact, tradeoff = rule.numbers()
    options = Rule(
        policy.confidence.numbers(design),
        GAPS[policy.gap],
        code,
        kappa,
        exact,
        tradeoff,
        upkeep_of(design),
        0.0,
    )
    if not parts:
        return LeastSquaresProgram(estimate, options)
    from partial_monitoring.numerics.compiled.play_contexts import play_ids_in

    return ContextsProgram(state, options, play_ids_in, paired=options.gap == 0)


def parts_of(state: Any) -> tuple[Design, ...]:
    """Return the designs of all contexts; empty if there are none."""
    return getattr(state, "parts", ())


def estimate_of(policy: Any, state: Any) -> Estimate:
    """Return the estimate of least squares that compiled rounds begin with, if it is one."""
    estimate = getattr(state, "estimate", None)
    if not isinstance(estimate, Estimate):
        raise NotCompiled("the estimate is not that of least squares")
    if not isinstance(policy.confidence, Width):
        raise NotCompiled("the confidence schedule is a function of your own")
    if estimate.design.game.traits.finite and getattr(policy.confidence, "counts_signals", False):
        raise NotCompiled("the confidence sets are no ellipsoids")
    return estimate


def upkeep_of(design: Design) -> tuple[int, float, int]:
    """Return how compiled rounds look after estimates, see ``compiled.estimate.learn``."""
    most = ILL_CONDITIONED * design.regularization if in_loops(design) else -1.0
    rows = 0 if design.shows_own_reward else design.maps.shape[1]
    return refresh_period(design), most, rows


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
    )


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
