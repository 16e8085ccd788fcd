"""Theta in local coordinates v, in which it has size about one: theta = origin + to_theta v."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import length
from partial_monitoring.validation import Array


class Polyhedron(NamedTuple):
    """The polyhedron  row_low <= matrix v <= row_high,  low <= v <= high."""

    matrix: Array
    row_low: Array
    row_high: Array
    low: Array
    high: Array

    @property
    def polyhedron(self) -> Polyhedron:
        """The set as constraints of a linear program; None for curved sets."""
        return self

    def minimum(self, slope: Array) -> float:
        """Return the minimum of <slope, v>; -inf if there is none."""
        size = float(np.abs(slope).max(initial=0.0))
        if size == 0:
            return 0.0
        best = conic.LinearProgram(*self).maximize(-slope / size)
        if best is None:
            raise SolverError("the minimum over the parameter set was not found.")
        return -size * best.value

    def cones(self) -> list[conic.Cone]:
        """Return the set as conic constraints on v."""
        matrix, row_low, row_high, low, high = self
        equal = row_low == row_high
        bounded = np.isfinite(row_high) & ~equal
        top, bottom = np.isfinite(high), np.isfinite(low)
        eye = np.eye(len(low))
        return [
            conic.Cone("zero", matrix[equal], row_high[equal]),
            conic.Cone("nonnegative", matrix[bounded], row_high[bounded]),
            conic.Cone("nonnegative", eye[top], high[top]),
            conic.Cone("nonnegative", -eye[bottom], -low[bottom]),
        ]


def cube(n: int) -> Polyhedron:
    """Return the cube [-1, 1]^n."""
    return Polyhedron(np.zeros((0, n)), np.zeros(0), np.zeros(0), -np.ones(n), np.ones(n))


@dataclass(frozen=True)
class UnitBall:
    """The Euclidean unit ball in R^n."""

    n: int
    polyhedron = None

    def minimum(self, slope: Array) -> float:
        return -length(slope)

    def cones(self) -> list[conic.Cone]:
        return [norm_cone(np.eye(self.n), np.zeros(self.n), 1.0)]


@dataclass(frozen=True, eq=False)
class CurvedSet:
    """Any convex set, given by the minima of linear functions and by conic constraints."""

    minimum: Callable[[Array], float]
    constraints: list[conic.Cone]
    polyhedron = None

    def cones(self) -> list[conic.Cone]:
        return self.constraints


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Local coordinates v of a parameter set: theta = origin + to_theta v."""

    origin: Array
    """Shape (d,)."""
    to_theta: Array | None
    """Shape (d, n); None for the identity."""
    size: float
    """How far the set reaches from the origin: with it rounding errors are scaled."""
    local: Polyhedron | UnitBall | CurvedSet
    """The set of all v."""
    inner: Coordinates | None = None
    """A polyhedron inside the set with the origin in its interior, if the set is curved. Where all
    rewards agree at the origin, cells are cones, and it shows as much as the whole set."""

    def theta(self, v: Array) -> Array:
        """Return the parameter with the given coordinates."""
        return v if self.to_theta is None else np.asarray(self.origin + self.to_theta @ v)

    def minimum(self, offset: float, slope: Array) -> float:
        """Return the minimum of offset + <slope, v> over Theta; -inf if there is none."""
        return offset + self.local.minimum(slope)

    def cones(self) -> list[conic.Cone]:
        """Return Theta as conic constraints on v."""
        return self.local.cones()

    def pulled_back(self, cones: list[conic.Cone]) -> list[conic.Cone]:
        """Return conic constraints on theta as constraints on v."""
        return cones if self.to_theta is None else pulled_back(cones, self.origin, self.to_theta)


def pulled_back(cones: list[conic.Cone], origin: Array, to_theta: Array) -> list[conic.Cone]:
    """Return conic constraints on theta = origin + to_theta v as constraints on v."""
    return [
        conic.Cone(kind, matrix @ to_theta, bound - matrix @ origin)
        for kind, matrix, bound in cones
    ]


def coordinates_in(basis: Array, vector: Array) -> Array:
    """Return the coordinates (D,) of a vector (d,) of the span of a basis (d, D).

    The columns of most bases are orthonormal; those of a correlated prior are not.
    """
    if np.allclose(basis.T @ basis, np.eye(basis.shape[1]), rtol=0.0, atol=1e-9):
        return np.asarray(basis.T @ vector)
    return np.asarray(np.linalg.lstsq(basis, vector, rcond=None)[0])


def norm_cone(root: Array, center: Array, radius: float) -> conic.Cone:
    """Return the constraint |root x - center| <= radius, with a matrix root (n, d)."""
    matrix = np.concatenate([np.zeros((1, root.shape[1])), -root])
    return conic.Cone("norm", matrix, np.append(radius, -center))
