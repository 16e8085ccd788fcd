"""The distribution that is hardest to tell from what was seen, among those a rival action is for.

For actions a with targets p_a, weights r_a and slacks f_a it minimises over distributions q

    sum_a r_a (KL(p_a | S_a q) - f_a)_+        subject to  <h, q> <= 0  and, for held actions,
    S_a q = p_a   (or  KL(p_a | S_a q) <= f_a  if hinged; without hinges all f_a are 0),

by a primal-dual interior-point method. S_a q are the probabilities of the symbols of action a. With
multipliers y_a (r_a without hinges), lambda >= 0 and mu the value is, for every q > 0, at least

    sum_a y_a (KL(p_a | S_a q) + 1 - f_a) + min_x g_x - <mu, b>,
    g = sum_a y_a grad KL(p_a | S_a q) + lambda h + E' mu,

where E q = b are the equations: KL lies above its tangent at q, whose least value is at an outcome.
Nothing is allocated; what is worked on is in a ``rival_system.Room``.
"""

# mypy: ignore-errors

from __future__ import annotations

import math

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.rival_system import (
    LARGEST,
    assemble,
    follow,
    measure,
    solve_system,
)

STEPS = 100
"""The most steps of the method."""

KEPT, CENTRAL, BACK = 0.995, 1e-3, 20
"""A step goes this share of the way to the boundary, or is shortened at most 20 times until the
product of no pair is below this share of the mean."""

PRECISE = 1e-9
"""Equations and hinges may be missed by this."""

THIN = 1e-6
"""If <h, q> is nowhere below minus this, only q with the least <h, q> are left; none if it is
above this."""

SMALL = 1e-3
"""Values below this need not be known with relative precision."""


@compiled(allocates=False)
def choose_live(symbols, targets, held, half, live):
    """Fill in which outcomes can have probability if S_a q = p_a for held actions; return a code.

    It is 0 if <half, q> > 0 for all such q, 1 if it is at least 0, 2 if neither. Where it is at
    least 0, only outcomes are live with which it is 0.
    """
    d = len(half)
    for a in range(len(held)):
        if held[a]:
            for x in range(d):
                live[x] = live[x] and targets[a, symbols[a, x]] > 0.0
    for a in range(len(held)):
        if not held[a]:
            continue
        total = 0.0
        for s in range(targets.shape[1]):
            if targets[a, s] > 0.0:
                total += targets[a, s] * least_of(symbols[a], s, half, live)
        if total > THIN:
            return 0
        if total > -THIN:
            for s in range(targets.shape[1]):
                least = least_of(symbols[a], s, half, live)
                for x in range(d):
                    if symbols[a, x] == s and half[x] > least + THIN:
                        live[x] = False
            return 1
    return 2


@compiled(allocates=False)
def least_of(symbols, s, half, live):
    """Return the least entry of ``half`` (d,) among live outcomes with a symbol."""
    least = math.inf
    for x in range(len(half)):
        if live[x] and symbols[x] == s:
            least = min(least, half[x])
    return least


@compiled(allocates=False)
def begin(symbols, targets, held, hinged, room):
    """Fill in the equations and a first q; return their number, or -1 if one cannot hold."""
    q, live, rows, right, d = room.slack, room.on, room.rows, room.equations[0], len(room.matrix)
    count, alone = 0, True
    for a in range(len(held)):
        if hinged or not held[a]:
            continue
        for s in range(targets.shape[1]):
            if targets[a, s] <= 0.0:
                continue
            right[count], size = targets[a, s], 0
            for x in range(d):
                inside = live[x] and symbols[a, x] == s
                rows[count, x] = 1.0 if inside else 0.0
                size += inside
            if size == 0:
                return -1
            for x in range(d):
                if alone and rows[count, x] > 0.0:
                    q[x] = targets[a, s] / size
            count += 1
        alone = False
    for x in range(d):
        if alone:
            q[x] = 1.0 / d
            rows[0, x] = right[0] = 1.0
        elif not live[x]:
            q[x] = 0.0
    return 1 if alone else count


@compiled(allocates=False)
def open_pairs(slacks, weights, held, hinged, half, room):
    """Fill in the first slacks and multipliers; the outcomes and whether h counts are known."""
    slack, pull, on = room.slack, room.pull, room.on
    d, k = len(half), len(weights)
    total, start, beyond = 0.0, 0.0, 0.0
    for a in range(k):
        total += weights[a]
        start += weights[a] * room.away[a]
    barrier = 0.1 * max(start, 1e-3 * total, 1e-6) / (d + 1)
    for x in range(d):
        beyond += half[x] * slack[x]
    slack[d] = max(-beyond, 0.1)
    for a in range(k):
        room.y[a] = weights[a]
        upper, lower = d + 1 + a, d + 1 + k + a
        on[upper] = hinged and (held[a] or weights[a] > 0.0)
        on[lower] = hinged and weights[a] > 0.0
        room_left = max(0.1 * slacks[a], 1e-3)
        if on[lower]:
            slack[lower] = max(room.away[a] - slacks[a], 0.0) + room_left
            slack[upper] = slack[lower] + slacks[a] - room.away[a]
            share = slack[lower] / (slack[lower] + slack[upper])
            pull[upper] = room.y[a] = share * weights[a]
            pull[lower] = weights[a] - pull[upper]
        elif on[upper]:
            slack[upper] = max(slacks[a] - room.away[a], room_left)
            pull[upper] = room.y[a] = barrier / slack[upper]
    for p in range(d + 1):
        pull[p] = barrier / slack[p] if on[p] else 0.0


@compiled(allocates=False)
def bounds(slacks, weights, held, half, equations, room):
    """Return the value at q, by how much q misses constraints, a lower bound and <h, q>.

    Also what multiples of the multipliers would prove. The gradient without equations is filled in.
    """
    slack, gradient, y, away = room.slack, room.gradient, room.y, room.away
    b, mu, missing, d = room.equations[0], room.equations[1], room.equations[2], len(half)
    lam = room.pull[d]
    value, bound, off, beyond, level = 0.0, 0.0, 0.0, 0.0, 0.0
    for x in range(d):
        gradient[x] = lam * half[x]
        beyond += half[x] * slack[x]
    for a in range(len(weights)):
        if weights[a] > 0.0:
            value += weights[a] * max(away[a] - slacks[a], 0.0)
        elif held[a] and room.on[d + 1 + a]:
            off = max(off, away[a] - slacks[a])
        if y[a] > 0.0:
            bound += y[a] * (away[a] + 1.0 - slacks[a])
            for x in range(d):
                gradient[x] += y[a] * room.slopes[a, x]
    for e in range(equations):
        level += mu[e] * b[e]
        missing[e] = b[e]
        for x in range(d):
            missing[e] -= room.rows[e, x] * slack[x]
        off = max(off, abs(missing[e]))
    least, ray = math.inf, math.inf
    for x in range(d):
        mixed = -level
        for e in range(equations):
            mixed += mu[e] * room.rows[e, x]
        if room.on[x]:
            least = min(least, mixed + gradient[x])
            ray = min(ray, mixed + lam * half[x])
    if room.on[d]:
        off = max(off, beyond)
    return value, off, bound + least, beyond, ray


@compiled(allocates=False)
def step_length(room):
    """Return how far all pairs stay positive and none falls far behind the others."""
    slack, pull, on, ds, dp = room.slack, room.pull, room.on, room.steps[0], room.steps[1]
    length, whole, lowest, pairs = 1.0, 0.0, math.inf, 0
    for p in range(len(on)):
        if on[p]:
            whole += slack[p] * pull[p]
            lowest = min(lowest, slack[p] * pull[p])
            pairs += 1
            if ds[p] < 0.0:
                length = min(length, -KEPT * slack[p] / ds[p])
            if dp[p] < 0.0:
                length = min(length, -KEPT * pull[p] / dp[p])
    central = min(CENTRAL, 0.5 * lowest * pairs / whole)
    for _ in range(BACK):
        total, least = 0.0, math.inf
        for p in range(len(on)):
            if on[p]:
                product = (slack[p] + length * ds[p]) * (pull[p] + length * dp[p])
                total += product
                least = min(least, product)
        if least * pairs >= central * total:
            return length
        length *= 0.7
    return length


@compiled(allocates=False)
def nearest(signals, weights, held, hinged, half, enough, gap, room):
    """Return upper and lower bounds of the least value; ``room.slack`` begins with the minimiser.

    Parameters
    ----------
    signals
        Symbols, targets and slacks.
    weights, held
        r (k,) and which actions are held, (k,) bool; these have no weight.
    half
        h, (d,), with largest entry 1 or -1; all 0 if there is no such constraint.
    enough, gap
        It ends when the lower bound is at least ``enough`` or the bounds are that near, relative to
        the upper one.
    """
    symbols, targets, slacks = signals.symbols, signals.targets, signals.slacks
    d, k, on = len(half), len(weights), room.on
    some = False
    for x in range(d):
        on[x] = True
        some = some or half[x] != 0.0
    on[d] = some
    if some and not hinged:
        code = choose_live(symbols, targets, held, half, on)
        if code == 0:
            return math.inf, math.inf
        on[d] = code == 2
    equations = begin(symbols, targets, held, hinged, room)
    if equations < 0:
        return math.inf, math.inf
    measure(symbols, targets, room)
    for a in range(k):
        if weights[a] > 0.0 and room.away[a] >= LARGEST:
            return math.inf, math.inf
    for e in range(equations):
        room.equations[1, e] = 0.0
    open_pairs(slacks, weights, held, hinged, half, room)
    upper, lower, share = math.inf, -math.inf, 0.1
    for _ in range(STEPS):
        value, off, bound, beyond, ray = bounds(slacks, weights, held, half, equations, room)
        if not hinged and ray > 1e-9 * room.pull[d] > 0.0:  # multiples prove any bound
            return math.inf, math.inf
        lower = max(lower, bound)
        if off <= PRECISE:
            upper = value
        if lower >= enough or (off <= PRECISE and upper - lower <= gap * max(upper, SMALL)):
            break
        total, count = 0.0, 0
        for p in range(len(on)):
            if on[p]:
                total += room.slack[p] * room.pull[p]
                count += 1
        barrier = share * total / count
        solve_system(assemble(symbols, slacks, half, beyond, barrier, equations, room), room)
        follow(half, beyond, barrier, equations, room)
        length = step_length(room)
        share = 0.03 if length > 0.9 else 0.1 if length > 0.5 else 0.5
        for p in range(len(on)):
            if on[p]:
                room.slack[p] += length * room.steps[0, p]
                room.pull[p] += length * room.steps[1, p]
        for a in range(k):
            if on[d + 1 + a]:
                room.y[a] = room.pull[d + 1 + a]
        measure(symbols, targets, room)
    return upper, lower
