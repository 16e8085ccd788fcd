"""Theta = the probability vectors of length d."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.numerics.rational import Integers
from partial_monitoring.parameter_sets import sampling
from partial_monitoring.parameter_sets.base import Halfspaces, registered, slack, vectors
from partial_monitoring.parameter_sets.coordinates import Coordinates, Polyhedron
from partial_monitoring.parameter_sets.polyhedral import Polyhedral
from partial_monitoring.validation import (
    Array,
    Indices,
    check_entries,
    real_array,
    set_fields,
    whole_number,
)


@registered("simplex")
@dataclass(frozen=True)
class Simplex(Polyhedral):
    """All probability distributions over d outcomes.

    >>> Simplex(3).contains([0.2, 0.3, 0.5])
    np.True_
    """

    d: int

    def __post_init__(self) -> None:
        set_fields(self, d=whole_number("d", self.d, at_least=1))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = vectors("points", points, self.d)
        room = slack(1.0, 1.0)
        inside: NDArray[np.bool_] = (abs(x.sum(axis=-1) - 1.0) <= room) & (x >= -room).all(axis=-1)
        return inside

    def support(self, directions: ArrayLike) -> Array:
        height: Array = vectors("directions", directions, self.d).max(axis=-1)
        return height

    def relative_interior_point(self) -> Array:
        return np.full(self.d, 1.0 / self.d)

    def difference_basis(self) -> Array:
        """Return Helmert's basis of the vectors that sum to zero.

        Column j has j + 1 equal entries, then minus their sum, then zeros, scaled to length 1.
        """
        check_entries("the difference basis", self.d, self.d)
        n = np.arange(1, self.d)
        basis = np.triu(np.ones((self.d, self.d - 1)))
        basis[n, n - 1] = -n
        return np.asarray(basis / np.sqrt(n * (n + 1.0)))

    def halfspaces(self) -> Halfspaces:
        return Halfspaces(-np.eye(self.d), np.zeros(self.d), np.ones((1, self.d)), np.ones(1))

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return the exact distance to the farthest vertex; sqrt(1 - 1/d) from the uniform one."""
        origin = real_array("prior_mean", prior_mean, (self.d,))
        return float(np.linalg.norm(np.eye(self.d) - origin, axis=1).max())

    def diameter(self) -> float:
        return float(np.sqrt(2.0)) if self.d > 1 else 0.0

    def sample(self, seeds: Indices) -> Array:
        return sampling.one_per_seed(lambda rng: rng.dirichlet(np.ones(self.d)), seeds)

    def describe(self) -> str:
        return f"the probability simplex over {self.d} outcomes"

    def coordinates(self) -> Coordinates:
        d, one = self.d, np.ones(1)
        local = Polyhedron(np.ones((1, d)), one, one, np.zeros(d), np.ones(d))
        return Coordinates(np.zeros(d), None, 1.0, local)

    def exact_minimum(self, vector: Integers) -> Fraction | None:
        return Fraction(int(vector.min()))
