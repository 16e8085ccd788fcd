"""GP-UCB and expected improvement, for kernelized bandits.

Srinivas, Krause, Kakade and Seeger (2010) and Chowdhury and Gopalan (2017); Mockus (1975) and
Jones, Schonlau and Welch (1998). Both decide from the posterior of the rewards, with mean f_hat,
covariance (rho^2 / lambda) C and s_a = rho (C_aa / lambda)^(1/2):

    GP-UCB   plays the largest  f_hat_a + b_t^(1/2) s_a,
    EI       plays the largest  E max(f_a - max_b f_hat_b - jitter, 0) = s_a (z Phi(z) + phi(z))
             with z = (f_hat_a - max_b f_hat_b - jitter) / s_a.

With lambda = rho^2, the default here, it is the posterior of a Gaussian process with the kernel of
the game. Neither looks at what an action tells, so games whose actions do not show their own reward
are refused, unless asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule, confidence_set
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.shapes import Shape
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.policies.bandit.optimism import largest_index, refuse_silent
from partial_monitoring.policies.estimating import LinearPolicy
from partial_monitoring.policies.policy import Choices, all_on
from partial_monitoring.validation import (
    Array,
    boolean,
    non_negative_number,
    one_of,
    positive_number,
)

UCB_WIDTHS = ("confidence", "srinivas")
"""How wide GP-UCB looks: beta_t of the confidence set, or that of Srinivas et al."""


@dataclass(frozen=True)
class GaussianProcessPolicy(LinearPolicy):
    """What these policies share: the posterior, and everything but the index."""

    kernelized: ClassVar[bool] = True

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float | None = None
    norm_bound: float | None = None
    allow_partial: bool = False

    prior_mean = None
    """It is zero."""

    def __post_init__(self) -> None:
        checked_options(self, ("confidence",))
        boolean("allow_partial", self.allow_partial)

    def accept(self, game: AnyGame) -> None:
        """Refuse what is not a kernel game, duels, and actions that hide their own reward."""
        name = type(self).__name__
        if isinstance(game, Duels):
            raise InvalidInput(
                f"{name} cannot play duels, which show differences; use DuelingIDS or DuelingTS."
            )
        if not isinstance(game, FunctionGame):
            raise InvalidInput(f"{name} plays kernel games (pm.KernelGame); got {game!r}.")
        if not self.allow_partial:
            refuse_silent(name, game)

    def _choices(
        self, confidence: KernelConfidence, index: Array, available: Array | None
    ) -> Choices:
        """Play the largest index (n, k); gaps are those of the confidence set."""
        width = np.sqrt(confidence.beta)[:, None] * lengths(confidence.data)
        return largest_index(confidence, width, index, available)


@dataclass(frozen=True)
class GPUCB(GaussianProcessPolicy):
    """Optimism about a function: play where its value may be the largest.

    Parameters
    ----------
    confidence
        Failure probabilities delta_t: ``pm.confidence.paper()`` or ``.fixed(delta)``.
    regularization
        lambda; rho^2 unless given.
    norm_bound
        B; that of the game unless given.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.
    width
        "confidence": b_t = beta_t / rho^2 with beta_t^(1/2) = rho (2 log 1/delta_t + log det(I +
        K_t / lambda))^(1/2) + lambda^(1/2) B, for functions whose norm is at most B (IGP-UCB);
        "srinivas": b_t = 2 log(k t^2 pi^2 / (6 delta_t)), for draws of the Gaussian process.
    factor
        The width is multiplied with it. Srinivas et al. play with 5^(-1/2) = 0.45.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.kernelized_bandit()
    >>> result = pm.simulate(game, "gp_ucb", "random", horizon=20, seeds=2)
    >>> result.regret["gp_ucb"].shape == (2, len(result.checkpoints))
    True
    """

    width: str = "confidence"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("width", self.width, UCB_WIDTHS)
        positive_number("factor", self.factor)

    def choose(
        self, estimate: KernelEstimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Choose actions."""
        confidence = confidence_set(estimate, shape, self.confidence)
        if self.width == "confidence":
            reach = np.sqrt(confidence.beta)
        else:
            reach = estimate.model.noise_std * np.sqrt(self._beta(estimate))
        index = estimate.means + self.factor * reach[:, None] * lengths(estimate)
        return self._choices(confidence, index, available)

    def _beta(self, estimate: KernelEstimate) -> Array:
        """Return 2 log(k t^2 pi^2 / (6 delta_t)), shape (n,)."""
        t = estimate.round.astype(float)
        others = np.log(estimate.model.game.k * np.pi**2 / 6)
        return np.asarray(2.0 * (others + 2.0 * np.log(t) + self.confidence(t)))


@dataclass(frozen=True)
class ExpectedImprovement(GaussianProcessPolicy):
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

    jitter: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        non_negative_number("jitter", self.jitter)

    def choose(
        self, estimate: KernelEstimate, shape: Shape, uniforms: Array, available: Array | None
    ) -> Choices:
        """Choose actions."""
        confidence = confidence_set(estimate, shape, self.confidence)
        means = estimate.means
        if available is not None:
            means = np.where(np.asarray(available), means, -np.inf)
        best = means.max(axis=1, keepdims=True)
        std = estimate.model.noise_std * lengths(estimate)
        index = expected_gain(estimate.means - best - self.jitter, std)
        choices = self._choices(confidence, index, available)
        promised = np.take_along_axis(index, choices.action[:, None], axis=1)[:, 0]
        action = np.where(promised > 0, choices.action, means.argmax(axis=1))
        return replace(choices, action=action, distribution=all_on(action, means.shape[1]))


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


def lengths(estimate: KernelEstimate) -> Array:
    """Return |phi_a| in the norm of V_t^-1, shape (n, k)."""
    return np.asarray(np.sqrt(np.maximum(estimate.variances, 0.0)))
