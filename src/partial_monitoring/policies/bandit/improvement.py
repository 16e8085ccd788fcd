"""Expected improvement, for kernelized bandits.

Mockus (1975); Jones, Schonlau and Welch (1998). From the posterior of the rewards, with mean f_hat,
covariance (rho^2 / lambda) C and s_a = rho (C_aa / lambda)^(1/2), it plays the largest

    E max(f_a - max_b f_hat_b - jitter, 0) = s_a (z Phi(z) + phi(z))
    with z = (f_hat_a - max_b f_hat_b - jitter) / s_a.

With lambda = rho^2, the default here, it is the posterior of a Gaussian process with the kernel of
the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.bandit.index import FunctionIndexPolicy
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.function_program import function_index_program
from partial_monitoring.validation import Array, non_negative_number


@dataclass(frozen=True)
class ExpectedImprovement(FunctionIndexPolicy):
    """Play what is expected to improve most on the best value that is believed in.

    Parameters
    ----------
    confidence, regularization, norm_bound, allow_partial
        As for :class:`GPUCB`; the confidence set only enters the gaps of decisions.
    jitter
        Only what is above the best by more than this counts as an improvement.

    Notes
    -----
    Values are seen with noise, so what is to be improved is the largest posterior mean of the
    candidates that can be played. If no candidate promises any improvement, that one is played.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.kernelized_bandit()
    >>> result = pm.simulate(game, "expected_improvement", "random", horizon=20, seeds=2)
    >>> result.policies
    ['expected_improvement']
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "kernel games whose actions show their own reward",
        "none for noisy observations",
        "O(k t)",
        "Jones, Schonlau and Welch (1998)",
    )

    jitter: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        non_negative_number("jitter", self.jitter)

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        best = confidence.means.max(axis=1, keepdims=True)
        std = confidence.noise_std * confidence.lengths
        return expected_gain(confidence.means - best - self.jitter, std)

    def best(self, confidence: ConfidenceSet, index: Array) -> NDArray[np.int64]:
        """Return the most promising actions, or what looks best if none promises anything."""
        action = super().best(confidence, index)
        promised = np.take_along_axis(index, action[:, None], axis=1)[:, 0]
        return np.where(promised > 0, action, confidence.means.argmax(axis=1))

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        return function_index_program(self, state, "improving", jitter=self.jitter)


def expected_gain(mean: Array, std: Array) -> Array:
    """Return E max(X, 0) of normal X with these means and standard deviations."""
    from scipy.special import erfcx

    some = std > 0
    z = mean / np.where(some, std, 1.0)
    # z Phi(z) + phi(z) for z below zero, with Phi as a multiple of phi, so that nothing is lost
    # far below; above, E max(X, 0) = E X + E max(-X, 0).
    below = -np.abs(z)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    tail = density * np.maximum(1 + below * np.sqrt(np.pi / 2) * erfcx(-below / np.sqrt(2)), 0.0)
    return np.asarray(np.where(some, std * tail, 0.0) + np.maximum(mean, 0.0))
