"""Theta = {theta : low <= theta <= high}."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.display import number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.rational import Integers, rationalize
from partial_monitoring.parameter_sets import sampling
from partial_monitoring.parameter_sets.base import Halfspaces, registered, slack, vectors
from partial_monitoring.parameter_sets.coordinates import Coordinates, cube
from partial_monitoring.parameter_sets.polyhedral import Polyhedral
from partial_monitoring.validation import Array, Indices, real_array, set_fields, sized_array


@registered("box", "low", "high")
@dataclass(frozen=True, eq=False, init=False)
class Box(Polyhedral):
    """A product of intervals; a coordinate with low = high is known.

    >>> Box([0, 0, 1], [1, 1, 1]).dimension
    2
    """

    low: Array
    high: Array
    d: int = field(repr=False)

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        low = sized_array("low", low, ("d",))
        high = sized_array("high", high, (len(low),))
        if len(low) == 0:
            raise InvalidInput("low must have at least one coordinate; got none.")
        if (low > high).any():
            i = int((low > high).argmax())
            raise InvalidInput(
                f"low must not exceed high, else the box is empty; at coordinate {i} low is "
                f"{low[i]:g} and high is {high[i]:g}."
            )
        set_fields(self, low=low, high=high, d=len(low))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = vectors("points", points, self.d)
        sizes = np.maximum(abs(self.low), abs(self.high))
        sizes = np.where(sizes > 0, sizes, sizes.max())
        low, high = self.low - slack(self.low, sizes), self.high + slack(self.high, sizes)
        inside: NDArray[np.bool_] = np.all((x >= low) & (x <= high), axis=-1)
        return inside

    def support(self, directions: ArrayLike) -> Array:
        c = vectors("directions", directions, self.d)
        height: Array = np.where(c > 0, c * self.high, c * self.low).sum(axis=-1)
        return height

    def relative_interior_point(self) -> Array:
        return np.asarray(self.low + (self.high - self.low) / 2)

    def difference_basis(self) -> Array:
        return np.eye(self.d)[:, self.low < self.high]

    def halfspaces(self) -> Halfspaces:
        eye = np.eye(self.d)
        free = self.low < self.high
        return Halfspaces(
            np.concatenate([eye[free], -eye[free]]),
            np.concatenate([self.high[free], -self.low[free]]),
            eye[~free],
            self.low[~free],
        )

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return the exact distance to the farthest corner."""
        origin = real_array("prior_mean", prior_mean, (self.d,))
        return float(np.linalg.norm(np.maximum(abs(self.low - origin), abs(self.high - origin))))

    def diameter(self) -> float:
        return float(np.linalg.norm(self.high - self.low))

    def sample(self, seeds: Indices) -> Array:
        return sampling.one_per_seed(lambda rng: rng.uniform(self.low, self.high), seeds)

    def describe(self) -> str:
        if np.ptp(self.low) == 0 and np.ptp(self.high) == 0:
            return f"the box [{number(self.low[0])}, {number(self.high[0])}]^{self.d}"
        return f"a box in R^{self.d}"

    def coordinates(self) -> Coordinates:
        half = (self.high - self.low)[self.high > self.low] / 2
        to_theta = self.difference_basis() * half
        size = float(half.max(initial=0.0))
        return Coordinates(self.relative_interior_point(), to_theta, size, cube(len(half)))

    def exact_minimum(self, vector: Integers) -> Fraction | None:
        if self._fractions is None:
            return None
        corners = np.where(vector > 0, *self._fractions)
        return sum((int(v) * end for v, end in zip(vector, corners, strict=True)), Fraction(0))

    @cached_property
    def _fractions(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Low and high (d,) as the fractions as which the halfspaces are read, if all can be."""
        _, bounds, _, known = map(rationalize, self.halfspaces())
        if bounds is None or known is None:
            return None
        free = self.low < self.high
        ends = np.empty((2, self.d), dtype=object)
        ends[:, ~free] = known.fractions()
        ends[1, free], ends[0, free] = np.split(bounds.fractions(), 2)
        ends[0, free] = -ends[0, free]
        return ends[0], ends[1]
