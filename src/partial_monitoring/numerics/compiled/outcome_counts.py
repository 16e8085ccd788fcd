"""What is known about the outcomes of a finite game: counts, and the density of the posterior.

Actions show in which block of a partition of the outcomes the outcome lies. With N_r outcomes seen
in block r, n_g = sum of N_r over the blocks of partition g, p_r = N_r / n_g and q_r = theta(block
r), the posterior on the simplex is proportional to

    F(theta) = exp(-lam |theta|^2 / 2 - sum_g n_g KL(p_g || q_g)),

and KL(p || q) >= e |p - q|^2 / 2 for e = 1 (Pinsker) and e = 2 (because |x|_1^2 >= 2 |x|_2^2 where
the entries of x sum to 0), so that F <= G for the normal density

    G(theta) = exp(-lam |theta|^2 / 2 - (e / 2) sum_g n_g |p_g - q_g|^2).
"""

# mypy: ignore-errors

from math import inf, log
from typing import NamedTuple

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled

NONE = np.int64(-1)  # a literal would be another type, for which all is compiled once more
"""No partition."""

FITS = 2
"""Steps of expectation maximisation after every observation."""


class Partitions(NamedTuple):
    """What the actions of a game show; partitions without information are left out."""

    block: np.ndarray
    """The block of every outcome in every partition, numbered through, shape (g, d)."""
    first: np.ndarray
    """The first block of every partition, then the number of all, shape (g + 1,)."""
    size: np.ndarray
    """The number of outcomes in each block, shape (r,)."""
    shown: np.ndarray
    """The block that each symbol of each action means, -1 for no information, shape (k, m)."""
    basis: np.ndarray
    """Orthonormal directions of the simplex, shape (d, d - 1)."""
    seen: np.ndarray
    """The blocks in these directions, shape (r, d - 1)."""


class Law(NamedTuple):
    """What is drawn from."""

    lam: float
    envelope: float
    """e, 1 or 2."""
    log_ratio: float
    """log R: a draw from G is accepted with probability F / (R G), at most 1; 0 is exact."""
    tries: int
    steps: int
    """Of the chain, before its first draw."""
    between: int
    """Its steps from one draw to the next."""


class Belief(NamedTuple):
    """What n replicates have seen."""

    plays: np.ndarray
    """Shape (n, k)."""
    counts: np.ndarray
    """N_r, shape (n, r)."""
    totals: np.ndarray
    """n_g, shape (n, g)."""
    middle: np.ndarray
    """The most likely point with one more count for every outcome, nearly, shape (n, d); if there
    is one partition, the posterior mean for lam = 0."""


@compiled(allocates=False)
def see(parts, theta, chances):
    """Fill chances (r,) with the probabilities of all blocks."""
    for r in range(len(chances)):
        chances[r] = 0.0
    for g in range(len(parts.block)):
        for j in range(len(theta)):
            chances[parts.block[g, j]] += theta[j]


@compiled(allocates=False)
def learn(parts, belief, chances, action, shown, i):
    """Count what an action showed, (m,) one-hot, and move the middle; chances (r,) is scratch."""
    belief.plays[i, action] += 1
    found = NONE
    for s in range(len(shown)):
        if shown[s] > 0.5:
            found = parts.shown[action, s]
    if found < 0:
        return
    belief.counts[i, found] += 1.0
    total = float(len(belief.middle[i]))
    for g in range(len(parts.block)):
        if parts.first[g] <= found < parts.first[g + 1]:
            belief.totals[i, g] += 1.0
        total += belief.totals[i, g]
    middle = belief.middle[i]
    for _ in range(FITS):
        see(parts, middle, chances)
        for j in range(len(middle)):
            share = 1.0
            for g in range(len(parts.block)):
                r = parts.block[g, j]
                share += belief.counts[i, r] * middle[j] / chances[r]
            middle[j] = share / total


@compiled(allocates=False)
def divergence(parts, counts, totals, chances, skipped):
    """Return sum_g n_g KL(p_g || q_g) over all partitions but one (NONE: over all)."""
    found = 0.0
    for g in range(len(totals)):
        if g != skipped and totals[g] > 0.0:
            for r in range(parts.first[g], parts.first[g + 1]):
                if counts[r] > 0.0:
                    if chances[r] <= 0.0:
                        return inf
                    found += counts[r] * log(counts[r] / (totals[g] * chances[r]))
    return found


@compiled(allocates=False)
def distance(parts, counts, totals, chances):
    """Return sum_g n_g |p_g - q_g|^2."""
    found = 0.0
    for g in range(len(totals)):
        if totals[g] > 0.0:
            for r in range(parts.first[g], parts.first[g + 1]):
                apart = counts[r] - totals[g] * chances[r]
                found += apart * apart / totals[g]
    return found


@compiled(allocates=False)
def log_ratio(parts, law, counts, totals, chances):
    """Return log(F / G), never above 0 but for rounding."""
    near = 0.5 * law.envelope * distance(parts, counts, totals, chances)
    return near - divergence(parts, counts, totals, chances, NONE)


@compiled(allocates=False)
def learn_all(parts, belief, chances, actions, observations):
    """Count what the actions (n,) of all replicates showed, (n, m); chances (n, r) is scratch."""
    for i in range(len(actions)):
        learn(parts, belief, chances[i], actions[i], observations[i], i)
