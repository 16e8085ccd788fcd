"""When not to wait for a service: after failures it is left alone for some seconds."""

from __future__ import annotations

import threading
from random import uniform
from time import monotonic

FAILURES = 3
"""Number of calls that fail one after the other before the service counts as away."""

PAUSE = 5.0
"""Seconds until it is tried again."""


class Breaker:
    """Whether a service is worth a request; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures, self._until = 0, 0.0

    @property
    def is_open(self) -> bool:
        """Whether the service counts as away; one caller in some seconds is told that it does not.

        What that caller finds decides for the others.
        """
        with self._lock:
            if self._failures < FAILURES:
                return False
            now = monotonic()
            if now < self._until:
                return True
            self._until = now + PAUSE
            return False

    def failed(self) -> None:
        """Note that the service did not answer."""
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES:
                self._until = monotonic() + PAUSE * uniform(0.8, 1.2)

    def succeeded(self) -> None:
        """Note that it did."""
        if self._failures:
            with self._lock:
                self._failures = 0
