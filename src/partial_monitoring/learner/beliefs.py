"""What a learner asks of a kind of game, of state or of confidence set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.estimation.kernel.ellipsoid import KernelConfidence
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.observation import plain
from partial_monitoring.policies.ids.directed import plausible, plausible_functions
from partial_monitoring.policies.ids.gaps import exact
from partial_monitoring.validation import Array

Mask = NDArray[np.bool_]
Decider = Callable[[Mask], Mask]
"""Takes the actions (k,) that may be ahead of one, and returns which of them may be best."""


def model_of(state: Any) -> Any:
    """Return the model of a state or of its estimate; None if it has none."""
    own = getattr(state, "model", None)
    return own or getattr(getattr(state, "estimate", None), "model", None)


# -- what is observed ------------------------------------------------------------------------


def log_form(observation: Any) -> Any:
    """Return an observation as plain data, with None for numbers that are not finite (padding)."""
    if type(observation) is str:
        return observation
    found = plain(observation)
    if isinstance(found, list):
        return [log_form(item) for item in found]
    return None if isinstance(found, float) and not isfinite(found) else found


def from_log(game: Game, action: int, observation: Any) -> Any:
    """Return an observation as it was reported, from the form in which it was logged."""
    return next((s for s in symbols(game, action) if log_form(s) == observation), observation)


def from_vector(game: Game, action: int, vector: Array) -> Any:
    """Return an observation in the form of the log from its vector."""
    shown, own = vector[: game.row_count(action)], symbols(game, action)
    return log_form(own[int(shown.argmax())]) if own else shown.tolist()


@singledispatch
def symbols(game: Game, action: int) -> Sequence[Any]:
    """Return the signals that an action may show; none if it shows numbers."""
    return ()


@symbols.register
def _(game: FiniteGame, action: int) -> Sequence[Any]:
    return game.symbols[action]


@singledispatch
def expected(game: Game, confidence: Any) -> Callable[[int], Array]:
    """Return the function that gives what actions show on average by the estimate, (m_a,)."""
    theta = confidence.center[0]
    return lambda a: np.asarray(game.rows(a) @ theta)


@expected.register
def _(game: KernelGame, confidence: Any) -> Callable[[int], Array]:
    theta, own = confidence.center[0], in_coordinates(confidence, game)
    return lambda a: np.asarray(own.rows(a) @ theta)


@expected.register
def _(game: KernelBoxGame, confidence: Any) -> Callable[[int], Array]:
    # The numbers of the estimate are values at points, among them all that were played.
    points = confidence.data.model.game.computed.points
    values = dict(zip(game.nearest(points).tolist(), confidence.center[0], strict=True))
    return lambda a: np.array([values.get(a, np.nan)])


@singledispatch
def in_coordinates(confidence: Any, game: KernelGame) -> Game:
    """Return a kernel game in the coordinates of an estimate."""
    return game.linear


@in_coordinates.register
def _(confidence: KernelConfidence, game: KernelGame) -> Game:
    return game


# -- what may be best ------------------------------------------------------------------------


def known_actions(confidence: Any) -> Sequence[str]:
    """Return the labels of the actions of a confidence set (of duels, of the items)."""
    found: Sequence[str] = confidence.data.model.game.actions
    return found


def exact_gaps(confidence: Any) -> Array:
    """Return the exact gaps of the actions of a confidence set (one replicate), shape (k,)."""
    return np.asarray(exact(confidence.data.model.game, confidence)[0])


@singledispatch
def number_of(game: Game, confidence: Any, action: int) -> int:
    """Return the number of an action of the confidence set in the game (of duels, of the item)."""
    return action


@number_of.register
def _(game: KernelBoxGame, confidence: Any, action: int) -> int:
    return int(game.nearest(confidence.data.model.game.point(action)[None])[0])


@singledispatch
def ahead(confidence: Any, greedy: int) -> tuple[Array, Decider]:
    """Return by how much actions may be ahead of one (k,), and what decides which may be best."""
    raise NotImplementedError


@ahead.register
def _(confidence: ConfidenceSet, greedy: int) -> tuple[Array, Decider]:
    slopes, offsets = confidence.data.model.slopes, confidence.data.model.offsets
    values, points = confidence.local_supports(slopes - slopes[greedy])
    further = values[0] + offsets - offsets[greedy]
    return further, lambda rivals: plausible(confidence, rivals, points[0])


@ahead.register
def _(confidence: KernelConfidence, greedy: int) -> tuple[Array, Decider]:
    means = confidence.means[0]
    further = means - means[greedy] + confidence.widths(0, greedy)
    return further, lambda rivals: plausible_functions(confidence, 0, rivals)


@singledispatch
def is_outside(confidence: Any) -> bool:
    """Whether the estimate on the affine hull is further from Theta than the confidence radius."""
    data, center = confidence.data, confidence.local_center[0]
    off, rest = data.coordinates[0] - center[: data.model.rank], center[data.model.rank :]
    distance = off @ data.gram[0] @ off + data.model.regularization * rest @ rest
    return float(distance) > float(confidence.beta[0])


@is_outside.register
def _(confidence: KernelConfidence) -> bool:
    return False
