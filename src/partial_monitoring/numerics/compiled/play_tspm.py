"""Rounds of Thompson sampling on finite games: draw theta, play what is best for it."""

# mypy: ignore-errors

from math import inf, nan
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.outcome_counts import learn
from partial_monitoring.numerics.compiled.posterior_draw import FIRST, draw
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)


class Shape(NamedTuple):
    """What does not change from round to round."""

    rewards: np.ndarray
    """Shape (k, d)."""
    initial: np.ndarray
    """How often each action is played before anything is drawn, shape (k,)."""
    allowed: np.ndarray
    """Which actions can be played, shape (k,)."""


@compiled(inline="always", allocates=False)
def choose(shape, parts, law, belief, work, index, number, i):
    """Return the action of replicate i, and fill index (k,), of which it is the first largest.

    That is the rewards for the draw, or infinite for actions that must be played first.
    """
    k, first = len(index), False
    for a in range(k):
        due = shape.allowed[a] and belief.plays[i, a] < shape.initial[a]
        index[a] = inf if due else -inf
        first = first or due
    if not first:
        chance.start(work.own[i], number)
        draw(parts, law, belief, work, FIRST, i)
        for a in range(k):
            if shape.allowed[a]:
                index[a] = 0.0
                for j in range(len(work.theta[i])):
                    index[a] += shape.rewards[a, j] * work.theta[i, j]
    best = np.int64(0)
    for a in range(1, k):
        if index[a] > index[best]:
            best = a
    return best


@compiled(allocates=False)
def decide_all(shape, parts, law, belief, work, numbers, index, actions):
    """Choose actions (n,) for all replicates, with one uniform number each, (n,)."""
    for i in range(len(numbers)):
        actions[i] = choose(shape, parts, law, belief, work, index[i], numbers[i], i)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, parts, law, belief, work, index):
    """Play replicates first to last (exclusive) to before round ``stop``."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            number = uniform_for_policy(world, i, t)
            action = choose(shape, parts, law, belief, work, index[i], number, i)
            observe(world, i, 0, action, t, work.shown[i])
            learn(parts, belief, work.chances[i], action, work.shown[i], i)
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
            reached[i] = t + 1
