"""Can a set of actions tell two rewards apart? With the weights, or the blind direction, as proof.

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
from partial_monitoring.validation import Array

SEEN = 1e-8
"""Without exact arithmetic a difference is seen if less than this fraction of it is left over."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a set of actions says about the reward difference of two actions."""

    actions: tuple[int, ...]
    weights: Numbers | None
    """Shape (len(actions), m): the difference as a combination of observations; None if unseen."""
    blind: Numbers | None
    """A direction in V, shape (d,), that changes the difference but no observation."""

    @property
    def seen(self) -> bool:
        """Whether the observations determine the difference."""
        return self.weights is not None


class View:
    """What the given actions show, in floating point."""

    def __init__(self, game: Game, actions: Sequence[int]) -> None:
        self.game, self.actions = game, tuple(actions)
        reduced = game.reduced
        count = len(self.actions) * game.m
        rows = reduced.observation_maps[list(actions)].reshape(count, reduced.dimension)
        raw = game.observation_maps[list(actions)].reshape(count, game.d)
        lengths = np.linalg.norm(raw, axis=1)
        self.lengths = np.where(lengths > 0, lengths, 1.0)
        unit = rows / self.lengths[:, None]
        heard = np.linalg.norm(unit, axis=1) > RANK_TOLERANCE
        self.rows = unit * heard[:, None]

    def read(self, a: int, b: int) -> Reading:
        """Return the weights of the difference of two actions, or a direction that hides it."""
        features = self.game.reduced.features
        target = features[a] - features[b]
        weights = np.linalg.lstsq(self.rows.T, target, rcond=SEEN)[0]
        rest = target - self.rows.T @ weights
        if np.linalg.norm(rest) <= SEEN * float(np.linalg.norm(target)):
            shape = (len(self.actions), self.game.m)
            return Reading(self.actions, (weights / self.lengths).reshape(shape), None)
        return Reading(self.actions, None, self.game.reduced.difference_basis @ rest)


class ExactView:
    """What the given actions show, in integers."""

    def __init__(self, exact: ExactGame, actions: Sequence[int]) -> None:
        self.exact, self.actions = exact, tuple(actions)
        maps = exact.map_rows[list(actions)]
        self.rows: Integers = maps.reshape(maps.shape[0] * maps.shape[1], maps.shape[2])
        self.kept = np.flatnonzero((self.rows != 0).any(axis=1))
        self.reduced: Eliminated = eliminate(self.rows[self.kept])

    def read(self, a: int, b: int) -> Reading:
        """Return the weights of the difference of two actions, or a direction that hides it."""
        slopes = self.exact.rewards[1]
        target = total(slopes[a], -slopes[b]).astype(object)
        pivots = list(self.reduced.columns)
        head = self.reduced.matrix[: len(pivots)]
        # <target, kernel vector of column j>: zero for all j iff the target is in the span.
        hidden = self.reduced.pivot * target - target[pivots] @ head
        loud = np.flatnonzero(hidden)
        if len(loud):
            direction = np.zeros(len(target), dtype=object)
            direction[pivots] = -head[:, loud[0]]
            direction[loud[0]] = self.reduced.pivot
            blind = product(self.exact.directions, compact(direction))
            return Reading(self.actions, None, Rational(blind, 1))
        return Reading(self.actions, self._weights(target[pivots]), None)

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


def view(game: Game, exact: ExactGame | None, actions: Sequence[int]) -> View | ExactView:
    """Return what a set of actions shows, exactly where that is possible."""
    return View(game, actions) if exact is None else ExactView(exact, actions)


def floats(numbers: Numbers) -> Array:
    """Return exact or floating-point numbers as floats."""
    return numbers.floats() if isinstance(numbers, Rational) else numbers
