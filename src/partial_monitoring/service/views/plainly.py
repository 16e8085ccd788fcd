"""What a view returns: plain data that any JSON writer takes, without infinite numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np

from partial_monitoring.storage.base import Unwritten

EXACT = 2**53
"""Whole numbers from here on are written as text: most readers of JSON would round them."""


def plainly(value: Any) -> Any:
    """Return a value as plain data; numbers that are not finite become None.

    Times become seconds since 1970, arrays lists, and objects that say so what they are as text.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.generic):
        return plainly(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int):
        return value if -EXACT < value < EXACT else str(value)
    return _composed(value)


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as plain data."""
    return {key: plainly(value) for key, value in row.items()}


def _composed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): plainly(own) for key, own in value.items()}
    if isinstance(value, np.ndarray):
        return plainly(value.tolist())
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Unwritten):
        return plainly(value.written())
    if is_dataclass(value) and not isinstance(value, type):
        return plainly(asdict(value))
    if isinstance(value, Iterable):
        return [plainly(own) for own in value]
    return str(value)
