"""Information gains: what each action is expected to tell (sections 3.1 and 5.2).

An information gain is a function (game, confidence) -> array of shape (n, k), never negative.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import SolverError
from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.game import Game
from partial_monitoring.ids.gaps import replicates
from partial_monitoring.observability.advantage import advantage_over
from partial_monitoring.observability.chart import chart_of
from partial_monitoring.observability.regions import region_cones
from partial_monitoring.validation import Array

InformationGain = Callable[[Game, ConfidenceSet], Array]

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


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
        return np.asarray(0.5 * np.log1p(np.maximum(trace + minor, 0.0)))
    from partial_monitoring.compiled.linear import half_log_dets

    return np.asarray(half_log_dets(signals))


def directed(game: Game, confidence: ConfidenceSet) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta), information about the actions that compete.

    theta+ and theta- are the two plausible parameters that differ most about the rewards of two
    actions that may both be best: they maximise <phi_b - phi_c, theta+ - theta-> over b and c in
    P(E_t). Two support calls per pair of such actions.
    """
    return _directed(confidence, relaxed=False)


def directed_relaxed(game: Game, confidence: ConfidenceSet) -> Array:
    """Return the directed information with pairs of the greedy action only.

    Two support calls per action that is plausibly as good as the one that looks best.
    """
    return _directed(confidence, relaxed=True)


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


def plausible(
    confidence: ConfidenceSet, rivals: NDArray[np.bool_], points: Array
) -> NDArray[np.bool_]:
    """Return which of the rivals are best for some parameter in E_t (one replicate), shape (k,).

    Most are found among the points (c, D) of E_t that are at hand; a conic program decides the
    rest.
    """
    model = confidence.data.model
    values = model.offsets + np.concatenate([points, confidence.local_center]) @ model.slopes.T
    top = values.max(axis=1, keepdims=True)
    slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
    found = (values >= top - slack).any(axis=0) & rivals
    open_cases = np.flatnonzero(rivals & ~found)
    if len(open_cases) == 0:
        return np.asarray(found)
    chart = chart_of(model.game)
    region = chart.pulled_back(region_cones(confidence, model.game))
    program = advantage_over(chart, region)
    for a in open_cases:
        try:
            found[a] = program.solve(int(a), ()).value >= -PLAUSIBLE
        except SolverError:
            found[a] = True  # undecided: keeping it only asks for more information
    return np.asarray(found)
