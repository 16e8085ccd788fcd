"""CBP and RandCBP in compiled code, with linear programs for patterns that were not met before."""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol, Self

import numpy as np

from partial_monitoring.policies.finite.patterns import Patterns
from partial_monitoring.validation import Array, Indices

ROUNDS = 512
"""The most rounds whose bounds, rates and weights are tabled at a time."""


class Schedule(Protocol):
    """What depends on the number of a round only; see :class:`partial_monitoring.CBP`."""

    def bound(self, t: Indices) -> Array: ...

    def rate(self, t: Indices) -> Array: ...

    def weights(self, bound: Array) -> tuple[Array, Array]: ...


class CBPProgram:
    """Rounds of replicates that know nothing yet; ``draws``, ``unused``: as in ``play_cbp``.

    A replicate that meets a new pattern waits until it is solved for all of them.
    """

    def __init__(
        self,
        schedule: Schedule,
        patterns: Patterns,
        replicates: int,
        draws: int,
        unused: int,
        tie: float,
    ) -> None:
        from partial_monitoring.numerics.compiled import play_cbp
        from partial_monitoring.numerics.compiled.comparisons import no_sums

        self.schedule, self.patterns = schedule, patterns
        own, n = patterns.geometry, replicates
        pairs, k, m = own.vectors.shape
        squares, roots = own.weights**2, np.cbrt(own.weights) ** 2
        self.shape = play_cbp.Shape(
            *own.by_action,
            patterns.ends,
            patterns.fan,
            squares,
            roots,
            1.0 - tie,
            draws,
            unused,
            0.0,
        )
        undecided = np.zeros((n, pairs), dtype=np.int8)
        candidates, observers, _ = patterns.masks(undecided)
        self.state = play_cbp.State(
            plays=np.zeros((n, k), dtype=np.int64),
            sums=np.zeros((n, k, m)),
            share=np.full((n, k), np.inf),
            error=np.full((n, k), np.inf),
            scores=np.tile(np.where(own.useful, np.inf, squares), (n, 1)),
            difference=np.full((n, pairs), np.nan),
            width=np.full((n, pairs), np.nan),
            signs=undecided,
            pending=np.zeros(n, dtype=np.bool_),
            candidates=candidates,
            observers=observers,
            drawn=undecided.copy(),
            started=np.zeros(n, dtype=np.int64),
            shown=np.zeros((n, m)),
            added=no_sums(n, k, pairs),
            left=np.zeros((n, len(own.actions) + pairs), dtype=np.bool_),
            lost=np.zeros((n, len(own.actions)), dtype=np.int64),
            found_candidates=np.zeros((n, k), dtype=np.bool_),
            found_observers=np.zeros((n, k), dtype=np.bool_),
        )
        play_cbp.begin(self.shape, self.state)
        self._tabled: Any = None

    def probing(self, share: float) -> Self:
        """Return the program that plays a share of uniform actions as well."""
        found = copy(self)
        found.shape = self.shape._replace(probe=share)
        return found

    def play(
        self, world: Any, totals: Any, reached: Indices, stop: int, first: int, last: int
    ) -> None:
        from partial_monitoring.numerics.compiled import play_cbp

        state, own = self.state, reached[first:last]
        while (begin := int(own.min())) < stop:
            rounds = self._rounds(begin)
            end = min(stop, rounds.first + ROUNDS)
            while own.min() < end:
                table = self.patterns.table
                play_cbp.play(
                    world, totals, reached, end, first, last, self.shape, rounds, table, state
                )
                stopped = first + np.flatnonzero(own < end)
                if len(stopped):
                    met = np.concatenate([state.signs[stopped], state.drawn[stopped]])
                    self.patterns.numbers(met)

    def _rounds(self, t: int) -> Any:
        """Return a table of rounds (counted from 0) with round t; the last one is kept."""
        from partial_monitoring.numerics.compiled import play_cbp

        known = self._tabled
        if known is None or not known.first <= t < known.first + ROUNDS:
            begin = t // ROUNDS * ROUNDS
            each = np.arange(begin + 1, begin + ROUNDS + 1)
            bound, rate = self.schedule.bound(each), self.schedule.rate(each)
            known = play_cbp.Rounds(begin, bound, rate, *self.schedule.weights(bound))
            self._tabled = known
        return known
