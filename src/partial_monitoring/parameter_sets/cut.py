"""Theta cut by ellipsoids: not at all, as a ball, or as a polyhedron.

A cut works in coordinates x with theta = origin + basis x, on n replicates at once. It projects
points onto Theta and gives the support function of Theta cut by the ellipsoids
|x - center|_G^2 <= beta, where G = diag(W_t, lambda I).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import is_ill_conditioned
from partial_monitoring.parameter_sets.coordinates import norm_cone
from partial_monitoring.validation import Array, Indices, frozen

PAIRS = 2**14
"""Largest number of entries of the directions whose supports are computed at once."""


@dataclass(frozen=True, eq=False)
class Metric:
    """The norms of n replicates: G = diag(W_t, lambda I) in the coordinates of a cut."""

    gram: Array
    """W_t, shape (n, r, r)."""
    inverse: Array
    """W_t^-1, shape (n, r, r)."""
    regularization: float
    """lambda."""

    def of(self, rows: NDArray[np.bool_]) -> Metric:
        """Return the norms of some replicates."""
        return Metric(self.gram[rows], self.inverse[rows], self.regularization)


class Rewards(Protocol):
    """Rewards offsets + slopes x of actions that compete in groups, one after the other."""

    @property
    def slopes(self) -> Array:
        """Shape (k, D)."""

    @property
    def offsets(self) -> Array:
        """Shape (k,)."""

    @property
    def groups(self) -> Indices:
        """Where each group starts, then k, shape (groups + 1,)."""

    def pair_ceiling(self, group: int) -> Array:
        """Return how far action b can be ahead of a on Theta at most, entry (a, b)."""


class Cut(ABC):
    """Theta in coordinates, to be cut by ellipsoids."""

    whole: ClassVar[bool] = False
    """Whether Theta is everything, so that no ellipsoid is cut."""

    @abstractmethod
    def project(self, metric: Metric, x: Array) -> Array:
        """Return the points of Theta nearest to x (n, D) in the norms of G, shape (n, D)."""

    @abstractmethod
    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        """Return values (n, q) and maximisers (n, q, D) of directions (q, D)."""

    def exact_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        """Return the largest plausible gap of every action within its group, shape (n, k)."""
        each = [
            self._group_gaps(metric, center, beta, rewards, group, slice(start, end))
            for group, (start, end) in enumerate(pairwise(rewards.groups.tolist()))
        ]
        return np.maximum(each[0] if len(each) == 1 else np.concatenate(each, axis=1), 0.0)

    def _group_gaps(
        self, metric: Metric, center: Array, beta: Array, rewards: Rewards, group: int, own: slice
    ) -> Array:
        """Return the gaps of one group by one support for each pair, in blocks, shape (n, q)."""
        slopes, offsets, n = rewards.slopes[own], rewards.offsets[own], len(center)
        k, dim = slopes.shape
        ceiling = self._ceiling(rewards, group)
        gaps = np.zeros((n, k))
        block = max(1, PAIRS // max(1, k * dim))
        for start in range(0, k, block):
            some = slice(start, start + block)
            away = (slopes[None] - slopes[some, None]).reshape(-1, dim)
            values = self.supports(metric, center, beta, away)[0].reshape(n, -1, k)
            ahead = values + offsets - offsets[some, None]
            gaps[:, some] = np.minimum(ahead, ceiling[some]).max(axis=2)
        return gaps

    def _ceiling(self, rewards: Rewards, group: int) -> Array:
        """Return how far pairs of one group can be apart at most, (q, q) or (q, 1)."""
        return np.full((int(np.diff(rewards.groups)[group]), 1), np.inf)


class Uncut(Cut):
    """Theta is R^d, or a single point."""

    whole = True

    def project(self, metric: Metric, x: Array) -> Array:
        return x

    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        r, lam = metric.inverse.shape[1], metric.regularization
        seen = directions[:, :r] @ metric.inverse
        rest = np.broadcast_to(directions[:, r:] / lam, (len(seen), *directions[:, r:].shape))
        pulled = np.concatenate([seen, rest], axis=2)
        width = np.sqrt(np.maximum((pulled * directions).sum(axis=-1), 0.0))
        reach = np.sqrt(beta)[:, None]
        values = (directions * center[:, None, :]).sum(axis=-1) + reach * width
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        return values, center[:, None, :] + step[:, :, None] * pulled


@dataclass(frozen=True, eq=False)
class BallCut(Cut):
    """Theta is a ball."""

    center: Array
    """Shape (D,)."""
    radius: float

    def _diagonal(self, metric: Metric) -> tuple[Array, Array, Array]:
        """Return the eigenvalues (n, D) of G, its eigenvectors (n, D, D) and their transpose."""
        n, r, dim = *metric.gram.shape[:2], len(self.center)
        values, vectors = np.linalg.eigh(metric.gram)
        # The small eigenvalues of an ill-conditioned matrix are those of its inverse; the large
        # ones are then only known to be large.
        for row in np.flatnonzero(is_ill_conditioned(metric.gram, metric.regularization)):
            shares, vectors[row] = np.linalg.eigh(metric.inverse[row])
            values[row] = 1.0 / np.maximum(shares, np.finfo(float).eps * shares[-1])
        weights = np.full((n, dim), metric.regularization)
        weights[:, :r] = values
        turn = np.broadcast_to(np.eye(dim), (n, dim, dim)).copy()
        turn[:, :r, :r] = vectors
        return weights, turn, np.swapaxes(turn, 1, 2)

    def _turned(
        self, metric: Metric, center: Array, beta: Array
    ) -> tuple[Array, Array, tuple[Any, ...]]:
        """Return the rotation to the eigenvectors of G and back, and both bodies in between."""
        weights, turn, back = self._diagonal(metric)
        turned = (back @ center[:, :, None])[:, :, 0]
        ellipsoids = weights, turned, np.maximum(beta, 1e-300)
        return turn, back, (*ellipsoids, back @ self.center, self.radius)

    def project(self, metric: Metric, x: Array) -> Array:
        from partial_monitoring.numerics.compiled import ball

        weights, turn, back = self._diagonal(metric)
        turned = (back @ x[:, :, None])[:, :, 0]
        found = ball.projections(weights, turned, back @ self.center, self.radius)
        return np.asarray((turn @ found[:, :, None])[:, :, 0])

    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import ball

        turn, back, bodies = self._turned(metric, center, beta)
        values, points = ball.supports(np.ascontiguousarray(directions @ turn), *bodies)
        return values, points @ back

    def exact_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        """Return the largest plausible gaps, by supports of those pairs only that may decide."""
        from partial_monitoring.numerics.compiled import ball

        turn, _, bodies = self._turned(metric, center, beta)
        slopes = np.ascontiguousarray(rewards.slopes @ turn)
        return np.asarray(ball.group_gaps(slopes, rewards.offsets, rewards.groups, *bodies))


@dataclass(frozen=True, eq=False)
class PolyhedralCut(Cut):
    """Theta is a polyhedron {x : facets x <= bounds}."""

    facets: Array
    """Shape (f, D)."""
    bounds: Array
    """Shape (f,)."""
    interior: Array
    """A point of the relative interior, shape (D,)."""
    origin: Array
    basis: Array
    nearest: Callable[[Array, Array], Array]
    """The projection onto Theta in given norms, for what the compiled loop leaves unfinished."""

    def project(self, metric: Metric, x: Array) -> Array:
        from partial_monitoring.numerics.compiled import polyhedron

        if polyhedron.is_inside(x, self.facets, self.bounds):
            return x
        lam, r = metric.regularization, metric.gram.shape[1]
        centers, finished = polyhedron.project(
            metric.inverse, x, lam, self.facets, self.bounds, self.interior
        )
        for row in np.flatnonzero(~finished):
            gram = np.diag(np.full(x.shape[1], lam))
            gram[:r, :r] = metric.gram[row]
            theta = self.origin + self.basis @ x[row]
            # Definite on the complement of the basis, too.
            complement = np.eye(len(self.basis)) - self.basis @ self.basis.T
            full = self.basis @ gram @ self.basis.T + complement
            centers[row] = self.basis.T @ (self.nearest(theta, full) - self.origin)
        return np.asarray(centers)

    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import polyhedron

        ellipsoids = metric.inverse, center, beta, metric.regularization
        values, certified, points = polyhedron.pair_supports(
            *ellipsoids, frozen(np.ascontiguousarray(directions[:])), self.facets, self.bounds
        )
        for row, t in np.argwhere(~certified):
            own = metric.inverse[row], metric.regularization, center[row], float(beta[row])
            found = self._by_cones(*own, directions[t])
            if found is None:
                continue
            # The value stays an upper bound, the better of two that multipliers prove. An
            # interior-point method may overshoot by its tolerance; the bound must hold.
            point, bound = found
            values[row, t] = min(float(values[row, t]), bound)
            room = max(float(values[row, t] - directions[t] @ center[row]), 0.0)
            gain = max(float(directions[t] @ (point - center[row])), 1e-300)
            points[row, t] = center[row] + (point - center[row]) * min(1.0, room / gain)
        return values, points

    def _by_cones(
        self, inverse: Array, lam: float, center: Array, beta: float, direction: Array
    ) -> tuple[Array, float] | None:
        """Return a maximiser and a bound by an interior-point method, or None.

        In whitened coordinates, where any multipliers mu >= 0 of the facets N z <= s prove that the
        maximum is at most <s, mu> + beta^(1/2) |c - N' mu|.
        """
        from partial_monitoring.numerics.compiled import polyhedron

        dim = len(center)
        root = polyhedron.whiten(inverse, lam, dim)
        facets, slack = self.facets @ root, self.bounds - self.facets @ center
        size = max(float(np.linalg.norm(root.T @ direction)), 1e-300)
        c = root.T @ direction / size
        inside = conic.Cone("nonnegative", facets, slack)
        near = norm_cone(np.eye(dim), np.zeros(dim), np.sqrt(beta))
        try:
            best = conic.minimize_conic(-c, [inside, near])
        except SolverError:
            return None
        if best is None:
            return None
        mu = np.maximum(best.multipliers[: len(slack)], 0.0)
        height = float(slack @ mu) + np.sqrt(beta) * float(np.linalg.norm(c - facets.T @ mu))
        return center + root @ best.point, float(direction @ center) + size * height

    def _group_gaps(
        self, metric: Metric, center: Array, beta: Array, rewards: Rewards, group: int, own: slice
    ) -> Array:
        """Return the gaps of one group, with pairs pruned by upper bounds."""
        from partial_monitoring.numerics.compiled import polyhedron

        slopes = np.ascontiguousarray(rewards.slopes[own])
        offsets, ceiling = rewards.offsets[own], self._ceiling(rewards, group)
        ellipsoids = metric.inverse, center, beta, metric.regularization
        gaps, certified = polyhedron.exact_gaps(
            *ellipsoids, slopes, offsets, self.facets, self.bounds, ceiling
        )
        if not certified.all():
            open_ = ~certified
            gaps[open_] = super()._group_gaps(
                metric.of(open_), center[open_], beta[open_], rewards, group, own
            )
        return np.asarray(gaps)

    def _ceiling(self, rewards: Rewards, group: int) -> Array:
        return rewards.pair_ceiling(group)
