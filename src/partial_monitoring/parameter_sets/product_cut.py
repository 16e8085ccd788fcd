"""Products of curved sets cut by ellipsoids: set by set where possible, by cones otherwise.

If neither the coordinates nor the norms mix the sets, and a direction concerns only one of them,
the others may stay where they are: the support is that of this set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import length
from partial_monitoring.parameter_sets.base import ParameterSet
from partial_monitoring.parameter_sets.coordinates import norm_cone, pulled_back
from partial_monitoring.parameter_sets.cut import Cut, Metric, Rewards
from partial_monitoring.validation import Array, Indices


@dataclass(frozen=True, eq=False)
class Some:
    """The rewards of one group of actions that depend on one of the sets only."""

    slopes: Array
    offsets: Array
    groups: Indices
    pair_ceilings: Array


@dataclass(frozen=True, eq=False)
class ProductCut(Cut):
    """A product of sets, at least one of which is curved."""

    cuts: tuple[Cut, ...]
    """Those of the sets, if the coordinates do not mix them, else none."""
    owner: Indices
    """The set to which each coordinate belongs, shape (D,)."""
    cones: list[conic.Cone]
    """The product in the coordinates."""
    origin: Array
    basis: Array
    nearest: Callable[[Array, Array], Array]
    """The projection onto the product in given norms."""

    @classmethod
    def of(
        cls,
        whole: ParameterSet,
        sets: Sequence[ParameterSet],
        blocks: Sequence[slice],
        origin: Array,
        basis: Array,
    ) -> ProductCut:
        """Return a product of sets, which lie in blocks of theta, in coordinates."""
        touched = np.array([basis[block].any(axis=0) for block in blocks])  # (sets, D)
        owner, cuts = touched.argmax(axis=0), []
        orthonormal = np.allclose(basis.T @ basis, np.eye(basis.shape[1]), rtol=0.0, atol=1e-9)
        if orthonormal and (touched.sum(axis=0) == 1).all():
            for j, (own, block) in enumerate(zip(sets, blocks, strict=True)):
                cuts.append(own.cut(origin[block], basis[block][:, owner == j]))
        cones = pulled_back(whole.cones(), origin, basis)
        return cls(tuple(cuts), owner, cones, origin, basis, whole.project)

    def project(self, metric: Metric, x: Array) -> Array:
        nearest = x.copy()
        if self._apart(metric):
            for j, cut in enumerate(self.cuts):
                own = self.owner == j
                nearest[:, own] = cut.project(self._own(metric, j), x[:, own])
            return nearest
        return np.array([self._projected(gram, own) for gram, own in _each(metric, x)])

    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        points = np.repeat(center[:, None], len(directions), axis=1)
        values = (points * directions).sum(axis=2)
        moved = [np.unique(self.owner[c != 0]) for c in directions]
        alone = np.array([len(own) == 1 for own in moved], dtype=bool) & self._apart(metric)
        for j in {int(own[0]) for own, one in zip(moved, alone, strict=True) if one}:
            here = np.array([one and own[0] == j for own, one in zip(moved, alone, strict=True)])
            own = self.owner == j
            known = self._own(metric, j), np.ascontiguousarray(center[:, own]), beta
            found = self.cuts[j].supports(*known, np.ascontiguousarray(directions[here][:, own]))
            values[:, here] = found[0]
            points[np.ix_(np.arange(len(center)), here, own)] = found[1]
        for t in np.flatnonzero(~alone & directions.any(axis=1)):
            for row, (gram, middle) in enumerate(_each(metric, center)):
                best = self._by_cones(gram, middle, float(beta[row]), directions[t])
                values[row, t], points[row, t] = best
        return values, points

    def exact_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        owners = self._owners(rewards)
        if owners is None or not self._apart(metric):
            return super().exact_gaps(metric, center, beta, rewards)
        gaps = np.zeros((len(center), len(rewards.slopes)))
        for j, (start, end) in zip(owners, pairwise(rewards.groups.tolist()), strict=True):
            own, group = self.owner == j, slice(start, end)
            some = Some(
                np.ascontiguousarray(rewards.slopes[group, own]),
                rewards.offsets[group],
                np.array([0, end - start]),
                np.ascontiguousarray(rewards.pair_ceilings[group, : end - start]),
            )
            known = self._own(metric, j), np.ascontiguousarray(center[:, own]), beta
            gaps[:, group] = self.cuts[j].exact_gaps(*known, some)
        return gaps

    # -- set by set --------------------------------------------------------------------------

    @cached_property
    def _mixed(self) -> NDArray[np.bool_]:
        """Which entries of a Gram matrix (D, D) belong to two sets."""
        return np.asarray(self.owner[:, None] != self.owner)

    def _apart(self, metric: Metric) -> bool:
        """Whether each set can be cut by itself: nothing mixes them, and all is observed."""
        return (
            bool(self.cuts)
            and metric.gram.shape[1] == len(self.owner)
            and not metric.gram[:, self._mixed].any()
        )

    def _own(self, metric: Metric, j: int) -> Metric:
        """Return the norms of one of the sets."""
        places = np.flatnonzero(self.owner == j)
        own = np.ix_(np.arange(len(metric.gram)), places, places)
        return Metric(
            np.ascontiguousarray(metric.gram[own]),
            np.ascontiguousarray(metric.inverse[own]),
            metric.regularization,
        )

    def _owners(self, rewards: Rewards) -> list[int] | None:
        """Return the set on which the rewards of each group depend; None if one has several."""
        found = []
        for start, end in pairwise(rewards.groups.tolist()):
            own = np.unique(self.owner[rewards.slopes[start:end].any(axis=0)])
            if len(own) != 1:
                return None
            found.append(int(own[0]))
        return found

    # -- by cones ----------------------------------------------------------------------------

    def _projected(self, gram: Array, x: Array) -> Array:
        """Return the point nearest to x (D,) in the norm of a matrix (D, D)."""
        back = np.linalg.pinv(self.basis)
        complement = np.eye(len(self.origin)) - self.basis @ back
        full = back.T @ gram @ back + complement @ complement.T  # definite beyond the basis, too
        theta = self.nearest(self.origin + self.basis @ x, (full + full.T) / 2)
        return np.asarray(back @ (theta - self.origin))

    def _by_cones(
        self, gram: Array, center: Array, beta: float, direction: Array
    ) -> tuple[float, Array]:
        """Return a support and a maximiser (D,), in coordinates in which E_t is a unit ball."""
        dim = len(center)
        radius = max(np.sqrt(beta), 1e-300)
        root = radius * np.linalg.inv(np.linalg.cholesky(gram)).T
        c = root.T @ direction
        size = max(length(c), 1e-300)
        near = norm_cone(np.eye(dim), np.zeros(dim), 1.0)
        cones = map(_of_size_one, pulled_back(self.cones, center, root))
        best = conic.minimize_conic(-c / size, [*cones, near])
        if best is None:  # an ellipsoid so small that rounding leaves nothing
            return float(direction @ center), center
        return float(direction @ center) - size * best.value, center + root @ best.point


def _of_size_one(cone: conic.Cone) -> conic.Cone:
    """Return a constraint in units in which it has size about one, whatever the units of Theta."""
    size = max(np.abs(cone.matrix).max(initial=0.0), np.abs(cone.bound).max(initial=0.0))
    exponent = -int(np.frexp(size)[1])
    return conic.Cone(cone.kind, np.ldexp(cone.matrix, exponent), np.ldexp(cone.bound, exponent))


def _each(metric: Metric, x: Array) -> list[tuple[Array, Array]]:
    """Return the norm G (D, D) and the row of x (n, D) of every replicate."""
    dim, r = x.shape[1], metric.gram.shape[1]
    whole = np.tile(metric.regularization * np.eye(dim), (len(x), 1, 1))
    whole[:, :r, :r] = metric.gram
    return list(zip(whole, x, strict=True))
