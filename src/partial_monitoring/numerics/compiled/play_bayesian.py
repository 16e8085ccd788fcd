"""Rounds of Bayesian information-directed sampling, from draws of the posterior."""

# mypy: ignore-errors

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.outcome_counts import learn
from partial_monitoring.numerics.compiled.posterior import deviate
from partial_monitoring.numerics.compiled.posterior_draw import FIRST, draw
from partial_monitoring.numerics.compiled.ratio import minimize_row
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)


class Shape(NamedTuple):
    """What does not change from round to round; x is what is drawn, of length D."""

    offsets: np.ndarray
    """Rewards for x = 0, shape (k,)."""
    slopes: np.ndarray
    """Rewards per unit of x, shape (k, D)."""
    maps: np.ndarray
    """What actions show per unit of the first r entries of x, shape (k, m, r)."""
    mutual: bool
    """Whether these are probabilities, and information is mutual information."""
    scale: float
    """What squares are multiplied with, if it is not."""
    samples: int
    zero: float
    """Gaps up to this fraction of the largest one count as zero."""


class Sums(NamedTuple):
    """Scratch of n replicates."""

    values: np.ndarray
    """Rewards for a draw, shape (n, k)."""
    counts: np.ndarray
    """In how many draws each action is best, shape (n, k)."""
    sums: np.ndarray
    """The sum of these draws, shape (n, k, D)."""
    mean: np.ndarray
    """The mean of all draws, shape (n, D)."""
    gaps: np.ndarray
    """Shape (n, k)."""
    information: np.ndarray
    """Shape (n, k)."""
    spare: np.ndarray
    """Scratch of the ratio, shape (n, 2, k)."""
    distribution: np.ndarray
    """Shape (n, k)."""


@compiled(allocates=False)
def clear(counts, sums):
    """Forget all draws."""
    for a in range(len(counts)):
        counts[a] = 0.0
        for j in range(sums.shape[1]):
            sums[a, j] = 0.0


@compiled(allocates=False)
def take_in(shape, x, values, counts, sums):
    """Add a draw to those of its best action; return what that earns."""
    best = np.int64(0)
    for a in range(len(values)):
        values[a] = shape.offsets[a]
        for j in range(len(x)):
            values[a] += shape.slopes[a, j] * x[j]
        if values[a] > values[best]:
            best = a
    counts[best] += 1.0
    for j in range(len(x)):
        sums[best, j] += x[j]
    return values[best]


@compiled(allocates=False)
def weigh(shape, earned, counts, sums, mean, gaps, information):
    """Fill gaps and information (k,) from draws whose best actions have earned a total.

    With P_b the share of draws where b is best, and x_b and x the means of these and of all draws,

        gap_a = mean of the largest reward - reward of a at x,
        information_a = sum_b P_b |M_a (x_b - x)|^2 scale    or    sum_b P_b KL(M_a x_b || M_a x).
    """
    for j in range(len(mean)):
        mean[j] = 0.0
        for b in range(len(counts)):
            mean[j] += sums[b, j]
        mean[j] /= shape.samples
    for a in range(len(gaps)):
        gap = earned / shape.samples - shape.offsets[a]
        for j in range(len(mean)):
            gap -= shape.slopes[a, j] * mean[j]
        gaps[a] = max(gap, 0.0)
        gain = 0.0
        for s in range(shape.maps.shape[1]):
            row = shape.maps[a, s]
            shown = 0.0
            for j in range(len(row)):
                shown += row[j] * mean[j]
            for b in range(len(counts)):
                if counts[b] > 0.0:
                    given = 0.0
                    for j in range(len(row)):
                        given += row[j] * sums[b, j]
                    given /= counts[b]
                    share = counts[b] / shape.samples
                    if not shape.mutual:
                        gain += share * shape.scale * (given - shown) ** 2
                    elif given > 0.0 and shown > 0.0:
                        gain += share * given * log(given / shown)
        information[a] = max(gain, 0.0)


@compiled(allocates=False)
def settle(shape, sums, number, i):
    """Return the action of replicate i and its ratio; fill its distribution of least ratio."""
    gaps, information, spread = sums.gaps[i], sums.information[i], sums.distribution[i]
    one, two, p, ratio, _ = minimize_row(
        gaps, information, 2.0, True, shape.zero, sums.spare[i, 0], sums.spare[i, 1]
    )
    for a in range(len(spread)):
        spread[a] = 0.0
    spread[one] = 1.0 - p
    spread[two] += p
    if one > two:
        one, two, p = two, one, 1.0 - p
    return one if one == two or number < 1.0 - p else two, ratio


@compiled(inline="always", allocates=False)
def choose(shape, parts, law, belief, work, sums, first, second, i):
    """Return the action of replicate i of a finite game and its ratio, from two numbers."""
    counts, totals, earned, exact = sums.counts[i], sums.sums[i], 0.0, FIRST
    clear(counts, totals)
    chance.start(work.own[i], first)
    for _ in range(shape.samples):
        exact = draw(parts, law, belief, work, exact, i)
        earned += take_in(shape, work.theta[i], sums.values[i], counts, totals)
    weigh(shape, earned, counts, totals, sums.mean[i], sums.gaps[i], sums.information[i])
    return settle(shape, sums, second, i)


@compiled(allocates=False)
def decide_all(shape, parts, law, belief, work, sums, numbers, actions, ratios):
    """Choose actions (n,) in a finite game, with two uniform numbers each, (n, 2)."""
    for i in range(len(actions)):
        actions[i], ratios[i] = choose(
            shape, parts, law, belief, work, sums, numbers[i, 0], numbers[i, 1], i
        )


@compiled(allocates=False)
def decide_normal(shape, gram, center, spread, lam, own, x, low, sums, numbers, actions, ratios):
    """Choose actions (n,) from normal posteriors, with two uniform numbers each, (n, 2).

    The first r entries of x have mean center (n, r) and precision gram (n, r, r) / spread^2, the
    others mean 0 and precision lam / spread^2; own (n, 1), x (n, D) and low (r, r) are scratch.
    """
    r, root = gram.shape[1], sqrt(lam)
    for i in range(len(actions)):
        counts, totals, earned, drawn = sums.counts[i], sums.sums[i], 0.0, x[i]
        clear(counts, totals)
        chance.start(own[i], numbers[i, 0])
        for _ in range(shape.samples):
            for j in range(len(drawn)):
                drawn[j] = chance.normal(own[i])
            deviate(gram[i], lam, drawn, low)
            for j in range(len(drawn)):
                drawn[j] = center[i, j] + spread * drawn[j] if j < r else spread * drawn[j] / root
            earned += take_in(shape, drawn, sums.values[i], counts, totals)
        weigh(shape, earned, counts, totals, sums.mean[i], sums.gaps[i], sums.information[i])
        actions[i], ratios[i] = settle(shape, sums, numbers[i, 1], i)


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, parts, law, belief, work, sums):
    """Play replicates first to last (exclusive) of a finite game to before round ``stop``."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            one, two = uniform_for_policy(world, i, t), uniform_for_policy(world, i, t)
            action, ratio = choose(shape, parts, law, belief, work, sums, one, two, i)
            observe(world, i, 0, action, t, work.shown[i])
            learn(parts, belief, work.chances[i], action, work.shown[i], i)
            gained = sums.information[i, action]
            count(totals, i, action, loss(world, i, 0, action), gained, ratio)
            reached[i] = t + 1
