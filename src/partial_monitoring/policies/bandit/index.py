"""What policies share that play the largest index of a bandit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.estimation import confidence as schedules
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.later import attribute
from partial_monitoring.estimation.linear.design import checked_options
from partial_monitoring.estimation.state import View
from partial_monitoring.policies.estimating import EstimatingPolicy
from partial_monitoring.policies.ids.gaps import AT_MOST
from partial_monitoring.policies.ids.information import log_det
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.needs import Needs
from partial_monitoring.policies.policy import Choices, point_mass
from partial_monitoring.policies.units import NATS, Units
from partial_monitoring.validation import Array, boolean


class IndexPolicy(EstimatingPolicy):
    """A policy that plays the largest index, computed from the whole ellipsoid.

    A subclass is a dataclass with the options of an :class:`EstimatingPolicy`, ``allow_partial``,
    and a method ``index``.
    """

    needs: ClassVar[Needs] = Needs(duels=False, own_reward=True)

    allow_partial: bool

    def __post_init__(self) -> None:
        checked_options(self, ("confidence",))
        boolean("allow_partial", self.allow_partial)

    def index(self, confidence: ConfidenceSet, uniforms: Array) -> Array:
        """Return what is played the largest of, shape (n, k)."""
        raise NotImplementedError

    def units(self, state: Any = None) -> Units:
        """Return what gaps and information are measured in."""
        return Units(AT_MOST, NATS)

    def choose(self, view: View, uniforms: Array) -> Choices:
        """Play the largest index, and say what may be lost and what it tells."""
        confidence = view.confidence.uncut
        index = self.index(confidence, uniforms)
        action = self.best(confidence, index)
        means, k = confidence.means, index.shape[1]
        distribution = point_mass(action, k)
        # What may be lost: the highest upper bound minus the lower bound of the action.
        width = np.sqrt(confidence.beta)[:, None] * confidence.lengths
        highest = (means + width).max(axis=1, keepdims=True)
        gaps = np.minimum(highest - (means - width), confidence.gap_ceiling)
        information = log_det(confidence.game, confidence)
        return Choices(
            action,
            distribution,
            gaps,
            information,
            information_ratio(distribution, gaps, information),
            confidence.beta,
            attribute(confidence, "estimate"),
            index=index,
        )

    def best(self, confidence: ConfidenceSet, index: Array) -> NDArray[np.int64]:
        """Return the first action whose index is the largest up to rounding, shape (n,)."""
        from partial_monitoring.numerics.compiled.play_bandits import TIED

        most = index.max(axis=1, keepdims=True)
        return np.asarray((index >= most - TIED * np.abs(most)).argmax(axis=1))


@dataclass(frozen=True)
class LinearIndexPolicy(IndexPolicy):
    """The options of LinUCB and LinTS."""

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float = 1.0
    prior_mean: ArrayLike | None = None
    norm_bound: float | None = None
    allow_partial: bool = False
    half_life: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class FunctionIndexPolicy(IndexPolicy):
    """The options of policies for kernelized bandits; the prior mean is zero."""

    needs: ClassVar[Needs] = Needs(
        listed=False, function=True, duels=False, contexts=False, own_reward=True
    )
    kernelized: ClassVar[bool] = True

    confidence: Schedule = field(default_factory=schedules.paper)
    regularization: float | None = None
    norm_bound: float | None = None
    allow_partial: bool = False

    prior_mean = None
