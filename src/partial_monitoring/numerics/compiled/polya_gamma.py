"""Logistic regression by Polya-Gamma variables, and rounds of apple tasting that decide with it.

Labels y of context z are 1 with probability s(x_z' theta), s(c) = 1 / (1 + e^-c), and the prior of
theta is N(mu, I / h). With omega_z ~ PG(n_z, x_z' theta) for the n_z labels of context z,

    theta | omega ~ N(P^-1 r, P^-1),    P = sum_z omega_z x_z x_z' + h I,
                                        r = sum_z (labels that are 1 - n_z / 2) x_z + h mu

(Polson, Scott and Windle 2013). A sum of n_z variables PG(1, c) is PG(n_z, c), so that a sweep
costs the same however many labels there are.
"""

# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.world import (
    context,
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

TERMS = 4
"""Of the series of a Polya-Gamma variable; the others are one gamma variable with their mean and
variance. That moves the third cumulant by a share of 2e-6 at c = 1, and 1e-3 at c = 10."""

SMALL = 1e-3
"""Below this c PG(b, c) is taken for PG(b, 1e-3): its moments differ by less than 1e-7."""

STEPS = 3
"""Towards the mode of the posterior after each label; it is where the next draws start."""


class Shape(NamedTuple):
    """What does not change from round to round."""

    features: np.ndarray
    """x, shape (contexts, q)."""
    offset: np.ndarray
    """Of the loss of the action that shows a label minus that of the other, shape (contexts,)."""
    slope: np.ndarray
    """Of that difference in the chance of the label 1, shape (contexts,)."""
    shows: int
    """The number of the action that shows a label."""
    other: int
    """The number of the action that shows nothing."""
    row: np.ndarray
    """Which row of the observation is the label, shape (contexts,)."""
    scale: float
    shift: float
    """The label is scale y + shift."""


class Rule(NamedTuple):
    """The options of the policy."""

    directed: bool
    """Whether the two-point rule of IDS decides, and not the last draw."""
    sweeps: int
    """Before the first draw that counts."""
    samples: int
    """How many draws count; one for Thompson sampling."""
    mean: float
    precision: float
    """Of the prior."""


class State(NamedTuple):
    """What n replicates know."""

    labels: np.ndarray
    """How many were seen, shape (n, contexts)."""
    ones: np.ndarray
    """How many of them are 1, shape (n, contexts)."""
    mode: np.ndarray
    """Of the posterior, shape (n, q)."""


class Scratch(NamedTuple):
    """Room for the round at hand of n replicates."""

    theta: np.ndarray
    """Shape (n, q)."""
    line: np.ndarray
    """Shape (n, q)."""
    matrix: np.ndarray
    """Shape (n, q, q)."""
    own: np.ndarray
    """The counters of private streams, shape (n, 1), uint64."""
    gaps: np.ndarray
    """The mean losses of the action that shows and of the other against the best, (n, 2)."""
    shown: np.ndarray
    """What the last action showed, shape (n, rows)."""


@compiled(allocates=False)
def polya_gamma(own, b, c):
    """Return a number with the distribution PG(b, c).

    It is sum_j g_j / (2 pi^2 ((j - 1/2)^2 + c^2 / (4 pi^2))) with gamma variables g_j of shape b.
    """
    c = max(abs(c), SMALL)
    half = math.tanh(0.5 * c)
    mean = half / (2.0 * c)
    variance = (2.0 * half - c * (1.0 - half * half)) / (4.0 * c * c * c)
    total = 0.0
    for j in range(TERMS):
        part = 1.0 / (2.0 * math.pi**2 * (j + 0.5) ** 2 + 0.5 * c * c)
        total += part * math.exp(chance.log_gamma_draw(own, b))
        mean -= part
        variance -= part * part
    rest = chance.log_gamma_draw(own, b * mean * mean / variance)
    return total + variance / mean * math.exp(rest)


@compiled(allocates=False)
def mean_weight(c):
    """Return the mean of PG(1, c)."""
    c = max(abs(c), SMALL)
    return math.tanh(0.5 * c) / (2.0 * c)


@compiled(allocates=False)
def sigmoid(c):
    """Return 1 / (1 + e^-c)."""
    return 1.0 / (1.0 + math.exp(-c)) if c >= 0.0 else math.exp(c) / (1.0 + math.exp(c))


@compiled(allocates=False)
def inner(x, theta):
    """Return <x, theta>."""
    total = 0.0
    for p in range(len(x)):
        total += x[p] * theta[p]
    return total


@compiled(allocates=False)
def start_matrix(matrix, precision):
    """Fill a matrix (q, q) with precision I."""
    for p in range(len(matrix)):
        for r in range(len(matrix)):
            matrix[p, r] = precision if p == r else 0.0


@compiled(allocates=False)
def add_square(matrix, weight, x):
    """Add weight x x' to the lower half of a matrix (q, q)."""
    for p in range(len(x)):
        for r in range(p + 1):
            matrix[p, r] += weight * x[p] * x[r]


@compiled(allocates=False)
def factor(matrix):
    """Replace the lower half of a positive matrix (q, q) by its triangle L, matrix = L L'."""
    for p in range(len(matrix)):
        for r in range(p + 1):
            rest = matrix[p, r]
            for s in range(r):
                rest -= matrix[p, s] * matrix[r, s]
            matrix[p, r] = math.sqrt(rest) if p == r else rest / matrix[r, r]


@compiled(allocates=False)
def solve(triangle, line):
    """Replace a vector (q,) by L^-1 of it."""
    for p in range(len(line)):
        for r in range(p):
            line[p] -= triangle[p, r] * line[r]
        line[p] /= triangle[p, p]


@compiled(allocates=False)
def solve_back(triangle, line):
    """Replace a vector (q,) by L'^-1 of it."""
    for back in range(len(line)):
        p = len(line) - 1 - back
        for r in range(p + 1, len(line)):
            line[p] -= triangle[r, p] * line[r]
        line[p] /= triangle[p, p]


@compiled(allocates=False)
def fill_right(features, labels, ones, rule, line):
    """Fill line (q,) with r = sum_z (ones_z - labels_z / 2) x_z + h mu."""
    for p in range(len(line)):
        line[p] = rule.precision * rule.mean
    for z in range(len(labels)):
        if labels[z] > 0:
            for p in range(len(line)):
                line[p] += (ones[z] - 0.5 * labels[z]) * features[z, p]


@compiled(allocates=False)
def log_posterior(features, labels, ones, rule, theta):
    """Return the logarithm of the posterior density of theta (q,), up to a constant."""
    total = 0.0
    for p in range(len(theta)):
        total -= 0.5 * rule.precision * (theta[p] - rule.mean) ** 2
    for z in range(len(labels)):
        if labels[z] > 0:
            c = inner(features[z], theta)
            total += ones[z] * c - labels[z] * (max(c, 0.0) + math.log1p(math.exp(-abs(c))))
    return total


@compiled(allocates=False)
def fill_curvature(features, labels, rule, theta, matrix):
    """Fill a matrix (q, q) with the triangle of minus the second derivative of the logarithm."""
    start_matrix(matrix, rule.precision)
    for z in range(len(labels)):
        if labels[z] > 0:
            p = sigmoid(inner(features[z], theta))
            add_square(matrix, labels[z] * p * (1.0 - p), features[z])
    factor(matrix)


@compiled(allocates=False)
def climb(features, labels, ones, rule, theta, trial, matrix):
    """Move theta (q,) one step towards the mode of the posterior.

    A Newton step, or where that would descend, one with the means of the omegas, which cannot.
    """
    q = len(theta)
    fill_curvature(features, labels, rule, theta, matrix)
    for p in range(q):
        trial[p] = rule.precision * (rule.mean - theta[p])
    for z in range(len(labels)):
        if labels[z] > 0:
            rest = ones[z] - labels[z] * sigmoid(inner(features[z], theta))
            for p in range(q):
                trial[p] += rest * features[z, p]
    solve(matrix, trial)
    solve_back(matrix, trial)
    for p in range(q):
        trial[p] += theta[p]
    before = log_posterior(features, labels, ones, rule, theta)
    if not log_posterior(features, labels, ones, rule, trial) >= before:
        start_matrix(matrix, rule.precision)
        for z in range(len(labels)):
            if labels[z] > 0:
                weight = labels[z] * mean_weight(inner(features[z], theta))
                add_square(matrix, weight, features[z])
        factor(matrix)
        fill_right(features, labels, ones, rule, trial)
        solve(matrix, trial)
        solve_back(matrix, trial)
    for p in range(q):
        theta[p] = trial[p]


@compiled(allocates=False)
def sweep(features, labels, ones, rule, own, theta, line, matrix):
    """Replace theta (q,) by the next draw of the Gibbs sampler."""
    start_matrix(matrix, rule.precision)
    for z in range(len(labels)):
        if labels[z] > 0:
            weight = polya_gamma(own, float(labels[z]), inner(features[z], theta))
            add_square(matrix, weight, features[z])
    factor(matrix)
    fill_right(features, labels, ones, rule, line)
    solve(matrix, line)
    for p in range(len(line)):  # L^-1 r + e, e standard normal: L'^-1 of it is the draw
        line[p] += chance.normal(own)
    solve_back(matrix, line)
    for p in range(len(theta)):
        theta[p] = line[p]


@compiled(allocates=False)
def start_draw(features, labels, rule, own, mode, theta, matrix):
    """Fill theta (q,) with a draw from the normal approximation of the posterior at its mode."""
    fill_curvature(features, labels, rule, mode, matrix)
    for p in range(len(theta)):
        theta[p] = chance.normal(own)
    solve_back(matrix, theta)
    for p in range(len(theta)):
        theta[p] += mode[p]


@compiled(allocates=False)
def probability(shape, rule, state, scratch, i, z, number):
    """Return the probability with which replicate i looks at the label in context z.

    With D the means, over draws, of what the two actions lose: 1 if D_shows <= D_other, else
    min(1, D_other / (D_shows - D_other)). Before the first label, 1.
    """
    labels, ones = state.labels[i], state.ones[i]
    scratch.gaps[i, 0], scratch.gaps[i, 1] = 0.0, 0.0
    seen = 0
    for y in range(len(labels)):
        seen += labels[y]
    if seen == 0:
        return 1.0
    own, theta, matrix = scratch.own[i], scratch.theta[i], scratch.matrix[i]
    chance.start(own, number)
    start_draw(shape.features, labels, rule, own, state.mode[i], theta, matrix)
    for s in range(rule.sweeps + rule.samples - 1):
        sweep(shape.features, labels, ones, rule, own, theta, scratch.line[i], matrix)
        if s + 1 >= rule.sweeps:
            p = sigmoid(inner(shape.features[z], theta))
            difference = shape.offset[z] + shape.slope[z] * p
            scratch.gaps[i, 0] += max(difference, 0.0) / rule.samples
            scratch.gaps[i, 1] += max(-difference, 0.0) / rule.samples
    return two_point(scratch.gaps[i, 0], scratch.gaps[i, 1], rule.directed)


@compiled(allocates=False)
def two_point(shows, other, directed):
    """Return the probability of the action that shows a label, given the gaps of both."""
    if shows <= other:
        return 1.0
    return min(1.0, other / (shows - other)) if directed else 0.0


@compiled(allocates=False)
def drawn_action(shape, chosen, number):
    """Return the action that a uniform number draws, if ``chosen`` is the chance of a label."""
    if shape.shows < shape.other:
        return shape.shows if number < chosen else shape.other
    return shape.other if number < 1.0 - chosen else shape.shows


@compiled(allocates=False)
def learn(shape, rule, state, scratch, i, z, action):
    """Count the label that replicate i was shown in context z, if it was."""
    if action != shape.shows:
        return
    label = shape.scale * scratch.shown[i, shape.row[z]] + shape.shift
    state.labels[i, z] += 1
    state.ones[i, z] += label
    for _ in range(STEPS):
        climb(
            shape.features,
            state.labels[i],
            state.ones[i],
            rule,
            state.mode[i],
            scratch.line[i],
            scratch.matrix[i],
        )


@compiled(allocates=False)
def decide_all(shape, rule, state, scratch, contexts, numbers, chosen):
    """Fill chosen (n,) with the probabilities of a label, from one uniform number (n,) each."""
    for i in range(len(chosen)):
        chosen[i] = probability(shape, rule, state, scratch, i, contexts[i], numbers[i])


@compiled(allocates=False)
def act_all(shape, chosen, numbers, actions):
    """Fill actions (n,) from their probabilities and one uniform number (n,) each."""
    for i in range(len(actions)):
        actions[i] = drawn_action(shape, chosen[i], numbers[i])


@compiled(allocates=False)
def learn_all(shape, rule, state, scratch, contexts, actions):
    """Take in what the actions (n,) showed in their contexts (n,); the state is changed."""
    for i in range(len(actions)):
        learn(shape, rule, state, scratch, i, contexts[i], actions[i])


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, rule, state, scratch):
    """Play replicates first to last (exclusive) to before round ``stop``."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            z = context(world, i, t)
            number = uniform_for_policy(world, i, t)
            chosen = probability(shape, rule, state, scratch, i, z, number)
            last_number = uniform_for_policy(world, i, t) if rule.directed else 0.5
            action = drawn_action(shape, chosen, last_number)
            observe(world, i, z, action, t, scratch.shown[i])
            learn(shape, rule, state, scratch, i, z, action)
            count(totals, i, action, loss(world, i, z, action), math.nan, math.nan)
            reached[i] = t + 1
