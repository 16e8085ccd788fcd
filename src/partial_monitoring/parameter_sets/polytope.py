"""Theta = {theta : a_ub theta <= b_ub, a_eq theta = b_eq}."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.numerics import conic, exact_lp
from partial_monitoring.numerics.linalg import null_space, unit_rows
from partial_monitoring.numerics.rational import integer_rows, rationalize
from partial_monitoring.parameter_sets.base import Halfspaces, registered, slack, vectors
from partial_monitoring.parameter_sets.polyhedral import Polyhedral
from partial_monitoring.validation import Array, axes, frozen, real_array, set_fields, sized_array

THINNEST = 1e-8
"""An inequality with less room than this (relative to the length of its row) is an equality, unless
exact arithmetic shows that it is none."""

MOST_VERTICES = 20_000
"""Largest number of possible vertices that are listed to find the farthest one."""


PLAIN_SIZES = 1e-6, 1e9
"""Sizes of sets that solvers, whose tolerances are absolute, take as they are."""


@registered("polytope", optional=Halfspaces._fields)
@dataclass(frozen=True, eq=False, init=False)
class Polytope(Polyhedral):
    """A polyhedron given by inequalities and equalities; it may be unbounded, but not empty.

    Inequalities that can only hold with equality are found at construction, so that the
    dimension is right even when the equalities are hidden.

    A triangle in the plane, and the same written as a flat set in space:

    >>> Polytope(a_ub=[[-1, 0], [0, -1], [1, 1]], b_ub=[0, 0, 1]).dimension
    2
    >>> Polytope(a_ub=[[1, 1, 1], [-1, -1, -1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]],
    ...          b_ub=[1, -1, 0, 0, 0]).dimension
    2
    """

    a_ub: Array
    b_ub: Array
    a_eq: Array
    b_eq: Array
    d: int = field(repr=False)
    _center: Array = field(repr=False)
    _basis: Array = field(repr=False)

    def __init__(
        self,
        a_ub: ArrayLike | None = None,
        b_ub: ArrayLike | None = None,
        a_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
    ) -> None:
        inequalities = _pair("a_ub", a_ub, "b_ub", b_ub)
        equalities = _pair("a_eq", a_eq, "b_eq", b_eq)
        given = inequalities or equalities
        if given is None:
            raise InvalidInput("a polytope needs a_ub and b_ub, or a_eq and b_eq; got neither.")
        if all(len(pair[0]) == 0 for pair in (inequalities, equalities) if pair):
            raise InvalidInput("a polytope needs at least one row; use AllParameters for R^d.")
        d = given[0].shape[1]
        nothing = frozen(np.zeros((0, d))), frozen(np.zeros(0))
        a_ub, b_ub = inequalities or nothing
        a_eq, b_eq = equalities or nothing
        if a_eq.shape[1] != d:
            raise InvalidInput(
                f"a_eq must have as many columns as a_ub, {d}; got shape {a_eq.shape}."
            )
        set_fields(self, a_ub=a_ub, b_ub=b_ub, a_eq=a_eq, b_eq=b_eq, d=d)
        set_fields(self, **_center_and_basis(self._unit, self.halfspaces()))

    def halfspaces(self) -> Halfspaces:
        return Halfspaces(self.a_ub, self.b_ub, self.a_eq, self.b_eq)

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = vectors("points", points, self.d)
        a_ub, b_ub, a_eq, b_eq = self._unit
        largest = np.abs(np.append(b_ub, b_eq)).max() or 1.0  # a cone has no size of its own
        size = np.maximum(largest, np.abs(x).max(axis=-1, keepdims=True))
        below = x @ a_ub.T <= b_ub + slack(b_ub, size)
        equal = abs(x @ a_eq.T - b_eq) <= slack(b_eq, size)
        inside: NDArray[np.bool_] = np.all(below, axis=-1) & np.all(equal, axis=-1)
        return inside

    def support(self, directions: ArrayLike) -> Array:
        """Return the support function, by one linear program per direction."""
        c = vectors("directions", directions, self.d)
        free = np.full(self.d, np.inf)
        inner, size = _brought_to_size(self._unit)
        program = _program(inner, -free, free)
        flat = c.reshape(-1, self.d)
        sizes = np.abs(flat).max(axis=1)
        heights = np.zeros(len(flat))
        for i in np.flatnonzero(sizes):
            best = program.maximize(flat[i] / sizes[i])
            if best is None:
                raise SolverError("no support function was computed: the polytope seems empty.")
            heights[i] = best.value * sizes[i] * size
        return heights.reshape(c.shape[:-1])

    def relative_interior_point(self) -> Array:
        """Return the centre of a largest ball of the affine hull that fits.

        If balls of any size fit, of one with radius 1 (or of the size of the set, if that is
        extreme).
        """
        return self._center

    def difference_basis(self) -> Array:
        return self._basis

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return the distance to the farthest vertex, or a bound of it when there are too many.

        Past ``MOST_VERTICES`` possible vertices it is the farthest corner of the bounding box in
        the coordinates of the affine hull, which is an upper bound.
        """
        origin = real_array("prior_mean", prior_mean, (self.d,))
        center, basis = self.relative_interior_point(), self.difference_basis()
        local = basis.T @ (origin - center)
        off_hull = float(np.linalg.norm(origin - center - basis @ local))
        return float(np.hypot(self._farthest(local), off_hull))

    def diameter(self) -> float:
        """Return the largest distance of two vertices, or a bound of it when there are too many."""
        if self._vertices is not None:
            return max(self._farthest(vertex) for vertex in self._vertices)
        low, high = self._bounding_box
        return float(np.linalg.norm(high - low))

    def _farthest(self, local: Array) -> float:
        """Distance from a point, in the coordinates of the hull, to the farthest corner."""
        if self._vertices is not None:
            return float(np.linalg.norm(self._vertices - local, axis=1).max())
        low, high = self._bounding_box
        return float(np.linalg.norm(np.maximum(abs(low - local), abs(high - local))))

    @cached_property
    def _unit(self) -> Halfspaces:
        """The halfspaces with rows of length 1 (rows of zeros unchanged)."""
        return Halfspaces(*_scaled(self.a_ub, self.b_ub), *_scaled(self.a_eq, self.b_eq))

    @cached_property
    def _bounding_box(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates in the affine hull, each of shape (D,); maybe infinite."""
        center, basis = self.relative_interior_point(), self.difference_basis()
        return -self.support(-basis.T) - center @ basis, self.support(basis.T) - center @ basis

    @cached_property
    def _vertices(self) -> Array | None:
        """The vertices in the coordinates of the affine hull, (n, D), if there are few enough."""
        dimension = self.dimension
        corners = np.stack(self._bounding_box)
        if dimension <= 1:
            return corners if np.isfinite(corners).all() else None
        a, b = self.facets()
        if not np.isfinite(corners).all() or comb(len(a), dimension) > MOST_VERTICES:
            return None
        from scipy.spatial import HalfspaceIntersection, QhullError

        size = _brought_to_size(self._unit)[1]
        try:
            hull = HalfspaceIntersection(np.column_stack([a, -b / size]), np.zeros(dimension))
        except QhullError:  # too flat for Qhull: the bounding box still gives a valid bound
            return None
        return np.asarray(hull.intersections) * size


def _pair(
    matrix_name: str, matrix: ArrayLike | None, vector_name: str, vector: ArrayLike | None
) -> tuple[Array, Array] | None:
    """Validate a matrix and its right-hand side, which come together or not at all."""
    if matrix is None and vector is None:
        return None
    if matrix is None or vector is None:
        names = (matrix_name, vector_name)
        missing, given = names if matrix is None else names[::-1]
        raise InvalidInput(f"{missing} must come together with {given}; got only {given}.")
    if axes(matrix) == 1 and axes(vector) == 1 and len(matrix) == len(vector) == 0:  # type: ignore[arg-type]
        return None
    rows = sized_array(matrix_name, matrix, ("n", "d"))
    if rows.shape[1] == 0:
        raise InvalidInput(f"{matrix_name} must have at least one column; got shape {rows.shape}.")
    return rows, sized_array(vector_name, vector, (len(rows),))


def _scaled(rows: Array, right: Array) -> tuple[Array, Array]:
    lengths = np.linalg.norm(rows, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return rows / lengths[:, None], right / lengths


def _brought_to_size(halfspaces: Halfspaces) -> tuple[Halfspaces, float]:
    """Return a set s times smaller and s, which is 1 unless the set is tiny or huge."""
    a_ub, b_ub, a_eq, b_eq = halfspaces
    size = float(np.abs(np.append(b_ub, b_eq)).max())
    if size == 0 or PLAIN_SIZES[0] <= size <= PLAIN_SIZES[1]:
        return halfspaces, 1.0
    return Halfspaces(a_ub, b_ub / size, a_eq, b_eq / size), size


def _program(halfspaces: Halfspaces, low: Array, high: Array) -> conic.LinearProgram:
    """Return the linear programs over halfspaces, with bounds of each coordinate."""
    a_ub, b_ub, a_eq, b_eq = halfspaces
    lowest = np.append(np.full(len(b_ub), -np.inf), b_eq)
    return conic.LinearProgram(
        np.concatenate([a_ub, a_eq]), lowest, np.append(b_ub, b_eq), low, high
    )


def _center_and_basis(halfspaces: Halfspaces, given: Halfspaces) -> dict[str, Array]:
    """Return Chebyshev's centre and the difference basis of a polyhedron that is not empty.

    The halfspaces have rows of length 1; they are also needed as they were given, to be read as
    fractions where rows have so little room that floating point takes them for equalities.
    """
    halfspaces, size = _brought_to_size(halfspaces)
    a_ub, b_ub, a_eq, b_eq = halfspaces
    d = a_ub.shape[1]
    free = np.full(d, np.inf)
    implied = _implied_equalities(halfspaces)
    best = None
    thin = None
    if implied is not None:
        thin = _exactly_implied(given, implied)
        implied = implied if thin is None else thin[0]
        basis = null_space(unit_rows(np.concatenate([a_eq, a_ub[implied]])))
        room = np.linalg.norm(a_ub @ basis, axis=1) * ~implied
        # max t  subject to  a theta + t |a on the hull| <= b,  0 <= t
        for largest in (np.inf, 1.0):
            wide = Halfspaces(
                np.column_stack([a_ub, room]), b_ub, np.pad(a_eq, ((0, 0), (0, 1))), b_eq
            )
            program = _program(wide, np.append(-free, 0.0), np.append(free, largest))
            best = program.maximize(np.append(np.zeros(d), 1.0))
            if best is None or np.isfinite(best.value):
                break
    if best is None:
        raise InvalidInput(
            "the polytope is empty: no theta satisfies a_ub theta <= b_ub and a_eq theta = b_eq."
        )
    center = best.point[:d] * size if thin is None else thin[1]
    return {"_center": frozen(center), "_basis": frozen(basis)}


def _exactly_implied(
    halfspaces: Halfspaces, suspects: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], Array] | None:
    """Return which inequalities only hold with equality, and a point where no other one does.

    None if the suspected ones are those, or if exact arithmetic does not say.
    """
    a_ub, b_ub, _, _ = halfspaces
    rows = np.column_stack([a_ub, b_ub])[suspects]
    if all((row == -rows).all(axis=1).any() for row in rows):  # a row and its negative
        return None
    data = [rationalize(array) for array in halfspaces]
    if any(array is None for array in data):
        return None
    upper, right, equal, level = data
    found = exact_lp.implied_equalities(integer_rows(upper, right), integer_rows(equal, level))  # type: ignore[arg-type]
    if found is None or np.array_equal(found[0], suspects):
        return None
    return found[0], found[1].astype(np.float64)


def _implied_equalities(halfspaces: Halfspaces) -> NDArray[np.bool_] | None:
    """Which inequalities can only hold with equality; None when no point is feasible.

    Maximise the total room sum s, subject to a x + s <= b and 0 <= s <= 1, of the inequalities
    whose room is still unknown. Those that got some are not equalities; when none gets any, the
    others are.
    """
    a_ub, b_ub, a_eq, b_eq = halfspaces
    n, d = a_ub.shape
    size = max(float(np.abs(b_ub).max(initial=0.0)), float(np.abs(b_eq).max(initial=0.0)))
    if 0 < size < 1:  # a tiny set is no thinner than a large one of the same form
        b_ub, b_eq = b_ub / size, b_eq / size
    free = np.full(d, np.inf)
    unknown = np.ones(n, dtype=bool)
    while True:
        rooms = np.diag(unknown.astype(float))
        wide = Halfspaces(
            np.column_stack([a_ub, rooms]), b_ub, np.pad(a_eq, ((0, 0), (0, n))), b_eq
        )
        program = _program(wide, np.append(-free, np.zeros(n)), np.append(free, np.ones(n)))
        best = program.maximize(np.append(np.zeros(d), unknown.astype(float)))
        if best is None:
            return None
        found = unknown & (best.point[d:] > THINNEST)
        if not found.any():
            return unknown
        unknown &= ~found
