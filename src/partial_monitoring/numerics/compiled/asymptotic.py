"""Rounds of asymptotically optimal IDS on least squares, with halfspaces as alternatives.

What looks best is the leader g. For an action y that is no duplicate, with u = phi_g - phi_y and
D_y = |u|^2 in the norm of V^-1, the nearest parameter for which y is as good is

    nu_y = theta_hat - (<u, theta_hat> / D_y) V^-1 u,
    N_y  = |nu_y - theta_hat|_V^2 = <u, theta_hat>^2 / D_y.
"""

# mypy: ignore-errors

from math import e, exp, log, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.estimate import learn
from partial_monitoring.numerics.compiled.gaps import all_distances, greedy_gaps_of
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.play_bandits import first_largest
from partial_monitoring.numerics.compiled.ratio import minimize_row

FAR = 1e300
"""The distance of alternatives of which there are none."""

NOTHING = 1e-12
"""Squared lengths below this fraction of their parts are rounding."""

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero."""


class Rule(NamedTuple):
    """The options of the policy."""

    noise: float
    """rho."""
    shift: float
    """lambda^(1/2) B."""
    eta: float
    """The learning rate of the weights of alternatives, 0 if it follows the distances."""
    period: int
    most: float
    rows: int
    """See ``estimate.learn``."""
    probe: float
    """The share of uniform actions."""


class Lead(NamedTuple):
    """What n replicates know of the leader, changed in place."""

    round: np.ndarray
    """t, which counts all rounds; the estimates count those that explored, shape (n,)."""
    leader: np.ndarray
    """Shape (n,)."""
    nearest: np.ndarray
    """The least N_y, shape (n,)."""
    largest: np.ndarray
    """The largest of all ``nearest`` so far over rho^2, at least 1, shape (n,)."""


@compiled(allocates=False)
def squared_radius(rule, rounds, log_det):
    """Return beta of the failure probability 1 / (t log t), t at least e."""
    t = max(float(rounds), e)
    spread = 2.0 * (log(t) + log(log(t))) + log_det
    return (rule.noise * sqrt(max(spread, 0.0)) + rule.shift) ** 2


@compiled(allocates=False)
def fill_distances(actions, known, i, leader, scratch):
    """Fill ``scratch.one`` with D_y and ``scratch.two`` with N_y; return the least N_y.

    Duplicates of the leader, and actions whose gap is known, are no alternatives: infinitely far.
    """
    squared, away, means = scratch.one, scratch.two, known.means[i]
    all_distances(
        known.variances[i],
        known.inverse[i],
        actions.seen,
        actions.columns,
        actions.unseen,
        actions.regularization,
        leader,
        scratch.x,
        squared,
    )
    least = np.inf
    for y in range(len(means)):
        parts = known.variances[i, y] + known.variances[i, leader]
        parts += actions.hidden[y] + actions.hidden[leader]
        away[y] = np.inf
        if y != leader and squared[y] > NOTHING * parts:
            gap = means[leader] - means[y]
            away[y] = gap * gap / squared[y]
            least = min(least, away[y])
    return least


@compiled(allocates=False)
def settle(actions, known, lead, rule, i, scratch):
    """Find the leader of replicate i and its nearest alternative after the estimate has changed."""
    if actions.best >= 0:
        lead.leader[i], lead.nearest[i] = actions.best, FAR
        return
    lead.leader[i] = first_largest(known.means[i])
    least = fill_distances(actions, known, i, lead.leader[i], scratch)
    lead.nearest[i] = min(least, FAR)
    if least < FAR:
        lead.largest[i] = max(lead.largest[i], least / rule.noise**2)


@compiled(allocates=False)
def explores(known, lead, rule, i):
    """Whether replicate i must still explore."""
    return lead.nearest[i] < squared_radius(rule, lead.round[i], known.log_det[i])


@compiled(allocates=False)
def fill_information(actions, known, lead, rule, i, beta, scratch):
    """Fill ``scratch.information`` with what actions tell about the alternatives."""
    leader, gained = lead.leader[i], scratch.information
    k, m, r = actions.maps.shape
    least = fill_distances(actions, known, i, leader, scratch)
    squared, away, z = scratch.one, scratch.two, scratch.x
    eta = rule.eta if rule.eta > 0.0 else 1.0 / sqrt(lead.largest[i])
    total = 0.0
    for y in range(k):
        if away[y] < np.inf:
            away[y] = exp(-eta * (away[y] - least) / rule.noise**2)
            total += away[y]
        else:
            away[y] = 0.0
    for x in range(k):
        gained[x] = 0.0
    for y in range(k):
        weight = away[y] / total if total > 0.0 else 0.0
        if weight == 0.0:
            continue
        factor = (known.means[i, leader] - known.means[i, y]) / squared[y]
        for p in range(r):
            z[p] = 0.0
            for q in range(r):
                z[p] += known.inverse[i, p, q] * (actions.seen[leader, q] - actions.seen[y, q])
            z[p] *= factor
        for x in range(k):
            shown = 0.0
            for j in range(m):
                along = 0.0
                for p in range(r):
                    along += actions.maps[x, j, p] * z[p]
                shown += along * along
            own = known.variances[i, x]
            if rule.rows > 0:
                own = 0.0
                for j in range(rule.rows):
                    own += known.signals[i, x, j, j]
            gained[x] += 0.5 * weight * (sqrt(shown) + sqrt(beta * max(own, 0.0))) ** 2


@compiled(allocates=False)
def fill_gaps(actions, known, i, beta, scratch):
    """Fill ``scratch.gaps`` with delta + <phi_g - phi_x, theta_hat>."""
    greedy_gaps_of(
        known.means[i],
        known.variances[i],
        known.inverse[i],
        beta,
        actions.seen,
        actions.columns,
        actions.unseen,
        actions.regularization,
        True,
        scratch.x,
        scratch.one,
        scratch.gaps,
    )


@compiled(allocates=False)
def decide(actions, known, lead, rule, i, scratch):
    """Return a pair of actions, the share of the second one, and their information ratio.

    Fills gaps and information.
    """
    leader = lead.leader[i]
    if not explores(known, lead, rule, i):
        for a in range(len(scratch.gaps)):
            scratch.gaps[a] = max(known.means[i, leader] - known.means[i, a], 0.0)
            scratch.information[a] = 0.0
        return leader, leader, 0.0, 0.0
    beta = squared_radius(rule, known.round[i], known.log_det[i])
    fill_information(actions, known, lead, rule, i, beta, scratch)
    fill_gaps(actions, known, i, beta, scratch)
    first, second, share, ratio, _ = minimize_row(
        scratch.gaps, scratch.information, 2.0, True, ZERO_GAP, scratch.one, scratch.two
    )
    return first, second, share, ratio


@compiled(allocates=False)
def drawn(first, second, share, uniform):
    """Return the action that a uniform number draws from a pair."""
    if first > second:
        first, second, share = second, first, 1.0 - share
    return first if first == second or uniform < 1.0 - share else second


@compiled(allocates=False)
def settle_each(actions, known, lead, rule, chosen, scratch):
    """Settle some replicates."""
    for i in chosen:
        settle(actions, known, lead, rule, i, scratch)


@compiled(allocates=False)
def explores_each(known, lead, rule, exploring):
    """Fill which replicates must still explore."""
    for i in range(len(exploring)):
        exploring[i] = explores(known, lead, rule, i)


@compiled(allocates=False)
def decide_each(actions, known, lead, rule, uniforms, scratch, chosen, mu, gaps, gained, ratio):
    """Fill actions (n,), distributions, gaps and information (n, k) and ratios (n,)."""
    for i in range(len(uniforms)):
        first, second, share, ratio[i] = decide(actions, known, lead, rule, i, scratch)
        chosen[i] = drawn(first, second, share, uniforms[i])
        mu[i, first] = 1.0 - share
        mu[i, second] += share
        for a in range(mu.shape[1]):
            gaps[i, a], gained[i, a] = scratch.gaps[a], scratch.information[a]


@compiled(allocates=False)
def play(world, totals, data, reached, stop, first, last, actions, known, lead, rule, scratch, due):
    """Play replicates ``first`` to before ``last`` to before round ``stop``.

    A replicate whose estimate is due to be refreshed elsewhere stops, and must be settled.
    """
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            uniform = worlds.uniform_for_policy(world, i, t)
            one, two, share, ratio = decide(actions, known, lead, rule, i, scratch)
            action = drawn(one, two, share, uniform)
            probe = worlds.probe(world, i, t, rule.probe, len(scratch.gaps))
            action = probe if probe >= 0 else action
            lost, gained = worlds.loss(world, i, 0, action), scratch.information[action]
            worlds.count(totals, i, action, lost, gained, ratio)
            reached[i] = t + 1
            exploring = explores(known, lead, rule, i)
            lead.round[i] += 1
            if not exploring:
                worlds.observe(world, i, 0, action, t, scratch.shown)
                continue
            if not learn(world, data, i, action, t, actions, known, rule, scratch):
                due[i] = True
                break
            settle(actions, known, lead, rule, i, scratch)
