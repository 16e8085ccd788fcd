"""The kernel over contexts with the least information ratio, by a walk along a frontier.

What a kernel can achieve, (information, gap), is the sum over contexts of chi(z) times the convex
hull of the actions of z. The cheap and informative end of that sum starts where every context plays
its cheapest action, and goes on edge by edge in the order of their slopes: gap per information. The
ratio falls along it until it rises, which it does in the middle of an edge of one single context.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics.compiled.frontier import ends_of, in_units, totals, walk
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.ratio import minimize_row, ratio
from partial_monitoring.validation import Array, Indices


def minimize_each(
    gaps: Array,
    information: Array,
    available: NDArray[np.bool_],
    contexts: NDArray[Any],
    kappa: float,
    zero: float,
) -> Any:
    """Solve some contexts by themselves: (first, second, share), each as many as contexts."""
    chosen = (np.ascontiguousarray(table[contexts]) for table in (gaps, information, available))
    return minimize_available(*chosen, kappa, True, zero)


@compiled
def minimize_available(gaps, information, available, kappa, exact, zero):
    """Solve one problem per row (q, k) with its available actions: (first, second, share)."""
    count, k = gaps.shape
    first, second = np.empty(count, np.int64), np.empty(count, np.int64)
    share = np.empty(count)
    actions = np.empty(k, np.int64)
    d, i, scaled_d, scaled_i = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for row in range(count):
        size = 0
        for a in range(k):
            if available[row, a]:
                actions[size], d[size], i[size] = a, gaps[row, a], information[row, a]
                size += 1
        one, two, p, _, _ = minimize_row(
            d[:size], i[:size], kappa, exact, zero, scaled_d[:size], scaled_i[:size]
        )
        first[row], second[row], share[row] = actions[one], actions[two], p
    return first, second, share


def minimize_replicates(
    gaps: Array,
    information: Array,
    weights: Array,
    available: NDArray[np.bool_],
    kappa: float,
    zero: float,
) -> tuple[Indices, Indices, Array, Array]:
    """Solve one problem per replicate: (first, second, share), each (n, Z), and the ratios (n,).

    Contexts without weight, and one that has all of it, are solved by themselves. Gaps up to
    ``zero`` times the largest one count as zero.
    """
    n, count = weights.shape
    first, second = np.zeros((n, count), np.int64), np.zeros((n, count), np.int64)
    share, value = np.zeros((n, count)), np.empty(n)
    counted = weights > 0.0
    apart = ~counted | (counted.sum(axis=1, keepdims=True) == 1)
    if apart.any():
        first[apart], second[apart], share[apart] = minimize_each(
            gaps, information, available, apart, kappa, zero
        )
    given = (np.ascontiguousarray(table) for table in (gaps, information, weights, available))
    walk_each(*given, kappa, zero, first, second, share, value)
    return first, second, share, value


@compiled
def walk_each(gaps, information, weights, available, kappa, zero, first, second, share, value):
    """Walk along the frontier of every replicate, from what contexts by themselves would do."""
    for row in range(len(value)):
        value[row] = walk_row(
            gaps[row],
            information[row],
            weights[row],
            available[row],
            kappa,
            zero,
            first[row],
            second[row],
            share[row],
        )


@compiled(inline="always")
def walk_row(gaps, information, weights, available, kappa, zero, first, second, share):
    """Fill (first, second, share of the second), each of length Z, and return their ratio."""
    count = len(weights)
    every = np.empty(count, np.int64)
    size = 0
    widest, most = 1e-300, 1e-300
    for z in range(count):
        if weights[z] > 0.0:
            every[size] = z
            size += 1
            for a in range(gaps.shape[1]):
                if available[z, a]:
                    widest = max(widest, gaps[z, a])
                    most = max(most, information[z, a])
    every = every[:size]
    single = size == 1
    units = (widest, most, zero)
    action, gap, gain = np.empty((count, 2), np.int64), np.empty((count, 2)), np.empty((count, 2))
    for c in range(size):
        z = every[c]
        if single:
            action[z, 0], action[z, 1] = first[z], second[z]
        else:
            greedy, low, high = ends_of(gaps[z], information[z], available[z], zero * widest)
            first[z], action[z, 0], action[z, 1] = greedy, low, high
        for end in range(2):
            a = action[z, end]
            gap[z, end], gain[z, end] = in_units(gaps[z, a], information[z, a], units)
    here_gap, here_gain = totals(gap, gain, weights, every, np.int64(0))
    last_gap, last_gain = totals(gap, gain, weights, every, np.int64(1))
    if single:
        p = share[every[0]]
        here_gap += p * (last_gap - here_gap)
        here_gain += p * (last_gain - here_gain)
    elif here_gap > 0.0 and last_gain > 0.0:
        here_gap, here_gain = walk(
            gaps,
            information,
            weights,
            available,
            kappa,
            units,
            every,
            action,
            gap,
            gain,
            second,
            share,
        )
        for c in range(size):
            first[every[c]] = action[every[c], 0]
    for c in range(size):
        z = every[c]
        if share[z] == 0.0:
            second[z] = first[z]
    value = ratio(here_gap, here_gain, kappa)
    if 0.0 < value < np.inf:
        value *= widest**kappa / most
    return value
