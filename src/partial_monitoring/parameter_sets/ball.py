"""Theta = {theta : |theta - center| <= radius}."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.display import number
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.conic import Cone
from partial_monitoring.parameter_sets import base, sampling
from partial_monitoring.parameter_sets.compiled_cut import BallCut
from partial_monitoring.parameter_sets.coordinates import Coordinates, UnitBall, cube, norm_cone
from partial_monitoring.validation import (
    Array,
    Indices,
    non_negative_number,
    real_array,
    set_fields,
    sized_array,
)


@base.registered("ball", "center", "radius")
@dataclass(frozen=True, eq=False, init=False)
class Ball(base.ParameterSet):
    """A Euclidean ball; with radius 0 it is a single point.

    >>> float(Ball([0, 0], 2.0).support([3.0, 4.0]))
    10.0
    """

    center: Array
    radius: float
    d: int = field(repr=False)

    def __init__(self, center: ArrayLike, radius: float) -> None:
        point = sized_array("center", center, ("d",))
        if len(point) == 0:
            raise InvalidInput("center must have at least one coordinate; got none.")
        set_fields(self, center=point, radius=non_negative_number("radius", radius), d=len(point))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        away = np.linalg.norm(base.vectors("points", points, self.d) - self.center, axis=-1)
        largest = np.abs(self.center).max()
        rounding = base.slack(self.radius, largest) + 4 * np.spacing(largest)
        inside: NDArray[np.bool_] = away <= self.radius + rounding
        return inside

    def support(self, directions: ArrayLike) -> Array:
        c = base.vectors("directions", directions, self.d)
        height: Array = c @ self.center + self.radius * np.linalg.norm(c, axis=-1)
        return height

    def relative_interior_point(self) -> Array:
        return self.center

    def difference_basis(self) -> Array:
        return np.eye(self.d) if self.radius > 0 else np.zeros((self.d, 0))

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        """Return the nearest point in the norm of ``gram``, by Newton's method on the multiplier.

        With gram = U diag(s) U' and y = U'(point - center), the answer is
        center + U [s / (s + mu) * y] for the mu >= 0 that puts it on the sphere. Minus one over
        its length is convex in mu, so Newton's method from mu = 0 climbs to the root without
        overshooting.
        """
        target, metric = base.checked_projection(self.d, point, gram)
        if self.radius == 0:
            return self.center
        if np.linalg.norm(target - self.center) <= self.radius:
            return target
        s, u = np.linalg.eigh(metric)
        pull = s * (u.T @ (target - self.center))
        multiplier = 0.0
        for _ in range(100):
            x = pull / (s + multiplier)
            length = float(np.linalg.norm(x))
            slope = float((x**2 / (s + multiplier)).sum())
            step = length**2 / slope * (length / self.radius - 1.0)
            multiplier += step
            if step <= 1e-15 * multiplier:
                break
        return np.asarray(self.center + u @ x * (self.radius / length))

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return the exact distance to the farthest point."""
        origin = real_array("prior_mean", prior_mean, (self.d,))
        return float(np.linalg.norm(origin - self.center)) + self.radius

    def diameter(self) -> float:
        return 2.0 * self.radius

    def cut(self, origin: Array, basis: Array) -> BallCut:
        return BallCut(basis.T @ (self.center - origin), self.radius)

    def sample(self, seeds: Indices) -> Array:
        return sampling.in_ball(self.center, self.radius, seeds)

    def describe(self) -> str:
        middle = "0" if not self.center.any() else f"({', '.join(map(number, self.center))})"
        return f"the ball of radius {number(self.radius)} around {middle} in R^{self.d}"

    def cones(self) -> list[Cone]:
        return [norm_cone(np.eye(self.d), self.center, self.radius)]

    def coordinates(self) -> Coordinates:
        center, q, radius = self.center, self.difference_basis(), self.radius
        n = q.shape[1]
        if n == 0:
            return Coordinates(center, q, 1.0, cube(0))
        inner = Coordinates(center, q * (radius / np.sqrt(n)), radius, cube(n))
        return Coordinates(center, q * radius, radius, UnitBall(n), inner)
