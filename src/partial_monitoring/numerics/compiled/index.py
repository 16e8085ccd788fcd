"""A round of the anticipating index: what is played, and what is learned from what it shows."""

# mypy: ignore-errors

from math import floor, log, log1p
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.forgetting import scale
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.profile import Known

TIED = 1e-12
"""Indices that differ by this fraction of their size are tied; the first of their actions is
played."""


class Rule(NamedTuple):
    """How many rounds a discovery is expected to serve: weight (t + rounds)^rate, calibrated."""

    weight: float
    rounds: float
    rate: float
    most: float
    """The largest t, where what is discovered is forgotten."""
    probe: float
    """The share of uniform actions, in compiled rounds."""


@compiled(allocates=False)
def one(known, i):
    """Return what is known in replicate i, but for its round."""
    return Known(
        known.round, known.seen[i], known.plays[i], known.fresh[i], known.counts[i], known.x[i],
        known.ties[i], known.means[i], known.worth[i],
    )  # fmt: skip


@compiled(allocates=False)
def decide(rule, positions, pareto, means, worth, t, costs, saved):
    """Return the action (of k) with the largest index in one replicate in round t (from 1).

    ``positions`` (k,) are the places of the actions among those of all contexts, -1 if not offered.
    Fills what each action costs now, and what it saves later, shape (k,) each.
    """
    served = rule.weight * (min(float(t), rule.most) + rule.rounds) ** rule.rate
    best = -np.inf
    for a in range(len(positions)):
        if positions[a] >= 0 and pareto[positions[a]]:
            best = max(best, means[positions[a]])
    top, most = -np.inf, 0.0
    for a in range(len(positions)):
        place = positions[a]
        costs[a], saved[a] = np.inf, 0.0
        if place >= 0:
            costs[a], saved[a] = best - means[place], served * worth[place]
            top, most = max(top, saved[a] - costs[a]), max(most, saved[a])
    for a in range(len(positions)):
        if saved[a] - costs[a] >= top - TIED * (1.0 + most):
            return a
    return 0


@compiled(allocates=False)
def decide_each(rule, positions, pareto, t, context, means, worth, action, costs, saved, mu):
    """Fill the action (n,), costs and savings (n, k), in rounds t (n,) and contexts (n,).

    mu (n, k), where nothing is likely yet, gets the distributions that are all on these actions.
    """
    for i in range(len(action)):
        action[i] = decide(
            rule, positions[context[i]], pareto, means[i], worth[i], t[i], costs[i], saved[i]
        )
        mu[i, action[i]] = 1.0


@compiled(allocates=False)
def count(table, place, observation, own):
    """Count the signals of an action in its observation (m,); return whether x is stale.

    It is when the plays of the action have grown by a fraction since it was up to date.
    """
    first = table.first
    if first[place] == first[place + 1]:
        return False
    own.plays[place] += 1
    for i in range(first[place], first[place + 1]):
        seen = table.scale[i] * observation[table.source[i]] + table.shift[i]
        own.counts[i] += min(max(seen, 0.0), 1.0)
    if own.plays[place] - own.fresh[place] < table.growth * own.plays[place]:
        return False
    for b in range(len(own.plays)):
        own.fresh[b] = own.plays[b]
    return True


@compiled(allocates=False)
def weigh(table, own, start, stop, factor):
    """Multiply what was counted of some signals with a factor, but not the prior."""
    for i in range(start, stop):
        own.counts[i] = table.prior[i] + factor * (own.counts[i] - table.prior[i])


@compiled(allocates=False)
def take_in_weighted(table, own, t, place, observation):
    """Count the signals of an action with weights; return whether x is stale.

    What shows nothing makes it stale as well, by and by.
    """
    every, rounds = len(own.counts), 0
    weigh(table, own, 0, every, table.keep / scale(table.keep, t - 1))
    weigh(table, own, table.first[place], table.first[place + 1], table.fade)
    stale = count(table, place, observation, own)
    weigh(table, own, 0, every, scale(table.keep, min(t, table.memory - 1)))
    for z in range(len(own.seen)):
        rounds += own.seen[z]
    return stale or rounds % table.period == 0


@compiled(allocates=False)
def grows(t, growth):
    """Whether the number of rounds passes the next power of 1 + growth in round t."""
    step = log1p(growth)
    return floor(log(t) / step) != floor(log(t + 1.0) / step)


@compiled(allocates=False)
def take_in(table, own, t, z, action, observation):
    """Take in the observation (m,) of an action in context z and round t (from 1).

    Return whether the estimate is stale.
    """
    own.seen[z] += 1
    if table.keep < 1.0:
        return take_in_weighted(table, own, t, table.positions[z, action], observation)
    stale = count(table, table.positions[z, action], observation, own)
    if len(own.seen) > 1:  # what serves the other contexts depends on how often they come
        stale = grows(t, table.growth) or stale
    return stale
