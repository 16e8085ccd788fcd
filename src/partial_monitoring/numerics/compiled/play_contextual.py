"""Whole runs of contextual IDS, which chooses for all contexts together in every round.

A round is that of Algorithm 3: E_t, information and gaps of the actions of all contexts, the best
kernel, and a draw from its row of the context that came. The functions for many replicates are
called with one.
"""

# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import bodies, directed, groups, improvement
from partial_monitoring.numerics.compiled import cut as cuts
from partial_monitoring.numerics.compiled import world as worlds
from partial_monitoring.numerics.compiled.bodies import WHOLE
from partial_monitoring.numerics.compiled.chance import drawn_from
from partial_monitoring.numerics.compiled.contexts import minimize_available, walk_each
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.linear import half_log_dets, squared_radius
from partial_monitoring.numerics.compiled.listed import finish, probed
from partial_monitoring.numerics.compiled.listed_parts import contest_at, cut_at
from partial_monitoring.numerics.compiled.parts import DIRECTED_RELAXED, LOG_DET
from partial_monitoring.numerics.compiled.parts import IMPROVEMENT as IMPROVING
from partial_monitoring.numerics.compiled.plausible import OPEN
from partial_monitoring.numerics.compiled.play_cut import Rewards, fill_means, project_estimate
from partial_monitoring.numerics.compiled.refresh import look_each

EXACT, RELAXED, MEAN, IMPROVEMENT = range(4)
"""Gap estimates."""

KNOWN, ESTIMATED, GROWING = range(3)
"""Where the chances of contexts come from."""

ZERO_GAP = 1e-9
"""A gap below this fraction of the largest one counts as zero."""


class Rule(NamedTuple):
    """The options of the policy."""

    width: tuple
    """See ``linear.squared_radius``."""
    gap: int
    information: int
    """See ``parts``."""
    kappa: float
    chances: int
    period: int
    """Rounds after which an estimate is refreshed."""
    most: float
    """Up to this trace of its Gram matrix that is done in the loop."""
    probe: float
    """The share of uniform actions."""


class Joined(NamedTuple):
    """The actions of all contexts in one list of length N, each context a group."""

    maps: np.ndarray
    """Shape (N, m, r)."""
    seen: np.ndarray
    """Features, shape (N, r)."""
    centred: np.ndarray
    """Minus their mean in each context, shape (N, r)."""
    offsets: np.ndarray
    """Shape (N,), as all that follow unless they say otherwise."""
    ceiling: np.ndarray
    always_best: np.ndarray
    counted: np.ndarray
    """Rivals of the greedy actions, shape (1, N)."""
    groups: np.ndarray
    """Where each context starts, then N, shape (contexts + 1,)."""
    numbers: np.ndarray
    """Those of the actions in the whole game."""
    offered: np.ndarray
    """Shape (1, contexts, k)."""
    chances: np.ndarray
    """Shape (contexts,)."""
    noise_std: float
    own_reward: bool


class Theta(NamedTuple):
    """Theta as all contexts together see it, and room."""

    rewards: Rewards
    cut: bodies.Cut
    body: bodies.Scratch


@compiled
def fill_chances(joined, rule, counts, z, chi):
    """Fill chi (1, contexts) with the chances of contexts, as known after counts (contexts,)."""
    total = 0.0
    for c in range(len(counts)):
        more = 1.0 if rule.chances == ESTIMATED or c == z else 0.0
        chi[0, c] = joined.chances[c] if rule.chances == KNOWN else counts[c] + more
        total += chi[0, c]
    if rule.chances != KNOWN:
        for c in range(len(counts)):
            chi[0, c] /= total


@compiled
def uncut_gaps(joined, rule, inverse, beta, means, variances):
    """Return the gaps (1, N) of a replicate whose ellipsoid is not cut by Theta."""
    if rule.gap == EXACT:
        return groups.exact_gaps(means, inverse, beta, joined.centred, joined.groups)
    seen, starts = joined.seen, joined.groups
    return groups.greedy_gaps(means, variances, inverse, beta, seen, starts, rule.gap == MEAN)


@compiled
def cut_gaps(joined, rule, inverse, beta, means, variances, theta, lam):
    """Return the gaps (1, N) of a replicate around its estimate in Theta; whether all are proven.

    The estimate is in ``theta.rewards``; lam is the regularisation.
    """
    rewards, gaps = theta.rewards, np.empty(variances.shape)
    if theta.cut.kind == WHOLE:
        return uncut_gaps(joined, rule, inverse, beta, means, variances), True
    if rule.gap == MEAN:
        there = rewards.means.reshape(gaps.shape)
        return uncut_gaps(joined, rule, inverse, beta, there, variances), True
    proven = cuts.gaps(
        theta.cut,
        rule.gap == RELAXED,
        inverse[0],
        lam,
        rewards.x,
        beta[0],
        rewards.slopes,
        joined.offsets,
        joined.groups,
        theta.body,
        gaps[0],
    )
    return gaps, proven


@compiled
def fill_directed(rule, known, i, beta, means, theta, listed, parts, information):
    """Fill the directed information (N,) of all contexts of replicate i; whether all is proven."""
    for z in range(len(listed.sizes)):
        start, end = listed.starts[z, 0], listed.starts[z, 0] + listed.sizes[z, 0]
        for a in range(len(parts.room.plausible)):
            parts.room.plausible[a] = OPEN
        left, _ = directed.fill_directed(
            rule.information == DIRECTED_RELAXED,
            contest_at(parts, listed, z),
            cut_at(parts.rewards, listed, z),
            means[start:end],
            known.gram[i],
            known.inverse[i],
            beta,
            theta.rewards.x,
            parts.room,
            information[start:end],
        )
        if left != directed.DONE:
            return False
    return True


@compiled
def gaps_and_information(joined, rule, known, i, chi, theta, listed, parts):
    """Return what replicate i may lose and learn by all actions, each (1, N); whether proven.

    ``theta`` is None if Theta does not matter, and ``parts`` if no information is directed.
    """
    inverse, rounds = known.inverse[i : i + 1], known.round[i : i + 1]
    m = joined.maps.shape[1]
    means, variances, signals = look_each(
        joined.maps,
        joined.seen,
        joined.offsets,
        inverse,
        known.coordinates[i : i + 1],
        0 if joined.own_reward else m,
    )
    if joined.own_reward:
        signals = variances.reshape((1, variances.shape[1], 1, 1))
    beta, proven = np.empty(1), True
    beta[0] = squared_radius(rule.width, rounds[0], known.log_det[i])
    gaps, information = np.empty(means.shape), np.empty(means.shape)
    if theta is not None:
        if not project_estimate(listed, known, i, theta.rewards, theta.cut, theta.body):
            return gaps, information, False
        fill_means(joined, theta.rewards)
    if rule.gap == IMPROVEMENT or rule.information == IMPROVING:
        gaps, information = improvement.improvement(
            means,
            variances,
            inverse,
            rounds,
            joined.noise_std,
            joined.seen,
            np.empty((0, 0)),
            joined.maps,
            signals,
            joined.groups,
            joined.counted,
            chi,
        )
    if rule.information == LOG_DET:
        information = half_log_dets(signals)
    if parts is not None:
        own = means[0] if theta.cut.kind == WHOLE else theta.rewards.means
        told = information[0]
        if not fill_directed(rule, known, i, beta[0], own, theta, listed, parts, told):
            return gaps, information, False
    if rule.gap != IMPROVEMENT:
        numbers = inverse, beta, means, variances
        if theta is None:
            gaps = uncut_gaps(joined, rule, *numbers)
        else:
            gaps, proven = cut_gaps(joined, rule, *numbers, theta, listed.regularization)
    for a in range(gaps.shape[1]):
        if rule.gap == MEAN:
            gaps[0, a] = min(gaps[0, a], joined.ceiling[a])
        if joined.always_best[a]:
            gaps[0, a] = 0.0
    return gaps, information, proven


@compiled
def fill_table(joined, values, table):
    """Fill a table (1, contexts, k) with values (1, N); zero where not offered."""
    for z in range(table.shape[1]):
        for a in range(table.shape[2]):
            table[0, z, a] = 0.0
        for a in range(joined.groups[z], joined.groups[z + 1]):
            table[0, z, joined.numbers[a]] = values[0, a]


@compiled
def fill_row(gaps, information, chi, offered, kappa, z, chances):
    """Fill chances (k,) with the row z of the best kernel, and return its ratio.

    Tables are (1, contexts, k). Contexts without weight, and one that has all of it, are solved by
    themselves.
    """
    count, weighty = chi.shape[1], 0
    for c in range(count):
        weighty += chi[0, c] > 0.0
    first, second = np.zeros((1, count), np.int64), np.zeros((1, count), np.int64)
    share, value = np.zeros((1, count)), np.empty(1)
    for c in range(count):
        if weighty == 1 or not chi[0, c] > 0.0:
            one, two, p = minimize_available(
                gaps[0, c : c + 1],
                information[0, c : c + 1],
                offered[0, c : c + 1],
                kappa,
                True,
                ZERO_GAP,
            )
            first[0, c], second[0, c], share[0, c] = one[0], two[0], p[0]
    walk_each(gaps, information, chi, offered, kappa, ZERO_GAP, first, second, share, value)
    for a in range(len(chances)):
        chances[a] = 0.0
    chances[first[0, z]] = 1.0 - share[0, z]
    chances[second[0, z]] += share[0, z]
    return value[0]


@compiled
def play(
    world,
    totals,
    triangles,
    reached,
    stop,
    first,
    last,
    listed,
    room,
    known,
    rule,
    scratch,
    due,
    joined,
    counts,
    theta,
    parts,
    contexts,
    unproven,
):
    """Play replicates ``first`` to before ``last``; they count contexts (n, contexts).

    Where something is not proven, a replicate stops after its context is drawn, which is kept.
    """
    k = joined.offered.shape[2]
    gaps, information = np.empty(joined.offered.shape), np.empty(joined.offered.shape)
    chi, chances = np.empty((1, counts.shape[1])), np.empty(k)
    for i in range(first, last):
        for t in range(reached[i], stop):
            worlds.start_round(world, i, t)
            z = worlds.context(world, i, t)
            fill_chances(joined, rule, counts[i], z, chi)
            lost, told, proven = gaps_and_information(
                joined, rule, known, i, chi, theta, listed, parts
            )
            if not proven:
                contexts[i], unproven[i] = z, True
                break
            uniform = worlds.uniform_for_policy(world, i, t)
            fill_table(joined, lost, gaps)
            fill_table(joined, told, information)
            ratio = fill_row(gaps, information, chi, joined.offered, rule.kappa, z, chances)
            number, start = drawn_from(chances, uniform), listed.starts[z, 0]
            action = np.int64(0)
            while listed.numbers[start + action] != number:
                action += 1
            action = probed(world, i, t, rule.probe, listed, z, action)
            gain = information[0, z, listed.numbers[start + action]]
            counts[i, z] += 1
            reached[i] = t + 1
            place = listed, z, scratch
            numbers = action, gain, ratio
            memory = known, triangles, room.line, rule
            if not finish(world, totals, i, t, *place, *numbers, *memory):
                due[i] = True
                break
