"""The profile likelihood of comparisons between actions, when what is shown are signals.

A signal i has the probability p_i(x) = base_i + sign_i <e_i, x>, where e_i is one of few directions
that several signals share: the two signals of an action have opposite signs. It was seen counts_i
times, with the pseudo-counts of the prior, so that all of them are positive. The log-likelihood

    l(x) = sum_i counts_i log p_i(x)

is strictly concave, and it falls to minus infinity at the boundary of {p > 0}: Newton's method,
with steps that leave a tenth of every probability and that let l grow by a tenth of what they
promise, converges from everywhere. How sure it is that b is worse than g is the likelihood that is
lost at the best point x_b where the two tie, R_b = (2 l(x_hat) - 2 l(x_b))^(1/2), in standard
deviations.

Coordinates x are measured along the first r directions, so that x_j is what p changes by in the
j-th; ``extra`` (e - r, r) are the other directions. ``alone`` (r,) says which coordinates have no
part in any of those: if all are alone, minus the Hessian is diagonal, and nothing takes time that
grows like r^2. In general it is L D L' with ``pivots`` 1 / D (r,) and ``lower`` L (r, r), of which
only the rows that are not alone and the entries below the diagonal are used.

Arguments that functions share: of each signal its direction, sign and base, shape (s,) each; its
count and its probability p, shape (s,) each.
"""


# mypy: ignore-errors

from math import exp, log, log1p, pi, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, inner

NEAR = 0.05
"""Ties closer than this many standard deviations are taken at the estimate itself."""

MOST_REFINED = 8
"""Of many rivals, those with the largest weights in the normal approximation are compared by their
likelihood, the others in that approximation."""

FEW = 20
"""Up to this many rivals, in up to this many dimensions, all are compared by their likelihood."""

LARGE_STEP = 0.1
"""Newton's method needs no line search after steps whose squared length, in the norm of minus the
Hessian, is at most this."""

NEWTON_LEFT, CHORD_LEFT = 1e-6, 1e-12
"""It stops after a step whose squared length is at most this; for steps with the factor of an
earlier point the limit is smaller. Either way at most about 1e-6 standard deviations are left."""

CHEAP = 8
"""In up to this many dimensions a factor is computed anew for every step."""

PROGRESS = 0.2
"""Steps with an old factor are taken while their squared lengths shrink at least by this."""

MOST_STEPS = 500
"""Of Newton's method; one or two are usual, many are taken only towards extreme counts."""


class Table(NamedTuple):
    """What does not change while a game is played: its signals, its rewards and its contexts.

    As in ``estimation.profile.model``, where the shapes are given.
    """

    first: np.ndarray
    source: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    extra: np.ndarray
    alone: np.ndarray
    direction: np.ndarray
    sign: np.ndarray
    base: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    chances: np.ndarray
    pareto: np.ndarray
    inside: np.ndarray
    unit: float
    growth: float
    """An estimate is stale when the plays of an action have grown by this fraction."""
    damping: float


class Known(NamedTuple):
    """What is known in n replicates; of one of them, without the first axis."""

    round: np.ndarray
    """t: one more than the number of observations, shape (n,)."""
    seen: np.ndarray
    """How often each context came, shape (n, contexts)."""
    plays: np.ndarray
    fresh: np.ndarray
    """The plays of all actions, now and when the estimate was computed, shape (n, K) each."""
    counts: np.ndarray
    """Of all signals, shape (n, s)."""
    x: np.ndarray
    """The estimate, shape (n, r)."""
    ties: np.ndarray
    """Shape (n, K, r)."""
    means: np.ndarray
    worth: np.ndarray
    """Of all actions, shape (n, K) each."""


class Scratch(NamedTuple):
    """Arrays that are overwritten; those of one replicate are used again for the next."""

    lines: np.ndarray
    """Probabilities at the estimate, at a tie, and inverses of one of them, shape (3, s)."""
    slopes: np.ndarray
    """First and second derivatives of l along the directions, shape (2, e)."""
    vectors: np.ndarray
    """Shape (5, r)."""
    pivots: np.ndarray
    """Shape (2, r)."""
    matrices: np.ndarray
    """Shape (3, r, r)."""
    refined: np.ndarray
    """Shape (K,)."""
    chances: np.ndarray
    """Shape (contexts,)."""
    costs: np.ndarray
    saved: np.ndarray
    """What each action costs now and saves later, shape (k,) each."""
    shown: np.ndarray
    """An observation, shape (m,)."""


@compiled(allocates=False)
def derivatives(direction, sign, counts, p, inverse, rise, bend):
    """Fill the derivatives of l along all directions, the second with the opposite sign."""
    for e in range(len(rise)):
        rise[e], bend[e] = 0.0, 0.0
    for i in range(len(p)):
        inverse[i] = 1.0 / p[i]
        slope, e = counts[i] * inverse[i], direction[i]
        rise[e] += sign[i] * slope
        bend[e] += slope * inverse[i]


@compiled(fastmath=FAST, allocates=False)
def decompose(extra, alone, bend, pivots, lower):
    """Fill pivots and lower entries of minus the Hessian, given its values along directions."""
    r = len(alone)
    for i in range(r):
        if not alone[i]:
            for j in range(i):
                lower[i, j] = 0.0
        pivots[i] = bend[i]
    for m in range(len(extra)):
        row = extra[m]
        for i in range(r):
            scaled = bend[r + m] * row[i]
            if scaled != 0.0:
                for j in range(i):
                    lower[i, j] += scaled * row[j]
                pivots[i] += scaled * row[i]
    for i in range(r):
        left = pivots[i]
        if not alone[i]:
            for j in range(i):  # the entries of L D, which become those of L
                total = lower[i, j]
                if not alone[j]:
                    for q in range(j):
                        total -= lower[i, q] * lower[j, q]
                lower[i, j] = total
            for j in range(i):
                scaled = lower[i, j] * pivots[j]
                left -= lower[i, j] * scaled
                lower[i, j] = scaled
        pivots[i] = 1.0 / max(left, 1e-300)


@compiled(fastmath=FAST, allocates=False)
def halfway(pivots, lower, alone, vector, out):
    """Fill out with L^-1 vector; return the squared length of the vector by (L D L')^-1."""
    squared = 0.0
    for i in range(len(vector)):
        total = vector[i]
        if not alone[i]:
            for q in range(i):
                total -= lower[i, q] * out[q]
        out[i] = total
        squared += total * total * pivots[i]
    return squared


@compiled(fastmath=FAST, allocates=False)
def other_half(pivots, lower, alone, out):
    """Turn L^-1 vector into (L D L')^-1 vector."""
    for i in range(len(out)):
        out[i] *= pivots[i]
    for i in range(len(out) - 1, -1, -1):
        if not alone[i]:
            for q in range(i):
                out[q] -= lower[i, q] * out[i]


@compiled(fastmath=FAST, allocates=False)
def solve(diagonal, pivots, lower, alone, vector, out):
    """Fill out with (L D L')^-1 vector; return its inner product with the vector."""
    if not diagonal:
        squared = halfway(pivots, lower, alone, vector, out)
        other_half(pivots, lower, alone, out)
        return squared
    squared = 0.0
    for i in range(len(vector)):
        out[i] = vector[i] * pivots[i]
        squared += vector[i] * out[i]
    return squared


@compiled(allocates=False)
def allowed(direction, sign, counts, p, change, size):
    """Return the fraction of a step to take, given its change (e,) along the directions.

    It leaves a tenth of every probability. Of a step with a large ``size`` it is the first of 1,
    1/2, 1/4, ... of that which lets l grow by a tenth of what its slope promises.
    """
    share = 1.0
    for i in range(len(p)):
        relative = sign[i] * change[direction[i]] / p[i]
        if share * relative < -0.9:
            share = -0.9 / relative
    while size > LARGE_STEP and share > 1e-12:
        gain = 0.0
        for i in range(len(p)):
            gain += counts[i] * log1p(share * sign[i] * change[direction[i]] / p[i])
        if gain >= 0.1 * share * size:
            break
        share *= 0.5
    return share


@compiled(allocates=False)
def maximize(
    extra, alone, direction, sign, base, counts, least, x, u, level, p, inverse, slopes, vectors,
    pivots, lower,
):  # fmt: skip
    """Move x to the maximum of l where <u, x> = level; return the multiplier mu.

    There the gradient is mu u. With u = 0 it is the maximum of all, and mu = 0. Otherwise x must be
    on that plane (up to rounding), and p > 0 at x. ``least`` is the smallest count.

    Leaves the probabilities of the maximum in p. Overwrites their inverses, the slopes (2, e),
    three vectors (r,), the pivots and the lower entries.
    """
    r, diagonal = len(x), len(extra) == 0
    rise, bend, gradient, step, response = slopes[0], slopes[1], vectors[0], vectors[1], vectors[2]
    multiplier, reach, last, new = 0.0, 0.0, np.inf, True
    for j in range(r):
        rise[j] = x[j]
    for m in range(len(extra)):
        rise[r + m] = inner(extra[m], x)
    for i in range(len(p)):
        p[i] = base[i] + sign[i] * rise[direction[i]]
    for _ in range(MOST_STEPS):
        derivatives(direction, sign, counts, p, inverse, rise, bend)
        for j in range(r):
            gradient[j] = rise[j]
        for m in range(len(extra)):
            for j in range(r):
                gradient[j] += rise[r + m] * extra[m, j]
        if new:
            decompose(extra, alone, bend, pivots, lower)
            reach = solve(diagonal, pivots, lower, alone, u, response)
        solve(diagonal, pivots, lower, alone, gradient, step)
        if reach > 0.0:
            multiplier = -level
            for j in range(r):
                multiplier += u[j] * (step[j] + x[j])
            multiplier /= reach
        size = 0.0
        for j in range(r):
            step[j] -= multiplier * response[j]
            rise[j] = step[j]
            size += bend[j] * step[j] * step[j]
        for m in range(len(extra)):
            rise[r + m] = inner(extra[m], step)
            size += bend[r + m] * rise[r + m] * rise[r + m]
        if not new and size > PROGRESS * last:
            new = True
            continue
        share = 1.0
        if size > 0.8 * least:  # else no probability can change by nine tenths
            share = allowed(direction, sign, counts, p, rise, size)
        for j in range(r):
            x[j] += share * step[j]
        for i in range(len(p)):
            p[i] += share * sign[i] * rise[direction[i]]
        if size <= (NEWTON_LEFT if new else CHORD_LEFT):
            break
        last, new = size, r <= CHEAP or size > LARGE_STEP
    return multiplier


@compiled(allocates=False)
def weight(sure, scale, damping):
    """Return what one more observation takes off the expected loss, as far as it is calibrated.

    ``sure`` are the deviations by which the rival is behind, ``scale`` is the size of one.
    """
    square = sure * sure
    return scale * exp(-0.5 * square) / sqrt(2.0 * pi) * (1.0 + square / damping) ** -damping


@compiled(allocates=False)
def greedy_of(means, pareto, start, stop):
    """Return the Pareto action of a group with the largest mean, the first one among ties."""
    greedy = -1
    for a in range(start, stop):
        if pareto[a] and (greedy < 0 or means[a] > means[greedy] + 1e-12):
            greedy = a
    return greedy


@compiled(allocates=False)
def approximate(table, best, pivots, lower, pareto, means, weights, start, stop, u, away):
    """Fill the weights of the rivals of a group in the normal approximation, -1 for others."""
    for b in range(start, stop):
        weights[b] = -1.0
        if pareto[b] and b != best:
            for j in range(len(u)):
                u[j] = table.slopes[b, j] - table.slopes[best, j]
            deviation = sqrt(halfway(pivots, lower, table.alone, u, away))
            if deviation > 0.0:
                sure = (means[best] - means[b]) / deviation
                weights[b] = weight(sure, deviation, table.damping)


@compiled(allocates=False)
def choose(weights, start, stop, refined):
    """Mark which rivals of a group are compared by their likelihood; others have weights < 0."""
    for b in range(start, stop):
        refined[b] = False
    for _ in range(MOST_REFINED):
        top = -1
        for b in range(start, stop):
            if weights[b] >= 0.0 and not refined[b] and (top < 0 or weights[b] > weights[top]):
                top = b
        if top < 0:
            break
        refined[top] = True


@compiled(allocates=False)
def crossing(x, inside, behind, ahead, off, tie):
    """Move a tie onto the plane of its pair, unless it is there (``off`` is the lead of b).

    It moves to the segment from x, where b is behind, to a point inside of its cell, where it is
    ahead.
    """
    if abs(off) > 1e-6 * behind:
        for j in range(len(x)):
            tie[j] = x[j] + behind / (behind + ahead) * (inside[j] - x[j])


@compiled(allocates=False)
def add_square(alone, share, vector, total):
    """Add share * vector vector' to the lower triangle of a matrix, as far as it is needed."""
    for j in range(len(vector)):
        scaled = share * vector[j]
        if alone[j]:
            total[j, j] += scaled * vector[j]
        elif scaled != 0.0:
            for q in range(j + 1):
                total[j, q] += scaled * vector[q]


@compiled(allocates=False)
def spread(extra, alone, total, out):
    """Fill out (e,) with <e, total e> for all directions e, given the lower triangle of total."""
    r = len(alone)
    for j in range(r):
        out[j] = total[j, j]
    for m in range(len(extra)):
        row, out[r + m] = extra[m], 0.0
        for j in range(r):
            if row[j] != 0.0:
                half = 0.5 * total[j, j] * row[j]
                for q in range(j):
                    half += total[j, q] * row[q]
                out[r + m] += 2.0 * row[j] * half


@compiled(allocates=False)
def weigh_contexts(chances, seen, out):
    """Fill out with how often each context is expected, by its chances and by how often it came."""
    total = 0.0
    for z in range(len(out)):
        out[z] = seen[z] + chances[z] * len(out)
        total += out[z]
    for z in range(len(out)):
        out[z] /= total


@compiled(allocates=False)
def profile(table, own, scratch):
    """Bring the estimate x (r,) and the ties (K, r) of one replicate up to date with its counts.

    Fills the means (K,) and the worth (K,) of all actions: what an observation of each is expected
    to save per round, over all contexts together.
    """
    extra, alone, direction, sign = table.extra, table.alone, table.direction, table.sign
    base, slopes, offsets, groups = table.base, table.slopes, table.offsets, table.groups
    pareto, inside, means, worth = table.pareto, table.inside, own.means, own.worth
    counts, x = own.counts, own.x
    p, tied, inverse = scratch.lines[0], scratch.lines[1], scratch.lines[2]
    vectors, u, away = scratch.vectors, scratch.vectors[3], scratch.vectors[4]
    rise, bend, refined = scratch.slopes[0], scratch.slopes[1], scratch.refined
    pivots, lower, total = scratch.pivots[0], scratch.matrices[0], scratch.matrices[2]
    r, least = len(x), np.inf
    weigh_contexts(table.chances, own.seen, scratch.chances)
    for i in range(len(counts)):
        least = min(least, counts[i])
    for j in range(r):
        u[j] = 0.0
        for q in range(j if alone[j] else 0, j + 1):
            total[j, q] = 0.0
    maximize(
        extra, alone, direction, sign, base, counts, least, x, u, 0.0, p, inverse, scratch.slopes,
        vectors, pivots, lower,
    )  # fmt: skip
    derivatives(direction, sign, counts, p, inverse, rise, bend)
    decompose(extra, alone, bend, pivots, lower)
    for a in range(len(offsets)):
        means[a] = offsets[a] + inner(slopes[a], x)
    for z in range(len(groups) - 1):
        start, stop = groups[z], groups[z + 1]
        best, rivals = greedy_of(means, pareto, start, stop), -1
        for b in range(start, stop):
            rivals += pareto[b]
        few = rivals <= FEW and r <= FEW
        if not few:
            approximate(table, best, pivots, lower, pareto, means, worth, start, stop, u, away)
            choose(worth, start, stop, refined)
        for b in range(start, stop):
            if not pareto[b] or b == best:
                continue
            exact = few or refined[b]
            if not exact and worth[b] <= 0.0:
                continue
            for j in range(r):
                u[j] = slopes[b, j] - slopes[best, j]
            squared, behind = halfway(pivots, lower, alone, u, away), means[best] - means[b]
            if squared <= 0.0:
                continue
            if exact and behind > NEAR * sqrt(squared):
                tie, level = own.ties[b], offsets[best] - offsets[b]
                ahead = inner(u, inside[b]) - level
                if ahead <= 0.0:  # they tie nowhere, as far as is seen of them
                    continue
                crossing(x, inside[b], behind, ahead, inner(u, tie) - level, tie)
                force = maximize(
                    extra, alone, direction, sign, base, counts, least, tie, u, level, tied,
                    inverse, scratch.slopes, vectors, scratch.pivots[1], scratch.matrices[1],
                )  # fmt: skip
                lost, squared = 0.0, 0.0
                for i in range(len(p)):
                    ratio = tied[i] / p[i]
                    lost -= counts[i] * log(ratio)
                    squared += counts[i] * (1.0 - ratio) ** 2
                sure = sqrt(max(2.0 * lost, 1e-12))
                value = weight(sure, sure / max(abs(force), 1e-300), table.damping)
                for j in range(r):
                    away[j] = tie[j] - x[j]
            else:
                deviation = sqrt(squared)
                value = weight(behind / deviation, deviation, table.damping)
                other_half(pivots, lower, alone, away)
            add_square(alone, scratch.chances[z] * value / squared, away, total)
    spread(extra, alone, total, bend)
    for a in range(len(offsets)):
        worth[a] = 0.0
        for i in range(table.first[a], table.first[a + 1]):
            worth[a] += bend[direction[i]] / p[i]
