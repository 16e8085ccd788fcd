"""Thompson sampling: draw from the posterior, play what is best for the draw.

Agrawal and Goyal (2013) and Abeille and Lazaric (2017) for parameters, Chowdhury and Gopalan (2017)
for functions, Sui, Zhuang, Burdick and Yue (2017) for duels. A draw is

    theta ~ N(theta_hat, c^2 V_t^-1),    or    f = f_hat + c lambda^(-1/2) U z,  U U' = C

with z standard normal, at all candidates together. For a duel two functions are drawn, and the best
item of one meets the best item of the other. Draws of functions are exact, from a root of C that is
brought along from round to round (``estimation.kernel.root``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import State, View
from partial_monitoring.policies.bandit.index import FunctionIndexPolicy, LinearIndexPolicy
from partial_monitoring.policies.bandit.program import index_program
from partial_monitoring.policies.card import Card
from partial_monitoring.policies.ids.duels import DuelPolicy, duels_of
from partial_monitoring.policies.ids.function_program import function_index_program
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.validation import Array, one_of, positive_number

WIDTHS = ("posterior", "confidence")
"""How widely is drawn: c is rho, the size of the noise, or beta_t^(1/2)."""


class Sampling:
    """What LinTS, GPTS and DuelingTS share: how widely and how they draw."""

    width: str
    factor: float

    def draws(self, state: State) -> int:
        """Return the number of uniform numbers that a round needs."""
        return state.normals

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        """Return the rewards of one draw for each replicate, shape (n, k)."""
        from partial_monitoring.numerics.compiled.normal import normals

        wide = self.width == "confidence"
        c = np.sqrt(confidence.beta)[:, None] if wide else confidence.noise_std
        return confidence.sample(normals(np.ascontiguousarray(uniforms)), self.factor * c)

    def check_draws(self) -> None:
        """Check the options."""
        one_of("width", self.width, WIDTHS)
        positive_number("factor", self.factor)


@dataclass(frozen=True)
class LinTS(LinearIndexPolicy, Sampling):
    """Thompson sampling: draw a parameter from the posterior, play what is best for it.

    Parameters
    ----------
    confidence, regularization, prior_mean, norm_bound, half_life, allow_partial
        As for :class:`LinUCB`.
    width
        "posterior": c = rho, the posterior of normal noise and the prior N(theta_0, rho^2/lambda
        I); "confidence": c = beta_t^(1/2), for which there are bounds of the regret.
    factor
        c is multiplied with it.

    Notes
    -----
    Theta only enters through its affine hull; a draw may lie outside. The index of a decision are
    the rewards of the draw; its distribution is given the draw, so it is all on one action (the
    probabilities of Thompson sampling have no closed form).

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.linear_bandit()
    >>> result = pm.simulate(game, "lints", [0.5, 0, 0], horizon=50, seeds=4)
    >>> result.regret["lints"].shape == (4, len(result.checkpoints))
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "bandits: each action shows its own reward",
        "O~(d^(3/2) n^(1/2)) with the width 'confidence'",
        "O(k d^2)",
        "Agrawal and Goyal (2013); Abeille and Lazaric (2017)",
    )

    width: str = "posterior"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_draws()

    index = Sampling.index

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        wide = self.width == "confidence"
        return index_program(self, state, "drawn", self.factor, wide=wide)


@dataclass(frozen=True)
class GPTS(FunctionIndexPolicy, Sampling):
    """Thompson sampling for functions: draw one from the posterior, play where it is largest.

    Parameters
    ----------
    confidence, regularization, norm_bound, allow_partial
        As for :class:`partial_monitoring.GPUCB`.
    width
        "posterior": c = rho, a draw from the posterior itself; "confidence": c = beta_t^(1/2), for
        which there are bounds of the regret.
    factor
        c is multiplied with it.

    Notes
    -----
    The index of a decision are the rewards of the draw; its distribution is given the draw, all on
    one action.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> game = pm.games.kernelized_bandit()
    >>> result = pm.simulate(game, "gp_ts", "random", horizon=20, seeds=2)
    >>> result.regret["gp_ts"].shape == (2, len(result.checkpoints))
    True
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "kernel games whose actions show their own reward",
        "O~(gamma_n n^(1/2)) with the width 'confidence'",
        "O(k t + k^2)",
        "Chowdhury and Gopalan (2017)",
    )

    width: str = "posterior"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_draws()

    needs: ClassVar[Needs] = Needs(function=True, duels=False, contexts=False, own_reward=True)
    drawing: ClassVar[bool] = True
    index = Sampling.index

    def program(self, state: Any) -> Any:
        """Return the compiled rounds of this policy, or say why there are none."""
        reach = (2, 1.0, 0.0, state.design.noise_std**2, 0.0)
        wide = None if self.width == "confidence" else reach
        return function_index_program(self, state, "drawn", wide, factor=self.factor)


@dataclass(frozen=True)
class DuelingTS(DuelPolicy, Sampling):
    """Thompson sampling for duels: draw two utilities, let their best items meet.

    Parameters
    ----------
    confidence, regularization, norm_bound, width, factor
        As for :class:`partial_monitoring.GPTS`.

    Notes
    -----
    It plays ``pm.games.kernelized_dueling`` and never lists the pairs. The distribution, gaps and
    information of a decision are those of the duels of the first item with every item, given the
    draws.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.kernelized_dueling(), pm.DuelingTS(), seed=0)
    >>> decision = learner.ask()
    >>> learner.tell(decision, [0.3])
    """

    card: ClassVar[Card] = Card(
        "stochastic",
        "duels over a kernel",
        "none is proven here",
        "O(items t + items^2)",
        "Sui, Zhuang, Burdick and Yue (2017)",
    )

    needs: ClassVar[Needs] = Needs(function=True, duels=True, contexts=False)
    drawing: ClassVar[bool] = True

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float | None = None
    norm_bound: float | None = None
    width: str = "posterior"
    factor: float = 1.0

    prior_mean = None

    def __post_init__(self) -> None:
        checked_options(self, ("confidence",))
        self.check_draws()

    def draws(self, state: State) -> int:
        """Return the number of uniform numbers that a round needs."""
        return 2 * state.normals

    def choose(self, view: View, uniforms: Array) -> Choices:
        confidence = view.confidence
        one, two = (self.index(confidence, half) for half in np.split(uniforms, 2, axis=1))
        first, second = one.argmax(axis=1), two.argmax(axis=1)
        base = np.minimum(confidence.greedy_gaps(), confidence.gap_ceiling)
        psi = np.array([confidence.distances(row, int(a)) for row, a in enumerate(first)])
        distribution = point_mass(second, one.shape[1])
        return duels_of(confidence, first, second, distribution, base, 0.5 * np.log1p(psi), two)
