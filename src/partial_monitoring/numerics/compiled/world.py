"""What a simulated environment shows and charges, one replicate at a time, inside compiled loops.

Row i of a table with one row per replicate is that of replicate i; a table with a single row is
that of all of them. Where the true parameter moves, tables have a row for each that it takes. Games
without contexts have one.
"""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import random
from partial_monitoring.numerics.compiled.just_in_time import compiled

GAUSSIAN, BERNOULLI, SIGN, NONE, OUTCOME = range(5)
"""How observations are drawn."""

POLICY, NOISE, CONTEXT = np.uint64(1), np.uint64(2), np.uint64(3)
"""The purposes of random numbers, as in ``randomness``; each has a row of its own, in this
order."""


class World(NamedTuple):
    """True parameters that answer actions, for n replicates."""

    seeds: np.ndarray
    """Shape (n,), uint64."""
    numbers: np.ndarray
    """The streams of random numbers, shape (n, 3, random.ROW), uint64; they move on."""
    kind: int
    """How observations are drawn."""
    width: int
    """The number of random numbers of an observation."""
    means: np.ndarray
    """Of what is shown, shape (rows, contexts, k, m)."""
    sizes: np.ndarray
    """Of the noise, shape (contexts, k)."""
    losses: np.ndarray
    """Against the best action, shape (rows, contexts, k)."""
    outcomes: np.ndarray
    """The uniform number below which each outcome is drawn, shape (rows, 1 or contexts, outcomes):
    contexts have distributions of their own, or all the same."""
    signals: np.ndarray
    """What actions show in each outcome, shape (contexts, k, outcomes, m)."""
    contexts: np.ndarray
    """The uniform number below which each context is drawn, shape (contexts,), or empty."""


class MovingWorld(NamedTuple):
    """The same where the true parameter moves; loops are compiled for it apart."""

    seeds: np.ndarray
    numbers: np.ndarray
    kind: int
    width: int
    means: np.ndarray
    sizes: np.ndarray
    losses: np.ndarray
    outcomes: np.ndarray
    signals: np.ndarray
    contexts: np.ndarray
    held: np.ndarray
    """Which row of the tables holds in this round, shape (n,), int64; it moves on."""
    schedule: np.ndarray
    """Which row holds in each round, shape (1 or n, rounds), int32."""


class Totals(NamedTuple):
    """Sums over the rounds that were played."""

    regret: np.ndarray
    """Shape (n,)."""
    gained: np.ndarray
    """The information of the actions, shape (n,)."""
    ratios: np.ndarray
    """Information ratios, shape (n,)."""
    plays: np.ndarray
    """How often each action was played, shape (n, k), or (n, 0) if that is not counted."""


@compiled(allocates=False)
def start_round(world, i, t):
    """Prepare replicate i for round t (counted from 0), before it observes or loses anything."""
    if t % random.BLOCK == 0:
        for purpose in range(3):
            random.restart(world.numbers[i, purpose])
    if hasattr(world, "held"):  # decided when it is compiled
        world.held[i] = world.schedule[i if len(world.schedule) > 1 else 0, t]


@compiled(allocates=False)
def row_of(world, i, rows):
    """Return the row of a table with some rows that holds for replicate i in this round."""
    if hasattr(world, "held"):
        return world.held[i]
    return np.int64(i if rows > 1 else 0)


@compiled(allocates=False)
def drawn(limits, number):
    """Return how many of the increasing limits a uniform number has passed."""
    place = 0
    for j in range(len(limits)):
        place += limits[j] <= number
    return place


@compiled(allocates=False)
def context(world, i, t):
    """Return the context of round t; 0 if there are none."""
    if len(world.contexts) == 0:
        return 0
    block = np.uint64(t // random.BLOCK)
    number = random.uniform(world.numbers[i, 2], world.seeds[i], CONTEXT, block)
    return drawn(world.contexts, number)


@compiled(allocates=False)
def uniform_for_policy(world, i, t):
    """Return the next uniform number of the policy in round t."""
    block = np.uint64(t // random.BLOCK)
    return random.uniform(world.numbers[i, 0], world.seeds[i], POLICY, block)


@compiled(allocates=False)
def probe(world, i, t, share, k):
    """Return which of k actions is probed in round t, -1 if none is; probes have some share."""
    if share == 0.0:
        return -1
    number = uniform_for_policy(world, i, t)
    return min(np.int64(number / share * k), k - 1) if number < share else -1


@compiled(allocates=False)
def observe(world, i, z, action, t, out):
    """Fill out (m,) with what an action shows in round t, in context z."""
    own, seed, block = world.numbers[i, 1], world.seeds[i], np.uint64(t // random.BLOCK)
    m, kind = len(out), world.kind
    if kind == OUTCOME:
        number = random.uniform(own, seed, NOISE, block)
        own_limits = world.outcomes[row_of(world, i, len(world.outcomes))]
        outcome = drawn(own_limits[z if len(own_limits) > 1 else 0], number)
        for j in range(m):
            out[j] = world.signals[z, action, outcome, j]
        return
    means = world.means[row_of(world, i, len(world.means)), z, action]
    size = world.sizes[z, action]
    for j in range(world.width):
        mean = means[j] if j < m else 0.0
        if kind == GAUSSIAN:
            shown = mean + size * random.normal(own, seed, NOISE, block)
        elif kind == BERNOULLI:
            shown = 1.0 if random.uniform(own, seed, NOISE, block) < mean else 0.0
        elif kind == SIGN:
            number = random.uniform(own, seed, NOISE, block)
            shown = 1.0 if number < (1.0 + mean) / 2.0 else -1.0
        else:
            shown = mean
        if j < m:
            out[j] = shown


@compiled(allocates=False)
def loss(world, i, z, action):
    """Return what an action loses against the best one."""
    return world.losses[row_of(world, i, len(world.losses)), z, action]


@compiled(allocates=False)
def count(totals, i, action, lost, gained, ratio):
    """Add a round to the totals of replicate i."""
    totals.regret[i] += lost
    totals.gained[i] += gained
    totals.ratios[i] += ratio
    if totals.plays.shape[1] > 0:
        totals.plays[i, action] += 1
