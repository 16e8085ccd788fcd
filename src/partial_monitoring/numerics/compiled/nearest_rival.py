"""The distribution that is hardest to tell from what was seen, among those a rival action is for.

For actions a with targets p_a, weights r_a and slacks f_a it minimises over distributions q

    sum_a r_a (KL(p_a | S_a q) - f_a)_+        subject to  <h, q> <= 0  and, for held actions,
    S_a q = p_a   (or  KL(p_a | S_a q) <= f_a  if hinged; without hinges all f_a are 0),

by a primal-dual interior-point method. S_a q are the probabilities of the symbols of action a. With
multipliers y_a (r_a without hinges), lambda >= 0 and mu the value is, for every q > 0, at least

    sum_a y_a (KL(p_a | S_a q) + 1 - f_a) + min_x g_x - <mu, b>,
    g = sum_a y_a grad KL(p_a | S_a q) + lambda h + E' mu,

where E q = b are the equations: KL lies above its tangent at q, whose least value is at an outcome.
Nothing is allocated; what is worked on is in a :class:`Room`.
"""

# mypy: ignore-errors

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

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

LARGEST = 1e6
"""Divergences above this are cut."""


class Signals(NamedTuple):
    """What actions show, and what was seen."""

    symbols: np.ndarray
    """The symbol that each action shows in each outcome, shape (k, d)."""
    targets: np.ndarray
    """p, shape (k, m)."""
    slacks: np.ndarray
    """f, shape (k,)."""


class Room(NamedTuple):
    """Scratch for one program with k actions, m symbols, d outcomes and at most e equations.

    Inequalities are pairs of a slack and a multiplier: q_x >= 0, then <h, q> <= 0, then
    KL - f <= z (with multipliers y) and z >= 0 (with multipliers r - y) of every action.
    """

    slack: np.ndarray
    """Of every pair, shape (d + 1 + 2 k,); it begins with q."""
    pull: np.ndarray
    """The multipliers, shape (d + 1 + 2 k,)."""
    steps: np.ndarray
    """Changes of slacks and multipliers, shape (2, d + 1 + 2 k)."""
    on: np.ndarray
    """Which pairs there are, shape (d + 1 + 2 k,), bool; it begins with the live outcomes."""
    y: np.ndarray
    """Weights of the divergences, shape (k,)."""
    away: np.ndarray
    """KL(p_a | S_a q), shape (k,)."""
    chances: np.ndarray
    """S_a q, shape (k, m)."""
    slopes: np.ndarray
    """Gradients of the divergences, shape (k, d)."""
    gradient: np.ndarray
    """Of the Lagrangian without equations, shape (d,)."""
    right: np.ndarray
    """The right side of the system, shape (d,)."""
    matrix: np.ndarray
    """Shape (d, d)."""
    rows: np.ndarray
    """E, shape (e, d)."""
    turned: np.ndarray
    """Solutions for the rows of E, shape (e, d)."""
    equations: np.ndarray
    """b, mu, what is missing, and the diagonal, shape (4, e)."""
    small: np.ndarray
    """Shape (e, e)."""


def room(k: int, m: int, d: int) -> Room:
    """Return scratch."""
    pairs, e = d + 1 + 2 * k, k * (m + 1) + 2
    return Room(
        slack=np.empty(pairs),
        pull=np.empty(pairs),
        steps=np.empty((2, pairs)),
        on=np.empty(pairs, dtype=np.bool_),
        y=np.empty(k),
        away=np.empty(k),
        chances=np.empty((k, m)),
        slopes=np.empty((k, d)),
        gradient=np.empty(d),
        right=np.empty(d),
        matrix=np.empty((d, d)),
        rows=np.empty((e, d)),
        turned=np.empty((e, d)),
        equations=np.empty((4, e)),
        small=np.empty((e, e)),
    )


@compiled(allocates=False)
def signal_chances(symbols, q, chances):
    """Fill chances (k, m) with the probabilities S_a q of all symbols; q may have more entries."""
    for a in range(chances.shape[0]):
        for s in range(chances.shape[1]):
            chances[a, s] = 0.0
        for x in range(symbols.shape[1]):
            chances[a, symbols[a, x]] += q[x]


@compiled(allocates=False)
def divergence(target, chances):
    """Return KL(target | chances), at most LARGEST."""
    total = 0.0
    for s in range(len(target)):
        if target[s] > 0.0:
            if not chances[s] > 0.0:
                return LARGEST
            total += target[s] * math.log(target[s] / chances[s])
    return min(max(total, 0.0), LARGEST)


@compiled(allocates=False)
def factor(matrix, size):
    """Replace a positive semidefinite matrix by its Cholesky factor; vanishing columns are 0."""
    for j in range(size):
        pivot, whole = matrix[j, j], matrix[j, j]
        for p in range(j):
            pivot -= matrix[j, p] * matrix[j, p]
        root = math.sqrt(pivot) if pivot > 1e-14 * whole else 0.0
        matrix[j, j] = root
        for i in range(j + 1, size):
            entry = matrix[i, j]
            for p in range(j):
                entry -= matrix[i, p] * matrix[j, p]
            matrix[i, j] = entry / root if root > 0.0 else 0.0


@compiled(allocates=False)
def solve(root, size, x):
    """Replace x by the solution of the system whose Cholesky factor is given."""
    for i in range(size):
        for p in range(i):
            x[i] -= root[i, p] * x[p]
        x[i] = x[i] / root[i, i] if root[i, i] > 0.0 else 0.0
    for i in range(size - 1, -1, -1):
        for p in range(i + 1, size):
            x[i] -= root[p, i] * x[p]
        x[i] = x[i] / root[i, i] if root[i, i] > 0.0 else 0.0


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
def measure(symbols, targets, room):
    """Fill in the probabilities of the symbols under q, the divergences and their gradients."""
    signal_chances(symbols, room.slack, room.chances)
    for a in range(len(targets)):
        room.away[a] = divergence(targets[a], room.chances[a])
        for x in range(symbols.shape[1]):
            s = symbols[a, x]
            seen = room.on[x] and targets[a, s] > 0.0
            room.slopes[a, x] = -targets[a, s] / room.chances[a, s] if seen else 0.0


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
def assemble(symbols, slacks, half, beyond, barrier, equations, room):
    """Fill in the system of Newton's method, matrix dq + E' mu = right; return its rows E.

    After the equations there is a row for h, whose mu is the next multiplier, and one for each
    hinge, whose mu is the change of y: <row, dq> - diagonal mu = missing. The matrix has a multiple
    of E'E of the equations added, which changes nothing but rounding.
    """
    slack, pull, on, y, matrix = room.slack, room.pull, room.on, room.y, room.matrix
    right, diagonal, missing = room.right, room.equations[3], room.equations[2]
    d, k, rows, count, total = len(half), len(room.y), room.rows, equations, 0.0
    for a in range(k):
        total += y[a]
    for x in range(d):
        for w in range(x):
            matrix[x, w] = 0.0
        matrix[x, x] = pull[x] / slack[x] if on[x] else 1.0
        right[x] = barrier / slack[x] if on[x] else 0.0
    for e in range(equations):
        diagonal[e] = 0.0
        for x in range(d):
            if rows[e, x] > 0.0:
                right[x] += total * missing[e]
                for w in range(x + 1):
                    matrix[x, w] += total * rows[e, w]
    if on[d]:
        diagonal[count], missing[count] = slack[d] / pull[d], -beyond - barrier / pull[d] - slack[d]
        for x in range(d):
            rows[count, x] = half[x] if on[x] else 0.0
        count += 1
    for a in range(k):
        if not y[a] > 0.0:
            continue
        upper, lower = d + 1 + a, d + 1 + k + a
        for x in range(d):
            slope = room.slopes[a, x]
            if slope == 0.0:
                continue
            right[x] -= y[a] * slope
            curve = y[a] * slope / room.chances[a, symbols[a, x]]
            for w in range(x + 1):
                if symbols[a, w] == symbols[a, x] and on[w]:
                    matrix[x, w] -= curve
        if on[upper]:
            diagonal[count] = slack[upper] / y[a]
            missing[count] = slacks[a] - room.away[a] - barrier / y[a]
            if on[lower]:
                diagonal[count] += slack[lower] / pull[lower]
                missing[count] += barrier / pull[lower]
            for x in range(d):
                rows[count, x] = room.slopes[a, x]
            count += 1
    return count


@compiled(allocates=False)
def solve_system(count, room):
    """Solve the system for dq, the first of the steps, and mu, by Cholesky factors."""
    rows, turned, small, d = room.rows, room.turned, room.small, len(room.matrix)
    right, dq = room.right, room.steps[0]
    mu, missing, diagonal = room.equations[1], room.equations[2], room.equations[3]
    factor(room.matrix, d)
    solve(room.matrix, d, right)
    for e in range(count):
        for x in range(d):
            turned[e, x] = rows[e, x]
        solve(room.matrix, d, turned[e])
    for e in range(count):
        mu[e] = -missing[e]
        for x in range(d):
            mu[e] += rows[e, x] * right[x]
        for f in range(e + 1):
            small[e, f] = diagonal[e] if e == f else 0.0
            for x in range(d):
                small[e, f] += rows[e, x] * turned[f, x]
    factor(small, count)
    solve(small, count, mu)
    for x in range(d):
        dq[x] = right[x]
        for e in range(count):
            dq[x] -= turned[e, x] * mu[e]


@compiled(allocates=False)
def follow(half, beyond, barrier, equations, room):
    """Fill in the changes of all slacks and multipliers, which follow from dq and mu."""
    slack, pull, on, ds, dp = room.slack, room.pull, room.on, room.steps[0], room.steps[1]
    d, k, across, mu, count = len(half), len(room.y), 0.0, room.equations[1], equations
    for x in range(d):
        if on[x]:
            dp[x] = (barrier - pull[x] * ds[x]) / slack[x] - pull[x]
            across += half[x] * ds[x]
    if on[d]:
        ds[d] = -beyond - across - slack[d]
        dp[d] = mu[count] - pull[d]
        count += 1
    for a in range(k):
        upper, lower = d + 1 + a, d + 1 + k + a
        if on[upper]:
            dy = mu[count]
            dp[upper] = dy
            ds[upper] = (barrier - slack[upper] * dy) / pull[upper] - slack[upper]
            if on[lower]:
                dp[lower] = -dy
                ds[lower] = (barrier + slack[lower] * dy) / pull[lower] - slack[lower]
            count += 1


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
