"""Support functions and projections on polyhedra cut by an ellipsoid, for one replicate.

Scratch: ``root`` (D, D), ``rows`` (f, D) the whitened facets, ``sides``, ``lines``, ``square`` and
``active`` as in ``rays``, ``columns`` (k columns) what belongs to the actions.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.pairs import (
    FEATURES,
    MEANS,
    UPPER,
    bound_by_ellipsoid,
    fill_reach,
    first_best,
    most_likely,
)
from partial_monitoring.numerics.compiled.rays import SLACK, C, Z, ray_path, support


@compiled
def whiten(inverse, regularization, root):
    """Fill the lower triangular F (D, D) with F F' = diag(inverse, I / regularization)."""
    r, dim = len(inverse), len(root)
    for i in range(dim):
        for j in range(dim):
            root[i, j] = 0.0
    for j in range(r):
        pivot = inverse[j, j]
        for h in range(j):
            pivot -= root[j, h] * root[j, h]
        # A pivot below the rounding of the inverse is not known to be smaller than that.
        root[j, j] = math.sqrt(max(pivot, 2.0**-52 * inverse[j, j]))
        for i in range(j + 1, r):
            entry = inverse[i, j]
            for h in range(j):
                entry -= root[i, h] * root[j, h]
            root[i, j] = entry / root[j, j]
    for j in range(r, dim):
        root[j, j] = 1.0 / math.sqrt(regularization)


@compiled
def whiten_facets(inverse, regularization, facets, root, rows):
    """Fill F and the facets times F (f, D)."""
    whiten(inverse, regularization, root)
    for i in range(len(facets)):
        for j in range(len(root)):
            rows[i, j] = 0.0
        for h in range(len(root)):
            entry = facets[i, h]
            if entry != 0.0:
                for j in range(h + 1):
                    rows[i, j] += entry * root[h, j]


@compiled
def aim(directions, t, from_t, root, lines):
    """Fill the line C with a direction times F: row t, minus row ``from_t`` unless it is -1."""
    dim = len(root)
    for j in range(dim):
        lines[C, j] = 0.0
    for h in range(dim):
        entry = directions[t, h] - (directions[from_t, h] if from_t >= 0 else 0.0)
        if entry != 0.0:
            for j in range(h + 1):
                lines[C, j] += entry * root[h, j]


@compiled
def is_inside(x, facets, bounds):
    """Whether a point (D,) violates no facet."""
    for i in range(len(bounds)):
        total = 0.0
        for j in range(len(x)):
            total += facets[i, j] * x[j]
        if total > bounds[i]:
            return False
    return True


@compiled
def project(
    inverse, regularization, facets, bounds, interior, root, rows, sides, lines, square, active, x
):
    """Replace x (D,) by the nearest point of the polyhedron; whether that was found.

    The projection of a point is the end at u = 1 of the path that starts at an interior point and
    heads for it.
    """
    dim = len(x)
    if is_inside(x, facets, bounds):
        return True
    whiten_facets(inverse, regularization, facets, root, rows)
    for i in range(len(bounds)):
        room = bounds[i]
        for j in range(dim):
            room -= facets[i, j] * interior[j]
        sides[SLACK, i] = room
    for j in range(dim):  # direction = root^-1 (x - interior), by forward substitution
        entry = x[j] - interior[j]
        for h in range(j):
            entry -= root[j, h] * lines[C, h]
        lines[C, j] = entry / root[j, j]
    done = False
    # A far point is replaced by a near one on the ray from the answer, which projects alike.
    for _ in range(3):
        done = ray_path(np.inf, 1.0, rows, sides, lines, square, active)[1]
        far, near = 0.0, 1.0
        for j in range(dim):
            far = max(far, abs(lines[C, j] - lines[Z, j]))
            near = max(near, abs(lines[Z, j]))
        if not done or far <= 10.0 * near:
            break
        for j in range(dim):
            lines[C, j] = lines[Z, j] + (lines[C, j] - lines[Z, j]) * (near / far)
    for j in range(dim):
        x[j] = interior[j]
        for h in range(j + 1):
            x[j] += root[j, h] * lines[Z, h]
    return done


@compiled
def face(inverse, regularization, x, facets, bounds, root, rows, sides):
    """Turn to the whitened coordinates of a replicate with its estimate x (D,)."""
    whiten_facets(inverse, regularization, facets, root, rows)
    for i in range(len(bounds)):
        total = 0.0
        for j in range(len(x)):
            total += facets[i, j] * x[j]
        sides[SLACK, i] = max(bounds[i] - total, 0.0)


@compiled
def supports(x, beta, directions, root, rows, sides, lines, square, active, out):
    """Fill out (q, 2 + D) with support values, 1 if certified, and maximisers of directions (q, D).

    After :func:`face`.
    """
    dim = len(x)
    for t in range(len(directions)):
        aim(directions, t, -1, root, lines)
        value, certified = support(beta, rows, sides, lines, square, active)
        for j in range(dim):
            value += directions[t, j] * x[j]
            out[t, 2 + j] = x[j]
            for h in range(j + 1):
                out[t, 2 + j] += root[j, h] * lines[Z, h]
        out[t, 0], out[t, 1] = value, 1.0 if certified else 0.0


@compiled
def bring(slopes, root, lines, columns):
    """Fill the features (k, D) in whitened coordinates."""
    for a in range(len(slopes)):
        aim(slopes, a, -1, root, lines)
        for j in range(len(root)):
            columns[FEATURES + j, a] = lines[C, j]


@compiled
def exact_gaps(beta, start, end, ceilings, rows, sides, lines, square, active, columns, gaps):
    """Fill max over b of the support of phi_b - phi_a for every action of a group.

    Whether all of them are exact; otherwise some are bounds from above. Competitors are tried in
    the order of an upper bound (the whole ellipsoid, or the whole set Theta, ``ceilings``), until
    no other can be larger.
    """
    dim = rows.shape[1]
    exact = True
    for a in range(start, end):
        fill_reach(a, start, end, dim, columns)
        bound_by_ellipsoid(beta, a, start, end, columns)
        for b in range(start, end):
            columns[UPPER, b] = min(columns[UPPER, b], ceilings[a, b - start])
        columns[UPPER, a] = 0.0
        best = 0.0
        while True:
            b = most_likely(columns, start, end)
            if columns[UPPER, b] <= best:
                break
            for j in range(dim):
                lines[C, j] = columns[FEATURES + j, b] - columns[FEATURES + j, a]
            value, proven = support(beta, rows, sides, lines, square, active)
            exact = exact and proven
            best = max(best, min(value + columns[MEANS, b] - columns[MEANS, a], columns[UPPER, b]))
            columns[UPPER, b] = 0.0
        gaps[a] = best
    return exact


@compiled
def beyond(x, beta, slopes, offsets, a, g, root, rows, sides, lines, square, active):
    """Return how far a may be ahead of g, and whether that is exact; else it is a bound."""
    aim(slopes, a, g, root, lines)
    value, proven = support(beta, rows, sides, lines, square, active)
    for j in range(len(x)):
        value += (slopes[a, j] - slopes[g, j]) * x[j]
    return value + (offsets[a] - offsets[g]), proven


@compiled
def relaxed_gaps(
    x, beta, slopes, offsets, start, end, root, rows, sides, lines, square, active, columns, gaps
):
    """Fill the gaps of a group through its greedy action; whether all of them are exact."""
    g = first_best(columns, start, end)
    fill_reach(g, start, end, rows.shape[1], columns)
    bound_by_ellipsoid(beta, g, start, end, columns)
    delta, exact = 0.0, True
    for a in range(start, end):
        if a != g and columns[UPPER, a] > delta:
            value, proven = beyond(
                x, beta, slopes, offsets, a, g, root, rows, sides, lines, square, active
            )
            exact = exact and proven
            delta = max(delta, value)
    for a in range(start, end):
        gaps[a] = delta
        if a != g:
            value, proven = beyond(
                x, beta, slopes, offsets, g, a, root, rows, sides, lines, square, active
            )
            exact = exact and proven
            gaps[a] += max(value, 0.0)
    return exact
