"""Posterior means and covariances by the textbook formulas, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm

Array = NDArray[np.float64]
Long = NDArray[Any]


def cholesky(matrix: Long) -> Long:
    """The lower factor, column by column, in the precision of the matrix."""
    low = np.zeros_like(matrix)
    for j in range(len(matrix)):
        low[j, j] = np.sqrt(matrix[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (matrix[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return low


def forward(low: Long, right: Long) -> Long:
    """Solve low x = right."""
    x = np.zeros_like(right)
    for i in range(len(low)):
        x[i] = (right[i] - low[i, :i] @ x[:i]) / low[i, i]
    return x


class Posterior:
    """What follows from all rows that were ever shown, stacked, with noise lambda."""

    def __init__(
        self, game: pm.KernelGame, actions: Any, observations: Array, lam: float, gram: Any = None
    ) -> None:
        scale = np.ones(game.k)
        if np.ndim(game.noise_std):
            scale = 1.0 / np.asarray(game.noise_std)
        rows, seen = [np.zeros((0, game.d))], [np.zeros(0)]
        for a, y in zip(actions, observations, strict=True):
            rows.append(game.rows(int(a)) * scale[a])
            seen.append(y[: game.row_count(int(a))] * scale[a])
        shown = np.concatenate(rows).astype(np.longdouble)
        k = np.asarray(game.gram.matrix if gram is None else gram, dtype=np.longdouble)
        y = np.concatenate(seen).astype(np.longdouble)
        low = cholesky(shown @ k @ shown.T + np.longdouble(lam) * np.eye(len(shown)))
        reach, target = forward(low, shown @ k), forward(low, y[:, None])[:, 0]
        self.numbers: Array = (target @ reach).astype(float)
        covariance = k - reach.T @ reach
        self.covariance: Array = covariance.astype(float)
        log_lam = len(shown) * np.log(np.longdouble(lam))
        self.log_det = float(2 * np.log(low.diagonal()).sum() - log_lam)
        phi = game.features.astype(np.longdouble)
        maps = game.observation_maps * scale[:, None, None]
        self.means: Array = (phi @ (target @ reach)).astype(float)
        self.variances: Array = (((phi @ covariance) * phi).sum(axis=1) / lam).astype(float)
        signals = maps @ covariance @ np.swapaxes(maps, 1, 2) / lam
        self.signals: Array = signals.astype(float)
        apart = phi[:, None] - phi[None]
        psi = ((apart @ covariance) * apart).sum(axis=2) / lam
        self.distances: Array = psi.astype(float)
