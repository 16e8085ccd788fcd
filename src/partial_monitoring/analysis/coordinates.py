"""A game in coordinates in which Theta has size about one.

Parameters are written theta = origin + to_theta v. Rewards are then offsets + slopes v with offsets
and slopes in the same units, so that they can be compared, whatever the size and place of Theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.model.game import Game
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets import (
    AllParameters,
    Ball,
    Box,
    ParameterSet,
    Polyhedral,
    Simplex,
)
from partial_monitoring.validation import Array

NOISE = 1e-13
"""Rounding noise of a reward, relative to the features and parameters it is computed from."""


class Rows(NamedTuple):
    """The polyhedron  row_low <= matrix v <= row_high,  low <= v <= high."""

    matrix: Array
    row_low: Array
    row_high: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Chart:
    """The rewards of a game and its parameter set in local coordinates v."""

    origin: Array
    """Shape (d,)."""
    to_theta: Array | None
    """Shape (d, n); None for the identity."""
    offsets: Array
    """Rewards at the origin, shape (k,)."""
    slopes: Array
    """Shape (k, n)."""
    noise: Array
    """How large differences of an action's reward may be by rounding alone, shape (k,)."""
    box: Rows | None
    """The coordinates of Theta if it is a polyhedron; otherwise it is the unit ball."""

    def theta(self, v: Array) -> Array:
        """Return the parameter with the given coordinates."""
        if self.to_theta is None:
            return v
        theta: Array = self.origin + self.to_theta @ v
        return theta

    def sizes(self, action: int) -> Array:
        """Return how far the rewards of all actions differ from that of one, never zero, (k,)."""
        apart = np.abs(self.slopes - self.slopes[action]).max(axis=1, initial=0.0)
        sizes = apart + np.abs(self.offsets - self.offsets[action])
        return np.where(sizes > 0, sizes, 1.0)

    def same(self, action: int) -> Array:
        """Return which actions have the reward of the given one, up to rounding, (k,) of bool."""
        apart = np.abs(self.slopes - self.slopes[action]).max(axis=1, initial=0.0)
        sizes = apart + np.abs(self.offsets - self.offsets[action])
        return np.asarray(sizes <= self.noise + self.noise[action])

    def minimum(self, offset: float, slope: Array) -> float:
        """Return the minimum of offset + <slope, v> over Theta; -inf if there is none."""
        if self.box is None:
            return offset - float(np.linalg.norm(slope))
        size = float(np.abs(slope).max(initial=0.0))
        if size == 0:
            return offset
        program = conic.LinearProgram(*self.box)
        best = program.maximize(-slope / size)
        if best is None:
            raise SolverError("the minimum over the parameter set was not found.")
        return offset - size * best.value

    def cones(self) -> list[conic.Cone]:
        """Return Theta as conic constraints on v."""
        n = self.slopes.shape[1]
        if self.box is None:
            ball = np.concatenate([np.zeros((1, n)), -np.eye(n)])
            return [conic.Cone("norm", ball, np.append(1.0, np.zeros(n)))]
        matrix, row_low, row_high, low, high = self.box
        equal = row_low == row_high
        bounded = np.isfinite(row_high) & ~equal
        top, bottom = np.isfinite(high), np.isfinite(low)
        eye = np.eye(n)
        return [
            conic.Cone("zero", matrix[equal], row_high[equal]),
            conic.Cone("nonnegative", matrix[bounded], row_high[bounded]),
            conic.Cone("nonnegative", eye[top], high[top]),
            conic.Cone("nonnegative", -eye[bottom], -low[bottom]),
        ]

    def pulled_back(self, cones: list[conic.Cone]) -> list[conic.Cone]:
        """Return conic constraints on theta as constraints on v."""
        if self.to_theta is None:
            return cones
        return [
            conic.Cone(kind, matrix @ self.to_theta, bound - matrix @ self.origin)
            for kind, matrix, bound in cones
        ]


def chart_of(game: Game) -> Chart:
    """Return the chart of a game."""
    parameters, center = game.parameters, game.reduced.center
    q = game.reduced.difference_basis
    n = q.shape[1]
    nothing = np.zeros((0, n)), np.zeros(0), np.zeros(0)
    match parameters:
        case Simplex(d=d):
            one = np.ones((1, d))
            rows = Rows(one, np.ones(1), np.ones(1), np.zeros(d), np.ones(d))
            return _chart(game, np.zeros(d), None, 1.0, rows)
        case Box(low=low, high=high):
            half = (high - low)[high > low] / 2
            rows = Rows(*nothing, -np.ones(n), np.ones(n))
            return _chart(game, center, q * half, float(half.max(initial=0.0)), rows)
        case Polyhedral():
            a, b = parameters.facets()
            size = _size(parameters, center, b)
            free = np.full(n, np.inf)
            rows = Rows(a, np.full(len(b), -np.inf), b / size, -free, free)
            return _chart(game, center, q * size, size, rows)
        case Ball(radius=radius) if radius > 0:
            chart = _chart(game, center, q * radius, radius, None)
            apart = chart.offsets - chart.offsets[0]
            if (np.abs(apart) <= chart.noise + chart.noise[0]).all():
                # All rewards tie at the centre: cells are cones, and a cube inside will do.
                cube = Rows(*nothing, -np.ones(n), np.ones(n))
                return _chart(game, center, q * (radius / np.sqrt(n)), radius, cube)
            return chart
        case AllParameters() | Ball():
            rows = Rows(*nothing, -np.ones(n), np.ones(n))
            return _chart(game, center, q, 1.0, rows)
    raise SolverError(f"cells over a {type(parameters).__name__} cannot be computed.")


def _chart(
    game: Game, origin: Array, to_theta: Array | None, size: float, box: Rows | None
) -> Chart:
    features = game.features
    slopes = features if to_theta is None else features @ to_theta
    reach = float(np.abs(origin).max()) + size
    noise = NOISE * np.abs(features).max(axis=1) * reach
    return Chart(origin, to_theta, features @ origin, slopes, noise, box)


def _size(parameters: ParameterSet, center: Array, distances: Array) -> float:
    """Return the size of a polyhedron: its radius, or the distance of its facets if unbounded."""
    radius = parameters.norm_bound(center)
    if np.isfinite(radius) and radius > 0:
        return radius
    return float(distances.max(initial=0.0)) or 1.0


def cones_of(parameters: ParameterSet) -> list[conic.Cone]:
    """Return a parameter set as conic constraints on theta."""
    match parameters:
        case AllParameters():
            return []
        case Ball(center=center, radius=radius):
            d = len(center)
            matrix = np.concatenate([np.zeros((1, d)), -np.eye(d)])
            return [conic.Cone("norm", matrix, np.append(radius, -center))]
        case Polyhedral():
            a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
            return [conic.Cone("nonnegative", a_ub, b_ub), conic.Cone("zero", a_eq, b_eq)]
    raise SolverError(f"cells over a {type(parameters).__name__} cannot be computed.")
