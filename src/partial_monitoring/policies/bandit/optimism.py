"""Optimism: LinUCB (OFUL) and GP-UCB, for bandits whose actions show their own reward.

Abbasi-Yadkori, Pal and Szepesvari, "Improved algorithms for linear stochastic bandits" (2011);
Srinivas, Krause, Kakade and Seeger (2010) and Chowdhury and Gopalan (2017) for functions. With the
estimate over the affine hull of Theta and the norm of V_t^-1 both play the largest

    <phi_a, theta_hat> + c |phi_a|,    c = beta_t^(1/2) unless an option says otherwise.

Neither asks what an action tells. Where an action does not show its own reward they may never find
out what is best, so such games are refused unless asked for, as a negative control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.estimation.confidence import Width
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.bandit.index import FunctionIndexPolicy, LinearIndexPolicy
from partial_monitoring.policies.bandit.program import index_program
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.function_program import fitting, function_index_program
from partial_monitoring.validation import Array, boolean, one_of, positive_number

UCB_WIDTHS = ("confidence", "srinivas")
"""How wide GP-UCB is: beta_t of the confidence set, or that of Srinivas et al."""


@dataclass(frozen=True)
class LinUCB(LinearIndexPolicy):
    """Optimism: play the action whose reward may be the largest.

    Parameters
    ----------
    confidence, regularization, prior_mean, norm_bound, half_life
        As for :class:`partial_monitoring.IDS`; E_t is not cut by Theta here.
    allow_partial
        Play games whose actions do not show their own reward, as a negative control.
    relative
        Compare with the action g that looks best: play the largest <phi_a - phi_g, theta_hat> +
        beta_t^(1/2) |phi_a - phi_g|. What all features have in common then plays no role.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.linear_bandit()
    >>> result = pm.simulate(game, "linucb", [0.5, 0, 0], horizon=50, seeds=4)
    >>> result.regret["linucb"].shape == (4, len(result.checkpoints))
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "bandits: each action shows its own reward",
        "O~(d n^(1/2))",
        "O(k d^2)",
        "Abbasi-Yadkori, Pal and Szepesvari (2011)",
    )

    relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        boolean("relative", self.relative)

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        if not self.relative:
            reach = np.sqrt(confidence.beta)[:, None]
            return np.asarray(confidence.means + reach * confidence.lengths)
        rows = []
        for row, means in enumerate(confidence.means):
            greedy = int(means.argmax())
            rows.append(means - means[greedy] + confidence.widths(row, greedy))
        return np.array(rows)

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        return index_program(self, state, "relative" if self.relative else "optimistic")


@dataclass(frozen=True)
class GPUCB(FunctionIndexPolicy):
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

    card: ClassVar[Card] = Card(
        "stochastic",
        "kernel games whose actions show their own reward",
        "O~(gamma_n n^(1/2)), gamma_n the information gain",
        "O(k t)",
        "Srinivas, Krause, Kakade and Seeger (2010)",
    )

    width: str = "confidence"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("width", self.width, UCB_WIDTHS)
        positive_number("factor", self.factor)

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        if self.width == "confidence":
            reach = np.sqrt(confidence.beta)
        else:
            reach = confidence.noise_std * np.sqrt(self._beta(confidence))
        width = self.factor * reach[:, None] * confidence.lengths
        return np.asarray(confidence.means + width)

    def _beta(self, confidence: ConfidenceSet) -> Array:
        """Return 2 log(k t^2 pi^2 / (6 delta_t)), shape (n,)."""
        t = confidence.round.astype(float)
        others = np.log(confidence.means.shape[1] * np.pi**2 / 6)
        return np.asarray(2.0 * (others + 2.0 * np.log(t) + self.confidence(t)))

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        reach = None
        if self.width == "srinivas" and isinstance(self.confidence, Width):
            design = fitting(self, state)
            early, later = self.confidence(np.exp([0.0, 1.0])).tolist()  # affine in log t
            base = early + float(np.log(design.game.k * np.pi**2 / 6))
            reach = 2, base, 2.0 + later - early, 2.0 * design.noise_std**2, 0.0
        return function_index_program(self, state, "optimistic", reach, factor=self.factor)
