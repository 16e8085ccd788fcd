"""What every parameter set Theta can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets.cut import Cut, PolyhedralCut
from partial_monitoring.validation import Array, axes, real_array

MEMBERSHIP_TOLERANCE = 1e-9
"""How far outside a point may lie and still count as inside, relative to the set's own numbers."""


FLAT = 1e-9
"""A row whose part along the affine hull is shorter than this fraction of it does not cut."""


class ParameterSet(ABC):
    """A closed convex set Theta of R^d in which the unknown parameter lies (section 2).

    A new kind of set is best a subclass of :class:`Polyhedral`, which everything in the library can
    deal with. Other sets can be modelled, but confidence sets in them are not known to the library.
    """

    d: int
    """Length of the parameter vector."""

    @abstractmethod
    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether each point lies in the set. Shape (..., d) -> (...)."""

    @abstractmethod
    def support(self, directions: ArrayLike) -> Array:
        """Return max of <c, theta> over Theta for each direction c. Shape (..., d) -> (...).

        The value is infinite in directions in which the set is unbounded.
        """

    @abstractmethod
    def relative_interior_point(self) -> Array:
        """Return a point of the relative interior, in the middle where there is one. Shape (d,)."""

    @abstractmethod
    def difference_basis(self) -> Array:
        """Return Q, an orthonormal basis of span(Theta - Theta). Shape (d, D), D = dimension."""

    @abstractmethod
    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        """Return argmin over theta in Theta of |theta - point| in the norm of ``gram``.

        ``gram`` is symmetric positive definite, shape (d, d); without it the norm is Euclidean.
        """

    @abstractmethod
    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return B, an upper bound of |theta - prior_mean| over the set (infinite if unbounded)."""

    @abstractmethod
    def diameter(self) -> float:
        """Return an upper bound of the distance of two points (infinite if unbounded)."""

    def cut(self, origin: Array, basis: Array) -> Cut:
        """Return the set in coordinates x, theta = origin + basis x, to be cut by ellipsoids.

        The basis spans Theta - Theta, shape (d, D).
        """
        raise SolverError(f"confidence sets in a {type(self).__name__} cannot be computed.")

    def equals(self, other: object) -> bool:
        """Whether the other set is given by the same kind and the same numbers."""
        if self is other:
            return True
        if type(self) is not type(other) or not is_dataclass(self):
            return False
        mine, theirs = (
            [getattr(parameters, field.name) for field in fields(self)]
            for parameters in (self, other)
        )
        return all(map(np.array_equal, mine, theirs))

    @property
    def dimension(self) -> int:
        """D, the dimension of the affine hull."""
        return int(self.difference_basis().shape[1])


class Halfspaces(NamedTuple):
    """The set {theta : a_ub theta <= b_ub, a_eq theta = b_eq}."""

    a_ub: Array
    b_ub: Array
    a_eq: Array
    b_eq: Array


class Polyhedral(ParameterSet):
    """A parameter set that is cut out by finitely many halfspaces."""

    @abstractmethod
    def halfspaces(self) -> Halfspaces:
        """Return the inequalities and equalities that define the set."""

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        """Return the nearest point in the norm of ``gram``, by a dual active-set method.

        With theta = center + Q x the set has interior points, and the nearest point of its affine
        hull solves Q' G Q x = Q' G (point - center); the rest is a projection in that norm.
        """
        target, metric = checked_projection(self.d, point, gram)
        center, q = self.relative_interior_point(), self.difference_basis()
        if q.shape[1] == 0:
            return center
        a, b = self.facets()
        # Without a tolerance: in a tiny set everything near by is outside.
        if q.shape[1] == self.d and (a @ (q.T @ (target - center)) <= b).all():
            return target
        inner = q.T @ metric @ q
        on_hull = np.asarray(np.linalg.solve(inner, q.T @ (metric @ (target - center))), float)
        nearest: Array = center + q @ conic.nearest_point(on_hull, inner, a, b)
        return nearest

    def facets(self) -> tuple[Array, Array]:
        """Return (a, b) such that the set is {center + Q x : a x <= b}, with rows of length 1."""
        a_ub, b_ub, _, _ = self.halfspaces()
        center, q = self.relative_interior_point(), self.difference_basis()
        a, b = a_ub @ q, b_ub - a_ub @ center
        lengths = np.linalg.norm(a, axis=1)
        cuts = lengths > FLAT * np.maximum(1.0, np.linalg.norm(a_ub, axis=1))
        return a[cuts] / lengths[cuts, None], b[cuts] / lengths[cuts]

    def cut(self, origin: Array, basis: Array) -> Cut:
        rows, right = self.facets()
        q, center = self.difference_basis(), self.relative_interior_point()
        return PolyhedralCut(
            np.ascontiguousarray(rows @ (q.T @ basis)),
            right - rows @ (q.T @ (origin - center)),
            basis.T @ (center - origin),
            origin,
            basis,
            self.project,
        )


def checked_projection(d: int, point: ArrayLike, gram: ArrayLike | None) -> tuple[Array, Array]:
    """Validate the arguments of ``project``; the Gram matrix must be positive definite."""
    target = np.array(real_array("point", point, (d,)))
    if gram is None:
        return target, np.eye(d)
    metric = real_array("gram", gram, (d, d))
    if not np.allclose(metric, metric.T, rtol=1e-9, atol=1e-9 * np.abs(metric).max()):
        raise InvalidInput("gram must be symmetric; got a matrix that differs from its transpose.")
    try:
        np.linalg.cholesky(metric)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(metric)[0]
        raise InvalidInput(
            f"gram must be positive definite; its smallest eigenvalue is {smallest:g}."
        ) from None
    return target, metric


def vectors(name: str, value: ArrayLike, d: int) -> Array:
    """Validate an array whose last axis has length d."""
    return real_array(name, value, (*(f"n{axis}" for axis in range(axes(value) - 1)), d))
