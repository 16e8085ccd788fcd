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

from partial_monitoring.estimation.confidence import Schedule, squared_radius
from partial_monitoring.estimation.kernel import rivals
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.kernel.root import Root
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices, real_array

ROUNDING = 1e-14
"""Squared distances below this fraction of the squared lengths are rounding."""


@dataclass(frozen=True, eq=False)
class KernelEllipsoid:
    """E_t of every replicate; see :class:`partial_monitoring.confidence.ConfidenceSet`."""

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
    def game(self) -> KernelGame:
        """The game whose actions these are."""
        return self.data.design.game

    @property
    def parameters(self) -> ParameterSet:
        """All of R^d."""
        return self.game.parameters

    @property
    def groups(self) -> Indices:
        """One group, shape (2,)."""
        return np.array([0, self.game.k])

    @property
    def round(self) -> Indices:
        """t, shape (n,)."""
        return self.data.round

    @property
    def log_det(self) -> Array:
        """Log det(I + S K S' / lambda), shape (n,)."""
        return self.data.log_det

    @property
    def noise_std(self) -> float:
        """Rho."""
        return self.data.design.noise_std

    @property
    def means(self) -> Array:
        """f_hat: the estimated rewards of the actions, shape (n, k)."""
        return self.data.means

    @property
    def estimate(self) -> Array:
        """What a decision reports: f_hat of all actions, shape (n, k), for the user to keep."""
        return (self.data.means if self.reported is None else self.reported).copy()

    @property
    def center(self) -> Array:
        """The estimate of the d numbers, shape (n, d)."""
        return self.data.numbers

    @property
    def lengths(self) -> Array:
        """|phi_a| in the norm of V_t^-1, shape (n, k)."""
        return np.asarray(np.sqrt(np.maximum(self.data.variances, 0.0)))

    @property
    def signals(self) -> Array:
        """M_a V_t^-1 M_a', shape (n, k, m, m)."""
        return self.data.signals

    @property
    def gap_ceiling(self) -> Array:
        """T: no function with norm at most B has a larger gap, shape (k,)."""
        return np.broadcast_to(self.data.design.largest_gap, (self.game.k,))

    @property
    def always_best(self) -> NDArray[np.bool_]:
        """Actions that are best whatever the function, shape (k,)."""
        return self.data.design.always_best

    @property
    def outside(self) -> Array:
        """Nothing cuts the set, shape (n,)."""
        return np.zeros(len(self.beta))

    @property
    def uncut(self) -> KernelEllipsoid:
        """The set itself, which nothing cuts."""
        return self

    # -- what a rule asks ------------------------------------------------------------------------

    def exact_gaps(self) -> Array:
        """Compare all pairs of actions, shape (n, k)."""
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
        """Return gaps through the greedy action, shape (n, k)."""
        return self._through_greedy(through_mean=False)[0]

    def greedy_gaps(self) -> Array:
        """Return gaps at f_hat plus delta of the greedy action, shape (n, k)."""
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
        """Return greedy gaps (n, k), the greedy action (n,), and |phi_a - phi_g|^2 (n, k)."""
        gaps, greedy = self._through_greedy(through_mean=True)
        squared = [self.distances(row, int(g)) for row, g in enumerate(greedy)]
        return gaps, greedy, np.array(squared)

    def distances(self, row: int, action: int) -> Array:
        """Return psi_t: |phi_a - phi_b|^2 in the norm of V_t^-1 for all a and one b, shape (k,)."""
        data, reward = self.data, self.game.reward
        pulled = data.covariances[row].times(reward[action]) / data.design.regularization
        cross = reward.of(pulled)
        variances = data.variances[row]
        # Written with differences, so that it is exactly zero for copies of b.
        squared = (variances - variances[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    def widths(self, row: int, action: int) -> Array:
        """Return beta^(1/2) |phi_a - phi_b| in the norm of V_t^-1 for all a, shape (k,)."""
        return np.asarray(np.sqrt(self.distances(row, action) * self.beta[row]))

    def directed(self, *, relaxed: bool) -> Array:
        """Return the information about the two plausible optima that differ most, (n, k)."""
        rows = range(len(self.beta))
        each = [rivals.directed(self, row, relaxed=relaxed) for row in rows]
        return np.array(each).reshape(self.means.shape)

    def ahead(self, row: int) -> tuple[Array, NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
        """Return how far actions may be ahead of the greedy one, the rivals, and how to decide."""
        return rivals.ahead(self, row)

    def expected(self, game: Any, action: int) -> Array:
        """Return what an action of a game shows on average at f_hat, shape (n, m_a)."""
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
        return reward.of(np.ascontiguousarray(whole.T)) / lam

    def cross_of(self, row: int, actions: Indices) -> Array:
        """Return phi_a V_t^-1 phi_b' of some actions a (q,) and all actions b, shape (q, k)."""
        reward, lam = self.game.reward, self.data.design.regularization
        return np.asarray(reward.of(self.data.covariances[row].products(reward[actions])) / lam)

    def restricted(self, actions: Indices) -> KernelEllipsoid:
        """Return E_t, seen through some of the actions."""
        return KernelEllipsoid(self.data.restricted(actions), self.beta, self.estimate, self.roots)

    # -- the set itself --------------------------------------------------------------------------

    def support(self, directions: ArrayLike) -> Array:
        """Return max <c, g> over E_t for directions (q, d), shape (n, q)."""
        c = real_array("directions", directions, ("q", self.game.d))
        return np.stack([self._supports(row, c)[0] for row in range(self.data.replicates)])

    def maximizer(self, directions: ArrayLike) -> Array:
        """Return where the maximum is attained, shape (n, q, d)."""
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
        """Return M V_t^-1 M' for maps (q, m, d), shape (n, q, m, m)."""
        rows = real_array("maps", maps, ("q", "m", self.game.d))
        lam = self.data.design.regularization
        each = [rows @ own.matrix @ np.swapaxes(rows, 1, 2) / lam for own in self.data.covariances]
        return np.stack(each)
