"""The system of Newton's method in ``nearest_rival``, and the scratch that it works on."""

# mypy: ignore-errors

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

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
