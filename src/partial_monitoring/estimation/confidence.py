"""How wide confidence sets E_t are (section 3.1).

E_t = {theta in Theta : |theta - theta_hat|_{V_t}^2 <= beta_t}
beta_t^(1/2) = rho (2 log 1/delta + log det W_t - r log lambda)^(1/2) + lambda^(1/2) B

What they answer is in ``confidence_set``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar, Protocol

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
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


Numbers = tuple[int, float, float, float, float]
"""The form of a width and its constants."""


class Width(ABC):
    """A schedule of the library: besides delta_t, it knows beta_t."""

    @property
    def promise(self) -> str:
        """What is proven of IDS with this width, in words; nothing if E_t need not hold theta."""
        return ""

    @property
    def proven(self) -> bool:
        """Whether E_t holds theta with probability 1 - delta_t, if the model holds."""
        return bool(self.promise)

    @abstractmethod
    def __call__(self, t: Array) -> Array:
        """Return log(1 / delta_t), shape (n,)."""

    @abstractmethod
    def numbers(self, scale: Scale) -> Numbers:
        """Return what beta_t is computed from, see ``compiled.linear.squared_radius``."""


@dataclass(frozen=True)
class Paper(Width):
    """delta = 1/t^2, for bounds of the expected regret."""

    @property
    def promise(self) -> str:
        return "the bound of its expected regret holds, if the model does"

    def __call__(self, t: Array) -> Array:
        return 2.0 * np.log(t)

    def numbers(self, scale: Scale) -> Numbers:
        return 0, 0.0, 2.0, scale.noise_std, _shift(scale)


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

    def numbers(self, scale: Scale) -> Numbers:
        return 0, -log(self.failure_probability), 0.0, scale.noise_std, _shift(scale)


@dataclass(frozen=True)
class LikelihoodRatio(Fixed):
    """E_t holds what a mixture does not beat by more than 1/delta, for all rounds at once.

    Here for least squares; finite games have sets of their own, ``estimation/likelihood``.
    """

    counts_signals: ClassVar[bool] = True
    """Whether it asks for the counts of signals in finite games."""

    @property
    def promise(self) -> str:
        return super().promise.replace("the bound", "a bound")  # of its own, not pm.bounds

    def numbers(self, scale: Scale) -> Numbers:
        shift = scale.regularization * scale.norm_bound**2
        return 1, -log(self.failure_probability), 0.0, scale.noise_std**2, shift


@dataclass(frozen=True)
class Deviations(Width):
    """beta_t^(1/2) = number rho: that many posterior standard deviations in each direction."""

    number: float

    def __post_init__(self) -> None:
        set_fields(self, number=positive_number("number", self.number))

    def __call__(self, t: Array) -> Array:
        return 0.5 * self.number**2 * np.ones(np.shape(t))

    def numbers(self, scale: Scale) -> Numbers:
        return 2, 1.0, 0.0, (self.number * scale.noise_std) ** 2, 0.0


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

    def numbers(self, scale: Scale) -> Numbers:
        return 2, self.c0, self.c1, scale.noise_std**2, 0.0


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
    if isinstance(schedule, Width):
        from partial_monitoring.numerics.compiled.linear import squared_radii

        return np.asarray(squared_radii(schedule.numbers(scale), rounds, log_det))
    t = rounds.astype(float)
    name = "what the schedule confidence returns, log(1 / delta) of each replicate,"
    spread = 2.0 * real_array(name, schedule(t), (len(t),)) + log_det
    return np.asarray((scale.noise_std * np.sqrt(np.maximum(spread, 0.0)) + _shift(scale)) ** 2)


def _shift(scale: Scale) -> float:
    """Return lambda^(1/2) B."""
    return sqrt(scale.regularization) * scale.norm_bound


def level(schedule: Schedule, t: int) -> float | None:
    """Return a probability with which E_t of round t holds theta; None if none is proven.

    Before the first observation E_t is all that the model allows.
    """
    if not getattr(schedule, "proven", True):
        return None
    return 1.0 if t == 1 else float(1.0 - np.exp(-schedule(np.array([float(t)]))[0]))
