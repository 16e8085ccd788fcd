"""What is to be known of the actions of a context that comes with its features."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

MOST_COMPARED = 64
"""Largest number of actions of which all pairs are compared."""


@compiled
def facts(features, seen, maps):
    """Return facts about k actions with features (k, d), in a basis (k, r), and maps (k, m, r).

    The features in the basis by coordinate (r, k); the largest squared length of a row of a map;
    whether the maps are the features in the basis; whether all actions have the same features; and
    whether all are known to have different ones.
    """
    k, d = features.shape
    m, r = maps.shape[1], maps.shape[2]
    columns, sums = np.empty((r, k)), np.empty(k)
    largest, own, same = 0.0, m == 1, True
    for a in range(k):
        sums[a] = 0.0
        for p in range(d):
            sums[a] += features[a, p]
            same = same and features[a, p] == features[0, p]
        for p in range(r):
            columns[p, a] = seen[a, p]
        for j in range(m):
            squared = 0.0
            for p in range(r):
                squared += maps[a, j, p] * maps[a, j, p]
                own = own and maps[a, j, p] == seen[a, p]
            largest = max(largest, squared)
    apart = k <= MOST_COMPARED
    for a in range(k if apart else 0):
        for b in range(a):
            apart = apart and sums[a] != sums[b]
    return columns, largest, own, same, apart
