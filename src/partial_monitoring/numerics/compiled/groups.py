"""Closed-form gaps in many games at once, whose actions stand in groups one after the other."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics.compiled import gaps as gap_loops
from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled
def exact_gaps(means, inverse, beta, centred, starts):
    """Return the largest gaps within each group, shape (n, N): see the gaps of one game."""
    gaps = np.empty(means.shape)
    for z in range(len(starts) - 1):
        start, end = starts[z], starts[z + 1]
        none = np.zeros((end - start, end - start))
        own = np.ascontiguousarray(means[:, start:end])
        gaps[:, start:end] = gap_loops.exact_gaps(own, inverse, beta, centred[start:end], none)
    return gaps


@compiled
def greedy_gaps(means, variances, inverse, beta, seen, starts, through_mean):
    """Return the gaps through the greedy action of each group, shape (n, N)."""
    gaps = np.empty(means.shape)
    for z in range(len(starts) - 1):
        start, end = starts[z], starts[z + 1]
        gaps[:, start:end], _ = gap_loops.greedy_gaps(
            np.ascontiguousarray(means[:, start:end]),
            np.ascontiguousarray(variances[:, start:end]),
            inverse,
            beta,
            seen[start:end],
            np.ascontiguousarray(seen[start:end].T),
            np.zeros((end - start, 0)),
            1.0,
            through_mean,
        )
    return gaps
