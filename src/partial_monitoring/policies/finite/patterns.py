"""Which cells and faces are left when some comparisons of neighbours are decided.

A pattern has one sign per pair of neighbours (i, j): 1 if the loss of i is found to be larger than
that of j, -1 if smaller, 0 if undecided. The decided ones leave the open region

    D = {theta : sign_ij <l_i - l_j, theta> > 0 for all decided pairs},

and with it the actions whose cells, and the pairs whose common faces, meet D in full dimension.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import Advantage, advantage_program
from partial_monitoring.analysis.cells import TOLERANCE
from partial_monitoring.analysis.coordinates import LocalCoordinates, local_coordinates
from partial_monitoring.numerics.conic import LinearProgram
from partial_monitoring.numerics.rational import eliminate, total
from partial_monitoring.policies.finite.geometry import Geometry, Mask
from partial_monitoring.validation import Array, Indices

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled.sign_table import Table

Signs = NDArray[np.int8]

ROOM = 16
"""The number of patterns (a power of two), and of proofs, for which there is room at first."""

MOST = 2**27
"""About how many bytes of patterns are remembered; then all are forgotten, but not the proofs."""


class Patterns:
    """What every pattern of a game leaves; each pattern is considered once and remembered.

    In a fan (see ``is_fan``) that takes no linear program and nothing is remembered. Threads may
    share it: what is remembered about a pattern is complete. Copies start anew.
    """

    def __init__(self, geometry: Geometry) -> None:
        from partial_monitoring.numerics.compiled.sign_table import Fan, Proofs

        self.geometry = geometry
        own, k, pairs = list(geometry.actions), geometry.game.k, len(geometry.pairs)
        total = len(own) + pairs
        ends = [[own.index(a), own.index(b)] for a, b in geometry.pairs]
        self.ends = np.array(ends, dtype=np.int64).reshape(pairs, 2)
        numbered = np.full((len(own), len(own)) if is_fan(geometry) else (0, 0), -1)
        if len(numbered):
            numbered[self.ends[:, 0], self.ends[:, 1]] = np.arange(pairs)
            numbered[self.ends[:, 1], self.ends[:, 0]] = np.arange(pairs)
        near = np.concatenate([np.eye(k, dtype=bool)[own], geometry.neighborhoods])
        seen = np.concatenate([np.zeros((len(own), k), dtype=bool), geometry.observers])
        self.fan = Fan(numbered, near, seen)
        self._lost = np.zeros((1, len(own)), dtype=np.int64)
        nothing = np.zeros((total, 0 if len(numbered) else ROOM, pairs), dtype=np.int8)
        self._proofs = Proofs(nothing, nothing.copy(), np.zeros((total, 2), dtype=np.int64))
        self.table = self._no_patterns()
        """All patterns that are known."""
        self._adding = RLock()

    def _no_patterns(self) -> Table:
        """Return an empty table."""
        from partial_monitoring.numerics.compiled.sign_table import Table

        total, k = self.fan.near.shape
        return Table(
            slots=np.full(2 * ROOM, -1, dtype=np.int64),
            signs=np.zeros((ROOM, len(self.ends)), dtype=np.int8),
            left=np.zeros((ROOM, total), dtype=bool),
            candidates=np.zeros((ROOM, k), dtype=bool),
            observers=np.zeros((ROOM, k), dtype=bool),
            consistent=np.zeros(ROOM, dtype=bool),
            known=0,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Patterns, (self.geometry,)

    def masks(self, signs: Signs) -> tuple[Mask, Mask, Mask]:
        """Return what patterns (n, pairs) leave.

        P(t) together with the neighbourhoods of E(t), shape (n, k); the observers of E(t), shape
        (n, k); and whether anything is left at all, shape (n,).
        """
        if len(self.fan.pairs):
            return self._in_fan(signs)
        with self._adding:
            numbers, table = self.numbers(signs), self.table
        return table.candidates[numbers], table.observers[numbers], table.consistent[numbers]

    def _in_fan(self, signs: Signs) -> tuple[Mask, Mask, Mask]:
        """Return what patterns leave in a fan, without the table."""
        from partial_monitoring.numerics.compiled.sign_table import leave_all_in_fan

        n, k = len(signs), self.geometry.game.k
        candidates, observers = np.zeros((n, k), dtype=bool), np.zeros((n, k), dtype=bool)
        consistent = np.zeros(n, dtype=bool)
        left = np.zeros((n, len(self.fan.near)), dtype=bool)
        lost = np.zeros((n, len(self.fan.pairs)), dtype=np.int64)
        leave_all_in_fan(self.ends, self.fan, signs, lost, left, candidates, observers, consistent)
        return candidates, observers, consistent

    def numbers(self, signs: Signs) -> Indices:
        """Return the numbers of patterns (n, pairs) in the table, shape (n,), and add new ones."""
        from partial_monitoring.numerics.compiled import sign_table

        numbers = np.empty(len(signs), dtype=np.int64)
        with self._adding:
            if self.table.known * sum(own.shape[1] for own in self.table[1:-2]) > MOST:
                self.table = self._no_patterns()
            lacking = sign_table.FULL
            while lacking != sign_table.DONE:
                known, i, lacking = sign_table.add_all(
                    self.table, self.ends, self.fan, self._lost, self._proofs, signs, numbers
                )
                self._complete(known)
                if lacking == sign_table.FULL:
                    self.table = sign_table.grown(self.table)
                elif lacking != sign_table.DONE:
                    self._prove(signs[i], lacking)
        return numbers

    def _complete(self, known: int) -> None:
        """Say of new patterns which actions they leave; now ``known`` patterns can be read."""
        table, new = self.table, slice(self.table.known, known)
        left = table.left[new]
        table.candidates[new] = left @ self.fan.near
        table.observers[new] = left @ self.fan.seen
        table.consistent[new] = left[:, : len(self.geometry.actions)].any(axis=1)
        self.table = table._replace(known=known)

    def _prove(self, signs: Signs, target: int) -> None:
        """Find out whether a target meets the region of a pattern (pairs,) in full dimension.

        Either there is a point, which serves all patterns that it fits; or some of the decisions
        together miss the target, and so do all patterns that have them.
        """
        shape, own = self.geometry, len(self.geometry.actions)
        a, b = (shape.actions[target], None) if target < own else shape.pairs[target - own]
        found = self._advantage(signs, a, b)
        misses = int(found.value <= TOLERANCE)
        if misses:
            needed = np.zeros(len(signs), dtype=bool)
            needed[np.flatnonzero(signs)] = found.mixture[own:] > 0
            proof = np.where(needed, signs, 0)
        else:
            proof = np.where(signs == 0, self._signs_at(found.theta), signs)
        row = self._proofs.known[target, misses]
        if row == self._proofs[misses].shape[1]:
            points, clashes = (np.tile(each, (1, 2, 1)) for each in self._proofs[:2])
            self._proofs = self._proofs._replace(points=points, clashes=clashes)
        self._proofs[misses][target, row] = proof
        self._proofs.known[target, misses] += 1

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


def is_fan(geometry: Geometry) -> bool:
    """Whether decisions exclude nothing but what contradicts them, whatever they are.

    That is so if at some point inside the simplex all actions of A are equally good, and the
    differences of their losses are linearly independent there: around it they occur in every
    order. Pricing and bandits are such games.
    """
    if not geometry.game.traits.finite:  # another set than the simplex
        return False
    own, exact = list(geometry.actions), geometry.analysis.exact
    losses = -geometry.game.features[own]
    apart = (losses[1:] - losses[0]) / geometry.unit
    count, d = apart.shape
    inside = apart - apart.mean(axis=1, keepdims=True)  # as functions on the simplex
    if count == 0 or np.linalg.matrix_rank(inside) < count:
        return False
    if exact is not None and count == d - 1:  # one such point, perhaps very close to the boundary
        ties = total(exact.features[own[1:]], -exact.features[own[:1]])
        rows = np.concatenate([ties, np.ones((1, d), dtype=np.int64)])
        found = eliminate(np.column_stack([rows, np.eye(d, dtype=np.int64)[-1]]), d)
        sign = 1 if found.pivot > 0 else -1
        return found.rank == d and all(sign * entry > 0 for entry in found.matrix[:, d])
    rows = np.concatenate([apart, np.ones((1, d))])
    # theta = least + rest with the same least for all outcomes.
    matrix = np.column_stack([rows, rows.sum(axis=1)])
    right = np.append(np.zeros(count), 1.0)
    nothing, endless = np.zeros(d + 1), np.full(d + 1, np.inf)
    best = LinearProgram(matrix, right, right, nothing, endless).maximize(np.eye(d + 1)[-1])
    return best is not None and best.value > TOLERANCE
