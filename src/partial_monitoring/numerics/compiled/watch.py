"""Rounds of NeighborhoodWatch and NeighborhoodWatch2: local learners and where they lead.

Every action j of A has a learner, with exponential weights over its neighbours and itself. Who
follows their advice forever is at each action as often as the stationary distribution says.
"""

# mypy: ignore-errors

from math import exp, log, nan, sqrt
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

NEVER = 1e-30
"""Advice is followed at least with this probability, so that no action is out of reach."""

TINY = 1e-290
"""Where a chain of such actions is left less often than this, it counts as this."""


class Shape(NamedTuple):
    """What does not change from round to round, with N actions in A."""

    vectors: np.ndarray
    """Estimation vectors of l_a - l_b, shape (pairs, k, m)."""
    pairs: np.ndarray
    """Neighbours a and b, as positions in A, shape (pairs, 2)."""
    actions: np.ndarray
    """The actions of A, shape (N,)."""
    linked: np.ndarray
    """Whether two of them are neighbours or the same, shape (N, N)."""
    between: np.ndarray
    """Actions e outside A with l_e = w l_a + (1 - w) l_b, shape (q,)."""
    ends: np.ndarray
    """Their a and b as positions in A, shape (q, 2)."""
    weights: np.ndarray
    """Their w, shape (q,)."""
    near: np.ndarray
    """The actions of each neighbourhood, shape (pairs, k)."""
    explored: np.ndarray
    """The distribution that is mixed in, shape (k,)."""
    eta: float
    """The learning rate is eta ((constant + growth log n) / n)^(1/2), in anytime form with t."""
    constant: float
    growth: float
    gamma: float
    """The share of exploration is min(1/2, gamma times the learning rate)."""
    horizon: int
    """n, or 0 for the anytime form."""
    inside: bool
    """Whether learners explore among their own actions, instead of all actions being mixed in."""
    bias: float
    """V^2 where estimates are biased downwards, 0 otherwise."""


class Room(NamedTuple):
    """Scratch of n replicates."""

    steps: np.ndarray
    """Where advice leads, shape (n, N, N)."""
    stays: np.ndarray
    """How often it leads there in the long run, shape (n, N)."""
    chances: np.ndarray
    """The distribution of the action, shape (n, k)."""
    shown: np.ndarray
    """What it shows, shape (n, m)."""


@compiled(allocates=False)
def rates(shape, t):
    """Return the learning rate and the share of exploration in round t."""
    n = float(shape.horizon if shape.horizon > 0 else t)
    eta = shape.eta * sqrt((shape.constant + shape.growth * log(n)) / n)
    return eta, min(0.5, shape.gamma * eta)


@compiled(allocates=False)
def advise(shape, eta, gamma, sums, steps):
    """Fill steps (N, N): row j has exponential weights of sums (N, N) over neighbours of j."""
    for j in range(len(sums)):
        least, total, degree = sums[j, j], 0.0, 0
        for a in range(len(sums)):
            if shape.linked[j, a]:
                least = min(least, sums[j, a])
                degree += 1
        for a in range(len(sums)):
            steps[j, a] = exp(-eta * (sums[j, a] - least)) if shape.linked[j, a] else 0.0
            total += steps[j, a]
        for a in range(len(sums)):
            if shape.linked[j, a]:
                steps[j, a] = max(steps[j, a] / total, NEVER)
                if shape.inside:
                    steps[j, a] = (1.0 - gamma) * steps[j, a] + gamma / degree


@compiled(allocates=False)
def settle(steps, stays):
    """Fill stays (N,) with the stationary distribution of steps (N, N), which are overwritten.

    Elimination without subtractions: Grassmann, Taksar and Heyman, "Regenerative analysis and
    steady state distributions for Markov chains" (1985).
    """
    size = len(stays)
    for j in range(size - 1, 0, -1):
        leaving = 0.0
        for b in range(j):
            leaving += steps[j, b]
        leaving = max(leaving, TINY)
        for a in range(j):
            steps[a, j] /= leaving
            for b in range(j):
                steps[a, b] += steps[a, j] * steps[j, b]
    stays[0] = 1.0
    for j in range(1, size):
        total = 1.0
        stays[j] = 0.0
        for a in range(j):
            stays[j] += stays[a] * steps[a, j]
        total += stays[j]
        for a in range(j + 1):  # so that no number grows too large
            stays[a] /= total


@compiled(allocates=False)
def mix(shape, t, sums, steps, stays, chances):
    """Fill chances (k,) with the distribution in round t, given sums (N, N) of estimates."""
    eta, gamma = rates(shape, t)
    advise(shape, eta, gamma, sums, steps)
    settle(steps, stays)
    for c in range(len(chances)):
        chances[c] = 0.0
    for j in range(len(stays)):
        chances[shape.actions[j]] = stays[j]
    if shape.inside:
        return
    redistribute(shape, stays, chances)
    for c in range(len(chances)):
        chances[c] = (1.0 - gamma) * chances[c] + gamma * shape.explored[c]


@compiled(allocates=False)
def redistribute(shape, stays, chances):
    """Move probability from two actions to those between them, which loses nothing."""
    share = 0.5 / (len(shape.actions) + len(shape.between))
    for q in range(len(shape.between)):
        a, b, w = shape.ends[q, 0], shape.ends[q, 1], shape.weights[q]
        moved = stays[a] / w  # w > 0
        if w < 1.0:
            moved = min(moved, stays[b] / (1.0 - w))
            chances[shape.actions[b]] -= (1.0 - w) * share * moved
        chances[shape.actions[a]] -= w * share * moved
        chances[shape.between[q]] += share * moved


@compiled(allocates=False)
def learn(shape, t, action, shown, stays, chances, chance, sums):
    """Add to sums (N, N) what was shown (m,), over the probability ``chance`` of the action."""
    eta, _ = rates(shape, t)
    for e in range(len(shape.pairs)):
        a, b = shape.pairs[e, 0], shape.pairs[e, 1]
        told = 0.0
        for s in range(len(shown)):
            told += shown[s] * shape.vectors[e, action, s]
        if told != 0.0:  # an action that is never played observes nothing
            sums[b, a] += stays[b] * (told / chance)
            sums[a, b] -= stays[a] * (told / chance)
        if shape.bias > 0.0:
            spread = 0.0
            for c in range(len(chances)):
                if shape.near[e, c]:
                    spread += 1.0 / chances[c]
            sums[b, a] -= eta * shape.bias * spread * stays[b] * stays[b]
            sums[a, b] -= eta * shape.bias * spread * stays[a] * stays[a]


@compiled(allocates=False)
def decide_each(shape, rounds, sums, uniforms, room, actions):
    """Fill actions (n,), and in the room their distributions."""
    for i in range(len(actions)):
        mix(shape, rounds[i], sums[i], room.steps[i], room.stays[i], room.chances[i])
        actions[i] = drawn_from(room.chances[i], uniforms[i])


@compiled(allocates=False)
def learn_each(shape, rounds, sums, actions, shown, drawn, room):
    """Move sums (n, N, N) on by what actions (n,) showed, (n, m).

    They were drawn with given probabilities (n,), NaN for those of the present round.
    """
    for i in range(len(actions)):
        stays, chances = room.stays[i], room.chances[i]
        mix(shape, rounds[i], sums[i], room.steps[i], stays, chances)
        chance = recorded(drawn[i], chances[actions[i]])
        learn(shape, rounds[i], actions[i], shown[i], stays, chances, chance, sums[i])


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, sums, room):
    """Play replicates first to before last until round ``stop``."""
    for i in range(first, last):
        stays, chances, shown = room.stays[i], room.chances[i], room.shown[i]
        for t in range(reached[i], stop):
            start_round(world, i, t)
            mix(shape, t + 1, sums[i], room.steps[i], stays, chances)
            action = drawn_from(chances, uniform_for_policy(world, i, t))
            observe(world, i, 0, action, t, shown)
            learn(shape, t + 1, action, shown, stays, chances, chances[action], sums[i])
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
        reached[i] = max(reached[i], stop)
