"""Whole runs of information-directed sampling on least squares, one replicate after the other.

A round reads like Algorithm 2: E_t, information, gaps, the distribution, a draw, and what the
action shows. Which gaps, information and rule are numbers (see ``Rule``), not functions, so that
one compiled function plays them all.
"""

# mypy: ignore-errors

from math import log1p, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import gaps as gap_loops
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import (
    HIGH_LEVERAGE,
    half_log_det,
    squared_radius,
    take_in_row,
)
from partial_monitoring.numerics.compiled.ratio import minimize_row
from partial_monitoring.numerics.compiled.refresh import refresh_one

EXACT, RELAXED, MEAN = range(3)
"""Gap estimates."""

PAIR, DETERMINISTIC, TRADEOFF, ANYTIME = range(4)
"""Sampling rules: the least ratio over pairs, the least ratio of one action, E2D twice."""

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero."""


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


class Rule(NamedTuple):
    """The options of the policy."""

    width: tuple
    """See ``linear.squared_radius``."""
    gap: int
    sampling: int
    kappa: float
    exact: bool
    """Whether all pairs are considered, not only those with the greedy action."""
    tradeoff: float
    period: int
    """Rounds after which an estimate is refreshed."""
    most: float
    """Up to this trace of its Gram matrix that is done in the loop."""
    rows: int
    """The number of rows whose signals are kept: m, or 0 if actions show their own reward."""


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
def fill_gaps(actions, known, rule, i, beta, scratch):
    """Fill the gaps of all actions of row i; the ellipsoid is not cut by Theta."""
    gaps, means, inverse = scratch.gaps, known.means[i], known.inverse[i]
    if rule.gap == EXACT:
        gap_loops.exact_gaps_of(
            means,
            inverse,
            beta,
            actions.centred,
            actions.apart,
            scratch.pulled,
            scratch.one,
            gaps,
        )
        return
    gap_loops.greedy_gaps_of(
        means,
        known.variances[i],
        inverse,
        beta,
        actions.seen,
        actions.columns,
        actions.unseen,
        actions.regularization,
        rule.gap == MEAN,
        scratch.x,
        scratch.one,
        gaps,
    )
    if rule.gap == MEAN:
        for a in range(len(gaps)):
            gaps[a] = min(gaps[a], actions.ceiling[a])


@compiled(allocates=False)
def single(gaps, information, rule, rounds, log_det, one, two):
    """Return the one action that a rule without mixtures plays, and its information ratio."""
    k, largest, most = len(gaps), 0.0, 0.0
    for a in range(k):
        largest, most = max(largest, gaps[a]), max(most, information[a])
    tradeoff = rule.tradeoff
    if rule.sampling == ANYTIME:
        _, _, _, psi, _ = minimize_row(gaps, information, 2.0, True, ZERO_GAP, one, two)
        known = max(0.5 * log_det, most)
        usable = psi < np.inf and known > 0.0
        tradeoff = 0.5 * sqrt(psi * rounds / known) if usable else 0.0
    best, least, blind = 0, np.inf, rule.sampling == DETERMINISTIC
    for a in range(k):
        gap = gaps[a] if gaps[a] > ZERO_GAP * largest else 0.0
        if rule.sampling == DETERMINISTIC:
            gap, gain = gap / max(largest, 1e-300), information[a] / max(most, 1e-300)
            score = np.inf if gain <= 0.0 else gap * gap / gain
            score = 0.0 if gap <= 0.0 else score
            blind = blind and score == np.inf
        else:
            score = gap - tradeoff * information[a]
        if a == 0 or score < least:
            best, least = a, score
    if blind:  # no action shows anything: the greedy one is left
        best = 0
        for a in range(k):
            if gaps[a] < gaps[best]:
                best = a
    if gaps[best] <= 0.0:
        return best, 0.0
    gain = information[best]
    return best, gaps[best] * gaps[best] / gain if gain > 0.0 else np.inf


@compiled(allocates=False)
def choose(gaps, information, rule, rounds, log_det, uniform, one, two):
    """Return the action that is drawn, its information ratio, and whether numbers are usable."""
    if rule.sampling != PAIR:
        action, ratio = single(gaps, information, rule, rounds, log_det, one, two)
        return action, ratio, True
    first, second, share, ratio, usable = minimize_row(
        gaps, information, rule.kappa, rule.exact, ZERO_GAP, one, two
    )
    if first > second:
        first, second, share = second, first, 1.0 - share
    action = first if first == second or uniform < 1.0 - share else second
    return action, ratio, usable


@compiled(allocates=False)
def take_in(actions, known, rows, i, action, scratch):
    """Let row i take in what an action showed; return the largest leverage of one of its rows."""
    most = 0.0
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
            scratch.one,
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


@compiled(allocates=False)
def learn(world, data, i, z, action, t, actions, known, row, rule, scratch):
    """Observe an action and take it in; False if the row is to be refreshed, not here."""
    worlds.observe(world, i, z, action, t, scratch.shown)
    leverage = take_in(actions, known, rule.rows, row, action, scratch)
    data.plays[i, action] += 1
    for j in range(actions.rows[action]):
        data.sums[i, action, j] += scratch.shown[j]
    rounds = known.round[row]
    known.round[row] = rounds + 1
    stale = rounds % rule.period == 0 or not 1.0 + leverage < HIGH_LEVERAGE
    return not stale or refresh(actions, known, rule.most, rule.rows, row, scratch)


@compiled(allocates=False)
def play_one(world, totals, data, reached, stop, i, actions, known, row, rule, scratch, due):
    """Play replicate i until round ``stop``, or until it is due to be refreshed.

    What it knows is in some row, on a processor in its own one.
    """
    gaps, information = scratch.gaps, scratch.information
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        uniform = worlds.uniform_for_policy(world, i, t)
        rounds, log_det = known.round[row], known.log_det[row]
        fill_information(known, rule, row, scratch)
        if actions.best >= 0:
            action, ratio = actions.best, 0.0
        else:
            beta = squared_radius(rule.width, rounds, log_det)
            fill_gaps(actions, known, rule, row, beta, scratch)
            action, ratio, _ = choose(
                gaps, information, rule, rounds, log_det, uniform, scratch.one, scratch.two
            )
        gained = information[action]
        worlds.observe(world, i, 0, action, t, scratch.shown)
        leverage = take_in(actions, known, rule, row, action, scratch)
        worlds.count(totals, i, action, worlds.loss(world, i, 0, action), gained, ratio)
        data.plays[i, action] += 1
        for j in range(actions.rows[action]):
            data.sums[i, action, j] += scratch.shown[j]
        reached[i] = t + 1
        known.round[row] = rounds + 1
        stale = rounds % rule.period == 0 or not 1.0 + leverage < HIGH_LEVERAGE
        if stale and not refresh(actions, known, rule, row, scratch):
            due[i] = True
            return


@compiled(allocates=False)
def play(world, totals, data, reached, stop, first, last, actions, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, data, reached, stop, i, actions, known, i, rule, scratch, due)
