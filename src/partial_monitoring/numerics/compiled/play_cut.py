"""Whole runs of information-directed sampling where Theta cuts E_t, see ``play_ids``.

Where a gap cannot be proven, the replicate stops before it draws any number, and the round is left
to the batched formulas.
"""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import cut as cuts
from partial_monitoring.numerics.compiled import gaps as gap_loops
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import fill_information, finish_round
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import inner, squared_radius
from partial_monitoring.numerics.compiled.play_ids import MEAN, RELAXED, choose


class Rewards(NamedTuple):
    """The rewards of actions on Theta, offsets + slopes x."""

    slopes: np.ndarray
    """Shape (k, D)."""
    groups: np.ndarray
    """[0, k]."""
    x: np.ndarray
    """Scratch for a point of Theta, shape (D,)."""
    means: np.ndarray
    """Scratch for rewards there, shape (k,)."""


@compiled(allocates=False)
def project_estimate(actions, known, i, rewards, cut, room):
    """Fill ``rewards.x`` with the estimate of row i in Theta; whether it was found."""
    x = rewards.x
    for p in range(len(x)):
        x[p] = known.coordinates[i, p] if p < known.coordinates.shape[1] else 0.0
    return cuts.project(cut, known.inverse[i], actions.regularization, room, x)


@compiled(allocates=False)
def fill_means(actions, rewards):
    """Fill ``rewards.means`` with the rewards at ``rewards.x``."""
    for a in range(len(rewards.means)):
        rewards.means[a] = actions.offsets[a] + inner(rewards.slopes[a], rewards.x)


@compiled(allocates=False)
def fill_cut_gaps(actions, known, rule, i, beta, scratch, rewards, cut, room):
    """Fill the gaps of all actions of row i; whether they are proven."""
    if not project_estimate(actions, known, i, rewards, cut, room):
        return False
    return fill_gaps_around(actions, known, rule, i, beta, scratch, rewards, cut, room)


@compiled(allocates=False)
def fill_gaps_around(actions, known, rule, i, beta, scratch, rewards, cut, room):
    """Do the same around an estimate in Theta, ``rewards.x``."""
    x, inverse, lam = rewards.x, known.inverse[i], actions.regularization
    if rule.gap != MEAN:
        return cuts.gaps(
            cut,
            rule.gap == RELAXED,
            inverse,
            lam,
            x,
            beta,
            rewards.slopes,
            actions.offsets,
            rewards.groups,
            room,
            scratch.gaps,
        )
    fill_means(actions, rewards)
    gap_loops.greedy_gaps_of(
        rewards.means,
        known.variances[i],
        inverse,
        beta,
        actions.seen,
        actions.columns,
        actions.unseen,
        lam,
        True,
        scratch.x,
        scratch.one,
        scratch.gaps,
    )
    for a in range(len(rewards.means)):
        scratch.gaps[a] = min(scratch.gaps[a], actions.ceiling[a])
    return True


@compiled(allocates=False)
def play_one(
    world,
    totals,
    data,
    reached,
    stop,
    i,
    actions,
    known,
    rule,
    scratch,
    rewards,
    cut,
    room,
    due,
    unproven,
):
    """Play replicate i until round ``stop``, or until it must be refreshed or decided elsewhere."""
    gaps, information = scratch.gaps, scratch.information
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        rounds, log_det = known.round[i], known.log_det[i]
        fill_information(known, rule.rows, i, scratch)
        action, ratio = actions.best, 0.0
        if action < 0:
            beta = squared_radius(rule.width, rounds, log_det)
            if not fill_cut_gaps(actions, known, rule, i, beta, scratch, rewards, cut, room):
                unproven[i] = True
                return
        uniform = worlds.uniform_for_policy(world, i, t)
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
    known,
    rule,
    scratch,
    rewards,
    cut,
    room,
    due,
    unproven,
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
            known,
            rule,
            scratch,
            rewards,
            cut,
            room,
            due,
            unproven,
        )
