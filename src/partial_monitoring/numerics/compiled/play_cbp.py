"""Rounds of CBP and RandCBP: what is compared, decided and played by one replicate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.comparisons import (
    BLOCK,
    Sums,
    add_blocks,
    add_up,
    compare,
    factor_at,
    sign_of,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.sign_table import Fan, find, leave_in_fan
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    probe,
    start_round,
    uniform_for_policy,
)


class Shape(NamedTuple):
    """What does not change from round to round."""

    vectors: np.ndarray
    """Estimation vectors, shape (k, m, pairs)."""
    sizes: np.ndarray
    """Their largest entries, shape (k, pairs)."""
    ends: np.ndarray
    """The actions of every pair, counted in A, shape (pairs, 2)."""
    fan: Fan
    squares: np.ndarray
    """W^2, shape (k,)."""
    shares: np.ndarray
    """W^(2/3), shape (k,)."""
    tied: float
    """Indices of at least this fraction of the largest are tied with it."""
    draws: int
    """How many factors Z of widths are drawn in a round: none, one for all pairs, or one each."""
    unused: int
    """How many uniform numbers of a round nothing depends on."""
    probe: float
    """The share of uniform actions."""


class Rounds(NamedTuple):
    """What depends on the number of a round only, for rounds from ``first`` (counted from 0)."""

    first: int
    bound: np.ndarray
    """The largest Z, shape (rounds,)."""
    rate: np.ndarray
    """f(t), shape (rounds,)."""
    cumulative: np.ndarray
    """Sums of the weights of levels below the bound, shape (rounds, levels - 1)."""
    scale: np.ndarray
    """The weights of all levels, shape (rounds,)."""


class State(NamedTuple):
    """What n replicates know, and scratch for what they draw and see."""

    plays: np.ndarray
    sums: np.ndarray
    share: np.ndarray
    """1 / plays, shape (n, k)."""
    error: np.ndarray
    """plays^(-1/2), shape (n, k)."""
    scores: np.ndarray
    """W^2 / plays, infinite for actions that must be played first, shape (n, k)."""
    difference: np.ndarray
    """Estimated differences of neighbours, shape (n, pairs)."""
    width: np.ndarray
    """Their widths for Z = 1, shape (n, pairs)."""
    signs: np.ndarray
    """Which differences are decided, shape (n, pairs)."""
    pending: np.ndarray
    """Whether what these signs leave was not known, shape (n,)."""
    candidates: np.ndarray
    """What can be played after the last consistent pattern of signs, shape (n, k)."""
    observers: np.ndarray
    """What observes the pairs that it leaves, shape (n, k)."""
    drawn: np.ndarray
    """Which differences random widths decide, shape (n, pairs)."""
    started: np.ndarray
    """The number of rounds whose widths were drawn, shape (n,)."""
    shown: np.ndarray
    """What the last action showed, shape (n, m)."""
    added: Sums
    """Of which differences and widths are made."""
    left: np.ndarray
    """Room for the targets that a pattern leaves, shape (n, targets)."""
    lost: np.ndarray
    """Room for counts, shape (n, actions in A)."""
    found_candidates: np.ndarray
    """As ``candidates``, for the pattern that was considered last, shape (n, k)."""
    found_observers: np.ndarray


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, rounds, table, state):
    """Play replicates first to last (exclusive) to before round ``stop``.

    A replicate that meets a pattern of signs which is not in the table does not reach it.
    """
    for i in range(first, last):
        play_one(world, totals, reached, stop, shape, rounds, table, state, i)


@compiled(inline="always", allocates=False)
def play_one(world, totals, reached, stop, shape, rounds, table, state, i):
    """Play replicate i to before round ``stop`` or an unknown pattern."""
    for t in range(reached[i], stop):
        row = t - rounds.first
        if not settle(shape, state, table, rounds.bound[row], i):
            return
        if state.started[i] <= t:  # not again after an unknown pattern
            start_round(world, i, t)
            if shape.draws > 0:
                draw(world, shape, rounds, state, row, i, t)
            state.started[i] = t + 1
        found = 0
        if shape.draws > 0:
            found = consider(shape, table, state, state.drawn, i)
            if found < 0:
                return
        if found == 1:
            action = choose(
                shape, state, state.found_candidates, state.found_observers, rounds.rate[row], i
            )
        else:
            action = choose(shape, state, state.candidates, state.observers, rounds.rate[row], i)
        if shape.probe > 0.0:
            for _ in range(shape.unused):
                uniform_for_policy(world, i, t)
            probed = probe(world, i, t, shape.probe, len(shape.squares))
            action = probed if probed >= 0 else action
        observe(world, i, 0, action, t, state.shown[i])
        learn(shape, state, action, i)
        count(totals, i, action, loss(world, i, 0, action), math.nan, math.nan)
        reached[i] = t + 1


@compiled(inline="always", allocates=False)
def settle(shape, state, table, bound, i):
    """Decide the comparisons of a round; return whether what they leave is known."""
    for e in range(state.signs.shape[1]):
        sign = sign_of(state.difference[i, e], state.width[i, e] * bound)
        if sign != state.signs[i, e]:
            state.signs[i, e] = sign
            state.pending[i] = True
    if state.pending[i]:
        found = consider(shape, table, state, state.signs, i)
        if found < 0:
            return False
        state.pending[i] = False
        if found == 1:
            for c in range(state.plays.shape[1]):
                state.candidates[i, c] = state.found_candidates[i, c]
                state.observers[i, c] = state.found_observers[i, c]
    return True


@compiled(allocates=False)
def consider(shape, table, state, signs, i):
    """Find what pattern i of signs leaves: 1, or 0 if nothing is left, -1 if it is not known."""
    if len(shape.fan.pairs) > 0:
        return int(
            leave_in_fan(
                shape.ends,
                shape.fan,
                signs,
                i,
                state.lost,
                state.left,
                state.found_candidates,
                state.found_observers,
            )
        )
    found = find(table, signs, i)
    if found < 0 or not table.consistent[found]:
        return min(found, 0)
    for c in range(state.plays.shape[1]):
        state.found_candidates[i, c] = table.candidates[found, c]
        state.found_observers[i, c] = table.observers[found, c]
    return 1


@compiled(inline="always", allocates=False)
def draw(world, shape, rounds, state, row, i, t):
    """Decide the comparisons of a round with random widths."""
    factor = 0.0
    for e in range(state.drawn.shape[1]):
        if e < shape.draws:
            uniform = uniform_for_policy(world, i, t)
            factor = factor_at(uniform, rounds.bound, rounds.cumulative, rounds.scale, row)
        state.drawn[i, e] = sign_of(state.difference[i, e], state.width[i, e] * factor)


@compiled(allocates=False)
def choose(shape, state, candidates, observers, rate, i):
    """Return the lowest action whose index is tied with the largest of those allowed."""
    best = -math.inf
    for c in range(len(shape.squares)):
        if state.scores[i, c] > best and allowed(shape, state, candidates, observers, rate, i, c):
            best = state.scores[i, c]
    for c in range(len(shape.squares)):
        tied = state.scores[i, c] >= best * shape.tied
        if tied and allowed(shape, state, candidates, observers, rate, i, c):
            return c
    return 0


@compiled(inline="always", allocates=False)
def allowed(shape, state, candidates, observers, rate, i, c):
    """Whether an action can be played: it is left, or observes what is, or must come first."""
    return (
        candidates[i, c]
        or state.scores[i, c] == math.inf
        or (observers[i, c] and state.plays[i, c] <= shape.shares[c] * rate)
    )


@compiled(inline="always", allocates=False)
def learn(shape, state, action, i):
    """Count what an action showed, and estimate anew the differences that it observes."""
    state.plays[i, action] += 1
    state.share[i, action] = 1.0 / state.plays[i, action]
    state.error[i, action] = math.sqrt(state.share[i, action])
    state.scores[i, action] = shape.squares[action] / state.plays[i, action]
    for s in range(state.shown.shape[1]):
        state.sums[i, action, s] += state.shown[i, s]
    add_up(
        shape.vectors,
        shape.sizes,
        state.sums,
        state.share,
        state.error,
        state.added,
        i,
        i,
        action // BLOCK,
    )
    add_blocks(state.added, i)
    for e in range(state.width.shape[1]):
        state.difference[i, e], state.width[i, e] = compare(state.added, i, e)


@compiled(allocates=False)
def begin(shape, state):
    """Add up what is known before the first round: nothing."""
    for i in range(len(state.width)):
        for block in range(state.added.width.shape[1] - 1):
            add_up(
                shape.vectors,
                shape.sizes,
                state.sums,
                state.share,
                state.error,
                state.added,
                i,
                i,
                block,
            )
