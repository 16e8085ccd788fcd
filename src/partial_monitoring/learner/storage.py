"""The arrays in a policy's state, to be written to files and read again.

The state of a policy is a frozen dataclass. Its arrays, and those of the estimate in it, are what
was learned; everything else (the game, its model, its geometry) follows from the game and the
policy, and is made again by ``init``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from partial_monitoring.estimation.linear.least_squares import Estimate


def saved(state: Any) -> dict[str, Any] | None:
    """Return the arrays of a state, or None if it is made again from what was told.

    Some states grow, or follow from what was told sooner than their arrays can be read.
    """
    return None if getattr(state, "replayed", False) else arrays_of(state)


def arrays_of(state: Any) -> dict[str, Any]:
    """Return the arrays of a state by name, as nested lists; JSON keeps every bit of a float."""
    found: dict[str, Any] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = value.tolist()
        elif isinstance(value, Estimate):
            found |= arrays_of(value)
    return found


def with_arrays(state: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a state of the same shape with the given arrays in place of its own."""
    changed: dict[str, Any] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, np.ndarray):
            read = np.array(arrays[field.name], dtype=value.dtype)
            changed[field.name] = read.reshape(value.shape)
        elif isinstance(value, Estimate):
            changed[field.name] = with_arrays(value, arrays)
    return replace(state, **changed)
