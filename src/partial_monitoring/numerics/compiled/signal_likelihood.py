"""The likelihood of counted signals, and its maximum in all of space or in a plane.

A signal i has the probability p_i(x) = base_i + sign_i <e_i, x>, where e_i is one of few directions
that several signals share: the two signals of an action have opposite signs. It was seen counts_i
times, with the pseudo-counts of the prior, so that all of them are positive. The log-likelihood

    l(x) = sum_i counts_i log p_i(x)

is strictly concave, and it falls to minus infinity at the boundary of {p > 0}: Newton's method,
with steps that leave a tenth of every probability and that let l grow by a tenth of what they
promise, converges from everywhere.

Coordinates x are measured along the first r directions, so that x_j is what p changes by in the
j-th; ``extra`` (e - r, r) are the other directions. ``alone`` (r,) says which coordinates have no
part in any of those: if all are alone, minus the Hessian is diagonal, and nothing takes time that
grows like r^2. In general it is L D L' with ``pivots`` 1 / D (r,) and ``lower`` L (r, r), of which
only the rows that are not alone and the entries below the diagonal are used.

Arguments that functions share: of each signal its direction, sign and base, shape (s,) each; its
count and its probability p, shape (s,) each.
"""

# mypy: ignore-errors

from math import log1p

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, inner

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
