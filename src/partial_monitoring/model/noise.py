"""What a noisy observation of a mean looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from partial_monitoring.validation import Array, observation_array

NoiseFunction = Callable[[Array, float, np.random.Generator], Array]
"""(means of the rows (m_a,), noise_std of the action, generator) -> observation (m_a,)."""


@dataclass(frozen=True)
class Noise:
    """A distribution of observations with given means; bounded ones restrict the means."""

    draw: NoiseFunction
    low: float = -np.inf
    high: float = np.inf


def drawn(draw: NoiseFunction, means: Array, std: float, rng: np.random.Generator) -> Array:
    """Draw an observation with a user's own function, and refuse what is not one."""
    return observation_array("what noise returns", draw(means, std, rng), means.shape)


def disturbed(kind: object, means: Array, std: Array, draws: Array) -> Array:
    """Return observations with the given means (n, m) from normal or uniform draws (n, m).

    The sizes of the noise (n,) are those of normal observations.
    """
    match kind:
        case "gaussian":
            return np.asarray(means + std[:, None] * draws)
        case "bernoulli":
            return np.asarray(draws < means, dtype=float)
        case "sign":
            return np.where(draws < (1.0 + means) / 2.0, 1.0, -1.0)
    return np.asarray(means)


def outcome_limits(theta: Array) -> Array:
    """Return below which uniform number each outcome comes, shape (n, outcomes).

    Rounding must not pass the last outcome that has any probability.
    """
    weights = np.maximum(theta, 0.0)
    cumulative = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    beyond = np.arange(weights.shape[1]) >= last[:, None]
    return np.where(beyond, np.inf, cumulative)


def _gaussian(means: Array, std: float, rng: np.random.Generator) -> Array:
    observed: Array = means + std * rng.standard_normal(len(means))
    return observed


def _bernoulli(means: Array, std: float, rng: np.random.Generator) -> Array:
    return (rng.random(len(means)) < means).astype(float)


def _sign(means: Array, std: float, rng: np.random.Generator) -> Array:
    return np.where(rng.random(len(means)) < (1.0 + means) / 2.0, 1.0, -1.0)


def _none(means: Array, std: float, rng: np.random.Generator) -> Array:
    return means.copy()


NOISE = MappingProxyType(
    {
        "gaussian": Noise(_gaussian),
        "bernoulli": Noise(_bernoulli, 0.0, 1.0),
        "sign": Noise(_sign, -1.0, 1.0),
        "none": Noise(_none),
    }
)
"""By name: Gaussian, 0 or 1, -1 or 1, and no noise at all."""
