"""What the interpreter does on its own, which must not keep callers waiting.

Collections of all garbage took 50 to 100 ms. What a service has loaded is left out of them, and
they come when nobody waits. A thread that comes back from the disk waits for those that compute, 5
ms each time unless told otherwise.
"""

from __future__ import annotations

import gc
import sys

YOUNG, MIDDLE, OLD = 20_000, 20, 1_000_000
"""Thresholds: young objects are collected as usual, old ones not by themselves."""

SWITCH = 0.0002
"""Seconds that a thread computes before others have a turn."""

_before: list[tuple[tuple[int, int, int], float]] = []


def tame() -> None:
    """Let full collections come only when they are asked for, and threads take turns sooner."""
    _before.append((gc.get_threshold(), sys.getswitchinterval()))
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.freeze()


def freeze(*, first: bool = False) -> None:
    """Leave out what there is now, which stays as long as it is served; collect ``first``."""
    if first:
        gc.collect()
    gc.freeze()


def idle() -> None:
    """Collect everything when nobody waits, if there is enough to collect."""
    if gc.get_count()[2] > 0:
        gc.collect()


def release() -> None:
    """Let everything be as it was."""
    if _before:
        thresholds, interval = _before.pop()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
    if not _before:
        gc.unfreeze()
