"""Weights that fall with age and repetition, see ``estimation.forgetting``."""

# mypy: ignore-errors

from math import sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import rotate_in_row

UNSEEN = 1e-9
"""Of which less is known, relative to its size and to all that is known, is new; of which less is
its own, relative to what is known of it, is one of the rows before."""


@compiled(allocates=False)
def scale(keep, count):
    """Return c: after so many observations, those of age i weigh c keep^i."""
    return (1.0 + keep) / (1.0 + keep ** float(count))


@compiled(allocates=False)
def weigh(gram, vector, factor, regularization):
    """Multiply the weights of all observations with a factor, but not that of the prior."""
    for p in range(len(vector)):
        vector[p] *= factor
        for q in range(len(vector)):
            gram[p, q] *= factor
        gram[p, p] += (1.0 - factor) * regularization


@compiled(allocates=False)
def look_along(gram, row, regularization, x):
    """Fill x (r,) with G w for a row w (r,), where G = W - lambda I is that of the observations.

    Return w' G w.
    """
    known = 0.0
    for p in range(len(row)):
        x[p] = -regularization * row[p]
        for q in range(len(row)):
            x[p] += gram[p, q] * row[q]
        known += x[p] * row[p]
    return known


@compiled(allocates=False)
def find_directions(gram, rows, regularization, basis, x):
    """Fill an orthonormal basis in the norm of G of what it knows of rows (m, r).

    Return how many directions (r,) that are; ``basis`` has room for min(m, r), x (r,) is scratch.
    """
    count, trace = 0, 0.0
    for p in range(len(gram)):
        trace += gram[p, p]
    for j in range(len(rows)):
        if count == len(basis):
            break
        row, own, size = rows[j], basis[count], 0.0
        rest = known = look_along(gram, row, regularization, x)
        for p in range(len(row)):
            own[p] = row[p]
            size += row[p] * row[p]
        for i in range(count):
            share = 0.0
            for p in range(len(row)):
                share += basis[i, p] * x[p]
            rest -= share * share
            for p in range(len(row)):
                own[p] -= share * basis[i, p]
        if known <= UNSEEN * size * trace or rest <= UNSEEN * known:
            continue
        for p in range(len(row)):
            own[p] /= sqrt(rest)
        count += 1
    return count


@compiled(allocates=False)
def fade_along(gram, vector, direction, fade, regularization, x):
    """Let what observations know of a direction (r,) lose weight, but not the prior.

    G becomes G - (1 - fade) G w w' G / w' G w, and the vector such that they say the same of theta.
    All that is known of directions that are orthogonal to w in the norm of G stays. x (r,) is
    scratch.
    """
    known, told = look_along(gram, direction, regularization, x), 0.0
    for p in range(len(direction)):
        told += vector[p] * direction[p]
    lost = (1.0 - fade) / known
    for p in range(len(direction)):
        vector[p] -= lost * told * x[p]
        for q in range(len(direction)):
            gram[p, q] -= lost * (x[p] * x[q])


@compiled(allocates=False)
def fade_rows(gram, vector, rows, fade, regularization, basis, x):
    """Let what observations know of rows (m, r), which are observed again, lose weight.

    Fills the directions of which that is, and returns how many; see ``find_directions``.
    """
    count = find_directions(gram, rows, regularization, basis, x)
    for i in range(count):
        fade_along(gram, vector, basis[i], fade, regularization, x)
    return count


@compiled
def weigh_each(gram, vector, factors, regularization):
    """Return Gram matrices (n, r, r) and vectors (n, r) with weights times factors (n,)."""
    gram, vector = gram.copy(), vector.copy()
    for i in range(len(factors)):
        weigh(gram[i], vector[i], factors[i], regularization)
    return gram, vector


@compiled
def forget_each(gram, vector, factors, rows, fade, regularization):
    """Return the same, where rows (n, m, r) are about to be observed again.

    The third result are the directions that have faded, shape (n, q, r), zero where there are less.
    """
    n, m, r = rows.shape
    gram, vector = weigh_each(gram, vector, factors, regularization)
    directions, x = np.zeros((n, min(m, r), r)), np.empty(r)
    for i in range(n):
        own = directions[i]
        count = fade_rows(gram[i], vector[i], rows[i], fade, regularization, own, x)
        own[count:] = 0.0
    return gram, vector, directions


@compiled
def fade_triangles(triangles, directions, fade, regularization):
    """Return orthogonal factors (n, r, r + 1) of all rows and of the prior, faded as well.

    The directions (n, q, r) are those of ``forget_each``.
    """
    n, q, r = directions.shape
    faded, v, e, line = np.empty((n, r, r + 1)), np.empty(r), np.empty(r), np.empty(r + 1)
    for i in range(n):
        own = triangles[i].copy()
        for j in range(q):
            if not fade_factor(own, directions[i, j], fade, regularization, v, e):
                continue
            whole, own = own, np.zeros((r, r + 1))  # it is a triangle again
            for p in range(r):
                rotate_in_row(own, whole[p, :r], whole[p, r], line)
        faded[i] = own
    return faded


@compiled(allocates=False)
def fade_factor(factor, direction, fade, regularization, v, e):
    """Let a triangle (r, r + 1) lose what it knows of a direction; return whether it has changed.

    With T' T = W and a = w' G w, the Gram matrix becomes T' (I - e e') T, where
    e = ((1 - fade) / a)^(1/2) T^-T G w, so T is multiplied by the root of I - e e'. What it is then
    is no triangle. v and e (r,) are scratch.
    """
    r = len(direction)
    known, told, square = 0.0, 0.0, 0.0
    for p in range(r):
        v[p], e[p] = 0.0, direction[p]
        for q in range(p, r):
            v[p] += factor[p, q] * direction[q]
        for q in range(p):
            e[p] -= factor[q, p] * e[q]
        e[p] /= factor[p, p]  # T^-T w
    for p in range(r):
        e[p] = v[p] - regularization * e[p]  # T^-T G w
        known += e[p] * v[p]
        told += v[p] * factor[p, r]
        square += e[p] * e[p]
    if known <= 0.0:
        return False
    lost = (1.0 - fade) / known
    root = sqrt(max(1.0 - lost * square, 0.0))
    if root == 0.0:
        return False
    for q in range(r + 1):
        along = 0.0
        for p in range(r):
            if q == r:
                factor[p, r] -= lost * told * e[p]
            along += e[p] * factor[p, q]
        along *= (1.0 - root if q < r else 1.0 - 1.0 / root) / square
        for p in range(r):
            factor[p, q] -= along * e[p]
    return True


@compiled
def scales(keep, counts):
    """Return c after numbers of observations (n,), shape (n,)."""
    found = np.empty(len(counts))
    for i in range(len(counts)):
        found[i] = scale(keep, counts[i])
    return found
