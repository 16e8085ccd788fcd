"""What replicates know of a function, and how they learn, inside compiled rounds.

The function enters a game through d numbers, of which rewards and observations are weighted sums;
see ``estimation.kernel``. Their covariance C is written down and changed in place: a row s that is
seen takes C s s' C / (lambda + s' C s) from it, in O(d^2).
"""

# mypy: ignore-errors

from math import log1p, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import FAST, half_log_det


class Functions(NamedTuple):
    """A game over a function as its estimate sees it, the same for all replicates."""

    places: np.ndarray
    """Which numbers an action earns, shape (k, w)."""
    weights: np.ndarray
    """With which weights, shape (k, w)."""
    shown_places: np.ndarray
    """Which numbers each row of an observation shows, shape (k, m, v)."""
    shown_weights: np.ndarray
    """With which weights, shape (k, m, v)."""
    rows: np.ndarray
    """The number of rows of each action, shape (k,)."""
    whitening: np.ndarray
    """What observations are multiplied with, shape (k,)."""
    plain: bool
    """Whether action a earns and shows number a."""
    regularization: float
    noise: float
    """rho."""
    ceiling: np.ndarray
    """The largest gap, shape (k,)."""
    best: int
    """The first action that is best whatever the function, -1 if there is none."""
    counted: np.ndarray
    """Which actions are rivals, shape (k,)."""
    prior: np.ndarray
    """F with K = F F', shape (d, D); without columns if nothing is drawn."""


class Known(NamedTuple):
    """What n replicates know, changed in place; see ``KernelEstimate``."""

    round: np.ndarray
    log_det: np.ndarray
    numbers: np.ndarray
    """Shape (n, d)."""
    variances: np.ndarray
    """Shape (n, k)."""
    signals: np.ndarray
    """Shape (n, k, m, m)."""
    covariance: np.ndarray
    """C, shape (n, d, d)."""
    root: np.ndarray
    """P with C = F P P' F', shape (n, D, D)."""
    refresh: np.ndarray
    """The round before which everything is computed anew, shape (n,)."""
    plays: np.ndarray
    """How often each action was observed, shape (n, k); of duels, each pair."""
    sums: np.ndarray
    """Sums of what it showed, shape (n, k, m)."""


class Scratch(NamedTuple):
    """Room for the numbers of one round."""

    means: np.ndarray
    gaps: np.ndarray
    information: np.ndarray
    squared: np.ndarray
    delta: np.ndarray
    one: np.ndarray
    two: np.ndarray
    """Shape (k,) each."""
    pulled: np.ndarray
    own: np.ndarray
    """Shape (d,) each."""
    shown: np.ndarray
    show: np.ndarray
    """Shape (m,) each."""
    rest: np.ndarray
    """Shape (m, m)."""
    both: np.ndarray
    """Shape (k, m, m)."""
    pair: np.ndarray
    """The places of a duel, shape (2,)."""
    against: np.ndarray
    """Its weights 1 and -1."""
    normals: np.ndarray
    turned: np.ndarray
    """Shape (D,) each."""


@compiled(fastmath=FAST, allocates=False)
def weighted(places, weights, numbers):
    """Return one weighted sum of numbers (d,), with places and weights (w,)."""
    total = 0.0
    for j in range(len(places)):
        total += weights[j] * numbers[places[j]]
    return total


@compiled(fastmath=FAST, allocates=False)
def fill_sums(functions, numbers, out):
    """Fill out (k,) with what actions earn if these are the numbers (d,)."""
    if functions.plain:
        for a in range(len(out)):
            out[a] = numbers[a]
        return
    for a in range(len(out)):
        out[a] = weighted(functions.places[a], functions.weights[a], numbers)


@compiled(fastmath=FAST, allocates=False)
def pull(covariance, places, weights, scale, out):
    """Fill out (d,) with scale C s, for the weighted sum s with places and weights (w,)."""
    for p in range(len(out)):
        out[p] = 0.0
    for j in range(len(places)):
        weight, row = scale * weights[j], covariance[places[j]]
        if weight != 0.0:
            for p in range(len(out)):
                out[p] += weight * row[p]


@compiled(fastmath=FAST, allocates=False)
def fill_distances(functions, known, i, action, pulled, out):
    """Fill out (k,) with |phi_a - phi_b|^2 in the norm of V_t^-1, for one action b.

    Written with differences, so that it is exactly zero for copies of b; ``pulled`` (d,) becomes
    C phi_b.
    """
    lam, variances = functions.regularization, known.variances[i]
    places, weights = functions.places[action], functions.weights[action]
    pull(known.covariance[i], places, weights, 1.0, pulled)
    fill_sums(functions, pulled, out)
    own, cross = variances[action], out[action]
    for a in range(len(out)):
        out[a] = max((variances[a] - own) + 2.0 * ((cross - out[a]) / lam), 0.0)


@compiled(allocates=False)
def information_of(known, i, action, rest):
    """Return what an action tells about the function, 1/2 log det(I + S)."""
    return half_log_det(known.signals[i, action], rest)


@compiled(fastmath=FAST, allocates=False)
def take_in_row(functions, known, i, places, weights, scale, value, scratch):
    """Let replicate i take in what one row showed, in units of the noise."""
    covariance, numbers, pulled = known.covariance[i], known.numbers[i], scratch.pulled
    lam, variances, signals = functions.regularization, known.variances[i], known.signals[i]
    pull(covariance, places, weights, scale, pulled)
    signal = max(scale * weighted(places, weights, pulled), 0.0)
    size = lam + signal
    step = (value - scale * weighted(places, weights, numbers)) / size
    root = sqrt(size)
    for p in range(len(pulled)):
        numbers[p] += step * pulled[p]
        pulled[p] = pulled[p] / root
    known.log_det[i] += log1p(signal / lam)
    for a in range(len(variances)):
        earned = pulled[a]
        if not functions.plain:
            earned = weighted(functions.places[a], functions.weights[a], pulled)
        variances[a] -= earned * earned / lam
    if len(scratch.show) > 0:
        for a in range(len(signals)):
            take_from_signal(functions, signals[a], a, pulled, scratch.show)
    for p in range(len(pulled)):
        entry, row = pulled[p], covariance[p]
        for q in range(len(pulled)):
            row[q] -= entry * pulled[q]


@compiled(fastmath=FAST, allocates=False)
def take_from_signal(functions, signal, a, pulled, show):
    """Take what a row has told, C s / v^(1/2), from the signal (m, m) of an action."""
    factor, m = functions.whitening[a] / sqrt(functions.regularization), len(show)
    if functions.plain:
        signal[0, 0] -= (factor * pulled[a]) ** 2
        return
    for j in range(m):
        places, weights = functions.shown_places[a, j], functions.shown_weights[a, j]
        show[j] = factor * weighted(places, weights, pulled)
    for j in range(m):
        for q in range(m):
            signal[j, q] -= show[j] * show[q]


@compiled(fastmath=FAST, allocates=False)
def turn_root(functions, known, i, places, weights, scale, known_by, turned):
    """Change the root P of replicate i by a row that is seen; see ``estimation.kernel.root``."""
    root, prior = known.root[i], functions.prior
    size = functions.regularization
    for q in range(len(turned)):
        turned[q] = 0.0
        for j in range(len(places)):
            turned[q] += scale * weights[j] * prior[places[j], q]
        known_by[q] = 0.0
    for p in range(len(turned)):
        entry, row = turned[p], root[p]
        for q in range(len(turned)):
            known_by[q] += entry * row[q]
    for q in range(len(turned)):
        size += known_by[q] * known_by[q]
    share = 1.0 / (size + sqrt(functions.regularization * size))
    for p in range(len(turned)):
        row, entry = root[p], 0.0
        for q in range(len(turned)):
            entry += row[q] * known_by[q]
        for q in range(len(turned)):
            row[q] -= share * entry * known_by[q]


@compiled(allocates=False)
def next_round(known, i):
    """Move replicate i on to the next round; False if it is due to be refreshed."""
    known.round[i] += 1
    return known.round[i] < known.refresh[i]


@compiled(allocates=False)
def learn(world, i, action, t, functions, known, scratch):
    """Observe an action and take it in; False if the replicate is due to be refreshed."""
    worlds.observe(world, i, 0, action, t, scratch.shown)
    known.plays[i, action] += 1
    scale = functions.whitening[action]
    for j in range(functions.rows[action]):
        value = scratch.shown[j]
        known.sums[i, action, j] += value
        places, weights = functions.shown_places[action, j], functions.shown_weights[action, j]
        if functions.prior.shape[1] > 0:
            normals, turned = scratch.normals, scratch.turned
            turn_root(functions, known, i, places, weights, scale, normals, turned)
        take_in_row(functions, known, i, places, weights, scale, scale * value, scratch)
    return next_round(known, i)
