"""Regularised least squares in the coordinates of the observation basis (section 3.1).

In the coordinates x of a :class:`Model`, theta = prior_mean + basis x,

    W_t   = lambda I + sum_s (M W)' (M W)                 (gram, inverse and log det are kept),
    |x|^2 = |x_W|^2 in the norm of W_t + lambda |x_U|^2   is the norm of V_t on Theta.

All arrays of an :class:`Estimate` carry a leading axis of replicates. Every replicate is computed
by itself, so that its numbers do not depend on how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.model import Model
from partial_monitoring.validation import Array, Indices

REFRESH = 1000
"""After so many rounds everything derived is recomputed from the Gram matrix."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Everything learned so far, for n replicates."""

    model: Model
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    gram: Array
    """W_t, shape (n, r, r)."""
    inverse: Array
    """W_t^-1, shape (n, r, r)."""
    log_det: Array
    """log det W_t - r log lambda, shape (n,)."""
    vector: Array
    """sum (M W)' (y - M theta_0), shape (n, r)."""
    means: Array
    """Estimated rewards on the affine hull, shape (n, k)."""
    variances: Array
    """|W' phi_a|^2 in the norm of W_t^-1, shape (n, k)."""
    signals: Array
    """(M_a W) W_t^-1 (M_a W)', shape (n, k, m, m)."""
    plays: Indices
    """How often each action was observed, shape (n, k)."""
    sums: Array
    """Sums of its observations in the user's units, shape (n, k, m)."""

    @property
    def replicates(self) -> int:
        """The number of replicates."""
        return len(self.round)

    @property
    def coordinates(self) -> Array:
        """The estimate on the affine hull, W_t^-1 vector, shape (n, r)."""
        return applied(self.inverse, self.vector)


def affine_estimate(estimate: Estimate) -> Array:
    """Return the least-squares estimate over the affine hull of Theta, shape (n, d).

    theta_0 + W W_t^-1 sum W' M' (y - M theta_0).
    """
    model = estimate.model
    return model.prior_mean + applied(model.basis[:, : model.rank], estimate.coordinates)


def free_estimate(estimate: Estimate) -> Array:
    """Return the least-squares estimate over all of R^d, shape (n, d).

    V_t^-1 (lambda theta_0 + sum M' y) with V_t = lambda I + sum M' M, from the plays and sums.
    """
    model, game = estimate.model, estimate.model.game
    maps = game.observation_maps * model.whitening[:, None, None]
    sums = estimate.sums * model.whitening[:, None]
    free = np.empty((estimate.replicates, game.d))
    for i in range(estimate.replicates):
        played = np.flatnonzero(estimate.plays[i])
        rows = maps[played]
        gram = np.einsum("a,ami,amj->ij", estimate.plays[i, played].astype(float), rows, rows)
        right = np.einsum("ami,am->i", rows, sums[i, played])
        lam = model.regularization
        gram += lam * np.eye(game.d)
        free[i] = np.linalg.solve(gram, lam * model.prior_mean + right)
    return free


def restricted(estimate: Estimate, actions: Indices) -> Estimate:
    """Return what is known in the game that has only some of the actions."""
    whole = estimate.model
    part = replace(
        whole,
        game=whole.game.restricted(actions),
        offsets=whole.offsets[actions],
        slopes=np.ascontiguousarray(whole.slopes[actions]),
        maps=np.ascontiguousarray(whole.maps[actions]),
        expected=whole.expected[actions],
        whitening=whole.whitening[actions],
    )
    own = {name: getattr(estimate, name)[:, actions] for name in ("plays", "sums")}
    own |= {name: getattr(estimate, name)[:, actions] for name in ("means", "variances", "signals")}
    return replace(estimate, model=part, **own)


def initial(model: Model, replicates: int) -> Estimate:
    """Return the estimate before the first observation."""
    n, r = replicates, model.rank
    k, m = model.maps.shape[:2]
    gram = np.broadcast_to(model.regularization * np.eye(r), (n, r, r)).copy()
    blank = Estimate(
        model,
        np.ones(n, dtype=np.int64),
        gram,
        gram,
        np.zeros(n),
        np.zeros((n, r)),
        np.zeros((n, k)),
        np.zeros((n, k)),
        np.zeros((n, k, m, m)),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, k, m)),
    )
    return refreshed(blank)


def counted(model: Model, plays: Indices, sums: Array) -> Estimate:
    """Return the estimate after plays (n, k) with sums (n, k, m) of what was seen, at one stroke.

    W_t = lambda I + sum_a plays_a (M_a W)' (M_a W), and so on: the order of rounds does not matter.
    """
    often = plays[:, :, None] * model.expected
    residual = sums * model.whitening[:, None] - often  # (n, k, m)
    gram = np.einsum("na,amp,amq->npq", plays.astype(float), model.maps, model.maps)
    estimate = initial(model, len(plays))
    return refreshed(
        replace(
            estimate,
            round=1 + plays.sum(axis=1),
            gram=estimate.gram + gram,
            vector=np.einsum("nam,amp->np", residual, model.maps),
            plays=plays,
            sums=sums,
        )
    )


def refreshed(estimate: Estimate) -> Estimate:
    """Recompute everything derived from the Gram matrix and the vector."""
    model = estimate.model
    r = model.rank
    inverse = np.asarray(np.linalg.inv(estimate.gram), dtype=np.float64) if r else estimate.gram
    log_det = np.linalg.slogdet(estimate.gram)[1] - r * np.log(model.regularization)
    x = applied(inverse, estimate.vector)
    pulled = model.seen @ inverse  # (n, k, r)
    n, (k, m) = len(inverse), model.maps.shape[:2]
    shown = model.rows @ inverse  # (n, k m, r)
    shown = shown.reshape(n, k, m, r)
    return replace(
        estimate,
        inverse=inverse,
        log_det=log_det if r else np.zeros(n),
        means=model.offsets + applied(model.seen, x),
        variances=(pulled * model.seen).sum(axis=-1),
        signals=(shown[:, :, :, None, :] * model.maps[None, :, None, :, :]).sum(axis=-1),
    )


def updated(estimate: Estimate, action: Indices, observation: Array) -> Estimate:
    """Return the estimate after one observation per replicate.

    Parameters
    ----------
    action
        Shape (n,).
    observation
        In the user's units, shape (n, m); entries beyond the rows of the action are ignored.

    Notes
    -----
    One rank-one update per row: with x = W_t^-1 w and c = 1 + <w, x> the inverse loses x x' / c,
    the log-determinant gains log c, and products with features or maps lose the outer products of
    their products with x. Cost O(k (r + m^2) + r^2) per row.
    """
    from partial_monitoring.compiled import linear

    model = estimate.model
    rows, residual, plays, sums = linear.take_in(
        action,
        observation,
        model.maps,
        model.counts,
        model.whitening,
        model.expected,
        estimate.plays,
        estimate.sums,
    )
    return _moved(estimate, rows, residual, plays, sums)


def updated_by_rows(estimate: Estimate, rows: Array, residual: Array) -> Estimate:
    """Return the estimate after rows (n, m, r) were seen with residuals (n, m) from theta_0."""
    return _moved(estimate, rows, residual, estimate.plays, estimate.sums)


def _moved(
    estimate: Estimate, rows: Array, residual: Array, plays: Indices, sums: Array
) -> Estimate:
    from partial_monitoring.compiled import linear

    model = estimate.model
    # Of actions that show their own reward the variances say it all.
    shown = 0 if model.mirrored else model.maps.shape[1]
    gram, inverse, vector, means, variances, signals, log_det = linear.update(
        rows,
        residual,
        model.maps[:, :shown],
        model.seen,
        model.columns,
        estimate.gram,
        estimate.inverse,
        estimate.vector,
        estimate.means,
        estimate.variances,
        estimate.signals[:, :, :shown, :shown],
        estimate.log_det,
    )
    if model.mirrored:
        signals = variances[:, :, None, None]
    moved = Estimate(
        model,
        estimate.round + 1,
        gram,
        inverse,
        log_det,
        vector,
        means,
        variances,
        signals,
        plays,
        sums,
    )
    due = estimate.round % REFRESH == 0
    return _refresh_some(moved, due) if due.any() else moved


def _refresh_some(estimate: Estimate, due: NDArray[np.bool_]) -> Estimate:
    """Refresh the replicates that are due."""
    fresh = refreshed(estimate)
    if due.all():
        return fresh
    changed = {}
    for name in ("inverse", "log_det", "means", "variances", "signals"):
        old, new = getattr(estimate, name), getattr(fresh, name)
        mask = due.reshape(-1, *[1] * (old.ndim - 1))
        changed[name] = np.where(mask, new, old)
    return replace(estimate, **changed)


def applied(matrices: Array, vectors: Array) -> Array:
    """Multiply a matrix (or one per replicate) with one vector per replicate, shape (n, ...)."""
    from partial_monitoring.compiled import linear

    stacked = np.ascontiguousarray(matrices if matrices.ndim == 3 else matrices[None])
    return np.asarray(linear.transform_each(stacked, vectors))
