"""Whether two policies differ: tests of mean regret that pair the policies seed by seed.

Both policies of a pair face the same outcomes and noise on each seed. The mean of the differences
is tested by betting against it (Waudby-Smith and Ramdas, 2024): if differences x_i of at most R
have mean zero or more, the fortune of a gambler who stakes the share u of it on x being negative,

    W(u) = prod_i (1 - u x_i / R),  0 < u < 1,

is 1 on average, and so is the average of W over several u. Markov's inequality then makes 1 / W a
p-value, for any number of seeds and however skewed the differences are. Regret often is: a few
seeds lose much, and tests that assume symmetric or normal differences (signs flipped at random,
Student's t) then call too many differences clear.

What has to be assumed is that no difference exceeds R, for which the largest one that was seen is
taken. No test can account for losses that no seed shows, so nothing is clear with fewer seeds than
``FEWEST``: that many see what hits one seed in twenty. With losses that are rarer still, the level
does not hold: 59 seeds miss a loss that hits one in fifty in 30 % of all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import logsumexp, stdtrit

from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array

LEVEL = 0.05
"""Level of the test: a difference is called clear if its adjusted p-value is below this."""

FEWEST = int(np.ceil(np.log(LEVEL) / np.log(1 - LEVEL)))
"""59 seeds miss losses that hit one seed in twenty at most one time in twenty."""

SAME = 1e-9
"""Regrets closer than this, relative to the larger one, are a tie: rounding of sums."""

BETS = 64
"""Number of stakes u that are averaged, with the weights of Gauss and Legendre."""


@dataclass(frozen=True)
class Pair:
    """Two policies on the same seeds of one instance."""

    first: str
    second: str
    difference: float
    """Mean regret of the first less that of the second; negative if the first is better."""
    low: float
    high: float
    """A 95 % interval of the difference for normal means (Student); nan for a single seed."""
    p: float
    adjusted: float
    """The p-value after Holm's correction for all pairs of the instance."""
    seeds: int
    """On how many seeds both were played."""

    @property
    def clear(self) -> bool:
        """Whether the difference is significant."""
        return self.adjusted < LEVEL and self.seeds >= FEWEST

    @property
    def better(self) -> str | None:
        """The policy that is clearly better, if one is."""
        if not self.clear:
            return None
        return self.first if self.difference < 0 else self.second


def pairs(result: Result) -> list[Pair]:
    """Compare the final regret of every two policies.

    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "ids", "random", horizon=9, seeds=3)
    >>> pairs(result)
    []
    """
    names = list(combinations(result.policies, 2))
    if not names:
        return []
    final = {name: result.regret[name][:, -1] for name in result.policies}
    apart = [difference(final[a], final[b]) for a, b in names]
    differences = [own[~np.isnan(own)] for own in apart]  # on the seeds that both have played
    p = [float(betting_test(own[:, None])[0]) for own in differences]
    found = []
    for (a, b), own, raw, after in zip(names, differences, p, holm(p), strict=True):
        n, mean, half = len(own), own.mean(), np.nan
        if n > 1:
            half = stdtrit(n - 1, 0.975) * own.std(ddof=1) / np.sqrt(n)
        numbers = float(mean), float(mean - half), float(mean + half), raw, float(after)
        found.append(Pair(a, b, *numbers, n))
    return found


def too_few(seeds: int) -> bool:
    """Whether a number of seeds cannot prove any order.

    >>> too_few(58), too_few(59)
    (True, False)
    """
    return seeds < FEWEST


def difference(a: Array, b: Array) -> Array:
    """Return a - b, exactly zero where the two are the same up to rounding."""
    apart = a - b
    tie = abs(apart) <= SAME * np.maximum(abs(a), abs(b))
    return np.where(tie, 0.0, apart)


def betting_test(differences: Array, largest: float | None = None) -> Array:
    """Return two-sided p-values of mean zero, (seeds, pairs) -> (pairs,).

    No difference must exceed ``largest``, by default the largest one of each pair. Differences that
    are all zero decide nothing (p = 1).

    >>> betting_test(np.ones((10, 1)))  # 2 * 11 / (2^11 - 1)
    array([0.01074744])
    """
    seen = abs(differences).max(axis=0) if largest is None else largest
    shares = differences / np.where(seen == 0, 1.0, seen)
    nodes, weights = leggauss(BETS)
    fortunes = [
        [np.log1p(-sign * (1 + node) / 2 * shares).sum(axis=0) for node in nodes]
        for sign in (-1, 1)
    ]
    gained = logsumexp(fortunes, axis=1, b=weights[None, :, None] / 2)  # (2, pairs)
    return np.asarray(np.exp(np.minimum(np.log(2.0) - gained.max(axis=0), 0.0)))


def holm(p: Array | Sequence[float]) -> Array:
    """Adjust p-values so that the chance of any false claim stays below the level (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
