"""The garbage collector, which must not walk through everything while callers wait."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 20_000, 20, 1_000_000
"""Thresholds: objects are young ones, and full collections do not come by themselves."""

_before: list[tuple[int, int, int]] = []


def tame() -> None:
    """Let full collections come only when they are asked for."""
    if not _before:
        gc.collect()
    _before.append(gc.get_threshold())
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.freeze()


def idle() -> None:
    """Collect everything when nobody waits, if there is anything to collect."""
    if gc.get_count()[2] > 0 or gc.get_count()[1] > MIDDLE // 2:
        gc.collect()


def freeze() -> None:
    """Leave out what there is now: it stays as long as it is served."""
    gc.collect()
    gc.freeze()


def release() -> None:
    """Let the collector be as it was."""
    if _before:
        gc.set_threshold(*_before.pop())
    if not _before:
        gc.unfreeze()
