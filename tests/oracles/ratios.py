"""The information ratio from its definition, and its minimum over pairs by search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KAPPAS = (2.0, 2.5, 3.0, 4.0)


def ratio(gap: Array, gain: Array, kappa: float = 2.0) -> Array:
    """Psi from its definition: 0/0 = 0 and 1/0 = inf."""
    safe = np.where(gain > 0, gain, 1.0)
    return np.where(gap <= 0, 0.0, np.where(gain > 0, gap**kappa / safe, np.inf))


def least_of_pairs(gaps: Array, information: Array, kappa: float = 2.0) -> float:
    """Minimise Psi over all mixtures of two actions by ternary search, without the closed form."""
    single = ratio(gaps, information, kappa)
    pairs = np.array(list(combinations(range(len(gaps)), 2)), dtype=int).reshape(-1, 2)
    a, b = pairs.T
    low, high = np.zeros(len(a)), np.ones(len(a))

    def at(p: Array) -> Array:
        return ratio(
            (1 - p) * gaps[a] + p * gaps[b], (1 - p) * information[a] + p * information[b], kappa
        )

    for _ in range(90):  # (2/3)^90 is 1e-16
        one, two = low + (high - low) / 3, high - (high - low) / 3
        left = at(one) <= at(two)
        low, high = np.where(left, low, one), np.where(left, two, high)
    return float(min(single.min(), at((low + high) / 2).min(initial=np.inf)))
