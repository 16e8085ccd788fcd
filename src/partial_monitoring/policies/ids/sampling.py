"""From gaps and information to a distribution over actions (section 3).

A sampling rule is a function (gaps, information) -> distribution on arrays of shape (..., k). The
conventions are 0/0 = 0 and 1/0 = inf; ties go to the lowest index.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.numerics import compiled
from partial_monitoring.policies.ids import ratio as ratios
from partial_monitoring.policies.ids.context_kernel import contextual as contextual
from partial_monitoring.policies.ids.frank_wolfe import frank_wolfe as frank_wolfe
from partial_monitoring.policies.policy import draw, point_mass
from partial_monitoring.policies.program import NotCompiled
from partial_monitoring.validation import Array, Indices, non_negative_number, set_fields

SamplingRule = Callable[[Array, Array], Array]


def exact(gaps: ArrayLike, information: ArrayLike) -> Array:
    """Return the distribution with the least information ratio, in O(k) (lemma support).

    It is supported on at most two actions, and almost greedy: its gap is at most twice the least.

    >>> exact([0.1, 1.0], [0.0, 1.0]).round(3)
    array([0.889, 0.111])
    """
    return _EXACT(gaps, information)


def approximate(gaps: ArrayLike, information: ArrayLike) -> Array:
    """Return the best mixture of the greedy action with one other: within 4/3 of the least ratio.

    The greedy action is the most informative among those with the least gap (E24). Kept to
    reproduce the paper; :func:`exact` is as fast.
    """
    return _APPROXIMATE(gaps, information)


def deterministic(gaps: ArrayLike, information: ArrayLike) -> Array:
    """Return the single action with the least ratio gap^2 / information."""
    d, i = ratios.checked(gaps, information)
    d = d / np.maximum(d.max(axis=-1, keepdims=True), 1e-300)
    i = i / np.maximum(i.max(axis=-1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(d <= 0, 0.0, np.where(i > 0, d**2 / i, np.inf))
    # If no action shows anything the greedy one is left.
    blind = np.isinf(ratio).all(axis=-1, keepdims=True)
    return _dirac(np.where(blind, d, ratio))


class Rule(ABC):
    """A sampling rule of the library."""

    minimizes_ratio: ClassVar[bool] = False
    """Whether the answer is right as soon as the gaps on its support are, the others being lower
    bounds."""
    kappa: float = 2.0
    """The exponent of the ratio."""
    explores_for_others: ClassVar[bool] = False
    """Whether it may explore in a context where one action is always best."""

    @abstractmethod
    def __call__(self, gaps: ArrayLike, information: ArrayLike) -> Array:
        """Return distributions, shape (..., k)."""

    def numbers(self) -> tuple[int, float, bool, float]:
        """Return the rule for compiled rounds: its number there, kappa, all pairs, tradeoff."""
        raise NotCompiled("the sampling rule is not compiled")

    def solve(self, gaps: Array, information: Array, confidence: ConfidenceSet) -> Mixture | Pairs:
        """Return the distributions of n problems, shape (n, k), given E_t."""
        return Mixture.of(self(gaps, information), gaps, information)

    def play(
        self, gaps: Array, information: Array, confidence: ConfidenceSet, uniforms: Array
    ) -> tuple[Indices, Array, Array]:
        """Draw one action each (n,); return the distributions (n, k) and their ratios (n,), too."""
        answer = self.solve(gaps, information, confidence)
        return *answer.play(uniforms, gaps.shape[1]), answer.ratio


@dataclass(frozen=True)
class PairRule(Rule):
    """A rule whose distributions have at most two actions."""

    kappa: float = 2.0

    def __post_init__(self) -> None:
        set_fields(self, kappa=ratios.checked_kappa(self.kappa))

    def __call__(self, gaps: ArrayLike, information: ArrayLike) -> Array:
        d, i = ratios.as_arrays(gaps, information)
        k = d.shape[-1]
        return self.pairs(d.reshape(-1, k), i.reshape(-1, k)).distribution(k).reshape(d.shape)

    def numbers(self) -> tuple[int, float, bool, float]:
        return 0, self.kappa, self.minimizes_ratio, 0.0

    def solve(self, gaps: Array, information: Array, confidence: ConfidenceSet) -> Mixture | Pairs:
        return self.pairs(gaps, information)

    def play(
        self, gaps: Array, information: Array, confidence: ConfidenceSet, uniforms: Array
    ) -> tuple[Indices, Array, Array]:
        known = *self._problem(gaps, information), uniforms
        action, distribution, ratio, usable = compiled.ratio.solve_rows(*known)
        if not usable:
            ratios.refuse_misfits(gaps, information)
        return action, distribution, ratio

    def pairs(self, gaps: Array, information: Array) -> Pairs:
        """Return the best pair of each row of gaps and information, shape (n, k)."""
        *answer, usable = compiled.ratio.minimize_rows(*self._problem(gaps, information))
        if not usable:
            ratios.refuse_misfits(gaps, information)
        return Pairs(*answer)

    def _problem(self, gaps: Array, information: Array) -> tuple[Array, Array, float, bool, float]:
        """Return what compiled loops are handed."""
        rows = np.ascontiguousarray(gaps), np.ascontiguousarray(information)
        return *rows, self.kappa, self.minimizes_ratio, ratios.ZERO_GAP


@dataclass(frozen=True)
class Generalized(PairRule):
    """The distribution with the least ratio gap^kappa / information."""

    minimizes_ratio = True


@dataclass(frozen=True)
class Approximate(PairRule):
    """The best mixture of the greedy action with one other, for any kappa."""


def generalized(kappa: float) -> Generalized:
    """Return the rule that minimises the generalised ratio gap^kappa / information, kappa >= 2."""
    return Generalized(kappa)


@dataclass(frozen=True)
class E2D(Rule):
    """Play the action with the least gap - tradeoff * information."""

    explores_for_others = True

    tradeoff: float

    def __post_init__(self) -> None:
        set_fields(self, tradeoff=non_negative_number("tradeoff", self.tradeoff))

    def numbers(self) -> tuple[int, float, bool, float]:
        return 2, 2.0, True, float(self.tradeoff)

    def __call__(self, gaps: ArrayLike, information: ArrayLike) -> Array:
        d, i = ratios.checked(gaps, information)
        return _dirac(d - self.tradeoff * i)


@dataclass(frozen=True)
class AnytimeE2D(Rule):
    """E2D with a tradeoff that follows the rounds played.

    The best fixed tradeoff in hindsight is 1/2 (sum of Psi / gamma)^(1/2), where Psi are the least
    information ratios of the rounds and gamma is the information gained. Within a policy, t times
    the ratio of round t stands for the sum. Called by itself the rule knows of no rounds: it then
    plays the more informative action of the exact distribution, at whose tradeoff both tie.

    In a context the ratio is that of the context by itself. One with an action that is best
    whatever the parameter has the ratio zero, so that nothing is paid there to explore for others;
    a fixed tradeoff does that, and so does ``ContextualIDS``.
    """

    explores_for_others = True

    def numbers(self) -> tuple[int, float, bool, float]:
        return 3, 2.0, True, 0.0

    def solve(self, gaps: Array, information: Array, confidence: ConfidenceSet) -> Mixture | Pairs:
        gained = 0.5 * confidence.log_det
        mu = self.after(gaps, information, confidence.round, gained)
        return Mixture.of(mu, gaps, information)

    def after(self, gaps: Array, information: Array, rounds: Indices, gained: Array) -> Array:
        """Return the distribution in round t = rounds (n,), after gaining information (n,)."""
        ratio = _EXACT.pairs(gaps, information).ratio
        known = np.maximum(gained, information.max(axis=1))
        usable = np.isfinite(ratio) & (known > 0)
        scale = np.where(usable, ratio, 0.0) * rounds / np.where(known > 0, known, 1.0)
        return _dirac(ratios.without_noise(gaps) - 0.5 * np.sqrt(scale)[:, None] * information)

    def __call__(self, gaps: ArrayLike, information: ArrayLike) -> Array:
        d, i = ratios.as_arrays(gaps, information)
        k = d.shape[-1]
        pairs = _EXACT.pairs(d.reshape(-1, k), i.reshape(-1, k))
        return point_mass(np.where(pairs.share > 0, pairs.second, pairs.first), k).reshape(d.shape)


def e2d(tradeoff: float | str) -> E2D | AnytimeE2D:
    """Return the E2D rule with a fixed tradeoff, or with "anytime" one chosen in each round."""
    if isinstance(tradeoff, str) and tradeoff == "anytime":
        return AnytimeE2D()
    return E2D(tradeoff)  # type: ignore[arg-type]


class Mixture(NamedTuple):
    """Distributions on any number of actions each, for n problems."""

    probabilities: Array
    ratio: Array
    """The information ratio, shape (n,)."""

    @classmethod
    def of(cls, probabilities: Array, gaps: Array, information: Array) -> Mixture:
        """Return distributions with their information ratio."""
        return cls(probabilities, ratios.information_ratio(probabilities, gaps, information))

    def distribution(self, k: int) -> Array:
        """Return the distributions over all k actions, shape (n, k)."""
        return self.probabilities

    def play(self, uniforms: Array, k: int) -> tuple[Indices, Array]:
        """Draw one action each (n,), and return the distributions (n, k) as well."""
        return draw(self.probabilities, uniforms), self.probabilities


class Pairs(NamedTuple):
    """Distributions on at most two actions each, for n problems."""

    first: Indices
    second: Indices
    share: Array
    """The probability of the second action."""
    ratio: Array
    """The information ratio, gap^kappa / information."""

    def distribution(self, k: int) -> Array:
        return np.asarray(compiled.ratio.spread_rows(self.first, self.second, self.share, k))

    def play(self, uniforms: Array, k: int) -> tuple[Indices, Array]:
        found: tuple[Indices, Array] = compiled.ratio.play_rows(
            self.first, self.second, self.share, uniforms, k
        )
        return found


@dataclass(frozen=True)
class Own(Rule):
    """A function of the user's, whose answers are checked."""

    function: SamplingRule

    def numbers(self) -> tuple[int, float, bool, float]:
        if self.function is deterministic:
            return 1, 2.0, True, 0.0
        raise NotCompiled("the sampling rule is a function of your own")

    def __call__(self, gaps: ArrayLike, information: ArrayLike) -> Array:
        own: Callable[..., Any] = self.function
        mu = ratios.right_shape("sampling", own(gaps, information), np.shape(gaps))
        if not (mu.min() >= 0 and np.abs(mu.sum(axis=-1) - 1.0).max() <= 1e-9):
            raise InvalidInput(
                f"what sampling returns must be probabilities; got a row with entries from "
                f"{mu.min():g} to {mu.max():g} and sums from {mu.sum(axis=-1).min():g} to "
                f"{mu.sum(axis=-1).max():g}."
            )
        return mu


def as_rule(rule: SamplingRule) -> Rule:
    """Return a sampling rule as one of the library's, which knows how it is solved."""
    for function, own in _FUNCTIONS:
        if function is rule:
            return own
    return rule if isinstance(rule, Rule) else Own(rule)


def _dirac(score: Array) -> Array:
    """Put all probability on the least score, the lowest index among ties."""
    mu = np.zeros(score.shape)
    np.put_along_axis(mu, score.argmin(axis=-1, keepdims=True), 1.0, axis=-1)
    return mu


_EXACT, _APPROXIMATE = Generalized(), Approximate()
_FUNCTIONS: tuple[tuple[SamplingRule, Rule], ...] = ((exact, _EXACT), (approximate, _APPROXIMATE))

__all__ = [
    "E2D",
    "AnytimeE2D",
    "Approximate",
    "Generalized",
    "Pairs",
    "SamplingRule",
    "approximate",
    "contextual",
    "deterministic",
    "e2d",
    "exact",
    "frank_wolfe",
    "generalized",
]


def __dir__() -> list[str]:
    return __all__
