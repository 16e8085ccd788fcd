"""Observations as they are reported, as the log keeps them, and as vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import Array, brief


def log_form(observation: Any) -> Any:
    """Return an observation as plain data, with None for numbers that are not finite (padding)."""
    kind = type(observation)
    if kind is str:
        return observation
    if kind is float:
        return observation if isfinite(observation) else None
    if isinstance(observation, np.ndarray | np.generic):
        native = observation.tolist()
        if type(native) is not kind:  # long doubles stay what they are
            return log_form(native)
    if isinstance(observation, list | tuple):
        return [log_form(item) for item in observation]
    if observation is None or isinstance(observation, str | int):
        return observation
    return log_form(float(observation)) if isinstance(observation, Real) else str(observation)


def from_log(game: Any, action: int, observation: Any) -> Any:
    """Return an observation as it was reported, from the form in which it was logged."""
    return next((s for s in symbols(game, action) if log_form(s) == observation), observation)


def from_vector(game: Any, action: int, vector: Array) -> Any:
    """Return an observation in the form of the log from its vector."""
    shown, own = vector[: game.row_count(action)], symbols(game, action)
    return log_form(own[int(shown.argmax())]) if own else shown.tolist()


def symbols(game: Any, action: int) -> Sequence[Any]:
    """Return the signals that an action may show; none if it shows numbers."""
    return game.symbols[action] if game.traits.finite else ()


def one_per_action(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return lists of logged data, each as long as that of the actions."""
    lists: dict[str, list[Any]] = {}
    for name, value in given.items():
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InvalidInput(f"{name} must be a list; got {brief(value)}.")
        lists[name] = list(value)
        count = len(lists["actions"])
        if len(lists[name]) != count:
            raise InvalidInput(
                f"{name} must hold one entry per action, {count}; got {len(lists[name])}."
            )
    return lists
