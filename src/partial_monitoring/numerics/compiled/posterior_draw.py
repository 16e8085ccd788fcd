"""Draws from the posterior of a finite game, one replicate at a time.

F and G are those of ``outcome_counts``. Two exact ways to draw from F take turns, and the first
that accepts is the answer:

- from the posterior of the most observed partition alone, which is a Dirichlet distribution,
  accepted with the likelihood of the other ones over its maximum;
- from G, accepted inside the simplex with probability F / G (Tsuchiya, Honda and Sugiyama 2020).

After ``tries`` of both, a Markov chain that leaves the posterior unchanged makes ``steps`` steps
from the middle of the posterior: elliptical slice sampling (Murray, Adams and MacKay 2010) around a
normal approximation. Its draws follow the posterior only nearly, and the caller is told so.
"""

# mypy: ignore-errors

from math import cos, inf, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled import chance
from partial_monitoring.numerics.compiled.just_in_time import compiled
from partial_monitoring.numerics.compiled.outcome_counts import (
    NONE,
    distance,
    divergence,
    log_ratio,
    see,
)

FIRST = np.bool_(True)  # of the type of what draws return
"""What is said of the draw before the first one."""

SHRINKS = 100
"""After this number of refused angles, a step of the chain is as good as none."""


class Work(NamedTuple):
    """Scratch of n replicates."""

    own: np.ndarray
    """The private stream of random numbers, shape (n, 1), uint64."""
    theta: np.ndarray
    """The draw, shape (n, d)."""
    chances: np.ndarray
    """q, shape (n, r)."""
    weight: np.ndarray
    """Of blocks in a normal density, shape (n, r)."""
    factor: np.ndarray
    """Its precision, decomposed, shape (n, d - 1, d - 1)."""
    mean: np.ndarray
    """Its mean, shape (n, d - 1)."""
    step: np.ndarray
    """A normal draw in the directions of the simplex, shape (n, d - 1)."""
    away: np.ndarray
    """Where the chain is, from the middle, shape (n, d)."""
    start: np.ndarray
    """One axis of an ellipse, where the chain was before a step, shape (n, d)."""
    aside: np.ndarray
    """The other axis, shape (n, d)."""
    shown: np.ndarray
    """An observation, shape (n, m)."""


# -- exact draws -----------------------------------------------------------------------------------


@compiled(inline="always", allocates=False)
def from_partition(parts, law, counts, totals, main, own, theta, chances):
    """Draw from what one partition shows; return whether the other ones accept it.

    Masses of blocks have a Dirichlet distribution with their counts and sizes as parameters, and
    within a block all shares are equally likely.
    """
    first, last, d = parts.first[main], parts.first[main + 1], len(theta)
    largest = -inf
    for r in range(first, last):
        chances[r] = chance.log_gamma_draw(own, parts.size[r] + counts[r])
        largest = max(largest, chances[r])
    total = 0.0
    for r in range(first, last):
        chances[r] = np.exp(chances[r] - largest)
        total += chances[r]
    for r in range(first, last):
        mass, left = chances[r] / total, 0.0
        for j in range(d):
            if parts.block[main, j] == r:
                theta[j] = 1.0 if parts.size[r] == 1.0 else chance.exponential(own)
                left += theta[j]
        for j in range(d):
            if parts.block[main, j] == r:
                theta[j] *= mass / left
    cost = 0.0
    if len(totals) > 1:
        see(parts, theta, chances)
        cost = divergence(parts, counts, totals, chances, main)
    square = -1.0 / d
    for j in range(d):
        square += theta[j] * theta[j]
    return chance.exponential(own) >= cost + 0.5 * law.lam * square


@compiled(allocates=False)
def factorize(parts, weight, factor):
    """Decompose the precision sum_r w_r s_r s_r' + factor, of which the lower half is given."""
    p = len(factor)
    for r in range(len(weight)):
        if weight[r] > 0.0:
            for x in range(p):
                for y in range(x + 1):
                    factor[x, y] += weight[r] * parts.seen[r, x] * parts.seen[r, y]
    for x in range(p):
        for y in range(x + 1):
            entry = factor[x, y]
            for z in range(y):
                entry -= factor[x, z] * factor[y, z]
            factor[x, y] = sqrt(entry) if x == y else entry / factor[y, y]


@compiled(allocates=False)
def deviate(factor, own, step):
    """Fill step (d - 1,) with a normal draw of mean 0 whose precision is decomposed."""
    p = len(factor)
    for x in range(p):
        step[x] = chance.normal(own)
    for x in range(p - 1, -1, -1):
        entry = step[x]
        for y in range(x + 1, p):
            entry -= factor[y, x] * step[y]
        step[x] = entry / factor[x, x]


@compiled(inline="always", allocates=False)
def prepare(parts, law, counts, totals, weight, factor, mean):
    """Find the normal density G: its decomposed precision and its mean, from the centre on."""
    p, d = len(factor), parts.block.shape[1]
    for g in range(len(totals)):
        for r in range(parts.first[g], parts.first[g + 1]):
            weight[r] = law.envelope * totals[g]
    for x in range(p):
        mean[x] = 0.0
        for y in range(x + 1):
            factor[x, y] = law.lam if x == y else 0.0
    factorize(parts, weight, factor)
    for g in range(len(totals)):
        for r in range(parts.first[g], parts.first[g + 1]):
            pull = law.envelope * (counts[r] - totals[g] * parts.size[r] / d)
            for x in range(p):
                mean[x] += pull * parts.seen[r, x]
    for x in range(p):
        for y in range(x):
            mean[x] -= factor[x, y] * mean[y]
        mean[x] /= factor[x, x]
    for x in range(p - 1, -1, -1):
        for y in range(x + 1, p):
            mean[x] -= factor[y, x] * mean[y]
        mean[x] /= factor[x, x]


@compiled(inline="always", allocates=False)
def from_normal(parts, law, counts, totals, factor, mean, own, step, theta, chances):
    """Draw from G; return whether the draw is in the simplex and accepted."""
    d = len(theta)
    deviate(factor, own, step)
    for j in range(d):
        theta[j] = 1.0 / d
        for x in range(d - 1):
            theta[j] += parts.basis[j, x] * (mean[x] + step[x])
        if theta[j] < 0.0:
            return False
    if law.log_ratio == -inf:
        return True
    see(parts, theta, chances)
    lost = law.log_ratio - log_ratio(parts, law, counts, totals, chances)
    return lost <= 0.0 or chance.exponential(own) > lost


# -- the chain -------------------------------------------------------------------------------------


@compiled(inline="always", allocates=False)
def start_chain(parts, law, counts, totals, middle, work, i):
    """Place the chain in the middle, and decompose the precision around it."""
    weight, factor, chances = work.weight[i], work.factor[i], work.chances[i]
    p, d = len(factor), len(middle)
    see(parts, middle, chances)
    for g in range(len(totals)):
        for r in range(parts.first[g], parts.first[g + 1]):
            if law.log_ratio == 0.0:
                weight[r] = counts[r] / (chances[r] * chances[r])
            else:
                weight[r] = law.envelope * totals[g]
    for x in range(p):
        for y in range(x + 1):
            factor[x, y] = 0.0
            for j in range(d):
                share = parts.basis[j, x] * parts.basis[j, y]
                factor[x, y] += share / (middle[j] * middle[j])
    factorize(parts, weight, factor)
    for j in range(d):
        work.away[i, j] = 0.0


@compiled(allocates=False)
def height(parts, law, counts, totals, middle, weight, away, theta, chances):
    """Return the log of the target over the normal approximation, -inf outside the simplex.

    Fills theta with middle + away.
    """
    found = 0.0
    for j in range(len(theta)):
        theta[j] = middle[j] + away[j]
        if theta[j] < 0.0:
            return -inf
        ratio = away[j] / middle[j]
        found += 0.5 * (ratio * ratio - law.lam * theta[j] * theta[j])
    see(parts, away, chances)
    for r in range(len(chances)):
        found += 0.5 * weight[r] * chances[r] * chances[r]
    see(parts, theta, chances)
    if law.log_ratio == 0.0:
        return found - divergence(parts, counts, totals, chances, NONE)
    found -= 0.5 * law.envelope * distance(parts, counts, totals, chances)
    if law.log_ratio == -inf:
        return found
    return found + min(0.0, log_ratio(parts, law, counts, totals, chances) - law.log_ratio)


@compiled(inline="always", allocates=False)
def walk(parts, law, counts, totals, middle, work, steps, i):
    """Make steps of the chain, and leave where it arrives in theta."""
    own, theta, chances = work.own[i], work.theta[i], work.chances[i]
    weight, away, aside, step = work.weight[i], work.away[i], work.aside[i], work.step[i]
    start = work.start[i]
    d = len(theta)
    now = height(parts, law, counts, totals, middle, weight, away, theta, chances)
    for _ in range(steps):
        deviate(work.factor[i], own, step)
        for j in range(d):
            aside[j] = 0.0
            for x in range(d - 1):
                aside[j] += parts.basis[j, x] * step[x]
            start[j] = away[j]
        level = now - chance.exponential(own)
        angle = 2.0 * pi * chance.uniform(own)
        low, high = angle - 2.0 * pi, angle
        for _ in range(SHRINKS):
            along, across = cos(angle), sin(angle)
            for j in range(d):
                away[j] = along * start[j] + across * aside[j]
            now = height(parts, law, counts, totals, middle, weight, away, theta, chances)
            if now >= level:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * chance.uniform(own)


# -- draws -----------------------------------------------------------------------------------------


@compiled(inline="always", allocates=False)
def most_observed(totals):
    """Return the partition with the most observations."""
    main = np.int64(0)
    for g in range(1, len(totals)):
        if totals[g] > totals[main]:
            main = g
    return main


@compiled(allocates=False)
def draw(parts, law, belief, work, exact, i):
    """Draw theta for replicate i, with its private stream; return whether the draw is exact.

    ``exact`` says whether the last draw of the same posterior was, FIRST if there was none: if not,
    the chain goes on.
    """
    counts, totals, middle = belief.counts[i], belief.totals[i], belief.middle[i]
    own, theta, chances = work.own[i], work.theta[i], work.chances[i]
    factor, mean, step = work.factor[i], work.mean[i], work.step[i]
    steps = law.between
    if exact:
        main = most_observed(totals)
        for tried in range(law.tries):
            if law.log_ratio == 0.0 and from_partition(
                parts, law, counts, totals, main, own, theta, chances
            ):
                return True
            if tried == 0:
                prepare(parts, law, counts, totals, work.weight[i], factor, mean)
            if from_normal(parts, law, counts, totals, factor, mean, own, step, theta, chances):
                return True
        start_chain(parts, law, counts, totals, middle, work, i)
        steps = law.steps
    walk(parts, law, counts, totals, middle, work, steps, i)
    return False


@compiled(allocates=False)
def draw_all(parts, law, belief, work, numbers, out, exact):
    """Fill out (n, draws, d) with draws and exact (n, draws) with whether they are exact.

    Each replicate starts its stream with one of the uniform numbers (n,).
    """
    for i in range(len(numbers)):
        chance.start(work.own[i], numbers[i])
        is_exact = FIRST
        for m in range(out.shape[1]):
            is_exact = draw(parts, law, belief, work, is_exact, i)
            exact[i, m] = is_exact
            for j in range(out.shape[2]):
                out[i, m, j] = work.theta[i, j]
