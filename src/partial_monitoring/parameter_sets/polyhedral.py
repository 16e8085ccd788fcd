"""Parameter sets that are cut out by finitely many halfspaces."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets import base, sampling
from partial_monitoring.parameter_sets.compiled_cut import PolyhedralCut
from partial_monitoring.parameter_sets.coordinates import Coordinates, Polyhedron, coordinates_in
from partial_monitoring.validation import Array, Indices, frozen, real_array

FLAT = 1e-9
"""A row whose component along the affine hull is a smaller fraction of it does not cut."""

NEARLY_FLAT = 1e-7
"""At most this fraction of a row may be an implied equality, which exact arithmetic decides."""


class Polyhedral(base.ParameterSet):
    """A parameter set that is cut out by finitely many halfspaces."""

    @abstractmethod
    def halfspaces(self) -> base.Halfspaces:
        """Return the inequalities and equalities that define the set."""

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        """Return the nearest point in the norm of ``gram``, by a dual active-set method.

        With theta = center + Q x the set has interior points, and the nearest point of its affine
        hull solves Q' G Q x = Q' G (point - center); the rest is a projection in that norm.
        """
        return nearest(self, *base.checked_projection(self.d, point, gram))

    def cut(self, origin: Array, basis: Array) -> PolyhedralCut:
        return cut(self, origin, basis)

    def facets(self) -> tuple[Array, Array]:
        """Return (a, b) such that the set is {center + Q x : a x <= b}, with rows of length 1."""
        a_ub, b_ub, _, _ = self.halfspaces()
        center, q = self.relative_interior_point(), self.difference_basis()
        a, b = a_ub @ q, b_ub - a_ub @ center
        lengths = np.linalg.norm(a, axis=1)
        cuts = lengths > FLAT * np.linalg.norm(a_ub, axis=1)
        return a[cuts] / lengths[cuts, None], b[cuts] / lengths[cuts]

    def sample(self, seeds: Indices) -> Array:
        return sampling.in_polyhedron(self, *self.facets(), seeds)

    def cones(self) -> list[conic.Cone]:
        a_ub, b_ub, a_eq, b_eq = self.halfspaces()
        return [conic.Cone("nonnegative", a_ub, b_ub), conic.Cone("zero", a_eq, b_eq)]

    def coordinates(self) -> Coordinates:
        """Return coordinates on the scale of the radius, or of the facets if there is none."""
        center, q = self.relative_interior_point(), self.difference_basis()
        a, b = self.facets()
        radius = self.norm_bound(center)
        bounded = np.isfinite(radius) and radius > 0
        size = radius if bounded else float(b.max(initial=0.0)) or 1.0
        free = np.full(q.shape[1], np.inf)
        local = Polyhedron(a, np.full(len(b), -np.inf), b / size, -free, free)
        return Coordinates(center, q * size, size, local)

    def apparent_equalities(self) -> list[int]:
        rows = self.halfspaces().a_ub
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        seen = np.linalg.norm(rows @ self.difference_basis(), axis=1)
        return [int(i) for i in np.flatnonzero(seen <= NEARLY_FLAT * lengths)]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry in a game file: a polytope if the class has no entry of its own."""
        if any(known is type(self) for known, _, _ in base.KINDS.values()):
            return super().to_dict()
        rows = zip(base.Halfspaces._fields, self.halfspaces(), strict=True)
        kept = {key: real_array(key, value, np.shape(value)) for key, value in rows}
        filled = {key: value.tolist() for key, value in kept.items() if value.size}
        return {"type": "polytope"} | filled


def nearest(parameters: base.ParameterSet, target: Array, metric: Array) -> Array:
    """Return the point of a set with facets that is nearest to a target in the norm of a metric."""
    center, q = parameters.relative_interior_point(), parameters.difference_basis()
    if q.shape[1] == 0:
        return center
    a, b = _facets(parameters)
    # Without a tolerance: in a tiny set everything nearby is outside.
    if q.shape[1] == parameters.d and (a @ (q.T @ (target - center)) <= b).all():
        return target
    inner = q.T @ metric @ q
    on_hull = np.asarray(np.linalg.solve(inner, q.T @ (metric @ (target - center))), float)
    return np.asarray(center + q @ conic.nearest_point(on_hull, inner, a, b))


def cut(parameters: base.ParameterSet, origin: Array, basis: Array) -> PolyhedralCut:
    """Return a set with facets in coordinates x, theta = origin + basis x."""
    rows, right = _facets(parameters)
    q, center = parameters.difference_basis(), parameters.relative_interior_point()
    return PolyhedralCut(
        frozen(np.ascontiguousarray(rows @ (q.T @ basis))),
        right - rows @ (q.T @ (origin - center)),
        coordinates_in(basis, center - origin),
    )


def _facets(parameters: base.ParameterSet) -> tuple[Array, Array]:
    found = parameters.facets()
    assert found is not None
    return found
