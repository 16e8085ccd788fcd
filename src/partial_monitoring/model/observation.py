"""Lists and plain data of what a live learner observes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import Array


def observation_vector(game: AnyGame, action: int, observation: Any, length: int) -> Array:
    """Return an observation of an action as a vector of a given length, or refuse it."""
    return game.feedback().encode(game, action, observation, length)


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
