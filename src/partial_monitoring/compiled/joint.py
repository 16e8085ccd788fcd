"""The kernel over contexts with the least information ratio, by a walk along a frontier.

What a kernel can achieve, (information, gap), is the sum over contexts of chi(z) times the convex
hull of the actions of z. The cheap and informative end of that sum starts where every context plays
its cheapest action, and goes on edge by edge in the order of their slopes: gap per information. The
ratio falls along it until it rises, which it does in the middle of an edge of one single context.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def cheapest(gaps, information, available, informative):
    """Return the action with the least gap: the lowest index, or the most informative of ties."""
    best = -1
    for a in range(len(gaps)):
        if not available[a]:
            continue
        if best < 0 or gaps[a] < gaps[best]:
            best = a
        tied = gaps[a] == gaps[best] and information[a] > information[best]
        if informative and tied:
            best = a
    return best


@njit(cache=True, error_model="numpy")
def next_edge(gaps, information, available, start):
    """Return the least gap per information of going on from a vertex, and where that leads.

    Of actions in one line the farthest is the next vertex; -1 if nothing is more informative.
    """
    slope, end = np.inf, -1
    for a in range(len(gaps)):
        more = information[a] - information[start]
        if not available[a] or more <= 0.0:
            continue
        own = (gaps[a] - gaps[start]) / more
        if own < slope or (own == slope and information[a] > information[end]):
            slope, end = own, a
    return slope, end


@njit(cache=True, error_model="numpy")
def minimize_jointly(gaps, information, weights, available, kappa):
    """Return (first, second, share of the second), each of length Z, with the least ratio.

    Contexts without weight are left at their cheapest action. Cost O(Z k) for the start and
    O(k + log Z) for every edge that is passed.
    """
    count = len(weights)
    first = np.zeros(count, np.int64)
    share = np.zeros(count)
    gap = 0.0
    for z in range(count):
        first[z] = cheapest(gaps[z], information[z], available[z], False)
        gap += weights[z] * gaps[z, first[z]]
    second = first.copy()
    if gap <= 0.0:
        return first, second, share
    gap, gain = 0.0, 0.0
    greedy = first.copy()
    edges = [(0.0, 0, 0)]
    edges.clear()
    for z in range(count):
        if weights[z] <= 0.0:
            continue
        first[z] = cheapest(gaps[z], information[z], available[z], True)
        second[z] = first[z]
        gap += weights[z] * gaps[z, first[z]]
        gain += weights[z] * information[z, first[z]]
        slope, end = next_edge(gaps[z], information[z], available[z], first[z])
        if end >= 0:
            heappush(edges, (slope, z, end))
    while len(edges) > 0:
        slope, z, end = heappop(edges)
        start = first[z]
        more_gap = weights[z] * (gaps[z, end] - gaps[z, start])
        more_gain = weights[z] * (information[z, end] - information[z, start])
        if kappa * more_gap * gain >= gap * more_gain:
            break
        p = 1.0
        if more_gap > 0.0:
            p = (gap / more_gap - kappa * gain / more_gain) / (kappa - 1.0)
        if p < 1.0:
            second[z], share[z] = end, p
            gain += p * more_gain
            break
        first[z], second[z] = end, end
        gap += more_gap
        gain += more_gain
        slope, following = next_edge(gaps[z], information[z], available[z], end)
        if following >= 0:
            heappush(edges, (slope, z, following))
    if gain <= 0.0:  # nothing can be learned
        return greedy, greedy.copy(), np.zeros(count)
    return first, second, share
