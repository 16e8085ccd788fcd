"""Regularised least squares in the coordinates of the observation basis (section 3.1).

In the coordinates x of a :class:`Design`, theta = prior_mean + basis x,

    W_t   = lambda I + sum_s (M W)' (M W)                 (gram, inverse and log det are kept),
    |x|^2 = |x_W|^2 in the norm of W_t + lambda |x_U|^2   is the norm of V_t on Theta.

All arrays of an :class:`Estimate` carry a leading axis of replicates. Every replicate is computed
by itself, so that its numbers do not depend on how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.linear.design import Design, filled
from partial_monitoring.estimation.linear.weights import forgotten, weighed, weighed_triangle
from partial_monitoring.numerics import compiled
from partial_monitoring.numerics.linalg import applied, is_ill_conditioned
from partial_monitoring.parameter_sets.cut import Metric
from partial_monitoring.validation import Array, Indices

ALL = slice(None)
"""All replicates."""

REFRESH = 1000
"""Number of rounds after which everything derived is recomputed from the Gram matrix."""

MOST_IN_LOOPS = 20_000
"""Largest number of products that loops compute faster than matrix products."""

REFACTOR_ALWAYS = 1e6
"""With rows whose squared length is above this many lambda, that is done in every round."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Everything learned so far, for n replicates."""

    design: Design
    round: Indices
    """t: one more than the number of observations, but at most as many as are remembered, (n,)."""
    gram: Array
    """W_t, shape (n, r, r)."""
    inverse: Array
    """W_t^-1, shape (n, r, r)."""
    log_det: Array
    """log det W_t - r log lambda, shape (n,)."""
    vector: Array
    """sum (M W)' (y - M theta_0), shape (n, r)."""
    coordinates: Array
    """The estimate on the affine hull, W_t^-1 vector, shape (n, r)."""
    means: Array
    """Estimated rewards on the affine hull, shape (n, k)."""
    variances: Array
    """|W' phi_a|^2 in the norm of W_t^-1, shape (n, k)."""
    signals: Array
    """(M_a W) W_t^-1 (M_a W)', shape (n, k, m, m)."""
    plays: Indices
    """How often each action was observed, forgotten or not, shape (n, k)."""
    sums: Array
    """Sums of its observations in the user's units, shape (n, k, m)."""
    triangle: Array
    """Of policies that keep no plays, or forget, and where observations have weights: the
    orthogonal factor of all rows and what they showed, shape (n, r, r + 1); of others empty."""

    @property
    def replicates(self) -> int:
        """The number of replicates."""
        return len(self.round)

    @property
    def filled(self) -> dict[str, tuple[int, ...]]:
        """The shapes of what may be empty, once it is not."""
        return {"triangle": (*self.vector.shape, self.vector.shape[1] + 1)}

    @property
    def metric(self) -> Metric:
        """The norms of V_t on the directions of Theta."""
        return Metric(self.gram, self.inverse, self.design.regularization)

    def of(self, rows: NDArray[np.bool_]) -> Estimate:
        """Return what some of the replicates know."""
        if rows.all():
            return self
        kept = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if field.name != "design"
        }
        return replace(self, **kept)

    def through(self, design: Design, rows: Any = ALL) -> Estimate:
        """Return what some replicates know about the actions of another design.

        It must be in the same coordinates.
        """
        names = ("round", "gram", "inverse", "log_det", "vector", "coordinates", "triangle")
        known: dict[str, Any] = {name: getattr(self, name) for name in names}
        if rows is not ALL:
            known = {name: own[rows] for name, own in known.items()}
        n, (k, m, _) = len(known["round"]), design.maps.shape
        of_actions = _of_actions(design, known["inverse"], known["coordinates"])
        known["means"], known["variances"], known["signals"] = of_actions
        known["plays"], known["sums"] = np.zeros((n, k), dtype=np.int64), np.zeros((n, k, m))
        return filled(Estimate, design=design, **known)  # type: ignore[no-any-return]

    def restricted(self, actions: Indices) -> Estimate:
        """Return what is known in the game that has only some of the actions."""
        names = ("plays", "sums", "means", "variances", "signals")
        own = {name: np.take(getattr(self, name), actions, axis=1) for name in names}
        return replace(self, design=self.design.restricted(actions), **own)

    def group(self, group: int) -> Estimate:
        """Return what is known about the actions of one of several groups."""
        design = self.design.parts[group]
        own = slice(self.design.groups[group], self.design.groups[group + 1])
        m = design.maps.shape[1]
        return replace(
            self,
            design=design,
            means=np.ascontiguousarray(self.means[:, own]),
            variances=np.ascontiguousarray(self.variances[:, own]),
            signals=self.signals[:, own, :m, :m],
            plays=self.plays[:, own],
            sums=self.sums[:, own, :m],
        )


def affine_estimate(estimate: Estimate) -> Array:
    """Return the least-squares estimate over the affine hull of Theta, shape (n, d).

    theta_0 + W W_t^-1 sum W' M' (y - M theta_0).
    """
    design = estimate.design
    return design.prior_mean + applied(design.basis[:, : design.rank], estimate.coordinates)


def free_estimate(estimate: Estimate) -> Array:
    """Return the least-squares estimate over all of R^d, shape (n, d).

    V_t^-1 (lambda theta_0 + sum M' y) with V_t = lambda I + sum M' M, from the plays and sums.
    """
    design, game = estimate.design, estimate.design.game
    maps = game.observation_maps * design.whitening[:, None, None]
    sums = estimate.sums * design.whitening[:, None]
    free = np.empty((estimate.replicates, game.d))
    for i in range(estimate.replicates):
        played = np.flatnonzero(estimate.plays[i])
        rows = maps[played]
        gram = np.einsum("a,ami,amj->ij", estimate.plays[i, played].astype(float), rows, rows)
        right = np.einsum("ami,am->i", rows, sums[i, played])
        lam = design.regularization
        gram += lam * np.eye(game.d)
        free[i] = np.linalg.solve(gram, lam * design.prior_mean + right)
    return free


def initial(design: Design, replicates: int, *, by_rows: bool = False) -> Estimate:
    """Return the estimate before the first observation, of actions or (``by_rows``) of rows."""
    n, r = replicates, design.rank
    k, m = design.maps.shape[:2]
    gram = np.broadcast_to(design.regularization * np.eye(r), (n, r, r)).copy()
    blank = Estimate(
        design,
        np.ones(n, dtype=np.int64),
        gram,
        gram,
        np.zeros(n),
        np.zeros((n, r)),
        np.zeros((n, r)),
        np.zeros((n, k)),
        np.zeros((n, k)),
        np.zeros((n, k, m, m)),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, k, m)),
        np.tile(_prior_rows(design), (n, 1, 1)) if by_rows else np.zeros((n, 0, 0)),
    )
    return refreshed(blank)


def counted(design: Design, plays: Indices, sums: Array) -> Estimate:
    """Return the estimate after plays (n, k) with sums (n, k, m) of what was seen, at one stroke.

    W_t = lambda I + sum_a plays_a (M_a W)' (M_a W), and so on: the order of rounds does not matter.
    """
    often = plays[:, :, None] * design.expected
    residual = sums * design.whitening[:, None] - often  # (n, k, m)
    gram = np.einsum("na,amp,amq->npq", plays.astype(float), design.maps, design.maps)
    estimate = initial(design, len(plays))
    vector = np.einsum("nam,amp->np", residual, design.maps)
    known = {"gram": estimate.gram + gram, "vector": vector, "plays": plays, "sums": sums}
    return refreshed(replace(estimate, round=1 + plays.sum(axis=1), **known))


def refreshed(estimate: Estimate) -> Estimate:
    """Recompute everything derived: from the Gram matrix and the vector, or from the data.

    Where the Gram matrix has large and small eigenvalues the small ones are rounding; there the
    plays and sums are gone back to.
    """
    design = estimate.design
    r = design.rank
    if r == 0:
        return replace(estimate, means=np.broadcast_to(design.offsets, estimate.means.shape).copy())
    graded = is_ill_conditioned(estimate.gram, design.regularization)
    gram = np.where(graded[:, None, None], np.eye(r), estimate.gram)
    fresh = replace(estimate, **_following(design, gram, estimate.vector))
    for row in np.flatnonzero(graded):
        _refactored(fresh, int(row))
    return fresh


def in_loops(design: Design) -> bool:
    """Whether a design is so small that loops are faster than matrix products."""
    k, m, r = design.maps.shape
    return bool(k * max(m, 1) * r * r <= MOST_IN_LOOPS)


def _following(design: Design, gram: Array, vector: Array) -> dict[str, Any]:
    """Return what follows from Gram matrices (n, r, r) and vectors (n, r)."""
    names = ("inverse", "log_det", "coordinates", "means", "variances", "signals")
    if in_loops(design):
        own = design.maps, design.observed_features, design.offsets, design.regularization
        return dict(zip(names, compiled.refresh.refresh(*own, gram, vector), strict=True))
    # Through a root the inverse is symmetric, so that either half of it says the same.
    low = np.linalg.cholesky(gram)
    root = np.linalg.inv(low)
    inverse = np.asarray(np.swapaxes(root, 1, 2) @ root, dtype=np.float64)
    diagonals = np.diagonal(low, axis1=1, axis2=2)
    log_det = np.log(diagonals**2 / design.regularization).sum(axis=1)
    x = applied(inverse, vector)
    return dict(zip(names, (inverse, log_det, x, *_of_actions(design, inverse, x)), strict=True))


def _of_actions(design: Design, inverse: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return what follows for the actions of a design: means, variances and signals."""
    if in_loops(design):
        own, features = design.shows_own_reward, (design.observed_features, design.offsets)
        rows = 0 if own else design.maps.shape[1]
        found = compiled.refresh.look_each(design.maps, *features, inverse, x, rows)
        means, variances, signals = found
        return means, variances, variances[:, :, None, None] if own else signals
    pulled = design.observed_features @ inverse  # (n, k, r)
    variances = (pulled * design.observed_features).sum(axis=-1)
    if design.shows_own_reward:
        signals = variances[:, :, None, None]
    else:
        n, (k, m, r) = len(inverse), design.maps.shape
        shown = (design.rows @ inverse).reshape(n, k, m, r)
        signals = (shown[:, :, :, None, :] * design.maps[None, :, None, :, :]).sum(axis=-1)
    return design.offsets + applied(design.observed_features, x), variances, signals


def _refactored(estimate: Estimate, row: int) -> None:
    """Fill everything derived of one replicate from an orthogonal factor of its data.

    The singular values of the rows lambda^(1/2) I and plays_a^(1/2) M_a W, one below the other, are
    the roots of the eigenvalues of W_t, which spread over half as many digits. None is below
    lambda^(1/2).
    """
    design = estimate.design
    lam, r = design.regularization, design.rank
    factor = estimate.triangle[row]
    if factor.size == 0:
        factor = orthogonal_factor(estimate, row)
    left, values, turn = np.linalg.svd(factor[:, :r], full_matrices=False)
    values = np.maximum(values, np.sqrt(lam))
    x = turn.T @ (left.T @ factor[:, r] / values)
    root = turn / values[:, None]  # root' root is the inverse
    shown = design.maps @ root.T  # (k, m, r)
    estimate.inverse[row] = root.T @ root
    estimate.log_det[row] = 2.0 * np.log(values / np.sqrt(lam)).sum()
    estimate.coordinates[row] = x
    estimate.means[row] = design.offsets + design.observed_features @ x
    estimate.variances[row] = ((design.observed_features @ root.T) ** 2).sum(axis=1)
    estimate.signals[row] = shown @ np.swapaxes(shown, 1, 2)
    if design.shows_own_reward:  # the same up to rounding
        estimate.signals[row] = estimate.variances[row, :, None, None]


def orthogonal_factor(estimate: Estimate, row: int) -> Array:
    """Return the orthogonal factor of one replicate's data from its plays and sums.

    It has r + 1 columns and at least r rows, of which those after the first r say nothing of x.
    """
    design = estimate.design
    played = np.flatnonzero(estimate.plays[row])
    weight = np.sqrt(estimate.plays[row, played])[:, None]
    shown = estimate.sums[row, played] * design.whitening[played, None] / weight
    right = (shown - weight * design.expected[played]).ravel()
    rows = (weight[:, :, None] * design.maps[played]).reshape(-1, design.rank)
    every = np.concatenate([np.column_stack([rows, right]), _prior_rows(design)])
    return np.asarray(np.linalg.qr(every, mode="r"))


def _prior_rows(design: Design) -> Array:
    """Return what the regularisation adds to the data: rows that show zero, shape (r, r + 1)."""
    rows: Array = np.sqrt(design.regularization) * np.eye(design.rank, design.rank + 1)
    return rows


def updated(estimate: Estimate, action: Indices, observation: Array) -> Estimate:
    """Return the estimate after observations (n, m) of actions (n,), in the user's units.

    Entries beyond the rows of an action are ignored. Cost O(k (r + m^2) + r^2) per row.
    """
    design = estimate.design
    own = design.maps, design.counts, design.whitening, design.expected
    known = estimate.plays, estimate.sums
    rows, residual, plays, sums = compiled.linear.take_in(action, observation, *own, *known)
    return _moved(estimate, rows, residual, plays, sums)


def updated_by_rows(estimate: Estimate, rows: Array, residual: Array) -> Estimate:
    """Return the estimate after rows (n, m, r) were seen with residuals (n, m) from theta_0."""
    return _moved(estimate, rows, residual, estimate.plays, estimate.sums)


def _moved(
    estimate: Estimate, rows: Array, residual: Array, plays: Indices, sums: Array
) -> Estimate:
    """Return the estimate after rows (n, m, r) and residuals (n, m), with its plays and sums."""
    design, before = estimate.design, estimate
    if design.forgetting.active:
        gram, vector, faded = forgotten(design, before.round, before.gram, before.vector, rows)
        estimate = replace(estimate, gram=gram, vector=vector)
    triangle = estimate.triangle
    if triangle.size and not design.forgetting.active:
        triangle = compiled.linear.rotate_in(triangle, rows, residual)
    # Of actions that show their own reward the variances say it all.
    shown = 0 if design.shows_own_reward else design.maps.shape[1]
    moved = compiled.linear.update(
        rows,
        residual,
        design.maps[:, :shown],
        design.observed_features,
        design.features_by_coordinate,
        estimate.gram,
        estimate.inverse,
        estimate.vector,
        estimate.coordinates,
        estimate.means,
        estimate.variances,
        estimate.signals[:, :, :shown, :shown],
        estimate.log_det,
        estimate.round,
        refresh_period(design),
    )
    gram, inverse, vector, x, means, variances, signals, log_det, rounds, due = moved
    if design.shows_own_reward:
        signals = variances[:, :, None, None]
    if design.forgetting.active:
        rounds = np.minimum(rounds, design.forgetting.memory)
        gram, vector = weighed(design, rounds, gram, vector)
        triangle = weighed_triangle(design, before.round, rounds, triangle, rows, residual, faded)
    known: Estimate = filled(
        Estimate,
        design=design,
        round=rounds,
        gram=gram,
        inverse=inverse,
        log_det=log_det,
        vector=vector,
        coordinates=x,
        means=means,
        variances=variances,
        signals=signals,
        plays=plays,
        sums=sums,
        triangle=triangle,
    )
    return refresh_some(known, due) if np.count_nonzero(due) else known


def refresh_period(design: Design) -> int:
    """Return after how many rounds estimates are refreshed: if they forget, every time."""
    always = design.forgetting.active or design.leverage > REFACTOR_ALWAYS
    return 1 if always else REFRESH


def refresh_some(estimate: Estimate, due: NDArray[np.bool_]) -> Estimate:
    """Refresh the replicates that are due."""
    fresh = refreshed(estimate.of(due))
    if due.all():
        return fresh
    changed = {}
    for name in ("inverse", "log_det", "coordinates", "means", "variances", "signals"):
        changed[name] = getattr(estimate, name).copy()
        changed[name][due] = getattr(fresh, name)
    return replace(estimate, **changed)
