"""Gaps over a whole ellipsoid, in closed form: what uncut confidence sets are asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.validation import Array, Indices

COMPILED = 128
"""Largest number of actions whose pairs are compared by compiled loops, not by matrix products."""

BLOCK = 2**22
"""Pairs of actions that are compared at once, to bound the memory."""


def exact_gaps(data: Estimate, beta: Array) -> Array | None:
    """Return the largest gaps within groups (n, k), or None if groups must be asked one by one."""
    from partial_monitoring.numerics.compiled import groups, linear

    design, features = data.design, data.design.centred_features
    if len(design.groups) > 2:
        if design.hidden_features.shape[1] or int(np.diff(design.groups).max()) > COMPILED:
            return None
        return np.asarray(
            groups.exact_gaps(data.means, data.inverse, beta, features, design.groups)
        )
    if len(design.offsets) <= COMPILED:
        return np.asarray(
            linear.exact_gaps(data.means, data.inverse, beta, features, design.hidden_distances)
        )
    n, k = data.means.shape
    gaps = np.empty((n, k))
    block = max(1, BLOCK // k)  # the same whatever the number of replicates
    for row in range(n):
        pulled = features @ data.inverse[row]  # (k, r)
        lengths = (pulled * features).sum(axis=1)
        for start in range(0, k, block):
            own = slice(start, start + block)
            gaps[row, own] = linear.furthest(
                pulled[own] @ features.T,  # (block, k)
                start,
                lengths,
                data.means[row],
                np.sqrt(beta[row]),
                design.hidden_features,
                design.regularization,
            )
    return gaps


def greedy_gaps(data: Estimate, means: Array, beta: Array, *, through_mean: bool) -> Array | None:
    """Compare actions with the greedy one of their group, (n, k), or None as above.

    The means (n, k) are those of the set, which may be cut.
    """
    from partial_monitoring.numerics.compiled import groups, linear

    design = data.design
    if len(design.groups) > 2:
        if design.hidden_features.shape[1]:
            return None
        return np.asarray(
            groups.greedy_gaps(
                means,
                data.variances,
                data.inverse,
                beta,
                design.observed_features,
                design.groups,
                through_mean,
            )
        )
    gaps, _ = linear.greedy_gaps(*_numbers(data, means, beta), through_mean)
    return np.asarray(gaps)


def distances(data: Estimate, row: int, action: int) -> Array:
    """Return |phi_a - phi_b|^2 in the norm of V_t^-1 of one replicate, for all a, shape (k,)."""
    design = data.design
    cross = design.observed_features @ (data.inverse[row] @ design.observed_features[action])
    # Written with differences, so that it is exactly zero for copies of b.
    squared = (data.variances[row] - data.variances[row, action]) + 2 * (cross[action] - cross)
    if design.hidden_features.shape[1]:
        away = design.hidden_features - design.hidden_features[action]
        squared = squared + (away**2).sum(axis=1) / design.regularization
    return np.asarray(squared)


def duels(data: Estimate, means: Array, beta: Array) -> tuple[Array, Indices, Array]:
    """Return greedy gaps (n, k), the greedy action g (n,), and |phi_a - phi_g|^2 (n, k).

    An action that is always best is the greedy one.
    """
    from partial_monitoring.numerics.compiled import linear

    design = data.design
    gaps, greedy, squared = linear.duels(*_numbers(data, means, beta))
    if design.always_best.any():
        greedy = np.full_like(greedy, design.always_best.argmax())
        away = design.observed_features - design.observed_features[greedy[0]]
        squared = np.maximum(((away @ data.inverse) * away).sum(axis=2), 0.0)
    return gaps, greedy, squared


def _numbers(data: Estimate, means: Array, beta: Array) -> tuple[Any, ...]:
    """Return what the compiled comparisons with the greedy action are handed."""
    design = data.design
    return (
        means,
        data.variances,
        data.inverse,
        beta,
        design.observed_features,
        design.features_by_coordinate,
        design.hidden_features,
        design.regularization,
    )
