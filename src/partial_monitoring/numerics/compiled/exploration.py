"""The cheapest rates of exploration that tell a leading action from all its rivals.

    minimise sum_a r_a gap_a   subject to   sum_a r_a D_a(q) >= 1   for all rivals' distributions q,

with D_a(q) = (KL(p_a | S_a q) - f_a)_+ and q as in ``nearest_rival``, once for each neighbour of
the leader: a linear program with infinitely many constraints. Constraints are added where they are
violated most, until the value of the finite program, a lower bound, meets that of feasible rates.
The finite program is solved in its dual form,

    maximise sum_c y_c   subject to   sum_c y_c D_a(q_c) <= gap_a,   y >= 0,

where y = 0 is feasible, by the simplex method.
"""

# mypy: ignore-errors

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.nearest_rival import nearest
from partial_monitoring.numerics.compiled.rival_system import Room
from partial_monitoring.numerics.compiled.rival_system import room as rival_room

PASSES = 60
"""The most times that constraints are added."""

PIVOTS = 500
"""The most steps of the simplex method."""

NOTHING = 1e-12
"""Rivals that are this far away for all actions cannot be told apart at all."""

NEAR = 1.01
"""Constraints are added that are violated, or satisfied by less than this; at first all are."""

FOUND, SUFFICIENT, NO_RIVALS, IMPOSSIBLE, FAILED = range(5)
"""How it ends: with rates; plays suffice; nothing need be explored; no rates suffice; none were
found."""

AMPLE = 1.1
"""How far plays that suffice are looked at, relative to what is needed."""


class Work(NamedTuple):
    """Scratch for one program."""

    rival: Room
    cuts: np.ndarray
    """D_a(q) of the constraints, shape (c, k)."""
    rivals: np.ndarray
    """Their distributions q, shape (c, d)."""
    tableau: np.ndarray
    """Of the simplex method, shape (k + 1, c + k + 1)."""
    basis: np.ndarray
    """The constraint that each row of the tableau belongs to, -1 for none, shape (k,)."""
    shares: np.ndarray
    """y of the active constraints, shape (c,)."""
    trial: np.ndarray
    """Rates that are tried, shape (k,)."""
    possible: np.ndarray
    """Which rivals have any distribution, shape (k,), bool."""
    nobody: np.ndarray
    """Nobody is held, shape (k,), bool."""
    violated: np.ndarray
    """A constraint that plays violate, shape (k,)."""


def work(k: int, m: int, d: int) -> Work:
    """Return scratch."""
    c = 16 + 4 * k
    return Work(
        rival_room(k, m, d),
        np.empty((c, k)),
        np.empty((c, d)),
        np.empty((k + 1, c + k + 1)),
        np.empty(k, dtype=np.int64),
        np.empty(c),
        np.empty(k),
        np.empty(k, dtype=np.bool_),
        np.zeros(k, dtype=np.bool_),
        np.empty(k),
    )


@compiled(allocates=False)
def pack(gaps, held, count, work):
    """Solve the finite program with ``count`` constraints; fill in the rates, return its value.

    Columns and rows are scaled: y_c times the largest D_a / gap_a has entries of at most 1.
    """
    k, table, basis, cuts, rates = len(gaps), work.tableau, work.basis, work.cuts, work.trial
    last = count + k
    for a in range(k):
        for p in range(last + 1):
            table[a, p] = 0.0
        table[a, count + a] = table[a, last] = 1.0
        basis[a] = count + a
    for p in range(last + 1):
        table[k, p] = 0.0
    for c in range(count):
        largest = 0.0
        for a in range(k):
            if not held[a]:
                largest = max(largest, cuts[c, a] / gaps[a])
        work.shares[c] = table[k, c] = 1.0 / largest
        for a in range(k):
            table[a, c] = 0.0 if held[a] else cuts[c, a] / gaps[a] / largest
    scale = 0.0
    for c in range(count):
        scale = max(scale, table[k, c])
    for step in range(PIVOTS):
        enter, best = -1, 1e-12 * scale
        for p in range(last):
            if table[k, p] > best:
                enter, best = p, table[k, p]
                if step > PIVOTS // 2:
                    break  # the first one, which cannot cycle
        if enter < 0:
            break
        leave, ratio = -1, math.inf
        for a in range(k):
            if table[a, enter] > 1e-13 and table[a, last] / table[a, enter] < ratio:
                leave, ratio = a, table[a, last] / table[a, enter]
        if leave < 0:
            break
        pivot = table[leave, enter]
        for p in range(last + 1):
            table[leave, p] /= pivot
        for row in range(k + 1):
            times = table[row, enter]
            if row != leave and times != 0.0:
                for p in range(last + 1):
                    table[row, p] -= times * table[leave, p]
        basis[leave] = enter
    for a in range(k):
        rates[a] = 0.0 if held[a] else max(-table[k, count + a], 0.0) / gaps[a]
        if basis[a] < count:
            work.shares[basis[a]] *= max(table[a, last], 0.0)
        else:
            basis[a] = -1
    return -table[k, last]


@compiled(allocates=False)
def keep_basis(count, work):
    """Keep only the constraints that are active, as the first ones; return their number."""
    k, d, kept = work.cuts.shape[1], work.rivals.shape[1], 0
    for c in range(count):
        active = False
        for a in range(k):
            if work.basis[a] == c:
                work.basis[a], active = kept, True
        if active:
            work.shares[kept] = work.shares[c]
            for a in range(k):
                work.cuts[kept, a] = work.cuts[c, a]
            for x in range(d):
                work.rivals[kept, x] = work.rivals[c, x]
            kept += 1
    return kept


@compiled(inline="always", allocates=False)
def add_cut(slacks, held, count, work):
    """Add the constraint of the rival that was found last; return whether it can be satisfied."""
    largest = 0.0
    for a in range(len(held)):
        work.cuts[count, a] = 0.0 if held[a] else max(work.rival.away[a] - slacks[a], 0.0)
        largest = max(largest, work.cuts[count, a])
    for x in range(work.rivals.shape[1]):
        work.rivals[count, x] = work.rival.slack[x]
    return largest > NOTHING


@compiled(inline="always", allocates=False)
def find_possible(signals, held, hinged, halves, work):
    """Fill in which rivals have any distribution q; return whether one has.

    Without hinges ``nearest`` finds out itself.
    """
    some = False
    for c in range(len(halves)):
        work.possible[c] = True
        if hinged:
            for a in range(len(held)):
                work.trial[a] = 1.0 if held[a] else 0.0
            _, missed = nearest(
                signals, work.trial, work.nobody, hinged, halves[c], NOTHING, 1e-6, work.rival
            )
            work.possible[c] = missed < NOTHING
        some = some or work.possible[c]
    return some


@compiled(inline="always", allocates=False)
def smallest(signals, weights, held, hinged, halves, enough, gap, work):
    """Return upper and lower bounds of the least sum of r_a D_a(q) over all rivals that there are.

    It ends at the first rival that is certainly below 1, which is then the last one found.
    """
    upper, lower = math.inf, math.inf
    for c in range(len(halves)):
        if work.possible[c]:
            high, low = nearest(signals, weights, held, hinged, halves[c], enough, gap, work.rival)
            upper, lower = min(upper, high), min(lower, low)
            if high < 1.0:
                break
    return upper, lower


@compiled(allocates=False)
def explore(signals, plays, gaps, held, hinged, halves, gap, rates, work):
    """Find out whether plays / log t suffice, and else the cheapest rates, both of shape (k,).

    ``rates`` holds rates to begin with, near the answer if possible; ``halves`` (c, d) are the
    rivals, as in ``nearest``. Returned are how it ended, bounds of the cost (of the least sum of
    plays if these suffice), and the number of constraints, the first of ``work.cuts``: the active
    ones and one that the plays violate. Rates are feasible, and within ``gap`` of the cheapest
    unless the bounds say something else.
    """
    if not find_possible(signals, held, hinged, halves, work):
        return NO_RIVALS, 0.0, 0.0, 0
    upper, lower = smallest(signals, plays, held, hinged, halves, AMPLE, gap, work)
    if upper >= 1.0:
        return SUFFICIENT if upper < math.inf else NO_RIVALS, lower, upper, 0
    for a in range(len(gaps)):
        work.violated[a] = 0.0 if held[a] else max(work.rival.away[a] - signals.slacks[a], 0.0)
    k, count, packed, far = len(gaps), 0, 0, math.inf
    lower, upper = 0.0, math.inf
    for a in range(k):
        work.trial[a] = rates[a]
    for _ in range(PASSES):
        worst, cost, before = math.inf, 0.0, count
        for c in range(len(halves)):
            if not work.possible[c]:
                continue
            high, low = nearest(
                signals, work.trial, held, hinged, halves[c], far, 0.1 * gap, work.rival
            )
            worst = min(worst, low)
            if high < far:
                if not add_cut(signals.slacks, held, count, work):
                    return IMPOSSIBLE, math.inf, math.inf, 0
                count += 1
        if worst == math.inf:
            return NO_RIVALS, 0.0, 0.0, 0
        if worst > 0.0:
            for a in range(k):
                cost += work.trial[a] * gaps[a] / worst
            if cost < upper:
                upper = cost
                for a in range(k):
                    rates[a] = work.trial[a] / worst
        near = upper < math.inf and upper - lower <= gap * upper
        if near or count == before:
            break
        lower, far = max(lower, pack(gaps, held, count, work)), NEAR
        packed = count
        if count + len(halves) >= len(work.cuts):
            count = packed = keep_basis(count, work)
    ended, count = FOUND if upper < math.inf else FAILED, keep_basis(packed, work)
    for a in range(k):
        work.cuts[count, a] = work.violated[a]
    return ended, lower, upper, count + 1
