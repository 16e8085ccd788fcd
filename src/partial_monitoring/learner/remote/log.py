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
        for event in self._pages("events", seq):
            event.pop("at", None)
            if event.get("seq") != seq + 1:
                raise self._service.unexpected(f"{self._path}/events", event)
            seq += 1
            yield event

    def waiting(self) -> Iterator[dict[str, Any]]:
        """Yield the decisions that are open, in the order in which they were made."""
        return self._pages("decisions", None, "open=true&")

    def _pages(self, what: str, after: int | None, query: str = "") -> Iterator[dict[str, Any]]:
        """Yield the rows of all pages; each says after which row the next one begins."""
        while True:
            start = "" if after is None else f"after={after}&"
            path = f"{self._path}/{what}"
            found = self._service.get(f"{path}?{query}{start}limit={PAGE}")
            rows = found.get(what) if isinstance(found, dict) else None
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise self._service.unexpected(path, found)
            yield from rows
            following = found.get("next")
            if following is None:
                return
            if type(following) is not int or (after is not None and following <= after):
                raise self._service.unexpected(path, found)
            after = following

    def append(self, events: Sequence[Event]) -> None:
        """Refuse: the service alone writes."""
        raise InvalidInput("the log of a study is written by its service alone.")

    def latest(self) -> None:
        """Return no snapshot."""

    def keep(self, *given: Any) -> None:
        """Keep no snapshot."""
