"""Confidence sets of functions with a kernel (section 7, with E5).

In the coordinates of the d numbers that the function enters through, with their covariance C,

    E_t = {g : |g - g_hat|^2 in the norm of lambda C^-1 <= beta_t},
    max over E_t of <c, g> = <c, g_hat> + (beta_t c' C c / lambda)^(1/2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.shapes import Everything
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import Array, Indices, real_array


@dataclass(frozen=True, eq=False)
class KernelConfidence:
    """E_t of every replicate."""

    data: KernelEstimate
    beta: Array
    """beta_t, shape (n,)."""

    @property
    def shape(self) -> Everything:
        """The ellipsoid is not cut."""
        return Everything()

    @property
    def parameters(self) -> ParameterSet:
        """All of R^d."""
        return self.data.model.game.parameters

    @property
    def round(self) -> Indices:
        """t, shape (n,)."""
        return self.data.round

    @property
    def means(self) -> Array:
        """f_hat: the estimated rewards of the actions, shape (n, k)."""
        return self.data.means

    @property
    def estimate(self) -> Array:
        """What a decision reports: f_hat, shape (n, k), for the user to keep."""
        return self.data.means.copy()

    @property
    def center(self) -> Array:
        """The estimate of the d numbers, shape (n, d)."""
        return self.data.numbers

    def distances(self, row: int, action: int) -> Array:
        """Return psi_t: |phi_a - phi_b|^2 in the norm of V_t^-1 for all a and one b, shape (k,)."""
        data, reward = self.data, self.data.model.game.reward
        pulled = data.covariances[row].times(reward[action]) / data.model.regularization
        cross = reward.of(pulled)
        variances = data.variances[row]
        # Written with differences, so that it is exactly zero for copies of b.
        squared = (variances - variances[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    def widths(self, row: int, action: int) -> Array:
        """Return beta^(1/2) |phi_a - phi_b| in the norm of V_t^-1 for all a, shape (k,)."""
        return np.asarray(np.sqrt(self.distances(row, action) * self.beta[row]))

    def cross(self, row: int) -> Array:
        """Return phi_a V_t^-1 phi_b' of all pairs of actions, shape (k, k)."""
        reward, lam = self.data.model.game.reward, self.data.model.regularization
        whole = reward.of(self.data.covariances[row].matrix)  # (d, k)
        return reward.of(np.ascontiguousarray(whole.T)) / lam

    def cross_of(self, row: int, actions: Indices) -> Array:
        """Return phi_a V_t^-1 phi_b' of some actions a (q,) and all actions b, shape (q, k)."""
        reward, lam = self.data.model.game.reward, self.data.model.regularization
        return np.asarray(reward.of(self.data.covariances[row].products(reward[actions])) / lam)

    def support(self, directions: ArrayLike) -> Array:
        """Return max <c, g> over E_t for directions (q, d), shape (n, q)."""
        c = real_array("directions", directions, ("q", self.data.model.game.d))
        return np.stack([self._supports(row, c)[0] for row in range(self.data.replicates)])

    def maximizer(self, directions: ArrayLike) -> Array:
        """Return where the maximum is attained, shape (n, q, d)."""
        c = real_array("directions", directions, ("q", self.data.model.game.d))
        return np.stack([self._supports(row, c)[1] for row in range(self.data.replicates)])

    def _supports(self, row: int, directions: Array) -> tuple[Array, Array]:
        lam, center = self.data.model.regularization, self.data.numbers[row]
        pulled = directions @ self.data.covariances[row].matrix / lam  # (q, d)
        width = np.sqrt(np.maximum((pulled * directions).sum(axis=1), 0.0))
        reach = np.sqrt(self.beta[row])
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        return directions @ center + reach * width, center + step[:, None] * pulled

    def observation_covariance(self, maps: ArrayLike) -> Array:
        """Return M V_t^-1 M' for maps (q, m, d), shape (n, q, m, m)."""
        rows = real_array("maps", maps, ("q", "m", self.data.model.game.d))
        lam = self.data.model.regularization
        each = [rows @ own.matrix @ np.swapaxes(rows, 1, 2) / lam for own in self.data.covariances]
        return np.stack(each)
