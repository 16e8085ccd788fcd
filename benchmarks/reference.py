"""IDS as one would write it for one seed with NumPy: the loop to compare with."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def run(phi: Array, theta: Array, horizon: int, seed: int, *, relaxed: bool) -> float:
    """Play a linear bandit on R^d and return the regret."""
    rng = np.random.default_rng(seed)
    d = phi.shape[1]
    inverse, vector, log_det = np.eye(d), np.zeros(d), 0.0
    means = phi @ theta
    regret = 0.0
    for t in range(1, horizon + 1):
        estimate = inverse @ vector
        radius = np.sqrt(4 * np.log(t) + log_det) + 1.0
        values = phi @ estimate
        pulled = phi @ inverse
        if relaxed:
            greedy = int(values.argmax())
            away = phi - phi[greedy]
            width = radius * np.sqrt(np.einsum("ij,ij->i", away @ inverse, away))
            delta = (values - values[greedy] + width).max()
            gaps = delta + values[greedy] - values + width
            gaps[greedy] = delta
        else:
            cross = pulled @ phi.T
            own = np.diag(cross)
            width = np.sqrt(np.maximum(own[:, None] + own[None] - 2 * cross, 0))
            gaps = (values[None] + radius * width).max(axis=1) - values
        information = 0.5 * np.log1p(np.einsum("ij,ij->i", pulled, phi))
        first, second, share = best_pair(gaps, information)
        action = second if rng.random() < share else first
        regret += means.max() - means[action]
        row = phi[action]
        x = inverse @ row
        c = 1.0 + row @ x
        inverse = inverse - np.outer(x, x) / c
        vector = vector + row * (means[action] + rng.standard_normal())
        log_det += np.log(c)
    return float(regret)


def best_pair(gaps: Array, information: Array) -> tuple[int, int, float]:
    """Return the best mixture of the greedy action with one other, in closed form."""
    first = int(gaps.argmin())
    d, i = gaps - gaps[first], information - information[first]
    with np.errstate(all="ignore"):
        share = np.clip(gaps[first] / d - 2 * information[first] / i, 0, 1)
        share = np.where(i > 0, np.where(d > 0, share, 1.0), 0.0)
        ratio = (gaps[first] + share * d) ** 2 / (information[first] + share * i)
    second = int(np.nanargmin(ratio))
    return first, second, float(share[second])
