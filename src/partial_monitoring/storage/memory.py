"""Events in memory, which end with the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from partial_monitoring.storage.base import Event, Snapshot, plain


class Memory:
    """A storage in memory.

    Parameters
    ----------
    events
        What it holds at the start, from event 1 on.
    """

    defers = True

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: list[Event] = list(map(_copied, events))
        self._snapshot: Snapshot | None = None

    def append(self, events: Sequence[Event]) -> None:
        self._events.extend(list(events))  # all or none

    def after(self, seq: int = 0) -> Iterator[Event]:
        return map(_copied, map(plain, self._events[seq:]))

    def keep(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def latest(self) -> Snapshot | None:
        return self._snapshot


def _copied(value: Any) -> Any:
    """Return a copy of plain data."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return list(map(_copied, value)) if isinstance(value, list) else value
