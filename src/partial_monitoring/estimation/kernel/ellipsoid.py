"""Confidence sets of functions with a kernel (section 7, with E5).

In the coordinates of the d numbers that the function enters through, with their covariance C,

    E_t = {g : |g - g_hat|^2 in the norm of lambda C^-1 <= beta_t},
    max over E_t of <c, g> = <c, g_hat> + (beta_t c' C c / lambda)^(1/2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.estimation.confidence import ConfidenceSet, Schedule, squared_radius
from partial_monitoring.estimation.kernel import rivals
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.kernel.root import Root
from partial_monitoring.validation import Array, Indices, real_array

ROUNDING = 1e-14
"""Squared distances below this fraction of the squared lengths are rounding."""


@dataclass(frozen=True, eq=False)
class KernelEllipsoid(ConfidenceSet):
    """E_t of every replicate."""

    data: KernelEstimate
    beta: Array
    """beta_t, shape (n,)."""
    reported: Array | None = None
    """f_hat of all actions, if only some of them are considered, shape (n, k)."""
    roots: tuple[Root, ...] = ()
    """A root of C of each replicate, for draws."""

    @classmethod
    def around(
        cls, estimate: KernelEstimate, schedule: Schedule, roots: tuple[Root, ...] = ()
    ) -> KernelEllipsoid:
        """Return E_t of an estimate with failure probabilities from a schedule."""
        beta = squared_radius(schedule, estimate.design, estimate.round, estimate.log_det)
        return cls(estimate, beta, roots=roots)

    # -- what is known ---------------------------------------------------------------------------

    @property
    def means(self) -> Array:
        return self.data.means

    @property
    def estimate(self) -> Array:
        return (self.data.means if self.reported is None else self.reported).copy()

    @property
    def center(self) -> Array:
        return self.data.numbers

    @property
    def lengths(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self.data.variances, 0.0)))

    @property
    def outside(self) -> Array:
        return np.zeros(len(self.beta))

    @property
    def uncut(self) -> KernelEllipsoid:
        return self

    # -- what a rule asks ------------------------------------------------------------------------

    def exact_gaps(self) -> Array:
        gaps = np.empty(self.means.shape)
        for row, own in enumerate(self.means):
            cross = self.cross(row)  # (k, k)
            lengths = cross.diagonal()
            both = lengths[:, None] + lengths
            squared = both - 2.0 * cross
            squared[squared <= ROUNDING * both] = 0.0
            ahead = own + np.sqrt(squared * self.beta[row])
            gaps[row] = np.maximum(ahead.max(axis=1) - own, 0.0)
        return gaps

    def relaxed_gaps(self) -> Array:
        return self._through_greedy(through_mean=False)[0]

    def greedy_gaps(self) -> Array:
        return self._through_greedy(through_mean=True)[0]

    def _through_greedy(self, *, through_mean: bool) -> tuple[Array, Indices]:
        """Compare all actions with the greedy one: gaps (n, k) and the greedy one (n,).

        With f in place of f_hat(g) inside the maximum, as E5 says.
        """
        means, greedy = self.means, self.means.argmax(axis=1)
        gaps = np.empty(means.shape)
        for row, g in enumerate(greedy.tolist()):
            width, best = self.widths(row, g), means[row, g]
            delta = max(float((means[row] + width).max()) - best, 0.0)
            behind = best - means[row]
            gaps[row] = delta + (behind if through_mean else np.maximum(behind + width, 0.0))
            gaps[row, g] = delta
        return gaps, greedy

    def duels(self) -> tuple[Array, Indices, Array]:
        gaps, greedy = self._through_greedy(through_mean=True)
        squared = [self.distances(row, int(g)) for row, g in enumerate(greedy)]
        return gaps, greedy, np.array(squared)

    def distances(self, row: int, action: int) -> Array:
        data, reward = self.data, self.game.reward
        pulled = data.covariances[row].times(reward[action]) / data.design.regularization
        cross = reward.of(pulled)
        variances = data.variances[row]
        # Written with differences, so that it is exactly zero for copies of b.
        squared = (variances - variances[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    def directed(self, *, relaxed: bool) -> Array:
        rows = range(len(self.beta))
        each = [rivals.directed(self, row, relaxed=relaxed) for row in rows]
        return np.array(each).reshape(self.means.shape)

    def ahead(self, row: int) -> tuple[Array, NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
        return rivals.ahead(self, row)

    def expected(self, game: Any, action: int) -> Array:
        rows = game.rows(action)
        return np.array([rows @ numbers for numbers in self.center])

    def sample(self, normals: Array, scale: Array | float) -> Array:
        """Return the rewards of one draw each, f = f_hat + c lambda^(-1/2) U z with U U' = C."""
        away = np.stack([root.times(z) for root, z in zip(self.roots, normals, strict=True)])
        spread = scale / np.sqrt(self.data.design.regularization)
        return np.asarray(self.means + spread * self.game.reward.of(away))

    def cross(self, row: int) -> Array:
        """Return phi_a V_t^-1 phi_b' of all pairs of actions, shape (k, k)."""
        reward, lam = self.game.reward, self.data.design.regularization
        whole = reward.of(self.data.covariances[row].matrix)  # (d, k)
        return np.asarray(reward.of(np.ascontiguousarray(whole.T)) / lam)

    def cross_of(self, row: int, actions: Indices) -> Array:
        """Return phi_a V_t^-1 phi_b' of some actions a (q,) and all actions b, shape (q, k)."""
        reward, lam = self.game.reward, self.data.design.regularization
        return np.asarray(reward.of(self.data.covariances[row].products(reward[actions])) / lam)

    def restricted(self, actions: Indices) -> KernelEllipsoid:
        return KernelEllipsoid(self.data.restricted(actions), self.beta, self.estimate, self.roots)

    # -- the set itself --------------------------------------------------------------------------

    def support(self, directions: ArrayLike) -> Array:
        c = real_array("directions", directions, ("q", self.game.d))
        return np.stack([self._supports(row, c)[0] for row in range(self.data.replicates)])

    def maximizer(self, directions: ArrayLike) -> Array:
        c = real_array("directions", directions, ("q", self.game.d))
        return np.stack([self._supports(row, c)[1] for row in range(self.data.replicates)])

    def _supports(self, row: int, directions: Array) -> tuple[Array, Array]:
        lam, center = self.data.design.regularization, self.data.numbers[row]
        pulled = directions @ self.data.covariances[row].matrix / lam  # (q, d)
        width = np.sqrt(np.maximum((pulled * directions).sum(axis=1), 0.0))
        reach = np.sqrt(self.beta[row])
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        return directions @ center + reach * width, center + step[:, None] * pulled

    def observation_covariance(self, maps: ArrayLike) -> Array:
        rows = real_array("maps", maps, ("q", "m", self.game.d))
        lam = self.data.design.regularization
        each = [rows @ own.matrix @ np.swapaxes(rows, 1, 2) / lam for own in self.data.covariances]
        return np.stack(each)
