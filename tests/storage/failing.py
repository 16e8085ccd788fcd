"""Connections that fail at a given step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


def fail_in(context: AbstractContextManager[Any], *calls: Callable[[], Any]) -> None:
    with context:
        for call in calls:
            call()
        raise ZeroDivisionError
