"""Rounds of Mario sampling: draw what may be best, and move it towards what seems best.

The actions of A that can be best are numbered 0, 1, ... here. Neighbours form a tree whose root is
the best action at the posterior mean, and every action has its best neighbour as parent.
"""

# mypy: ignore-errors

from math import inf, nan
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.outcome_counts import learn
from partial_monitoring.numerics.compiled.posterior_draw import FIRST, draw
from partial_monitoring.numerics.compiled.redistribute import redistribute
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
    """Of the actions of A, shape (c, d)."""
    own: np.ndarray
    """Their numbers in the game, shape (c,)."""
    near: np.ndarray
    """Which of them are neighbours, shape (c, c)."""
    tie: float
    """Rewards that are no further apart are tied."""
    levels: bool
    """Whether masses are levelled; else that of the last draw is spread over its path."""
    samples: int
    """The number of draws whose best actions are counted."""
    helpers: np.ndarray
    """Actions between neighbours, shape (h,)."""
    ends: np.ndarray
    """The neighbours, shape (h, 2)."""
    shares: np.ndarray
    """Of the first of them, shape (h,)."""


class Tree(NamedTuple):
    """Scratch of n replicates."""

    values: np.ndarray
    """Rewards at the posterior mean, shape (n, c)."""
    parent: np.ndarray
    """The parent of every action, -1 for the root, shape (n, c)."""
    mass: np.ndarray
    """Probabilities, shape (n, c)."""
    block: np.ndarray
    """Numbers of groups with the same probability, or a queue, shape (n, c)."""
    sums: np.ndarray
    """The mass of each group, shape (n, c)."""
    sizes: np.ndarray
    """The number of its actions, shape (n, c)."""
    before: np.ndarray
    """Probabilities of all actions, shape (n, k)."""
    chances: np.ndarray
    """Those that are played, shape (n, k)."""


@compiled(allocates=False)
def best_for(rewards, theta, values):
    """Fill values (c,) with the rewards for theta; return the first largest."""
    best = np.int64(0)
    for a in range(len(values)):
        values[a] = 0.0
        for j in range(len(theta)):
            values[a] += rewards[a, j] * theta[j]
        if values[a] > values[best]:
            best = a
    return best


@compiled(inline="always", allocates=False)
def plant(near, tie, values, root, parent, queue):
    """Fill parent (c,) with the tree of neighbours towards the root, the best of the values (c,).

    Actions that are tied with the root are reached from it through each other; the parent of
    every other action is its best neighbour, which is better. ``queue`` (c,) is scratch.
    """
    c = len(values)
    for a in range(c):
        parent[a] = -1
    queue[0], begin, end = root, 0, 1
    while begin < end:
        reached = queue[begin]
        begin += 1
        for a in range(c):
            tied = values[a] >= values[root] - tie
            if tied and near[reached, a] and parent[a] < 0 and a != root:
                parent[a] = reached
                queue[end] = a
                end += 1
    for a in range(c):
        if parent[a] < 0 and a != root:
            best = -inf
            for b in range(c):
                if near[a, b] and values[b] > best:
                    parent[a], best = b, values[b]


@compiled(inline="always", allocates=False)
def spread(parent, action, mass):
    """Fill mass (c,) with equal probabilities on the path from an action to the root."""
    c = len(mass)
    length, at = 0, action
    while at >= 0 and length < c:
        length += 1
        at = parent[at]
    for a in range(c):
        mass[a] = 0.0
    at = action
    for _ in range(length):
        mass[at] += 1.0 / length
        at = parent[at]


@compiled(inline="always", allocates=False)
def level(parent, mass, block, sums, sizes):
    """Replace mass (c,) by the nearest one that does not grow away from the root.

    Groups start with single actions; the fullest group above its parent's joins it, until there is
    none. ``block``, ``sums`` and ``sizes`` (c,) are scratch.
    """
    c = len(mass)
    for a in range(c):
        block[a], sums[a], sizes[a] = a, mass[a], 1.0
    for _ in range(c):
        fullest, most = -1, 0.0
        for a in range(c):
            if parent[a] >= 0 and block[a] != block[parent[a]]:
                one, two = block[a], block[parent[a]]
                own = sums[one] / sizes[one]
                if own > sums[two] / sizes[two] and own > most:
                    fullest, most = a, own
        if fullest < 0:
            break
        one, two = block[fullest], block[parent[fullest]]
        sums[two] += sums[one]
        sizes[two] += sizes[one]
        for a in range(c):
            if block[a] == one:
                block[a] = two
    for a in range(c):
        mass[a] = sums[block[a]] / sizes[block[a]]


@compiled(inline="always", allocates=False)
def choose(shape, parts, law, belief, work, tree, number, i):
    """Return the action of replicate i, and fill its row of tree.chances."""
    values, parent, mass = tree.values[i], tree.parent[i], tree.mass[i]
    block, chances = tree.block[i], tree.chances[i]
    root = best_for(shape.rewards, belief.middle[i], values)
    plant(shape.near, shape.tie, values, root, parent, block)
    chance.start(work.own[i], number)
    for a in range(len(mass)):
        mass[a] = 0.0
    best, exact = root, FIRST
    for _ in range(shape.samples):
        exact = draw(parts, law, belief, work, exact, i)
        best = best_for(shape.rewards, work.theta[i], values)
        mass[best] += 1.0 / shape.samples
    if shape.levels:
        level(parent, mass, block, tree.sums[i], tree.sizes[i])
    else:
        spread(parent, best, mass)
    before = tree.before[i]
    for a in range(len(mass)):
        before[shape.own[a]] = mass[a]
    playable = len(shape.own) + len(shape.helpers)
    redistribute(shape.helpers, shape.ends, shape.shares, playable, before, chances)
    uniform, last = chance.uniform(work.own[i]), np.int64(0)
    for a in range(len(chances)):
        if chances[a] > 0.0:
            last = a
            uniform -= chances[a]
            if uniform < 0.0:
                break
    return last


@compiled(allocates=False)
def decide_all(shape, parts, law, belief, work, tree, numbers, actions):
    """Choose actions (n,) for all replicates, with one uniform number each, (n,)."""
    for i in range(len(numbers)):
        actions[i] = choose(shape, parts, law, belief, work, tree, numbers[i], i)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, parts, law, belief, work, tree):
    """Play replicates first to last (exclusive) to before round ``stop``."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            number = uniform_for_policy(world, i, t)
            action = choose(shape, parts, law, belief, work, tree, number, i)
            observe(world, i, 0, action, t, work.shown[i])
            learn(parts, belief, work.chances[i], action, work.shown[i], i)
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
            reached[i] = t + 1
