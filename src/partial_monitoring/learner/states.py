"""The state of a policy as plain data.

The state of a policy is a frozen dataclass. Its arrays, and those of the dataclasses in it, are
what was learned; everything else (the game, its model, its geometry) follows from the game and the
policy. Other states are made again from the events of their learner: those that say so with a
property ``replayed``, those whose arrays have grown, and those in which anything but an array
differs from the state before the first round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np


def saved(state: Any, start: Any) -> dict[str, Any] | None:
    """Return the arrays of a state as nested lists, or None if it is made again from events.

    ``start`` is the state before the first round. JSON keeps every bit of a float.
    """
    same_kind = is_dataclass(state) and type(state) is type(start)
    if not same_kind or getattr(state, "replayed", False):
        return None
    found: dict[str, Any] = {}
    for field in fields(state):
        value, first = getattr(state, field.name), getattr(start, field.name)
        if isinstance(value, np.ndarray) and isinstance(first, np.ndarray):
            if (value.shape, value.dtype) != (first.shape, first.dtype):
                return None
            found[field.name] = value.tolist()
        elif not _same(value, first):
            inner = saved(value, first)
            if inner is None:
                return None
            found[field.name] = inner
    return found


def with_arrays(start: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the state before the first round with given arrays instead of its own."""
    changed: dict[str, Any] = {}
    for field in fields(start):
        value = getattr(start, field.name)
        if isinstance(value, np.ndarray):
            read = np.array(arrays[field.name], dtype=value.dtype)
            changed[field.name] = read.reshape(value.shape)
        elif is_dataclass(value) and field.name in arrays:
            changed[field.name] = with_arrays(value, arrays[field.name])
    return replace(start, **changed)


def _same(value: Any, first: Any) -> bool:
    """Whether an entry of a state that is no array is what it was before the first round."""
    if value is first:
        return True
    return isinstance(value, bool | int | float | str) and bool(value == first)
