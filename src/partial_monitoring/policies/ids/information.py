"""Information gains: what each action is expected to tell (sections 3.1 and 5.2).

An information gain is a function (game, confidence) -> array of shape (n, k), never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partial_monitoring.estimation.confidence import AnyConfidence, ConfidenceSet
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.model.game import Game
from partial_monitoring.policies.ids.directed import directed_of_functions, plausible
from partial_monitoring.policies.ids.gaps import replicates
from partial_monitoring.validation import Array

InformationGain = Callable[[Game, Any], Array]


def log_det(game: Game, confidence: AnyConfidence) -> Array:
    """Return 1/2 log det(I + (M_a W) W_t^-1 (M_a W)'), the mutual information with the parameter.

    Zero for actions that show nothing new about Theta, whatever they show of known directions (E3).
    """
    signals: Array = confidence.data.signals
    m = signals.shape[-1]
    if m == 0:
        return np.zeros(signals.shape[:2])
    if m == 1:
        return np.asarray(0.5 * np.log1p(np.maximum(signals[:, :, 0, 0], 0.0)))
    if m == 2:
        trace = signals[..., 0, 0] + signals[..., 1, 1]
        minor = signals[..., 0, 0] * signals[..., 1, 1] - signals[..., 0, 1] * signals[..., 1, 0]
        return np.asarray(0.5 * np.log1p(np.maximum(trace + minor, 0.0)))
    from partial_monitoring.numerics.compiled.linear import half_log_dets

    return np.asarray(half_log_dets(signals))


def directed(game: Game, confidence: AnyConfidence) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta), information about the actions that compete.

    theta+ and theta- are the two plausible parameters that differ most about the rewards of two
    actions that may both be best: they maximise <phi_b - phi_c, theta+ - theta-> over b and c in
    P(E_t). Two support calls per pair of such actions.
    """
    return _about_rivals(confidence, relaxed=False)


def directed_relaxed(game: Game, confidence: AnyConfidence) -> Array:
    """Return the directed information with pairs of the greedy action only.

    Two support calls per action that is plausibly as good as the one that looks best.
    """
    return _about_rivals(confidence, relaxed=True)


def _about_rivals(confidence: AnyConfidence, *, relaxed: bool) -> Array:
    if isinstance(confidence, KernelConfidence):
        return directed_of_functions(confidence, relaxed=relaxed)
    return _directed(confidence, relaxed=relaxed)


def _directed(confidence: ConfidenceSet, *, relaxed: bool) -> Array:
    model = confidence.data.model
    n, k = confidence.means.shape
    information = np.zeros((n, k))
    for row in range(n):
        part = replicates(confidence, np.arange(n) == row)
        greedy = int(part.means[0].argmax())
        up, points = part.local_supports(model.slopes - model.slopes[greedy])
        rivals = up[0] + model.offsets - model.offsets[greedy] >= 0
        rivals[greedy] = True
        if relaxed:
            others = np.flatnonzero(rivals)
            pairs = model.slopes[others] - model.slopes[greedy]
        else:
            chosen = np.flatnonzero(plausible(part, rivals, points[0]))
            b, c = np.triu_indices(len(chosen), 1)
            pairs = model.slopes[chosen[b]] - model.slopes[chosen[c]]
        if len(pairs) == 0 or confidence.beta[row] <= 0:
            continue
        high, plus = part.local_supports(pairs)
        low, minus = part.local_supports(-pairs)
        widest = int((high[0] + low[0]).argmax())
        omega = plus[0, widest, : model.rank] - minus[0, widest, : model.rank]
        information[row] = ((model.maps @ omega) ** 2).sum(axis=1) / (2 * confidence.beta[row])
    return information
