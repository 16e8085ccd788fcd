"""Expected improvements over the greedy action, and what observations tell about them.

For the greedy action g of a group and every rival b in it, <u_b, theta> with u_b = phi_b - phi_g is
known up to the standard deviation s_b = rho |u_b| in the norm of W_t^-1. The chance that b is
better is worth delta_b in each round. One observation of a explains a fraction of its variance;
summed with the weights delta_b that is a quadratic form of M_a, so actions are never compared in
pairs.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.gaps import distances
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, IN_ORDER, ROUNDING, copy_into, inner
from partial_monitoring.numerics.compiled.rivals import (
    greedy_of,
    shares_of_variance,
    worth_of_rivals,
)

BLOCK = 1024
"""Number of rows that are multiplied at once, to bound the memory."""

LOOPS = 2000
"""Largest k r^2 with which plain loops are faster than products of matrices."""


@compiled(fastmath=IN_ORDER, allocates=False)
def multiply(left, right, out):
    """Fill out (q, s) with left @ right, (q, r) and (r, s)."""
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(len(row)):
            row[j] = 0.0
        for p in range(right.shape[0]):
            entry, other = left[i, p], right[p]
            for j in range(len(row)):
                row[j] += entry * other[j]


@compiled(fastmath=IN_ORDER, allocates=False)
def add_products(features, greedy, weights, scale, pulled, part, total):
    """Add scale sum_b weights_b u_b u_b' to total (r, r), u_b = features_b - features_greedy.

    ``weights`` (k,) are delta_b / |u_b|^2, or zero; pulled (r,) and part (r, r) are scratch.
    """
    k, r = len(weights), len(pulled)
    for p in range(r):
        for q in range(r):
            part[p, q] = 0.0
    for b in range(k):
        if weights[b] > 0.0 and scale > 0.0:
            root = sqrt(scale * weights[b])
            for p in range(r):
                pulled[p] = root * (features[b, p] - features[greedy, p])
            for p in range(r):
                entry, row = pulled[p], part[p]
                for q in range(r):
                    row[q] += entry * pulled[q]
    for p in range(r):
        for q in range(r):
            total[p, q] += part[p, q]


@compiled
def add_products_in_blocks(features, greedy, weights, scale, total):
    """Do the same by products of matrices, which is faster for many actions and coordinates."""
    k, r = features.shape
    block = np.empty((min(BLOCK, k), r))
    size = 0
    for b in range(k):
        if weights[b] > 0.0 and scale > 0.0:
            root = sqrt(scale * weights[b])
            for p in range(r):
                block[size, p] = root * (features[b, p] - features[greedy, p])
            size += 1
        if size == len(block) or (b == k - 1 and size > 0):
            own = block[:size]
            total += np.dot(own.T, own)
            size = 0


@compiled(allocates=False)
def form(rows, middle, half, out):
    """Fill out (m, m) with M Q M' for a map M (m, r) and a symmetric Q (r, r); half (1, r)."""
    for i in range(len(rows)):
        multiply(rows[i : i + 1], middle, half)
        for j in range(i + 1):
            out[i, j] = out[j, i] = inner(half[0], rows[j])


@compiled(fastmath=FAST)
def forms_in_blocks(rows, middle, out):
    """Fill out (q, m, m) with M Q M' for maps M (q, m, r), by products of matrices."""
    q, m, r = rows.shape
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, q, step):
        stop = min(start + step, q)
        own = rows[start:stop]
        half = np.dot(own.reshape((stop - start) * m, r), middle)
        for a in range(stop - start):
            for i in range(m):
                for j in range(i + 1):
                    entry = 0.0
                    for p in range(r):
                        entry += half[a * m + i, p] * own[a, j, p]
                    out[start + a, i, j] = out[start + a, j, i] = entry


@compiled(allocates=False)
def explained(shown, signal):
    """Return the trace of (I + S)^-1 B for symmetric B (m, m) and S (m, m), which are overwritten.

    Row by row: what the rows before it have shown is taken out of every row.
    """
    total, m = 0.0, len(shown)
    for j in range(m):
        pivot = 1.0 + max(signal[j, j], 0.0)
        total += max(shown[j, j], 0.0) / pivot
        for p in range(m - 1, j, -1):
            share = signal[p, j] / pivot
            for q in range(j + 1, p + 1):
                other = signal[q, j] / pivot
                entry = shown[p, q] - share * shown[j, q] - other * shown[p, j]
                shown[p, q] = shown[q, p] = entry + share * other * shown[j, j]
                signal[p, q] = signal[q, p] = signal[p, q] - share * other * pivot
    return total


@compiled(allocates=False)
def apart(variances, inverse, features, columns, greedy, pulled, squared):
    """Fill squared (k,) with |phi_b - phi_greedy|^2 in the norm of W_t^-1; rounding is zero."""
    distances(variances, inverse, features, columns, greedy, pulled, squared)
    for b in range(len(squared)):
        if squared[b] <= ROUNDING * (variances[b] + variances[greedy]):
            squared[b] = 0.0


class Scratch(NamedTuple):
    """Memory for one replicate."""

    squared: Any  # (k,)
    delta: Any  # (k,)
    pulled: Any  # (r,)
    half: Any  # (1, r)
    total: Any  # (r, r)
    part: Any  # (r, r)
    shown: Any  # (m, m)
    signal: Any  # (m, m)


@compiled
def scratch_for(k, m, r):
    """Return memory for one replicate with k actions, m rows and r coordinates."""
    return Scratch(
        np.empty(k),
        np.empty(k),
        np.empty(r),
        np.empty((1, r)),
        np.empty((r, r)),
        np.empty((r, r)),
        np.empty((m, m)),
        np.empty((m, m)),
    )


@compiled(allocates=False)
def weigh(
    means, variances, inverse, t, noise, features, columns, counted, pulled, squared, delta, gaps
):
    """Fill gaps (k,) and delta_b / |u_b|^2 (k,) of a group, and return its greedy action.

    The gap is the sum of delta_b over the rivals, plus what the action earns less than the greedy
    one.
    """
    greedy = greedy_of(means, counted)
    apart(variances, inverse, features, columns, greedy, pulled, squared)
    more = worth_of_rivals(means, squared, greedy, counted, noise, t, 1.0, delta)
    shares_of_variance(delta, squared)
    for a in range(len(means)):
        gaps[a] = max(more + means[greedy] - means[a], 0.0)
    return greedy


@compiled(allocates=False)
def improvement_of_one(
    means,
    variances,
    inverse,
    t,
    noise,
    features,
    columns,
    maps,
    signals,
    starts,
    counted,
    chances,
    scratch,
    gaps,
    information,
):
    """Fill gaps (k,) and information (k,) of one replicate, see ``improvement``.

    Without signals every action shows its own reward, and the variances are the signals.
    """
    squared, delta, pulled, half, total, part, shown, signal = scratch
    k, r = len(information), len(pulled)
    for p in range(r):
        for q in range(r):
            total[p, q] = 0.0
    for z in range(len(starts) - 1):
        start, end = starts[z], starts[z + 1]
        greedy = weigh(
            means[start:end],
            variances[start:end],
            inverse,
            t,
            noise,
            features[start:end],
            columns,
            counted[start:end],
            pulled,
            squared[start:end],
            delta[start:end],
            gaps[start:end],
        )
        add_products(features[start:end], greedy, delta[start:end], chances[z], pulled, part, total)
    multiply(total, inverse, part)
    multiply(inverse, part, total)
    for a in range(k):
        form(maps[a], total, half, shown)
        if len(signals) > 0:
            copy_into(signals[a], signal)
        elif len(signal) > 0:  # unless nothing is shown
            signal[0, 0] = variances[a]
        information[a] = explained(shown, signal)


@compiled
def improvement_in_blocks(
    means,
    variances,
    inverse,
    t,
    noise,
    features,
    columns,
    maps,
    signals,
    starts,
    counted,
    chances,
    scratch,
    gaps,
    information,
):
    """Do the same by products of matrices, which is faster for many actions and coordinates."""
    k, m, r = maps.shape
    squared, delta, pulled, _, total, _, _, signal = scratch
    shown = np.empty((k, m, m))
    for p in range(r):
        for q in range(r):
            total[p, q] = 0.0
    for z in range(len(starts) - 1):
        start, end = starts[z], starts[z + 1]
        greedy = weigh(
            means[start:end],
            variances[start:end],
            inverse,
            t,
            noise,
            features[start:end],
            columns,
            counted[start:end],
            pulled,
            squared[start:end],
            delta[start:end],
            gaps[start:end],
        )
        add_products_in_blocks(features[start:end], greedy, delta[start:end], chances[z], total)
    forms_in_blocks(maps, np.dot(inverse, np.dot(total, inverse)), shown)
    for a in range(k):
        copy_into(signals[a], signal)
        information[a] = explained(shown[a], signal)


@compiled
def improvement(
    means,
    variances,
    inverse,
    rounds,
    noise,
    features,
    columns,
    maps,
    signals,
    starts,
    counted,
    chances,
):
    """Return gaps and information of n replicates, each (n, k).

    The gap is the sum of delta_b over the rivals of the group, plus what the action earns less
    than the greedy one. The information is tr (I + S_a)^-1 M_a Q M_a' with the signals S_a and Q =
    W_t^-1 (sum_b delta_b u_b u_b' / |u_b|^2) W_t^-1, summed over all groups with their chances
    (n, groups).
    Rivals are the actions that are counted, shape (n, k) or (1, k).
    """
    n, k = means.shape
    m, r = maps.shape[1], maps.shape[2]
    gaps, information = np.empty((n, k)), np.empty((n, k))
    scratch = scratch_for(k, m, r)
    for i in range(n):
        own = counted[i % len(counted)]
        if k * r * r <= LOOPS:
            improvement_of_one(
                means[i],
                variances[i],
                inverse[i],
                rounds[i],
                noise,
                features,
                columns,
                maps,
                signals[i],
                starts,
                own,
                chances[i],
                scratch,
                gaps[i],
                information[i],
            )
        else:
            improvement_in_blocks(
                means[i],
                variances[i],
                inverse[i],
                rounds[i],
                noise,
                features,
                columns,
                maps,
                signals[i],
                starts,
                own,
                chances[i],
                scratch,
                gaps[i],
                information[i],
            )
    return gaps, information
