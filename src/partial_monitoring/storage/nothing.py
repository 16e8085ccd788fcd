"""No log: what happened is learned from and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage.base import NONE, Event, Snapshot

REFUSAL = "the events of this learner are not kept (storage=None); it has no log to read."


class Nothing:
    """A storage that keeps nothing but the number of the last event.

    Parameters
    ----------
    seq
        The number of the last event before.
    """

    defers = True
    log = NONE

    def __init__(self, seq: int = 0) -> None:
        self._seq = seq

    def append(self, events: Sequence[Event]) -> None:
        for event in list(events)[-1:]:
            self._seq = event["seq"]

    def after(self, seq: int = 0) -> Iterator[Event]:
        """Yield nothing after the last event; those before it are gone."""
        if seq < self._seq:
            raise InvalidInput(REFUSAL)
        return iter(())

    def keep(self, snapshot: Snapshot) -> None:
        pass

    def latest(self) -> Snapshot | None:
        return None
