"""Observations as they are reported, as the log keeps them, and as vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.votes import Votes
from partial_monitoring.model.feedback import are_floats
from partial_monitoring.validation import Array, items


def log_form(observation: Any, *, signal: bool = False) -> Any:
    """Return an observation as plain data, with None for numbers that are not finite (padding).

    In a signal these are kept apart, as in {"float": "inf"}.
    """
    kind = type(observation)
    if kind is str:
        return observation
    if kind is list and are_floats(observation, len(observation)):  # as most programs report it
        return observation.copy()
    if kind is float:
        if isfinite(observation):
            return observation
        return {"float": str(observation)} if signal else None
    if isinstance(observation, np.ndarray | np.generic):
        native = observation.tolist()
        if type(native) is not kind:  # long doubles stay what they are
            return log_form(native, signal=signal)
    if isinstance(observation, list | tuple):
        return [log_form(item, signal=signal) for item in observation]
    if observation is None or isinstance(observation, str | int):
        return observation
    if isinstance(observation, Real):
        return log_form(float(observation), signal=signal)
    return observation.to_dict() if isinstance(observation, Votes) else str(observation)


def from_log(game: Any, action: int, observation: Any) -> Any:
    """Return an observation as it was reported, from the form in which it was logged."""
    if isinstance(observation, Mapping) and observation.keys() == {"wins", "of"}:
        return Votes(observation["wins"], observation["of"])
    own = symbols(game, action)
    for signal in (True, False):  # files of format 2 have None for signals that are not finite
        for symbol in own:
            if log_form(symbol, signal=signal) == observation:
                return symbol
    return observation


def from_vector(game: Any, action: int, vector: Array) -> Any:
    """Return an observation in the form of the log from its vector."""
    shown, own = vector[: game.row_count(action)], symbols(game, action)
    return log_form(own[int(shown.argmax())], signal=True) if own else shown.tolist()


def symbols(game: Any, action: int) -> Sequence[Any]:
    """Return the signals that an action may show; none if it shows numbers."""
    return game.symbols[action] if game.traits.signals else ()


def one_per_decision(decisions: list[Any], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is reported of several decisions, one row for each."""
    rows = [{"decision": decision} for decision in decisions]
    for name, value in given.items():
        entries = items(name, value, ", one entry per decision")
        if len(entries) != len(rows):
            raise InvalidInput(
                f"{name} must hold one entry per decision, {len(rows)}; got {len(entries)}."
            )
        for row, entry in zip(rows, entries, strict=True):
            row[name] = entry
    return rows
