"""Support functions and projections on polyhedra cut by an ellipsoid, for all replicates."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.rays import product, ray_path, support


@compiled
def whiten(inverse, regularization, dim):
    """Return F with F F' = diag(inverse, I / regularization), lower triangular, shape (D, D)."""
    r = inverse.shape[0]
    root = np.empty((dim, dim))
    root[:] = 0.0
    for j in range(r):
        pivot = inverse[j, j]
        for h in range(j):
            pivot -= root[j, h] * root[j, h]
        # A pivot below the rounding of the inverse is not known to be smaller than that.
        root[j, j] = np.sqrt(max(pivot, 2.0**-52 * inverse[j, j]))
        for i in range(j + 1, r):
            entry = inverse[i, j]
            for h in range(j):
                entry -= root[i, h] * root[j, h]
            root[i, j] = entry / root[j, j]
    for j in range(r, dim):
        root[j, j] = 1.0 / np.sqrt(regularization)
    return root


@compiled
def into_whitened(rows, root):
    """Return rows @ root for a lower triangular root, shape (n, D)."""
    n, dim = rows.shape
    result = np.empty((n, dim))
    result[:] = 0.0
    for i in range(n):
        for h in range(dim):
            entry = rows[i, h]
            if entry != 0.0:
                for j in range(h + 1):
                    result[i, j] += entry * root[h, j]
    return result


@compiled
def is_inside(x, facets, bounds):
    """Whether no point (n, D) violates a facet."""
    for row in range(len(x)):
        for i in range(len(bounds)):
            if product(facets, i, x[row]) > bounds[i]:
                return False
    return True


@compiled
def project(inverse, x_hat, regularization, facets, bounds, interior):
    """Project the estimates that are outside.

    The projection of a point is the end at u = 1 of the path that starts at an interior point and
    heads for it.
    """
    n, dim = x_hat.shape
    count = len(bounds)
    result = x_hat.copy()
    done = np.empty(n, np.bool_)
    z = np.empty(dim)
    multipliers = np.empty(count)
    direction = np.empty(dim)
    room = np.empty(count)
    for i in range(count):
        room[i] = bounds[i]
        for j in range(dim):
            room[i] -= facets[i, j] * interior[j]
    for row in range(n):
        done[row] = True
        if is_inside(x_hat[row : row + 1], facets, bounds):
            continue
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        for j in range(dim):  # direction = root^-1 (x_hat - interior), by forward substitution
            entry = x_hat[row, j] - interior[j]
            for h in range(j):
                entry -= root[j, h] * direction[h]
            direction[j] = entry / root[j, j]
        # A far point is replaced by a near one on the ray from the answer, which projects alike.
        for _ in range(3):
            _, done[row] = ray_path(direction, rows, room, np.inf, 1.0, z, multipliers)
            far, near = 0.0, 1.0
            for j in range(dim):
                far = max(far, abs(direction[j] - z[j]))
                near = max(near, abs(z[j]))
            if not done[row] or far <= 10.0 * near:
                break
            for j in range(dim):
                direction[j] = z[j] + (direction[j] - z[j]) * (near / far)
        for j in range(dim):
            result[row, j] = interior[j]
            for h in range(j + 1):
                result[row, j] += root[j, h] * z[h]
    return result, done


@compiled
def room_at(x, facets, bounds, slack):
    """Fill slack (n,) with the room bounds - facets x, not below zero."""
    for i in range(len(bounds)):
        slack[i] = max(bounds[i] - product(facets, i, x), 0.0)


@compiled
def pair_supports(inverse, x, beta, regularization, directions, facets, bounds):
    """Return support values (n, q), certificates and maximisers of directions (q, D)."""
    n, dim = x.shape
    count = len(bounds)
    values = np.empty((n, len(directions)))
    certified = np.empty((n, len(directions)), np.bool_)
    points = np.empty((n, len(directions), dim))
    z = np.empty(dim)
    multipliers = np.empty(count)
    slack = np.empty(count)
    for row in range(n):
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        whitened = into_whitened(directions, root)
        room_at(x[row], facets, bounds, slack)
        for t in range(len(directions)):
            value, certified[row, t] = support(whitened[t], rows, slack, beta[row], z, multipliers)
            for j in range(dim):
                value += directions[t, j] * x[row, j]
                points[row, t, j] = x[row, j]
                for h in range(j + 1):
                    points[row, t, j] += root[j, h] * z[h]
            values[row, t] = value
    return values, certified, points


@compiled
def exact_gaps(inverse, x, beta, regularization, slopes, offsets, facets, bounds, ceiling):
    """Return max over b of the support of phi_b - phi_a for every action, shape (n, k).

    A second array (n,) says where all of them are exact; elsewhere some are bounds from above.
    Competitors are tried in the order of an upper bound (the whole ellipsoid, or the whole set
    Theta, ``ceiling`` (k, k)), until no other can be larger.
    """
    n, dim = x.shape
    k = len(slopes)
    count = len(bounds)
    gaps = np.empty((n, k))
    certified = np.empty(n, np.bool_)
    z = np.empty(dim)
    multipliers = np.empty(count)
    slack = np.empty(count)
    means = np.empty(k)
    upper = np.empty(k)
    c = np.empty(dim)
    for row in range(n):
        certified[row] = True
        root = whiten(inverse[row], regularization, dim)
        rows = into_whitened(facets, root)
        whitened = into_whitened(slopes, root)
        room_at(x[row], facets, bounds, slack)
        for a in range(k):
            means[a] = offsets[a]
            for j in range(dim):
                means[a] += slopes[a, j] * x[row, j]
        for a in range(k):
            for b in range(k):
                length = 0.0
                for j in range(dim):
                    away = whitened[b, j] - whitened[a, j]
                    length += away * away
                wide = means[b] - means[a] + np.sqrt(beta[row] * length)
                upper[b] = min(wide, ceiling[a, b])
            upper[a] = 0.0
            best = 0.0
            while True:
                b = 0
                for other in range(1, k):
                    if upper[other] > upper[b]:
                        b = other
                if upper[b] <= best:
                    break
                for j in range(dim):
                    c[j] = whitened[b, j] - whitened[a, j]
                value, proven = support(c, rows, slack, beta[row], z, multipliers)
                certified[row] = certified[row] and proven
                best = max(best, min(value + means[b] - means[a], upper[b]))
                upper[b] = 0.0
            gaps[row, a] = best
    return gaps, certified
