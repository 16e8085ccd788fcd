"""Support functions and projections on polyhedra cut by an ellipsoid, for one replicate.

In whitened coordinates z, x = x_hat + F z: see ``rays``.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.bodies import (
    FEATURES,
    MEANS,
    REACH,
    UPPER,
    fill_means,
    keep_rivals,
    most,
    relax,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.rays import SLACK, C, Z, ray_path, support


@compiled(allocates=False)
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


@compiled(allocates=False)
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


@compiled(allocates=False)
def aim(direction, root, lines):
    """Fill the line C with a direction (D,) times F."""
    dim = len(root)
    for j in range(dim):
        lines[C, j] = 0.0
    for h in range(dim):
        entry = direction[h]
        if entry != 0.0:
            for j in range(h + 1):
                lines[C, j] += entry * root[h, j]


@compiled(allocates=False)
def is_inside(x, facets, bounds):
    """Whether a point (D,) violates no facet."""
    for i in range(len(bounds)):
        total = 0.0
        for j in range(len(x)):
            total += facets[i, j] * x[j]
        if total > bounds[i]:
            return False
    return True


@compiled(inline="always", allocates=False)
def project(cut, inverse, regularization, scratch, x):
    """Replace x (D,) by the nearest point of the polyhedron; whether that was found.

    The projection of a point is the end at u = 1 of the path that starts at an interior point and
    heads for it.
    """
    facets, bounds, interior, dim = cut.facets, cut.bounds, cut.center, len(x)
    root, rows, sides, lines = scratch.root, scratch.rows, scratch.sides, scratch.lines
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
        done = ray_path(np.inf, 1.0, rows, sides, lines, scratch.square, scratch.active)[1]
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


@compiled(allocates=False)
def face(inverse, regularization, x, facets, bounds, root, rows, sides):
    """Turn to the whitened coordinates of a replicate with its estimate x (D,)."""
    whiten_facets(inverse, regularization, facets, root, rows)
    for i in range(len(bounds)):
        total = 0.0
        for j in range(len(x)):
            total += facets[i, j] * x[j]
        sides[SLACK, i] = max(bounds[i] - total, 0.0)


@compiled(allocates=False)
def bound_pairs(beta, a, start, end, dim, ceilings, columns):
    """Fill upper bounds of how far actions of a group may be ahead of a.

    From the whole ellipsoid, and from the whole set Theta.
    """
    for b in range(start, end):
        columns[REACH, b] = 0.0
    for j in range(FEATURES, FEATURES + dim):
        own = columns[j, a]
        for b in range(start, end):
            away = columns[j, b] - own
            columns[REACH, b] += away * away
    mean = columns[MEANS, a]
    for b in range(start, end):
        wide = columns[MEANS, b] - mean + math.sqrt(beta * columns[REACH, b])
        columns[UPPER, b] = min(wide, ceilings[a, b - start])


@compiled(inline="always", allocates=False)
def gaps(cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out):
    """Fill exact or relaxed gaps within groups, by supports of differences.

    Whether all supports are proven; otherwise some gaps are bounds from above. Competitors are
    tried in the order of an upper bound until no other can be larger.
    """
    root, rows, sides, lines = scratch.root, scratch.rows, scratch.sides, scratch.lines
    columns, dim = scratch.columns, len(x)
    face(inverse, regularization, x, cut.facets, cut.bounds, root, rows, sides)
    fill_means(x, slopes, offsets, columns)
    for a in range(len(slopes)):
        aim(slopes[a], root, lines)
        for j in range(dim):
            columns[FEATURES + j, a] = lines[C, j]
    proven = True
    for group in range(len(groups) - 1):
        start, end = groups[group], groups[group + 1]
        g = most(columns, MEANS, start, end)
        for a in range(start, end):
            bound_pairs(beta, a, start, end, dim, cut.ceilings, columns)
            keep_rivals(a, g, relaxed, start, end, columns)
            best = 0.0
            while True:
                b = most(columns, UPPER, start, end)
                if columns[UPPER, b] <= best:
                    break
                for j in range(dim):
                    lines[C, j] = columns[FEATURES + j, b] - columns[FEATURES + j, a]
                value, exact = support(beta, rows, sides, lines, scratch.square, scratch.active)
                proven = proven and exact
                value = value + columns[MEANS, b] - columns[MEANS, a]
                best = max(best, min(value, columns[UPPER, b]))
                columns[UPPER, b] = 0.0
            out[a] = best
        if relaxed:
            relax(g, start, end, out)
    return proven


@compiled
def gaps_of_each(
    cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out
):
    """Fill the gaps of n replicates, one after the other; which (n,) are not proven."""
    missed = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        missed[i] = not gaps(
            cut,
            relaxed,
            inverse[i],
            regularization,
            x[i],
            beta[i],
            slopes,
            offsets,
            groups,
            scratch,
            out[i],
        )
    return missed


@compiled
def project_each(cut, inverse, regularization, scratch, x):
    """Project the points (n, D) of n replicates, in place; which (n,) were not found."""
    missed = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        missed[i] = not project(cut, inverse[i], regularization, scratch, x[i])
    return missed


@compiled(allocates=False)
def highest(x, beta, direction, scratch, point):
    """Return max <direction, y - x> over both sets, after ``face``, and whether it is proven.

    If not, it is a bound from above. ``point`` (D,) becomes the maximiser.
    """
    root, lines = scratch.root, scratch.lines
    aim(direction, root, lines)
    value, exact = support(beta, scratch.rows, scratch.sides, lines, scratch.square, scratch.active)
    for j in range(len(x)):
        point[j] = x[j]
        for h in range(j + 1):
            point[j] += root[j, h] * lines[Z, h]
    return value, exact


@compiled
def supports_of_each(cut, inverse, regularization, x, beta, directions, scratch):
    """Return support values (n, q), which are not proven, and maximisers (n, q, D)."""
    n, (q, dim) = len(x), directions.shape
    values, points, missed = np.empty((n, q)), np.empty((n, q, dim)), np.empty((n, q), np.bool_)
    root, rows, sides = scratch.root, scratch.rows, scratch.sides
    for i in range(n):
        face(inverse[i], regularization, x[i], cut.facets, cut.bounds, root, rows, sides)
        for t in range(q):
            value, exact = highest(x[i], beta[i], directions[t], scratch, points[i, t])
            for j in range(dim):
                value += directions[t, j] * x[i, j]
            values[i, t], missed[i, t] = value, not exact
    return values, missed, points
