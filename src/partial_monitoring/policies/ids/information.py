"""Information gains: what each action is expected to tell (sections 3.1 and 5.2).

An information gain is a function (game, confidence) -> array of shape (n, k), never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.ids.gaps import in_groups
from partial_monitoring.policies.units import NATS, measured
from partial_monitoring.validation import Array

__all__ = ["directed", "directed_relaxed", "improvement", "log_det"]


def __dir__() -> list[str]:
    return __all__


InformationGain = Callable[[Any, Any], Array]


@in_groups
@measured(NATS)
def log_det(game: Any, confidence: ConfidenceSet) -> Array:
    """Return 1/2 log det(I + (M_a W) W_t^-1 (M_a W)'), the mutual information with the parameter.

    Zero for actions that show nothing new about Theta, whatever they show of known directions (E3).
    """
    signals: Array = confidence.signals
    from partial_monitoring.numerics.compiled.linear import half_log_dets

    return np.asarray(half_log_dets(signals))


DIRECTED = "squared distance of what the two plausible truths that differ most show, over 2 beta"


@measured(DIRECTED)
def directed(game: Any, confidence: ConfidenceSet) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta), information about the actions that compete.

    theta+ and theta- are the two plausible parameters that differ most about the rewards of two
    Pareto actions that may both be best: they maximise <phi_b - phi_c, theta+ - theta-> over b and
    c in P(E_t). Zero where all that may be best are duplicates. Two support calls per pair.
    """
    return confidence.directed(relaxed=False)


@measured(DIRECTED)
def directed_relaxed(game: Any, confidence: ConfidenceSet) -> Array:
    """Return the directed information with pairs of the greedy action only, Pareto or not.

    Two support calls per action that is plausibly as good as the one that looks best.
    """
    return confidence.directed(relaxed=True)


@in_groups
@measured("how much of the expected improvements by others it explains, in units of reward")
def improvement(game: Any, confidence: ConfidenceSet) -> Array:
    """Return sum_b delta_b |M_a V_t^-1 u_b|^2 / (|u_b|^2 (1 + |M_a|^2)), for u_b = phi_b - phi_g.

    The factor of delta_b, the expected improvement of b on the greedy action g (see
    ``pm.gaps.improvement``), is the fraction of the variance of <u_b, theta> that one observation
    of a explains; the norm is that of V_t^-1, and actions with several rows have the matrix form.
    In all contexts together the rivals of all of them count, with the chances of the contexts.
    """
    return confidence.improvement.information
