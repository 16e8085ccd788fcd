"""The likelihood of distributions over d outcomes, and where it is largest, for all replicates.

Row g_j in {0, 1}^d was seen c_j times, so that l(theta) = sum_j c_j log <g_j, theta>, which is
concave. Steps on the simplex sum to zero; they are written by all entries but that of a pivot, the
largest one, which loses the fewest digits.
"""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, inner

PRIOR = 0.5
"""Pseudo-counts of every outcome in the estimate."""

THIN = 1e-6
"""A set whose room is smaller, or that is empty, is taken to have this room."""

STEPS = 100
"""Largest number of steps of Newton's method for one problem."""

HALVINGS = 60
"""Largest number of times that a step is shortened."""


@compiled
def remainder(x):
    """Return log Gamma(x) - ((x - 1/2) log x - x + 1/2 log 2 pi), Stirling's remainder."""
    if x < 10.0:
        return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi))
    y = 1.0 / (x * x)
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x


@compiled
def mixture_regret(counts, start, end):
    """Return by how much counts are likelier at their frequencies than under the mixture.

    The mixture of Krichevsky and Trofimov is Dirichlet with 1/2 for each of the m signals. Terms
    that grow with the counts cancel before they are added, so that no digits are lost.
    """
    m, total = end - start, 0.0
    for j in range(start, end):
        total += counts[j]
    if total == 0.0:
        return 0.0
    half = 0.5 * math.log(2.0 * math.pi)
    regret = total * math.log1p(0.5 * m / total) + 0.5 * (m - 1) * math.log(total + 0.5 * m)
    regret += half + remainder(total + 0.5 * m) - math.lgamma(0.5 * m) + m * math.lgamma(0.5)
    for j in range(start, end):
        if counts[j] > 0.0:
            regret -= counts[j] * math.log1p(0.5 / counts[j])
        regret -= half + remainder(counts[j] + 0.5)
    return regret


@compiled(fastmath=FAST)
def factor(matrix, size):
    """Turn the lower half of a positive definite matrix into its Cholesky factor."""
    for j in range(size):
        pivot = matrix[j, j]
        for h in range(j):
            pivot -= matrix[j, h] * matrix[j, h]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, size):
            entry = matrix[i, j]
            for h in range(j):
                entry -= matrix[i, h] * matrix[j, h]
            matrix[i, j] = entry / root
    return True


@compiled(fastmath=FAST)
def solve(low, out):
    """Replace out (d,) by the solution of L L' x = out."""
    size = len(out)
    for j in range(size):
        entry = out[j]
        for h in range(j):
            entry -= low[j, h] * out[h]
        out[j] = entry / low[j, j]
    for j in range(size - 1, -1, -1):
        entry = out[j]
        for h in range(j + 1, size):
            entry -= low[h, j] * out[h]
        out[j] = entry / low[j, j]


@compiled
def seen_rows(rows, counts):
    """Return the rows that were seen at all, and how often."""
    d, size = rows.shape[1], 0
    for j in range(len(counts)):
        size += counts[j] > 0.0
    kept, often = np.empty((size, d)), np.empty(size)
    size = 0
    for j in range(len(counts)):
        if counts[j] > 0.0:
            often[size] = counts[j]
            for x in range(d):
                kept[size, x] = rows[j, x]
            size += 1
    return kept, often


@compiled(fastmath=FAST)
def chances(rows, theta, out):
    """Fill out (q,) with the probabilities <g_j, theta> of the rows."""
    for j in range(len(out)):
        out[j] = inner(rows[j], theta)


@compiled(fastmath=FAST)
def ahead(counts, p, origin):
    """Return l(theta) - l(theta_hat) from the probabilities of the rows at both."""
    found = 0.0
    for j in range(len(counts)):
        found += counts[j] * math.log1p((p[j] - origin[j]) / origin[j])
    return found


@compiled
def largest(values):
    """Return where the largest entry is."""
    top = 0
    for x in range(1, len(values)):
        if values[x] > values[top]:
            top = x
    return top


@compiled(fastmath=FAST)
def expand(rows, counts, p, curves, diagonal, pivot, gradient, matrix):
    """Fill the gradient of l, and the factor of sum_j curves_j g_j g_j' plus a diagonal.

    The matrix acts on steps that sum to zero, written by their entries other than ``pivot``, whose
    row is that of the identity. From the gradient its mean sum_j c_j is taken, for the digits.
    """
    d = len(gradient)
    for x in range(d):
        gradient[x] = 0.0
        for y in range(x + 1):
            matrix[x, y] = 0.0 if x == pivot or y == pivot else diagonal[pivot]
        matrix[x, x] = 1.0 if x == pivot else diagonal[x] + diagonal[pivot]
    for j in range(len(counts)):
        row, pull, curve = rows[j], counts[j] / p[j], curves[j]
        for x in range(d):
            gradient[x] += pull * (row[x] - p[j])
            away = row[x] - row[pivot]
            if away != 0.0:
                for y in range(x + 1):
                    matrix[x, y] += curve * away * (row[y] - row[pivot])
    return factor(matrix, d)


@compiled(fastmath=FAST)
def solve_step(low, right, pivot, out):
    """Fill out (d,) with the step that sums to zero and solves the reduced system."""
    for x in range(len(out)):
        out[x] = right[x] - right[pivot]
    solve(low, out)
    rest = 0.0
    for x in range(len(out)):
        rest += out[x] if x != pivot else 0.0
    out[pivot] = -rest


@compiled
def penalized(counts, p, origin, weight, theta):
    """Return l(theta) - l(origin) + weight sum_x log theta_x."""
    found = ahead(counts, p, origin)
    for x in range(len(theta)):
        found += weight * math.log(theta[x])
    return found


@compiled
def move(theta, length, step, moved):
    """Fill moved (d,) with theta + length * step, on the simplex in spite of rounding."""
    sum_ = 0.0
    for x in range(len(theta)):
        moved[x] = theta[x] + length * step[x]
        sum_ += moved[x]
    for x in range(len(theta)):
        moved[x] /= sum_


@compiled
def climb(rows, counts, weight, theta):
    """Move theta to the maximum of l(theta) + weight sum_x log theta_x over the simplex."""
    d, q = len(theta), len(counts)
    p, after, origin, curves = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    gradient, step, diagonal, moved = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    matrix = np.empty((d, d))
    chances(rows, theta, p)
    chances(rows, theta, origin)
    height = penalized(counts, p, origin, weight, theta)
    for _ in range(STEPS):
        pivot = largest(theta)
        for x in range(d):
            diagonal[x] = weight / (theta[x] * theta[x])
        for j in range(q):
            curves[j] = counts[j] / (p[j] * p[j])
        if not expand(rows, counts, p, curves, diagonal, pivot, gradient, matrix):
            return
        for x in range(d):
            gradient[x] += weight / theta[x]
        solve_step(matrix, gradient, pivot, step)
        length, gain = 1.0, inner(step, gradient)
        for x in range(d):
            if step[x] < 0.0:
                length = min(length, -0.95 * theta[x] / step[x])
        if not gain > 1e-18:
            return
        for _ in range(HALVINGS):
            move(theta, length, step, moved)
            chances(rows, moved, after)
            new = penalized(counts, after, origin, weight, moved)
            if new >= height + 0.01 * length * gain or gain < 1e-9:
                break
            length *= 0.5
        height = new
        for x in range(d):
            theta[x] = moved[x]
        chances(rows, theta, p)


@compiled
def centers(rows, channels, counts, log_inverse_delta):
    """Return estimates (n, d), rooms (n,) and by how much no theta is likely enough (n,).

    ``channels`` (c + 1,) says where the rows of each kind of observation begin. The estimate is the
    mode with PRIOR pseudo-counts of each outcome; if that is not in E_t, with fewer.
    """
    n, d, q = len(counts), rows.shape[1], rows.shape[0]
    found, rooms, misses = np.empty((n, d)), np.empty(n), np.zeros(n)
    p = np.empty(q)
    for i in range(n):
        theta, own = found[i], counts[i]
        for x in range(d):
            theta[x] = 1.0 / d
        kept, often = seen_rows(rows, own)
        limit = log_inverse_delta[i]
        for a in range(len(channels) - 1):
            limit += mixture_regret(own, channels[a], channels[a + 1])
        weight = PRIOR
        while True:
            climb(kept, often, weight, theta)
            chances(rows, theta, p)
            room = limit
            for a in range(len(channels) - 1):
                plays = 0.0
                for j in range(channels[a], channels[a + 1]):
                    plays += own[j]
                for j in range(channels[a], channels[a + 1]):
                    if own[j] > 0.0:
                        share = own[j] / plays
                        room += own[j] * math.log1p((p[j] - share) / share)
            if room > THIN or d * weight < 0.1 * THIN:
                break
            weight *= 0.1
        misses[i] = max(-room - d * weight, 0.0)
        rooms[i] = max(room, THIN)
    return found, rooms, misses
