"""Rounds of exploration by optimisation, with what to play read from a table of solved programs.

A program depends on the exponential weights q (over the competing actions A) and the learning rate
eta. It is solved at points of a grid in (log q_a - log q_last, -log eta); in between, solutions are
interpolated linearly on the simplices into which Freudenthal splits a cell: those of the corners
that are passed on the way from the lowest to the highest one along the axes, largest fraction
first.
"""

# mypy: ignore-errors

from math import exp, expm1, inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.chance import recorded
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.sign_table import find
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)


class Shape(NamedTuple):
    """What does not change: a game with g playable and a competing actions, and the grid."""

    played: np.ndarray
    """The numbers of the playable actions, shape (g,)."""
    place: np.ndarray
    """Where actions are among the playable ones, -1 if they are not, shape (k,)."""
    competing: np.ndarray
    """Where the competing actions are among the playable ones, shape (a,)."""
    losses: np.ndarray
    """Of the playable actions, shape (g, d)."""
    owner: np.ndarray
    """The playable action to which each symbol belongs, shape (symbols,)."""
    first: np.ndarray
    """The first symbol of each playable action, shape (g,)."""
    symbols: np.ndarray
    """The symbol that each playable action shows in each outcome, shape (g, d)."""
    largest: float
    """The largest learning rate."""
    smallest: float
    """Below it, the table of this one is used."""
    floor: float
    """The least weight of a competing action."""
    spacing: float
    """Of the grid."""


class Table(NamedTuple):
    """Solved programs in the order in which they were added, hashed as in ``sign_table``."""

    slots: np.ndarray
    signs: np.ndarray
    """Points of the grid, shape (room, a)."""
    shares: np.ndarray
    """p_c / q_c of competing actions and p_c of the others, shape (room, g)."""
    weights: np.ndarray
    """G, shape (room, symbols, a)."""
    known: int


class State(NamedTuple):
    """What n replicates know, and what they play next."""

    scores: np.ndarray
    """Sums of the estimated losses, shape (n, a)."""
    spent: np.ndarray
    """The sum of the values of the programs, where they are positive, shape (n,)."""
    chances: np.ndarray
    """p, shape (n, g)."""
    weights: np.ndarray
    """G, shape (n, symbols, a)."""
    value: np.ndarray
    """V_q(eta) at (p, G), shape (n,)."""


class Scratch(NamedTuple):
    """Room for n replicates."""

    q: np.ndarray
    """Shape (n, a)."""
    corners: np.ndarray
    """Points of the grid around (q, eta), shape (n, a + 1, a), int16."""
    parts: np.ndarray
    """Their weights, shape (n, a + 1)."""
    fractions: np.ndarray
    """Shape (n, a)."""
    costs: np.ndarray
    """Shape (n, symbols)."""
    shown: np.ndarray
    """What the last action showed, shape (n, m)."""
    pending: np.ndarray
    """Whether what to play next is not known, shape (n,)."""


@compiled(allocates=False)
def rate(shape, spent):
    """Return eta = min(largest, (log a / (1 + sum of values))^(1/2))."""
    return min(shape.largest, sqrt(log(max(len(shape.competing), 2)) / (1.0 + spent)))


@compiled(allocates=False)
def weigh(shape, scores, eta, q):
    """Fill exponential weights q (a,), none of them below the floor."""
    least, total = inf, 0.0
    for a in range(len(q)):
        least = min(least, scores[a])
    for a in range(len(q)):
        q[a] = exp(-eta * (scores[a] - least))
        total += q[a]
    rest = 0.0
    for a in range(len(q)):
        q[a] = max(q[a] / total, shape.floor)
        rest += q[a]
    for a in range(len(q)):
        q[a] /= rest


@compiled(allocates=False)
def locate(shape, q, eta, corners, parts, fractions):
    """Fill the corners (a + 1, a) of the grid around a point, and their parts (a + 1,)."""
    size = len(q)
    for j in range(size):
        if j < size - 1:
            x = log(q[j] / q[size - 1]) / shape.spacing
        else:
            x = log(shape.largest / max(eta, shape.smallest)) / shape.spacing
        low = np.floor(x)
        corners[0, j] = np.int16(low)
        fractions[j] = x - low
    before = 1.0
    for step in range(size):
        top = 0
        for j in range(1, size):
            if fractions[j] > fractions[top]:
                top = j
        for j in range(size):
            corners[step + 1, j] = corners[step, j]
        corners[step + 1, top] += 1
        parts[step] = before - fractions[top]
        before, fractions[top] = fractions[top], -1.0
    parts[size] = before


@compiled(allocates=False)
def refresh(shape, table, state, scratch, i):
    """Find out what replicate i plays next; return whether the table has all that is needed."""
    q, size, symbols = scratch.q[i], len(shape.competing), len(shape.owner)
    eta = rate(shape, state.spent[i])
    weigh(shape, state.scores[i], eta, q)
    locate(shape, q, eta, scratch.corners[i], scratch.parts[i], scratch.fractions[i])
    for corner in range(size + 1):
        if scratch.parts[i, corner] > 0.0 and find(table, scratch.corners[i], corner) < 0:
            return False
    p, weights = state.chances[i], state.weights[i]
    for c in range(len(p)):
        p[c] = 0.0
    for s in range(symbols):
        for a in range(size):
            weights[s, a] = 0.0
    for corner in range(size + 1):
        part = scratch.parts[i, corner]
        if part > 0.0:
            number = find(table, scratch.corners[i], corner)
            for c in range(len(p)):
                p[c] += part * table.shares[number, c]
            for s in range(symbols):
                for a in range(size):
                    weights[s, a] += part * table.weights[number, s, a]
    for a in range(size):
        p[shape.competing[a]] *= q[a]
    total = 0.0
    for c in range(len(p)):
        total += p[c]
    for c in range(len(p)):
        p[c] /= total
    state.value[i] = value(shape, q, eta, p, weights, scratch.costs[i])
    return True


@compiled(allocates=False)
def value(shape, q, eta, p, weights, costs):
    """Return max_z <p - q, L e_z> / eta + sum_c p_c Psi_q(eta G(c, s_cz) / p_c) / eta^2."""
    for s in range(len(costs)):
        chance, costs[s] = p[shape.owner[s]], 0.0
        for a in range(len(q)):
            x = eta * weights[s, a] / chance
            # e^-x + x - 1, by its series where the difference would cancel
            small = x * x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x / 120.0)))
            costs[s] += q[a] * chance * (small if abs(x) < 1e-2 else expm1(-x) + x)
    worst = -inf
    for z in range(shape.losses.shape[1]):
        lost, spread = 0.0, 0.0
        for c in range(len(p)):
            lost += p[c] * shape.losses[c, z]
            spread += costs[shape.symbols[c, z]]
        for a in range(len(q)):
            lost -= q[a] * shape.losses[shape.competing[a], z]
        worst = max(worst, lost / eta + spread / (eta * eta))
    return worst


@compiled(allocates=False)
def draw(shape, p, uniform):
    """Return the place of a playable action with chances p, by inverting their sums."""
    passed, last = 0.0, 0
    for c in range(len(p)):
        if p[c] > 0.0:
            passed += p[c]
            last = c
            if uniform < passed:
                break
    return last


@compiled(allocates=False)
def learn(shape, state, c, shown, chance, i):
    """Add the estimated losses G(c, s) / p_c after playable action c of replicate i.

    ``chance`` is p_c.
    """
    for s in range(len(shown)):
        if shown[s] != 0.0:
            row = shape.first[c] + s
            for a in range(len(shape.competing)):
                state.scores[i, a] += shown[s] * state.weights[i, row, a] / chance
    state.spent[i] += max(state.value[i], 0.0)


@compiled(allocates=False)
def draw_all(shape, state, uniforms, actions, distribution):
    """Fill the actions (n,) and their distributions (n, k)."""
    for i in range(len(actions)):
        actions[i] = shape.played[draw(shape, state.chances[i], uniforms[i])]
        for c in range(len(shape.played)):
            distribution[i, shape.played[c]] = state.chances[i, c]


@compiled(allocates=False)
def learn_all(shape, state, actions, shown, drawn):
    """Learn what actions (n,) showed (n, m); actions that are not playable teach nothing.

    They were drawn with given probabilities (n,), NaN for those of the present round.
    """
    for i in range(len(actions)):
        c = shape.place[actions[i]]
        if c >= 0:
            learn(shape, state, c, shown[i], recorded(drawn[i], state.chances[i, c]), i)


@compiled(allocates=False)
def refresh_all(shape, table, state, scratch):
    """Find out what all replicates play next, where that is pending; return whether all do."""
    done = True
    for i in range(len(state.spent)):
        if scratch.pending[i]:
            scratch.pending[i] = not refresh(shape, table, state, scratch, i)
            done = done and not scratch.pending[i]
    return done


@compiled(allocates=False)
def play(world, totals, reached, stop, first, last, shape, table, state, scratch):
    """Play replicates first to last (exclusive) to before round ``stop``.

    A replicate that meets a point which is not in the table does not reach it.
    """
    for i in range(first, last):
        for t in range(reached[i], stop):
            if scratch.pending[i]:
                if not refresh(shape, table, state, scratch, i):
                    break
                scratch.pending[i] = False
            start_round(world, i, t)
            c = draw(shape, state.chances[i], uniform_for_policy(world, i, t))
            action = shape.played[c]
            observe(world, i, 0, action, t, scratch.shown[i])
            learn(shape, state, c, scratch.shown[i], state.chances[i, c], i)
            scratch.pending[i] = True
            count(totals, i, action, loss(world, i, 0, action), nan, nan)
            reached[i] = t + 1
