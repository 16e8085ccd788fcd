"""Comparisons of neighbours from the frequencies of symbols, one replicate after the other."""

from __future__ import annotations

import math

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

ROUNDING = 1e-13
"""A difference below this fraction of what it is summed from is zero."""


@compiled
def decide(vectors, sizes, plays, sums, factors, signs):
    """Fill signs (n, pairs): 1 or -1 where a comparison is decided, 0 where it is not.

    Factors Z have shape (n, pairs), or (n, 1) if all pairs have the same.
    """
    n, k, _ = sums.shape
    shared = factors.shape[1] == 1
    share = np.empty((n, k))
    error = np.empty((n, k))
    for i in range(n):
        for c in range(k):
            share[i, c] = 1.0 / plays[i, c]
            error[i, c] = math.sqrt(share[i, c])
        for e in range(len(vectors)):
            difference, width = compare(vectors, sizes, sums, share, error, i, e)
            signs[i, e] = sign_of(difference, width * factors[i, 0 if shared else e])


@compiled(allocates=False)
def compare(vectors, sizes, sums, share, error, i, e):
    """Return the difference of pair e in replicate i, and its width for the factor 1.

    With the frequencies p_c = sums_c share_c, where share = 1 / plays, these are sum_c <v_c, p_c>
    and sum_c |v_c| error_c, where error = share^(1/2). A difference that is only rounding has no
    width (NaN), and neither it nor that of an observer that was never played is ever decided.
    """
    difference, rough, width = 0.0, 0.0, 0.0
    for c in range(sums.shape[1]):
        if sizes[e, c] > 0.0:
            width += sizes[e, c] * error[i, c]
            for s in range(sums.shape[2]):
                term = vectors[e, c, s] * sums[i, c, s] * share[i, c]
                difference += term
                rough += abs(term)
    # An action that was never played has an infinite error (and 0/0 for its frequency).
    return difference, width if abs(difference) > ROUNDING * rough else math.nan


@compiled(allocates=False)
def sign_of(difference, width):
    """Return the sign of a difference that reaches its width, else 0."""
    return 0 if not abs(difference) >= width else (1 if difference > 0.0 else -1)


@compiled(allocates=False)
def accumulate(bound, spread, top, cumulative, scale):
    """Fill cumulative (n, levels - 1) with sums of weights of levels, scale (n,) with all weights.

    Of equally spaced levels from 0 to the bounds (n,) the last has the probability ``top``, the
    others share the rest in proportion to exp(-level^2 / (2 spread^2)).
    """
    n, below = cumulative.shape
    for i in range(n):
        step = bound[i] / below
        total = 0.0
        for j in range(below):
            total += math.exp(-0.5 * (j * step / spread) ** 2)
            cumulative[i, j] = total
        scale[i] = total / (1.0 - top)


@compiled(allocates=False)
def sample_factors(uniforms, bound, cumulative, scale, factors):
    """Fill factors (n, q) with levels up to the bounds (n,), drawn by uniform numbers (n, q)."""
    n, q = uniforms.shape
    for i in range(n):
        for e in range(q):
            factors[i, e] = factor_at(uniforms[i, e], bound, cumulative, scale, i)


@compiled(allocates=False)
def factor_at(uniform, bound, cumulative, scale, i):
    """Return the level of bound i that a uniform number draws."""
    below = cumulative.shape[1]
    target = uniform * scale[i]
    j = 0
    while j < below and cumulative[i, j] <= target:
        j += 1
    return bound[i] if j == below else j * (bound[i] / below)
