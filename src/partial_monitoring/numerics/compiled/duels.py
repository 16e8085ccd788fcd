"""Expected improvements over the greedy item, and what its duels with every item tell."""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.improvement import (
    LOOPS,
    add_products,
    add_products_in_blocks,
    apart,
    form,
    forms_in_blocks,
    multiply,
)
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.rivals import (
    greedy_of,
    shares_of_variance,
    worth_of_rivals,
)

MOST = 50_000
"""Largest k r^2 of compiled rounds, which have no products of matrices."""


class Room(NamedTuple):
    """Memory for one replicate."""

    delta: np.ndarray
    """Shape (k,)."""
    pulled: np.ndarray
    """Shape (r,)."""
    away: np.ndarray
    half: np.ndarray
    """Shape (1, r) each."""
    total: np.ndarray
    part: np.ndarray
    """Shape (r, r) each."""
    shown: np.ndarray
    """Shape (1, 1)."""


@compiled
def room_for(k, r):
    """Return memory for one replicate with k items and r coordinates."""
    return Room(
        np.empty(k),
        np.empty(r),
        np.empty((1, r)),
        np.empty((1, r)),
        np.empty((r, r)),
        np.empty((r, r)),
        np.empty((1, 1)),
    )


@compiled(allocates=False)
def weigh(means, variances, inverse, t, noise, features, columns, counted, room, psi, gaps):
    """Fill gaps of items (k,), psi (k,) and the weights of rivals; return the greedy item."""
    greedy = greedy_of(means, counted)
    apart(variances, inverse, features, columns, greedy, room.pulled, psi)
    more = worth_of_rivals(means, psi, greedy, counted, noise, t, 1.0, room.delta)
    shares_of_variance(room.delta, psi)
    for a in range(len(gaps)):
        gaps[a] = max(more + means[greedy] - means[a], 0.0)
    return greedy


@compiled(allocates=False)
def improvement_of_one(
    means,
    variances,
    inverse,
    t,
    noise,
    features,
    columns,
    counted,
    room,
    psi,
    gaps,
    information,
):
    """Fill gaps of items, information and psi of duels (k,) of one replicate.

    Return the greedy item g. Its duels with items x show phi_x - phi_g.
    """
    greedy = weigh(means, variances, inverse, t, noise, features, columns, counted, room, psi, gaps)
    total, part, pulled = room.total, room.part, room.pulled
    r, away = len(pulled), room.away
    for p in range(r):
        for q in range(r):
            total[p, q] = 0.0
    add_products(features, greedy, room.delta, 1.0, pulled, part, total)
    multiply(total, inverse, part)
    multiply(inverse, part, total)
    for a in range(len(gaps)):
        for p in range(r):
            away[0, p] = features[a, p] - features[greedy, p]
        form(away, total, room.half, room.shown)
        information[a] = max(room.shown[0, 0], 0.0) / (1.0 + psi[a])
    return greedy


@compiled
def improvement_in_blocks(
    means,
    variances,
    inverse,
    t,
    noise,
    features,
    columns,
    counted,
    room,
    psi,
    gaps,
    information,
):
    """Do the same by products of matrices, which is faster for many items and coordinates."""
    greedy = weigh(means, variances, inverse, t, noise, features, columns, counted, room, psi, gaps)
    k, r = features.shape
    total, shown, away = np.empty((r, r)), np.empty((k, 1, 1)), np.empty((k, 1, r))
    total[:] = 0.0
    add_products_in_blocks(features, greedy, room.delta, 1.0, total)
    for a in range(k):
        for p in range(r):
            away[a, 0, p] = features[a, p] - features[greedy, p]
    forms_in_blocks(away, np.dot(inverse, np.dot(total, inverse)), shown)
    for a in range(k):
        information[a] = max(shown[a, 0, 0], 0.0) / (1.0 + psi[a])
    return greedy


@compiled
def improvement(means, variances, inverse, rounds, noise, features, columns, counted):
    """Return gaps of items and information of duels (n, k), greedy items (n,), and psi (n, k).

    The duels are those of the greedy item g with every item x, which show phi_x - phi_g.
    """
    n, k = means.shape
    r = features.shape[1]
    gaps, information = np.empty((n, k)), np.empty((n, k))
    psi, greedy = np.empty((n, k)), np.empty(n, np.int64)
    room = room_for(k, r)
    for i in range(n):
        own = (
            means[i],
            variances[i],
            inverse[i],
            rounds[i],
            noise,
            features,
            columns,
            counted[i % len(counted)],
            room,
            psi[i],
            gaps[i],
            information[i],
        )
        if k * r * r <= LOOPS:
            greedy[i] = improvement_of_one(*own)
        else:
            greedy[i] = improvement_in_blocks(*own)
    return gaps, information, greedy, psi
