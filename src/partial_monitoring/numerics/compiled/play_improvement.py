"""Whole runs of information-directed sampling on expected improvements, see ``play_ids``."""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import finish_round
from partial_monitoring.numerics.compiled.improvement import improvement_of_one
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.play_ids import choose


class Rivals(NamedTuple):
    """What improvements need to know of a game."""

    counted: np.ndarray
    """Which actions are rivals, shape (k,)."""
    groups: np.ndarray
    """[0, k]: all of them compete."""
    chances: np.ndarray
    """[1.0]."""
    noise: float
    """rho."""


@compiled(allocates=False)
def play_one(
    world, totals, data, reached, stop, i, actions, rivals, known, rule, scratch, weights, due
):
    """Play replicate i until round ``stop``, or until it is due to be refreshed."""
    gaps, information = scratch.gaps, scratch.information
    signals = len(gaps) if rule.rows > 0 else 0
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        uniform = worlds.uniform_for_policy(world, i, t)
        rounds, log_det = known.round[i], known.log_det[i]
        improvement_of_one(
            known.means[i],
            known.variances[i],
            known.inverse[i],
            rounds,
            rivals.noise,
            actions.seen,
            actions.columns,
            actions.maps,
            known.signals[i, :signals],
            rivals.groups,
            rivals.counted,
            rivals.chances,
            weights,
            gaps,
            information,
        )
        action, ratio = actions.best, 0.0
        if action < 0:
            action, ratio, _ = choose(
                gaps, information, rule, rounds, log_det, uniform, scratch.one, scratch.two
            )
        learned = finish_round(
            world, totals, data, reached, t, i, actions, known, rule, scratch, action, ratio
        )
        if not learned:
            due[i] = True
            return


@compiled(allocates=False)
def play(
    world,
    totals,
    data,
    reached,
    stop,
    first,
    last,
    actions,
    rivals,
    known,
    rule,
    scratch,
    weights,
    due,
):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(
            world,
            totals,
            data,
            reached,
            stop,
            i,
            actions,
            rivals,
            known,
            rule,
            scratch,
            weights,
            due,
        )
