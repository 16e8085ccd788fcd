"""Whole runs of policies for kernel games, one replicate after the other; see ``play_ids``.

Information-directed sampling with every gap, and policies that play the largest index of a bandit.
"""

# mypy: ignore-errors

from math import sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.function_gaps import (
    fill_exact_gaps,
    fill_greedy_gaps,
    fill_improvement,
)
from partial_monitoring.numerics.compiled.functions import fill_sums, information_of, learn
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, squared_radius
from partial_monitoring.numerics.compiled.normal import normal_from
from partial_monitoring.numerics.compiled.play_bandits import (
    first_largest,
    first_tied,
    regret_bound,
)
from partial_monitoring.numerics.compiled.play_ids import EXACT, MEAN, choose
from partial_monitoring.numerics.compiled.rivals import expected_gain

IMPROVEMENT = 3
"""One more gap estimate, with information of its own."""

OPTIMISTIC, DRAWN, IMPROVING = range(3)
"""GP-UCB, GP-TS and expected improvement."""


class IndexRule(NamedTuple):
    """The options of a policy that plays the largest index."""

    width: tuple
    """beta_t, see ``linear.squared_radius``."""
    reach: tuple
    """The squared width of the index, or of draws."""
    kind: int
    factor: float
    """What this width is multiplied with."""
    jitter: float
    """Of expected improvement."""
    probe: float
    """The share of uniform actions."""


@compiled(allocates=False)
def fill_both(functions, known, rule, i, scratch):
    """Fill the gaps and the information of all actions of replicate i."""
    if rule.gap == IMPROVEMENT:
        fill_improvement(functions, known, i, scratch)
        return
    gaps = scratch.gaps
    beta = squared_radius(rule.width, known.round[i], known.log_det[i])
    if rule.gap == EXACT:
        fill_exact_gaps(functions, known, i, beta, scratch)
    else:
        fill_greedy_gaps(functions, known, i, beta, rule.gap == MEAN, scratch)
    for a in range(len(gaps)):
        scratch.information[a] = information_of(known, i, a, scratch.rest)
        if rule.gap == MEAN:
            gaps[a] = min(gaps[a], functions.ceiling[a])


@compiled(allocates=False)
def play_one(world, totals, reached, stop, i, functions, known, rule, scratch, due):
    """Play replicate i until round ``stop``, or until it is due to be refreshed."""
    k = len(scratch.gaps)
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        uniform = worlds.uniform_for_policy(world, i, t)
        rounds, log_det = known.round[i], known.log_det[i]
        fill_sums(functions, known.numbers[i], scratch.means)
        fill_both(functions, known, rule, i, scratch)
        action, ratio = functions.best, 0.0
        if action < 0:
            gaps, information = scratch.gaps, scratch.information
            action, ratio, _ = choose(
                gaps, information, rule, rounds, log_det, uniform, scratch.one, scratch.two
            )
        probe = worlds.probe(world, i, t, rule.probe, k)
        action = probe if probe >= 0 else action
        lost = worlds.loss(world, i, 0, action)
        worlds.count(totals, i, action, lost, scratch.information[action], ratio)
        reached[i] = t + 1
        if not learn(world, i, action, t, functions, known, scratch):
            due[i] = True
            return


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, functions, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, reached, stop, i, functions, known, rule, scratch, due)


@compiled(fastmath=FAST, allocates=False)
def draw(functions, known, i, normals, turned, pulled):
    """Fill pulled (d,) with F P z for normal numbers z (D,)."""
    root, prior = known.root[i], functions.prior
    for p in range(len(turned)):
        entry = 0.0
        for q in range(len(turned)):
            entry += root[p, q] * normals[q]
        turned[p] = entry
    for p in range(len(pulled)):
        entry = 0.0
        for q in range(len(turned)):
            entry += prior[p, q] * turned[q]
        pulled[p] = entry


@compiled(allocates=False)
def fill_index(world, i, t, functions, known, rule, scratch):
    """Fill ``scratch.gaps`` with what is played the largest of, given ``scratch.means``."""
    means, index = scratch.means, scratch.gaps
    if rule.kind == DRAWN:
        for p in range(len(scratch.normals)):
            scratch.normals[p] = normal_from(worlds.uniform_for_policy(world, i, t))
        draw(functions, known, i, scratch.normals, scratch.turned, scratch.pulled)
        fill_sums(functions, scratch.pulled, index)
    else:
        worlds.uniform_for_policy(world, i, t)  # nothing depends on it
    wide = sqrt(squared_radius(rule.reach, known.round[i], known.log_det[i]))
    spread, best = rule.factor * wide, means[first_largest(means)]
    for a in range(len(means)):
        length = sqrt(max(known.variances[i, a], 0.0))
        if rule.kind == DRAWN:
            index[a] = means[a] + spread / sqrt(functions.regularization) * index[a]
        elif rule.kind == IMPROVING:
            index[a] = expected_gain(means[a] - best - rule.jitter, functions.noise * length)
        else:
            index[a] = means[a] + spread * length


@compiled(allocates=False)
def decide_by_index(world, i, t, functions, known, rule, scratch):
    """Return the action that replicate i plays, and its information ratio."""
    means, index, widths = scratch.means, scratch.gaps, scratch.two
    fill_index(world, i, t, functions, known, rule, scratch)
    action = first_tied(index)
    if rule.kind == IMPROVING and not index[action] > 0.0:
        action = first_largest(means)
    reach = sqrt(squared_radius(rule.width, known.round[i], known.log_det[i]))
    for a in range(len(means)):
        widths[a] = reach * sqrt(max(known.variances[i, a], 0.0))
    gap = regret_bound(means, widths, functions.ceiling, action)
    gain = information_of(known, i, action, scratch.rest)
    if gap <= 0.0:
        return action, 0.0
    return action, gap * gap / gain if gain > 0.0 else np.inf


@compiled(allocates=False)
def play_index(world, totals, reached, stop, first, last, functions, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last`` by policies with an index."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            fill_sums(functions, known.numbers[i], scratch.means)
            action, ratio = decide_by_index(world, i, t, functions, known, rule, scratch)
            probe = worlds.probe(world, i, t, rule.probe, len(scratch.means))
            action = probe if probe >= 0 else action
            gain = information_of(known, i, action, scratch.rest)
            worlds.count(totals, i, action, worlds.loss(world, i, 0, action), gain, ratio)
            reached[i] = t + 1
            if not learn(world, i, action, t, functions, known, scratch):
                due[i] = True
                break
