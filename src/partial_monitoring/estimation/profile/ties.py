"""Parts of theta that are alike, as signals that only a prior has seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.model.alike import Alike
from partial_monitoring.validation import Array


class Ties(NamedTuple):
    """A prior by which parts of theta are alike."""

    rows: Array
    """Signals that say so, shape (q, d)."""
    counts: Array
    """Their pseudo-counts, shape (q,)."""
    own: Array
    """By what those of the signals (s,) themselves are multiplied; 1 if only one part shows it."""


def ties(alike: Alike, rows: Array, weights: Array) -> Ties:
    """Return the prior by which parts of theta are alike, as signals.

    Let delta be how much the probability of a signal differs from its mean over all parts that show
    it. A trial that succeeds with probability 1/2 + delta / 4 and was seen to succeed and to fail
    2 w times each lowers the log-likelihood by w delta^2 / 2, up to higher orders. The prior of
    each signal (s, d) alone does so with the ``weights`` (s,); w is chosen so that all of it is the
    Gaussian prior of least squares, whose precision is 1 + scale^2 times that of one part, over
    scale^2 for deviations and over J + scale^2 for the common part of J that show the signal.
    """
    found: dict[bytes, list[tuple[int, int]]] = {}
    for i, row in enumerate(rows):
        for z, block in enumerate(alike.blocks):
            if row[block].any():
                found.setdefault((np.round(row[block], 11) + 0.0).tobytes(), []).append((i, z))
    total: dict[bytes, tuple[Array, float]] = {}
    factors = np.ones(len(rows))
    for places in found.values():
        parts = sorted({z for _, z in places})
        square, count = alike.scale**2, len(parts)
        often = count * (1.0 + square) / (square * (count + square))
        factors[[i for i, _ in places]] = (1.0 + square) / (count + square)
        for i, z in places if count > 1 else ():
            own = rows[i, alike.blocks[z]]
            delta = np.zeros(rows.shape[1])
            for other in parts:
                delta[alike.blocks[other]] = -own / count
            delta[alike.blocks[z]] += own
            delta *= np.sign(delta[delta != 0][0])
            key = np.round(delta, 11).tobytes()
            total[key] = delta, total.get(key, (delta, 0.0))[1] + often * weights[i]
    vectors = [sign * delta / 4.0 for delta, _ in total.values() for sign in (1.0, -1.0)]
    counts = [2.0 * weight for _, weight in total.values() for _ in range(2)]
    return Ties(np.array(vectors).reshape(-1, rows.shape[1]), np.array(counts), factors)
