"""Rounds of policies that sweep a set of observers or play what looks best: PEGE, GCB, ETC.

A sweep plays the observers x_1 ... x_s once, one after the other. After N sweeps

    theta_hat = center + matrix (mean of what they showed - what they show at the center).

Which policy it is and its options are numbers (see ``Rule``), so that one function plays them all.
"""

# mypy: ignore-errors

from math import ceil, exp, floor, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.world import count, loss, observe, start_round

PHASES, CONFIDENT, COMMITTED, FORCED = range(4)
"""PEGE, GCB, ETC with a given number of sweeps, ETC without."""

ENDLESS = 2.0**62
"""Phases are not longer than this."""

WHOLE = 1e-9
"""Powers closer than this fraction to a whole number are meant to be one."""


TIE = 1e-11
"""Rewards closer than this fraction are tied, and the lowest action is best."""


class Rule(NamedTuple):
    """Which policy it is, and its options."""

    kind: int
    first: float
    """PEGE: alpha. GCB: alpha. ETC: the number of sweeps, or the factor of t^(2/3)."""
    second: float
    """PEGE: beta. GCB: log k."""
    third: float
    """PEGE: whether phases grow exponentially, 0 or 1."""


class Sweep(NamedTuple):
    """The observers and how theta is estimated from what they show."""

    observers: np.ndarray
    """Their numbers, shape (s,)."""
    starts: np.ndarray
    """Where the rows of each begin among all R of them, then R, shape (s + 1,)."""
    matrix: np.ndarray
    """Shape (d, R)."""
    center: np.ndarray
    """Shape (d,)."""
    expected: np.ndarray
    """What the observers show at the center, shape (R,)."""


class Actions(NamedTuple):
    """Listed actions among which the best one is played."""

    numbers: np.ndarray
    """Shape (c,)."""
    features: np.ndarray
    """Shape (c, d)."""
    copies: np.ndarray
    """The same for those that earn the same whatever the parameter, shape (c,)."""


class State(NamedTuple):
    """What n replicates know, changed in place."""

    round: np.ndarray
    """t, from 1, shape (n,)."""
    sweeps: np.ndarray
    """N, the number of complete sweeps, shape (n,)."""
    place: np.ndarray
    """Which observer comes next in the sweep, shape (n,)."""
    phase: np.ndarray
    """b, from 1, shape (n,)."""
    sweeps_left: np.ndarray
    rounds_left: np.ndarray
    """What is left of the phase: sweeps, then rounds of what looks best, shape (n,) each."""
    sums: np.ndarray
    """Of what the observers showed in sweeps, shape (n, R)."""
    theta: np.ndarray
    """theta_hat, shape (n, d)."""
    best: np.ndarray
    """The number of the action that looks best, shape (n,)."""
    gap: np.ndarray
    """By how much it looks better than the second best, shape (n,)."""


@compiled(allocates=False)
def phase_length(rule, phase):
    """Return how often a phase plays what looks best."""
    power = float(phase) ** rule.first
    if rule.third > 0.0:
        power = exp(min(power, 42.0))
    return np.int64(min(floor(power * (1.0 + WHOLE)), ENDLESS))


@compiled(allocates=False)
def phase_sweeps(rule, phase):
    """Return how many sweeps a phase begins with."""
    power = float(phase) ** rule.second
    return np.int64(min(ceil(power * (1.0 - WHOLE)), ENDLESS))


@compiled(allocates=False)
def wanted(rule, sweep, state, i):
    """Return which observer replicate i must play now; -1 if it plays what looks best."""
    s, sweeps, place = len(sweep.observers), state.sweeps[i], state.place[i]
    if s == 0:
        return -1
    if place > 0 or sweeps == 0:
        return place
    t = float(state.round[i])
    if rule.kind == PHASES:
        return -1 if state.rounds_left[i] > 0 else 0
    if rule.kind == CONFIDENT:
        rate = log(t) + 2.0 * rule.second
        clear = state.gap[i] > sqrt(rule.first * rate / sweeps)
        return -1 if clear or sweeps > t ** (2.0 / 3.0) * rate else 0
    if rule.kind == COMMITTED:
        return 0 if sweeps < rule.first else -1
    return 0 if sweeps * s < rule.first * t ** (2.0 / 3.0) else -1


@compiled(allocates=False)
def learn(rule, sweep, state, i, action, shown):
    """Take in what an action showed; return whether that completed a sweep.

    While a sweep waits for one of the observers, what others show is ignored.
    """
    j = wanted(rule, sweep, state, i)
    state.round[i] += 1
    if j < 0:
        if rule.kind == PHASES and state.rounds_left[i] > 0:
            state.rounds_left[i] -= 1
            if state.rounds_left[i] == 0:
                state.phase[i] += 1
                state.sweeps_left[i] = phase_sweeps(rule, state.phase[i])
        return False
    if action != sweep.observers[j]:
        return False
    for row in range(sweep.starts[j], sweep.starts[j + 1]):
        state.sums[i, row] += shown[row - sweep.starts[j]]
    state.place[i] = j + 1
    if j + 1 < len(sweep.observers):
        return False
    state.place[i] = 0
    state.sweeps[i] += 1
    if rule.kind == PHASES:
        state.sweeps_left[i] -= 1
        if state.sweeps_left[i] == 0:
            state.rounds_left[i] = phase_length(rule, state.phase[i])
    estimate(sweep, state, i)
    return True


@compiled(allocates=False)
def estimate(sweep, state, i):
    """Average over the sweeps of replicate i."""
    share = 1.0 / state.sweeps[i]
    for p in range(len(sweep.center)):
        total = sweep.center[p]
        for row in range(len(sweep.expected)):
            total += sweep.matrix[p, row] * (state.sums[i, row] * share - sweep.expected[row])
        state.theta[i, p] = total


@compiled(allocates=False)
def choose(actions, state, i):
    """Find the best action of replicate i, the lowest of ties, and its gap to the second best."""
    theta, best, second, place = state.theta[i], 0.0, -np.inf, 0
    for a in range(len(actions.numbers)):
        value = 0.0
        for p in range(len(theta)):
            value += actions.features[a, p] * theta[p]
        if a == 0:
            best = value
            continue
        other = actions.copies[a] != actions.copies[place]
        if value > best + TIE * (abs(value) + abs(best)):
            second = max(second, best) if other else second
            best, place = value, a
        elif other:
            second = max(second, value)
    state.best[i] = actions.numbers[place]
    state.gap[i] = max(best - second, 0.0) if second > -np.inf else 0.0


@compiled(allocates=False)
def decide_each(rule, sweep, state, action):
    """Fill the actions of all replicates."""
    for i in range(len(action)):
        j = wanted(rule, sweep, state, i)
        action[i] = state.best[i] if j < 0 else sweep.observers[j]


@compiled(allocates=False)
def learn_each(rule, sweep, state, action, shown, ended):
    """Let all replicates take in what they saw, shape (n, m), and fill which completed a sweep."""
    for i in range(len(action)):
        ended[i] = learn(rule, sweep, state, i, action[i], shown[i])


@compiled(allocates=False)
def choose_each(actions, state, ended):
    """Find the best actions of the replicates that completed a sweep."""
    for i in range(len(ended)):
        if ended[i]:
            choose(actions, state, i)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, rule, sweep, actions, state, shown):
    """Play replicates ``first`` to before ``last`` to before round ``stop``; shown (n, m)."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            j = wanted(rule, sweep, state, i)
            action = state.best[i] if j < 0 else sweep.observers[j]
            observe(world, i, 0, action, t, shown[i])
            if learn(rule, sweep, state, i, action, shown[i]):
                choose(actions, state, i)
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
            reached[i] = t + 1
