"""Which actions may be best for some function in E_t, and what tells them apart (section 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.validation import Array, Indices

Mask = NDArray[np.bool_]

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


class Functions(Protocol):
    """What is asked of the confidence set here."""

    @property
    def data(self) -> KernelEstimate: ...
    @property
    def beta(self) -> Array: ...
    @property
    def means(self) -> Array: ...
    def widths(self, row: int, action: int) -> Array: ...
    def distances(self, row: int, action: int) -> Array: ...
    def cross_of(self, row: int, actions: Indices) -> Array: ...


def ahead(functions: Functions, row: int) -> tuple[Array, Mask, Callable[[], Mask]]:
    """Return how far each action may be ahead of the greedy one (k,), and the rivals (k,).

    Rivals may be at least as good; the last function decides which of them may be best.
    """
    means = functions.means[row]
    greedy = int(means.argmax())
    far = means - means[greedy] + functions.widths(row, greedy)
    rivals = far >= 0
    rivals[greedy] = True
    return far, rivals, lambda: plausible(functions, row, rivals)


def directed(functions: Functions, row: int, *, relaxed: bool) -> Array:
    """Return 2 |M_a V_t^-1 u|^2 / |u|^2 in the norm of V_t^-1, with u = phi_b - phi_c, (k,).

    b and c are the two actions that may both be best (``relaxed``: of which one looks best) whose
    rewards may differ most: Pareto actions, since on a space of functions others are mixtures of
    actions that may be best where they are, one of which is at least as far away. With
    C = lambda V_t^-1 this takes two products with C.
    """
    pair = _furthest(functions, row, relaxed=relaxed)
    if pair is None or functions.beta[row] <= 0:
        return np.zeros(functions.means.shape[1])
    data, game = functions.data, functions.data.design.game
    own, lam = data.covariances[row], data.design.regularization
    first, second = (own.times(game.reward[a]) for a in pair)
    pulled = (first - second) / lam  # V_t^-1 u
    size = float(game.reward.of(pulled)[pair[0]] - game.reward.of(pulled)[pair[1]])
    shown = game.observation.of(pulled) * np.broadcast_to(data.design.whitening, (game.k,))[:, None]
    return np.asarray(2 * (shown**2).sum(axis=1) / size)


def _furthest(functions: Functions, row: int, *, relaxed: bool) -> tuple[int, int] | None:
    """Return the pair of rivals furthest apart in the norm of V_t^-1, or None if there is none."""
    greedy = int(functions.means[row].argmax())
    _, rivals, decide = ahead(functions, row)
    if relaxed:
        away = np.where(rivals, functions.distances(row, greedy), 0.0)
        furthest = int(away.argmax())
        return (furthest, greedy) if away[furthest] > 0 else None
    chosen = np.flatnonzero(decide())
    cross = functions.cross_of(row, chosen)[:, chosen]
    lengths = cross.diagonal()
    squared = np.triu(lengths[:, None] + lengths - 2 * cross, 1)
    b, c = np.unravel_index(int(squared.argmax()), squared.shape)
    return (int(chosen[b]), int(chosen[c])) if squared[b, c] > 0 else None


def plausible(functions: Functions, row: int, rivals: Mask) -> Mask:
    """Return which of the rivals are best for some function in E_t, shape (k,).

    Rivals are the actions that may be ahead of the greedy one, so nothing else can be best. Most
    are found among the functions that are furthest ahead of the greedy action in one action.
    """
    means, others = functions.means[row][rivals], np.flatnonzero(rivals)
    cross = functions.cross_of(row, others)[:, others]
    greedy = int(means.argmax())
    reach = np.sqrt(functions.beta[row])
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
