"""Whether an action is best for some parameter in Theta and the ellipsoid, for one replicate.

Its cell is a polyhedron, C = {x : <phi_b - phi_a, x> <= c_a - c_b for all b}, cut by the facets of
Theta if there are any: the action may be best if the distance of the estimate from C in the norm of
G is at most beta^(1/2). Where Theta is a ball with centre c, for every mu >= 0 the least value of

    |x - x_hat|_G^2 - beta + mu (|x - c|^2 - radius^2)

over C must not be positive, and the action may be best if the point where it is attained lies in
both. As mu grows that point moves from the ellipsoid to the ball, so mu is found by bisection.
"""

# mypy: ignore-errors

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import bodies, nearest
from partial_monitoring.numerics.compiled.bodies import BALL
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.nearest import Nearest, Z, backward, forward

NO, YES, OPEN = 0, 1, -1

MARGIN = 1e-9
"""Squared distances that are larger by less than this fraction count as equal."""

OUTSIDE = 1e-9
"""A point that is further outside of a facet than this fraction of its distance is not in it."""

STEPS = 60


class Room(NamedTuple):
    """What the decision works on."""

    near: Nearest
    """With rows for all actions and all facets of Theta."""
    own: np.ndarray
    """Which of these bound the cell, -1 for those that do not, shape (k + f,) or larger."""
    gram: np.ndarray
    """W_t + mu I, shape (r, r)."""
    root: np.ndarray
    """The root of G + mu I, shape (D, D)."""
    center: np.ndarray
    """The point with the least value, whatever the cell, shape (D,)."""
    line: np.ndarray
    """Shape (D,)."""


def make_room(cut: bodies.Cut, k: int, r: int) -> Room:
    """Return room for k actions, of which observations see r coordinates."""
    f, dim = cut.facets.shape
    count = k + f
    near = Nearest(
        np.empty((1, count, dim)),
        np.empty((1, count)),
        np.empty((1, dim + 1, dim)),
        np.empty((1, dim + 1, dim + 1)),
        np.empty((1, 4, dim + 1)),
        np.empty((1, dim + 1), np.int64),
    )
    lines = np.empty((r, r)), np.empty((dim, dim)), np.empty(dim), np.empty(dim)
    return Room(near, np.empty(count, np.int64), *lines)


@compiled(allocates=False)
def surround(slopes, offsets, cut, a, room):
    """Fill what bounds the cell of action a, around the centre in the coordinates of the root."""
    k, line, center = len(slopes), room.line, room.center
    rows, slack = room.near.rows[0], room.near.slack[0]
    for f in range(k + len(cut.bounds)):
        distance, square = 0.0, 0.0
        for j in range(len(line)):
            line[j] = slopes[f, j] - slopes[a, j] if f < k else cut.facets[f - k, j]
            distance -= line[j] * center[j]
        distance += offsets[a] - offsets[f] if f < k else cut.bounds[f - k]
        forward(room.root, line, rows[f])
        for j in range(len(line)):
            square += rows[f, j] * rows[f, j]
        room.own[f] = f if square > 0.0 else -1
        if square > 0.0:
            slack[f] = distance / sqrt(square)
            for j in range(len(line)):
                rows[f, j] /= sqrt(square)


@compiled(allocates=False)
def is_in_cell(own, room):
    """Whether the point that was found violates nothing that bounds the cell."""
    rows, slack, lines = room.near.rows[0], room.near.slack[0], room.near.lines[0]
    for f in range(len(own)):
        if own[f] >= 0 and nearest.over(rows, slack, lines, f) > OUTSIDE * (1.0 + abs(slack[f])):
            return False
    return True


@compiled(allocates=False)
def norm(gram, regularization, x, y):
    """Return |x - y|_G^2."""
    r, total = len(gram), 0.0
    for p in range(len(x)):
        entry = regularization * (x[p] - y[p])
        if p < r:
            entry = 0.0
            for q in range(r):
                entry += gram[p, q] * (x[q] - y[q])
        total += entry * (x[p] - y[p])
    return total


@compiled(allocates=False)
def squared_distance(x, y):
    """Return |x - y|^2."""
    total = 0.0
    for p in range(len(x)):
        total += (x[p] - y[p]) ** 2
    return total


@compiled(allocates=False)
def move_center(cut, gram, regularization, x, mu, room):
    """Fill the root of G + mu I and the centre, x + mu (G + mu I)^-1 (c - x)."""
    r = len(gram)
    for p in range(r):
        for q in range(r):
            room.gram[p, q] = gram[p, q] + (mu if p == q else 0.0)
    nearest.factor(room.gram, regularization + mu, room.root)
    for p in range(len(x)):
        room.line[p] = mu * (cut.center[p] - x[p])
    forward(room.root, room.line, room.center)
    backward(room.root, len(x), room.center)
    for p in range(len(x)):
        room.center[p] += x[p]


@compiled(allocates=False)
def is_plausible(slopes, offsets, cut, gram, regularization, x, beta, a, room):
    """Return YES, NO or, if that is not proven, OPEN."""
    low, high, mu, dim = 0.0, inf, 0.0, len(x)
    own = room.own[: len(slopes) + len(cut.bounds)]
    squared, center, line = cut.radius * cut.radius, room.center, room.line
    for _ in range(STEPS):
        move_center(cut, gram, regularization, x, mu, room)
        surround(slopes, offsets, cut, a, room)
        limit = beta
        if mu > 0.0:
            spent = norm(gram, regularization, center, x)
            limit += mu * (squared - squared_distance(center, cut.center)) - spent
        found = nearest.distance(room.near, own, limit + MARGIN * (beta + mu * squared), 0)
        if found == inf:
            return NO
        if not is_in_cell(own, room):
            return OPEN
        if cut.kind != BALL:
            return YES
        for p in range(dim):
            line[p] = room.near.lines[0, Z, p]
        backward(room.root, dim, line)
        for p in range(dim):
            line[p] += center[p]
        if squared_distance(line, cut.center) <= squared * (1.0 + MARGIN):
            if norm(gram, regularization, line, x) <= beta * (1.0 + MARGIN):
                return YES
            high = mu
        else:
            low = mu
        if high < inf:
            mu = sqrt(max(low, 1e-9 * high) * high)
        else:
            mu = max(8.0 * low, 1e-3 * beta / squared)
    return OPEN
