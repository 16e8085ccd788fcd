"""Estimation vectors: how the frequencies of symbols estimate a difference of losses.

Some actions observe a target in R^d with vectors v_c in R^m if

    sum_c S_c' v_c = target,

where S_c is the signal matrix. With all symbols below each other this is rows' x = target, and x is
the shortest solution plus anything in the null space of rows'. The factors of that matrix serve all
targets of the same observers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.errors import SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import RANK_TOLERANCE, null_space
from partial_monitoring.validation import Array, Indices

NORMS = ("sup", "euclidean")
"""Which estimation vectors: of least largest entry, or of least length."""

NOTHING = 1e-7
"""Entries of estimation vectors below this fraction of the largest come from ``SLACK``."""

SLACK = 1e-9
"""By this fraction the largest entry may be exceeded when the shortest vector is found."""


def estimation_vectors(
    game: Game, target: Array, observers: Sequence[int], norm: str = "sup"
) -> Array:
    """Return v, shape (k, m), with sum over observers c of S_c' v_c = target (d,)."""
    found: Array = Observed(game, observers).vectors(target[None], norm)[0]
    return found


def unbiased_vectors(game: Game, target: Array, observers: Sequence[int]) -> Array:
    """Return estimation vectors of least largest entry, shape (k, m), correct to rounding errors.

    The programs leave errors of about ``NOTHING``; the shortest correction takes them out.
    """
    vectors = estimation_vectors(game, target, observers)
    used = vectors != 0.0
    rows = game.observation_maps[used]  # (q, d)
    vectors[used] += np.linalg.lstsq(rows.T, target - rows.T @ vectors[used], rcond=RANK_TOLERANCE)[
        0
    ]
    return vectors


class Observed:
    """What some actions observe together, and the vectors that estimate targets from it."""

    def __init__(self, game: Game, observers: Sequence[int]) -> None:
        self.game = game
        places = [(c, s) for c in observers for s in range(game.row_count(c))]
        kept = [place for place in places if game.observation_maps[place].any()]
        self.owner, self.symbol = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        self.rows: Array = game.observation_maps[self.owner, self.symbol]  # (q, d)

    def vectors(self, targets: Array, norm: str = "sup") -> Array:
        """Return v of all targets (n, d), shape (n, k, m).

        Of least length, or of least largest entry and among those of least length.
        """
        solved = np.linalg.lstsq(self.rows.T, targets.T, rcond=RANK_TOLERANCE)[0]
        shortest = np.asarray(solved.T, dtype=np.float64)  # (n, q)
        size = np.abs(targets).max(axis=1, initial=0.0)
        if (np.abs(shortest @ self.rows - targets).max(axis=1, initial=0.0) > SEEN * size).any():
            raise SolverError("the difference of two losses was not found in what is observed.")
        found = self.flattest(shortest) if norm == "sup" else shortest
        largest = np.abs(found).max(axis=1, keepdims=True, initial=0.0)
        vectors = np.zeros((len(targets), self.game.k, self.game.m))
        vectors[:, self.owner, self.symbol] = np.where(np.abs(found) > NOTHING * largest, found, 0)
        return vectors

    def flattest(self, shortest: Array) -> Array:
        """Return for each shortest solution (n, q) the shortest of those with the least sup norm.

        Closed form where the symbols of the observers are independent except that those of an
        observer have sum 1, as in pricing and in bandits; else two programs for each.
        """
        if self.free.shape[1] == 0 or len(shortest) == 0:
            return shortest
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1)).astype(np.int64)
        sums = np.add.reduceat(self.rows, starts, axis=0)  # (observers, d)
        if self.free.shape[1] == len(starts) - 1 and (sums == sums[0]).all():
            return shifted(shortest, starts)
        return np.array([_flattest(self.rows, self.free, one) for one in shortest])

    @cached_property
    def free(self) -> Array:
        """The null space of rows', orthonormal columns, shape (q, dimension)."""
        return null_space(self.rows.T)


def shifted(shortest: Array, starts: Indices) -> Array:
    """Return the flattest solutions (n, q) that differ by one number a_c per observer, sum a_c = 0.

    Observer c owns the symbols from ``starts[c]`` on, of which there are m_c, with entries from
    low_c to high_c. The least largest entry is

        V = max(max_c half_c, (|sum_c middle_c| + sum_c half_c) / observers),

    half_c = (high_c - low_c) / 2 and middle_c = (high_c + low_c) / 2, and the shortest such
    solution has a_c = clip(z / m_c, -V - low_c, V - high_c), because the shortest of all is
    orthogonal to shifts; z is where their sum, which is piecewise linear, is zero.
    """
    low = np.minimum.reduceat(shortest, starts, axis=1)  # (n, observers)
    high = np.maximum.reduceat(shortest, starts, axis=1)
    counts = np.diff(np.append(starts, shortest.shape[1]))
    half = (high - low) / 2
    spread = (np.abs((high + low).sum(axis=1)) / 2 + half.sum(axis=1)) / len(starts)
    largest = (np.maximum(half.max(axis=1), spread) * (1.0 + SLACK))[:, None]
    least, most = -largest - low, largest - high
    z = _balance(least * counts, most * counts, 1.0 / counts)
    moved: Array = shortest + np.repeat(np.clip(z / counts, least, most), counts, axis=1)
    return moved


def _balance(least: Array, most: Array, rates: Array) -> Array:
    """Return z, shape (n, 1), with sum_c rates_c clip(z, least_c, most_c) = 0, bounds (n, c)."""
    turns = np.concatenate([least, most], axis=1)  # where the slope of the sum changes
    order = np.argsort(turns, axis=1, kind="stable")
    turns = np.take_along_axis(turns, order, axis=1)
    slopes = np.cumsum(np.concatenate([rates, -rates])[order], axis=1)[:, :-1]
    bottom = (least * rates).sum(axis=1, keepdims=True)
    sums = np.cumsum(np.append(bottom, slopes * np.diff(turns, axis=1), axis=1), axis=1)
    after = np.clip((sums < 0).sum(axis=1, keepdims=True), 1, sums.shape[1] - 1)
    right, value = (np.take_along_axis(own, after, axis=1) for own in (turns, sums))
    slope = np.take_along_axis(slopes, after - 1, axis=1)
    z: Array = right - np.divide(value, slope, out=np.zeros_like(value), where=slope > 0)
    return z


def _flattest(rows: Array, free: Array, shortest: Array) -> Array:
    """Return the shortest of the x with rows' x = rows' shortest whose largest entry is least.

    First the least V with -V <= x <= V. All solutions are shortest + free z with orthonormal
    columns (q, dimension), which are orthogonal to the shortest one: then the shortest such z.
    """
    q, d = rows.shape
    one, each = np.ones((q, 1)), np.eye(q)
    equal = np.hstack([rows.T, np.zeros((d, 1))])
    target, endless, none = rows.T @ shortest, np.full(q, np.inf), np.zeros(q)
    program = conic.LinearProgram(
        np.concatenate([equal, np.hstack([each, -one]), np.hstack([each, one])]),
        np.concatenate([target, -endless, none]),
        np.concatenate([target, none, endless]),
        np.append(-endless, 0.0),
        np.append(endless, np.inf),
    )
    best = program.maximize(-np.append(none, 1.0))
    if best is None:
        raise SolverError("the program of the estimation vectors has no answer.")
    largest, dimension = -best.value * (1.0 + SLACK), free.shape[1]
    step = conic.nearest_point(
        np.zeros(dimension),
        np.eye(dimension),
        np.concatenate([free, -free]),
        largest + np.concatenate([-shortest, shortest]),
    )
    flattest: Array = shortest + free @ step
    return flattest
