"""All that follows from the data of least squares, computed anew, one replicate after the other."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import IN_ORDER, inner, transform


@compiled(fastmath=IN_ORDER, allocates=False)
def pull(row, matrix, out):
    """Fill out (r,) with row @ matrix."""
    for q in range(len(out)):
        out[q] = 0.0
    for p in range(len(row)):
        entry, other = row[p], matrix[p]
        for q in range(len(out)):
            out[q] += entry * other[q]


@compiled(allocates=False)
def plain_inner(left, right):
    """Return <left, right>, summed in order."""
    total = 0.0
    for p in range(len(left)):
        total += left[p] * right[p]
    return total


@compiled(allocates=False)
def look(maps, seen, offsets, inverse, coordinates, means, variances, signals, x, show):
    """Fill means (k,), variances (k,) and signals (k, m, m) of actions, of one replicate.

    x (r,) and show (m,) are scratch; if the latter is empty no signals are filled.
    """
    transform(seen, coordinates, means)
    for a in range(len(means)):
        means[a] = offsets[a] + means[a]
        pull(seen[a], inverse, x)
        variances[a] = plain_inner(x, seen[a])
        for i in range(len(show)):
            pull(maps[a, i], inverse, x)
            for j in range(len(show)):
                signals[a, i, j] = plain_inner(x, maps[a, j])


@compiled
def look_each(maps, seen, offsets, inverse, coordinates, rows):
    """Return means (n, k), variances (n, k) and signals (n, k, rows, rows) of n replicates."""
    n, r = coordinates.shape
    k = len(offsets)
    means, variances, signals = np.empty((n, k)), np.empty((n, k)), np.empty((n, k, rows, rows))
    x, show = np.empty(r), np.empty(rows)
    for i in range(n):
        own = means[i], variances[i], signals[i]
        look(maps, seen, offsets, inverse[i], coordinates[i], *own, x, show)
    return means, variances, signals


@compiled(allocates=False)
def refresh_one(
    maps,
    seen,
    offsets,
    regularization,
    gram,
    vector,
    inverse,
    coordinates,
    means,
    variances,
    signals,
    root,
    x,
    show,
):
    """Compute all that follows from the Gram matrix of one replicate; return log det W_t / lambda.

    With W_t = L L' the inverse is L^-T L^-1; through the root it is symmetric, so that either half
    says the same. ``root`` (r, r), x (r,) and show (m,) are scratch.
    """
    r, log_det = len(vector), 0.0
    for p in range(r):
        for q in range(p + 1):
            entry = gram[p, q]
            for s in range(q):
                entry -= root[p, s] * root[q, s]
            root[p, q] = sqrt(entry) if p == q else entry / root[q, q]
        log_det += log(root[p, p] ** 2 / regularization)
    for q in range(r):  # the root becomes its inverse, column by column
        for p in range(q, r):
            entry = 1.0 if p == q else 0.0
            for s in range(q, p):
                entry -= root[p, s] * x[s]
            x[p] = entry / root[p, p]
        for p in range(q, r):
            inverse[p, q] = x[p]
    for p in range(r):
        for q in range(p + 1):
            root[p, q] = inverse[p, q]
    for p in range(r):
        for q in range(p + 1):
            entry = 0.0
            for s in range(p, r):
                entry += root[s, p] * root[s, q]
            inverse[p, q] = inverse[q, p] = entry
    transform(inverse, vector, coordinates)
    for a in range(len(means)):
        transform(inverse, seen[a], x)
        means[a] = offsets[a] + inner(seen[a], coordinates)
        variances[a] = inner(seen[a], x)
        for i in range(len(show)):
            transform(inverse, maps[a, i], x)
            for j in range(len(show)):
                signals[a, i, j] = inner(maps[a, j], x)
    return log_det


@compiled
def refresh(maps, seen, offsets, regularization, gram, vector):
    """Return inverse, log_det, coordinates, means, variances and signals of n replicates."""
    n, r = vector.shape
    k, m = maps.shape[0], maps.shape[1]
    inverse, coordinates, log_det = np.empty((n, r, r)), np.empty((n, r)), np.empty(n)
    means, variances, signals = np.empty((n, k)), np.empty((n, k)), np.empty((n, k, m, m))
    root, x, show = np.empty((r, r)), np.empty(r), np.empty(m)
    for i in range(n):
        log_det[i] = refresh_one(
            maps,
            seen,
            offsets,
            regularization,
            gram[i],
            vector[i],
            inverse[i],
            coordinates[i],
            means[i],
            variances[i],
            signals[i],
            root,
            x,
            show,
        )
    return inverse, log_det, coordinates, means, variances, signals
