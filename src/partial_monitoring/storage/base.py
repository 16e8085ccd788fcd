"""What every storage of events offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

Event = dict[str, Any]
"""One thing that happened to a learner, as plain data: ``seq`` (1, 2, 3, ... without gaps),
``kind``, and what belongs to that kind."""

Snapshot = dict[str, Any]
"""What a learner knew after the event number ``seq``, as plain data."""


APART, HERE, NONE = "apart", "here", "none"
"""Where the events are, for who saves a learner: in the storage, which outlives the process; in
its memory, so that they are saved with it; nowhere."""


class Unwritten:
    """An entry of an event that becomes plain data when somebody reads it."""

    def written(self) -> Any:
        """Return it as plain data."""
        raise NotImplementedError


def plain(event: Event) -> Event:
    """Return an event as plain data."""
    return {key: x.written() if isinstance(x, Unwritten) else x for key, x in event.items()}


class Storage(Protocol):
    """An append-only log of events, and snapshots that save folding it from its start.

    The events are the only truth: a snapshot may be lost at any time. A storage whose attribute
    ``defers`` is true is handed events with entries that are still ``Unwritten``, and one that does
    not outlive the process says so with an attribute ``log``. One that several learners share has a
    method ``turn``, a context in which nobody else appends; it gives the number of the last event,
    and what is appended in it is kept at its end at the latest. If turns can be part of a larger
    commit, a method ``unless_stored`` takes what is called in case that fails.
    """

    def append(self, events: Sequence[Event]) -> None:
        """Keep events that follow the last one, all of them or none."""

    def after(self, seq: int = 0) -> Iterator[Event]:
        """Yield the events after a number, in order, each a copy."""

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, if the storage keeps any."""

    def latest(self) -> Snapshot | None:
        """Return the last snapshot that was kept, if there is one."""


def log_of(storage: Storage) -> str:
    """Return where the events of a storage are."""
    return str(getattr(storage, "log", APART))
