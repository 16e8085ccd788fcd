"""Theta = Theta_1 x Theta_2 x ...: several unknown vectors, each in a set of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.rational import Integers
from partial_monitoring.parameter_sets import base, polyhedral
from partial_monitoring.parameter_sets.coordinates import (
    Coordinates,
    CurvedSet,
    Polyhedron,
    cube,
    pulled_back,
)
from partial_monitoring.parameter_sets.cut import Cut, Uncut
from partial_monitoring.parameter_sets.product_cut import ProductCut
from partial_monitoring.validation import Array, Indices, brief, items, set_fields, whole_number

NEXT = np.uint64(0x9E3779B97F4A7C15)
"""The seeds of a part are those of the part before it plus this number, modulo 2^63."""

SWEEPS = 200
"""Largest number of times that a projection is improved one vector after the other."""


@base.registered("product", "sizes", "sets")
@dataclass(frozen=True, eq=False, init=False)
class Product(base.ParameterSet):
    """Several unknown vectors one after the other; nothing known of one restricts another.

    It is polyhedral where all its sets are, and then analysed in exact arithmetic like them.

    >>> import partial_monitoring as pm
    >>> both = pm.Product(pm.Simplex(3), pm.Box([0, 0], [1, 2]))
    >>> both.d, both.dimension, float(both.support([0, 0, 1, 1, 1]))
    (5, 4, 4.0)
    """

    sets: tuple[base.ParameterSet, ...]
    d: int = field(repr=False)

    def __init__(self, *sets: base.ParameterSet) -> None:
        if not sets:
            raise InvalidInput("a product needs at least one parameter set; got none.")
        for part in sets:
            if not isinstance(part, base.ParameterSet):
                raise InvalidInput(
                    f"a product is made of parameter sets such as Simplex(3); got {brief(part)}."
                )
        set_fields(self, sets=sets, d=sum(part.d for part in sets))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The length of each vector."""
        return tuple(part.d for part in self.sets)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Where each vector is in theta."""
        return tuple(_consecutive(self.sizes))

    def _each(self, vectors: Array) -> Iterator[tuple[base.ParameterSet, Array]]:
        """Yield every set with its part of vectors (..., d)."""
        for part, block in zip(self.sets, self.blocks, strict=True):
            yield part, vectors[..., block]

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        x = base.vectors("points", points, self.d)
        inside: NDArray[np.bool_] = np.all([p.contains(own) for p, own in self._each(x)], axis=0)
        return inside

    def support(self, directions: ArrayLike) -> Array:
        c = base.vectors("directions", directions, self.d)
        return np.asarray(sum(part.support(own) for part, own in self._each(c)))

    def relative_interior_point(self) -> Array:
        return np.concatenate([part.relative_interior_point() for part in self.sets])

    def difference_basis(self) -> Array:
        return in_blocks([part.difference_basis() for part in self.sets])

    def norm_bound(self, prior_mean: ArrayLike) -> float:
        """Return the exact distance to the farthest point if the sets do."""
        origin = base.vectors("prior_mean", prior_mean, self.d)
        return _length(part.norm_bound(own) for part, own in self._each(origin))

    def assumed_bound(self, prior_mean: ArrayLike) -> float:
        """Return what is assumed of all vectors together: as much as of each by itself."""
        origin = base.vectors("prior_mean", prior_mean, self.d)
        return _length(part.assumed_bound(own) for part, own in self._each(origin))

    def diameter(self) -> float:
        return _length(part.diameter() for part in self.sets)

    def project(self, point: ArrayLike, gram: ArrayLike | None = None) -> Array:
        """Return the nearest point: one vector after the other if ``gram`` does not mix them."""
        target, metric = base.checked_projection(self.d, point, gram)
        if not (metric * self._mixed).any():
            parts = zip(self._each(target), self.blocks, strict=True)
            return np.concatenate(
                [part.project(own, metric[block, block]) for (part, own), block in parts]
            )
        if self.facets() is not None:
            return polyhedral.nearest(self, target, metric)
        return target if self.contains(target) else self._nearest(target, metric)

    def _nearest(self, target: Array, metric: Array) -> Array:
        """Return the nearest point by cones, then improved one vector after the other."""
        found = conic.nearest_in_cones(target, metric, self.cones())
        for _ in range(SWEEPS):
            before = found.copy()
            for part, block in zip(self.sets, self.blocks, strict=True):
                # Where the other vectors stay, the best point of this one without constraints.
                pull = metric[block] @ (found - target)
                aim = found[block] - np.linalg.solve(metric[block, block], pull)
                found[block] = part.project(aim, metric[block, block])
            if np.abs(found - before).max() <= 1e-15 * (1.0 + np.abs(found).max()):
                break
        return found

    @cached_property
    def _mixed(self) -> Array:
        """1 where an entry of a matrix (d, d) belongs to two different vectors, else 0."""
        owner = np.repeat(np.arange(len(self.sets)), self.sizes)
        return np.asarray(owner[:, None] != owner, dtype=float)

    def cut(self, origin: Array, basis: Array) -> Cut:
        facets = self.facets()
        if facets is not None and len(facets[1]):
            return polyhedral.cut(self, origin, basis)
        if facets is not None:
            return Uncut()
        return ProductCut.of(self, self.sets, self.blocks, origin, basis)

    def sample(self, seeds: Indices) -> Array:
        """Draw every vector from its own set, with seeds of its own."""
        own, drawn = np.asarray(seeds).astype(np.uint64), []
        for part in self.sets:
            drawn.append(part.sample(own.astype(np.int64)))
            own = (own + NEXT) & np.uint64(2**63 - 1)
        return np.concatenate(drawn, axis=1)

    def describe(self) -> str:
        words = [part.describe() for part in self.sets]
        if len(words) > 1 and len(set(words)) == 1:
            return f"the product of {len(words)} sets, each {words[0]}"
        return f"the product of {' and '.join(words)}"

    def equals(self, other: object) -> bool:
        if type(other) is not Product or len(other.sets) != len(self.sets):
            return False
        return all(one.equals(two) for one, two in zip(self.sets, other.sets, strict=True))

    # -- for the analysis of games -----------------------------------------------------------

    def cones(self) -> list[conic.Cone]:
        return [
            conic.Cone(kind, self._widened(matrix, block), bound)
            for part, block in zip(self.sets, self.blocks, strict=True)
            for kind, matrix, bound in part.cones()
        ]

    def _widened(self, rows: Array, block: slice) -> Array:
        """Return rows (n, size) about one vector as rows (n, d) about all of them."""
        wide = np.zeros((len(rows), self.d))
        wide[:, block] = rows
        return wide

    def coordinates(self) -> Coordinates:
        """Return those of all sets together; those of R^d are a cube only if all are such."""
        whole = [_is_everything(part) for part in self.sets]
        parts = [part.coordinates() for part in self.sets]
        if not all(whole):
            parts = [_free(own) if free else own for own, free in zip(parts, whole, strict=True)]
        middle = self.relative_interior_point()
        inner = [own.inner or own for own in parts]
        around = np.array_equal(np.concatenate([own.origin for own in inner]), middle)
        joined = _joined(parts)
        if joined.local.polyhedron is None and around:
            return replace(joined, inner=_joined(inner))
        return joined

    def halfspaces(self) -> base.Halfspaces | None:
        found = [part.halfspaces() for part in self.sets]
        known = [own for own in found if own is not None]
        if len(known) < len(found):
            return None
        a_ub, b_ub, a_eq, b_eq = zip(*known, strict=True)
        return base.Halfspaces(
            in_blocks(a_ub), np.concatenate(b_ub), in_blocks(a_eq), np.concatenate(b_eq)
        )

    @cached_property
    def _facets(self) -> tuple[Array, Array] | None:
        found = [part.facets() for part in self.sets]
        known = [own for own in found if own is not None]
        if len(known) < len(found):
            return None
        rows, bounds = zip(*known, strict=True)
        return in_blocks(rows), np.concatenate(bounds)

    def facets(self) -> tuple[Array, Array] | None:
        return self._facets

    def apparent_equalities(self) -> list[int]:
        found, start = [], 0
        for part in self.sets:
            own = part.halfspaces()
            assert own is not None
            found += [start + i for i in part.apparent_equalities()]
            start += len(own.b_ub)
        return found

    def exact_minimum(self, vector: Integers) -> Fraction | None:
        total = Fraction(0)
        for part, own in self._each(vector):
            least = part.exact_minimum(own)
            if least is None:
                return None
            total += least
        return total

    # -- game files --------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        sets = [part.to_dict() for part in self.sets]
        return {"type": "product", "sizes": list(self.sizes), "sets": sets}

    @classmethod
    def from_entry(cls, values: Mapping[str, Any]) -> Self:
        sizes, sets = items("sizes", values["sizes"]), items("sets", values["sets"])
        if len(sizes) != len(sets):
            raise InvalidInput(
                f"sizes must hold one number for each of the {len(sets)} sets; got {brief(sizes)}."
            )
        pairs = zip(sets, sizes, strict=True)
        numbers = [(own, whole_number("sizes", size, at_least=1)) for own, size in pairs]
        return cls(*(cls.from_dict(own, size) for own, size in numbers))


def in_blocks(matrices: Sequence[Array]) -> Array:
    """Return matrices as the blocks of a diagonal, with zeros elsewhere."""
    whole = np.zeros((sum(len(own) for own in matrices), sum(own.shape[1] for own in matrices)))
    rows = _consecutive([len(own) for own in matrices])
    columns = _consecutive([own.shape[1] for own in matrices])
    for own, row, column in zip(matrices, rows, columns, strict=True):
        whole[row, column] = own
    return whole


def _consecutive(sizes: Sequence[int]) -> list[slice]:
    """Return the places of parts of given sizes, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _length(distances: Iterable[float]) -> float:
    """Return the length of a vector whose parts have given lengths."""
    return float(np.linalg.norm(list(distances)))


def _is_everything(part: base.ParameterSet) -> bool:
    """Whether a set is all of R^d."""
    halfspaces = part.halfspaces()
    return halfspaces is not None and not len(halfspaces.b_ub) and not len(halfspaces.b_eq)


def _free(own: Coordinates) -> Coordinates:
    """Return the coordinates of R^d without the cube to which cones are cut."""
    n = len(own.origin)
    everywhere = np.full(n, np.inf)
    local = cube(n)._replace(low=-everywhere, high=everywhere)
    return Coordinates(own.origin, own.to_theta, own.size, local)


def _joined(parts: Sequence[Coordinates]) -> Coordinates:
    """Return the coordinates of a product from those of its sets."""
    origin = np.concatenate([own.origin for own in parts])
    given = [np.eye(len(p.origin)) if p.to_theta is None else p.to_theta for p in parts]
    to_theta, size = in_blocks(given), max(own.size for own in parts)
    flat = [own.local.polyhedron for own in parts]
    known = [own for own in flat if own is not None]
    if len(known) == len(flat):
        matrix, *bounds = zip(*known, strict=True)
        local = Polyhedron(in_blocks(matrix), *(np.concatenate(own) for own in bounds))
        return Coordinates(origin, to_theta, size, local)
    blocks = _consecutive([own.shape[1] for own in given])
    own_blocks = list(zip(parts, blocks, strict=True))

    def minimum(slope: Array) -> float:
        return float(sum(own.local.minimum(slope[block]) for own, block in own_blocks))

    chosen = np.eye(to_theta.shape[1])
    nowhere = [np.zeros(own.shape[1]) for own in given]
    cones = [
        cone
        for (own, block), start in zip(own_blocks, nowhere, strict=True)
        for cone in pulled_back(own.local.cones(), start, chosen[block])
    ]
    return Coordinates(origin, to_theta, size, CurvedSet(minimum, cones))
