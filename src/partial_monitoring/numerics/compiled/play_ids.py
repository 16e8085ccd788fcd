"""Whole runs of information-directed sampling on least squares, one replicate after the other.

A round reads like Algorithm 2: E_t, information, gaps, the distribution, a draw, and what the
action shows. Which gaps, information and rule are numbers (see ``Rule``), not functions, so that
one compiled function plays them all.
"""

# mypy: ignore-errors

from math import sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import gaps as gap_loops
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import fill_information, finish_round
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import squared_radius
from partial_monitoring.numerics.compiled.ratio import minimize_row

EXACT, RELAXED, MEAN = range(3)
"""Gap estimates."""

PAIR, DETERMINISTIC, TRADEOFF, ANYTIME = range(4)
"""Sampling rules: the least ratio over pairs, the least ratio of one action, E2D twice."""

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero."""


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
    probe: float
    """The share of uniform actions."""


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


@compiled(inline="always", allocates=False)
def decide(world, i, t, actions, known, row, rows, alone, rule, scratch):
    """Return the action that replicate i plays, and its information ratio.

    What it knows is in some row, with signals of this number of rows. In one of several contexts
    (not ``alone``) an action that is always best is played unless the rule explores for others.
    """
    gaps, information = scratch.gaps, scratch.information
    uniform = worlds.uniform_for_policy(world, i, t)
    fill_information(known, rows, row, scratch)
    if actions.best >= 0 and (alone or rule.sampling < TRADEOFF):
        return actions.best, 0.0
    rounds, log_det = known.round[row], known.log_det[row]
    beta = squared_radius(rule.width, rounds, log_det)
    fill_gaps(actions, known, rule, row, beta, scratch)
    if actions.best >= 0:
        for a in range(len(gaps)):
            gaps[a] = 0.0 if actions.always_best[a] else gaps[a]
    action, ratio, _ = choose(
        gaps, information, rule, rounds, log_det, uniform, scratch.one, scratch.two
    )
    return action, ratio


@compiled(allocates=False)
def play_one(world, totals, data, reached, stop, i, actions, known, rule, scratch, due):
    """Play replicate i until round ``stop``, or until it is due to be refreshed."""
    for t in range(reached[i], stop):
        worlds.start_round(world, i, t)
        action, ratio = decide(world, i, t, actions, known, i, rule.rows, True, rule, scratch)
        learned = finish_round(
            world, totals, data, reached, t, i, actions, known, rule, scratch, action, ratio
        )
        if not learned:
            due[i] = True
            return


@compiled(allocates=False)
def play(world, totals, data, reached, stop, first, last, actions, known, rule, scratch, due):
    """Play replicates ``first`` to before ``last``, which share the scratch."""
    for i in range(first, last):
        play_one(world, totals, data, reached, stop, i, actions, known, rule, scratch, due)
