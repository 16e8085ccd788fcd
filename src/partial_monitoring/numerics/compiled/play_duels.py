"""Whole runs of policies that let the greedy item meet another, one replicate after the other.

Items are known through a parameter (least squares) or a function; which gaps and information, and
which sampling rule, are numbers (see ``play_ids.Rule``).
"""

# mypy: ignore-errors

from math import log1p
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import duels
from partial_monitoring.numerics.compiled import functions as function_loops
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.bodies import WHOLE
from partial_monitoring.numerics.compiled.estimate import forget, next_round, refresh
from partial_monitoring.numerics.compiled.function_gaps import fill_greedy_gaps, fill_worth
from partial_monitoring.numerics.compiled.gaps import distances, greedy_gaps_of
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import (
    FAST,
    HIGH_LEVERAGE,
    rotate_in_row,
    squared_radius,
    take_in_row,
)
from partial_monitoring.numerics.compiled.play_cut import fill_means, project_estimate
from partial_monitoring.numerics.compiled.play_functions import IMPROVEMENT
from partial_monitoring.numerics.compiled.play_ids import PAIR, ZERO_GAP, single
from partial_monitoring.numerics.compiled.ratio import minimize_row, ratio


class Meeting(NamedTuple):
    """What duels need to know besides the items."""

    counted: np.ndarray
    """Which items are rivals, shape (k,)."""
    noise: float
    """rho."""
    missed: float
    """How often what the greedy item may lose counts against a duel."""


class Row(NamedTuple):
    """Room for what a duel shows."""

    psi: np.ndarray
    pairs: np.ndarray
    """Shape (k,) each."""
    rows: np.ndarray
    """Shape (1, r)."""
    line: np.ndarray
    """Shape (r + 1,)."""


@compiled(allocates=False)
def choose(base, told, greedy, missed, rule, rounds, log_det, uniform, pairs, one, two):
    """Return the item that meets the greedy one, and the information ratio of these duels.

    The gap of a duel is the sum of the gaps of both items; ``pairs``, ``one`` and ``two`` (k,) are
    scratch.
    """
    own = base[greedy]
    for a in range(len(base)):
        pairs[a] = base[a] + (missed - 1.0) * own
    if rule.sampling != PAIR:
        first, _ = single(pairs, told, rule, rounds, log_det, one, two)
        second, chance, rest = first, 1.0, 0.0
    else:
        first, second, share, _, _ = minimize_row(
            pairs, told, rule.kappa, rule.exact, ZERO_GAP, one, two
        )
        chance, rest = 1.0 - share, share
        if first > second:
            first, second, chance, rest = second, first, rest, chance
    if first == second:
        return first, ratio(base[first] + own, told[first], 2.0)
    gap = chance * (base[first] + own) + rest * (base[second] + own)
    gain = chance * told[first] + rest * told[second]
    return first if uniform < chance else second, ratio(gap, gain, 2.0)


@compiled(allocates=False)
def look(actions, known, meeting, rule, i, scratch, room, row, rewards, cut, space):
    """Fill gaps of items and information of duels of replicate i; return the greedy item.

    It is -1 if the estimate in Theta is not found.
    """
    base, told, psi = scratch.gaps, scratch.information, row.psi
    means, variances, inverse = known.means[i], known.variances[i], known.inverse[i]
    if rule.gap == IMPROVEMENT:
        return duels.improvement_of_one(
            means,
            variances,
            inverse,
            known.round[i],
            meeting.noise,
            actions.seen,
            actions.columns,
            meeting.counted,
            room,
            psi,
            base,
            told,
        )
    if cut.kind != WHOLE:
        if not project_estimate(actions, known, i, rewards, cut, space):
            return -1
        fill_means(actions, rewards)
        means = rewards.means
    beta = squared_radius(rule.width, known.round[i], known.log_det[i])
    greedy = greedy_gaps_of(
        means,
        variances,
        inverse,
        beta,
        actions.seen,
        actions.columns,
        actions.unseen,
        actions.regularization,
        True,
        scratch.x,
        scratch.one,
        base,
    )
    distances(variances, inverse, actions.seen, actions.columns, greedy, scratch.x, psi)
    for a in range(len(base)):
        base[a] = min(base[a], actions.ceiling[a])
        told[a] = 0.5 * log1p(psi[a])
    return greedy


@compiled(allocates=False)
def learn(actions, known, triangle, rule, i, first, second, shown, scratch, row):
    """Take in what a duel showed; False if the replicate is due to be refreshed elsewhere."""
    w = row.rows[0]
    for p in range(len(w)):
        w[p] = actions.seen[first, p] - actions.seen[second, p]
    residual = shown - (actions.offsets[first] - actions.offsets[second])
    rotate_in_row(triangle, w, residual, row.line)
    forget(actions, known, i, row.rows, scratch)
    gain = take_in_row(
        w,
        residual,
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
        scratch.show,
    )
    known.log_det[i] += log1p(gain)
    rounds = known.round[i]
    next_round(actions, known, i)
    stale = rounds % rule.period == 0 or not 1.0 + gain < HIGH_LEVERAGE
    return not stale or refresh(actions, known, rule.most, 0, i, scratch)


@compiled(allocates=False)
def play(
    world,
    totals,
    triangles,
    reached,
    stop,
    first,
    last,
    actions,
    known,
    meeting,
    rule,
    scratch,
    room,
    row,
    rewards,
    cut,
    space,
    due,
    unproven,
):
    """Play replicates ``first`` to before ``last``, which share the scratch, on least squares.

    A replicate whose estimate is not found in Theta stops before it draws any number.
    """
    base, told, k = scratch.gaps, scratch.information, len(scratch.gaps)
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            greedy = look(actions, known, meeting, rule, i, scratch, room, row, rewards, cut, space)
            if greedy < 0:
                unproven[i] = True
                break
            uniform = worlds.uniform_for_policy(world, i, t)
            other, psi = choose(
                base,
                told,
                greedy,
                meeting.missed,
                rule,
                known.round[i],
                known.log_det[i],
                uniform,
                row.pairs,
                scratch.one,
                scratch.two,
            )
            probe = worlds.probe(world, i, t, rule.probe, k)
            other = probe if probe >= 0 else other
            action = greedy * k + other
            worlds.count(totals, i, action, worlds.loss(world, i, 0, action), told[other], psi)
            worlds.observe(world, i, 0, action, t, scratch.shown)
            reached[i] = t + 1
            shown = scratch.shown[0]
            if not learn(actions, known, triangles[i], rule, i, greedy, other, shown, scratch, row):
                due[i] = True
                break


@compiled(fastmath=FAST, allocates=False)
def add_told(share, covariance, own, greedy, out):
    """Add share <phi_a - phi_g, C (phi_b - phi_g)>^2 to out (k,), given rows of C."""
    ahead = covariance[greedy] - own[greedy]
    for a in range(len(out)):
        shown = (covariance[a] - own[a]) - ahead
        out[a] += share * (shown * shown)


@compiled(allocates=False)
def look_at_functions(functions, known, rule, i, scratch):
    """Do the same where items are values of a function."""
    base, told, psi, k = scratch.gaps, scratch.information, scratch.squared, len(scratch.gaps)
    if rule.gap != IMPROVEMENT:
        beta = squared_radius(rule.width, known.round[i], known.log_det[i])
        greedy = fill_greedy_gaps(functions, known, i, beta, True, scratch)
        for a in range(k):
            base[a] = min(base[a], functions.ceiling[a])
            told[a] = 0.5 * log1p(psi[a])
        return greedy
    greedy = fill_worth(functions, known, i, scratch)
    for a in range(k):
        told[a] = 0.0
    for b in range(k):
        if scratch.delta[b] > 0.0:
            add_told(scratch.delta[b], known.covariance[i, b], scratch.own, greedy, told)
    per_square = 1.0 / (functions.regularization * functions.regularization)
    for a in range(k):
        told[a] = told[a] * per_square / (1.0 + psi[a])
    return greedy


@compiled(allocates=False)
def play_functions(
    world, totals, reached, stop, first, last, functions, known, rule, missed, scratch, due
):
    """Play replicates ``first`` to before ``last``, whose items are values of a function."""
    told, k = scratch.information, len(scratch.gaps)
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            uniform = worlds.uniform_for_policy(world, i, t)
            function_loops.fill_sums(functions, known.numbers[i], scratch.means)
            greedy = look_at_functions(functions, known, rule, i, scratch)
            other, psi = choose(
                scratch.gaps,
                told,
                greedy,
                missed,
                rule,
                known.round[i],
                known.log_det[i],
                uniform,
                scratch.delta,
                scratch.one,
                scratch.two,
            )
            probe = worlds.probe(world, i, t, rule.probe, k)
            other = probe if probe >= 0 else other
            action = greedy * k + other
            worlds.count(totals, i, action, worlds.loss(world, i, 0, action), told[other], psi)
            worlds.observe(world, i, 0, action, t, scratch.shown)
            reached[i] = t + 1
            shown = scratch.shown[0]
            known.plays[i, action] += 1
            known.sums[i, action, 0] += shown
            scratch.pair[0], scratch.pair[1] = greedy, other
            function_loops.take_in_row(
                functions, known, i, scratch.pair, scratch.against, 1.0, shown, scratch
            )
            if not function_loops.next_round(known, i):
                due[i] = True
                break
