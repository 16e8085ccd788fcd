"""Any gap estimate with any information gain, over any set, for one replicate.

What most policies play has loops of its own (``play_ids``, ``play_cut``, ``play_improvement``).
"""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import bodies, directed, improvement, play_ids
from partial_monitoring.numerics.compiled.bodies import WHOLE
from partial_monitoring.numerics.compiled.estimate import fill_information
from partial_monitoring.numerics.compiled.improvement import improvement_of_one
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.plausible import OPEN
from partial_monitoring.numerics.compiled.play_cut import (
    Rewards,
    fill_gaps_around,
    fill_means,
    project_estimate,
)
from partial_monitoring.numerics.compiled.play_improvement import Rivals

LOG_DET, DIRECTED, DIRECTED_RELAXED, IMPROVEMENT = range(4)
"""Information gains."""


class Parts(NamedTuple):
    """What gaps and information need besides an estimate, and room for them."""

    information: int
    contest: directed.Contest
    rivals: Rivals
    rewards: Rewards
    cut: bodies.Cut
    body: bodies.Scratch
    room: directed.Room
    weights: improvement.Scratch
    other: np.ndarray
    """Improvements that are not asked for, shape (k,)."""


@compiled(allocates=False)
def fill_improvement(parts, actions, known, i, rows, scratch):
    """Fill the gaps or the information of row i with those of expected improvements."""
    informing = parts.information == IMPROVEMENT
    improvement_of_one(
        known.means[i],
        known.variances[i],
        known.inverse[i],
        known.round[i],
        parts.rivals.noise,
        actions.seen,
        actions.columns,
        actions.maps,
        known.signals[i, : len(actions.offsets) if rows > 0 else 0],
        parts.rivals.groups,
        parts.rivals.counted,
        parts.rivals.chances,
        parts.weights,
        parts.other if informing else scratch.gaps,
        scratch.information if informing else parts.other,
    )


@compiled(allocates=False)
def fill_parts(parts, actions, known, i, rows, rule, beta, scratch):
    """Fill gaps and information of row i; whether all is proven.

    Signals of this number of rows are kept. A rule without a gap of its own has improvements.
    """
    rewards, cut, own = parts.rewards, parts.cut, parts.information
    whole, asks = cut.kind == WHOLE, own in (DIRECTED, DIRECTED_RELAXED)
    if asks or not whole:
        if not project_estimate(actions, known, i, rewards, cut, parts.body):
            return False
        fill_means(actions, rewards)
    if own == LOG_DET:
        fill_information(known, rows, i, scratch)
    if own == IMPROVEMENT or rule.gap < 0:
        fill_improvement(parts, actions, known, i, rows, scratch)
    if asks:
        for a in range(len(parts.room.plausible)):
            parts.room.plausible[a] = OPEN
        left, _ = directed.fill_directed(
            own == DIRECTED_RELAXED,
            parts.contest,
            cut,
            known.means[i] if whole else rewards.means,
            known.gram[i],
            known.inverse[i],
            beta,
            rewards.x,
            parts.room,
            scratch.information,
        )
        if left != directed.DONE:
            return False
    if rule.gap >= 0 and whole:
        play_ids.fill_gaps(actions, known, rule, i, beta, scratch)
    elif rule.gap >= 0:
        return fill_gaps_around(actions, known, rule, i, beta, scratch, rewards, cut, parts.body)
    return True
