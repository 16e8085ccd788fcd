"""Directed information of one replicate: about the rewards of the actions that may be best.

Of all pairs of actions that compete, that one counts about which two plausible parameters differ
most: the widest, by the support of the difference of its rewards plus that of the opposite. A pair
costs two supports only if the ellipsoid alone lets it be wider than those before it. Whether the
actions of the widest one are Pareto and plausible is decided next, and if one is not, another pair
is the widest. What cannot be decided here is asked for, one question at a time.
"""

# mypy: ignore-errors

from math import sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import bodies, plausible
from partial_monitoring.numerics.compiled import cut as cuts
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.plausible import NO, OPEN, YES

DONE, UNPROVEN, IS_PARETO, IS_PLAUSIBLE = range(4)
"""What is left to ask: nothing, some support, whether an action is Pareto, whether plausible."""

LEVEL = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""

ROUNDED_UP = 1.0 + 1e-9


class Contest(NamedTuple):
    """Actions that compete."""

    slopes: np.ndarray
    """Rewards are offsets + slopes x, shape (k, D)."""
    offsets: np.ndarray
    """Shape (k,)."""
    maps: np.ndarray
    """Whitened M_a W, shape (k, m, r)."""
    firsts: np.ndarray
    """The first of the duplicates of each action, shape (k,)."""
    pareto: np.ndarray
    """Whether each is Pareto, OPEN while that is not known, shape (k,), int8."""
    regularization: float


class Room(NamedTuple):
    """What one replicate works on, with as many actions or fewer."""

    points: np.ndarray
    """Where each action is furthest ahead of the greedy one, then the estimate, (k + 1, D)."""
    pulled: np.ndarray
    """Slopes times G^-1, shape (k, D)."""
    values: np.ndarray
    """Shape (k,)."""
    plausible: np.ndarray
    """Whether each may be best, OPEN while that is not known, shape (k,), int8."""
    lines: np.ndarray
    """A direction, the maximisers of it and of its opposite, their difference, and that of the pair
    that counts, shape (5, D)."""
    body: bodies.Scratch
    cell: plausible.Room


C, PLUS, MINUS, OMEGA, MOST = range(5)
"""The lines."""


def make_room(cut: bodies.Cut, k: int, r: int) -> Room:
    """Return room for k actions, of which observations see r coordinates."""
    dim = cut.facets.shape[1]
    sizes = (k + 1, dim), (k, dim), (k,)
    return Room(
        *map(np.empty, sizes),
        np.full(k, OPEN, np.int8),
        np.empty((5, dim)),
        bodies.make_scratch(cut, r, 0),
        plausible.make_room(cut, k, r),
    )


@compiled(allocates=False)
def aim(slopes, b, c, lines):
    """Set the direction to the difference of the rewards of two actions."""
    for j in range(lines.shape[1]):
        lines[C, j] = slopes[b, j] - slopes[c, j]


@compiled(allocates=False)
def apart(contest, cut, inverse, x, beta, room):
    """Return how much plausible parameters differ along the direction, and whether it is proven.

    Fills two that differ most, and their difference.
    """
    lines, lam, body = room.lines, contest.regularization, room.body
    high, proven = cuts.highest(cut, inverse, lam, x, beta, lines[C], body, lines[PLUS])
    for j in range(len(x)):
        high += lines[C, j] * x[j]
        lines[C, j] = -lines[C, j]
    low, also = cuts.highest(cut, inverse, lam, x, beta, lines[C], body, lines[MINUS])
    for j in range(len(x)):
        low += lines[C, j] * x[j]
        lines[OMEGA, j] = lines[PLUS, j] - lines[MINUS, j]
    return high + low, proven and also


@compiled(allocates=False)
def find_rivals(contest, cut, inverse, x, beta, greedy, room):
    """Find the actions that may be as good as the greedy one; whether that is proven.

    The others are not plausible.
    """
    points, lines, lam = room.points, room.lines, contest.regularization
    for a in range(len(contest.offsets)):
        aim(contest.slopes, a, greedy, lines)
        ahead, proven = cuts.highest(cut, inverse, lam, x, beta, lines[C], room.body, points[a])
        if not proven:
            return False
        for j in range(len(x)):
            ahead += lines[C, j] * x[j]
        ahead += contest.offsets[a]
        ahead -= contest.offsets[greedy]
        if a != greedy and not ahead >= 0.0:
            room.plausible[a] = NO
    return True


@compiled(allocates=False)
def find_best(contest, x, room):
    """Mark those actions as plausible that are best at the estimate or at a point at hand."""
    points, values, k = room.points, room.values, len(contest.offsets)
    for j in range(len(x)):
        points[k, j] = x[j]
    for point in range(k + 1):
        top, bottom = -np.inf, np.inf
        for a in range(k):
            value = contest.offsets[a]
            for j in range(len(x)):
                value += contest.slopes[a, j] * points[point, j]
            values[a] = value
            top, bottom = max(top, value), min(bottom, value)
        level = top - LEVEL * max(top - bottom, 1e-300)
        for a in range(k):
            if values[a] >= level and room.plausible[a] == OPEN:
                room.plausible[a] = YES


@compiled(allocates=False)
def fill(contest, omega, beta, information):
    """Fill |M_a omega|^2 / (2 beta)."""
    _, m, r = contest.maps.shape
    for a in range(len(information)):
        total = 0.0
        for i in range(m):
            entry = 0.0
            for p in range(r):
                entry += contest.maps[a, i, p] * omega[p]
            total += entry * entry
        information[a] = total / (2.0 * beta)


@compiled(allocates=False)
def start(relaxed, contest, cut, means, inverse, beta, x, room, information):
    """Return the greedy action, -1 if there is nothing to find out, -2 if that is not proven."""
    greedy = 0
    for a in range(len(means)):
        information[a] = 0.0
        greedy = a if means[a] > means[greedy] else greedy
    if not beta > 0.0:
        return -1
    cuts.face(cut, inverse, contest.regularization, x, room.body)
    if not find_rivals(contest, cut, inverse, x, beta, greedy, room):
        return -2
    if not relaxed:
        find_best(contest, x, room)
        for a in range(len(means)):
            cuts.fill_pulled(inverse, contest.regularization, contest.slopes[a], room.pulled[a])
    return greedy


@compiled(allocates=False)
def may_be_wider(contest, b, c, beta, most, room):
    """Whether two actions may compete, and more than others, as far as the ellipsoid can tell."""
    if contest.firsts[b] == contest.firsts[c]:
        return False
    if not counts(contest, c, room):
        return False
    squared = 0.0
    for j in range(room.pulled.shape[1]):
        away = contest.slopes[b, j] - contest.slopes[c, j]
        squared += away * (room.pulled[b, j] - room.pulled[c, j])
    return 2.0 * sqrt(beta * max(squared, 0.0)) * ROUNDED_UP > most


@compiled(allocates=False)
def counts(contest, a, room):
    """Whether action a is Pareto and plausible, or may be."""
    return contest.pareto[a] != NO and room.plausible[a] != NO


@compiled(allocates=False)
def question(contest, cut, gram, beta, x, a, room):
    """Return what to ask before action a is known to be Pareto and plausible, or not."""
    if contest.pareto[a] == OPEN:
        return IS_PARETO
    if contest.pareto[a] == YES and room.plausible[a] == OPEN:
        lam, slopes, offsets = contest.regularization, contest.slopes, contest.offsets
        room.plausible[a] = plausible.is_plausible(
            slopes, offsets, cut, gram, lam, x, beta, a, room.cell
        )
        if room.plausible[a] == OPEN:
            return IS_PLAUSIBLE
    return DONE


@compiled(allocates=False)
def find_widest(relaxed, contest, cut, inverse, beta, x, greedy, room):
    """Return the first pair of actions that may compete and differ most, and whether it is proven.

    The first is -1 if there is none. Fills the difference of the two parameters.
    """
    k, most, lines = len(contest.offsets), 0.0, room.lines
    first, second = -1, -1
    for b in range(k):
        if room.plausible[b] == NO or (not relaxed and contest.pareto[b] == NO):
            continue
        for c in range(greedy if relaxed else b + 1, greedy + 1 if relaxed else k):
            if not relaxed and not may_be_wider(contest, b, c, beta, most, room):
                continue
            aim(contest.slopes, b, c, lines)
            width, proven = apart(contest, cut, inverse, x, beta, room)
            if not proven:
                return first, second, False
            if width > most:
                most, first, second = width, b, c
                for j in range(len(x)):
                    lines[MOST, j] = lines[OMEGA, j]
    return first, second, True


@compiled(allocates=False)
def fill_directed(relaxed, contest, cut, means, gram, inverse, beta, x, room, information):
    """Fill the directed information (k,); return what is left to ask, and about which action.

    x (D,) is the estimate in Theta, and means (k,) are the rewards there. ``relaxed`` compares
    every action with the greedy one only. What is known to be plausible is in the room.
    """
    greedy = start(relaxed, contest, cut, means, inverse, beta, x, room, information)
    if greedy < 0:
        return (DONE if greedy == -1 else UNPROVEN), 0
    while True:
        b, c, proven = find_widest(relaxed, contest, cut, inverse, beta, x, greedy, room)
        if not proven:
            return UNPROVEN, 0
        if b < 0:
            return DONE, 0
        if not relaxed:
            asked = question(contest, cut, gram, beta, x, b, room)
            if asked != DONE:
                return asked, b
            if counts(contest, b, room):
                asked = question(contest, cut, gram, beta, x, c, room)
            if asked != DONE:
                return asked, c
        if relaxed or (counts(contest, b, room) and counts(contest, c, room)):
            fill(contest, room.lines[MOST], beta, information)
            return DONE, 0
