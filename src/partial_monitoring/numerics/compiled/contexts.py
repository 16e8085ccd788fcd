"""The kernel over contexts with the least information ratio, by a walk along a frontier.

What a kernel can achieve, (information, gap), is the sum over contexts of chi(z) times the convex
hull of the actions of z. The cheap and informative end of that sum starts where every context plays
its cheapest action, and goes on edge by edge in the order of their slopes: gap per information. The
ratio falls along it until it rises, which it does in the middle of an edge of one single context.
"""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.frontier import ends_of, in_units, total, walk
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.ratio import minimize_rows, ratio


@compiled
def minimize_alone(gaps, information, available, kappa, zero):
    """Return (first, second, share of the second) for one context by itself."""
    actions = np.flatnonzero(available)
    d, i = np.empty((1, len(actions))), np.empty((1, len(actions)))
    for c in range(len(actions)):
        d[0, c], i[0, c] = gaps[actions[c]], information[actions[c]]
    first, second, share, _, _ = minimize_rows(d, i, kappa, True, zero)
    return actions[first[0]], actions[second[0]], share[0]


@compiled
def minimize_each(gaps, information, available, contexts, kappa, zero):
    """Solve some contexts by themselves: (first, second, share), each as many as contexts."""
    count = len(contexts)
    first, second, share = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    for c in range(count):
        z = contexts[c]
        row = minimize_alone(gaps[z], information[z], available[z], kappa, zero)
        first[c], second[c], share[c] = row
    return first, second, share


@compiled
def units_of(gaps, information, counted, available):
    """Return the largest gap and information of what counts."""
    widest, most = 1e-300, 1e-300
    for z in range(len(counted)):
        if counted[z]:
            for a in range(gaps.shape[1]):
                if available[z, a]:
                    widest = max(widest, gaps[z, a])
                    most = max(most, information[z, a])
    return widest, most


@compiled
def minimize_jointly(gaps, information, weights, available, kappa, zero):
    """Return (first, second, share of the second), each of length Z, and their ratio.

    Contexts without weight, and one that has all of it, are solved by themselves. Gaps up to
    ``zero`` times the largest one count as zero.
    """
    count = len(weights)
    counted = weights > 0.0
    single = counted.sum() == 1
    first, second, share = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count)
    apart = np.flatnonzero(~counted | single)
    first[apart], second[apart], share[apart] = minimize_each(
        gaps, information, available, apart, kappa, zero
    )
    widest, most = units_of(gaps, information, counted, available)
    units = (widest, most, zero)
    every = np.flatnonzero(counted)
    action, gap, gain = np.zeros((count, 2), np.int64), np.zeros((count, 2)), np.zeros((count, 2))
    for z in every:
        if single:
            action[z, 0], action[z, 1] = first[z], second[z]
        else:
            greedy, low, high = ends_of(gaps[z], information[z], available[z], zero * widest)
            first[z], action[z, 0], action[z, 1] = greedy, low, high
        for end in range(2):
            a = action[z, end]
            gap[z, end], gain[z, end] = in_units(gaps[z, a], information[z, a], units)
    here_gap, here_gain = total(gap, weights, every, 0), total(gain, weights, every, 0)
    if single:
        p = share[every[0]]
        here_gap += p * (total(gap, weights, every, 1) - here_gap)
        here_gain += p * (total(gain, weights, every, 1) - here_gain)
    elif here_gap > 0.0 and total(gain, weights, every, 1) > 0.0:
        here_gap, here_gain = walk(
            gaps, information, weights, available, kappa, units, action, gap, gain, second, share
        )
        first[every] = action[every, 0]
    for z in every:
        if share[z] == 0.0:
            second[z] = first[z]
    value = ratio(here_gap, here_gain, kappa)
    if 0.0 < value < np.inf:
        value *= widest**kappa / most
    return first, second, share, value


@compiled
def minimize_rows_jointly(gaps, information, weights, available, own, kappa, zero):
    """Solve one problem per replicate: (first, second, share) of its own context, and the ratio.

    Gaps, information and available (n, Z, k), weights (n, Z), own (n,).
    """
    n = len(own)
    first, second = np.empty(n, np.int64), np.empty(n, np.int64)
    share, value = np.empty(n), np.empty(n)
    for row in range(n):
        one, two, part, value[row] = minimize_jointly(
            gaps[row], information[row], weights[row], available[row], kappa, zero
        )
        z = own[row]
        first[row], second[row], share[row] = one[z], two[z], part[z]
    return first, second, share, value
