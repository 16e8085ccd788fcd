"""Regularised least squares for functions with a kernel (section 7, with E4).

The function enters the game through d numbers with Gram matrix K, of which round s has shown the
weighted sum s_s with y_s. With S the rows s_s one below the other, the representer theorem gives

    numbers = K S' (S K S' + lambda I)^-1 y                (their estimate),
    C       = K - K S' (S K S' + lambda I)^-1 S K          (lambda V_t^-1 in their coordinates),

and one more row s, with c = C s and v = lambda + <s, c>, changes them to

    numbers + c (y - <s, numbers>) / v     and     C - c c' / v.

C is kept as base - rows' rows, where rows are the last vectors c / v^(1/2). With few numbers they
are folded into the base now and then, so that a round costs O(d^2) however many came before it;
with many the base is K itself, which is never written down, and a round costs O(q d), where q
grows with the number of different rows that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from partial_monitoring.estimation.kernel.append_only import AppendOnly, stacked
from partial_monitoring.estimation.kernel.covariance import FOLD, Covariance
from partial_monitoring.estimation.kernel.design import KernelDesign
from partial_monitoring.kernels.gram import Functionals, cholesky, weighted_rows
from partial_monitoring.validation import Array, Indices

REFRESH = 1024
"""Number of rounds, doubled each time, after which everything is recomputed from the data."""

SOON = 128
"""The same without a base, where it makes rows that were seen again and again one row."""


@dataclass(frozen=True, eq=False)
class KernelEstimate:
    """Everything learned so far, for n replicates."""

    design: KernelDesign
    round: Indices
    """t: one more than the number of observations, shape (n,)."""
    log_det: Array
    """log det(I + S K S' / lambda), shape (n,)."""
    numbers: Array
    """The estimated numbers, shape (n, d)."""
    variances: Array
    """phi_a C phi_a' / lambda, shape (n, k)."""
    signals: Array
    """M_a C M_a' / lambda, whitened, shape (n, k, m, m)."""
    covariances: tuple[Covariance, ...]
    """C of each replicate."""
    log: tuple[AppendOnly, ...]
    """What each replicate has seen: the places and weights of a row, then what it showed."""
    refresh: Indices
    """The round before which everything is computed anew, shape (n,)."""

    @property
    def replicates(self) -> int:
        """The number of replicates."""
        return len(self.round)

    @cached_property
    def means(self) -> Array:
        """f_hat: the estimated rewards of the actions, shape (n, k)."""
        return self.design.game.reward.of(self.numbers)

    def restricted(self, actions: Indices) -> KernelEstimate:
        """Return what is known in the game that has only some of the actions."""
        whole = self.design
        design = KernelDesign(
            whole.game.restricted(actions.tolist()),
            whole.regularization,
            whole.norm_bound,
            whole.noise_std,
            whole.whitening if len(whole.whitening) == 1 else whole.whitening[actions],
        )
        own = {name: getattr(self, name)[:, actions] for name in ("variances", "signals")}
        return replace(self, design=design, **own)


def initial(design: KernelDesign, replicates: int, *, width: int | None = None) -> KernelEstimate:
    """Return the estimate before the first observation, of rows with ``width`` weights."""
    n, game = replicates, design.game
    base = design.gram.matrix if design.dense else None
    wide = game.observation.index.shape[2] if width is None else width
    return KernelEstimate(
        design,
        np.ones(n, dtype=np.int64),
        np.zeros(n),
        np.zeros((n, game.d)),
        np.tile(design.spread / design.regularization, (n, 1)),
        np.tile(design.leverage, (n, 1, 1, 1)),
        tuple(Covariance(design.gram, base, AppendOnly.empty(game.d, FOLD)) for _ in range(n)),
        tuple(AppendOnly.empty(2 * wide + 1) for _ in range(n)),
        np.full(n, REFRESH if design.dense else SOON, dtype=np.int64),
    )


def updated(estimate: KernelEstimate, action: Indices, observation: Array) -> KernelEstimate:
    """Return the estimate after one observation (n, m) per replicate, in the user's units."""
    return updated_by_rows(estimate, shown_by(estimate.design, action, observation))


def shown_by(
    design: KernelDesign, action: Indices, observation: Array
) -> list[tuple[Functionals, Array]]:
    """Return the whitened rows (m, w) of the actions (n,) and what they showed (m,)."""
    game, whitening = design.game, design.whitening  # one number, or one per action
    seen = []
    for i, a in enumerate(action.tolist()):
        rows, scale = game.observation[a, : game.row_count(a)], whitening[a % len(whitening)]
        whitened = Functionals(rows.index, rows.weight * scale)
        seen.append((whitened, observation[i, : len(rows.index)] * scale))
    return seen


def updated_by_rows(
    estimate: KernelEstimate, seen: list[tuple[Functionals, Array]]
) -> KernelEstimate:
    """Return the estimate after each replicate has seen rows (m, w) that showed values (m,)."""
    arrays = {
        name: getattr(estimate, name).copy()
        for name in ("round", "log_det", "numbers", "variances", "signals", "refresh")
    }
    covariances, log = list(estimate.covariances), list(estimate.log)
    for i, (rows, values) in enumerate(seen):
        for j, value in enumerate(values.tolist()):
            covariances[i] = _take_in(estimate.design, arrays, i, covariances[i], rows[j], value)
            log[i] = log[i].added(np.concatenate([rows.index[j], rows.weight[j], [value]]))
        arrays["round"][i] += 1
    moved = replace(estimate, covariances=tuple(covariances), log=tuple(log), **arrays)
    for due in np.flatnonzero(arrays["round"] >= arrays["refresh"]):
        moved = _refreshed(moved, int(due))
    return moved


def _take_in(
    design: KernelDesign,
    arrays: dict[str, Any],
    i: int,
    old: Covariance,
    row: Functionals,
    value: float,
) -> Covariance:
    """Let one replicate see one row; the arrays are changed in place."""
    game, lam = design.game, design.regularization
    pulled = old.times(row)
    signal = max(float(pulled[row.index] @ row.weight), 0.0)
    size = lam + signal
    numbers = arrays["numbers"][i]
    numbers += pulled * ((value - float(numbers[row.index] @ row.weight)) / size)
    arrays["log_det"][i] += np.log1p(signal / lam)
    step = pulled / np.sqrt(size)
    earned = game.reward.of(step) / np.sqrt(lam)  # (k,)
    arrays["variances"][i] -= earned**2
    signals = arrays["signals"][i]
    if game.shows_own_reward:
        signals[:, 0, 0] -= (earned * design.whitening) ** 2
    elif signals.size:
        shown = game.observation.of(step) * (design.whitening[:, None] / np.sqrt(lam))  # (k, m)
        signals -= shown[:, :, None] * shown[:, None, :]
    return old.without(step)


class Fresh(NamedTuple):
    """What follows from all that one replicate has seen."""

    log_det: float
    numbers: Array
    variances: Array
    signals: Array
    reach: Array
    """R with C = K - R' R, shape (q, d)."""


def _refreshed(estimate: KernelEstimate, i: int) -> KernelEstimate:
    """Compute everything of one replicate anew from what it has seen, each row once."""
    design, game = estimate.design, estimate.design.game
    fresh = following(design, *grouped(estimate.log[i].rows))
    arrays = {
        name: getattr(estimate, name).copy()
        for name in ("log_det", "numbers", "variances", "signals", "refresh")
    }
    for name in ("log_det", "numbers", "variances", "signals"):
        arrays[name][i] = getattr(fresh, name)
    wait = estimate.round[i] if design.dense else max(len(fresh.reach), SOON)
    arrays["refresh"][i] = estimate.round[i] + wait
    base = design.gram.matrix - fresh.reach.T @ fresh.reach if design.dense else None
    rows = AppendOnly.empty(game.d, FOLD) if design.dense else stacked(fresh.reach)
    covariances = list(estimate.covariances)
    covariances[i] = Covariance(design.gram, base, rows)
    return replace(estimate, covariances=tuple(covariances), **arrays)


def following(design: KernelDesign, rows: Functionals, often: Array, means: Array) -> Fresh:
    """Return what follows from different rows (q, w) that were seen often (q,) with means (q,).

    A row s that was seen n times with mean y is one row with noise lambda / n. The matrix that is
    factored is I + N^(1/2) S K S' N^(1/2) with N = diag(n / lambda), whose eigenvalues are at
    least 1 however close points are and however small lambda is.
    """
    game, lam = design.game, design.regularization
    root = np.sqrt(often / lam)
    known = weighted_rows(design.gram, rows)  # S K, shape (q, d)
    inner_products = np.empty((len(often), len(often)))
    for a in range(len(often)):
        inner_products[:, a] = rows[a].of(known)
    inner_products = (inner_products + inner_products.T) / 2
    whole = np.eye(len(often)) + root[:, None] * inner_products * root
    low = cholesky(whole)
    reach = solve_triangular(low, root[:, None] * known, lower=True)  # (q, d)
    target = solve_triangular(low, root * means, lower=True)
    earned = game.reward.of(reach)  # (q, k)
    variances = (design.spread - (earned**2).sum(axis=0)) / lam
    signals = design.leverage
    if game.shows_own_reward:
        signals = (variances * design.whitening**2)[:, None, None]
    elif signals.size:
        shown = game.observation.of(reach) * (design.whitening[:, None] / np.sqrt(lam))  # (q, k, m)
        signals = signals - np.einsum("qam,qan->amn", shown, shown)
    log_det = 2.0 * np.log(low.diagonal()).sum()
    return Fresh(float(log_det), target @ reach, variances, signals, reach)


def grouped(log: Array, often: Array | None = None) -> tuple[Functionals, Array, Array]:
    """Return the different rows that were seen (q, w), how often (q,), and what they showed.

    Each entry of the log is one observation, or several (``often``) with the sum of what they
    showed.
    """
    width = (log.shape[1] - 1) // 2
    different, place = np.unique(log[:, :-1], axis=0, return_inverse=True)
    flat = np.ravel(place)
    counts = np.bincount(flat, weights=often, minlength=len(different)).astype(float)
    sums = np.bincount(flat, weights=log[:, -1], minlength=len(different))
    rows = Functionals(different[:, :width].astype(np.int64), different[:, width:])
    return rows, counts, sums / counts
