"""What belongs to the actions of one replicate: an array with a column for each.

Its first rows are named here; then come the D features in the coordinates of the replicate, and for
balls another D, the features times S.
"""

from __future__ import annotations

import math

from partial_monitoring.numerics.compiled.just_in_time import compiled

UPPER, MEANS, TOWARD, REACH, LENGTH = 0, 1, 2, 3, 4
"""Upper bounds of pairs, rewards at the estimate, products with the way to a ball's centre, and
squared distances of pairs in the norm of S and in length."""

FEATURES = 5


@compiled
def fill_means(x, slopes, offsets, columns):
    """Fill the rewards at a point x (D,)."""
    for a in range(len(slopes)):
        total = offsets[a]
        for j in range(len(x)):
            total += slopes[a, j] * x[j]
        columns[MEANS, a] = total


@compiled
def most_likely(columns, start, end):
    """Return the first action of a group with the largest upper bound."""
    best = start
    for b in range(start + 1, end):
        if columns[UPPER, b] > columns[UPPER, best]:
            best = b
    return best


@compiled
def first_best(columns, start, end):
    """Return the greedy action of a group."""
    best = start
    for b in range(start + 1, end):
        if columns[MEANS, b] > columns[MEANS, best]:
            best = b
    return best


@compiled
def fill_reach(a, start, end, dim, columns):
    """Fill squared distances |phi_b - phi_a|^2 in whitened coordinates for a group of actions."""
    for b in range(start, end):
        columns[REACH, b] = 0.0
    for j in range(FEATURES, FEATURES + dim):
        own = columns[j, a]
        for b in range(start, end):
            c = columns[j, b] - own
            columns[REACH, b] += c * c


@compiled
def bound_by_ellipsoid(beta, a, start, end, columns):
    """Fill upper bounds of how far actions of a group may be ahead of a, in the ellipsoid."""
    mean = columns[MEANS, a]
    for b in range(start, end):
        wide = math.sqrt(beta * max(columns[REACH, b], 0.0))
        columns[UPPER, b] = columns[MEANS, b] - mean + wide
