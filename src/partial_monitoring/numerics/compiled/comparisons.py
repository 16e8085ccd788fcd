"""Comparisons of neighbours from the frequencies of symbols, one replicate after the other."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

ROUNDING = 1e-13
"""A difference below this fraction of what it is summed from is zero."""


@compiled
def decide(vectors, sizes, plays, sums, factors, signs):
    """Fill signs (n, pairs): 1 or -1 where a comparison is decided, 0 where it is not.

    With the frequencies p_c = sums_c / plays_c of every action (k, m) the difference of a pair is
    sum_c <v_c, p_c>, and it is decided if it reaches factor * sum_c |v_c| / plays_c^(1/2). Factors
    have shape (n, pairs), or (n, 1) if all pairs have the same. Nothing is decided while an
    observer of the pair was never played.
    """
    n, k, m = sums.shape
    count = len(vectors)
    shared = factors.shape[1] == 1
    share = np.empty(k)
    error = np.empty(k)
    for i in range(n):
        for c in range(k):
            share[c] = 1.0 / plays[i, c]
            error[c] = np.sqrt(share[c])
        for e in range(count):
            difference, rough, width = 0.0, 0.0, 0.0
            for c in range(k):
                if sizes[e, c] > 0.0:
                    width += sizes[e, c] * error[c]
                    for s in range(m):
                        term = vectors[e, c, s] * sums[i, c, s] * share[c]
                        difference += term
                        rough += abs(term)
            width *= factors[i, 0 if shared else e]
            # An action that was never played has an infinite error (and 0/0 for its frequency).
            known = abs(difference) >= width and abs(difference) > ROUNDING * rough
            signs[i, e] = 0 if not known else (1 if difference > 0.0 else -1)


@compiled
def sample_factors(bound, uniforms, spread, levels, top):
    """Draw factors (n, q) between 0 and the bounds (n,), one for each uniform number (n, q).

    Of equally spaced levels from 0 to the bound the last has the probability ``top``, the others
    share the rest in proportion to exp(-level^2 / (2 spread^2)).
    """
    n, q = uniforms.shape
    factors = np.empty((n, q))
    cumulative = np.empty(levels - 1)
    for i in range(n):
        step = bound[i] / (levels - 1)
        total = 0.0
        for j in range(levels - 1):
            total += np.exp(-0.5 * (j * step / spread) ** 2)
            cumulative[j] = total
        scale = total / (1.0 - top)
        for e in range(q):
            target = uniforms[i, e] * scale
            j = 0
            while j < levels - 1 and cumulative[j] <= target:
                j += 1
            factors[i, e] = bound[i] if j == levels - 1 else j * step
    return factors
