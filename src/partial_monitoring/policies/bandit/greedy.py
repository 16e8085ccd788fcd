"""Policies that only compare estimated rewards: greedy, epsilon-greedy, inverse-gap weighting.

They know no confidence set: whether what they play shows anything is not asked. On bandits they are
what many systems run; on games whose best actions show nothing they are a negative control.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import paper
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import View
from partial_monitoring.policies.bandit.program import comparing_program
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.estimating import EstimatingPolicy
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, draw, point_mass
from partial_monitoring.validation import (
    Array,
    Indices,
    boolean,
    brief,
    positive_number,
    real_number,
)


@dataclass(frozen=True)
class Greedy(EstimatingPolicy):
    """Play what looks best.

    Parameters
    ----------
    regularization, prior_mean, norm_bound, half_life
        lambda, theta_0, B and how fast observations are forgotten, as for
        :class:`partial_monitoring.IDS`; the estimate is the least-squares estimate over Theta.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.greedy_exploration()
    >>> pm.simulate(game, "greedy", [0.6, 0.3], horizon=50, seeds=4).policies
    ['greedy']
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "every game whose actions are listed, but no duels",
        "none: linear regret where what is played shows nothing",
        "O(k d^2)",
        "none",
    )

    needs: ClassVar[Needs] = Needs(duels=False)

    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    half_life: float | None = field(default=None, kw_only=True)

    confidence = staticmethod(paper())
    """Used only by ``Learner.status``."""

    def __post_init__(self) -> None:
        checked_options(self, ())

    def distribution(self, means: Array, rounds: Indices) -> Array:
        """Return the probabilities (n, k) from estimated rewards (n, k) in rounds (n,)."""
        return point_mass(means.argmax(axis=1), means.shape[1])

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        return comparing_program(self, state, "greedy")

    def choose(self, view: View, uniforms: Array) -> Choices:
        confidence = view.confidence
        mu = self.distribution(confidence.means, confidence.round)
        return Choices(
            draw(mu, uniforms), mu, estimate=confidence.estimate, index=confidence.means.copy()
        )


@dataclass(frozen=True)
class EpsilonGreedy(Greedy):
    """Play what looks best, and now and then anything.

    Parameters
    ----------
    regularization, prior_mean, norm_bound, half_life
        As for :class:`Greedy`.
    epsilon
        The probability of playing any action, each as likely.
    decay
        With decay, epsilon_t = min(1, epsilon k t^(-1/3)): then regret grows like n^(2/3) where
        every action shows its own reward.
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "every game whose actions are listed, but no duels",
        "none for a fixed epsilon",
        "O(k d^2)",
        "none",
    )

    epsilon: float = 0.1
    decay: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        boolean("decay", self.decay)
        if not 0 <= real_number("epsilon", self.epsilon) <= 1:
            raise InvalidInput(f"epsilon must lie between 0 and 1; got {brief(self.epsilon)}.")

    def distribution(self, means: Array, rounds: Indices) -> Array:
        count = means.shape[1]
        share = np.full(len(means), float(self.epsilon))
        if self.decay:
            share = np.minimum(1.0, self.epsilon * count * rounds ** (-1.0 / 3.0))
        greedy = super().distribution(means, rounds)
        return np.asarray((1 - share[:, None]) * greedy + share[:, None] / count)

    def program(self, state: Any) -> Any:
        return comparing_program(self, state, "decaying" if self.decay else "mixed", self.epsilon)


@dataclass(frozen=True)
class SquareCB(Greedy):
    """Inverse-gap weighting: an action is played the less, the worse it looks.

    With b the action that looks best among k, every other action a is played with probability
    1 / (k + gamma_t (mean_b - mean_a)), b with the rest, gamma_t = exploration (k t)^(1/2).

    Parameters
    ----------
    regularization, prior_mean, norm_bound, half_life
        As for :class:`Greedy`.
    exploration
        Larger is greedier.

    Notes
    -----
    Abe and Long (1999), Foster and Rakhlin (2020). There gamma depends on the horizon and on the
    regret of the regression; here it follows the rounds.
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "bandits; every game whose actions are listed, but no duels",
        "O~((k d n)^(1/2)) on bandits",
        "O(k d^2)",
        "Foster and Rakhlin (2020)",
    )

    exploration: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_number("exploration", self.exploration)

    def distribution(self, means: Array, rounds: Indices) -> Array:
        count = means.shape[1]
        best = super().distribution(means, rounds) > 0
        top = means.max(axis=1, keepdims=True)
        gamma = self.exploration * np.sqrt(count * rounds)[:, None]
        weights = np.where(best, 0.0, 1.0 / (count + gamma * np.maximum(top - means, 0.0)))
        return np.asarray(np.where(best, 1.0 - weights.sum(axis=1, keepdims=True), weights))

    def program(self, state: Any) -> Any:
        return comparing_program(self, state, "inverse gap", self.exploration)
