"""Theta as compiled functions take it, and what they work on for one replicate.

The functions of ``ball``, ``polyhedron`` and ``cut`` allocate nothing: all they need is in a
:class:`Scratch`, which is made once and belongs to one thread. Row numbers are NumPy's whole
numbers, because functions are compiled once more for each literal they are called with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.numerics.compiled.just_in_time import compiled

WHOLE, BALL, POLYHEDRON = 0, 1, 2

Array = NDArray[np.float64]


def numbered(count: int) -> list[np.int64]:
    """Return the numbers of some rows."""
    return [np.int64(row) for row in range(count)]


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
    """For polyhedra, how far each action of a group can be ahead of a on Theta: (k, q)."""


class Scratch(NamedTuple):
    """What the functions for one replicate work on."""

    root: Array
    """The reflections of a ball's coordinates (r, r), or the root of a polyhedron's (D, D)."""
    lines: Array
    """Rows of D numbers, as named in ``ball`` or in ``rays``."""
    columns: Array
    """Columns of the k actions: the rows named below, then D features in the coordinates of the
    replicate, and for balls D features times S."""
    rows: Array
    """Facets in the coordinates of a replicate, shape (f, D)."""
    sides: Array
    """Shape (2, f), as named in ``rays``."""
    square: Array
    """Shape (2 D + 4, D + 1), for paths in polyhedra."""
    active: NDArray[np.int64]
    """Shape (D + 1 + f,), for paths in polyhedra."""


UPPER, MEANS, TOWARD, REACH, LENGTH, FEATURES = numbered(6)
"""Rows of the columns: upper bounds of pairs, rewards at the estimate, products with the way to a
ball's centre, squared distances of pairs in the norm of S and in length."""

LINES = {WHOLE: 0, BALL: 13, POLYHEDRON: 4}
"""How many lines each kind needs."""


def make_scratch(cut: Cut, r: int, k: int) -> Scratch:
    """Return scratch for k actions, of which observations see r coordinates."""
    f, dim = cut.facets.shape
    size = r if cut.kind == BALL else dim
    return Scratch(
        np.zeros((size, size)),
        np.zeros((LINES[cut.kind], dim)),
        np.zeros((6 + 2 * dim, k)),
        np.zeros((f, dim)),
        np.zeros((2, f)),
        np.zeros((2 * dim + 4, dim + 1)),
        np.zeros(dim + 1 + f, np.int64),
    )


@compiled(allocates=False)
def fill_means(x, slopes, offsets, columns):
    """Fill the rewards at a point x (D,)."""
    for a in range(len(slopes)):
        total = offsets[a]
        for j in range(len(x)):
            total += slopes[a, j] * x[j]
        columns[MEANS, a] = total


@compiled(allocates=False)
def most(columns, row, start, end):
    """Return the first action of a group with the largest entry in a row."""
    best = start
    for b in range(start + 1, end):
        if columns[row, b] > columns[row, best]:
            best = b
    return best


@compiled(allocates=False)
def keep_rivals(a, g, relaxed, start, end, columns):
    """Leave out the action itself, and with relaxed gaps all but the greedy one g, unless it is a.

    Their upper bounds become zero.
    """
    columns[UPPER, a] = 0.0
    if relaxed and a != g:
        for b in range(start, end):
            if b != g:
                columns[UPPER, b] = 0.0


@compiled(allocates=False)
def relax(g, start, end, gaps):
    """Add the gap of the greedy action g of a group to the others."""
    for a in range(start, end):
        if a != g:
            gaps[a] += gaps[g]
