"""Rounds of policies for plain bandits, which keep a count and a sum of rewards for each arm."""

# mypy: ignore-errors

from __future__ import annotations

from math import inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.play_bandits import first_largest
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

OPTIMISTIC, BETA, NORMAL = range(3)
"""UCB1, and Thompson sampling with posteriors of two kinds."""


class Rule(NamedTuple):
    """Which policy it is, and how rewards are read."""

    kind: int
    width: float
    """Of an optimistic index, for one play and log t = 1; the deviation of normal rewards."""
    wins: float
    losses: float
    """The prior of beta posteriors."""
    low: float
    unit: float
    """Rewards (x - low) / unit are kept."""
    weights: np.ndarray
    """Of observations, shape (k, m)."""
    constants: np.ndarray
    """Shape (k,)."""


class Known(NamedTuple):
    """What n replicates know."""

    plays: np.ndarray
    """Shape (n, k), int64."""
    sums: np.ndarray
    """Of rewards (x - low) / unit, shape (n, k)."""


@compiled(allocates=False)
def fill_index(rule, known, i, t, own, out):
    """Fill out (k,) with what is played the largest of in round t (counted from 1)."""
    for a in range(len(out)):
        n, total = known.plays[i, a], known.sums[i, a]
        if rule.kind == BETA:
            out[a] = chance.beta(own, rule.wins + total, rule.losses + n - total)
        elif n == 0:
            out[a] = inf
        elif rule.kind == NORMAL:
            out[a] = total / n + rule.width / sqrt(n) * chance.normal(own)
        else:
            out[a] = total / n + rule.width * sqrt(log(t) / n)


@compiled(allocates=False)
def learn(rule, known, i, action, shown):
    """Add the reward that an observation (m,) shows."""
    reward = rule.constants[action]
    for s in range(len(shown)):
        reward += rule.weights[action, s] * shown[s]
    known.plays[i, action] += 1
    known.sums[i, action] += (reward - rule.low) / rule.unit


@compiled
def fill_all(rule, known, rounds, numbers, out):
    """Fill out (n, k) with the indices of all replicates in their rounds (n,)."""
    own = np.zeros(1, dtype=np.uint64)
    for i in range(len(out)):
        chance.start(own, numbers[i])
        fill_index(rule, known, i, rounds[i], own, out[i])


@compiled(allocates=False)
def learn_all(rule, known, actions, shown):
    """Add what the actions (n,) of all replicates showed, (n, m)."""
    for i in range(len(actions)):
        learn(rule, known, i, actions[i], shown[i])


@compiled
def play(world, totals, reached, stop, first, last, rule, known):
    """Play replicates first to last (exclusive) to before round ``stop``."""
    own, index = np.zeros(1, dtype=np.uint64), np.empty(known.plays.shape[1])
    shown = np.empty(rule.weights.shape[1])
    for i in range(first, last):
        play_one(world, totals, reached, stop, rule, known, i, own, index, shown)


@compiled(inline="always", allocates=False)
def play_one(world, totals, reached, stop, rule, known, i, own, index, shown):
    """Play replicate i to before round ``stop``."""
    for t in range(reached[i], stop):
        start_round(world, i, t)
        chance.start(own, uniform_for_policy(world, i, t))
        fill_index(rule, known, i, t + 1, own, index)
        action = first_largest(index)
        observe(world, i, 0, action, t, shown)
        learn(rule, known, i, action, shown)
        count(totals, i, action, loss(world, i, 0, action), nan, nan)
        reached[i] = t + 1
