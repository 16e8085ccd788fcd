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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.model import LOUDEST, MOST_PAIRED
from partial_monitoring.estimation.stack import Stack, stacked
from partial_monitoring.gram import Gram, Rows, inner
from partial_monitoring.kernel_game import KernelGame
from partial_monitoring.validation import (
    Array,
    Indices,
    frozen,
    non_negative_number,
    positive_number,
)

DENSE = 2500
"""Up to so many numbers their covariance is written down."""

FOLD = 64
"""So many rows are folded into a base that is written down at once."""

TILE = 64
"""The side of the tiles in which they are: BLAS starts no threads for products this small."""

FEW = 2
"""Rows of one or two weights are put together from columns of C, which are kept."""

REFRESH = 1024
"""After so many rounds, and twice as many again, everything is computed anew from the data."""

SOON = 128
"""The same without a base, where it makes rows that were seen again and again one row."""


@dataclass(frozen=True, eq=False)
class KernelModel:
    """A kernel game as the estimate sees it."""

    game: KernelGame
    regularization: float
    norm_bound: float
    """B: how large the norm of the function is at most."""
    noise_std: float
    """rho: the sub-Gaussian constant of the whitened noise."""
    whitening: Array
    """What observations are multiplied with, shape (k,), or one number for all actions."""
    widest: float | None = None
    """A bound of all gaps, if one is known."""

    @property
    def gram(self) -> Gram:
        """K."""
        return self.game.gram

    @property
    def prior_mean(self) -> Array:
        """The estimate of the numbers before the first round is zero."""
        return np.zeros(self.game.d)

    @property
    def dense(self) -> bool:
        """Whether the covariance is written down."""
        return self.game.d <= DENSE

    @cached_property
    def spread(self) -> Array:
        """phi_a phi_a' of every action, shape (k,)."""
        reward = self.game.reward
        return frozen(inner(self.gram, reward, reward))

    @cached_property
    def loudness(self) -> Array:
        """M_a M_a' of every action, whitened, in units of lambda, shape (k, m, m)."""
        shown, (k, m) = self.game.feedback, self.game.feedback.index.shape[:2]
        if self.game.mirrored:
            whole = self.spread[:, None, None]
        else:
            whole = np.zeros((k, m, m))
            for i in range(m):
                for j in range(i + 1):
                    whole[:, i, j] = whole[:, j, i] = inner(self.gram, shown[:, i], shown[:, j])
        scale = np.broadcast_to(self.whitening**2, (k,))[:, None, None] / self.regularization
        found = whole * scale
        refuse_loud(float(found.max(initial=0.0)))
        return frozen(found)

    def distances(self, action: int) -> Array:
        """Return |phi_a - phi_b|^2 of one action and all others, shape (k,)."""
        column = weighted_columns(self.gram, self.game.reward[action])
        cross = self.game.reward.of(column)
        squared = (self.spread - self.spread[action]) + 2 * (cross[action] - cross)
        return np.asarray(np.maximum(squared, 0.0))

    @cached_property
    def largest_gap(self) -> float:
        """T: no function with norm at most B has a larger gap (E6).

        Exact for up to a few hundred actions, at most twice as large beyond.
        """
        if self.widest is not None:
            return self.widest
        k = self.game.k
        if k <= MOST_PAIRED:
            furthest = max(float(self.distances(a).max()) for a in range(k))
            return self.norm_bound * float(np.sqrt(furthest))
        if not self.dense:
            return 2 * self.norm_bound * float(np.sqrt(self.distances(0).max()))
        middle = self.game.reward.weight.copy() / k
        mean = np.zeros(self.game.d)
        np.add.at(mean, self.game.reward.index, middle)
        pulled = self.gram.matrix @ mean
        squared = self.spread - 2 * self.game.reward.of(pulled) + mean @ pulled
        return 2 * self.norm_bound * float(np.sqrt(max(float(squared.max()), 0.0)))

    @cached_property
    def dominant(self) -> NDArray[np.bool_]:
        """Actions that are best whatever the function, shape (k,): all or none."""
        size = max(float(self.spread.max()), 1e-300)
        return np.full(self.game.k, bool((self.distances(0) <= 1e-12 * size).all()))


def refuse_loud(loudest: float) -> None:
    """Refuse observations that are too large, in units of lambda."""
    if not loudest <= LOUDEST:
        raise InvalidInput(
            f"observations must not be so large next to noise and regularization: the largest "
            f"entry of the observation kernel over squared noise_std and regularization is "
            f"{loudest:.3g}, above {LOUDEST:g}; raise regularization or noise_std."
        )


def kernel_model(
    game: KernelGame, *, regularization: float | None = 1.0, norm_bound: float | None = None
) -> KernelModel:
    """Return the model of a kernel game; its norm bound is that of the game unless given.

    Without a regularization it is rho^2: then the estimate is the posterior mean, and C the
    posterior covariance, of a Gaussian process with this kernel and normal noise.
    """
    varies = np.ndim(game.noise_std) > 0
    bound = game.norm_bound if norm_bound is None else norm_bound
    rho = 1.0 if varies else float(game.noise_std)
    model = KernelModel(
        game,
        rho**2 if regularization is None else positive_number("regularization", regularization),
        non_negative_number("norm_bound", bound),
        rho,
        frozen(1.0 / np.asarray(game.noise_std)) if varies else np.ones(1),
    )
    model.loudness  # noqa: B018 refuses what is too loud before anything is played
    return model


@dataclass(frozen=True, eq=False)
class Covariance:
    """C = base - rows' rows of one replicate."""

    gram: Gram
    base: Array | None
    """Shape (d, d); without one it is K, which is not written down."""
    rows: Stack

    def times(self, row: Rows) -> Array:
        """Return C s for one row s, shape (d,)."""
        if len(row.index) <= FEW:
            columns = zip(row.index.tolist(), row.weight.tolist(), strict=True)
            parts = [self.column(i) * weight for i, weight in columns]
            return parts[0] if len(parts) == 1 else np.asarray(parts[0] + parts[1])
        if self.base is None:
            whole = weighted_columns(self.gram, row)
        else:
            whole = row.weight @ self.base[row.index]
        known = self.rows.rows
        return np.asarray(whole - (known[:, row.index] @ row.weight) @ known)

    def column(self, i: int) -> Array:
        """Return one column of C, shape (d,), computed once: deciding and learning share it."""
        if i not in self._columns:
            whole = self.gram.columns(np.array([i]))[:, 0] if self.base is None else self.base[i]
            known = self.rows.rows
            self._columns[i] = whole - known[:, i] @ known
        return self._columns[i]

    @cached_property
    def _columns(self) -> dict[int, Array]:
        return {}

    def without(self, row: Array) -> Covariance:
        """Return C - w w'."""
        rows = self.rows.added(row)
        if self.base is None or rows.count < FOLD:
            return Covariance(self.gram, self.base, rows)
        return Covariance(self.gram, folded(self.base, rows.rows), Stack.empty(len(row), FOLD))

    @cached_property
    def matrix(self) -> Array:
        """C, shape (d, d)."""
        whole = self.gram.matrix if self.base is None else self.base
        return np.asarray(whole - self.rows.rows.T @ self.rows.rows)


@dataclass(frozen=True, eq=False)
class KernelEstimate:
    """Everything learned so far, for n replicates."""

    model: KernelModel
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
    log: tuple[Stack, ...]
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
        return self.model.game.reward.of(self.numbers)


def initial(model: KernelModel, replicates: int, *, width: int | None = None) -> KernelEstimate:
    """Return the estimate before the first observation, of rows with so many weights each."""
    n, game = replicates, model.game
    base = model.gram.matrix if model.dense else None
    wide = game.feedback.index.shape[2] if width is None else width
    return KernelEstimate(
        model,
        np.ones(n, dtype=np.int64),
        np.zeros(n),
        np.zeros((n, game.d)),
        np.tile(model.spread / model.regularization, (n, 1)),
        np.tile(model.loudness, (n, 1, 1, 1)),
        tuple(Covariance(model.gram, base, Stack.empty(game.d, FOLD)) for _ in range(n)),
        tuple(Stack.empty(2 * wide + 1) for _ in range(n)),
        np.full(n, REFRESH if model.dense else SOON, dtype=np.int64),
    )


def updated(estimate: KernelEstimate, action: Indices, observation: Array) -> KernelEstimate:
    """Return the estimate after one observation (n, m) per replicate, in the user's units."""
    return updated_by_rows(estimate, shown_by(estimate.model, action, observation))


def shown_by(model: KernelModel, action: Indices, observation: Array) -> list[tuple[Rows, Array]]:
    """Return the whitened rows (m, w) of the actions (n,) and what they showed (m,)."""
    game = model.game
    scale = np.broadcast_to(model.whitening, (game.k,))
    seen = []
    for i, a in enumerate(action.tolist()):
        rows = game.feedback[a, : game.row_count(a)]
        whitened = Rows(rows.index, rows.weight * scale[a])
        seen.append((whitened, observation[i, : len(rows.index)] * scale[a]))
    return seen


def updated_by_rows(estimate: KernelEstimate, seen: list[tuple[Rows, Array]]) -> KernelEstimate:
    """Return the estimate after each replicate has seen rows (m, w) that showed values (m,)."""
    arrays = {
        name: getattr(estimate, name).copy()
        for name in ("round", "log_det", "numbers", "variances", "signals", "refresh")
    }
    covariances, log = list(estimate.covariances), list(estimate.log)
    for i, (rows, values) in enumerate(seen):
        for j, value in enumerate(values.tolist()):
            covariances[i] = _take_in(estimate.model, arrays, i, covariances[i], rows[j], value)
            log[i] = log[i].added(np.concatenate([rows.index[j], rows.weight[j], [value]]))
        arrays["round"][i] += 1
    moved = replace(estimate, covariances=tuple(covariances), log=tuple(log), **arrays)
    for due in np.flatnonzero(arrays["round"] >= arrays["refresh"]):
        moved = _refreshed(moved, int(due))
    return moved


def _take_in(
    model: KernelModel, arrays: dict[str, Any], i: int, old: Covariance, row: Rows, value: float
) -> Covariance:
    """Let one replicate see one row; the arrays are changed in place."""
    game, lam = model.game, model.regularization
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
    if game.mirrored:
        signals[:, 0, 0] -= (earned * model.whitening) ** 2
    elif signals.size:
        shown = game.feedback.of(step) * (model.whitening[:, None] / np.sqrt(lam))  # (k, m)
        signals -= shown[:, :, None] * shown[:, None, :]
    return old.without(step)


def _refreshed(estimate: KernelEstimate, i: int) -> KernelEstimate:
    """Compute everything of one replicate anew from what it has seen, each row once.

    A row s that was seen n times with mean y is one row with noise lambda / n. The matrix that is
    factored is I + N^(1/2) S K S' N^(1/2) with N = diag(n / lambda), whose eigenvalues are at
    least 1 however close points are and however small lambda is.
    """
    model, game, lam = estimate.model, estimate.model.game, estimate.model.regularization
    rows, often, means = grouped(estimate.log[i].rows)
    root = np.sqrt(often / lam)
    known = weighted_rows(model.gram, rows)  # S K, shape (q, d)
    inner_products = np.empty((len(often), len(often)))
    for a in range(len(often)):
        inner_products[:, a] = rows[a].of(known)
    inner_products = (inner_products + inner_products.T) / 2
    whole = np.eye(len(often)) + root[:, None] * inner_products * root
    low = np.linalg.cholesky(whole)
    reach = solve_triangular(low, root[:, None] * known, lower=True)  # (q, d)
    target = solve_triangular(low, root * means, lower=True)
    arrays = {
        name: getattr(estimate, name).copy()
        for name in ("log_det", "numbers", "variances", "signals", "refresh")
    }
    arrays["log_det"][i] = 2.0 * np.log(low.diagonal()).sum()
    arrays["numbers"][i] = target @ reach
    earned = game.reward.of(reach)  # (q, k)
    arrays["variances"][i] = (model.spread - (earned**2).sum(axis=0)) / lam
    if game.mirrored:
        arrays["signals"][i, :, 0, 0] = arrays["variances"][i] * model.whitening**2
    elif arrays["signals"][i].size:
        shown = game.feedback.of(reach) * (model.whitening[:, None] / np.sqrt(lam))  # (q, k, m)
        arrays["signals"][i] = model.loudness - np.einsum("qam,qan->amn", shown, shown)
    wait = estimate.round[i] if model.dense else max(len(often), SOON)
    arrays["refresh"][i] = estimate.round[i] + wait
    base = model.gram.matrix - reach.T @ reach if model.dense else None
    fresh = Stack.empty(game.d, FOLD) if model.dense else stacked(reach)
    covariances = list(estimate.covariances)
    covariances[i] = Covariance(model.gram, base, fresh)
    return replace(estimate, covariances=tuple(covariances), **arrays)


def grouped(log: Array) -> tuple[Rows, Array, Array]:
    """Return the different rows that were seen (q, w), how often (q,), and what they showed."""
    width = (log.shape[1] - 1) // 2
    different, place, often = np.unique(
        log[:, :-1], axis=0, return_inverse=True, return_counts=True
    )
    sums = np.bincount(np.ravel(place), weights=log[:, -1], minlength=len(different))
    rows = Rows(different[:, :width].astype(np.int64), different[:, width:])
    return rows, often.astype(float), sums / often


def restricted(estimate: KernelEstimate, actions: Indices) -> KernelEstimate:
    """Return what is known in the game that has only some of the actions."""
    whole = estimate.model
    part = KernelModel(
        whole.game.restricted(actions.tolist()),
        whole.regularization,
        whole.norm_bound,
        whole.noise_std,
        whole.whitening if len(whole.whitening) == 1 else whole.whitening[actions],
    )
    own = {name: getattr(estimate, name)[:, actions] for name in ("variances", "signals")}
    return replace(estimate, model=part, **own)


def folded(base: Array, rows: Array) -> Array:
    """Return base - rows' rows for a symmetric base, itself exactly symmetric."""
    found = np.empty_like(base)
    parts = [slice(start, start + TILE) for start in range(0, len(base), TILE)]
    for i, own in enumerate(parts):
        for other in parts[: i + 1]:
            tile = rows[:, own].T @ rows[:, other]
            np.subtract(base[own, other], tile, out=tile)
            found[own, other] = tile
            found[other, own] = tile.T
    return found


def weighted_columns(gram: Gram, row: Rows) -> Array:
    """Return K s for one row s (w,), shape (d,)."""
    return np.asarray(gram.columns(row.index) @ row.weight)


def weighted_rows(gram: Gram, rows: Rows) -> Array:
    """Return s K for rows s (q, w), shape (q, d)."""
    atoms, place = np.unique(rows.index, return_inverse=True)
    columns = gram.columns(atoms)  # (d, atoms)
    chosen = np.reshape(place, rows.index.shape)
    found = np.empty((len(chosen), gram.size))
    for a, (own, weight) in enumerate(zip(chosen, rows.weight, strict=True)):
        found[a] = columns[:, own] @ weight
    return found
