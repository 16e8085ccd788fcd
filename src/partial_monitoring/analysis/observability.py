"""Whether a set of actions reveals a reward difference, with a certificate either way.

For actions B the difference phi_a - phi_b is seen iff it lies in the span of the rows of M_c, c in
B, on V = span(Theta - Theta). Then there are weights w with

    <phi_a - phi_b, v> = sum_c <w_c, M_c v>  for all v in V,

and otherwise a direction v in V with M_c v = 0 for all c in B and <phi_a - phi_b, v> != 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partial_monitoring.analysis.cells import Numbers
from partial_monitoring.analysis.exact import ExactGame
from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.numerics.rational import (
    Eliminated,
    Integers,
    Rational,
    compact,
    eliminate,
    product,
    total,
)

SEEN = 1e-8
"""Without exact arithmetic a difference is observed if its residual is below this fraction."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that a set of actions observes a reward difference, or that it does not."""

    actions: tuple[int, ...]
    weights: Numbers | None
    """Coefficients of the observations, shape (len(actions), m); None if the span misses it."""
    blind: Numbers | None
    """A direction in V, shape (d,), that changes the difference but no observation."""

    @property
    def seen(self) -> bool:
        """Whether the observations determine the difference."""
        return self.weights is not None


class FloatSpan:
    """The span of the observation maps of some actions, in floating point."""

    def __init__(self, game: Game, actions: Sequence[int]) -> None:
        self.game, self.actions = game, tuple(actions)
        reduced = game.reduced
        count = len(self.actions) * game.m
        rows = reduced.observation_maps[list(actions)].reshape(count, reduced.dimension)
        raw = game.observation_maps[list(actions)].reshape(count, game.d)
        lengths = np.linalg.norm(raw, axis=1)
        self.lengths = np.where(lengths > 0, lengths, 1.0)
        unit = rows / self.lengths[:, None]
        informative = np.linalg.norm(unit, axis=1) > RANK_TOLERANCE
        self.rows = unit * informative[:, None]

    def certify(self, a: int, b: int) -> Certificate:
        """Return the weights of a reward difference, or a blind direction that changes it."""
        features = self.game.reduced.features
        target = features[a] - features[b]
        weights = np.linalg.lstsq(self.rows.T, target, rcond=SEEN)[0]
        rest = target - self.rows.T @ weights
        if np.linalg.norm(rest) <= SEEN * float(np.linalg.norm(target)):
            shape = (len(self.actions), self.game.m)
            return Certificate(self.actions, (weights / self.lengths).reshape(shape), None)
        return Certificate(self.actions, None, self.game.reduced.difference_basis @ rest)


class ExactSpan:
    """The span of the observation maps of some actions, in integers."""

    def __init__(self, exact: ExactGame, actions: Sequence[int]) -> None:
        self.exact, self.actions = exact, tuple(actions)
        maps = exact.map_rows[list(actions)]
        self.rows: Integers = maps.reshape(maps.shape[0] * maps.shape[1], maps.shape[2])
        self.kept = np.flatnonzero((self.rows != 0).any(axis=1))
        self.reduced: Eliminated = eliminate(self.rows[self.kept])

    def certify(self, a: int, b: int) -> Certificate:
        """Return the weights of a reward difference, or a blind direction that changes it."""
        slopes = self.exact.rewards[1]
        target = total(slopes[a], -slopes[b]).astype(object)
        pivots = list(self.reduced.columns)
        head = self.reduced.matrix[: len(pivots)]
        # <target, kernel vector of column j>: zero for all j iff the target is in the span.
        hidden = self.reduced.pivot * target - target[pivots] @ head
        outside = np.flatnonzero(hidden)
        if len(outside):
            direction = np.zeros(len(target), dtype=object)
            direction[pivots] = -head[:, outside[0]]
            direction[outside[0]] = self.reduced.pivot
            blind = product(self.exact.directions, compact(direction))
            return Certificate(self.actions, None, Rational(blind, 1))
        return Certificate(self.actions, self._weights(target[pivots]), None)

    def _weights(self, target: Integers) -> Rational:
        """Return w with rows' w = target, given the target on the pivot columns."""
        solver, columns, pivot = self._solver
        # Maps and features were scaled by their denominators.
        scale = self.exact.maps.denominator
        denominator = pivot * self.exact.feature_denominator
        flat = np.zeros(len(self.rows), dtype=object)
        flat[self.kept[columns]] = solver @ target * (scale if denominator > 0 else -scale)
        shape = (len(self.actions), len(self.rows) // max(len(self.actions), 1))
        return Rational(compact(flat).reshape(shape), abs(denominator))

    @cached_property
    def _solver(self) -> tuple[Integers, list[int], int]:
        """(matrix, rows, pivot): these rows get the weights matrix @ target / pivot."""
        pivots = list(self.reduced.columns)
        square = self.rows[self.kept][:, pivots].T.astype(object)
        augmented = np.column_stack([square, np.eye(len(pivots), dtype=int).astype(object)])
        solved = eliminate(augmented, len(self.kept))
        return solved.matrix[:, len(self.kept) :], list(solved.columns), solved.pivot


def span_of(game: Game, exact: ExactGame | None, actions: Sequence[int]) -> FloatSpan | ExactSpan:
    """Return the span of the maps of some actions, in integers where the game has them."""
    return FloatSpan(game, actions) if exact is None else ExactSpan(exact, actions)
