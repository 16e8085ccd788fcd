"""Rounds of Tsallis-INF: weights that sum to one, found by Newton's method."""

# mypy: ignore-errors

from math import nan, sqrt
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

CLOSE = 1e-13
"""Weights whose sum is closer to one than this are only rescaled."""

MOST_STEPS = 100
"""Of Newton's method, which takes about five."""


HUGE = 1e140
"""No sum of estimates is larger: reached only if actions were not drawn as they should be."""


class Rule(NamedTuple):
    """What does not change from round to round."""

    weights: np.ndarray
    """How rewards are read, as in ``policies.bandit.readout``: w, shape (k, m)."""
    constants: np.ndarray
    """c, shape (k,)."""
    high: float
    """A reward r is the loss (high - r) / unit."""
    unit: float
    rate: float
    """eta_t = rate / t^(1/2)."""
    reduced: bool
    """Whether estimates have reduced variance."""


@compiled(allocates=False)
def fill(eta, losses, chances):
    """Fill chances (k,) with w_a = 4 / (eta (losses_a - x))^2, where x makes their sum one.

    With y = min losses - x: the sum is convex and increasing in -y, and at y = 2 / eta, where the
    largest weight is one, at least one. From there Newton's method goes down to the root and never
    passes it.
    """
    least, y, total = losses[0], 2.0 / eta, 0.0
    for a in range(1, len(losses)):
        least = min(least, losses[a])
    for _ in range(MOST_STEPS):
        total, slope = 0.0, 0.0
        for a in range(len(losses)):
            root = 2.0 / (eta * (losses[a] - least + y))
            chances[a] = root * root
            total += chances[a]
            slope += chances[a] * root
        if total - 1.0 <= CLOSE:
            break
        y += (total - 1.0) / (eta * slope)
    for a in range(len(losses)):
        chances[a] /= total


@compiled(allocates=False)
def learn(rule, eta, action, shown, chances, chance, losses):
    """Add to losses (k,) what was shown (m,), over the probability ``chance`` of the action."""
    reward = rule.constants[action]
    for s in range(len(shown)):
        reward += rule.weights[action, s] * shown[s]
    rest = (rule.high - reward) / rule.unit
    if rule.reduced:
        for a in range(len(losses)):
            base = 0.5 if chances[a] >= eta * eta else 0.0
            losses[a] += base
            if a == action:
                rest -= base
    losses[action] = min(max(losses[action] + rest / chance, -HUGE), HUGE)


@compiled(allocates=False)
def decide_each(rule, rounds, losses, uniforms, actions, chances):
    """Fill actions (n,) and their distributions (n, k)."""
    for i in range(len(actions)):
        fill(rule.rate / sqrt(float(rounds[i])), losses[i], chances[i])
        actions[i] = drawn_from(chances[i], uniforms[i])


@compiled(allocates=False)
def learn_each(rule, rounds, losses, actions, shown, drawn, chances):
    """Move losses (n, k) on by what actions (n,) showed, (n, m); chances (n, k) are scratch.

    They were drawn with given probabilities (n,), NaN for those of the present round.
    """
    for i in range(len(actions)):
        eta = rule.rate / sqrt(float(rounds[i]))
        fill(eta, losses[i], chances[i])
        chance = recorded(drawn[i], chances[i, actions[i]])
        learn(rule, eta, actions[i], shown[i], chances[i], chance, losses[i])


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, rule, losses, chances, shown):
    """Play replicates first to before last until round ``stop``; the last two are scratch."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            eta = rule.rate / sqrt(float(t + 1))
            fill(eta, losses[i], chances[i])
            action = drawn_from(chances[i], uniform_for_policy(world, i, t))
            observe(world, i, 0, action, t, shown[i])
            learn(rule, eta, action, shown[i], chances[i], chances[i, action], losses[i])
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
        reached[i] = max(reached[i], stop)
