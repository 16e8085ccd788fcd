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

Arguments that all functions share: directions (e, r); of each signal its direction, sign and base,
shape (s,) each; its count and its probability p, shape (s,) each. A ``factor`` is the lower
triangle L of minus the Hessian, L L', with the inverses of its diagonal. ``alone`` (r,) says which
coordinates share no direction with others: with independent arms L is diagonal, and nothing takes
time that grows like r^3.
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
    directions: np.ndarray
    alone: np.ndarray
    direction: np.ndarray
    sign: np.ndarray
    base: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    chances: np.ndarray
    growth: float
    """An estimate is stale when the plays of an action have grown by this fraction."""
    damping: float


class Known(NamedTuple):
    """What is known in n replicates; of one of them, without the first axis."""

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

    vectors: np.ndarray
    """Shape (5, r)."""
    lines: np.ndarray
    """Shape (3, s)."""
    matrices: np.ndarray
    """Shape (3, r, r)."""
    refined: np.ndarray
    """Shape (K,)."""
    chances: np.ndarray
    """Shape (contexts,)."""


@compiled(fastmath=FAST)
def probabilities(directions, direction, sign, base, x, along, p):
    """Fill the probabilities of all signals at x; ``along`` (e,) is overwritten."""
    for e in range(len(directions)):
        along[e] = inner(directions[e], x)
    for i in range(len(base)):
        p[i] = base[i] + sign[i] * along[direction[i]]


@compiled(fastmath=FAST)
def slope(directions, direction, sign, counts, p, along, gradient):
    """Fill the gradient of l; ``along`` (e,) is overwritten."""
    for e in range(len(directions)):
        along[e] = 0.0
    for i in range(len(counts)):
        along[direction[i]] += sign[i] * counts[i] / p[i]
    for j in range(len(gradient)):
        gradient[j] = 0.0
    for e in range(len(directions)):
        for j in range(len(gradient)):
            gradient[j] += along[e] * directions[e, j]


@compiled(fastmath=FAST)
def curvature(directions, direction, alone, counts, p, along, factor):
    """Fill the factor of minus the Hessian of l; ``along`` (e,) is overwritten."""
    r = len(alone)
    for e in range(len(directions)):
        along[e] = 0.0
    for i in range(len(counts)):
        along[direction[i]] += counts[i] / (p[i] * p[i])
    for j in range(r):
        for q in range(j + 1):
            factor[j, q] = 0.0
    for e in range(len(directions)):
        for j in range(r):
            scaled = along[e] * directions[e, j]
            if alone[j]:
                factor[j, j] += scaled * directions[e, j]
            elif scaled != 0.0:
                for q in range(j + 1):
                    factor[j, q] += scaled * directions[e, q]
    for i in range(r):
        for j in range(i if alone[i] else 0, i + 1):
            total = factor[i, j]
            if not alone[i]:
                for q in range(j):
                    total -= factor[i, q] * factor[j, q]
            if i == j:
                factor[i, i] = 1.0 / sqrt(max(total, 1e-300))
            else:
                factor[i, j] = total * factor[j, j]


@compiled(fastmath=FAST)
def halfway(factor, alone, vector, out):
    """Fill out with L^-1 vector, whose length is that of the vector in the norm of (L L')^-1."""
    for i in range(len(vector)):
        total = vector[i]
        if not alone[i]:
            for q in range(i):
                total -= factor[i, q] * out[q]
        out[i] = total * factor[i, i]


@compiled(fastmath=FAST)
def solve(factor, alone, vector, out):
    """Fill out with (L L')^-1 vector."""
    halfway(factor, alone, vector, out)
    for i in range(len(vector) - 1, -1, -1):
        out[i] *= factor[i, i]
        if not alone[i]:
            for q in range(i):
                out[q] -= factor[i, q] * out[i]


@compiled
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


@compiled
def maximize(
    directions, direction, sign, base, alone, counts, x, u, level, p, factor, vectors, along
):  # fmt: skip
    """Move x to the maximum of l where <u, x> = level; return the multiplier mu.

    There the gradient is mu u. With u = 0 it is the maximum of all, and mu = 0. Otherwise x must be
    on that plane (up to rounding), and p > 0 at x.

    Leaves the probabilities of the maximum in p. Overwrites the factor, vectors (3, r) and along
    (e,).
    """
    gradient, step, response = vectors[0], vectors[1], vectors[2]
    multiplier, reach, last, new = 0.0, 0.0, np.inf, True
    probabilities(directions, direction, sign, base, x, along, p)
    for _ in range(MOST_STEPS):
        slope(directions, direction, sign, counts, p, along, gradient)
        if new:
            curvature(directions, direction, alone, counts, p, along, factor)
            solve(factor, alone, u, response)
            reach = inner(u, response)
        solve(factor, alone, gradient, step)
        if reach > 0.0:
            multiplier = (inner(u, step) + inner(u, x) - level) / reach
            for j in range(len(x)):
                step[j] -= multiplier * response[j]
        size = 0.0
        for e in range(len(directions)):
            along[e] = inner(directions[e], step)
        for i in range(len(p)):
            size += counts[i] * (along[direction[i]] / p[i]) ** 2
        if not new and size > PROGRESS * last:
            new = True
            continue
        share = allowed(direction, sign, counts, p, along, size)
        for j in range(len(x)):
            x[j] += share * step[j]
        for i in range(len(p)):
            p[i] += share * sign[i] * along[direction[i]]
        if size <= (NEWTON_LEFT if new else CHORD_LEFT):
            break
        last, new = size, len(x) <= CHEAP or size > LARGE_STEP
    return multiplier


@compiled
def loss_of(counts, p, other):
    """Return the likelihood that is lost from probabilities p to others."""
    total = 0.0
    for i in range(len(counts)):
        total += counts[i] * log(p[i] / other[i])
    return total


@compiled
def weight(sure, scale, damping):
    """Return what one more observation takes off the expected loss, as far as it is calibrated.

    ``sure`` are the deviations by which the rival is behind, ``scale`` is the size of one.
    """
    square = sure * sure
    return scale * exp(-0.5 * square) / sqrt(2.0 * pi) * (1.0 + square / damping) ** -damping


@compiled
def greedy_of(means, pareto, start, stop):
    """Return the Pareto action of a group with the largest mean, the first one among ties."""
    greedy = -1
    for a in range(start, stop):
        if pareto[a] and (greedy < 0 or means[a] > means[greedy] + 1e-12):
            greedy = a
    return greedy


@compiled
def choose(weights, start, stop, r, refined):
    """Mark which rivals of a group are compared by their likelihood; others have weights < 0."""
    rivals = 0
    for b in range(start, stop):
        refined[b] = weights[b] >= 0.0
        rivals += refined[b]
    if rivals <= FEW and r <= FEW:
        return
    for b in range(start, stop):
        refined[b] = False
    for _ in range(min(rivals, MOST_REFINED)):
        top = -1
        for b in range(start, stop):
            if weights[b] >= 0.0 and not refined[b] and (top < 0 or weights[b] > weights[top]):
                top = b
        refined[top] = True


@compiled
def crossing(x, inside, behind, ahead, off, tie):
    """Move a tie onto the plane of its pair, unless it is there (``off`` is the lead of b).

    It moves to the segment from x, where b is behind, to a point inside of its cell, where it is
    ahead.
    """
    if abs(off) > 1e-6 * behind:
        for j in range(len(x)):
            tie[j] = x[j] + behind / (behind + ahead) * (inside[j] - x[j])


@compiled
def weigh_contexts(chances, seen, out):
    """Fill out with how often each context is expected, by its chances and by how often it came."""
    total = 0.0
    for z in range(len(out)):
        out[z] = seen[z] + chances[z] * len(out)
        total += out[z]
    for z in range(len(out)):
        out[z] /= total


@compiled
def profile(table, pareto, inside, own, scratch):
    """Bring the estimate x (r,) and the ties (K, r) of one replicate up to date with its counts.

    Fills the means (K,) and the worth (K,) of all actions: what an observation of each is expected
    to save per round, over all contexts together. Which actions are Pareto (K,), and the points
    inside of their cells (K, r), are arguments of their own: fewer actions may be available.
    """
    directions, direction, sign, base = table.directions, table.direction, table.sign, table.base
    alone, slopes, offsets, groups = table.alone, table.slopes, table.offsets, table.groups
    counts, x, means, worth = own.counts, own.x, own.means, own.worth
    vectors, lines, refined = scratch.vectors, scratch.lines, scratch.refined
    damping = table.damping
    r, u, away = len(x), vectors[3], vectors[4]
    p, other, along = lines[0], lines[1], lines[2, : len(directions)]
    factor, tied_factor, total = scratch.matrices[0], scratch.matrices[1], scratch.matrices[2]
    weigh_contexts(table.chances, own.seen, scratch.chances)
    for j in range(r):
        u[j] = 0.0
        for q in range(r):
            total[j, q] = 0.0
    maximize(directions, direction, sign, base, alone, counts, x, u, 0.0, p, factor, vectors, along)
    curvature(directions, direction, alone, counts, p, along, factor)
    for a in range(len(offsets)):
        means[a] = offsets[a] + inner(slopes[a], x)
        worth[a] = -1.0
    for z in range(len(groups) - 1):
        start, stop = groups[z], groups[z + 1]
        best = greedy_of(means, pareto, start, stop)
        for b in range(start, stop):
            if pareto[b] and b != best:
                for j in range(r):
                    u[j] = slopes[b, j] - slopes[best, j]
                halfway(factor, alone, u, away)
                deviation = sqrt(inner(away, away))
                if deviation > 0.0:
                    worth[b] = weight((means[best] - means[b]) / deviation, deviation, damping)
        choose(worth, start, stop, r, refined)
        for b in range(start, stop):
            value = worth[b]
            if value < 0.0 or (value == 0.0 and not refined[b]):
                continue
            for j in range(r):
                u[j] = slopes[b, j] - slopes[best, j]
            solve(factor, alone, u, away)
            squared, behind = inner(u, away), means[best] - means[b]
            if refined[b] and behind > NEAR * sqrt(squared):
                tie, level = own.ties[b], offsets[best] - offsets[b]
                ahead = inner(u, inside[b]) - level
                if ahead <= 0.0:  # they tie nowhere, as far as is seen of them
                    continue
                crossing(x, inside[b], behind, ahead, inner(u, tie) - level, tie)
                force = maximize(
                    directions, direction, sign, base, alone, counts, tie, u, level, other,
                    tied_factor, vectors, along,
                )  # fmt: skip
                sure = sqrt(max(2.0 * loss_of(counts, p, other), 1e-12))
                value, squared = weight(sure, sure / max(abs(force), 1e-300), damping), 0.0
                for j in range(r):
                    away[j] = tie[j] - x[j]
                for i in range(len(p)):
                    squared += counts[i] * (1.0 - other[i] / p[i]) ** 2
            share = scratch.chances[z] * value / squared
            for j in range(r):
                scaled = share * away[j]
                if scaled != 0.0:
                    for q in range(j + 1):
                        total[j, q] += scaled * away[q]
    for e in range(len(directions)):
        along[e] = 0.0
        for j in range(r):
            if directions[e, j] != 0.0:
                half = 0.5 * total[j, j] * directions[e, j]
                for q in range(j):
                    half += total[j, q] * directions[e, q]
                along[e] += 2.0 * directions[e, j] * half
    for a in range(len(offsets)):
        worth[a] = 0.0
        for i in range(table.first[a], table.first[a + 1]):
            worth[a] += along[direction[i]] / p[i]
