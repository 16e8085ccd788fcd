"""Regularised least squares in the coordinates of the observation basis (section 3.1).

Parameters are written theta = prior_mean + basis x, where the first r columns of the basis are W
(what the observations see of Theta) and the others complete it to span(Theta - Theta). In these
coordinates

    W_t   = lambda I + sum_s (M W)' (M W)                 (gram, inverse and log det are kept),
    |x|^2 = |x_W|^2 in the norm of W_t + lambda |x_U|^2   is the norm of V_t on Theta.

All arrays of an :class:`Estimate` carry a leading axis of replicates. Products are stacked, one
small product per replicate, so that the numbers of a replicate do not depend on how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.game import Game
from partial_monitoring.linalg import in_basis, null_space
from partial_monitoring.validation import (
    Array,
    frozen,
    non_negative_number,
    positive_number,
    real_array,
)

REFRESH = 1000
"""After so many rounds everything derived is recomputed from the Gram matrix."""

MOST_IN_COLUMNS = 4096
"""Up to so many actions features are kept by coordinate as well."""

MOST_PAIRED = 300
"""Up to so many actions the largest gap is computed from all pairs."""

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Model:
    """A game with what the estimate needs: prior mean, regularisation, whitened maps.

    Noise that depends on the action is divided out of maps and observations; then rho is 1.
    """

    game: Game
    regularization: float
    norm_bound: float
    """B: how far the truth may be from the prior mean."""
    noise_std: float
    """rho: the sub-Gaussian constant of the whitened noise."""
    prior_mean: Array
    """theta_0, projected onto the affine hull of Theta, shape (d,)."""
    basis: Array
    """Columns W, then U: an orthonormal basis of span(Theta - Theta), shape (d, D)."""
    rank: int
    """r, the number of columns of W."""
    offsets: Array
    """Rewards at the prior mean, shape (k,)."""
    slopes: Array
    """Features in the basis, shape (k, D)."""
    maps: Array
    """Whitened M_a W, shape (k, m, r)."""
    expected: Array
    """Whitened M_a theta_0, shape (k, m)."""
    whitening: Array
    """What observations are multiplied with, shape (k,)."""

    @cached_property
    def seen(self) -> Array:
        """The features in the observation basis, shape (k, r)."""
        return np.ascontiguousarray(self.slopes[:, : self.rank])

    @cached_property
    def columns(self) -> Array:
        """The seen features by coordinate, shape (r, k); empty if there are very many actions."""
        if self.game.k > MOST_IN_COLUMNS:
            return np.zeros((0, 0))
        return np.ascontiguousarray(self.seen.T)

    @cached_property
    def mirrored(self) -> bool:
        """Whether every action shows its own reward, so that maps and features are the same."""
        return self.maps.shape[1] == 1 and np.array_equal(self.maps[:, 0], self.seen)

    @cached_property
    def counts(self) -> Indices:
        """The number of rows of each map, shape (k,)."""
        return np.array(self.game.row_counts, dtype=np.int64)

    @cached_property
    def apart(self) -> Array:
        """Squared distances of features in unseen directions over lambda, shape (k, k)."""
        off = self.unseen[:, None] - self.unseen[None]
        return np.asarray((off**2).sum(axis=-1) / self.regularization)

    @property
    def rows(self) -> Array:
        """The rows of all maps, shape (k m, r)."""
        k, m, r = self.maps.shape
        return self.maps.reshape(k * m, r)

    @cached_property
    def largest_gap(self) -> float:
        """T: no gap exceeds it for any parameter in Theta (on R^d: within B of the prior mean).

        Exact for up to a few hundred actions, at most twice as large beyond.
        """
        features, k = self.game.features, self.game.k
        if k <= MOST_PAIRED:
            return self._reach((features[:, None] - features[None]).reshape(k * k, -1))
        middle = features - features.mean(axis=0)
        return self._reach(middle) + self._reach(-middle)

    def _reach(self, directions: Array) -> float:
        """Return the largest <c, theta> over Theta, or within B of the prior mean if unbounded."""
        if np.isfinite(self.game.parameters.diameter()):
            return float(self.game.parameters.support(directions).max())
        lengths = np.linalg.norm(in_basis(directions, self.basis), axis=1)
        return float((directions @ self.prior_mean + self.norm_bound * lengths).max())

    @cached_property
    def unseen(self) -> Array:
        """The features in directions that no observation sees, shape (k, D - r)."""
        return np.ascontiguousarray(self.slopes[:, self.rank :])


def model(
    game: Game,
    *,
    regularization: float = 1.0,
    prior_mean: ArrayLike | None = None,
    norm_bound: float | None = None,
) -> Model:
    """Return the model of a game.

    Parameters
    ----------
    game
        The game.
    regularization
        lambda > 0.
    prior_mean
        theta_0; by default 0, the centre, the midpoint, the uniform distribution or a point of the
        relative interior, depending on Theta. It is projected onto the affine hull of Theta.
    norm_bound
        B; by default the largest distance of Theta from the prior mean, and 1 on unbounded sets.
    """
    reduced = game.reduced
    q, w, center = reduced.difference_basis, reduced.basis, reduced.center
    prior = center
    if prior_mean is not None:
        given = real_array("prior_mean", prior_mean, (game.d,))
        prior = center + q @ (q.T @ (given - center))
    if norm_bound is None:
        farthest = game.parameters.norm_bound(prior)
        bound = farthest if np.isfinite(farthest) else 1.0
    else:
        bound = non_negative_number("norm_bound", norm_bound)
    rest = q @ null_space(w.T @ q) if w.shape[1] < q.shape[1] else np.zeros((game.d, 0))
    basis = np.concatenate([w, rest], axis=1)
    varies = np.ndim(game.noise_std) > 0
    whitening = 1.0 / np.asarray(game.noise_std) if varies else np.ones(game.k)
    rows = game.observation_maps * whitening[:, None, None] if varies else game.observation_maps
    return Model(
        game,
        positive_number("regularization", regularization),
        bound,
        1.0 if varies else float(game.noise_std),
        frozen(np.array(prior)),
        frozen(basis),
        game.rank,
        frozen(game.features @ prior),
        in_basis(game.features, basis),
        in_basis(rows, w),
        frozen(rows @ prior),
        frozen(whitening),
    )


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
        return _apply(self.inverse, self.vector)


def affine_estimate(estimate: Estimate) -> Array:
    """Return the least-squares estimate over the affine hull of Theta, shape (n, d).

    theta_0 + W W_t^-1 sum W' M' (y - M theta_0).
    """
    model = estimate.model
    return model.prior_mean + _apply(model.basis[:, : model.rank], estimate.coordinates)


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
    x = _apply(inverse, estimate.vector)
    pulled = model.seen @ inverse  # (n, k, r)
    n, (k, m) = len(inverse), model.maps.shape[:2]
    shown = model.rows @ inverse  # (n, k m, r)
    shown = shown.reshape(n, k, m, r)
    return replace(
        estimate,
        inverse=inverse,
        log_det=log_det if r else np.zeros(n),
        means=model.offsets + _apply(model.seen, x),
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
    model = estimate.model
    each = np.arange(len(action))
    counted = np.arange(model.game.m) < model.counts[action][:, None]
    heard = np.where(counted, observation, 0.0)
    residual = heard * model.whitening[action][:, None] - model.expected[action]
    plays, sums = estimate.plays.copy(), estimate.sums.copy()
    plays[each, action] += 1
    sums[each, action] += heard
    return updated_by_rows(replace(estimate, plays=plays, sums=sums), model.maps[action], residual)


def updated_by_rows(estimate: Estimate, rows: Array, residual: Array) -> Estimate:
    """Return the estimate after rows (n, m, r) were seen with residuals (n, m) from theta_0."""
    from partial_monitoring.compiled import linear

    model = estimate.model
    changed = {name: getattr(estimate, name).copy() for name in CHANGED}
    linear.update(
        model.mirrored,
        rows,
        residual,
        model.maps,
        model.seen,
        model.columns,
        *changed.values(),
    )
    moved = replace(estimate, round=estimate.round + 1, **changed)
    due = estimate.round % REFRESH == 0
    return _refresh_some(moved, due) if due.any() else moved


CHANGED = ("gram", "inverse", "vector", "means", "variances", "signals", "log_det")
"""What an observation changes, in the order of the compiled update."""


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


def _apply(matrices: Array, vectors: Array) -> Array:
    """Multiply a matrix (or one per replicate) with one vector per replicate, shape (n, ...)."""
    result: Array = (matrices @ vectors[:, :, None])[:, :, 0]
    return result
