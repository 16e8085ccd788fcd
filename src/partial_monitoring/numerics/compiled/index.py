"""A round of the anticipating index: what is played, and what is learned from what it shows."""

# mypy: ignore-errors

from math import floor, log, log1p
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.forgetting import scale
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.profile import Known

TIED = 1e-12
"""Means that differ by this much are tied, in the unit of rewards, and indices that differ by this
fraction of their size; the first of their actions is played."""


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
        known.ties[i], known.means[i], known.worth[i], known.doubt[i],
    )  # fmt: skip


@compiled(allocates=False)
def decide(rule, positions, pareto, means, worth, doubt, t, costs, saved):
    """Return the action (of k) that one replicate plays in round t (from 1).

    Of those that save no less than they cost, it is the one that saves most per unit lost: its
    cost, and the doubt that stays meanwhile. What looks best need not save anything.
    ``positions`` (k,) are the places of the actions among those of all contexts, -1 if not offered.
    Fills what each action costs now, and what it saves later, shape (k,) each.
    """
    served = rule.weight * (min(float(t), rule.most) + rule.rounds) ** rule.rate
    chosen, best = -1, -np.inf
    for a in range(len(positions)):
        place = positions[a]
        if place >= 0 and pareto[place] and means[place] > best + TIED:
            chosen, best = a, means[place]
    for a in range(len(positions)):
        place = positions[a]
        costs[a], saved[a] = np.inf, 0.0
        if place >= 0:
            behind = best - means[place]
            costs[a], saved[a] = behind if behind > TIED else 0.0, served * worth[place]
    for a in range(len(positions)):
        this, other = saved[a] * (costs[chosen] + doubt), saved[chosen] * (costs[a] + doubt)
        if saved[a] >= costs[a] and this > (1.0 + TIED) * other:
            chosen = a
    return chosen


@compiled(allocates=False)
def decide_each(rule, positions, pareto, t, context, means, worth, doubt, action, costs, saved, mu):
    """Fill the action (n,), costs and savings (n, k), in rounds t (n,) and contexts (n,).

    mu (n, k), where nothing is likely yet, gets the distributions that are all on these actions.
    """
    for i in range(len(action)):
        action[i] = decide(
            rule, positions[context[i]], pareto, means[i], worth[i], doubt[i, 0], t[i], costs[i],
            saved[i],
        )  # fmt: skip
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
