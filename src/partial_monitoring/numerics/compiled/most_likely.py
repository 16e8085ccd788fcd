"""The distribution of outcomes under which what PM-DMED saw is most likely."""

# mypy: ignore-errors

from __future__ import annotations

import math

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.rival_system import factor, signal_chances, solve

LIKELY = 1e-6
"""The log-likelihood of an estimate is at most this below the largest."""

TINY = 1e-9
"""The least probability that a round starts with: all signals must be possible."""

NEWTON = 40
"""The most steps of Newton's method in a round."""


@compiled(allocates=False)
def estimate(shape, state, i, desk):
    """Improve the estimate until its log-likelihood l is at most LIKELY from the largest.

    That is so if no outcome has a gradient of more than the number of rounds plus LIKELY. First
    come sweeps of EM, then steps of Newton's method for l + w sum_x log theta_x, whose maximum
    satisfies it with w = LIKELY / (2 d).
    """
    theta, d, rounds = state.theta[i], len(state.theta[i]), 0
    for a in range(len(shape.symbols)):
        rounds += state.plays[i, a]
    total = 0.0
    for x in range(d):
        theta[x] = max(theta[x], TINY)
        total += theta[x]
    for x in range(d):
        theta[x] /= total
    for step in range(shape.sweeps + NEWTON):
        top, total = pulls(shape.symbols, state.sums[i], theta, desk), 0.0
        if top <= rounds + LIKELY:
            return
        if step < shape.sweeps:
            for x in range(d):
                theta[x] *= desk.pull[x] / rounds
        else:
            climb(shape.symbols, state.sums[i], theta, 0.5 * LIKELY / d, desk)
        for x in range(d):
            total += theta[x]
        for x in range(d):
            theta[x] /= total


@compiled(allocates=False)
def pulls(symbols, sums, theta, desk):
    """Fill in the gradient of the log-likelihood, the pull of each outcome; return the largest."""
    signal_chances(symbols, theta, desk.chances)
    top = 0.0
    for x in range(len(theta)):
        desk.pull[x] = 0.0
        for a in range(len(symbols)):
            s = symbols[a, x]
            if sums[a, s] > 0.0:
                desk.pull[x] += sums[a, s] / desk.chances[a, s]
        top = max(top, desk.pull[x])
    return top


@compiled(allocates=False)
def climb(symbols, sums, theta, weight, desk):
    """Take a step of Newton's method, damped so that it cannot overshoot."""
    room, d = desk.work.rival, len(theta)
    matrix, step, ones = room.matrix, room.right, room.gradient
    for x in range(d):
        for w in range(x + 1):
            matrix[x, w] = weight / (theta[x] * theta[x]) if w == x else 0.0
            for a in range(len(symbols)):
                s = symbols[a, x]
                if s == symbols[a, w] and sums[a, s] > 0.0:
                    matrix[x, w] += sums[a, s] / (desk.chances[a, s] * desk.chances[a, s])
        step[x], ones[x] = desk.pull[x] + weight / theta[x], 1.0
    factor(matrix, d)
    solve(matrix, d, step)
    solve(matrix, d, ones)
    above, below, gain, length = 0.0, 0.0, 0.0, 1.0
    for x in range(d):
        above += step[x]
        below += ones[x]
    for x in range(d):
        step[x] -= above / below * ones[x]
        gain += step[x] * (desk.pull[x] + weight / theta[x])
        if step[x] < 0.0:
            length = min(length, -0.9 * theta[x] / step[x])
    if gain > 0.1:
        length = min(length, 1.0 / (1.0 + math.sqrt(gain)))
    for x in range(d):
        theta[x] += length * step[x]
