"""The profile likelihood of comparisons between actions, when what is shown are signals.

How sure it is that b is worse than g is the likelihood l that is lost at the best point x_b where
the two tie, R_b = (2 l(x_hat) - 2 l(x_b))^(1/2), in standard deviations.
"""

# mypy: ignore-errors

from math import exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import inner
from partial_monitoring.numerics.compiled.rivals import tail
from partial_monitoring.numerics.compiled.signal_likelihood import (
    decompose,
    derivatives,
    halfway,
    maximize,
    other_half,
)

NEAR = 0.05
"""Ties closer than this many standard deviations are taken at the estimate itself."""

MOST_REFINED = 8
"""Of many rivals, those with the largest weights in the normal approximation are compared by their
likelihood, the others in that approximation."""

TIED = 1e-9
"""Weights that differ by this fraction are equal."""

FEW = 20
"""Up to this many rivals, in up to this many dimensions, all are compared by their likelihood."""


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
    prior: np.ndarray
    keep: float
    """gamma, 1 if nothing is forgotten."""
    memory: int
    """The most rounds that are counted."""
    period: int
    """An estimate that forgets is stale after this many rounds."""
    fade: float
    """What observations of an action keep of their weight when it is observed again."""


class Known(NamedTuple):
    """What is known in n replicates; of one of them, without the first axis."""

    round: np.ndarray
    """t: one more than the number of observations, but at most as many as are remembered, (n,)."""
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
    doubt: np.ndarray
    """What is expected to be lost per round, as it is not known which actions are best: (n, 1)."""


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
    """Mark which rivals of a group are compared by their likelihood; others have weights < 0.

    Of rivals with equal weights, up to rounding, the first ones are.
    """
    for b in range(start, stop):
        refined[b] = False
    for _ in range(MOST_REFINED):
        top = -1
        for b in range(start, stop):
            least = (1.0 + TIED) * weights[top] if top >= 0 else -1.0
            if weights[b] >= 0.0 and not refined[b] and weights[b] > least:
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
    to save per round, over all contexts together. And the doubt (1,): what there is to save.
    """
    extra, alone, direction, sign = table.extra, table.alone, table.direction, table.sign
    base, slopes, offsets, groups = table.base, table.slopes, table.offsets, table.groups
    pareto, inside, means, worth = table.pareto, table.inside, own.means, own.worth
    counts, x = own.counts, own.x
    p, tied, inverse = scratch.lines[0], scratch.lines[1], scratch.lines[2]
    vectors, u, away = scratch.vectors, scratch.vectors[3], scratch.vectors[4]
    rise, bend, refined = scratch.slopes[0], scratch.slopes[1], scratch.refined
    pivots, lower, total = scratch.pivots[0], scratch.matrices[0], scratch.matrices[2]
    r, least, doubt = len(x), np.inf, 0.0
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
                deviation = sure / max(abs(force), 1e-300)
                for j in range(r):
                    away[j] = tie[j] - x[j]
            else:
                deviation = sqrt(squared)
                sure = behind / deviation
                other_half(pivots, lower, alone, away)
            value = weight(sure, deviation, table.damping)
            doubt += scratch.chances[z] * deviation * tail(sure)
            add_square(alone, scratch.chances[z] * value / squared, away, total)
    own.doubt[0] = doubt
    spread(extra, alone, total, bend)
    for a in range(len(offsets)):
        worth[a] = 0.0
        for i in range(table.first[a], table.first[a + 1]):
            worth[a] += bend[direction[i]] / p[i]
