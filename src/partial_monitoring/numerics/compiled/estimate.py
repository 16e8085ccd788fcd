"""What replicates know from least squares, and how they learn, inside compiled rounds."""

# mypy: ignore-errors

from math import log1p
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.forgetting import fade_rows, scale, weigh
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import HIGH_LEVERAGE, half_log_det, take_in_row
from partial_monitoring.numerics.compiled.refresh import refresh_one


class Actions(NamedTuple):
    """A game as its estimate sees it, the same for all replicates."""

    maps: np.ndarray
    """Whitened M_a W, shape (k, m, r)."""
    expected: np.ndarray
    """Whitened M_a theta_0, shape (k, m)."""
    whitening: np.ndarray
    """Shape (k,)."""
    rows: np.ndarray
    """The number of rows of each map, shape (k,)."""
    seen: np.ndarray
    """Features in the observation basis, shape (k, r)."""
    columns: np.ndarray
    """The same by coordinate, shape (r, k), or empty."""
    unseen: np.ndarray
    """Features in directions that no observation sees, shape (k, D - r)."""
    centred: np.ndarray
    """Features minus their mean, shape (k, r)."""
    apart: np.ndarray
    """Squared distances in unseen directions over lambda, shape (k, k) if gaps are exact."""
    offsets: np.ndarray
    """Rewards at theta_0, shape (k,)."""
    ceiling: np.ndarray
    """The largest gap that Theta allows, shape (k,)."""
    regularization: float
    best: int
    """The first action that is best whatever the parameter, -1 if there is none."""
    always_best: np.ndarray
    """Shape (k,)."""
    hidden: np.ndarray
    """Squared lengths of features in unseen directions over lambda, shape (k,)."""
    keep: float
    """gamma, 1 if nothing is forgotten."""
    memory: int
    """The most rounds that are counted."""
    fade: float
    """What observations keep of their weight when the same is observed again."""


class Known(NamedTuple):
    """What n replicates know; the fields of ``Estimate``, changed in place."""

    round: np.ndarray
    gram: np.ndarray
    inverse: np.ndarray
    log_det: np.ndarray
    vector: np.ndarray
    coordinates: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    signals: np.ndarray
    """Shape (n, k, m, m); with one entry if actions show their own reward, whose variances it
    is."""


class Data(NamedTuple):
    """What n replicates have seen, changed in place."""

    plays: np.ndarray
    """How often each action was observed, shape (n, k)."""
    sums: np.ndarray
    """Sums of its observations, shape (n, k, m)."""


class Scratch(NamedTuple):
    """Room for the numbers of one round."""

    gaps: np.ndarray
    information: np.ndarray
    one: np.ndarray
    two: np.ndarray
    """Shape (k,) each."""
    pulled: np.ndarray
    """Shape (k, r), or (1, r) if gaps are not exact."""
    x: np.ndarray
    """Shape (r,)."""
    shown: np.ndarray
    """Shape (m,)."""
    show: np.ndarray
    """Shape (m,)."""
    rest: np.ndarray
    """Shape (m, m)."""
    root: np.ndarray
    """Shape (r, r)."""


@compiled(allocates=False)
def information_of(known, rows, i, action, rest):
    """Return the information of an action of row i, 1/2 log det(I + S); ``rest`` is scratch.

    ``rows`` is the number of rows whose signals are kept, 0 if actions show their own reward.
    """
    if rows == 0:
        return 0.5 * log1p(max(known.variances[i, action], 0.0))
    return half_log_det(known.signals[i, action], rest)


@compiled(allocates=False)
def fill_information(known, rows, i, scratch):
    """Fill the information of all actions of row i."""
    for a in range(len(scratch.information)):
        scratch.information[a] = information_of(known, rows, i, a, scratch.rest)


@compiled(allocates=False)
def forget(actions, known, i, rows, scratch):
    """Let the observations of row i lose weight, so that those of some rows (m, r) can be added.

    What follows from them is refreshed when all are weighed again.
    """
    if actions.keep < 1.0:
        gram, vector, regularization = known.gram[i], known.vector[i], actions.regularization
        weigh(gram, vector, actions.keep / scale(actions.keep, known.round[i] - 1), regularization)
        basis = scratch.root[: len(rows)]
        fade_rows(gram, vector, rows, actions.fade, regularization, basis, scratch.x)


@compiled(allocates=False)
def next_round(actions, known, i):
    """Move row i on to the next round, with the weights that its observations have there."""
    known.round[i] = min(known.round[i] + 1, actions.memory)
    if actions.keep < 1.0:
        factor = scale(actions.keep, known.round[i] - 1)
        weigh(known.gram[i], known.vector[i], factor, actions.regularization)


@compiled(allocates=False)
def take_in(actions, known, rows, i, action, scratch):
    """Let row i take in what an action showed; return the largest leverage of one of its rows.

    The scratch may be that of more actions.
    """
    most, pulls = 0.0, scratch.one[: len(actions.offsets)]
    for j in range(actions.maps.shape[1]):
        shown = scratch.shown[j] if j < actions.rows[action] else 0.0
        gain = take_in_row(
            actions.maps[action, j],
            shown * actions.whitening[action] - actions.expected[action, j],
            actions.maps,
            actions.seen,
            actions.columns,
            known.gram[i],
            known.inverse[i],
            known.vector[i],
            known.coordinates[i],
            known.means[i],
            known.variances[i],
            known.signals[i],
            scratch.x,
            pulls,
            scratch.show[:rows],
        )
        most = max(most, gain)
        known.log_det[i] += log1p(gain)
    return most


@compiled(allocates=False)
def refresh(actions, known, most, rows, i, scratch):
    """Compute anew what follows from the data of row i; False if it cannot be done here.

    It can up to some trace of the Gram matrix.
    """
    trace = 0.0
    for p in range(known.gram.shape[1]):
        trace += known.gram[i, p, p]
    if trace > most:
        return False
    known.log_det[i] = refresh_one(
        actions.maps,
        actions.seen,
        actions.offsets,
        actions.regularization,
        known.gram[i],
        known.vector[i],
        known.inverse[i],
        known.coordinates[i],
        known.means[i],
        known.variances[i],
        known.signals[i],
        scratch.root,
        scratch.x,
        scratch.show[:rows],
    )
    return True


@compiled(inline="always", allocates=False)
def learn(world, data, i, action, t, actions, known, rule, scratch):
    """Observe an action and take it in; False if the replicate is due to be refreshed elsewhere.

    The rule says after how many rounds (``period``) estimates are refreshed, up to which trace of
    their Gram matrices (``most``) that is done here, and of how many ``rows`` signals are kept.
    """
    worlds.observe(world, i, 0, action, t, scratch.shown)
    forget(actions, known, i, actions.maps[action], scratch)
    leverage = take_in(actions, known, rule.rows, i, action, scratch)
    data.plays[i, action] += 1
    for j in range(actions.rows[action]):
        data.sums[i, action, j] += scratch.shown[j]
    rounds = known.round[i]
    next_round(actions, known, i)
    stale = rounds % rule.period == 0 or not 1.0 + leverage < HIGH_LEVERAGE
    return not stale or refresh(actions, known, rule.most, rule.rows, i, scratch)


@compiled(inline="always", allocates=False)
def finish_round(world, totals, data, reached, t, i, actions, known, rule, scratch, action, ratio):
    """Play an action or a probe, and learn from it; False if a refresh is due elsewhere."""
    probe = worlds.probe(world, i, t, rule.probe, len(scratch.information))
    action = probe if probe >= 0 else action
    lost = worlds.loss(world, i, 0, action)
    worlds.count(totals, i, action, lost, scratch.information[action], ratio)
    reached[i] = t + 1
    return learn(world, data, i, action, t, actions, known, rule, scratch)
