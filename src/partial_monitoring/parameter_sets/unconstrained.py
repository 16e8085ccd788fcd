"""Theta = R^d."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.numerics.conic import Cone
from partial_monitoring.numerics.rational import Integers
from partial_monitoring.parameter_sets import base, sampling
from partial_monitoring.parameter_sets.coordinates import Coordinates, cube
from partial_monitoring.parameter_sets.cut import Uncut
from partial_monitoring.validation import Array, Indices, check_entries, set_fields, whole_number


@base.registered("all")
@dataclass(frozen=True)
class AllParameters(base.ParameterSet):
    """All of R^d.

    >>> AllParameters(3).dimension
    3
    """

    d: int

    def __post_init__(self) -> None:
        set_fields(self, d=whole_number("d", self.d, at_least=1))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        return np.ones(base.vectors("points", points, self.d).shape[:-1], dtype=bool)

    def support(self, directions: ArrayLike) -> Array:
        moves = base.vectors("directions", directions, self.d).any(axis=-1)
        return np.where(moves, np.inf, 0.0)

    def relative_interior_point(self) -> Array:
        return np.zeros(self.d)

    def difference_basis(self) -> Array:
        check_entries("the difference basis", self.d, self.d)
        return np.eye(self.d)

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        return base.checked_projection(self.d, point, gram)[0]

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        base.vectors("prior_mean", prior_mean, self.d)
        return np.inf

    def diameter(self) -> float:
        return np.inf

    def cut(self, origin: Array, basis: Array) -> Uncut:
        return Uncut()

    def sample(self, seeds: Indices) -> Array:
        return sampling.in_ball(np.zeros(self.d), sampling.NEAR, seeds)

    def describe(self) -> str:
        return f"all of R^{self.d}"

    def cones(self) -> list[Cone]:
        return []

    def coordinates(self) -> Coordinates:
        """Return the coordinates of a cube around 0, where all rewards agree: cells are cones."""
        return Coordinates(np.zeros(self.d), np.eye(self.d), 1.0, cube(self.d))

    def halfspaces(self) -> base.Halfspaces:
        nothing = np.zeros((0, self.d)), np.zeros(0)
        return base.Halfspaces(*nothing, *nothing)

    def facets(self) -> tuple[Array, Array]:
        return np.zeros((0, self.d)), np.zeros(0)

    def exact_minimum(self, vector: Integers) -> Fraction | None:
        return None if vector.any() else Fraction(0)
