"""The time of a service, which does not jump."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

APART = 60.0
"""Seconds by which the clock may jump before nothing is due any more."""


def ticking() -> float:
    """Return seconds since some moment, counted also while the machine sleeps if it can."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Clock:
    """Seconds since 1970, to milliseconds, and whether they can be trusted.

    If the clock of the system jumps by more than ``APART`` seconds, time goes on as if it had not,
    and it is ``halted``: decisions must not be due because somebody sets a clock. It goes on when
    the clock is back, or with another process.

    Parameters
    ----------
    wall
        The clock of the system.
    ticks
        Seconds that pass, whatever the clock says.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, ticks: Callable[[], float] | None = None
    ) -> None:
        self._wall, self._ticks, self._lock = wall, ticks or ticking, Lock()
        self._last = wall(), self._ticks()
        self.halted = False

    def now(self) -> float:
        """Return the time."""
        with self._lock:
            wall, ticks = self._wall(), self._ticks()
            expected = self._last[0] + ticks - self._last[1]
            self.halted = abs(wall - expected) > APART
            if not self.halted:
                self._last = wall, ticks
            return round(expected if self.halted else wall, 3)
