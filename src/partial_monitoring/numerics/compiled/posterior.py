"""Draws from normal posteriors, one replicate after the other."""

from __future__ import annotations

from math import sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import inner


@compiled(allocates=False)
def deviate(gram, least, normals, low):
    """Turn normal z (r,) into L^-T z for G = L L' (r, r), whose covariance is G^-1.

    No pivot of G is below ``least``, its smallest eigenvalue; what seems to be is rounding. Of z
    more entries may follow; ``low`` (r, r) is scratch.
    """
    r = len(gram)
    for p in range(r):
        for q in range(p + 1):
            entry = gram[p, q]
            for s in range(q):
                entry -= low[p, s] * low[q, s]
            low[p, q] = sqrt(max(entry, least)) if p == q else entry / low[q, q]
    for p in range(r - 1, -1, -1):
        entry = normals[p]
        for q in range(p + 1, r):
            entry -= low[q, p] * normals[q]
        normals[p] = entry / low[p, p]


@compiled(allocates=False)
def draw_rewards(means, gram, scale, seen, unseen, regularization, normals, low, out):
    """Fill out (k,) with the rewards of one draw, of normal numbers (D,) that change in place.

    With W_t = L L' the coordinates are x = x_hat + c L^-T z in the directions that are observed and
    c lambda^(-1/2) z in the others.
    """
    r, root = len(gram), sqrt(regularization)
    deviate(gram, regularization, normals, low)
    for p in range(r, len(normals)):
        normals[p] /= root
    for a in range(len(means)):
        away = inner(seen[a], normals[:r]) + inner(unseen[a], normals[r:])
        out[a] = means[a] + scale * away


@compiled
def drawn_rewards(means, gram, scale, seen, unseen, regularization, normals):
    """Return the rewards of one draw for each replicate, from normal numbers (n, D), (n, k)."""
    n, k = means.shape
    r = seen.shape[1]
    found, z, low = np.empty((n, k)), normals.copy(), np.empty((r, r))
    for i in range(n):
        draw_rewards(means[i], gram[i], scale[i], seen, unseen, regularization, z[i], low, found[i])
    return found
