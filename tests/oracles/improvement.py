"""Expected improvements and what observations tell about them, by loops over pairs."""

from __future__ import annotations

from math import erfc, exp, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gain(mean: float, std: float) -> float:
    """Return E max(X, 0) of normal X."""
    if std <= 0:
        return max(mean, 0.0)
    z = mean / std
    return std * exp(-z * z / 2) / sqrt(2 * pi) + mean * erfc(-z / sqrt(2)) / 2


def slow_improvement(
    means: Array,
    features: Array,
    maps: Array,
    inverse: Array,
    rho: float,
    t: int,
    groups: list[tuple[list[int], float]],
    power: float = 1.0,
    offered: Any = None,
    earned: Array | None = None,
) -> tuple[Array, Array]:
    """Return gaps and information (k,) of one replicate.

    ``groups`` are the actions of each group and its chance; ``inverse`` is V_t^-1 in the
    coordinates of features (k, r) and maps (k, m, r). Copies have the same rows of ``earned``,
    which are the features unless given.
    """
    k, rewards = len(means), features if earned is None else earned
    gaps, information = np.zeros(k), np.zeros(k)
    allowed = [True] * k if offered is None else list(offered)
    for actions, chance in groups:
        rivals: list[int] = []
        for a in actions:
            if allowed[a] and not any((rewards[a] == rewards[b]).all() for b in rivals):
                rivals.append(a)
        greedy = max(rivals, key=lambda a: (means[a], -a))
        worth = []
        for b in rivals:
            u = features[b] - features[greedy]
            size = float(u @ inverse @ u)
            both = sum(float(features[a] @ inverse @ features[a]) for a in (b, greedy))
            if b == greedy or size <= 1e-14 * both:  # rounding
                continue
            ahead, std = float(means[b] - means[greedy]), rho * sqrt(size)
            delta = gain(ahead, std) + max(0.0, ahead + sqrt(2 * log(t)) * std) / t
            worth.append(delta)
            for a in range(k):
                m = maps[a]
                left = np.linalg.inv(np.eye(len(m)) + m @ inverse @ m.T)
                shown = m @ inverse @ u
                information[a] += chance * delta * float(shown @ left @ shown) / size
        total = sum(own**power for own in worth) ** (1 / power)
        for a in actions:
            gaps[a] = max(total + means[greedy] - means[a], 0.0)
    return gaps, information
