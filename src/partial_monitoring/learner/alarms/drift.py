"""Drift: what an action shows is no longer what it showed.

The null hypothesis is that each cell shows the same all the time, whatever that is; theta is not
used, so that a misfit is not taken for a drift. For a fixed time s every cell is two, before and
after s. As in ``misfit.py``, with one distribution (or one mean) of a cell in place of theta,

    signals: e_c = Q(before) Q(after) / (largest probability of both under one distribution)
    numbers: e_c = spread(before) spread(after) exp(w w' / (w + w') |mean - mean'|^2 / (2 sigma^2))

with the weights w = n^2 / (n + tau) before and after. For every s the product of e_c over any set
of cells is an e-process, each round multiplies at most one of its factors. So are averages of them
with fixed weights: half of the weight is given to all sets of cells (``log_some``), which is large
if several of few actions have changed, and half to single cells, which is large if one of many has;
and so is the sum over s with weights that sum to 1. The times s are four in each octave, 4, 5, 6,
7, 8, 10, 12, 14, 16, ..., those from 2^j to 2^(j+1) weighing 1 / (4 (j - 1) j) each. They are fixed
in advance, so that the probability of a false alarm is bounded for all times, not only its rate as
with detectors that begin anew at every time. A change at another time is found with the nearest s,
a little later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partial_monitoring.learner.alarms.mixtures import (
    log_most_likely,
    log_signals,
    log_some,
    log_spread,
    weights,
)
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import AllSums, Cell, Evidence, Sums
from partial_monitoring.validation import Array

Split = tuple[int, AllSums]
"""A time, and what was observed before it."""


def is_split(time: int) -> bool:
    """Whether stretches are compared before and after a number of answers."""
    octave = time.bit_length() - 1
    return octave >= 2 and time % (1 << (octave - 2)) == 0


def log_weight(time: int) -> float:
    """Return the logarithm of the weight of a time that is a split."""
    octave = time.bit_length() - 1
    return -float(np.log(4 * (octave - 1) * octave))


def drift(watched: Watched, splits: Sequence[Split], sums: AllSums) -> Evidence:
    """Return the e-value against the hypothesis that every cell always shows the same.

    Splits are the earlier ones with what was observed by then; sums are those of all answers.
    """
    cells = watched.random_cells(sums)
    if not cells or not splits:
        return Evidence(0.0, "")
    evidence = np.array([_cell(watched, cell, splits, sums[cell]) for cell in cells])
    alone = np.logaddexp.reduce(evidence, axis=0) - np.log(watched.size)
    each = np.logaddexp(log_some(evidence), alone) - np.log(2)
    each += [log_weight(time) for time, _ in splits]
    place = int(each.argmax())
    cell = cells[int(evidence[:, place].argmax())]
    time, before = splits[place]
    sentence = ""
    if cell in before and sums[cell].plays > before[cell].plays:
        old, new = before[cell], _rest(before[cell], sums[cell])
        sentence = (
            f"what {watched.label(cell)} shows has changed since about answer {time}: "
            f"{watched.in_words(cell, old)} before, {watched.in_words(cell, new)} after."
        )
    return Evidence(float(np.logaddexp.reduce(each)), sentence)


def _rest(old: Sums, all_of_them: Sums) -> Sums:
    total = tuple(x - y for x, y in zip(all_of_them.total, old.total, strict=True))
    return Sums(all_of_them.plays - old.plays, total)


def _cell(watched: Watched, cell: Cell, splits: Sequence[Split], now: Sums) -> Array:
    """Return log e_c of one cell for every split."""
    nothing = Sums(0, (0.0,) * len(now.total))
    known = [before.get(cell, nothing) for _, before in splits]
    total = np.array([own.total for own in known])
    rest = np.array(now.total) - total
    if watched.signals:
        return np.asarray(log_signals(total) + log_signals(rest) - log_most_likely(total + rest))
    plays = np.array([own.plays for own in known], dtype=float)
    later = now.plays - plays
    both = (plays > 0) & (later > 0)
    means = total / np.maximum(plays, 1.0)[:, None]
    apart = np.where(both, ((rest / np.maximum(later, 1.0)[:, None] - means) ** 2).sum(axis=1), 0.0)
    one, two = weights(plays), weights(later)
    weight = np.where(both, one * two / np.maximum(one + two, 1e-300), 0.0)
    rows = np.full(len(known), len(now.total))
    spread = log_spread(plays, rows) + log_spread(later, rows)
    return np.asarray(spread + weight * apart / (2 * watched.noise(cell) ** 2))
