"""What algorithms for finite games need to know about a game: neighbours and how to compare them.

Of each class of duplicate Pareto actions the lowest is kept (A). For neighbours a < b in A there
are observers, actions c with vectors v_c in R^m such that

    sum_c S_c' v_c = l_a - l_b,

where S_c is the signal matrix and l the loss, minus the reward. So sum_c <v_c, frequencies of the
symbols of c> estimates the difference of the losses without bias. Losses are measured in units of
the largest difference between two actions in one outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import RANK_TOLERANCE, null_space
from partial_monitoring.validation import Array, Indices, brief, frozen

Mask = NDArray[np.bool_]

NORMS = ("sup", "euclidean")
"""Which estimation vectors: of least largest entry, or of least length."""

NOTHING = 1e-7
"""Entries of estimation vectors below this fraction of the largest come from ``SLACK``."""

SLACK = 1e-9
"""By this fraction the largest entry may be exceeded when the shortest vector is found."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Neighbours, their neighbourhoods and observers, and the estimation vectors of a game."""

    analysis: Analysis
    actions: tuple[int, ...]
    """A: Pareto actions without duplicates."""
    pairs: tuple[Pair, ...]
    """Neighbours a < b in A, as pairs of actions."""
    vectors: Array
    """v, shape (pairs, k, m): zero for actions that do not observe the pair."""
    unit: float
    """The largest difference between the losses of two actions in one outcome."""

    @property
    def game(self) -> Game:
        return self.analysis.game

    @cached_property
    def neighborhoods(self) -> Mask:
        """N_ab of every pair: the actions between a and b, shape (pairs, k)."""
        near = np.zeros((len(self.pairs), self.game.k), dtype=bool)
        for i, pair in enumerate(self.pairs):
            near[i, list(self.analysis.cells.faces[pair].neighborhood)] = True
        return near

    @cached_property
    def sizes(self) -> Array:
        """|v_c|, the largest entry for every pair and action, shape (pairs, k)."""
        return frozen(np.abs(self.vectors).max(axis=2, initial=0.0))

    @property
    def observers(self) -> Mask:
        """Which actions observe which pair, shape (pairs, k)."""
        return self.sizes > 0

    @cached_property
    def weights(self) -> Array:
        """W_c, the largest size of an action over all pairs, shape (k,)."""
        return frozen(self.sizes.max(axis=0, initial=0.0))

    @cached_property
    def useful(self) -> Mask:
        """The actions that are in A or observe some pair, shape (k,)."""
        useful = np.asarray(self.weights > 0)
        useful[list(self.actions)] = True
        return useful


def geometry(game: FiniteGame, policy: str, norm: str = "sup") -> Geometry:
    """Return the geometry of a finite game, or refuse a hopeless one in the name of a policy.

    Estimation vectors have the least largest entry (norm "sup"; of these the shortest one, which is
    unique), or the least length ("euclidean"). Pairs that are locally observable are observed by
    their neighbourhood, others by all actions; actions outside A that show the same in every
    outcome observe nothing. One linear and one quadratic program per pair.
    """
    analysis = learnable(game, policy)
    actions, pairs = analysis.representatives, analysis.neighboring_cells
    losses, unit = -game.rewards, unit_of(game)
    vectors = np.zeros((len(pairs), game.k, game.m))
    for i, (a, b) in enumerate(pairs):
        local = analysis.local_readings[a, b].seen
        near = analysis.cells.faces[a, b].neighborhood if local else range(game.k)
        seeing = [c for c in near if c in actions or np.ptp(game.rows(c), axis=1).any()]
        vectors[i] = estimation_vectors(game, (losses[a] - losses[b]) / unit, seeing, norm)
    return Geometry(analysis, tuple(actions), tuple(pairs), frozen(vectors), unit)


def learnable(game: FiniteGame, policy: str) -> Analysis:
    """Return the analysis of a game, or refuse a hopeless one in the name of a policy."""
    analysis = analyze(game)
    if analysis.category == "hopeless":
        a, b = next(p for p, reading in analysis.global_readings.items() if not reading.seen)
        raise InvalidInput(
            f"{policy} plays games that can be learned; actions {brief(game.actions[a])} and "
            f"{brief(game.actions[b])} cannot be told apart by any feedback."
        )
    return analysis


def unit_of(game: FiniteGame) -> float:
    """Return the largest difference between two actions in one outcome; 1 if there is none."""
    return float(np.ptp(game.rewards, axis=0).max()) or 1.0


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


def estimation_vectors(
    game: Game, target: Array, observers: Sequence[int], norm: str = "sup"
) -> Array:
    """Return v, shape (k, m), with sum over observers c of S_c' v_c = target (d,)."""
    used = [(c, s) for c in observers for s in range(game.row_count(c))]
    rows = np.array([game.observation_maps[place] for place in used])  # (q, d)
    shortest = np.linalg.lstsq(rows.T, target, rcond=RANK_TOLERANCE)[0]
    size = float(np.abs(target).max())
    if np.abs(rows.T @ shortest - target).max() > SEEN * size:
        raise SolverError("the difference of two losses was not found in what is observed.")
    found = _flattest(rows, shortest) if norm == "sup" else shortest
    found = np.where(np.abs(found) > NOTHING * np.abs(found).max(), found, 0.0)
    vectors = np.zeros((game.k, game.m))
    for place, entry in zip(used, found, strict=True):
        vectors[place] = entry
    return vectors


def _flattest(rows: Array, shortest: Array) -> Array:
    """Return the shortest of the x with rows' x = rows' shortest whose largest entry is least.

    All solutions are shortest + free z with orthonormal columns, which are orthogonal to the
    shortest one: first the least V with -V <= shortest + free z <= V, then the shortest such z.
    """
    free = null_space(rows.T)  # (q, dimension)
    q, dimension = free.shape
    if dimension == 0:
        return shortest
    one = np.ones((q, 1))
    matrix = np.concatenate([np.hstack([free, -one]), np.hstack([-free, -one])])
    right = np.concatenate([-shortest, shortest])
    endless = np.full(dimension, np.inf)
    least, most = np.append(-endless, 0.0), np.append(endless, np.inf)
    program = conic.LinearProgram(matrix, np.full(2 * q, -np.inf), right, least, most)
    best = program.maximize(-np.append(np.zeros(dimension), 1.0))
    if best is None:
        raise SolverError("the program of the estimation vectors has no answer.")
    largest = -best.value * (1.0 + SLACK)
    step = conic.nearest_point(
        np.zeros(dimension), np.eye(dimension), matrix[:, :-1], right + largest
    )
    flattest: Array = shortest + free @ step
    return flattest


@dataclass(frozen=True, eq=False)
class Helpers:
    """Actions outside A that lie between two neighbours in A, or are copies of an action in A.

    The loss of each is share times that of one action plus (1 - share) times that of the other.
    """

    actions: Indices
    """Shape (h,)."""
    ends: Indices
    """The two actions, twice the same for a copy, shape (h, 2)."""
    shares: Array
    """Above 0, 1 for a copy, shape (h,)."""


def helpers(analysis: Analysis) -> Helpers:
    """Return the helpers of a game; every action has one pair of ends at most, up to copies."""
    losses, own = -analysis.game.features, analysis.representatives
    found: dict[int, tuple[int, int, float]] = {}
    for a, b in analysis.neighboring_cells:
        apart = losses[a] - losses[b]
        for e in analysis.cells.faces[a, b].neighborhood:
            if e in own or e in found:
                continue
            share = float(apart @ (losses[e] - losses[b]) / (apart @ apart))
            if share > 1.0 - SEEN:
                found[e] = (a, a, 1.0)
            elif share < SEEN:
                found[e] = (b, b, 1.0)
            else:
                found[e] = (a, b, share)
    order = sorted(found)
    ends = np.array([found[e][:2] for e in order], dtype=np.int64).reshape(len(order), 2)
    shares = np.array([found[e][2] for e in order], dtype=float)
    return Helpers(np.array(order, dtype=np.int64), ends, shares)
