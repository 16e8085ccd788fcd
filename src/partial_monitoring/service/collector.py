"""The garbage collector, which must not walk through everything while callers wait.

Collections of everything took 50 to 100 ms. What a service has loaded is left out of them, and they
come when nobody waits.
"""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 20_000, 20, 1_000_000
"""Thresholds: young objects are collected as usual, old ones not by themselves."""

_before: list[tuple[int, int, int]] = []


def tame() -> None:
    """Let full collections come only when they are asked for."""
    _before.append(gc.get_threshold())
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
    """Let the collector be as it was."""
    if _before:
        gc.set_threshold(*_before.pop())
    if not _before:
        gc.unfreeze()
