"""Balls and polyhedra cut by ellipsoids: what compiled functions do, one replicate at a time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets.coordinates import norm_cone
from partial_monitoring.parameter_sets.cut import Cut, Metric, Rewards, numbers
from partial_monitoring.validation import Array, Indices, frozen

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled import bodies

BLOCK = 2**20
"""Pairs of actions whose distances are computed at once."""


class CompiledCut(Cut):
    """A set that compiled functions know, one replicate after the other."""

    @property
    @abstractmethod
    def body(self) -> bodies.Cut:
        """The set without anything that belongs to a game."""

    def numbers(self, rewards: Rewards) -> bodies.Cut:
        return self.body

    def bare(self, dim: int) -> bodies.Cut:
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
        return numbers("BALL", self.center, self.radius)

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
        in_gram = slopes[:, :r] @ metric.gram  # (n, k, r)
        lazy.gaps_of_each(
            self.body,
            *(metric.gram, metric.inverse, lam, center, beta, slopes, rewards.offsets),
            *(variances, in_gram, self._farthest(rewards)),
            *(np.ascontiguousarray(information), kappa, zero),
            lazy.make_lazy_scratch(self.body, r, k),
            gaps,
        )
        return gaps

    @cached_property
    def _known(self) -> WeakKeyDictionary[Rewards, Indices]:
        return WeakKeyDictionary()

    def _farthest(self, rewards: Rewards) -> Indices:
        """Return the competitor that can be furthest ahead of each action on the ball, (k,)."""
        found = self._known.get(rewards)
        if found is None:
            slopes, middle = rewards.slopes, rewards.offsets + rewards.slopes @ self.center
            norms, k = (slopes**2).sum(axis=1), len(slopes)
            found = np.empty(k, dtype=np.int64)
            for start in range(0, k, block := max(1, BLOCK // k)):
                own = slice(start, start + block)
                squared = norms + norms[own, None] - 2.0 * (slopes[own] @ slopes.T)
                reach = middle + self.radius * np.sqrt(np.maximum(squared, 0.0))
                found[own] = reach.argmax(axis=1)
            self._known[rewards] = found
        return found


@dataclass(frozen=True, eq=False)
class PolyhedralCut(CompiledCut):
    """Theta is a polyhedron {x : facets x <= bounds}."""

    facets: Array
    """Shape (f, D)."""
    bounds: Array
    """Shape (f,)."""
    interior: Array
    """A point of the relative interior, shape (D,)."""

    @cached_property
    def body(self) -> bodies.Cut:
        return numbers("POLYHEDRON", self.interior, 0.0, self.facets, self.bounds)

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
        return conic.nearest_point(x, gram, self.facets, self.bounds)

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
