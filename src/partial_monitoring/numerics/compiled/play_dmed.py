"""Rounds of PM-DMED and PM-DMED-Hinge: what one replicate estimates, explores and plays."""

# mypy: ignore-errors

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import exploration
from partial_monitoring.numerics.compiled.exploration import FOUND, NO_RIVALS, SUFFICIENT, explore
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.most_likely import estimate
from partial_monitoring.numerics.compiled.nearest_rival import nearest
from partial_monitoring.numerics.compiled.rival_system import Signals, divergence, signal_chances
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

ENOUGH, SHORT, EVERYTHING = 0, 1, 2
"""What the last look at the exploration said: it suffices; it is short of the rates; or no rates
are known to suffice, and all actions are due."""

TIED = 1e-9
"""Actions whose losses differ by less are tied."""

ZERO = 1e-7
"""Probabilities below this are taken to be zero."""

PRECISION = 1e-4
"""Relative precision of the rates."""


class Shape(NamedTuple):
    """What does not change from round to round."""

    symbols: np.ndarray
    """The symbol that each action shows in each outcome, shape (k, d)."""
    losses: np.ndarray
    """In units of the largest difference, shape (k, d)."""
    groups: np.ndarray
    """The first duplicate of each action, shape (k,)."""
    halves: np.ndarray
    """Loss of a neighbour minus that of the leader, one after the other, shape (h, d)."""
    starts: np.ndarray
    """Where those of each leader begin, shape (k + 1,)."""
    playable: np.ndarray
    """All actions; of a trivial game one of the best, shape (k,), bool."""
    forced: float
    """Every action is played at least this times sqrt(log t) times."""
    growth: float
    """The estimate that rates belong to is kept until t has grown by this factor."""
    sweeps: int
    """Sweeps of EM in a round, before Newton's method takes over."""
    shuffled: bool
    """Whether the actions of a list are played in random order."""
    hinged: bool
    margin: float
    """a: the leader must be ahead by a / log log t."""
    width: float
    """b: divergences up to b / sqrt(plays) are ignored."""


class State(NamedTuple):
    """What n replicates know, and scratch for what they see."""

    plays: np.ndarray
    """Shape (n, k)."""
    sums: np.ndarray
    """How often each symbol was seen, shape (n, k, m)."""
    theta: np.ndarray
    """The estimate, shape (n, d)."""
    left: np.ndarray
    """Actions of the current list that are still to be played, shape (n, k), bool."""
    later: np.ndarray
    """Actions of the next list, shape (n, k), bool."""
    leader: np.ndarray
    """For which the exploration was looked at, -1 for none, shape (n,)."""
    due: np.ndarray
    """The round in which it is looked at again, shape (n,), float."""
    status: np.ndarray
    """What was found, shape (n,)."""
    rates: np.ndarray
    """The cheapest rates of exploration, shape (n, k)."""
    cuts: np.ndarray
    """Constraints that these rates satisfy with equality, and one that was violated, shape
    (n, k + 1, k)."""
    cut_count: np.ndarray
    """Their number, shape (n,)."""
    shown: np.ndarray
    """What the last action showed, shape (n, m)."""


class Desk(NamedTuple):
    """Scratch for one replicate."""

    work: exploration.Work
    chances: np.ndarray
    """Shape (k, m)."""
    signals: Signals
    """What is looked for: symbols, targets and slacks."""
    gaps: np.ndarray
    """Shape (k,)."""
    weights: np.ndarray
    """Shape (k,)."""
    held: np.ndarray
    """The leader and its duplicates, shape (k,), bool."""
    pull: np.ndarray
    """Shape (d,)."""


def desk(shape: Shape, m: int) -> Desk:
    """Return scratch for actions with at most m symbols."""
    k, d = shape.symbols.shape
    return Desk(
        exploration.work(k, m, d),
        np.empty((k, m)),
        Signals(shape.symbols, np.empty((k, m)), np.empty(k)),
        np.empty(k),
        np.empty(k),
        np.empty(k, dtype=np.bool_),
        np.empty(d),
    )


def play(world, totals, reached, stop, first, last, shape, state):
    """Play replicates first to last (exclusive) to before round ``stop``."""
    own = desk(shape, state.sums.shape[2])
    play_all(world, totals, reached, stop, first, last, shape, state, own)


@compiled(allocates=False)
def play_all(world, totals, reached, stop, first, last, shape, state, desk):
    """Play replicates one after the other."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            number = uniform_for_policy(world, i, t) if shape.shuffled else 0.0
            action = choose(state.left[i], number)
            observe(world, i, 0, action, t, state.shown[i])
            learn(shape, state, action, state.shown[i], i, t + 1, desk)
            count(totals, i, action, loss(world, i, 0, action), math.nan, math.nan)
        reached[i] = max(reached[i], stop)


@compiled(inline="always", allocates=False)
def choose(left, number):
    """Return the action of a list that a uniform number selects: the first one for 0."""
    total = 0
    for a in range(len(left)):
        total += left[a]
    skipped = min(int(number * total), total - 1)
    for a in range(len(left)):
        if left[a]:
            if skipped == 0:
                return a
            skipped -= 1
    return 0


@compiled(allocates=False)
def learn(shape, state, action, shown, i, t, desk):
    """Take in what an action showed in round t (from 1), and move on to the next list if due."""
    state.plays[i, action] += 1
    for s in range(state.sums.shape[2]):
        state.sums[i, action, s] += shown[s]
    left, later = state.left[i], state.later[i]
    left[action] = False
    leader = -1
    if len(shape.halves) > 0:
        leader = add(shape, state, i, t, desk)
    ended, some = True, False
    for a in range(len(left)):
        ended = ended and not left[a]
        some = some or later[a]
    if ended:
        for a in range(len(left)):
            wanted = later[a] if some else (a == leader or leader < 0)
            left[a] = wanted and shape.playable[a]
            later[a] = False


@compiled(inline="always", allocates=False)
def add(shape, state, i, t, desk):
    """Add actions to the next list; return the leader."""
    k = len(shape.groups)
    plays, left, later = state.plays[i], state.left[i], state.later[i]
    estimate(shape, state, i, desk)
    if shape.hinged:
        loosen(shape, state, i, desk)
    leader, ahead = lead(shape, state.theta[i], desk)
    log_t = math.log(t)
    for a in range(k):
        if not left[a] and (desk.held[a] or plays[a] < shape.forced * math.sqrt(log_t)):
            later[a] = True
    unsure = ahead <= TIED
    if shape.hinged:
        margin = shape.margin / max(math.log(max(log_t, 1.0)), 1.0)
        unsure = unsure or ahead < margin or is_off(shape, state, i, desk)
    if not unsure and t > 1:
        if is_due(state, leader, log_t, i, t):
            look(shape, state, leader, log_t, i, t, desk)
        unsure = state.status[i] == EVERYTHING
    for a in range(k):
        short = not desk.held[a] and plays[a] < state.rates[i, a] * log_t
        if not left[a] and (unsure or (state.status[i] == SHORT and short)):
            later[a] = True
    return leader


@compiled(inline="always", allocates=False)
def loosen(shape, state, i, desk):
    """Make the estimate minimise the sum of n_a (KL_a - b / sqrt(n_a))_+ if that is not 0."""
    if not is_off(shape, state, i, desk):
        return
    for a in range(len(desk.weights)):
        desk.weights[a] = state.plays[i, a]
    for x in range(len(desk.pull)):
        desk.pull[x] = 0.0
    nobody, room = desk.work.nobody, desk.work.rival
    nearest(desk.signals, desk.weights, nobody, shape.hinged, desk.pull, math.inf, 1e-6, room)
    total = 0.0
    for x in range(len(desk.pull)):
        total += desk.work.rival.slack[x]
    for x in range(len(desk.pull)):
        state.theta[i, x] = desk.work.rival.slack[x] / total


@compiled(allocates=False)
def is_off(shape, state, i, desk):
    """Whether the estimate is further from the frequencies of an action than it may be.

    Targets and slacks are filled in.
    """
    signal_chances(shape.symbols, state.theta[i], desk.chances)
    off = False
    for a in range(len(desk.signals.slacks)):
        played = state.plays[i, a]
        desk.signals.slacks[a] = shape.width / math.sqrt(played) if played > 0 else 1.0
        for s in range(desk.signals.targets.shape[1]):
            desk.signals.targets[a, s] = state.sums[i, a, s] / played if played > 0 else 0.0
        away = divergence(desk.signals.targets[a], desk.chances[a])
        off = off or away > desk.signals.slacks[a] * (1.0 + PRECISION)
    return off


@compiled(inline="always", allocates=False)
def lead(shape, theta, desk):
    """Return the first of the best actions and how far all but its duplicates are behind.

    Gaps and who is held are filled in.
    """
    k, leader, best, ahead = len(shape.groups), 0, math.inf, math.inf
    for a in range(k):
        desk.gaps[a] = 0.0
        for x in range(len(theta)):
            desk.gaps[a] += shape.losses[a, x] * theta[x]
        if desk.gaps[a] < best:
            leader, best = a, desk.gaps[a]
    leader = shape.groups[leader]
    for a in range(k):
        desk.gaps[a] -= best
        desk.held[a] = shape.groups[a] == leader
        if not desk.held[a]:
            ahead = min(ahead, desk.gaps[a])
    return leader, ahead


@compiled(inline="always", allocates=False)
def is_due(state, leader, log_t, i, t):
    """Whether the exploration must be looked at: what was found may no longer hold."""
    if leader != state.leader[i] or t >= state.due[i]:
        return True
    if state.status[i] != SHORT:
        return False
    for c in range(state.cut_count[i]):
        total = 0.0
        for a in range(state.plays.shape[1]):
            total += state.plays[i, a] * state.cuts[i, c, a]
        if total < log_t:
            return False
    return True


@compiled(inline="always", allocates=False)
def look(shape, state, leader, log_t, i, t, desk):
    """Find out whether exploration suffices at the current estimate, and else the rates."""
    k = len(shape.groups)
    halves = shape.halves[shape.starts[leader] : shape.starts[leader + 1]]
    if not shape.hinged:
        likely_signals(shape.symbols, state.theta[i], desk)
    for a in range(k):
        desk.weights[a] = 0.0 if desk.held[a] else state.plays[i, a] / log_t
    some = False
    for a in range(k):
        some = some or (state.rates[i, a] > 0.0 and not desk.held[a])
    for a in range(k):
        start = state.rates[i, a] if some else 1.0
        state.rates[i, a] = 0.0 if desk.held[a] else start
    ended, lower, _, cuts = explore(
        desk.signals,
        desk.weights,
        desk.gaps,
        desk.held,
        shape.hinged,
        halves,
        PRECISION,
        state.rates[i],
        desk.work,
    )
    state.leader[i], state.due[i], state.cut_count[i] = leader, t * shape.growth, 0
    if ended in (NO_RIVALS, SUFFICIENT):
        state.status[i] = ENOUGH
        if ended == SUFFICIENT:
            state.due[i] = min(state.due[i], t ** max(lower, 1.0))
    elif ended == FOUND:
        state.status[i], state.cut_count[i] = SHORT, cuts
        for c in range(cuts):
            for a in range(k):
                state.cuts[i, c, a] = desk.work.cuts[c, a]
    else:
        state.status[i] = EVERYTHING


@compiled(inline="always", allocates=False)
def likely_signals(symbols, theta, desk):
    """Fill in the signals of the estimate as targets; probabilities below ZERO are left out."""
    total = 0.0
    for x in range(len(theta)):
        desk.pull[x] = theta[x] if theta[x] > ZERO else 0.0
        total += desk.pull[x]
    for x in range(len(theta)):
        desk.pull[x] /= total
    signal_chances(symbols, desk.pull, desk.signals.targets)
    for a in range(len(desk.signals.slacks)):
        desk.signals.slacks[a] = 0.0
