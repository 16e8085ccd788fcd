"""The log of a study, read from its service page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.remote.calls import Service
from partial_monitoring.storage.base import Event

PAGE = 1000
"""Rows of a page."""


class RemoteLog:
    """A storage that can be read."""

    def __init__(self, service: Service, path: str) -> None:
        self._service, self._path = service, path

    def after(self, seq: int = 0) -> Iterator[Event]:
        """Yield the events after a number, in order."""
        while True:
            page = self.rows("events", f"after={seq}")
            for event in page:
                if event.get("seq") != seq + 1:
                    raise self._service.unexpected(f"{self._path}/events", event)
                seq += 1
                yield event
            if not page:
                return

    def waiting(self) -> Iterator[dict[str, Any]]:
        """Yield the decisions that are open, in the order in which they were made."""
        after: Any = -1
        while True:
            page = self.rows("decisions", f"open=true&after={after}")
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].get("number")

    def rows(self, what: str, query: str) -> list[dict[str, Any]]:
        """Return a page of rows."""
        path = f"{self._path}/{what}"
        found = self._service.get(f"{path}?{query}&limit={PAGE}")
        rows = found.get(what) if isinstance(found, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._service.unexpected(path, found)
        return rows

    def append(self, events: Sequence[Event]) -> None:
        """Refuse: the service alone writes."""
        raise InvalidInput("the log of a study is written by its service alone.")

    def latest(self) -> None:
        """Return no snapshot."""

    def keep(self, *given: Any) -> None:
        """Keep no snapshot."""
