"""Information gains: what each action is expected to tell (sections 3.1 and 5.2).

An information gain is a function (game, confidence) -> array of shape (n, k), never negative.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.game import Game
from partial_monitoring.ids.gaps import replicates
from partial_monitoring.validation import Array

InformationGain = Callable[[Game, ConfidenceSet], Array]


def log_det(game: Game, confidence: ConfidenceSet) -> Array:
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
        gain: Array = 0.5 * np.log1p(np.maximum(trace + minor, 0.0))
        return gain
    return np.asarray(np.maximum(0.5 * np.linalg.slogdet(np.eye(m) + signals)[1], 0.0))


def directed(game: Game, confidence: ConfidenceSet) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta), information about the actions that compete.

    theta+ and theta- are the two plausible parameters that differ most about which of two actions
    is better: they maximise <phi_b - phi_c, theta+ - theta-> over actions b, c that each are
    plausibly as good as the greedy one (a superset of the plausible Pareto actions).
    """
    model = confidence.data.model
    greedy = confidence.means.argmax(axis=1)
    n, k = confidence.means.shape
    information = np.zeros((n, k))
    width = model.maps
    for row in range(n):
        part = replicates(confidence, np.arange(n) == row)
        g = greedy[row]
        away = model.slopes - model.slopes[g]
        up = part.local_supports(away)[0][0] + model.offsets - model.offsets[g]
        rivals = np.flatnonzero(up >= 0)
        b, c = np.triu_indices(len(rivals), 1)
        if len(b) == 0 or confidence.beta[row] <= 0:
            continue
        pairs = model.slopes[rivals[b]] - model.slopes[rivals[c]]
        high, plus = part.local_supports(pairs)
        low, minus = part.local_supports(-pairs)
        widest = int((high[0] + low[0]).argmax())
        omega = plus[0, widest, : model.rank] - minus[0, widest, : model.rank]
        seen = width @ omega
        information[row] = (seen**2).sum(axis=1) / (2 * confidence.beta[row])
    return information
