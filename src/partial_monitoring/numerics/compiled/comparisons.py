"""Comparisons of neighbours from the frequencies of symbols, one replicate after the other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

ROUNDING = 1e-13
"""A difference below this fraction of what it is summed from is zero."""

BLOCK = 8
"""The number of actions whose terms are added up together: a play changes the sums of its block."""


class Sums(NamedTuple):
    """Sums over the actions of each block and, last, of all: shapes (n, blocks + 1, pairs)."""

    difference: np.ndarray
    rough: np.ndarray
    """Of the absolute terms."""
    width: np.ndarray


def no_sums(n: int, k: int, pairs: int) -> Sums:
    """Return room for the sums of n replicates."""
    blocks = -(-k // BLOCK)
    return Sums(*(np.zeros((n, blocks + 1, pairs)) for _ in range(3)))


@compiled
def decide(vectors, sizes, plays, counts, factors, sums, signs):
    """Fill signs (n, pairs): 1 or -1 where a comparison is decided, 0 where it is not.

    Factors Z have shape (n, pairs), or (n, 1) if all pairs have the same; ``sums`` is room for one
    replicate.
    """
    n, k, _ = counts.shape
    shared = factors.shape[1] == 1
    share, error = np.empty((n, k)), np.empty((n, k))
    for i in range(n):
        for c in range(k):
            share[i, c] = 1.0 / plays[i, c]
            error[i, c] = math.sqrt(share[i, c])
        for block in range(sums.width.shape[1] - 1):
            add_up(vectors, sizes, counts, share, error, sums, i, 0, block)
        add_blocks(sums, 0)
        for e in range(signs.shape[1]):
            difference, width = compare(sums, 0, e)
            signs[i, e] = sign_of(difference, width * factors[i, 0 if shared else e])


@compiled(allocates=False)
def add_up(vectors, sizes, counts, share, error, sums, i, row, block):
    """Add up the terms of a block of actions in replicate i, to a row of the sums.

    With the frequencies p_c = counts_c share_c, where share = 1 / plays, they are sum_c <v_c, p_c>
    and sum_c |v_c| error_c, where error = share^(1/2). Vectors have shape (k, m, pairs) and sizes
    (k, pairs). What an action that was never played observes is no number.
    """
    k, m, pairs = vectors.shape
    for e in range(pairs):
        sums.difference[row, block, e] = 0.0
        sums.rough[row, block, e] = 0.0
        sums.width[row, block, e] = 0.0
    for c in range(block * BLOCK, min(k, (block + 1) * BLOCK)):
        part, spread = share[i, c], error[i, c]
        if spread == math.inf:
            for e in range(pairs):
                if sizes[c, e] > 0.0:
                    sums.difference[row, block, e] = math.nan
            continue
        for e in range(pairs):
            sums.width[row, block, e] += sizes[c, e] * spread
        for s in range(m):
            seen = counts[i, c, s]
            for e in range(pairs):
                term = vectors[c, s, e] * seen * part
                sums.difference[row, block, e] += term
                sums.rough[row, block, e] += abs(term)


@compiled(allocates=False)
def add_blocks(sums, row):
    """Add up the blocks in a row of the sums."""
    last = sums.width.shape[1] - 1
    for e in range(sums.width.shape[2]):
        sums.difference[row, last, e] = 0.0
        sums.rough[row, last, e] = 0.0
        sums.width[row, last, e] = 0.0
    for block in range(last):
        for e in range(sums.width.shape[2]):
            sums.difference[row, last, e] += sums.difference[row, block, e]
            sums.rough[row, last, e] += sums.rough[row, block, e]
            sums.width[row, last, e] += sums.width[row, block, e]


@compiled(allocates=False)
def compare(sums, row, e):
    """Return the difference of pair e in a row of the sums, and its width for the factor 1.

    A difference that is only rounding has no width (NaN), and neither it nor that of an observer
    that was never played is ever decided.
    """
    last = sums.width.shape[1] - 1
    difference, rough = sums.difference[row, last, e], sums.rough[row, last, e]
    return difference, sums.width[row, last, e] if abs(difference) > ROUNDING * rough else math.nan


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
