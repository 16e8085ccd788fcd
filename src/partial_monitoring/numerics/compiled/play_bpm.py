"""Rounds of BPM: a normal posterior of the outcomes, a draw from it, and cells near its mean.

Coordinates x of the distributions of outcomes are those of ``policies.finite.bpm``: the first r are
observed. In z = C' (x - x_hat), where C C' is the precision, distances are Euclidean.
"""

# mypy: ignore-errors

from math import inf, log, nan, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.normal import normal_from
from partial_monitoring.numerics.compiled.world import (
    count,
    loss,
    observe,
    start_round,
    uniform_for_policy,
)

VIOLATED = 1e-11
"""A facet is violated if a point is further outside than this fraction of its distance from 0."""

PARALLEL = 1e-12
"""A unit normal of which less than this square is left is a combination of the active ones."""

MOST_STEPS = 1000
"""The most facets that are added for one distance, never reached in tests: then it is too small."""

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
    sums: np.ndarray
    """How often each symbol was seen, shape (n, k, m)."""
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
    """Uniform numbers, then normal ones, shape (n, r)."""
    shown: np.ndarray
    """What the last action showed, shape (n, m)."""
    rows: np.ndarray
    """Unit normals of the facets in coordinates z, shape (n, f, D)."""
    slack: np.ndarray
    """Distances of the facets from z = 0, negative if it is outside, shape (n, f)."""
    basis: np.ndarray
    """An orthonormal basis of the active normals, shape (n, D + 1, D)."""
    triangle: np.ndarray
    """The active normals in this basis, shape (n, D + 1, D + 1)."""
    lines: np.ndarray
    """The point z, a direction, coefficients, multipliers, shape (n, 4, D + 1)."""
    active: np.ndarray
    """The numbers of the active facets, shape (n, D + 1)."""
    reached: np.ndarray
    """Which cells meet the ellipsoid, shape (n, q)."""


Z, AWAY, PULL, FORCE = range(4)
"""The rows of ``lines``."""


@compiled(allocates=False)
def factor(precision, regularization, root):
    """Fill C (D, D), lower triangular with C C' = diag(precision, regularization I)."""
    r, dim = len(precision), len(root)
    for j in range(dim):
        for i in range(j + 1):
            entry = precision[j, i] if j < r else (regularization if i == j else 0.0)
            for h in range(i):
                entry -= root[j, h] * root[i, h]
            root[j, i] = entry / root[i, i] if i < j else sqrt(entry)


@compiled(allocates=False)
def forward(root, right, out):
    """Fill out with C^-1 right."""
    for j in range(len(right)):
        entry = right[j]
        for h in range(j):
            entry -= root[j, h] * out[h]
        out[j] = entry / root[j, j]


@compiled(allocates=False)
def backward(root, size, x):
    """Replace the first entries of x by C^-T x."""
    for j in range(size - 1, -1, -1):
        entry = x[j]
        for h in range(j + 1, size):
            entry -= root[h, j] * x[h]
        x[j] = entry / root[j, j]


@compiled(allocates=False)
def learn(model, state, action, shown, i):
    """Condition the posterior of replicate i on what an action showed."""
    state.plays[i, action] += 1
    r = state.target.shape[1]
    for s in range(len(shown)):
        if shown[s] != 0.0:
            state.sums[i, action, s] += shown[s]
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
    face(cells, root, x, scratch.lines[i], scratch.rows[i], scratch.slack[i])
    limit = cells.scale * cells.scale * square_radius(cells, root, r, t)
    found = False
    for a in range(len(cells.actions)):
        scratch.reached[i, a] = distance(cells, scratch, a, limit, i) <= limit
        found = found or scratch.reached[i, a]
    if not found:  # the ellipsoid lies outside the simplex: the nearest cell is meant
        nearest, least = 0, inf
        for a in range(len(cells.actions)):
            away = distance(cells, scratch, a, inf, i)
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
def face(cells, root, x, lines, rows, slack):
    """Fill unit normals and distances of all facets in coordinates z around x."""
    for f in range(len(cells.bounds)):
        forward(root, cells.facets[f], rows[f])
        square, room = 0.0, cells.bounds[f]
        for j in range(len(x)):
            square += rows[f, j] * rows[f, j]
            room -= cells.facets[f, j] * x[j]
        scale = 1.0 / sqrt(square)
        slack[f] = room * scale
        for j in range(len(x)):
            rows[f, j] *= scale


@compiled(allocates=False)
def distance(cells, scratch, a, limit, i):
    """Return the squared distance of z = 0 from cell a, or infinity if it is above the limit.

    The dual method of Goldfarb and Idnani (1983): from the nearest point of the half-spaces of the
    active facets, step to that of one more, the most violated one, and drop those whose multiplier
    becomes zero on the way. Distances only grow, so that most cells are ruled out by one facet.
    """
    rows, slack, own = scratch.rows[i], scratch.slack[i], cells.own[a]
    lines, basis, triangle = scratch.lines[i], scratch.basis[i], scratch.triangle[i]
    active, dim, size = scratch.active[i], rows.shape[1], 0
    for j in range(dim):
        lines[Z, j] = 0.0
    for _ in range(MOST_STEPS):
        entering, most = -1, 0.0
        for place in range(len(own)):
            f = own[place]
            if f >= 0:
                excess = over(rows, slack, lines, f)
                if excess > most and excess > VIOLATED * (1.0 + abs(slack[f])):
                    entering, most = f, excess
        if entering < 0:
            break
        size = enter(rows, slack, lines, basis, triangle, active, size, entering)
        if size < 0:
            break
        if length(lines) > limit:
            return inf
    return length(lines)


@compiled(allocates=False)
def over(rows, slack, lines, f):
    """Return by how much the point z violates facet f."""
    excess = -slack[f]
    for j in range(rows.shape[1]):
        excess += rows[f, j] * lines[Z, j]
    return excess


@compiled(allocates=False)
def length(lines):
    """Return |z|^2."""
    total = 0.0
    for j in range(lines.shape[1] - 1):
        total += lines[Z, j] * lines[Z, j]
    return total


@compiled(allocates=False)
def enter(rows, slack, lines, basis, triangle, active, size, f):
    """Move z to the nearest point of the active half-spaces and that of facet f.

    Return how many facets are active then; -1 if no point is in all of them, which is rounding.
    """
    dim, force = rows.shape[1], 0.0
    while True:
        square = split(rows, basis, size, f, lines)
        solve(triangle, size, lines)
        step, leaving = inf, -1
        for j in range(size):
            if lines[PULL, j] > 0.0 and lines[FORCE, j] < step * lines[PULL, j]:
                step, leaving = lines[FORCE, j] / lines[PULL, j], j
        whole = over(rows, slack, lines, f) / square if square > PARALLEL else inf
        if whole == inf and leaving < 0:
            return -1
        step = min(step, whole)
        if square > PARALLEL:
            for j in range(dim):
                lines[Z, j] -= step * lines[AWAY, j]
        for j in range(size):
            lines[FORCE, j] -= step * lines[PULL, j]
        force += step
        if step == whole:
            append(rows, basis, triangle, active, lines, size, f)
            lines[FORCE, size] = force
            return size + 1
        for j in range(leaving, size - 1):
            active[j], lines[FORCE, j] = active[j + 1], lines[FORCE, j + 1]
        size -= 1
        for j in range(leaving, size):
            split(rows, basis, j, active[j], lines)
            append(rows, basis, triangle, active, lines, j, active[j])


@compiled(allocates=False)
def split(rows, basis, size, f, lines):
    """Split the normal of facet f in coefficients of the basis and the rest; return its square.

    Twice, because what the first projection leaves is orthogonal only up to rounding.
    """
    dim = rows.shape[1]
    for j in range(dim):
        lines[AWAY, j] = rows[f, j]
    for h in range(size):
        lines[PULL, h] = 0.0
    for _ in range(2):
        for h in range(size):
            share = 0.0
            for j in range(dim):
                share += basis[h, j] * lines[AWAY, j]
            lines[PULL, h] += share
            for j in range(dim):
                lines[AWAY, j] -= share * basis[h, j]
    square = 0.0
    for j in range(dim):
        square += lines[AWAY, j] * lines[AWAY, j]
    return square


@compiled(allocates=False)
def append(rows, basis, triangle, active, lines, size, f):
    """Add the normal of facet f, which was split, to the active ones."""
    square = 0.0
    for j in range(rows.shape[1]):
        square += lines[AWAY, j] * lines[AWAY, j]
    rest = sqrt(square)
    for h in range(size):
        triangle[size, h] = lines[PULL, h]
    triangle[size, size] = rest
    for j in range(rows.shape[1]):
        basis[size, j] = lines[AWAY, j] / rest
    active[size] = f


@compiled(allocates=False)
def solve(triangle, size, lines):
    """Replace coefficients in the basis by those of the active normals."""
    for h in range(size - 1, -1, -1):
        entry = lines[PULL, h]
        for j in range(h + 1, size):
            entry -= triangle[j, h] * lines[PULL, j]
        lines[PULL, h] = entry / triangle[h, h]


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
