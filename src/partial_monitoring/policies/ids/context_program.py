"""Programs in games with listed contexts: compiled rounds that decide in the one that came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partial_monitoring.estimation.linear.contextual import ContextualState
from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.estimation.linear.least_squares import Estimate, in_loops, refreshed
from partial_monitoring.policies.program import ByThread, NotCompiled, bound
from partial_monitoring.validation import Array, Indices

FROM_DATA = ("round", "gram", "inverse", "log_det", "vector", "coordinates")
"""What replicates know besides the actions of a context."""


@dataclass(eq=False)
class ContextsProgram:
    """Compiled rounds of all replicates, and what these know."""

    state: ContextualState
    rule: Any
    """The options, a ``Rule`` of the loops."""
    loops: Callable[..., None]
    paired: bool = False
    """Whether all pairs of actions are compared."""
    width: int = 0
    """The number of normal numbers of a round."""
    extra: tuple[Any, ...] = ()
    """What else the loops are handed."""

    def __post_init__(self) -> None:
        from partial_monitoring.numerics.compiled.estimate import Known

        self._threads = ByThread()
        estimate = self.state.estimate
        if not all(map(in_loops, self.state.parts)):
            raise NotCompiled("the contexts are large")
        self.listed = listed_of(self.state, paired=self.paired)
        n = estimate.replicates
        known: dict[str, Any] = {name: getattr(estimate, name).copy() for name in FROM_DATA}
        nothing = np.zeros((n, 0))
        self.known = Known(
            **known, means=nothing, variances=nothing, signals=np.zeros((n, 0, 0, 0))
        )
        self.triangles = estimate.triangle.copy()

    @property
    def estimate(self) -> Estimate:
        """What all replicates know at first."""
        return self.state.estimate

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        return replace(self, rule=self.rule._replace(probe=share))

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        run, due = self._threads.of(self._prepared, world, totals, reached)
        while True:
            run(stop, first, last)
            if not due.any():
                return
            self._settle(np.flatnonzero(due))
            due[:] = False

    def _prepared(self, world: Any, totals: Any, reached: Indices) -> Any:
        """Return the loops of a thread, and what they mark."""
        due = np.zeros(len(reached), dtype=bool)
        room, scratch = self._room()
        own = self.listed, room, self.known, self.rule, scratch, due, *self.extra
        return bound(self.loops, (world, totals, self.triangles, reached), own), due

    def learned(self, rows: Indices) -> Estimate:
        """Return the estimates of some replicates."""
        blank: Estimate = self.state.estimate
        chosen = np.isin(np.arange(blank.replicates), rows)
        some = {name: getattr(self.known, name)[rows] for name in FROM_DATA}
        return replace(blank.of(chosen), **some, triangle=self.triangles[rows])

    def _settle(self, rows: Indices) -> None:
        """Compute anew what follows from the data of replicates that the loops leave to us."""
        fresh = refreshed(self.learned(rows))
        for name in ("inverse", "log_det", "coordinates"):
            getattr(self.known, name)[rows] = getattr(fresh, name)

    def _room(self) -> tuple[Any, Any]:
        """Return room for the numbers of one round of one replicate."""
        from partial_monitoring.numerics.compiled.estimate import Scratch
        from partial_monitoring.numerics.compiled.listed import Room

        k, m = self.listed.sizes.max(axis=0)
        game, r = self.state.game, self.listed.seen.shape[1]
        pulled = (k, r) if self.paired else (1, self.width)
        sizes = (k,), (k,), (k,), (k,), pulled, (r,), (game.m,), (m,), (0, 0), (r, r)
        return Room(*map(np.empty, (k, k, k * m * m, m * m, r + 1))), Scratch(*map(np.empty, sizes))


@dataclass(eq=False)
class ProvenProgram(ContextsProgram):
    """Compiled rounds that stop where something is not proven."""

    policy: Any = None
    parts: Callable[[], tuple[Any, ...]] = tuple
    """Returns what else the loops are handed, with room of its own."""
    renew: Callable[[], None] = lambda: None
    """Tells the loops what was found out by the batched formulas."""
    counts: Indices | None = None
    """How often each context has come, shape (n, contexts), if the policy counts that."""

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        found = self._threads.of(self._prepared, world, totals, reached)
        run, due, unproven, contexts, memory = found
        while True:
            run(stop, first, last)
            if not (due.any() or unproven.any()):
                return
            for row in np.flatnonzero(unproven):
                z = int(contexts[row])
                due[row] = not self.decide(world, totals, reached, int(row), z, memory)
                self.renew()
            if due.any():
                self._settle(np.flatnonzero(due))
            due[:] = unproven[:] = False

    def _prepared(self, world: Any, totals: Any, reached: Indices) -> Any:
        due, unproven = np.zeros((2, len(reached)), dtype=bool)
        contexts = np.zeros(len(reached), dtype=np.int64)
        room, scratch = self._room()
        made = *self.extra, *self.parts(), contexts, unproven
        own = self.listed, room, self.known, self.rule, scratch, due, *made
        run = bound(self.loops, (world, totals, self.triangles, reached), own)
        return run, due, unproven, contexts, (room.line, scratch)

    def decide(
        self, world: Any, totals: Any, reached: Indices, row: int, z: int, memory: Any
    ) -> bool:
        """Play the next round of one replicate by the batched formulas, in a context.

        False if it is due to be refreshed.
        """
        from partial_monitoring.numerics.compiled import world as worlds
        from partial_monitoring.numerics.compiled.listed import finish, probed

        t, (line, scratch), rows = int(reached[row]), memory, np.array([row])
        state = self.state.with_estimate(self.learned(rows))
        if self.counts is not None:
            state = replace(state, seen=self.counts[rows])  # type: ignore[call-arg]
        uniform = worlds.uniform_for_policy(world, row, t)
        choice = self.policy.decide(state, np.array([uniform]), context=np.array([z]))
        numbers = self.state.game.positions(z)
        action = int(np.flatnonzero(numbers == choice.action[0])[0])
        action = probed(world, row, t, self.rule.probe, self.listed, z, action)
        gain, ratio = np.nan, np.nan
        if choice.information is not None:
            gain, ratio = float(choice.information[0, numbers[action]]), float(choice.ratio[0])
        if self.counts is not None:
            self.counts[row, z] += 1
        reached[row] = t + 1
        place = self.listed, z, scratch
        known = self.known, self.triangles, line, self.rule
        return bool(finish(world, totals, row, t, *place, action, gain, ratio, *known))


def listed_of(state: ContextualState, *, paired: bool) -> Any:
    """Return the designs of all contexts for compiled loops; see ``compiled.listed.Listed``."""
    from partial_monitoring.numerics.compiled.listed import Listed

    parts, game = state.parts, state.game
    maps, expected = [part.maps for part in parts], [part.expected for part in parts]
    for z, own in enumerate(maps):
        if own.shape[1] == 0:  # a context that shows nothing has one row of zeros instead
            maps[z], expected[z] = np.zeros((len(own), 1, own.shape[2])), np.zeros((len(own), 1))
    sizes = np.array([own.shape[:2] for own in maps], dtype=np.int64)
    k, m = sizes.T
    counts = np.column_stack([k, k * m, k * k])
    numbers = [game.positions(z) for z in range(len(parts))]
    best = [int(own.argmax()) if own.any() else -1 for own in (p.always_best for p in parts)]
    apart = [part.hidden_distances for part in parts] if paired else []
    return Listed(
        sizes,
        np.cumsum(counts, axis=0) - counts,
        _flat(maps),
        _flat(expected),
        _flat([part.whitening for part in parts]),
        _flat([part.counts for part in parts]),
        _stacked(parts, "observed_features"),
        _flat([part.features_by_coordinate for part in parts]),
        _stacked(parts, "hidden_features"),
        _stacked(parts, "centred_features"),
        _flat(apart),
        _flat([part.offsets for part in parts]),
        _flat([part.gap_ceiling for part in parts]),
        float(state.design.regularization),
        np.array(best),
        _flat([part.always_best for part in parts]),
        _flat([part.hidden_lengths for part in parts]),
        np.array([part.shows_own_reward for part in parts]),
        _flat(numbers).astype(np.int64),
        _flat([own.argsort() for own in numbers]).astype(np.int64),
        state.design.forgetting.keep,
        state.design.forgetting.memory,
        state.design.forgetting.fade,
    )


def _flat(arrays: Sequence[Any]) -> Any:
    """Return the entries of arrays, one after the other."""
    return np.concatenate([np.ravel(own) for own in arrays]) if arrays else np.zeros(0)


def _stacked(parts: Sequence[Design], name: str) -> Array:
    """Return tables of all contexts, one below the other."""
    return np.concatenate([getattr(part, name) for part in parts])
