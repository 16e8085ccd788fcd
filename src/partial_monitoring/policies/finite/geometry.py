"""What algorithms for finite games need to know about a game: neighbours and how to compare them.

Of each class of duplicate Pareto actions the lowest is kept (A). For neighbours a < b in A there
are observers, actions c with vectors v_c in R^m such that

    sum_c S_c' v_c = l_a - l_b,

where S_c is the signal matrix and l the loss, minus the reward. So sum_c <v_c, frequencies of the
symbols of c> estimates the difference of the losses without bias. Losses are measured in units of
the largest difference between two actions in one outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.policies.finite.estimation import Observed
from partial_monitoring.policies.needs import analysis_of
from partial_monitoring.validation import Array, Indices, brief, frozen

Mask = NDArray[np.bool_]


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

    @cached_property
    def by_action(self) -> tuple[Array, Array]:
        """The vectors and sizes in the order of compiled sums, shapes (k, m, pairs), (k, pairs)."""
        vectors = np.ascontiguousarray(self.vectors.transpose(1, 2, 0))
        return vectors, np.ascontiguousarray(self.sizes.T)

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
    outcome observe nothing. See ``estimation`` for what that takes.
    """
    analysis = learnable(game, policy)
    actions, pairs = analysis.representatives, analysis.neighboring_cells
    losses, unit = -game.rewards, unit_of(game)
    shows = np.ptp(game.observation_maps, axis=2).any(axis=1)
    shows[actions] = True
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, pair in enumerate(pairs):
        local = analysis.local_readings[pair].seen
        near = analysis.cells.faces[pair].neighborhood if local else range(game.k)
        groups.setdefault(tuple(c for c in near if shows[c]), []).append(i)
    vectors = np.zeros((len(pairs), game.k, game.m))
    for observers, own in groups.items():
        first, second = np.array([pairs[i] for i in own]).T
        targets = (losses[first] - losses[second]) / unit
        vectors[own] = Observed(game, observers).vectors(targets, norm)
    return Geometry(analysis, tuple(actions), tuple(pairs), frozen(vectors), unit)


def learnable(game: FiniteGame, policy: str) -> Analysis:
    """Return the analysis of a game, or refuse a hopeless one in the name of a policy."""
    analysis: Analysis = analysis_of(game)
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
