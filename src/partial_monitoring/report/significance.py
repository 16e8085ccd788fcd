"""Whether two policies differ: tests that pair them seed by seed.

Both policies of a pair face the same outcomes and noise on each seed. If they were equally good,
the sign of each seed's difference would be a fair coin flip; the p-value is the share of all such
signs for which the mean difference is at least as large as the observed one. The test is exact for
few seeds, is not misled by single large losses, and tests what the tables show, the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array

LEVEL = 0.05
"""A difference is called clear if chance alone would show one as large less often than this."""

SAME = 1e-9
"""Regrets closer than this, relative to the larger one, are a tie: rounding of sums."""

MOST_EXACT = 13
"""Largest number of seeds for which all 2^n signs are tried, and not ``DRAWS`` random ones."""

DRAWS = 9999
CHUNK = 4_000_000
"""Signs held in memory at once."""


@dataclass(frozen=True)
class Pair:
    """Two policies on the same seeds of one instance."""

    first: str
    second: str
    difference: float
    """Mean regret of the first less that of the second; negative if the first is better."""
    low: float
    high: float
    """A 95 % interval of the difference (Student); nan for a single seed."""
    p: float
    adjusted: float
    """The p-value after Holm's correction for all pairs of the instance."""

    @property
    def clear(self) -> bool:
        """Whether the difference is significant."""
        return self.adjusted < LEVEL

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
    differences = np.column_stack([difference(final[a], final[b]) for a, b in names])
    p = sign_flip_test(differences)
    n, means = len(differences), differences.mean(axis=0)
    half = np.full(len(names), np.nan)
    if n > 1:
        half = stdtrit(n - 1, 0.975) * differences.std(axis=0, ddof=1) / np.sqrt(n)
    return [
        Pair(a, b, float(m), float(m - h), float(m + h), float(raw), float(after))
        for (a, b), m, h, raw, after in zip(names, means, half, p, holm(p), strict=True)
    ]


def too_few(seeds: int, count: int) -> bool:
    """Whether a number of seeds cannot decide anything about a number of pairs of policies.

    >>> too_few(5, 1), too_few(6, 1), too_few(8, 45)
    (True, False, True)
    """
    return count * 2.0 ** (1 - seeds) >= LEVEL


def difference(a: Array, b: Array) -> Array:
    """Return a - b, exactly zero where the two are the same up to rounding."""
    apart = a - b
    tie = abs(apart) <= SAME * np.maximum(abs(a), abs(b))
    return np.where(tie, 0.0, apart)


def sign_flip_test(differences: Array) -> Array:
    """Return two-sided p-values of mean zero, (seeds, pairs) -> (pairs,).

    One seed decides nothing (p = 1), and so do differences that are all zero.

    >>> sign_flip_test(np.array([[1.0], [2.0], [1.5]]))  # 2 of the 8 signs are as extreme
    array([0.25])
    """
    n = len(differences)
    seen = abs(differences.sum(axis=0)) * (1 - SAME)
    if n <= MOST_EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return np.asarray((abs((1.0 - 2.0 * bits) @ differences) >= seen).mean(axis=0))
    rng = np.random.default_rng(0)
    extreme = np.ones(differences.shape[1])  # the observed signs are one of the draws
    left = DRAWS
    while left > 0:
        rows = min(left, max(1, CHUNK // n))
        signs = 2.0 * rng.integers(0, 2, (rows, n)) - 1.0
        extreme += (abs(signs @ differences) >= seen).sum(axis=0)
        left -= rows
    return extreme / (DRAWS + 1)


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
