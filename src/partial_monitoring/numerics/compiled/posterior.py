"""Draws from normal posteriors, one replicate after the other."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled
def deviations(gram, normals, least):
    """Return L^-T z (n, r) for G = L L' (n, r, r) and normal z (n, r): its covariance is G^-1.

    No pivot of G is below ``least``, its smallest eigenvalue; what seems to be is rounding.
    """
    n, r = normals.shape
    found = np.empty((n, r))
    low = np.empty((r, r))
    for i in range(n):
        for p in range(r):
            for q in range(p + 1):
                entry = gram[i, p, q]
                for s in range(q):
                    entry -= low[p, s] * low[q, s]
                low[p, q] = np.sqrt(max(entry, least)) if p == q else entry / low[q, q]
        for p in range(r - 1, -1, -1):
            entry = normals[i, p]
            for q in range(p + 1, r):
                entry -= low[q, p] * found[i, q]
            found[i, p] = entry / low[p, p]
    return found
