"""The profile likelihood of comparisons between actions, when what is shown are signals.

A signal i has the probability p_i(x) = base_i + <rows_i, x> and was seen counts_i times, with the
pseudo-counts of the prior, so that all of them are positive. The log-likelihood

    l(x) = sum_i counts_i log p_i(x)

is concave and self-concordant: Newton's method with steps that leave a tenth of every probability
arrives from everywhere. How sure it is that b is worse than a is the likelihood that is lost at the
best point x_b where the two tie, R_b = (2 l(x_hat) - 2 l(x_b))^(1/2), in standard deviations.
"""


# mypy: ignore-errors

from math import exp, log, pi, sqrt

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, inner

NEAR = 0.05
"""Ties closer than this many standard deviations are taken at the estimate itself."""

MOST_REFINED = 8
"""Of more rivals, those with the smallest weights are compared in the normal approximation."""

FEW = 20
"""Up to so many rivals, in up to so many dimensions, all are compared by their likelihood."""

ACCURATE = 1e-6
"""Newton's method stops after a step whose squared length is at most this in the norm of minus the
Hessian; what is left is about its square."""

MOST_STEPS = 50


@compiled(fastmath=FAST)
def cholesky(matrix, factor):
    """Fill the lower triangle L of a positive definite matrix = L L'."""
    r = len(matrix)
    for j in range(r):
        for i in range(j, r):
            total = matrix[i, j]
            for q in range(j):
                total -= factor[i, q] * factor[j, q]
            if i == j:
                factor[j, j] = sqrt(max(total, 1e-300))
            else:
                factor[i, j] = total / factor[j, j]


@compiled(fastmath=FAST)
def solve(factor, vector, out):
    """Fill out with (L L')^-1 vector; both may be the same array."""
    r = len(vector)
    for i in range(r):
        total = vector[i]
        for q in range(i):
            total -= factor[i, q] * out[q]
        out[i] = total / factor[i, i]
    for i in range(r - 1, -1, -1):
        total = out[i]
        for q in range(i + 1, r):
            total -= factor[q, i] * out[q]
        out[i] = total / factor[i, i]


@compiled(fastmath=FAST)
def curvature(rows, counts, p, gradient, hessian):
    """Fill the gradient of l and minus its Hessian at a point with probabilities p."""
    r = len(gradient)
    for j in range(r):
        gradient[j] = 0.0
        for q in range(j + 1):
            hessian[j, q] = 0.0
    for i in range(len(rows)):
        slope = counts[i] / p[i]
        bend = slope / p[i]
        for j in range(r):
            gradient[j] += slope * rows[i, j]
            scaled = bend * rows[i, j]
            for q in range(j + 1):
                hessian[j, q] += scaled * rows[i, q]


@compiled
def probabilities(rows, base, x, p):
    """Fill the probabilities of all signals at x."""
    for i in range(len(rows)):
        p[i] = base[i] + inner(rows[i], x)


@compiled
def maximize(rows, base, counts, x, tied, u, level, tolerance, p, hessian, factor, gradient, work):
    """Move x to the maximum of l, if ``tied`` of that on <u, x> = level; return the multiplier.

    Leaves the probabilities there in p, and minus the Hessian (its lower triangle) with its factor
    of the last step, which is that small that they are those of the maximum.
    """
    multiplier, step = 0.0, work[0]
    probabilities(rows, base, x, p)
    for _ in range(MOST_STEPS):
        curvature(rows, counts, p, gradient, hessian)
        cholesky(hessian, factor)
        solve(factor, gradient, step)
        if tied:
            solve(factor, u, work[1])
            multiplier = (inner(u, step) - level + inner(u, x)) / inner(u, work[1])
            for j in range(len(x)):
                step[j] -= multiplier * work[1, j]
        share, size = 1.0, 0.0
        for i in range(len(rows)):
            change = inner(rows[i], step)
            size += counts[i] * (change / p[i]) ** 2
            if p[i] + share * change < 0.1 * p[i]:
                share = -0.9 * p[i] / change
        for j in range(len(x)):
            x[j] += share * step[j]
        probabilities(rows, base, x, p)
        if size <= tolerance:
            break
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
    return scale * exp(-0.5 * square) / sqrt(2.0 * pi) * (1.0 + square) ** -damping


@compiled
def greedy_of(means, pareto, start, stop):
    """Return the Pareto action of a group with the largest mean, the first one among ties."""
    greedy = -1
    for a in range(start, stop):
        if pareto[a] and (greedy < 0 or means[a] > means[greedy] + 1e-12):
            greedy = a
    return greedy


@compiled
def refined_from(weights, start, stop, r):
    """Return the least weight in the normal approximation of rivals that are compared exactly."""
    rivals = 0
    for b in range(start, stop):
        rivals += weights[b] >= 0.0
    if rivals <= FEW and r <= FEW:
        return 0.0
    limit = np.inf
    for _ in range(MOST_REFINED):
        below = -1.0
        for b in range(start, stop):
            if weights[b] < limit:
                below = max(below, weights[b])
        if below < 0.0:
            return 0.0
        limit = below
    return limit


@compiled
def profile(
    rows, base, first, slopes, offsets, groups, pareto, chances, damping,
    counts, x, ties, means, worth, scratch,
):  # fmt: skip
    """Bring the estimate x and the ties (K, r) of one replicate up to date with its counts.

    Fills the means (K,) and the worth (K,) of all actions: what an observation of each is expected
    to save per round, over all contexts together.
    """
    r = len(x)
    p, other, gradient, u, away = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    work, hessian, factor, tied_hessian, tied_factor, total = scratch[5:]
    maximize(rows, base, counts, x, False, u, 0.0, ACCURATE, p, hessian, factor, gradient, work)
    for j in range(r):
        for q in range(r):
            total[j, q] = 0.0
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
                solve(factor, u, away)
                variance = inner(u, away)
                if variance > 0.0:
                    deviation = sqrt(variance)
                    worth[b] = weight((means[best] - means[b]) / deviation, deviation, damping)
        least = refined_from(worth, start, stop, r)
        for b in range(start, stop):
            if worth[b] < 0.0:
                continue
            for j in range(r):
                u[j] = slopes[b, j] - slopes[best, j]
            solve(factor, u, away)
            deviation = sqrt(inner(u, away))
            behind = means[best] - means[b]
            if worth[b] < least or behind <= NEAR * deviation:
                value, squared = worth[b], deviation * deviation
                for j in range(r):
                    ties[b, j] = x[j]
            else:
                tie = ties[b]
                force = maximize(
                    rows, base, counts, tie, True, u, offsets[best] - offsets[b], ACCURATE,
                    other, tied_hessian, tied_factor, gradient, work,
                )  # fmt: skip
                sure = sqrt(max(2.0 * loss_of(counts, p, other), 1e-12))
                value, squared = weight(sure, sure / max(abs(force), 1e-300), damping), 0.0
                for j in range(r):
                    away[j] = tie[j] - x[j]
                for i in range(len(rows)):
                    squared += counts[i] * (inner(rows[i], away) / p[i]) ** 2
            if squared > 0.0:
                share = chances[z] * value / squared
                for j in range(r):
                    for q in range(r):
                        total[j, q] += share * away[j] * away[q]
    for a in range(len(offsets)):
        worth[a] = 0.0
        for i in range(first[a], first[a + 1]):
            quadratic = 0.0
            for j in range(r):
                quadratic += rows[i, j] * inner(total[j], rows[i])
            worth[a] += quadratic / p[i]


@compiled
def refresh(
    rows, base, first, slopes, offsets, groups, pareto, chances, damping,
    stale, counts, x, ties, means, worth,
):  # fmt: skip
    """Bring the stale replicates up to date; see ``profile``."""
    count, r = rows.shape
    scratch = (
        np.empty(count), np.empty(count), np.empty(r), np.empty(r), np.empty(r), np.empty((2, r)),
        np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r)),
    )  # fmt: skip
    for n in range(len(stale)):
        if stale[n]:
            profile(
                rows, base, first, slopes, offsets, groups, pareto, chances[n], damping,
                counts[n], x[n], ties[n], means[n], worth[n], scratch,
            )  # fmt: skip


@compiled
def count(first, source, scale, shift, action, observation, growth, plays, fresh, counts, stale):
    """Count the signals of actions (n,) in observations (n, m), and say whose estimate is stale.

    It is when the plays of the action have grown by a fraction ``growth`` since it was up to date.
    """
    for n in range(len(action)):
        a = action[n]
        stale[n] = False
        if first[a] == first[a + 1]:
            continue
        plays[n, a] += 1
        for i in range(first[a], first[a + 1]):
            seen = scale[i] * observation[n, source[i]] + shift[i]
            counts[n, i] += min(max(seen, 0.0), 1.0)
        if plays[n, a] - fresh[n, a] >= growth * plays[n, a]:
            stale[n] = True
            for b in range(plays.shape[1]):
                fresh[n, b] = plays[n, b]
