"""Rounds of FeedExp3: exponential weights of estimated losses, mixed with exploration."""

# mypy: ignore-errors

from math import exp, nan
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.chance import drawn_from, recorded
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)


class Shape(NamedTuple):
    """What does not change from round to round, with N compared actions."""

    estimates: np.ndarray
    """K: what a symbol of an action says about the loss of each compared one, (k, m, N)."""
    owner: np.ndarray
    """The compared action that each action is a copy of, -1 if of none, shape (k,)."""
    share: np.ndarray
    """The probability of each copy among all copies, shape (k,)."""
    explored: np.ndarray
    """The distribution that is mixed in, shape (k,)."""
    eta: float
    """The learning rate is eta s^2 with s = n^(-power), in anytime form t^(-power)."""
    gamma: float
    """The share of exploration is min(1, gamma s)."""
    power: float
    horizon: int
    """n, or 0 for the anytime form."""


class Room(NamedTuple):
    """Scratch of n replicates."""

    weights: np.ndarray
    """Of the compared actions, shape (n, N)."""
    chances: np.ndarray
    """The distribution of the action, shape (n, k)."""
    shown: np.ndarray
    """What it shows, shape (n, m)."""


@compiled(allocates=False)
def mix(shape, t, losses, weights, chances):
    """Fill chances (k,) with the distribution in round t, given estimated losses (N,)."""
    decay = float(shape.horizon if shape.horizon > 0 else t) ** -shape.power
    eta, gamma = shape.eta * decay * decay, min(1.0, shape.gamma * decay)
    least, total = losses[0], 0.0
    for j in range(1, len(losses)):
        least = min(least, losses[j])
    for j in range(len(losses)):
        weights[j] = exp(-eta * (losses[j] - least))
        total += weights[j]
    for c in range(len(chances)):
        chances[c] = gamma * shape.explored[c]
        if shape.owner[c] >= 0:
            chances[c] += (1.0 - gamma) * shape.share[c] * (weights[shape.owner[c]] / total)


@compiled(allocates=False)
def learn(shape, action, shown, chance, losses):
    """Add to losses (N,) what was shown (m,), over the probability of the action."""
    for s in range(len(shown)):
        if shown[s] != 0.0:
            for j in range(len(losses)):
                told = shown[s] * shape.estimates[action, s, j]
                if told != 0.0:  # an action that is never played observes nothing
                    losses[j] += told / chance


@compiled(allocates=False)
def decide_each(shape, rounds, losses, uniforms, room, actions):
    """Fill actions (n,), and in the room their distributions."""
    for i in range(len(actions)):
        mix(shape, rounds[i], losses[i], room.weights[i], room.chances[i])
        actions[i] = drawn_from(room.chances[i], uniforms[i])


@compiled(allocates=False)
def learn_each(shape, rounds, losses, actions, shown, drawn, room):
    """Move losses (n, N) on by what actions (n,) showed, (n, m).

    They were drawn with given probabilities (n,), NaN for those of the present round.
    """
    for i in range(len(actions)):
        mix(shape, rounds[i], losses[i], room.weights[i], room.chances[i])
        chance = recorded(drawn[i], room.chances[i, actions[i]])
        learn(shape, actions[i], shown[i], chance, losses[i])


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, losses, room):
    """Play replicates first to before last until round ``stop``."""
    for i in range(first, last):
        chances, shown = room.chances[i], room.shown[i]
        for t in range(reached[i], stop):
            start_round(world, i, t)
            mix(shape, t + 1, losses[i], room.weights[i], chances)
            action = drawn_from(chances, uniform_for_policy(world, i, t))
            observe(world, i, 0, action, t, shown)
            learn(shape, action, shown, chances[action], losses[i])
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
        reached[i] = max(reached[i], stop)
