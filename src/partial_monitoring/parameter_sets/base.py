"""What every parameter set Theta can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, SolverError, entry
from partial_monitoring.numerics.conic import Cone
from partial_monitoring.numerics.rational import Integers
from partial_monitoring.parameter_sets.coordinates import Coordinates, CurvedSet, pulled_back
from partial_monitoring.parameter_sets.cut import Cut
from partial_monitoring.validation import (
    Array,
    Indices,
    ReadOnly,
    axes,
    brief,
    known_keys,
    real_array,
)

MEMBERSHIP_TOLERANCE = 1e-9
"""How far outside a point may lie and still count as inside, relative to the set's own numbers."""


def slack(bounds: ArrayLike, size: ArrayLike) -> Array:
    """Return by how much points may exceed bounds (q,) of a set of this size.

    Rounding errors are relative to the bound, and to the size of the set where the bound is 0.
    """
    return MEMBERSHIP_TOLERANCE * np.maximum(np.abs(bounds), np.minimum(size, 1.0))


class Halfspaces(NamedTuple):
    """The set {theta : a_ub theta <= b_ub, a_eq theta = b_eq}."""

    a_ub: Array
    b_ub: Array
    a_eq: Array
    b_eq: Array


class ParameterSet(ReadOnly, ABC):
    """A closed convex set Theta of R^d in which the unknown parameter lies (section 2).

    A new kind of set is best a subclass of :class:`Polyhedral`, which has everything else. A curved
    set needs only the seven abstract methods; with ``cones`` its games can be analysed, with
    ``sample`` true parameters can be drawn, and game files keep it if its class is decorated with
    :func:`registered`.
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

    def assumed_bound(self, prior_mean: ArrayLike) -> float:
        """Return B unless a user gives it: the norm bound, and 1 on unbounded sets."""
        farthest = self.norm_bound(prior_mean)
        return farthest if np.isfinite(farthest) else 1.0

    @cached_property
    def magnitude(self) -> float:
        """How large parameters are: rewards are rounded in proportion to it."""
        middle = self.relative_interior_point()
        farthest = self.norm_bound(middle)
        largest = float(np.abs(middle).max(initial=0.0))
        return largest + farthest if np.isfinite(farthest) else largest or 1.0

    @property
    def dimension(self) -> int:
        """D, the dimension of the affine hull."""
        return int(self.difference_basis().shape[1])

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
        pairs = ((getattr(self, own.name), getattr(other, own.name)) for own in fields(self))
        return all(one is two or np.array_equal(one, two) for one, two in pairs)

    def checked(self, theta: ArrayLike, name: str = "theta_star") -> Array:
        """Validate a parameter, shape (d,): right length, finite, inside the set."""
        point = real_array(name, theta, (self.d,))
        if not self.contains(point):
            raise InvalidInput(
                f"{name} must lie in the game's parameter set, a {type(self).__name__}; got "
                f"{brief(point.tolist())}."
            )
        return point

    def sample(self, seeds: Indices) -> Array:
        """Draw one parameter per seed, uniformly from Theta, shape (n, d).

        From an unbounded set, uniformly from its points within 1 of the middle (the default prior
        mean): on R^d from the unit ball.
        """
        raise InvalidInput(
            f"theta cannot be drawn from a {type(self).__name__}; give one or one per seed."
        )

    def describe(self) -> str:
        """Name the set in words."""
        name = type(self).__name__.lower()
        article = "an" if name[0] in "aeiou" else "a"
        return f"{article} {name} of dimension {self.dimension} in R^{self.d}"

    # -- for the analysis of games -----------------------------------------------------------

    def cones(self) -> list[Cone]:
        """Return the set as conic constraints on theta."""
        raise SolverError(f"cells over a {type(self).__name__} cannot be computed.")

    def coordinates(self) -> Coordinates:
        """Return coordinates in which the set has size about one."""
        cones = self.cones()
        center, q = self.relative_interior_point(), self.difference_basis()
        radius = self.norm_bound(center)
        size = radius if np.isfinite(radius) and radius > 0 else 1.0

        def minimum(slope: Array) -> float:
            direction = q @ slope / size
            return -float(self.support(-direction)) - float(direction @ center)

        local = CurvedSet(minimum, pulled_back(cones, center, q * size))
        return Coordinates(center, q * size, size, local)

    def halfspaces(self) -> Halfspaces | None:
        """Return the inequalities and equalities that define the set; None if it is curved."""
        return None

    def facets(self) -> tuple[Array, Array] | None:
        """Return (a, b) such that the set is {center + Q x : a x <= b}; None if it is curved."""
        return None

    def apparent_equalities(self) -> list[int]:
        """Return which inequalities of ``halfspaces`` seem to hold with equality everywhere."""
        return []

    def exact_minimum(self, vector: Integers) -> Fraction | None:
        """Return the minimum of <vector, theta> for integers (d,) by a formula; None without one.

        The numbers of the set are read as the simplest fractions that round to them.
        """
        return None

    # -- game files --------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the set in a game file."""
        for kind, (known, required, optional) in KINDS.items():
            if known is type(self):  # a subclass may be another set
                values = {key: np.asarray(getattr(self, key)) for key in (*required, *optional)}
                kept = {key: value.tolist() for key, value in values.items() if value.size}
                return {"type": kind} | kept
        raise InvalidInput(f"a {type(self).__name__} cannot be written to a game file.")

    @staticmethod
    def from_dict(data: Any, d: int) -> ParameterSet:
        """Build a parameter set in R^d from its entry in a game file."""
        if not isinstance(data, Mapping) or "type" not in data:
            raise InvalidInput(
                f"parameters must be a table with the key 'type'; got {brief(data)}."
            )
        known, required, optional = entry("type of parameters", data["type"], KINDS)
        keys = (*required, *optional)
        known_keys("parameters", data, ("type", *keys))
        for key in required:
            if key not in data:
                raise InvalidInput(f"parameters of type {data['type']!r} need the key {key!r}.")
        values = {k: data[k] for k in keys if k in data}
        built: ParameterSet = known.from_entry(values) if keys else known(d)
        return built

    @classmethod
    def from_entry(cls, values: Mapping[str, Any]) -> Self:
        """Build a set of this kind from the values of its keys in a game file."""
        build: Callable[..., Self] = cls
        return build(**values)


KINDS: dict[str, tuple[type[Any], tuple[str, ...], tuple[str, ...]]] = {}
"""The parameter sets that game files keep, by their type there: class, required, optional keys."""

Set = TypeVar("Set", bound=type[ParameterSet])


def registered(kind: str, *required: str, optional: Sequence[str] = ()) -> Callable[[Set], Set]:
    """Decorate a parameter set that game files keep.

    Parameters
    ----------
    kind
        Its type in a game file.
    required, optional
        The keys of its entry: attributes of the set and arguments of the class. A class without
        keys is called with d alone.
    """

    def register(known: Set) -> Set:
        taken = KINDS[kind][0] if kind in KINDS else known
        if (taken.__module__, taken.__qualname__) != (known.__module__, known.__qualname__):
            raise InvalidInput(f"kind must be a new type of parameters; {kind!r} is taken.")
        KINDS[kind] = known, required, tuple(optional)
        return known

    return register


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
