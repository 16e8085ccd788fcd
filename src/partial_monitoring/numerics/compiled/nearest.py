"""The distance of a point from a polyhedron in the norm of a precision, for one replicate.

Where C C' is the precision and z = C' (x - x_hat), the distance of x_hat is the least |z|.
"""

# mypy: ignore-errors

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

VIOLATED = 1e-11
"""A facet is violated if a point is further outside than this fraction of its distance from 0."""

PARALLEL = 1e-12
"""A unit normal of which less than this square is left is a combination of the active ones."""

MOST_STEPS = 1000
"""The most facets that are added for one distance, never reached in tests: then it is too small."""


class Nearest(NamedTuple):
    """Room for the distances of n replicates."""

    rows: np.ndarray
    """Unit normals of the facets in coordinates z, shape (n, f, D)."""
    slack: np.ndarray
    """Distances of the facets from z = 0, negative if it is outside, shape (n, f)."""
    basis: np.ndarray
    """An orthonormal basis of the active normals, shape (n, D + 1, D)."""
    triangle: np.ndarray
    """The active normals in this basis, shape (n, D + 1, D + 1)."""
    lines: np.ndarray
    """The point z, a direction, coefficients, multipliers, shape (n, 4, D + 1)."""
    active: np.ndarray
    """The numbers of the active facets, shape (n, D + 1)."""


Z, AWAY, PULL, FORCE = range(4)
"""The rows of ``lines``."""


@compiled(allocates=False)
def factor(precision, regularization, root):
    """Fill C (D, D), lower triangular with C C' = diag(precision, regularization I)."""
    r, dim = len(precision), len(root)
    for j in range(dim):
        for i in range(j + 1):
            entry = precision[j, i] if j < r else (regularization if i == j else 0.0)
            for h in range(i):
                entry -= root[j, h] * root[i, h]
            root[j, i] = entry / root[i, i] if i < j else sqrt(entry)


@compiled(allocates=False)
def forward(root, right, out):
    """Fill out with C^-1 right."""
    for j in range(len(right)):
        entry = right[j]
        for h in range(j):
            entry -= root[j, h] * out[h]
        out[j] = entry / root[j, j]


@compiled(allocates=False)
def backward(root, size, x):
    """Replace the first entries of x by C^-T x."""
    for j in range(size - 1, -1, -1):
        entry = x[j]
        for h in range(j + 1, size):
            entry -= root[h, j] * x[h]
        x[j] = entry / root[j, j]


@compiled(allocates=False)
def face(facets, bounds, root, x, rows, slack):
    """Fill unit normals and distances of all facets in coordinates z around x."""
    for f in range(len(bounds)):
        forward(root, facets[f], rows[f])
        square, room = 0.0, bounds[f]
        for j in range(len(x)):
            square += rows[f, j] * rows[f, j]
            room -= facets[f, j] * x[j]
        scale = 1.0 / sqrt(square)
        slack[f] = room * scale
        for j in range(len(x)):
            rows[f, j] *= scale


@compiled(allocates=False)
def distance(room, own, limit, i):
    """Return the squared distance of z = 0 from the facets ``own``, or infinity if above the limit.

    The dual method of Goldfarb and Idnani (1983): from the nearest point of the half-spaces of the
    active facets, step to that of one more, the most violated one, and drop those whose multiplier
    becomes zero on the way. Distances only grow, so that most cells are ruled out by one facet.
    """
    rows, slack, lines = room.rows[i], room.slack[i], room.lines[i]
    basis, triangle, active = room.basis[i], room.triangle[i], room.active[i]
    dim, size = rows.shape[1], 0
    for j in range(dim):
        lines[Z, j] = 0.0
    for _ in range(MOST_STEPS):
        entering, most = -1, 0.0
        for place in range(len(own)):
            f = own[place]
            if f >= 0:
                excess = over(rows, slack, lines, f)
                if excess > most and excess > VIOLATED * (1.0 + abs(slack[f])):
                    entering, most = f, excess
        if entering < 0:
            break
        size = enter(rows, slack, lines, basis, triangle, active, size, entering)
        if size < 0:
            break
        if length(lines) > limit:
            return inf
    return length(lines)


@compiled(allocates=False)
def over(rows, slack, lines, f):
    """Return by how much the point z violates facet f."""
    excess = -slack[f]
    for j in range(rows.shape[1]):
        excess += rows[f, j] * lines[Z, j]
    return excess


@compiled(allocates=False)
def length(lines):
    """Return |z|^2."""
    total = 0.0
    for j in range(lines.shape[1] - 1):
        total += lines[Z, j] * lines[Z, j]
    return total


@compiled(allocates=False)
def enter(rows, slack, lines, basis, triangle, active, size, f):
    """Move z to the nearest point of the active half-spaces and that of facet f.

    Return how many facets are active then; -1 if no point is in all of them, which is rounding.
    """
    dim, force = rows.shape[1], 0.0
    while True:
        square = split(rows, basis, size, f, lines)
        solve(triangle, size, lines)
        step, leaving = inf, -1
        for j in range(size):
            if lines[PULL, j] > 0.0 and lines[FORCE, j] < step * lines[PULL, j]:
                step, leaving = lines[FORCE, j] / lines[PULL, j], j
        whole = over(rows, slack, lines, f) / square if square > PARALLEL else inf
        if whole == inf and leaving < 0:
            return -1
        step = min(step, whole)
        if square > PARALLEL:
            for j in range(dim):
                lines[Z, j] -= step * lines[AWAY, j]
        for j in range(size):
            lines[FORCE, j] -= step * lines[PULL, j]
        force += step
        if step == whole:
            split(rows, basis, size, f, lines)
            append(rows, basis, triangle, active, lines, size, f)
            lines[FORCE, size] = force
            return size + 1
        for j in range(leaving, size - 1):
            active[j], lines[FORCE, j] = active[j + 1], lines[FORCE, j + 1]
        size -= 1
        for j in range(leaving, size):
            split(rows, basis, j, active[j], lines)
            append(rows, basis, triangle, active, lines, j, active[j])


@compiled(allocates=False)
def split(rows, basis, size, f, lines):
    """Split the normal of facet f in coefficients of the basis and the rest; return its square.

    Twice, because what the first projection leaves is orthogonal only up to rounding.
    """
    dim = rows.shape[1]
    for j in range(dim):
        lines[AWAY, j] = rows[f, j]
    for h in range(size):
        lines[PULL, h] = 0.0
    for _ in range(2):
        for h in range(size):
            share = 0.0
            for j in range(dim):
                share += basis[h, j] * lines[AWAY, j]
            lines[PULL, h] += share
            for j in range(dim):
                lines[AWAY, j] -= share * basis[h, j]
    square = 0.0
    for j in range(dim):
        square += lines[AWAY, j] * lines[AWAY, j]
    return square


@compiled(allocates=False)
def append(rows, basis, triangle, active, lines, size, f):
    """Add the normal of facet f, which was split, to the active ones."""
    square = 0.0
    for j in range(rows.shape[1]):
        square += lines[AWAY, j] * lines[AWAY, j]
    rest = sqrt(square)
    for h in range(size):
        triangle[size, h] = lines[PULL, h]
    triangle[size, size] = rest
    for j in range(rows.shape[1]):
        basis[size, j] = lines[AWAY, j] / rest
    active[size] = f


@compiled(allocates=False)
def solve(triangle, size, lines):
    """Replace coefficients in the basis by those of the active normals."""
    for h in range(size - 1, -1, -1):
        entry = lines[PULL, h]
        for j in range(h + 1, size):
            entry -= triangle[j, h] * lines[PULL, j]
        lines[PULL, h] = entry / triangle[h, h]
