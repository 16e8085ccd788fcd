"""What a live learner is told: signals and numbers, as vectors and as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, observation_array


def observation_vector(game: Game, action: int, observation: Any, length: int) -> Array:
    """Return an observation of an action as a vector of a given length (at least m), or refuse it.

    Finite games are told the signal; other games a vector with the rows of the action, or one with
    m entries whose padding is ignored.
    """
    vector = np.zeros(length)
    rows = game.row_count(action)
    if isinstance(game, FiniteGame):
        if not isinstance(observation, Hashable):
            raise InvalidInput(f"observation must be a signal; got {observation!r}.")
        vector[:rows] = game.observation(action, observation)
        return vector
    if observation is None and rows == 0:
        return vector
    lengths = (rows, game.m)
    if isinstance(observation, list) and len(observation) in lengths:
        vector[:rows] = observation_array("observation", observation[:rows], (rows,))
        return vector
    seen = np.atleast_1d(np.asarray(observation, dtype=object))
    if seen.ndim != 1 or len(seen) not in lengths:
        raise InvalidInput(
            f"observation must be a vector of length {rows}, what action "
            f"{game.action_label(action)!r} shows; got shape {seen.shape}."
        )
    vector[:rows] = observation_array("observation", seen[:rows].tolist(), (rows,))
    return vector


def one_per_action(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return lists of what was logged, which must all be as long as that of the actions."""
    lists: dict[str, list[Any]] = {}
    for name, value in given.items():
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InvalidInput(f"{name} must be a list; got {value!r}.")
        lists[name] = list(value)
        count = len(lists["actions"])
        if len(lists[name]) != count:
            raise InvalidInput(
                f"{name} must hold one entry per action, {count}; got {len(lists[name])}."
            )
    return lists


def plain(observation: Any) -> Any:
    """Return an observation as plain data: strings, numbers, lists of them."""
    if isinstance(observation, np.ndarray | np.generic):
        return plain(observation.tolist())
    if isinstance(observation, list | tuple):
        return [plain(item) for item in observation]
    if observation is None or isinstance(observation, str | int | float):
        return observation
    return float(observation) if isinstance(observation, Real) else str(observation)
