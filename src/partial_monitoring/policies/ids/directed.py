"""Which actions may be best for some parameter in E_t, and what tells them apart (section 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import advantage_over
from partial_monitoring.analysis.alignment import region_cones
from partial_monitoring.analysis.coordinates import chart_of
from partial_monitoring.errors import SolverError
from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.validation import Array

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


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


def directed_of_functions(confidence: KernelConfidence, *, relaxed: bool) -> Array:
    """Return 2 |M_a V_t^-1 u|^2 / |u|^2 in the norm of V_t^-1, with u = phi_b - phi_c, (n, k).

    b and c are the two actions that may both be best (``relaxed``: of which one looks best) whose
    rewards may differ most. With C = lambda V_t^-1 this takes two products with C.
    """
    means = confidence.means
    information = np.zeros(means.shape)
    for row in range(len(means)):
        pair = _furthest(confidence, row, relaxed=relaxed)
        if pair is None or confidence.beta[row] <= 0:
            continue
        data, game = confidence.data, confidence.data.model.game
        own, lam = data.covariances[row], data.model.regularization
        first, second = (own.times(game.reward[a]) for a in pair)
        pulled = (first - second) / lam  # V_t^-1 u
        size = float(game.reward.of(pulled)[pair[0]] - game.reward.of(pulled)[pair[1]])
        shown = game.feedback.of(pulled) * np.broadcast_to(data.model.whitening, (game.k,))[:, None]
        information[row] = 2 * (shown**2).sum(axis=1) / size
    return information


def _furthest(confidence: KernelConfidence, row: int, *, relaxed: bool) -> tuple[int, int] | None:
    """Return the pair of rivals furthest apart in the norm of V_t^-1, or None if there is none."""
    means = confidence.means[row]
    greedy = int(means.argmax())
    rivals = means - means[greedy] + confidence.widths(row, greedy) >= 0
    rivals[greedy] = True
    if relaxed:
        away = np.where(rivals, confidence.distances(row, greedy), 0.0)
        furthest = int(away.argmax())
        return (furthest, greedy) if away[furthest] > 0 else None
    chosen = np.flatnonzero(plausible_functions(confidence, row, rivals))
    cross = confidence.cross_of(row, chosen)[:, chosen]
    lengths = cross.diagonal()
    squared = np.triu(lengths[:, None] + lengths - 2 * cross, 1)
    b, c = np.unravel_index(int(squared.argmax()), squared.shape)
    return (int(chosen[b]), int(chosen[c])) if squared[b, c] > 0 else None


def plausible_functions(
    confidence: KernelConfidence, row: int, rivals: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which of the rivals are best for some function in E_t, shape (k,).

    Rivals are the actions that may be ahead of the greedy one, so nothing else can be best. Most
    are found among the functions that are furthest ahead of the greedy action in one action.
    """
    means, others = confidence.means[row][rivals], np.flatnonzero(rivals)
    cross = confidence.cross_of(row, others)[:, others]
    greedy = int(means.argmax())
    reach = np.sqrt(confidence.beta[row])
    pulled = cross - cross[greedy]  # (rivals, rivals)
    width = np.sqrt(np.maximum(pulled.diagonal() - pulled[:, greedy], 0.0))
    step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
    # The function that is highest at an action is often highest there of all.
    heights = np.sqrt(np.maximum(cross.diagonal(), 0.0))
    rise = np.where(heights > 0, reach / np.where(heights > 0, heights, 1.0), 0.0)
    values = means + np.concatenate(
        [np.zeros((1, len(means))), step[:, None] * pulled, rise[:, None] * cross]
    )
    top = values.max(axis=1, keepdims=True)
    slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
    best = (values >= top - slack).any(axis=0)
    if not best.all():
        spread, axes = np.linalg.eigh((cross + cross.T) / 2)
        root = reach * axes * np.sqrt(np.maximum(spread, 0.0))
        for a in np.flatnonzero(~best):
            best[a] = _may_be_best(means, root, int(a))
    found = np.zeros(len(rivals), dtype=bool)
    found[others] = best
    return found


def _may_be_best(means: Array, root: Array, action: int) -> bool:
    """Whether one of the values means + root u, |u| <= 1, is largest for some u.

    The shortest u with G u >= h, where G and h compare the action with the others, has length
    (1 / r^2 - 1)^(1/2), and there is none if r = 0, with r the distance of (0, 1) from the cone of
    the rows of (G, h) (Lawson and Hanson, chapter 23).
    """
    from scipy.optimize import nnls

    rows = np.column_stack([root[action] - root, means - means[action]])
    size = np.abs(rows).max(axis=1)
    rows = rows[size > 0] / size[size > 0, None]
    try:
        far = float(nnls(rows.T, np.append(np.zeros(root.shape[1]), 1.0))[1])
    except RuntimeError:
        return True  # undecided: keeping it only asks for more information
    return far**2 >= 0.5 - PLAUSIBLE
