"""A study: a name in a database, what plays there, and its log of events.

Events are rows that are only ever added, and a transaction adds all events of one call or none. A
learner takes a *turn* in which nobody else appends to the study: it first reads what others have
appended, decides, and appends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from time import time
from typing import Any

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.base import Event, Snapshot
from partial_monitoring.storage.handle import Handle
from partial_monitoring.storage.turns import Turns
from partial_monitoring.validation import brief

READ = 1000
"""Number of events that are read at once."""

KEPT = 2
"""Number of snapshots that are kept: if the last one is damaged, there is one before."""

SLOTS = {"ask": 0, "tell": 1, "lapse": 1, "cancel": 1}
"""What a decision can be only once: asked, and closed."""

LONGEST_NAME = 64


class Study(Turns):
    """A storage in a database.

    Parameters
    ----------
    handle
        The connection.
    name
        Of the study.
    number, spec
        Its row, and what plays there, as plain data.
    """

    def __init__(self, handle: Handle, name: str, number: int, spec: Mapping[str, Any]) -> None:
        super().__init__(handle, name, number)
        self.spec = spec

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._handle.address!r}, {self.name!r})"

    @property
    def version(self) -> int:
        """The number of the last event."""
        return self._end if self._mine else self._version()

    def append(self, events: Sequence[Event]) -> None:
        """Append events that follow the last one, at the end of the turn if this is one."""
        if not events:
            return
        now, first, last = int(time() * 1e6), events[0]["seq"], events[-1]["seq"]
        rows = [self._row(event, now) for event in events]
        if [row[1] for row in rows] != list(range(first, first + len(rows))):
            raise InvalidInput(f"events must be numbered without gaps; got {first} to {last}.")
        with self.turn() as end:
            if first != end + 1:
                raise StorageError(
                    f"{self._where}: another learner has appended events up to number {end}; "
                    f"they are read now, so try again."
                )
            self._rows += rows
            self._end = last

    def after(self, seq: int = 0) -> Iterator[Event]:
        """Yield the events after a number, in order, as they are read."""
        sql = "SELECT seq, kind, body FROM pm_event WHERE study_id = ? AND seq > ? ORDER BY seq"
        collected = list(self._rows) if self._mine else []
        stored = collected[0][1] - 1 if collected else None
        while stored is None or seq < stored:
            rows = self._handle.rows(f"{sql} LIMIT {READ}", (self._number, seq))
            for seq, kind, body in rows:
                yield self._event(seq, kind, body)
            if len(rows) < READ:
                break
        for row in collected:
            if row[1] > seq:
                yield self._event(row[1], row[3], row[6])

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, after the turn if this is one."""
        if self._mine:
            self._waiting = snapshot
        else:
            self._keep(snapshot)

    def _keep(self, snapshot: Snapshot) -> None:
        text, seq = json.dumps(snapshot), snapshot["seq"]
        with self._lock, self._handle.transaction():
            own = "WHERE study_id = ?"
            self._handle.run(f"DELETE FROM pm_snapshot {own} AND seq = ?", (self._number, seq))
            row = (self._number, seq, _digest(text), text)
            self._handle.run("INSERT INTO pm_snapshot VALUES (?, ?, ?, ?)", row)
            latest = f"SELECT seq FROM pm_snapshot {own} ORDER BY seq DESC LIMIT {KEPT}"
            sql = f"DELETE FROM pm_snapshot {own} AND seq NOT IN ({latest})"
            self._handle.run(sql, (self._number, self._number))

    def latest(self) -> Snapshot | None:
        """Return the last snapshot that is not damaged, if there is one."""
        sql = "SELECT sha256, body FROM pm_snapshot WHERE study_id = ? ORDER BY seq DESC"
        for digest, text in self._handle.rows(sql, (self._number,)):
            if digest == _digest(text):
                return json.loads(text)  # type: ignore[no-any-return]
        return None

    def forget_snapshots(self) -> None:
        """Delete all snapshots; the events are enough."""
        with self._lock, self._handle.transaction():
            self._handle.run("DELETE FROM pm_snapshot WHERE study_id = ?", (self._number,))

    # -- rows ----------------------------------------------------------------------------------

    def _row(self, event: Event, now: int) -> tuple[Any, ...]:
        rest = {key: value for key, value in event.items() if key not in ("seq", "kind")}
        kind, decision = event["kind"], event.get("decision")
        slot = SLOTS.get(kind)
        named = None if slot is None else str(decision)
        return self._number, event["seq"], now, kind, named, slot, json.dumps(rest)

    def _event(self, seq: int, kind: str, body: str) -> Event:
        try:
            return {"seq": seq, "kind": kind, **json.loads(body)}
        except (ValueError, TypeError, RecursionError):
            raise StorageError(
                f"{self._where}: event {seq} is damaged; its body is {brief(body)}."
            ) from None


def study_name(given: object) -> str:
    """Return the name of a study, if it is one."""
    if (
        not isinstance(given, str)
        or not 0 < len(given) <= LONGEST_NAME
        or given != given.strip()
        or not given.isprintable()
    ):
        raise InvalidInput(
            f"name must be that of a study, 1 to {LONGEST_NAME} letters; got {brief(given)}."
        )
    return given


def created(handle: Handle, name: str, spec: Mapping[str, Any]) -> None:
    """Add the row of a study, unless it is there."""
    with handle.transaction():
        handle.run(
            "INSERT INTO pm_study (name, spec, created_at) VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO NOTHING",
            (name, json.dumps(spec), int(time() * 1e6)),
        )


def read_study(handle: Handle, name: str) -> tuple[int, Any] | None:
    """Return the number and the spec of a study, if it is there."""
    for number, text in handle.rows("SELECT id, spec FROM pm_study WHERE name = ?", (name,)):
        try:
            return number, json.loads(text)
        except ValueError:
            raise StorageError(
                f"{handle.address}, study {brief(name)}: what plays there is damaged."
            ) from None
    return None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
