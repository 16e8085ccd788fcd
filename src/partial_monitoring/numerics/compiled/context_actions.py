"""Actions of a context that comes with its features: what is to be known, and learned."""

from __future__ import annotations

from math import log1p

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import HIGH_LEVERAGE, rotate_in_row, take_in_row

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


@compiled
def learn(
    action,
    counts,
    observation,
    maps,
    whitening,
    expected,
    triangles,
    gram,
    inverse,
    vector,
    coordinates,
    log_det,
    rounds,
    period,
    due,
):
    """Let replicates take in what actions of a context (n,) showed; return how many are due.

    They show as many of the observations (n, m) as ``counts`` (n,) say. The estimate keeps no
    actions of its own; otherwise as ``take_in``, ``rotate_in`` and ``update`` one after the other,
    but in place, from the triangles to the rounds. Which are to be refreshed, ``due`` (n,) says.
    """
    (n, r), m = coordinates.shape, observation.shape[1]
    x, line, late = np.empty(r), np.empty(r + 1), 0
    none, nothing, silent, alone = (
        np.empty(0),
        np.empty((0, r)),
        np.empty((0, 0, r)),
        np.empty((r, 0)),
    )
    for i in range(n):
        a = action[i]
        due[i] = rounds[i] % period == 0
        rounds[i] += 1
        for j in range(m):
            shown = observation[i, j] if j < counts[i] else 0.0
            residual = shown * whitening[a] - expected[a, j]
            rotate_in_row(triangles[i], maps[a, j], residual, line)
            gain = take_in_row(
                maps[a, j],
                residual,
                silent,
                nothing,
                alone,
                gram[i],
                inverse[i],
                vector[i],
                coordinates[i],
                none,
                none,
                silent,
                x,
                none,
                none,
            )
            due[i] = due[i] or not 1.0 + gain < HIGH_LEVERAGE
            log_det[i] += log1p(gain)
        late += due[i]
    return late
