"""Rounds of CBPside and RandCBPside: ridge regression for every action, one replicate at a time.

Action a keeps the triangle L of G_a = lam I + sum x x' = L L' and the sums of e_s x' over the
rounds in which it was played. In context x its symbols have the estimated chances

    pi_a = (sum e_s x') G_a^-1 x,    and    |x|_a = (x' G_a^-1 x)^(1/2).
"""

# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.comparisons import sign_of
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.sign_table import find
from partial_monitoring.numerics.compiled.world import (
    context,
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

PAPER, SELFNORM, PLAYS = range(3)
"""How wide confidence intervals are: the names of ``WIDTHS`` in the policy, in this order."""

BASE = 100
"""Patterns begin with the number of their context, as two digits of this base."""

ROUNDING = 1e-12
"""A difference below this fraction of what it is summed from is zero."""


class Shape(NamedTuple):
    """What does not change from round to round."""

    features: np.ndarray
    """x, shape (contexts, q)."""
    vectors: np.ndarray
    """Estimation vectors, shape (contexts, pairs, k, symbols)."""
    sizes: np.ndarray
    """Their lengths in the norm of the widths, shape (contexts, pairs, k)."""
    weights: np.ndarray
    """W, the largest of these sizes, shape (contexts, k)."""
    useful: np.ndarray
    """The actions that can be best or observe some pair, shape (contexts, k)."""
    rows: np.ndarray
    """How many rows actions show, shape (contexts, k)."""
    pairs: np.ndarray
    """The number of pairs, shape (contexts,)."""
    chances: np.ndarray
    """Symbol j of row y is shown by chances[j, 0] y + chances[j, 1], shape (values, 2)."""


class Rule(NamedTuple):
    """The options of the policy."""

    width: int
    alpha: float
    regularization: float
    forced: bool
    """Whether observers of undecided pairs are played while they are uncertain."""
    draws: int
    """How many factors are drawn in a round: none, or one for each action."""
    spread: float
    levels: int
    top: float
    tied: float
    """Indices of at least this fraction of the largest are tied with it."""


class State(NamedTuple):
    """What n replicates know."""

    triangle: np.ndarray
    """L, shape (n, k, q, q), lower triangles."""
    sums: np.ndarray
    """Of e_s x', shape (n, k, symbols, q)."""
    plays: np.ndarray
    """Shape (n, k)."""


class Scratch(NamedTuple):
    """Room for the round at hand of n replicates."""

    line: np.ndarray
    """Shape (n, q)."""
    chances: np.ndarray
    """pi, shape (n, k, symbols)."""
    square: np.ndarray
    """|x|_a^2, shape (n, k)."""
    bound: np.ndarray
    """The largest factor Z of an action, shape (n, k)."""
    factor: np.ndarray
    """The factor Z that was drawn, shape (n, k)."""
    certain: np.ndarray
    """Which comparisons the largest factors decide, shape (n, 2 + pairs)."""
    drawn: np.ndarray
    """Which comparisons the factors that were drawn decide, shape (n, 2 + pairs)."""
    uniforms: np.ndarray
    """Shape (n, draws)."""
    context: np.ndarray
    """Shape (n,)."""
    started: np.ndarray
    """The number of rounds whose comparisons were made, shape (n,)."""
    shown: np.ndarray
    """What the last action showed, shape (n, rows)."""
    index: np.ndarray
    """(W w)^2 of the actions that may be played, else -inf, shape (n, k)."""


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, rule, table, state, scratch):
    """Play replicates first to last (exclusive) to before round ``stop``.

    A replicate that meets a pattern of signs which is not in the table does not reach it.
    """
    for i in range(first, last):
        for t in range(reached[i], stop):
            if scratch.started[i] <= t:  # not again after an unknown pattern
                start_round(world, i, t)
                scratch.context[i] = context(world, i, t)
                for c in range(rule.draws):
                    scratch.uniforms[i, c] = uniform_for_policy(world, i, t)
                consider(shape, rule, state, scratch, i, t + 1)
                scratch.started[i] = t + 1
            z = scratch.context[i]
            found = find(table, scratch.drawn, i)
            sure = find(table, scratch.certain, i)
            if found < 0 or sure < 0:
                break
            action = choose(shape, rule, table, state, scratch, i, t + 1, found, sure)
            observe(world, i, z, action, t, scratch.shown[i])
            learn(shape, state, scratch, i, z, action)
            count(totals, i, action, loss(world, i, z, action), math.nan, math.nan)
            reached[i] = t + 1


@compiled(allocates=False)
def consider_all(shape, rule, state, scratch, rounds):
    """Make the comparisons of n replicates in their rounds (n,), counted from 1."""
    for i in range(len(rounds)):
        consider(shape, rule, state, scratch, i, rounds[i])


@compiled(allocates=False)
def choose_all(shape, rule, table, state, scratch, rounds, drawn, certain, actions):
    """Fill actions (n,), given the numbers (n,) of the patterns that were found."""
    for i in range(len(rounds)):
        actions[i] = choose(shape, rule, table, state, scratch, i, rounds[i], drawn[i], certain[i])


@compiled(allocates=False)
def learn_all(shape, state, scratch, actions):
    """Take in what the actions (n,) showed in their contexts; the state is changed."""
    for i in range(len(actions)):
        learn(shape, state, scratch, i, scratch.context[i], actions[i])


@compiled(allocates=False)
def consider(shape, rule, state, scratch, i, t):
    """Estimate the chances of all symbols in the context, and decide comparisons."""
    z = scratch.context[i]
    x = shape.features[z]
    k, q, lam = len(shape.weights[z]), len(x), rule.regularization
    for c in range(k):
        solved, log_det = scratch.line[i], 0.0
        triangle = state.triangle[i, c]
        square = 0.0
        for p in range(q):
            rest = x[p]
            for r in range(p):
                rest -= triangle[p, r] * solved[r]
            solved[p] = rest / triangle[p, p]
            square += solved[p] * solved[p]
            log_det += 2.0 * math.log(triangle[p, p])
        for back in range(q):
            p = q - 1 - back
            rest = solved[p]
            for r in range(p + 1, q):
                rest -= triangle[r, p] * solved[r]
            solved[p] = rest / triangle[p, p]
        for s in range(state.sums.shape[2]):
            total = 0.0
            for p in range(q):
                total += state.sums[i, c, s, p] * solved[p]
            scratch.chances[i, c, s] = total
        scratch.square[i, c] = square
        logarithm = math.log(t)
        if rule.width == PAPER:
            inside = (q + 4.0) * logarithm
        elif rule.width == SELFNORM:
            symbols = max(symbol_count(shape, z, c), 1.0)
            inside = 0.5 * math.log(symbols) + logarithm
            inside += 0.25 * max(log_det - q * math.log(lam), 0.0)
        else:
            inside = rule.alpha * logarithm
        scratch.bound[i, c] = math.sqrt(inside)
        scratch.factor[i, c] = scratch.bound[i, c]
        if rule.draws > 0:
            scratch.factor[i, c] = level(rule, scratch.uniforms[i, c], scratch.bound[i, c])
    compare(shape, rule, scratch, i, z, scratch.bound, scratch.certain)
    compare(shape, rule, scratch, i, z, scratch.factor, scratch.drawn)


@compiled(allocates=False)
def symbol_count(shape, z, c):
    """Return the number of symbols that an action can show."""
    return float(len(shape.chances) * shape.rows[z, c])


@compiled(allocates=False)
def level(rule, uniform, bound):
    """Return one of equally spaced numbers from 0 to the bound that a uniform number draws.

    The last has the probability ``top``, the others share the rest in proportion to
    exp(-level^2 / (2 spread^2)).
    """
    below = rule.levels - 1
    total = 0.0
    for j in range(below):
        total += math.exp(-0.5 * (j * (bound / below) / rule.spread) ** 2)
    target, passed = uniform * total / (1.0 - rule.top), 0.0
    for j in range(below):
        passed += math.exp(-0.5 * (j * (bound / below) / rule.spread) ** 2)
        if target < passed:
            return j * (bound / below)
    return bound


@compiled(allocates=False)
def scale(shape, rule, z, c, factor):
    """Return w / |x|_c of an action whose factor is Z."""
    if rule.width == PLAYS:
        return factor
    root = math.sqrt(rule.regularization)
    if rule.width == SELFNORM:
        return factor + root * math.sqrt(shape.features.shape[1])
    symbols = symbol_count(shape, z, c)
    return symbols * (factor + root * symbols)


@compiled(allocates=False)
def compare(shape, rule, scratch, i, z, factors, out):
    """Fill row i of out with the context and the signs that factors (n, k) decide."""
    out[i, 0] = z // BASE
    out[i, 1] = z % BASE
    for e in range(shape.pairs[z]):
        difference, rough, width = 0.0, 0.0, 0.0
        for c in range(shape.sizes.shape[2]):
            size = shape.sizes[z, e, c]
            if size > 0.0:
                width += (
                    size * scale(shape, rule, z, c, factors[i, c]) * math.sqrt(scratch.square[i, c])
                )
                for s in range(shape.vectors.shape[3]):
                    term = shape.vectors[z, e, c, s] * scratch.chances[i, c, s]
                    difference += term
                    rough += abs(term)
        clear = abs(difference) > ROUNDING * rough
        out[i, 2 + e] = sign_of(difference, width) if clear else 0
    for e in range(shape.pairs[z], out.shape[1] - 2):
        out[i, 2 + e] = 0


@compiled(allocates=False)
def choose(shape, rule, table, state, scratch, i, t, found, sure):
    """Return the lowest action whose index is tied with the largest of those that may be played.

    If the signs that were drawn contradict each other, the certain ones stand; if these do, too,
    nothing is decided. Useful actions that were never played come first.
    """
    z = scratch.context[i]
    pattern = found if table.consistent[found] else (sure if table.consistent[sure] else z)
    logarithm = math.log(t)
    rate = math.pow(rule.alpha * logarithm * float(t) * float(t), 1.0 / 3.0)
    best = -math.inf
    for c in range(shape.weights.shape[1]):
        weight, square = shape.weights[z, c], scratch.square[i, c]
        index = -math.inf
        uncertain = rule.forced and square * math.pow(weight, 2.0 / 3.0) * rate >= 1.0
        if shape.useful[z, c] and state.plays[i, c] == 0:
            index = math.inf
        elif table.candidates[pattern, c] or (table.observers[pattern, c] and uncertain):
            factor = 1.0
            if rule.width != PLAYS:
                factor = scale(shape, rule, z, c, scratch.factor[i, c])
            index = (weight * factor) ** 2 * square
        scratch.index[i, c] = index
        best = max(best, index)
    for c in range(shape.weights.shape[1]):
        if scratch.index[i, c] >= best * rule.tied:
            return c
    return 0


@compiled(allocates=False)
def learn(shape, state, scratch, i, z, action):
    """Add what an action showed to its sums, and its context to its triangle."""
    x, line, triangle = shape.features[z], scratch.line[i], state.triangle[i, action]
    rows, room = shape.rows[z, action], len(scratch.shown[i])
    q = len(x)
    state.plays[i, action] += 1
    for j in range(len(shape.chances)):
        for s in range(rows):
            symbol = shape.chances[j, 0] * scratch.shown[i, s] + shape.chances[j, 1]
            for p in range(q):
                state.sums[i, action, j * room + s, p] += symbol * x[p]
    for p in range(q):
        line[p] = x[p]
    for p in range(q):  # a rank-one update of a triangle, by rotations
        old = triangle[p, p]
        new = math.hypot(old, line[p])
        cosine, sine = new / old, line[p] / old
        triangle[p, p] = new
        for r in range(p + 1, q):
            triangle[r, p] = (triangle[r, p] + sine * line[r]) / cosine
            line[r] = cosine * line[r] - sine * triangle[r, p]
