"""Which cells and faces are left when some comparisons of neighbours are decided.

A pattern has one sign per pair of neighbours (i, j): 1 if the loss of i is found to be larger than
that of j, -1 if smaller, 0 if undecided. The decided ones leave the open region

    D = {theta : sign_ij <l_i - l_j, theta> > 0 for all decided pairs},

and with it the actions whose cells, and the pairs whose common faces, meet D in full dimension.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import Advantage, advantage_program
from partial_monitoring.analysis.cells import TOLERANCE
from partial_monitoring.analysis.coordinates import LocalCoordinates, local_coordinates
from partial_monitoring.policies.finite.geometry import Geometry, Mask
from partial_monitoring.validation import Array, Indices

Signs = NDArray[np.int8]
Target = tuple[int, int | None]

ROOM = 16
"""The number of patterns (a power of two) for which a table has room at first."""


class Left(NamedTuple):
    """What a pattern leaves."""

    actions: tuple[int, ...]
    """P(t): actions that can still be best, none if the decisions contradict each other."""
    pairs: tuple[int, ...]
    """E(t): numbers of the pairs of neighbours that can still be best together."""


class Patterns:
    """What every pattern of a game leaves; each pattern is solved once and remembered.

    Threads may share it: what is remembered about a pattern is complete. Copies start anew.
    """

    def __init__(self, geometry: Geometry) -> None:
        from partial_monitoring.numerics.compiled import sign_table

        self.geometry = geometry
        self.table = sign_table.with_room(ROOM, len(geometry.pairs), geometry.game.k)
        """All patterns that are known, for compiled code."""
        self._adding = Lock()
        self._points: dict[Target, Signs] = {}
        self._clashes: dict[Target, Signs] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Patterns, (self.geometry,)

    def masks(self, signs: Signs) -> tuple[Mask, Mask, Mask]:
        """Return what patterns (n, pairs) leave.

        P(t) together with the neighbourhoods of E(t), shape (n, k); the observers of E(t), shape
        (n, k); and whether anything is left at all, shape (n,).
        """
        numbers = self.numbers(signs)
        table = self.table
        return table.candidates[numbers], table.observers[numbers], table.consistent[numbers]

    def numbers(self, signs: Signs) -> Indices:
        """Return the numbers of patterns (n, pairs) in the table, shape (n,); new ones are added."""
        from partial_monitoring.numerics.compiled import sign_table

        numbers = np.empty(len(signs), dtype=np.int64)
        sign_table.find_all(self.table, signs, numbers)
        for i in np.flatnonzero(numbers < 0):
            numbers[i] = sign_table.find(self.table, signs, i)
            if numbers[i] < 0:  # not among those that were added since
                numbers[i] = self._added(signs, i)
        return numbers

    def _added(self, signs: Signs, i: int) -> int:
        """Solve pattern i, add it to the table unless another thread did, and return its number."""
        from partial_monitoring.numerics.compiled import sign_table

        left = self.left(signs[i])
        shape, pairs = self.geometry, list(left.pairs)
        candidates = np.asarray(shape.neighborhoods[pairs].any(axis=0))
        candidates[list(left.actions)] = True
        observers = np.asarray(shape.observers[pairs].any(axis=0))
        with self._adding:
            number = sign_table.find(self.table, signs, i)
            if number < 0:
                number, consistent = self.table.known, bool(left.actions)
                self.table = sign_table.added(
                    self.table, signs[i], candidates, observers, consistent
                )
        return int(number)

    def left(self, signs: Signs) -> Left:
        """Return what one pattern (pairs,) leaves.

        An action that loses a decided comparison is out at once, and so is a decided pair; both
        ends of a pair that is left are left themselves.
        """
        shape = self.geometry
        if not signs.any():
            return Left(shape.actions, tuple(range(len(shape.pairs))))
        # The one with the larger loss: i for a positive sign, j for a negative one.
        beaten = {
            pair[int(sign < 0)] for pair, sign in zip(shape.pairs, signs, strict=True) if sign
        }
        actions = tuple(a for a in shape.actions if a not in beaten and self._meets(signs, a))
        pairs = tuple(
            e
            for e, (a, b) in enumerate(shape.pairs)
            if signs[e] == 0 and a in actions and b in actions and self._meets(signs, a, b)
        )
        return Left(actions, pairs)

    def _meets(self, signs: Signs, a: int, b: int | None = None) -> bool:
        """Whether the cell of a, or its face with b, meets the region in full dimension.

        A point of the cell (or face) that is known and fits the pattern proves that it does; known
        decisions that together miss the cell, and are part of the pattern, prove that it does not.
        Otherwise a program is solved, whose answer gives one more such proof.
        """
        nothing = np.zeros((0, len(signs)), dtype=np.int8)
        points = self._points.get((a, b), nothing)
        if ((signs == 0) | (signs == points)).all(axis=1).any():
            return True
        clashes = self._clashes.get((a, b), nothing)
        if ((clashes == 0) | (clashes == signs)).all(axis=1).any():
            return False
        found = self._advantage(signs, a, b)
        if found.value > TOLERANCE:
            self._points[a, b] = np.vstack([points, self._signs_at(found.theta)])
            return True
        needed = np.zeros(len(signs), dtype=bool)
        needed[np.flatnonzero(signs)] = found.mixture[len(self.geometry.actions) :] > 0
        self._clashes[a, b] = np.vstack([clashes, np.where(needed, signs, 0)])
        return False

    def _advantage(self, signs: Signs, a: int, b: int | None) -> Advantage:
        """Return the largest t by which a (tied with b) can win while all decisions hold by t.

        To the program of the cells a decision is one more action, with loss l_a + sign_ij (l_i -
        l_j). It is built anew each time, so that the answer does not depend on those before it.
        """
        shape, chart = self.geometry, self._chart
        decided = np.flatnonzero(signs)
        first, second = np.array([shape.pairs[e] for e in decided]).T
        own = list(shape.actions)
        sign = signs[decided].astype(float)
        # In rewards, which are minus losses: r_a - sign (l_i - l_j) = r_a + sign (r_i - r_j).
        offsets = chart.offsets[a] + sign * (chart.offsets[first] - chart.offsets[second])
        slopes = chart.slopes[a] + sign[:, None] * (chart.slopes[first] - chart.slopes[second])
        program = advantage_program(
            replace(
                chart,
                offsets=np.concatenate([chart.offsets[own], offsets]),
                slopes=np.concatenate([chart.slopes[own], slopes]),
            )
        )
        return program.solve(own.index(a), (), None if b is None else own.index(b))

    def _signs_at(self, theta: Array) -> Signs:
        """Return how the comparisons of neighbours stand at a parameter; 0 where they tie."""
        first, second = np.array(self.geometry.pairs).T
        apart = self.geometry.game.features[second] - self.geometry.game.features[first]
        sizes = np.abs(apart).max(axis=1)  # as the program measures them on the simplex
        ahead = apart @ theta / sizes
        return np.where(np.abs(ahead) > 2 * TOLERANCE, np.sign(ahead), 0).astype(np.int8)

    @cached_property
    def _chart(self) -> LocalCoordinates:
        return local_coordinates(self.geometry.game)
