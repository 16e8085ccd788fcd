"""Theta cut by ellipsoids: not at all, as a ball, or as a polyhedron.

A cut works in coordinates x with theta = origin + basis x, on n replicates at once. It projects
points onto Theta and gives the support function of Theta cut by the ellipsoids
|x - center|_G^2 <= beta, where G = diag(W_t, lambda I).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets.coordinates import norm_cone
from partial_monitoring.validation import Array, Indices, frozen

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled import bodies

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

    @property
    def pair_ceilings(self) -> Array:
        """How far the actions b of a group can be ahead of a on Theta at most.

        Entry (a, b - start of the group), shape (k, size of the largest group).
        """


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

    def numbers(self, rewards: Rewards) -> bodies.Cut | None:
        """Return the set as compiled functions take it; None if they know no such set."""
        return None

    def exact_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        """Return the largest plausible gap of every action within its group, shape (n, k).

        By one support for each pair, in blocks.
        """
        gaps = np.zeros((len(center), len(rewards.slopes)))
        for start, end in pairwise(rewards.groups.tolist()):
            slopes, offsets = rewards.slopes[start:end], rewards.offsets[start:end]
            k, dim = slopes.shape
            ceiling = self._ceiling(rewards, start, end)
            block = max(1, PAIRS // max(1, k * dim))
            for first in range(0, k, block):
                some = slice(first, first + block)
                away = (slopes[None] - slopes[some, None]).reshape(-1, dim)
                values = self.supports(metric, center, beta, away)[0].reshape(len(gaps), -1, k)
                ahead = np.minimum(values + offsets - offsets[some, None], ceiling[some])
                gaps[:, start:end][:, some] = np.maximum(ahead.max(axis=2), 0.0)
        return gaps

    def lazy_gaps(
        self,
        metric: Metric,
        center: Array,
        beta: Array,
        rewards: Rewards,
        variances: Array,
        information: Array,
        kappa: float,
        zero: float,
    ) -> Array | None:
        """Return gaps (n, k) with which gap^kappa / information has the minimiser of the exact ones.

        None if that is not known. ``variances`` (n, k) are |phi|^2 in the norms of G^-1; gaps below
        the fraction ``zero`` of the largest are noise.
        """
        return None

    def relaxed_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        """Return the gaps of every action through the greedy one of its group, shape (n, k)."""
        gaps = np.zeros((len(center), len(rewards.slopes)))
        for start, end in pairwise(rewards.groups.tolist()):
            slopes, offsets = rewards.slopes[start:end], rewards.offsets[start:end]
            greedy = (offsets + (slopes @ center[:, :, None])[:, :, 0]).argmax(axis=1)
            for g in np.unique(greedy):
                rows = greedy == g
                own = metric.of(rows), center[rows], beta[rows]
                away, shift = slopes - slopes[g], offsets - offsets[g]
                up = self.supports(*own, away)[0] + shift
                down = self.supports(*own, -away)[0] - shift
                delta = np.maximum(up.max(axis=1), 0.0)
                gaps[rows, start:end] = delta[:, None] + np.maximum(down, 0.0)
                gaps[rows, start + g] = delta
        return gaps

    def _ceiling(self, rewards: Rewards, start: int, end: int) -> Array:
        """Return how far pairs of one group can be apart at most, (q, q) or (q, 1)."""
        return np.full((end - start, 1), np.inf)


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

    def numbers(self, rewards: Rewards) -> bodies.Cut:
        return _numbers("WHOLE", np.zeros(rewards.slopes.shape[1]))


class CompiledCut(Cut):
    """A set that compiled functions know, one replicate after the other."""

    @property
    @abstractmethod
    def body(self) -> bodies.Cut:
        """The set without anything that belongs to a game."""

    def numbers(self, rewards: Rewards) -> bodies.Cut:
        return self.body

    @property
    @abstractmethod
    def loops(self) -> Any:
        """The compiled functions that loop over replicates."""

    def project(self, metric: Metric, x: Array) -> Array:
        nearest, scratch = x.copy(), self._scratch(metric, 0)
        norms = metric.inverse, metric.regularization
        missed = self.loops.project_each(self.body, *norms, scratch, nearest)
        for row in np.flatnonzero(missed):
            nearest[row] = self._projected(metric, int(row), x[row])
        return nearest

    def supports(
        self, metric: Metric, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        ellipsoids = metric.inverse, metric.regularization, center, beta
        aimed = frozen(np.ascontiguousarray(directions[:]))
        values, missed, points = self.loops.supports_of_each(
            self.body, *ellipsoids, aimed, self._scratch(metric, 0)
        )
        for row, t in np.argwhere(missed):
            self._settle(metric, center, beta, directions, row, t, values, points)
        return values, points

    def exact_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        """Return the largest plausible gaps, by supports of those pairs only that may decide."""
        gaps, open_ = self._gaps(False, metric, center, beta, rewards)
        if open_.any():
            gaps[open_] = super().exact_gaps(metric.of(open_), center[open_], beta[open_], rewards)
        return gaps

    def relaxed_gaps(self, metric: Metric, center: Array, beta: Array, rewards: Rewards) -> Array:
        gaps, open_ = self._gaps(True, metric, center, beta, rewards)
        if open_.any():
            gaps[open_] = super().relaxed_gaps(
                metric.of(open_), center[open_], beta[open_], rewards
            )
        return gaps

    def _gaps(
        self, relaxed: bool, metric: Metric, center: Array, beta: Array, rewards: Rewards
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return gaps (n, k), and of which replicates (n,) they are not proven."""
        k = len(rewards.slopes)
        gaps = np.empty((len(center), k))
        ellipsoids = metric.inverse, metric.regularization, center, beta
        actions = np.ascontiguousarray(rewards.slopes), rewards.offsets, rewards.groups
        missed = self.loops.gaps_of_each(
            self.numbers(rewards), relaxed, *ellipsoids, *actions, self._scratch(metric, k), gaps
        )
        return gaps, missed

    def _scratch(self, metric: Metric, k: int) -> bodies.Scratch:
        from partial_monitoring.numerics.compiled import bodies

        return bodies.make_scratch(self.body, metric.inverse.shape[1], k)

    def _projected(self, metric: Metric, row: int, x: Array) -> Array:
        """Return the projection (D,) of a point where the compiled loop found none."""
        raise NotImplementedError

    def _settle(
        self,
        metric: Metric,
        center: Array,
        beta: Array,
        directions: Array,
        row: int,
        t: int,
        values: Array,
        points: Array,
    ) -> None:
        """Improve a support, in place, that the compiled loop did not prove."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class BallCut(CompiledCut):
    """Theta is a ball."""

    center: Array
    """Shape (D,)."""
    radius: float

    @cached_property
    def body(self) -> bodies.Cut:
        return _numbers("BALL", self.center, self.radius)

    @property
    def loops(self) -> Any:
        from partial_monitoring.numerics.compiled import ball

        return ball

    def lazy_gaps(
        self,
        metric: Metric,
        center: Array,
        beta: Array,
        rewards: Rewards,
        variances: Array,
        information: Array,
        kappa: float,
        zero: float,
    ) -> Array | None:
        k = len(rewards.slopes)
        if len(rewards.groups) > 2:
            return None
        from partial_monitoring.numerics.compiled import lazy

        gaps, slopes = np.empty((len(center), k)), np.ascontiguousarray(rewards.slopes)
        lam, r = metric.regularization, metric.gram.shape[1]
        observed, hidden = slopes[:, :r], slopes[:, r:]
        forms = ((observed @ metric.gram) * observed).sum(axis=2) + lam * (hidden**2).sum(axis=1)
        lazy.gaps_of_each(
            self.body,
            *(metric.gram, metric.inverse, lam, center, beta, slopes, rewards.offsets),
            *(variances, forms, np.ascontiguousarray(information), kappa, zero),
            lazy.make_lazy_scratch(self.body, r, k),
            gaps,
        )
        return gaps


@dataclass(frozen=True, eq=False)
class PolyhedralCut(CompiledCut):
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

    @cached_property
    def body(self) -> bodies.Cut:
        return _numbers("POLYHEDRON", self.interior, 0.0, self.facets, self.bounds)

    @property
    def loops(self) -> Any:
        from partial_monitoring.numerics.compiled import polyhedron

        return polyhedron

    def numbers(self, rewards: Rewards) -> bodies.Cut:
        return self.body._replace(ceilings=rewards.pair_ceilings)

    def _projected(self, metric: Metric, row: int, x: Array) -> Array:
        lam, r = metric.regularization, metric.gram.shape[1]
        gram = np.diag(np.full(len(x), lam))
        gram[:r, :r] = metric.gram[row]
        theta = self.origin + self.basis @ x
        # Definite on the complement of the basis, too.
        complement = np.eye(len(self.basis)) - self.basis @ self.basis.T
        full = self.basis @ gram @ self.basis.T + complement
        return np.asarray(self.basis.T @ (self.nearest(theta, full) - self.origin))

    def _settle(
        self,
        metric: Metric,
        center: Array,
        beta: Array,
        directions: Array,
        row: int,
        t: int,
        values: Array,
        points: Array,
    ) -> None:
        own = metric.inverse[row], metric.regularization, center[row], float(beta[row])
        found = self._by_cones(*own, directions[t])
        if found is None:
            return
        # The value stays an upper bound, the better of two that multipliers prove. An
        # interior-point method may overshoot by its tolerance; the bound must hold.
        point, bound = found
        values[row, t] = min(float(values[row, t]), bound)
        room = max(float(values[row, t] - directions[t] @ center[row]), 0.0)
        gain = max(float(directions[t] @ (point - center[row])), 1e-300)
        points[row, t] = center[row] + (point - center[row]) * min(1.0, room / gain)

    def _by_cones(
        self, inverse: Array, lam: float, center: Array, beta: float, direction: Array
    ) -> tuple[Array, float] | None:
        """Return a maximiser and a bound by an interior-point method, or None.

        In whitened coordinates, where any multipliers mu >= 0 of the facets N z <= s prove that the
        maximum is at most <s, mu> + beta^(1/2) |c - N' mu|.
        """
        from partial_monitoring.numerics.compiled import polyhedron

        dim = len(center)
        root = np.empty((dim, dim))
        polyhedron.whiten(inverse, lam, root)
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

    def _ceiling(self, rewards: Rewards, start: int, end: int) -> Array:
        return rewards.pair_ceilings[start:end, : end - start]


def _numbers(
    kind: str,
    center: Array,
    radius: float = 0.0,
    facets: Array | None = None,
    bounds: Array | None = None,
) -> bodies.Cut:
    """Return a set as compiled functions take it, all arrays read-only."""
    from partial_monitoring.numerics.compiled import bodies

    rows = np.zeros((0, len(center))) if facets is None else facets
    sides = np.zeros(0) if bounds is None else bounds
    arrays = [frozen(np.array(array)) for array in (center, rows, sides, np.zeros((0, 0)))]
    middle, rows, sides, ceilings = arrays
    return bodies.Cut(getattr(bodies, kind), middle, float(radius), rows, sides, ceilings)
