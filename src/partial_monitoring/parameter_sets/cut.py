"""Theta cut by ellipsoids: not at all, as a ball, or as a polyhedron.

A cut works in coordinates x with theta = origin + basis x, on n replicates at once. It projects
points onto Theta and gives the support function of Theta cut by the ellipsoids
|x - center|_G^2 <= beta, where G = diag(W_t, lambda I).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

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

    def bare(self, dim: int) -> bodies.Cut | None:
        """Return the same in D coordinates, without anything that belongs to a game."""
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
        """Return gaps (n, k) with the same minimiser of gap^kappa / information as the exact ones.

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
        return self.bare(rewards.slopes.shape[1])

    def bare(self, dim: int) -> bodies.Cut:
        return numbers("WHOLE", np.zeros(dim))


def numbers(
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
