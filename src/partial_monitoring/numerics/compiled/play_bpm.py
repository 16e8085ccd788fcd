"""Rounds of BPM: a normal posterior of the outcomes, a draw from it, and cells near its mean.

Coordinates x of the distributions of outcomes are those of ``policies.finite.bpm``: the first r are
observed. In z = C' (x - x_hat), where C C' is the precision, distances are Euclidean.
"""

# mypy: ignore-errors

from math import inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.nearest import (
    Nearest,
    backward,
    distance,
    face,
    factor,
    forward,
)
from partial_monitoring.numerics.compiled.normal import normal_from
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

LOGARITHM, DERIVED = 0, 1
"""Kinds of radii."""


class Model(NamedTuple):
    """What actions show and cost in coordinates x."""

    shown: np.ndarray
    """W' S' (S S')^-1 S W, shape (k, r, r)."""
    pull: np.ndarray
    """Columns of W' S' (S S')^-1, shape (k, m, r)."""
    slopes: np.ndarray
    """Losses per unit of x, shape (k, r)."""
    offsets: np.ndarray
    """Losses at x = 0, shape (k,)."""


class Cells(NamedTuple):
    """The cells of the competing actions A, as intersections of half-spaces <facet, x> <= bound."""

    actions: np.ndarray
    """A, shape (q,)."""
    facets: np.ndarray
    """Shape (f, D)."""
    bounds: np.ndarray
    """Shape (f,)."""
    own: np.ndarray
    """The facets of each cell, filled up with -1, shape (q, most)."""
    pairs: np.ndarray
    """Neighbours, as positions in A, shape (pairs, 2)."""
    near: np.ndarray
    """The actions between two neighbours that are worth playing, shape (pairs, k)."""
    radius: int
    """LOGARITHM or DERIVED."""
    scale: float
    """What the radius is multiplied with."""
    regularization: float
    distance: float
    """B: how far the truth may be from x = 0."""


class State(NamedTuple):
    """What n replicates know."""

    plays: np.ndarray
    """Shape (n, k)."""
    precision: np.ndarray
    """Of the observed coordinates, shape (n, r, r)."""
    target: np.ndarray
    """Precision times mean, shape (n, r)."""


class Scratch(NamedTuple):
    """Room for the computations of n replicates, with nothing that lasts."""

    root: np.ndarray
    """C, shape (n, D, D), lower triangular."""
    x: np.ndarray
    """Shape (n, D)."""
    noise: np.ndarray
    """Uniform numbers of draws, shape (n, r)."""
    shown: np.ndarray
    """What the last action showed, shape (n, m)."""
    near: Nearest
    """Of the cells."""
    reached: np.ndarray
    """Which cells meet the ellipsoid, shape (n, q)."""


@compiled(allocates=False)
def learn(model, state, action, shown, i):
    """Condition the posterior of replicate i on what an action showed."""
    state.plays[i, action] += 1
    r = state.target.shape[1]
    for s in range(len(shown)):
        if shown[s] != 0.0:
            for j in range(r):
                state.target[i, j] += shown[s] * model.pull[action, s, j]
    for j in range(r):
        for h in range(r):
            state.precision[i, j, h] += model.shown[action, j, h]


@compiled(allocates=False)
def draw(model, state, scratch, allowed, i):
    """Return the allowed action that loses least for a draw from the posterior of replicate i."""
    root, x, r = scratch.root[i], scratch.x[i], state.target.shape[1]
    factor(state.precision[i], 1.0, root)
    forward(root, state.target[i], x)
    for j in range(r):
        x[j] += normal_from(scratch.noise[i, j])
    backward(root, r, x)
    best, least = -1, inf
    for a in range(len(allowed)):
        if allowed[a]:
            lost = model.offsets[a]
            for j in range(r):
                lost += model.slopes[a, j] * x[j]
            if best < 0 or lost < least:
                best, least = a, lost
    return best


@compiled(allocates=False)
def explore(model, state, cells, scratch, t, i):
    """Return the least played action that may be best, or may decide it, in round t (from 1)."""
    root, x, r = scratch.root[i], scratch.x[i], state.target.shape[1]
    factor(state.precision[i], cells.regularization, root)
    forward(root, state.target[i], x)
    backward(root, r, x)
    for j in range(r, len(x)):
        x[j] = 0.0
    face(cells.facets, cells.bounds, root, x, scratch.near.rows[i], scratch.near.slack[i])
    limit = cells.scale * cells.scale * square_radius(cells, root, r, t)
    found = False
    for a in range(len(cells.actions)):
        scratch.reached[i, a] = distance(scratch.near, cells.own[a], limit, i) <= limit
        found = found or scratch.reached[i, a]
    if not found:  # the ellipsoid lies outside the simplex: the nearest cell is meant
        nearest, least = 0, inf
        for a in range(len(cells.actions)):
            away = distance(scratch.near, cells.own[a], inf, i)
            if away < least:
                nearest, least = a, away
        return cells.actions[nearest]
    return least_played(cells, state.plays[i], scratch.reached[i])


@compiled(allocates=False)
def square_radius(cells, root, r, t):
    """Return the squared radius of the ellipsoid of round t (from 1)."""
    if cells.radius == LOGARITHM:
        return log(t + 1.0)
    volume = 4.0 * log(t) - r * log(cells.regularization)
    for j in range(r):
        volume += 2.0 * log(root[j, j])
    radius = sqrt(0.5 * volume) + sqrt(cells.regularization) * cells.distance
    return radius * radius


@compiled(allocates=False)
def least_played(cells, plays, reached):
    """Return the least played action that is reached, or between neighbours that both are."""
    best = -1
    for a in range(len(reached)):
        action = cells.actions[a]
        if reached[a] and (best < 0 or plays[action] < plays[best]):
            best = action
    for e in range(len(cells.pairs)):
        if reached[cells.pairs[e, 0]] and reached[cells.pairs[e, 1]]:
            for c in range(len(plays)):
                fewer = plays[c] < plays[best] or (plays[c] == plays[best] and c < best)
                if cells.near[e, c] and fewer:
                    best = c
    return best


@compiled(allocates=False)
def draw_all(model, state, scratch, allowed, actions):
    """Fill the actions (n,) that are best for draws from uniform numbers in ``scratch.noise``."""
    for i in range(len(actions)):
        actions[i] = draw(model, state, scratch, allowed, i)


@compiled(allocates=False)
def explore_all(model, state, cells, scratch, t, actions):
    """Fill the actions (n,) of rounds t (n,)."""
    for i in range(len(actions)):
        actions[i] = explore(model, state, cells, scratch, t[i], i)


@compiled(allocates=False)
def learn_all(model, state, actions, shown):
    """Condition all posteriors on what actions (n,) showed (n, m)."""
    for i in range(len(actions)):
        learn(model, state, actions[i], shown[i], i)


@compiled(allocates=False)
def play_draws(world, totals, reached, stop, first, last, model, state, scratch, allowed):
    """Play replicates first to last (exclusive) to before round ``stop`` by draws."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            for j in range(scratch.noise.shape[1]):
                scratch.noise[i, j] = uniform_for_policy(world, i, t)
            action = draw(model, state, scratch, allowed, i)
            finish(world, totals, reached, model, state, scratch, action, t, i)


@compiled(allocates=False)
def play_least(world, totals, reached, stop, first, last, model, state, scratch, cells):
    """Play replicates first to last (exclusive) to before round ``stop`` by cells."""
    for i in range(first, last):
        for t in range(reached[i], stop):
            start_round(world, i, t)
            action = explore(model, state, cells, scratch, t + 1, i)
            finish(world, totals, reached, model, state, scratch, action, t, i)


@compiled(allocates=False)
def finish(world, totals, reached, model, state, scratch, action, t, i):
    """Observe, learn and count a round."""
    observe(world, i, 0, action, t, scratch.shown[i])
    learn(model, state, action, scratch.shown[i], i)
    count(totals, i, action, loss(world, i, 0, action), nan, nan)
    reached[i] = t + 1
