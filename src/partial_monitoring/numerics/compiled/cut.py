"""Gaps and supports of Theta cut by an ellipsoid, and projections onto it, of one replicate."""

from __future__ import annotations

from math import sqrt

from partial_monitoring.numerics.compiled import ball, polyhedron
from partial_monitoring.numerics.compiled.bodies import BALL, POLYHEDRON
from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled(inline="always", allocates=False)
def project(cut, inverse, regularization, scratch, x):
    """Replace x (D,) by the nearest point of Theta in the norm of G; whether that was found.

    G^-1 = diag(inverse, I / regularization).
    """
    found = True
    if cut.kind == BALL:
        found = ball.project(cut, inverse, regularization, scratch, x)
    elif cut.kind == POLYHEDRON:
        found = polyhedron.project(cut, inverse, regularization, scratch, x)
    return found


@compiled(inline="always", allocates=False)
def gaps(cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out):
    """Fill out (k,) with exact or relaxed gaps within groups, over Theta cut by the ellipsoid.

    The estimate x (D,) is in Theta, a ball or a polyhedron; rewards are offsets (k,) + slopes
    (k, D) x. Whether all gaps are proven; otherwise some are bounds from above.
    """
    if cut.kind == BALL:
        proven = ball.gaps(
            cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out
        )
    else:
        proven = polyhedron.gaps(
            cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out
        )
    return proven


@compiled(allocates=False)
def face(cut, inverse, regularization, x, scratch):
    """Turn to the coordinates of a replicate, in which ``highest`` works."""
    root = scratch.root
    if cut.kind == BALL:
        ball.face(cut.center, inverse, regularization, x, root, scratch.lines)
    elif cut.kind == POLYHEDRON:
        rows, sides = scratch.rows, scratch.sides
        polyhedron.face(inverse, regularization, x, cut.facets, cut.bounds, root, rows, sides)


@compiled(allocates=False)
def highest(cut, inverse, regularization, x, beta, direction, scratch, point):
    """Return max <direction, y - x> over Theta cut by the ellipsoid, and whether it is proven.

    ``point`` (D,) becomes the maximiser.
    """
    if cut.kind == BALL:
        return ball.highest(cut, x, beta, direction, scratch, point), True
    if cut.kind == POLYHEDRON:
        return polyhedron.highest(x, beta, direction, scratch, point)
    fill_pulled(inverse, regularization, direction, point)
    squared = 0.0
    for j in range(len(x)):
        squared += direction[j] * point[j]
    width = sqrt(max(squared, 0.0))
    step = sqrt(beta) / width if width > 0.0 else 0.0
    for j in range(len(x)):
        point[j] = x[j] + step * point[j]
    return sqrt(beta) * width, True


@compiled(allocates=False)
def fill_pulled(inverse, regularization, direction, out):
    """Fill out (D,) with G^-1 direction."""
    r = len(inverse)
    for p in range(len(direction)):
        entry = direction[p] / regularization
        if p < r:
            entry = 0.0
            for q in range(r):
                entry += inverse[p, q] * direction[q]
        out[p] = entry
