"""Gap estimates: upper bounds of what each action may lose (sections 3.1 and 5.1).

A gap estimate is a function (game, confidence) -> array of shape (n, k), never negative. It may
say that it compares actions only within the groups of the confidence set (``in_groups``); then all
contexts of a game are asked at once, else one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.units import measured
from partial_monitoring.validation import Array

__all__ = ["exact", "improvement", "mean", "relaxed"]


def __dir__() -> list[str]:
    return __all__


AT_MOST = "at most, per round, in units of reward"

GapEstimate = Callable[[Any, Any], Array]

Function = TypeVar("Function", bound=Callable[..., Any])


def in_groups(function: Function) -> Function:
    """Mark a function of (game, confidence) that compares actions only within their groups."""
    function.compares_in_groups = True  # type: ignore[attr-defined]
    return function


@in_groups
@measured(AT_MOST)
def exact(game: Any, confidence: ConfidenceSet) -> Array:
    """Return max over b and theta in E_t of <phi_b - phi_a, theta>, the largest plausible gap.

    In closed form on R^d and for kernels; on balls and polyhedra with pairs pruned by upper bounds.
    """
    return confidence.exact_gaps()


@in_groups
@measured(AT_MOST)
def relaxed(game: Any, confidence: ConfidenceSet) -> Array:
    """Return delta + max over E_t of <phi_g - phi_a, theta>, through the greedy action g.

    delta is the largest plausible gap of g. Two support calls per action instead of k; at least
    the exact gap.
    """
    return confidence.relaxed_gaps()


@in_groups
@measured(AT_MOST)
def mean(game: Any, confidence: ConfidenceSet) -> Array:
    """Return min(delta + <phi_g - phi_a, theta_hat>, T), the gap at the estimate plus delta.

    delta is taken over the whole ellipsoid, not cut by Theta (E7), and T is the largest gap that
    Theta allows (E6).
    """
    return np.asarray(np.minimum(confidence.greedy_gaps(), confidence.gap_ceiling))


@in_groups
@measured(
    "by how much it looks worse than the best, plus what each other action may be better by, in "
    "units of reward; a sum, not the loss of a round",
    summed=True,
)
def improvement(game: Any, confidence: ConfidenceSet) -> Array:
    """Return sum_b delta_b + <phi_g - phi_a, theta_hat>, what is expected to be lost.

    With the greedy action g, D_b = <phi_g - phi_b, theta_hat> and s_b = rho |phi_b - phi_g| in the
    norm of V_t^-1, the standard deviation of the difference under the normal posterior on the
    affine hull of Theta,

        delta_b = E max(s_b X - D_b, 0) + max(0, s_b (2 log t)^(1/2) - D_b) / t,  X normal,

    is what the chance that b is better than g is worth. Actions that always earn the same count
    once. No upper bound of the gap: for low regret, without a theorem.
    """
    return confidence.improvement.gaps


def largest_gap(confidence: ConfidenceSet) -> float:
    """Return T: no parameter in Theta gives a larger gap (on R^d: none within B of the prior)."""
    return float(confidence.gap_ceiling.max())
