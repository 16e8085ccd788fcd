"""Policies for kernel games as programs: compiled rounds on the posterior of a function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from partial_monitoring.estimation.confidence import Width
from partial_monitoring.estimation.kernel.design import KernelDesign
from partial_monitoring.estimation.kernel.posterior import following, grouped
from partial_monitoring.estimation.kernel.state import KernelDuelState, KernelState
from partial_monitoring.policies.ids import gaps, information
from partial_monitoring.policies.ids.lazy_gaps import many
from partial_monitoring.policies.ids.sampling import as_rule
from partial_monitoring.policies.program import ByThread, NotCompiled, Rounds, bound
from partial_monitoring.validation import Array, Indices

LARGEST = 512
"""Largest number of numbers of a function, and of rivals whose improvements count, in loops."""

MOST_NUMBERS = 2**27
"""Largest number of entries of the covariances of all replicates together."""

GAPS = MappingProxyType({gaps.exact: 0, gaps.relaxed: 1, gaps.mean: 2})
"""The gap estimates of compiled rounds, numbered as there."""

IMPROVEMENT = 3
"""That of expected improvements."""

KINDS = ("optimistic", "drawn", "improving")
"""The policies with an index, numbered as there."""


@dataclass(eq=False)
class FunctionProgram:
    """Compiled rounds of all replicates, and what these know."""

    state: KernelState
    rule: Any
    """The options, a ``Rule`` of the loops."""
    loops: str
    """Which loops of ``play_functions`` play them."""

    def __post_init__(self) -> None:
        self._threads = ByThread()
        self.functions = functions_of(self.state)
        self.known = known_of(self.state)

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        return replace(self, rule=self.rule._replace(probe=share))

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        run, due = self._threads.of(self.prepared, world, totals, reached)
        while True:
            run(stop, first, last)
            if not np.count_nonzero(due):
                return
            for row in np.flatnonzero(due).tolist():
                self._refresh(row)
            due[:] = False

    def prepared(self, world: Any, totals: Any, reached: Indices) -> tuple[Rounds, Any]:
        """Return the loops of a thread, and what they mark."""
        from partial_monitoring.numerics.compiled import play_functions

        due = np.zeros(len(reached), dtype=bool)
        own = self.functions, self.known, self.rule, scratch_for(self.functions, self.known), due
        return bound(getattr(play_functions, self.loops), (world, totals, reached), own), due

    def _refresh(self, row: int) -> None:
        """Compute everything of one replicate anew from what it has seen."""
        known, design = self.known, self.state.design
        fresh = following(design, *grouped(*self._seen(row)))
        for name in ("log_det", "numbers", "variances", "signals"):
            getattr(known, name)[row] = getattr(fresh, name)
        known.covariance[row] = design.gram.matrix - fresh.reach.T @ fresh.reach
        known.refresh[row] = 2 * known.round[row]

    def _seen(self, row: int) -> tuple[Array, Array]:
        """Return the rows that one replicate has seen with sums of what they showed, and how often.

        They are as in the log of an estimate.
        """
        shown, plays = self.functions, self.known.plays[row]
        if isinstance(self.state, KernelDuelState):
            pairs = np.flatnonzero(plays)
            ends = np.stack(np.divmod(pairs, self.state.design.game.k), axis=1)
            weights = np.broadcast_to([1.0, -1.0], ends.shape)
            return np.hstack([ends, weights, self.known.sums[row, pairs]]), plays[pairs] * 1.0
        action, j = np.nonzero(
            (plays[:, None] > 0) & (np.arange(shown.shown_places.shape[1]) < shown.rows[:, None])
        )
        scale = shown.whitening[action, None]
        weights = shown.shown_weights[action, j] * scale
        sums = self.known.sums[row, action, j, None] * scale
        return np.hstack([shown.shown_places[action, j], weights, sums]), plays[action] * 1.0


def function_ids_program(policy: Any, state: KernelState) -> FunctionProgram:
    """Return the program of IDS on a kernel game in its initial state, or say why there is none."""
    from partial_monitoring.numerics.compiled.play_ids import Rule

    design, rule = fitting(policy, state), as_rule(policy.sampling)
    gap = GAPS.get(policy.gap, -1)
    if (policy.gap, policy.information) == (gaps.improvement, information.improvement):
        gap = IMPROVEMENT
    elif gap < 0:
        raise NotCompiled("the gap estimate is not compiled")
    elif policy.information is not information.log_det:
        raise NotCompiled("the information gain is not compiled")
    if policy.gap is gaps.exact and rule.minimizes_ratio and many(design.game.k, whole=True):
        raise NotCompiled("exact gaps of so many actions are computed only where they matter")
    width = policy.confidence.numbers(design)
    return FunctionProgram(state, Rule(width, gap, *rule.numbers(), 0, 0.0, 0, 0.0), "play")


def function_index_program(
    policy: Any,
    state: Any,
    kind: str,
    reach: tuple[int, float, float, float, float] | None = None,
    *,
    factor: float = 1.0,
    jitter: float = 0.0,
) -> FunctionProgram:
    """Return the program of a policy for kernel games that plays the largest index.

    ``reach`` is the squared width of the index, beta_t unless given. Says why if there is none.
    """
    from partial_monitoring.numerics.compiled.play_functions import IndexRule

    design = fitting(policy, state)
    width = policy.confidence.numbers(design)
    options = KINDS.index(kind), float(factor), float(jitter)
    rule = IndexRule(width, width if reach is None else reach, *options, 0.0)
    return FunctionProgram(state, rule, "play_index")


def fitting(policy: Any, state: Any) -> KernelDesign:
    """Return the design of a state whose covariance can be written down, or say why not."""
    if not isinstance(state, KernelState):
        raise NotCompiled("the candidates are those of a box")
    if not isinstance(policy.confidence, Width):
        raise NotCompiled("the confidence schedule is a function of your own")
    design, n = state.design, state.estimate.replicates
    if max(design.game.k, design.game.d) > LARGEST:
        raise NotCompiled(f"the covariance of more than {LARGEST} numbers is not written down")
    if n * design.game.d**2 > MOST_NUMBERS:
        raise NotCompiled("the covariances of so many seeds take too much memory")
    return design


def functions_of(state: KernelState) -> Any:
    """Return a design for compiled loops."""
    from partial_monitoring.numerics.compiled.functions import Functions

    design, game = state.design, state.design.game
    earned, shown, best = game.reward, game.observation, np.flatnonzero(design.always_best)
    own = earned.plain and game.k == game.d
    prior = state.roots[0].prior if state.roots else np.zeros((game.d, 0))
    return Functions(
        np.array(earned.index),
        np.array(earned.weight),
        np.array(shown.index),
        np.array(shown.weight),
        np.array([game.row_count(a) for a in range(game.k)], dtype=np.int64),
        np.array(np.broadcast_to(design.whitening, (game.k,))),
        bool(own and (shown.index.shape[1] == 0 or shown[:, 0].plain) and game.m <= 1),
        float(design.regularization),
        float(design.noise_std),
        np.array(design.gap_ceiling),
        int(best[0]) if len(best) else -1,
        np.array(design.rivals[0]),
        np.array(prior),
    )


def known_of(state: KernelState) -> Any:
    """Return what replicates know at first for compiled loops, which may change it."""
    from partial_monitoring.numerics.compiled.functions import Known

    estimate, game = state.estimate, state.design.game
    n, duels = estimate.replicates, isinstance(state, KernelDuelState)
    actions, rows = (game.k**2, 1) if duels else (game.k, estimate.signals.shape[2])
    prior = state.roots[0].inner if state.roots else np.zeros((0, 0))
    return Known(
        estimate.round.copy(),
        estimate.log_det.copy(),
        estimate.numbers.copy(),
        estimate.variances.copy(),
        estimate.signals.copy(),
        np.tile(state.design.gram.matrix, (n, 1, 1)),
        np.tile(prior, (n, 1, 1)),
        estimate.refresh.copy(),
        np.zeros((n, actions), dtype=np.int64),
        np.zeros((n, actions, rows)),
    )


def scratch_for(functions: Any, known: Any) -> Any:
    """Return room for the numbers of one round of one replicate."""
    from partial_monitoring.numerics.compiled.functions import Scratch

    k, m, wide = len(functions.places), known.signals.shape[2], functions.prior.shape[1]
    d, seen = known.numbers.shape[1], known.sums.shape[2]
    sizes = [(k,)] * 7 + [(d,), (d,), (seen,), (m,), (m, m), (k, m, m)]
    room: list[Any] = [np.empty(size) for size in sizes]
    room += [np.zeros(2, dtype=np.int64), np.array([1.0, -1.0]), np.empty(wide), np.empty(wide)]
    return Scratch(*room)
