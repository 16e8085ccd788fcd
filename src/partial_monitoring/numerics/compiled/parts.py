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
    room: directed.Room | None
    """None if no information is directed: nothing is compiled for it then."""
    weights: improvement.Scratch | None
    """None if nothing is that of improvements."""
    squares: np.ndarray
    """Room for what an action shows, shape (2, m^2)."""
    other: np.ndarray
    """Improvements that are not asked for, shape (k,)."""


@compiled(allocates=False)
def fill_improvement(parts, weights, actions, known, i, rows, rule, scratch):
    """Fill the gaps or the information of row i, or both, with those of expected improvements."""
    m = actions.maps.shape[1]
    own = improvement.Scratch(
        weights.squared,
        weights.delta,
        weights.pulled,
        weights.half,
        weights.total,
        weights.part,
        parts.squares[0, : m * m].reshape((m, m)),
        parts.squares[1, : m * m].reshape((m, m)),
    )
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
        own,
        scratch.gaps if rule.gap < 0 else parts.other,
        scratch.information if parts.information == IMPROVEMENT else parts.other,
    )


@compiled(allocates=False)
def fill_directed(parts, room, means, known, i, beta, information):
    """Fill the directed information of row i around ``rewards.x``; whether it is proven."""
    for a in range(len(room.plausible)):
        room.plausible[a] = OPEN
    left, _ = directed.fill_directed(
        parts.information == DIRECTED_RELAXED,
        parts.contest,
        parts.cut,
        means,
        known.gram[i],
        known.inverse[i],
        beta,
        parts.rewards.x,
        room,
        information,
    )
    return left == directed.DONE


@compiled(allocates=False)
def fill_parts(parts, room, weights, actions, known, i, rows, rule, beta, scratch):
    """Fill gaps and information of row i; whether all is proven.

    Room and weights are those of the parts, or None. Signals of this number of rows are kept. A
    rule without a gap of its own has improvements.
    """
    rewards, cut, own = parts.rewards, parts.cut, parts.information
    whole = cut.kind == WHOLE
    if not whole or own in (DIRECTED, DIRECTED_RELAXED):
        if not project_estimate(actions, known, i, rewards, cut, parts.body):
            return False
        fill_means(actions, rewards)
    if own == LOG_DET:
        fill_information(known, rows, i, scratch)
    if weights is not None:
        fill_improvement(parts, weights, actions, known, i, rows, rule, scratch)
    if room is not None:
        means = known.means[i] if whole else rewards.means
        if not fill_directed(parts, room, means, known, i, beta, scratch.information):
            return False
    if rule.gap >= 0 and whole:
        play_ids.fill_gaps(actions, known, rule, i, beta, scratch)
    elif rule.gap >= 0:
        return fill_gaps_around(actions, known, rule, i, beta, scratch, rewards, cut, parts.body)
    return True
