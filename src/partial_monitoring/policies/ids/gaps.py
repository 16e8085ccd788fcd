"""Gap estimates: upper bounds of what each action may lose (sections 3.1 and 5.1).

A gap estimate is a function (game, confidence) -> array of shape (n, k), never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import AnyConfidence, ConfidenceSet
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.estimation.linear.least_squares import rows_of
from partial_monitoring.estimation.shapes import Everything, Faceted
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, Indices

GapEstimate = Callable[[Game, Any], Array]

COMPILED = 128
"""Up to so many actions pairs are compared by compiled loops, beyond by matrix products."""

BLOCK = 2**22
"""Pairs of actions that are compared at once, to bound the memory."""

ROUNDING = 1e-14
"""Squared distances below this fraction of the squared lengths are rounding."""

PAIRS = 2**14
"""Numbers in the directions of which supports are asked for at once."""


def exact(game: Game, confidence: AnyConfidence) -> Array:
    """Return max over b and theta in E_t of <phi_b - phi_a, theta>, the largest plausible gap.

    In closed form on R^d and for kernels; on polyhedra with pairs pruned by upper bounds.
    """
    if isinstance(confidence, KernelConfidence):
        return _exact_of_functions(confidence)
    if isinstance(confidence.shape, Everything):
        return _exact_everywhere(confidence)
    if isinstance(confidence.shape, Faceted):
        gaps, certified = confidence.shape.exact_gaps(
            confidence.data, confidence.local_center, confidence.beta
        )
        if not certified.all():
            part = replicates(confidence, ~certified)
            gaps[~certified] = _exact_one_by_one(part, confidence.shape.ceiling)
        return np.maximum(gaps, 0.0)
    return np.maximum(_exact_one_by_one(confidence), 0.0)


def _exact_one_by_one(confidence: ConfidenceSet, ceiling: Array | None = None) -> Array:
    """Return the exact gaps by one support call per pair, in blocks of actions, shape (n, k).

    No pair is further apart than on all of Theta, by ``ceiling`` (k, k).
    """
    model = confidence.data.model
    slopes, offsets = model.slopes, model.offsets
    (k, dim), n = slopes.shape, confidence.data.replicates
    gaps = np.zeros((n, k))
    block = max(1, PAIRS // max(1, k * dim))
    for start in range(0, k, block):
        part = slice(start, start + block)
        away = (slopes[None] - slopes[part, None]).reshape(-1, dim)
        values = confidence.local_supports(away)[0].reshape(n, -1, k)
        ahead = values + offsets - offsets[part, None]
        if ceiling is not None:
            ahead = np.minimum(ahead, ceiling[part])
        gaps[:, part] = ahead.max(axis=2)
    return gaps


def relaxed(game: Game, confidence: AnyConfidence) -> Array:
    """Return delta + max over E_t of <phi_ah - phi_a, theta>, through the greedy action ah.

    delta is the largest plausible gap of ah. Two support calls per action instead of k; at least
    the exact gap.
    """
    if isinstance(confidence, KernelConfidence):
        return through_greedy(confidence, through_mean=False)[0]
    if isinstance(confidence.shape, Everything):
        return _through_greedy(confidence, through_mean=False)
    model = confidence.data.model
    greedy = confidence.means.argmax(axis=1)
    up, down = np.zeros_like(confidence.means), np.zeros_like(confidence.means)
    for g in np.unique(greedy):
        rows = greedy == g
        away = model.slopes - model.slopes[g]
        shift = model.offsets - model.offsets[g]
        part = replicates(confidence, rows)
        up[rows] = part.local_supports(away)[0] + shift
        down[rows] = part.local_supports(-away)[0] - shift
    delta = np.maximum(up.max(axis=1, keepdims=True), 0.0)
    gaps = delta + np.maximum(down, 0.0)
    np.put_along_axis(gaps, greedy[:, None], delta, axis=1)
    return np.asarray(gaps)


def mean(game: Game, confidence: AnyConfidence) -> Array:
    """Return min(delta + <phi_ah - phi_a, theta_hat>, T), the gap at the estimate plus delta.

    delta is taken over the whole ellipsoid, not cut by Theta (E7), and T is the largest gap that
    Theta allows (E6).
    """
    if isinstance(confidence, KernelConfidence):
        gaps, _ = through_greedy(confidence, through_mean=True)
    else:
        gaps = _through_greedy(confidence, through_mean=True)
    return np.asarray(np.minimum(gaps, largest_gap(confidence)))


def largest_gap(confidence: AnyConfidence) -> float:
    """Return T: no parameter in Theta gives a larger gap (on R^d: none within B of the prior)."""
    return confidence.data.model.largest_gap


def _through_greedy(confidence: ConfidenceSet, *, through_mean: bool) -> Array:
    """Compare all actions with the greedy one, over the whole ellipsoid."""
    from partial_monitoring.numerics.compiled import linear

    data, model = confidence.data, confidence.data.model
    gaps, _ = linear.greedy_gaps(
        confidence.means,
        data.variances,
        data.inverse,
        confidence.beta,
        model.seen,
        model.columns,
        model.unseen,
        model.regularization,
        through_mean,
    )
    return np.asarray(gaps)


def through_greedy(confidence: KernelConfidence, *, through_mean: bool) -> tuple[Array, Indices]:
    """Compare all actions with the greedy one, over functions: gaps (n, k) and the greedy (n,).

    With f in place of f_hat(ah) inside the maximum, as E5 says.
    """
    means = confidence.means
    greedy = means.argmax(axis=1)
    gaps = np.empty(means.shape)
    for row, g in enumerate(greedy.tolist()):
        width, best = confidence.widths(row, g), means[row, g]
        delta = max(float((means[row] + width).max()) - best, 0.0)
        behind = best - means[row]
        gaps[row] = delta + (behind if through_mean else np.maximum(behind + width, 0.0))
        gaps[row, g] = delta
    return gaps, greedy


def _exact_of_functions(confidence: KernelConfidence) -> Array:
    """Compare all pairs of actions, over functions."""
    means = confidence.means
    gaps = np.empty(means.shape)
    for row, own in enumerate(means):
        cross = confidence.cross(row)  # (k, k)
        lengths = cross.diagonal()
        both = lengths[:, None] + lengths
        squared = both - 2.0 * cross
        squared[squared <= ROUNDING * both] = 0.0
        ahead = own + np.sqrt(squared * confidence.beta[row])
        gaps[row] = np.maximum(ahead.max(axis=1) - own, 0.0)
    return gaps


def _exact_everywhere(confidence: ConfidenceSet) -> Array:
    """Compare all pairs in closed form, in blocks of actions if there are many."""
    from partial_monitoring.numerics.compiled import linear

    data, model = confidence.data, confidence.data.model
    if model.game.k <= COMPILED:
        return np.asarray(
            linear.exact_gaps(
                confidence.means, data.inverse, confidence.beta, model.centred, model.apart
            )
        )
    n, k = confidence.means.shape
    gaps = np.empty((n, k))
    block = max(1, BLOCK // k)  # the same whatever the number of replicates
    for row in range(n):
        pulled = model.centred @ data.inverse[row]  # (k, r)
        lengths = (pulled * model.centred).sum(axis=1)
        for start in range(0, k, block):
            part = slice(start, start + block)
            gaps[row, part] = linear.furthest(
                pulled[part] @ model.centred.T,  # (block, k)
                start,
                lengths,
                confidence.means[row],
                np.sqrt(confidence.beta[row]),
                model.unseen,
                model.regularization,
            )
    return gaps


def replicates(confidence: ConfidenceSet, rows: NDArray[np.bool_]) -> ConfidenceSet:
    """Return the confidence sets of some replicates."""
    part = ConfidenceSet(rows_of(confidence.data, rows), confidence.shape, confidence.beta[rows])
    part.__dict__["local_center"] = confidence.local_center[rows]
    return part
