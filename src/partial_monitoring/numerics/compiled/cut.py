"""Gaps over Theta cut by an ellipsoid, and projections onto Theta, of one replicate.

Theta is a ball or a polyhedron in coordinates x. The functions allocate nothing: all they need is
in a :class:`Scratch`, which is made once and belongs to one thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics.compiled import ball, polyhedron
from partial_monitoring.numerics.compiled.ball import face as face_ball
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.pairs import FEATURES, fill_means
from partial_monitoring.numerics.compiled.polyhedron import face as face_polyhedron

WHOLE, BALL, POLYHEDRON = 0, 1, 2

Array = NDArray[np.float64]


class Cut(NamedTuple):
    """Theta in coordinates x: everything, a ball, or a polyhedron {x : facets x <= bounds}."""

    kind: int
    """WHOLE, BALL or POLYHEDRON."""
    center: Array
    """The centre of the ball, or a point of the interior of the polyhedron, shape (D,)."""
    radius: float
    facets: Array
    """Shape (f, D)."""
    bounds: Array
    """Shape (f,)."""
    ceilings: Array
    """How far an action of a polyhedron's game may be behind each of its group, shape (k, q)."""


class Scratch(NamedTuple):
    """What the functions for one replicate work on."""

    reflectors: Array
    """Shape (r, r), for balls."""
    root: Array
    """Shape (D, D), for polyhedra."""
    lines: Array
    """Rows of D numbers, as named in ``ball`` or in ``rays``."""
    columns: Array
    """Columns of the k actions, as named in ``pairs``."""
    rows: Array
    """Facets in the coordinates of a replicate, shape (f, D)."""
    sides: Array
    """Shape (2, f)."""
    square: Array
    """Shape (2 D + 4, D + 1), for polyhedra."""
    active: NDArray[np.int64]
    """Shape (D + 1 + f,)."""


def make_scratch(cut: Cut, r: int, k: int) -> Scratch:
    """Return scratch for k actions, of which observations see r coordinates."""
    f, dim = cut.facets.shape
    curved, flat = int(cut.kind == BALL), int(cut.kind == POLYHEDRON)
    return Scratch(
        np.zeros((r * curved, r * curved)),
        np.zeros((dim * flat, dim * flat)),
        np.zeros((ball.ROWS if curved else 4, dim)),
        np.zeros((FEATURES + (1 + curved) * dim, k)),
        np.zeros((f, dim)),
        np.zeros((2, f)),
        np.zeros((2 * dim + 4, dim + 1)),
        np.zeros(dim + 1 + f, np.int64),
    )


@compiled
def project(cut, inverse, regularization, x, scratch, out):
    """Fill out (D,) with the point of Theta nearest to x (r,), zero beyond, in the norm of G.

    Whether it was found: G = diag(inverse^-1, regularization I).
    """
    for j in range(len(out)):
        out[j] = x[j] if j < len(x) else 0.0
    if cut.kind == BALL:
        ball.project(
            cut.center,
            cut.radius,
            inverse,
            regularization,
            scratch.reflectors,
            scratch.lines,
            out,
        )
    if cut.kind != POLYHEDRON:
        return True
    return polyhedron.project(
        inverse,
        regularization,
        cut.facets,
        cut.bounds,
        cut.center,
        scratch.root,
        scratch.rows,
        scratch.sides,
        scratch.lines,
        scratch.square,
        scratch.active,
        out,
    )


@compiled
def gaps(cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out):
    """Fill out (k,) with exact or relaxed gaps within groups, over Theta cut by the ellipsoid.

    The estimate x (D,) is in Theta; rewards are offsets (k,) + slopes (k, D) x. Whether all gaps
    are exact; otherwise some are bounds from above.
    """
    columns, lines = scratch.columns, scratch.lines
    fill_means(x, slopes, offsets, columns)
    exact = True
    if cut.kind == BALL:
        beta = max(beta, 1e-300)
        face_ball(cut.center, inverse, regularization, x, scratch.reflectors, lines)
        ball.bring(slopes, scratch.reflectors, lines, columns)
        for group in range(len(groups) - 1):
            start, end = groups[group], groups[group + 1]
            if relaxed:
                ball.relaxed_gaps(beta, cut.radius, start, end, lines, columns, out)
            else:
                for a in range(start, end):
                    out[a] = ball.exact_gap(a, beta, cut.radius, start, end, lines, columns)
        return exact
    root, rows, sides = scratch.root, scratch.rows, scratch.sides
    square, active = scratch.square, scratch.active
    face_polyhedron(inverse, regularization, x, cut.facets, cut.bounds, root, rows, sides)
    polyhedron.bring(slopes, root, lines, columns)
    for group in range(len(groups) - 1):
        start, end = groups[group], groups[group + 1]
        if relaxed:
            proven = polyhedron.relaxed_gaps(
                x,
                beta,
                slopes,
                offsets,
                start,
                end,
                root,
                rows,
                sides,
                lines,
                square,
                active,
                columns,
                out,
            )
        else:
            proven = polyhedron.exact_gaps(
                beta, start, end, cut.ceilings, rows, sides, lines, square, active, columns, out
            )
        exact = exact and proven
    return exact


@compiled
def project_each(cut, inverse, regularization, x, scratch, out):
    """Project estimates x (n, r) of n replicates, one after the other; which (n,) were not found."""
    failed = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        failed[i] = not project(cut, inverse[i], regularization, x[i], scratch, out[i])
    return failed


@compiled
def gaps_of_each(
    cut, relaxed, inverse, regularization, x, beta, slopes, offsets, groups, scratch, out
):
    """Fill the gaps of n replicates, one after the other; which (n,) are not all exact."""
    open_ = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        open_[i] = not gaps(
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
    return open_


@compiled
def supports_of_each(cut, inverse, regularization, x, beta, directions, scratch):
    """Return values, whether certified (1 or 0) and maximisers of directions, shape (n, q, 2 + D)."""
    n, (q, dim) = len(x), directions.shape
    out = np.empty((n, q, 2 + dim))
    lines, root = scratch.lines, scratch.root
    for i in range(n):
        own = out[i]
        if cut.kind == BALL:
            face_ball(cut.center, inverse[i], regularization, x[i], scratch.reflectors, lines)
            ball.supports(
                cut.center,
                cut.radius,
                max(beta[i], 1e-300),
                directions,
                x[i],
                scratch.reflectors,
                lines,
                own,
            )
        else:
            face_polyhedron(
                inverse[i],
                regularization,
                x[i],
                cut.facets,
                cut.bounds,
                root,
                scratch.rows,
                scratch.sides,
            )
            polyhedron.supports(
                x[i],
                beta[i],
                directions,
                root,
                scratch.rows,
                scratch.sides,
                lines,
                scratch.square,
                scratch.active,
                own,
            )
    return out
