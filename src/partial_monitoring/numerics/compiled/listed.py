"""Games with listed contexts inside compiled rounds: one estimate, seen through their actions."""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import (
    Actions,
    Known,
    Scratch,
    forget,
    next_round,
    refresh,
    take_in,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import HIGH_LEVERAGE, rotate_in_row
from partial_monitoring.numerics.compiled.refresh import look


class Listed(NamedTuple):
    """The actions of all contexts, one context after the other, N in all; see ``Actions``.

    Tables whose rows are not as long in all contexts are flat.
    """

    sizes: np.ndarray
    """Numbers of actions k and of rows m of each context, shape (contexts, 2)."""
    starts: np.ndarray
    """Where its actions, the rows and the pairs of these start, shape (contexts, 3)."""
    maps: np.ndarray
    """Flat, (k, m, r) each."""
    expected: np.ndarray
    """Flat, (k, m) each."""
    whitening: np.ndarray
    rows: np.ndarray
    """Shape (N,), as all that follow unless they say otherwise."""
    seen: np.ndarray
    """Shape (N, r)."""
    columns: np.ndarray
    """Flat, (r, k) each."""
    unseen: np.ndarray
    """Shape (N, D - r)."""
    centred: np.ndarray
    """Shape (N, r)."""
    apart: np.ndarray
    """Flat, (k, k) each if gaps are exact, else empty."""
    offsets: np.ndarray
    ceiling: np.ndarray
    regularization: float
    best: np.ndarray
    """Shape (contexts,)."""
    always_best: np.ndarray
    hidden: np.ndarray
    own_reward: np.ndarray
    """Whether actions show their own reward, shape (contexts,)."""
    numbers: np.ndarray
    """Those of the actions in the whole game."""
    ranked: np.ndarray
    """The actions of each context in the order of these numbers."""
    keep: float
    memory: int
    fade: float


class Room(NamedTuple):
    """Room for what a replicate knows about the actions of a context, flat."""

    means: np.ndarray
    variances: np.ndarray
    signals: np.ndarray
    rest: np.ndarray
    """Of which m^2 numbers are scratch."""
    line: np.ndarray
    """Shape (r + 1,)."""


@compiled(inline="always", allocates=False)
def actions_at(listed, z):
    """Return the actions of a context, to functions that do not count references either."""
    k, m = listed.sizes[z]
    first, row, pair = listed.starts[z]
    end, r = first + k, listed.seen.shape[1]
    q = k if len(listed.apart) else 0
    return Actions(
        listed.maps[row * r : (row + k * m) * r].reshape((k, m, r)),
        listed.expected[row : row + k * m].reshape((k, m)),
        listed.whitening[first:end],
        listed.rows[first:end],
        listed.seen[first:end],
        listed.columns[first * r : end * r].reshape((r, k)),
        listed.unseen[first:end],
        listed.centred[first:end],
        listed.apart[pair : pair + q * q].reshape((q, q)),
        listed.offsets[first:end],
        listed.ceiling[first:end],
        listed.regularization,
        listed.best[z],
        listed.always_best[first:end],
        listed.hidden[first:end],
        listed.keep,
        listed.memory,
        listed.fade,
    )


class Meeting(NamedTuple):
    """What a replicate meets in a round."""

    context: int
    actions: Actions
    known: Known
    """What it knows there, in one row."""
    rows: int
    """The number of rows whose signals are kept: m, or 0 if actions show their own reward."""
    scratch: Scratch


@compiled(inline="always", allocates=False)
def meet(world, i, t, listed, known, room, scratch):
    """Return what replicate i meets in round t."""
    worlds.start_round(world, i, t)
    z = worlds.context(world, i, t)
    actions = actions_at(listed, z)
    k, m = listed.sizes[z]
    rows = 0 if listed.own_reward[z] else m
    here = Known(
        known.round[i : i + 1],
        known.gram[i : i + 1],
        known.inverse[i : i + 1],
        known.log_det[i : i + 1],
        known.vector[i : i + 1],
        known.coordinates[i : i + 1],
        room.means[:k].reshape((1, k)),
        room.variances[:k].reshape((1, k)),
        room.signals[: k * rows * rows].reshape((1, k, rows, rows)),
    )
    own = Scratch(
        scratch.gaps[:k],
        scratch.information[:k],
        scratch.one[:k],
        scratch.two[:k],
        scratch.pulled[:k],
        scratch.x,
        scratch.shown,
        scratch.show,
        room.rest[: m * m].reshape((m, m)),
        scratch.root,
    )
    look(
        actions.maps,
        actions.seen,
        actions.offsets,
        here.inverse[0],
        here.coordinates[0],
        here.means[0],
        here.variances[0],
        here.signals[0],
        own.x,
        own.show[:rows],
    )
    return Meeting(z, actions, here, rows, own)


@compiled(allocates=False)
def probed(world, i, t, share, listed, z, action):
    """Return the action of a context that is played, a uniform one in some share of rounds."""
    rank = worlds.probe(world, i, t, share, listed.sizes[z, 0])
    return action if rank < 0 else listed.ranked[listed.starts[z, 0] + rank]


@compiled(allocates=False)
def finish(
    world,
    totals,
    i,
    t,
    listed,
    z,
    scratch,
    action,
    gain,
    ratio,
    known,
    triangles,
    line,
    rule,
):
    """Count an action of a context, observe it and take it in; False if a refresh is due."""
    actions = actions_at(listed, z)
    number = listed.numbers[listed.starts[z, 0] + action]
    worlds.count(totals, i, number, worlds.loss(world, i, z, number), gain, ratio)
    worlds.observe(world, i, z, number, t, scratch.shown)
    for j in range(actions.maps.shape[1]):
        shown = scratch.shown[j] if j < actions.rows[action] else 0.0
        beyond = shown * actions.whitening[action] - actions.expected[action, j]
        rotate_in_row(triangles[i], actions.maps[action, j], beyond, line)
    forget(actions, known, i, action, scratch)
    leverage = take_in(actions, known, 0, i, action, scratch)
    rounds = known.round[i]
    next_round(actions, known, i)
    stale = rounds % rule.period == 0 or not 1.0 + leverage < HIGH_LEVERAGE
    return not stale or refresh(actions, known, rule.most, 0, i, scratch)
