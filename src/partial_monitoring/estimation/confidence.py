"""Confidence sets E_t: what they answer, and how wide they are (section 3.1).

E_t = {theta in Theta : |theta - theta_hat|_{V_t}^2 <= beta_t}
beta_t^(1/2) = rho (2 log 1/delta + log det W_t - r log lambda)^(1/2) + lambda^(1/2) B

Gaps, information, optimism, Thompson sampling and a learner's status ask E_t and nothing else. It
is seen through k actions that compete in groups: one group in a plain game, one per context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import (
    Array,
    Indices,
    brief,
    non_negative_number,
    positive_number,
    real_array,
    real_number,
    set_fields,
)

__all__ = ["ConfidenceSet", "calibrated", "deviations", "fixed", "likelihood_ratio", "paper"]


def __dir__() -> list[str]:
    return __all__


Schedule = Callable[[Array], Array]
"""t (n,) -> log(1 / delta_t) (n,), the logarithm of one over the failure probability."""


class Scale(Protocol):
    """The constants rho, lambda and B that the width of a confidence set depends on."""

    @property
    def noise_std(self) -> float: ...
    @property
    def regularization(self) -> float: ...
    @property
    def norm_bound(self) -> float: ...


class Width(ABC):
    """A schedule of the library: besides delta_t, it knows beta_t."""

    @property
    def promise(self) -> str:
        """What is proven of IDS with this width, in words; nothing if E_t need not hold theta."""
        return ""

    @abstractmethod
    def __call__(self, t: Array) -> Array:
        """Return log(1 / delta_t), shape (n,)."""

    def squared_radius(self, scale: Scale, t: Array, log_det: Array) -> Array:
        """Return beta_t, shape (n,)."""
        return _squared_radius(scale, self(t), log_det)


@dataclass(frozen=True)
class Paper(Width):
    """delta = 1/t^2, for bounds of the expected regret."""

    @property
    def promise(self) -> str:
        return "the bound of its expected regret holds, if the model does"

    def __call__(self, t: Array) -> Array:
        return 2.0 * np.log(t)


@dataclass(frozen=True)
class Fixed(Width):
    """One failure probability for all rounds, for bounds that hold with high probability."""

    failure_probability: float

    def __post_init__(self) -> None:
        delta = real_number("failure_probability", self.failure_probability)
        if not 0 < delta <= 1:
            raise InvalidInput(f"failure_probability must lie in (0, 1]; got {brief(delta)}.")
        set_fields(self, failure_probability=delta)

    @property
    def promise(self) -> str:
        chance = f"{100 * (1 - self.failure_probability):.4g} %"
        return f"with probability {chance} the bound of its regret holds, if the model does"

    def __call__(self, t: Array) -> Array:
        return np.full(np.shape(t), -np.log(self.failure_probability))


@dataclass(frozen=True)
class LikelihoodRatio(Fixed):
    """E_t holds what a mixture does not beat by more than 1/delta, for all rounds at once.

    Here for least squares; finite games have sets of their own, ``estimation/likelihood``.
    """

    counts_signals: ClassVar[bool] = True
    """Whether it asks for the counts of signals in finite games."""

    def squared_radius(self, scale: Scale, t: Array, log_det: Array) -> Array:
        spread = scale.noise_std**2 * (2.0 * self(t) + log_det)
        return np.asarray(spread + scale.regularization * scale.norm_bound**2)


@dataclass(frozen=True)
class Deviations(Width):
    """beta_t^(1/2) = number rho: that many posterior standard deviations in each direction."""

    number: float

    def __post_init__(self) -> None:
        set_fields(self, number=positive_number("number", self.number))

    def __call__(self, t: Array) -> Array:
        return 0.5 * self.number**2 * np.ones(np.shape(t))

    def squared_radius(self, scale: Scale, t: Array, log_det: Array) -> Array:
        return np.full(len(t), (self.number * scale.noise_std) ** 2)


@dataclass(frozen=True)
class Calibrated(Width):
    """beta_t = rho^2 (c0 + c1 log t), widths that were chosen by their regret."""

    c0: float = 3.0
    c1: float = 0.25

    def __post_init__(self) -> None:
        c0, c1 = non_negative_number("c0", self.c0), non_negative_number("c1", self.c1)
        if not c0 + c1 > 0:
            raise InvalidInput("c0 and c1 must not both be zero.")
        set_fields(self, c0=c0, c1=c1)

    def __call__(self, t: Array) -> Array:
        return np.asarray(0.5 * (self.c0 + self.c1 * np.log(t)))

    def squared_radius(self, scale: Scale, t: Array, log_det: Array) -> Array:
        return np.asarray(scale.noise_std**2 * (self.c0 + self.c1 * np.log(t)))


def paper() -> Paper:
    """Return the schedule delta = 1/t^2."""
    return Paper()


def fixed(failure_probability: float) -> Fixed:
    """Return the schedule with one failure probability for all rounds."""
    return Fixed(failure_probability)


def calibrated(c0: float = 3.0, c1: float = 0.25) -> Calibrated:
    """Return beta_t = rho^2 (c0 + c1 log t), practical widths for every kind of game.

    No bound of the regret is proven for them. Larger constants explore more.

    Parameters
    ----------
    c0
        The squared number of posterior standard deviations at the start.
    c1
        By how much it grows; with 0 the sets of all rounds are ``deviations(c0 ** 0.5)``.

    Notes
    -----
    Chosen on fifteen opponents of finite games (apple tasting, label-efficient prediction, prices,
    Bernoulli arms; 10^4 rounds, 200 seeds) among (4, 0), (3, 1/4), (2, 1/2) and (2, 1): the least
    geometric mean of regrets, of those with which at most 3 % of the seeds of any opponent were
    still losing at the end. Two deviations throughout, (4, 0), have 7 % less regret there and up to
    7 % of such seeds. Confirmed on games that were not used: see docs/certified-sets.md.
    """
    return Calibrated(c0, c1)


def likelihood_ratio(failure_probability: float) -> LikelihoodRatio:
    """Return sets that contain the truth in all rounds at once, with probability 1 - delta.

    E_t = {theta in Theta : log-likelihood of a predictable mixture - log-likelihood of theta <= log
    1/delta}: by Ville's inequality no mixture ever beats the truth by more. The bound is for all
    rounds together, where ``paper`` pays for every round anew, so that these sets are narrower.

    - Finite games: the Krichevsky-Trofimov mixture of the signals, Dirichlet(1/2) for each
      different observation. E_t is convex and no ellipsoid. ``pm.gaps.exact`` and ``.relaxed`` and
      ``pm.information.log_det`` can be asked; ``pm.ContextualIDS`` is refused.
    - All others (sub-Gaussian noise): the mixture N(theta_0, rho^2 / lambda I). E_t is the
      ellipsoid beta_t = rho^2 (log det(W_t / lambda) + 2 log 1/delta) + lambda B^2.

    Parameters
    ----------
    failure_probability
        delta, for the whole run.

    Notes
    -----
    Robbins (1970) for mixtures; Emmenegger, Mutny and Krause (2023) for such sets in bandits.
    """
    return LikelihoodRatio(failure_probability)


def deviations(number: float) -> Deviations:
    """Return beta_t^(1/2) = number rho, that many standard deviations of the posterior.

    The posterior is that of normal noise and the prior N(theta_0, rho^2 / lambda). Two to four
    deviations are often enough for one action; that the truth is in all of E_t is not guaranteed,
    and no bound of the regret holds.
    """
    return Deviations(number)


def squared_radius(schedule: Schedule, scale: Scale, rounds: Indices, log_det: Array) -> Array:
    """Return beta_t of replicates in their rounds (n,), shape (n,)."""
    t = rounds.astype(float)
    if isinstance(schedule, Width):
        return schedule.squared_radius(scale, t, log_det)
    name = "what the schedule confidence returns, log(1 / delta) of each replicate,"
    return _squared_radius(scale, real_array(name, schedule(t), (len(t),)), log_det)


def _squared_radius(scale: Scale, logarithms: Array, log_det: Array) -> Array:
    radius = (
        scale.noise_std * np.sqrt(np.maximum(2.0 * logarithms + log_det, 0.0))
        + sqrt(scale.regularization) * scale.norm_bound
    )
    return np.asarray(radius**2)


class Improvement(NamedTuple):
    """What may be better than the greedy action, in expectation, and what tells about it."""

    gaps: Array
    """The sum of all expected improvements, plus what an action seems to lose, shape (n, k)."""
    information: Array
    """How much of their variances one observation of an action explains, weighted with the
    improvements, shape (n, k)."""


def counted_once(copies: Indices, offered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which actions are rivals: of those that always earn the same the first, (n, k).

    Only actions that are offered (n, k) are; ``copies`` (k,) are the same for those that do.
    """
    counted = np.zeros(offered.shape, dtype=bool)
    for row, own in enumerate(offered):
        chosen = np.flatnonzero(own)
        counted[row, chosen[np.unique(copies[chosen], return_index=True)[1]]] = True
    return counted


class ConfidenceSet(ABC):
    """E_t of n replicates, seen through k actions in groups."""

    data: Any
    """The estimate around which it lies, with its design."""
    beta: Array
    """beta_t, the squared radius, shape (n,)."""

    # -- what is known ---------------------------------------------------------------------------

    @property
    def game(self) -> Any:
        """The game whose actions these are."""
        return self.data.design.game

    @property
    def parameters(self) -> ParameterSet:
        """Theta."""
        found: ParameterSet = self.game.parameters
        return found

    @property
    def groups(self) -> Indices:
        """Where each group of competing actions starts, then k, shape (groups + 1,)."""
        return self.data.design.groups  # type: ignore[no-any-return]

    @property
    def k(self) -> int:
        """The number of actions."""
        return self.data.variances.shape[1]  # type: ignore[no-any-return]

    @property
    def round(self) -> Indices:
        """t, shape (n,)."""
        return self.data.round  # type: ignore[no-any-return]

    @property
    def log_det(self) -> Array:
        """Log det W_t - r log lambda, twice the information gained so far, shape (n,)."""
        return self.data.log_det  # type: ignore[no-any-return]

    @property
    def noise_std(self) -> float:
        """Rho."""
        return self.data.design.noise_std  # type: ignore[no-any-return]

    @property
    def signals(self) -> Array:
        """M_a V_t^-1 M_a' on the directions of Theta, shape (n, k, m, m)."""
        return self.data.signals  # type: ignore[no-any-return]

    @property
    def gap_ceiling(self) -> Array:
        """T: no gap exceeds it for any parameter in Theta, shape (k,)."""
        return self.data.design.gap_ceiling  # type: ignore[no-any-return]

    @property
    def always_best(self) -> NDArray[np.bool_]:
        """Actions that are best in their group whatever the parameter in Theta, shape (k,)."""
        return self.data.design.always_best  # type: ignore[no-any-return]

    @property
    @abstractmethod
    def center(self) -> Array:
        """theta_hat, the estimate in E_t, shape (n, d)."""

    @property
    @abstractmethod
    def estimate(self) -> Array:
        """The estimate that a decision reports: theta_hat (n, d), or f_hat (n, k)."""

    @property
    @abstractmethod
    def means(self) -> Array:
        """Rewards at theta_hat, shape (n, k)."""

    @property
    @abstractmethod
    def lengths(self) -> Array:
        """|phi_a| in the norm of V_t^-1 on the directions of Theta, shape (n, k)."""

    @property
    @abstractmethod
    def outside(self) -> Array:
        """How far the data pull the estimate out of Theta, |.|^2 in the norm of V_t, (n,)."""

    @property
    @abstractmethod
    def uncut(self) -> ConfidenceSet:
        """The whole ellipsoid around the estimate on the affine hull of Theta."""

    # -- what a rule asks ------------------------------------------------------------------------

    @abstractmethod
    def exact_gaps(self) -> Array:
        """Return max over b in the group and theta in E_t of <phi_b - phi_a, theta>, (n, k)."""

    @abstractmethod
    def relaxed_gaps(self) -> Array:
        """Return delta + max over E_t of <phi_g - phi_a, theta>, with g the greedy action, (n, k).

        delta is the largest plausible gap of g.
        """

    @abstractmethod
    def greedy_gaps(self) -> Array:
        """Return delta + <phi_g - phi_a, theta_hat>, with delta not cut by Theta, (n, k)."""

    @abstractmethod
    def distances(self, row: int, action: int) -> Array:
        """Return |phi_a - phi_b|^2 in the norm of V_t^-1 for all a and one b, shape (k,)."""

    def widths(self, row: int, action: int) -> Array:
        """Return beta^(1/2) |phi_a - phi_b| for all a and one b, of the ellipsoid, shape (k,)."""
        return np.asarray(np.sqrt(self.distances(row, action) * self.beta[row]))

    @abstractmethod
    def duels(self) -> tuple[Array, Indices, Array]:
        """Return greedy gaps (n, k), the greedy action g (n,), and |phi_a - phi_g|^2 (n, k)."""

    @property
    @abstractmethod
    def improvement(self) -> Improvement:
        """Expected improvements over the greedy action of each group, and information on them."""

    @abstractmethod
    def improvement_of_duels(self) -> tuple[Improvement, Indices, Array]:
        """Return gaps of items and information of their duels with the greedy item g, (n, k).

        Then g itself (n,), and |phi_a - phi_g|^2 (n, k).
        """

    @abstractmethod
    def directed(self, *, relaxed: bool) -> Array:
        """Return the information about the two plausible optima that differ most, (n, k)."""

    @abstractmethod
    def ahead(self, row: int) -> tuple[Array, NDArray[np.bool_], Callable[[], NDArray[np.bool_]]]:
        """Return what one replicate may find better than the action g that looks best.

        How far each action may be ahead of g (k,), which may be at least as good (k,), and a
        function that decides which of those are best for some parameter in E_t (k,).
        """

    @abstractmethod
    def expected(self, game: Any, action: int) -> Array:
        """Return what an action of a game shows on average at theta_hat, shape (n, m_a)."""

    @abstractmethod
    def sample(self, normals: Array, scale: Array | float) -> Array:
        """Return the rewards of one draw theta ~ N(theta_hat, scale^2 V_t^-1) each, (n, k)."""

    @abstractmethod
    def restricted(self, actions: Indices) -> Self:
        """Return E_t, seen through some of the actions."""

    # -- the set itself --------------------------------------------------------------------------

    @abstractmethod
    def support(self, directions: ArrayLike) -> Array:
        """Return max <c, theta> over E_t for directions (q, d), shape (n, q)."""

    @abstractmethod
    def maximizer(self, directions: ArrayLike) -> Array:
        """Return where the maximum is attained, shape (n, q, d)."""

    @abstractmethod
    def observation_covariance(self, maps: ArrayLike) -> Array:
        """Return M V_t^-1 M' for maps (q, m, d), shape (n, q, m, m)."""
