"""Gaps over Theta cut by an ellipsoid, and projections onto Theta, of one replicate."""

from __future__ import annotations

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
