"""Learners in processes that are forked.

A child has the learners of its parent. Each of them must give out ids of its own there, and must
not wait for a thread that exists only in the parent: before a fork, the forking thread waits until
no other thread uses a learner.
"""

from __future__ import annotations

import os
from threading import local
from typing import Any, Protocol
from weakref import WeakValueDictionary

PATIENCE = 10.0
"""Seconds that a fork waits for a learner in use."""


class Forked(Protocol):
    """What can be used on both sides of a fork."""

    _lock: Any
    """Held by the thread that uses it; the same thread may take it again."""

    def _open(self) -> None:
        """Start, or go on in a child, with a lock of its own."""


_known: WeakValueDictionary[int, Forked] = WeakValueDictionary()
_forking = local()


def remember(item: Forked) -> None:
    """Take care of an object whenever this process is forked."""
    _known[id(item)] = item


def _items() -> list[Forked]:
    return [item for item in [ref() for ref in _known.valuerefs()] if item is not None]


def _before() -> None:
    _forking.locks = [item._lock for item in _items() if item._lock.acquire(timeout=PATIENCE)]


def _in_parent() -> None:
    for lock in _forking.locks:
        lock.release()


def _in_child() -> None:
    for item in _items():
        item._open()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
