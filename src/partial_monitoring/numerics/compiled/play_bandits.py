"""Whole runs of policies that play what looks best, one replicate after the other.

Optimism, Thompson sampling, and those that only compare estimated rewards, on least squares. Which
of them it is and its options are numbers (see ``Rule``), so that one compiled function plays all.
"""

# mypy: ignore-errors

from math import sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import gaps as gap_loops
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.chance import drawn_from
from partial_monitoring.numerics.compiled.estimate import information_of, learn
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import squared_radius
from partial_monitoring.numerics.compiled.normal import normal_from
from partial_monitoring.numerics.compiled.play_cut import fill_means, project_estimate
from partial_monitoring.numerics.compiled.posterior import draw_rewards

OPTIMISTIC, RELATIVE, DRAWN, GREEDY, MIXED, DECAYING, INVERSE_GAP = range(7)
"""LinUCB twice, LinTS, Greedy, EpsilonGreedy twice, SquareCB; from the fourth on they know no
confidence set."""

TIED = 1e-12
"""Indices that differ by this fraction are tied: whatever rounding says, the first is played."""


class Rule(NamedTuple):
    """The options of the policy."""

    width: tuple
    """See ``linear.squared_radius``."""
    kind: int
    factor: float
    """Of the width of draws; epsilon; or the exploration of SquareCB."""
    wide: bool
    """Whether draws are as wide as the confidence set."""
    noise_std: float
    """How wide they are otherwise."""
    period: int
    """Rounds after which an estimate is refreshed."""
    most: float
    """Up to this trace of its Gram matrix that is done in the loop."""
    rows: int
    """The number of rows whose signals are kept: m, or 0 if actions show their own reward."""
    probe: float
    """The share of uniform actions."""


@compiled(allocates=False)
def first_largest(values):
    """Return the first of the largest entries."""
    best = 0
    for a in range(1, len(values)):
        if values[a] > values[best]:
            best = a
    return best


@compiled(allocates=False)
def first_tied(values):
    """Return the first entry that is the largest up to rounding."""
    most = values[first_largest(values)]
    least = most - TIED * abs(most)
    for a in range(len(values)):
        if values[a] >= least:
            return a
    return 0


@compiled(allocates=False)
def fill_index(actions, known, rule, i, beta, normals, scratch):
    """Fill ``scratch.gaps`` with what is played the largest of, and ``scratch.two`` with widths.

    The width of an action is beta^(1/2) times its length; normal numbers (D,) are those of a draw.
    """
    means, index, widths = known.means[i], scratch.gaps, scratch.two
    reach, k = sqrt(beta), len(means)
    for a in range(k):
        widths[a] = reach * sqrt(known.variances[i, a] + actions.hidden[a])
        index[a] = means[a] + widths[a]
    if rule.kind == RELATIVE:
        greedy = first_largest(means)
        gap_loops.all_distances(
            known.variances[i],
            known.inverse[i],
            actions.seen,
            actions.columns,
            actions.unseen,
            actions.regularization,
            greedy,
            scratch.x,
            index,
        )
        for a in range(k):
            index[a] = means[a] - means[greedy] + sqrt(index[a] * beta)
    elif rule.kind == DRAWN:
        draw_rewards(
            means,
            known.gram[i],
            rule.factor * (reach if rule.wide else rule.noise_std),
            actions.seen,
            actions.unseen,
            actions.regularization,
            normals,
            scratch.root,
            index,
        )


@compiled(allocates=False)
def regret_bound(means, widths, ceiling, action):
    """Return what an action may lose: the highest upper bound minus its lower one."""
    highest = means[0] + widths[0]
    for a in range(1, len(means)):
        highest = max(highest, means[a] + widths[a])
    return min(highest - (means[action] - widths[action]), ceiling[action])


@compiled(allocates=False)
def fill_chances(means, rule, rounds, chances):
    """Fill chances (k,) with the probabilities of a policy that compares estimated rewards."""
    k, best, rest = len(means), first_largest(means), 0.0
    share = rule.factor if rule.kind == MIXED else 0.0
    if rule.kind == DECAYING:
        share = min(1.0, rule.factor * k * float(rounds) ** (-1.0 / 3.0))
    for a in range(k):
        chances[a] = share / k
    chances[best] = (1.0 - share) + share / k
    if rule.kind == INVERSE_GAP:
        gamma = rule.factor * sqrt(float(k * rounds))
        for a in range(k):
            if a != best:
                chances[a] = 1.0 / (k + gamma * max(means[best] - means[a], 0.0))
                rest += chances[a]
        chances[best] = 1.0 - rest


@compiled(allocates=False)
def decide(world, i, t, actions, known, row, rows, rule, scratch):
    """Return the action that replicate i plays, and its information ratio, NaN if it knows none.

    What it knows is in some row, with signals of this number of rows.
    """
    means, normals = known.means[row], scratch.pulled[0]
    if rule.kind >= GREEDY:
        fill_chances(means, rule, known.round[row], scratch.gaps)
        return drawn_from(scratch.gaps, worlds.uniform_for_policy(world, i, t)), np.nan
    if rule.kind == DRAWN:
        for p in range(len(normals)):
            normals[p] = normal_from(worlds.uniform_for_policy(world, i, t))
    else:
        worlds.uniform_for_policy(world, i, t)  # nothing depends on it
    beta = squared_radius(rule.width, known.round[row], known.log_det[row])
    fill_index(actions, known, rule, row, beta, normals, scratch)
    action = first_tied(scratch.gaps)
    gap = regret_bound(means, scratch.two, actions.ceiling, action)
    gain = information_of(known, rows, row, action, scratch.rest)
    if gap <= 0.0:
        return action, 0.0
    return action, gap * gap / gain if gain > 0.0 else np.inf


@compiled(allocates=False)
def gained(known, row, rows, action, rule, rest):
    """Return the information of an action, NaN if the policy knows none."""
    if rule.kind >= GREEDY:
        return np.nan
    return information_of(known, rows, row, action, rest)


@compiled(allocates=False)
def play_one(world, totals, data, reached, stop, i, actions, known, rule, scratch, due):
    """Play replicate i until round ``stop``, or until it is due to be refreshed."""
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        action, ratio = decide(world, i, t, actions, known, i, rule.rows, rule, scratch)
        probe = worlds.probe(world, i, t, rule.probe, len(actions.offsets))
        action = probe if probe >= 0 else action
        gain = gained(known, i, rule.rows, action, rule, scratch.rest)
        worlds.count(totals, i, action, worlds.loss(world, i, 0, action), gain, ratio)
        reached[i] = t + 1
        if not learn(world, data, i, action, t, actions, known, rule, scratch):
            due[i] = True
            return


@compiled(allocates=False)
def play(world, totals, data, reached, stop, first, last, actions, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, data, reached, stop, i, actions, known, rule, scratch, due)


@compiled(allocates=False)
def play_cut(
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
    """Do the same by policies that compare estimated rewards, where Theta cuts the estimate.

    A replicate whose projection is not found stops before it draws any number.
    """
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            if not project_estimate(actions, known, i, rewards, cut, room):
                unproven[i] = True
                break
            fill_means(actions, rewards)
            fill_chances(rewards.means, rule, known.round[i], scratch.gaps)
            action = drawn_from(scratch.gaps, worlds.uniform_for_policy(world, i, t))
            probe = worlds.probe(world, i, t, rule.probe, len(actions.offsets))
            action = probe if probe >= 0 else action
            lost = worlds.loss(world, i, 0, action)
            worlds.count(totals, i, action, lost, np.nan, np.nan)
            reached[i] = t + 1
            if not learn(world, data, i, action, t, actions, known, rule, scratch):
                due[i] = True
                break
