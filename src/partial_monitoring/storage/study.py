"""A study: a name in a database, what plays there, and its log of events.

Events are rows that are only ever added, and a transaction adds all events of one call or none. A
learner takes a *turn* in which nobody else appends to the study: it first reads what others have
appended, decides, and appends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from time import time
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.base import Event, Snapshot
from partial_monitoring.storage.handle import Handle
from partial_monitoring.storage.log import Log
from partial_monitoring.storage.rows import COLUMNS, row_of
from partial_monitoring.storage.turns import StudyRow
from partial_monitoring.validation import brief

KEPT = 2
"""Number of snapshots that are kept: if the last one is damaged, there is one before."""

APART = 10_000
"""Number of events between older snapshots, which are kept to look back."""

STATES = ("running", "paused", "archived")

LONGEST_NAME = 64


class TracePoint(NamedTuple):
    """A point of a chart."""

    seq: int
    at: float
    """Seconds since 1970."""
    body: dict[str, Any]


class Study(Log):
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
            firsts = f"SELECT min(seq) FROM pm_snapshot {own} GROUP BY seq / {APART}"
            sql = (
                f"DELETE FROM pm_snapshot {own} AND seq NOT IN ({latest}) "
                f"AND (seq < {APART} OR seq NOT IN ({firsts}))"
            )
            self._handle.run(sql, (self._number,) * 3)

    def latest(self) -> Snapshot | None:
        """Return the last snapshot that is not damaged, if there is one."""
        return self.nearest(None)

    def nearest(self, seq: int | None) -> Snapshot | None:
        """Return the last snapshot that is not damaged up to an event, if there is one."""
        until = "" if seq is None else " AND seq <= ?"
        values = (self._number,) if seq is None else (self._number, seq)
        sql = f"SELECT seq FROM pm_snapshot WHERE study_id = ?{until} ORDER BY seq DESC"
        for (own,) in self._handle.rows(sql, values):
            found = self._snapshot(own)
            if found is not None:
                return found
        return None

    def snapshots(self, until: int) -> Iterator[Snapshot]:
        """Yield the snapshots that are not damaged up to an event, in order."""
        sql = "SELECT seq FROM pm_snapshot WHERE study_id = ? AND seq <= ? ORDER BY seq"
        for (own,) in self._handle.rows(sql, (self._number, until)):
            found = self._snapshot(own)
            if found is not None:
                yield found

    def _snapshot(self, seq: int) -> Snapshot | None:
        """Return the snapshot after an event; None if it is damaged, or was deleted just now."""
        sql = "SELECT sha256, body FROM pm_snapshot WHERE study_id = ? AND seq = ?"
        for digest, text in self._handle.rows(sql, (self._number, seq)):
            if digest == _digest(text):
                return json.loads(text)  # type: ignore[no-any-return]
        return None

    def forget_snapshots(self) -> None:
        """Delete all snapshots; the events are enough."""
        with self._lock, self._handle.transaction():
            self._handle.run("DELETE FROM pm_snapshot WHERE study_id = ?", (self._number,))

    # -- what changes ---------------------------------------------------------------------------

    @property
    def row(self) -> StudyRow:
        """Its state, its settings and when it was created."""
        return self._row if self._mine else self._read()[1]

    def set(self, *, state: str | None = None, settings: Mapping[str, Any] | None = None) -> None:
        """Change the state or the settings, at the end of the turn if this is one."""
        if state is not None and state not in STATES:
            raise InvalidInput(f"state must be one of {', '.join(STATES)}; got {brief(state)}.")
        with self.turn():
            if state is not None:
                self._row = self._row._replace(state=state)
                self._change("UPDATE pm_study SET state = ? WHERE id = ?", (state, self._number))
            if settings is not None:
                text = json.dumps(dict(settings))
                self._row = self._row._replace(settings=json.loads(text))
                sql = "UPDATE pm_study SET settings = ? WHERE id = ?"
                self._change(sql, (text, self._number))

    def trace(self, seq: int, at: float, body: Mapping[str, Any]) -> None:
        """Keep a point of a chart: what it shows after an event, and when that was."""
        self._change(
            "INSERT INTO pm_trace VALUES (?, ?, ?, ?) ON CONFLICT (study_id, seq) "
            "DO UPDATE SET at = excluded.at, body = excluded.body",
            (self._number, seq, int(at * 1e6), json.dumps(body)),
        )

    def traces(self, after: int = 0, limit: int = 1000) -> list[TracePoint]:
        """Return the first points of charts after an event, in order."""
        sql = "SELECT seq, at, body FROM pm_trace WHERE study_id = ? AND seq > ? ORDER BY seq"
        rows = self._handle.rows(f"{sql} LIMIT ?", (self._number, after, limit))
        found = []
        for seq, at, body in rows:
            with suppress(ValueError, RecursionError):  # one that is damaged is not shown
                found.append(TracePoint(seq, at / 1e6, json.loads(body)))
        return found

    def trace_rows(self, after: int = 0) -> list[tuple[Any, ...]]:
        """Return the first points after an event as number and text, damaged or not."""
        sql = "SELECT seq, body FROM pm_trace WHERE study_id = ? AND seq > ? ORDER BY seq"
        return self._handle.rows(f"{sql} LIMIT 1000", (self._number, after))

    def forget_traces(self, seqs: Iterable[int]) -> None:
        """Delete points of charts."""
        with self.turn():
            for seq in seqs:
                sql = "DELETE FROM pm_trace WHERE study_id = ? AND seq = ?"
                self._change(sql, (self._number, seq))

    def rename(self, new: str) -> None:
        """Change the row only; :meth:`Database.rename` does the rest."""
        self._change("UPDATE pm_study SET name = ? WHERE id = ?", (new, self._number))

    def succeeded(self, old: str, spec: Mapping[str, Any], events: Sequence[Event]) -> None:
        """Archive the row, and add that of its successor; :meth:`Database.replace` does more."""
        now, state = int(time() * 1e6), self._row.state
        rows = [row_of(event, now) for event in events]
        with self.turn():
            self.rename(old)
            self.set(state="archived")
            self._change(
                "INSERT INTO pm_study (name, version, spec, created_at, state, settings) "
                "SELECT ?, ?, ?, ?, ?, settings FROM pm_study WHERE id = ?",
                (self.name, len(rows), json.dumps(spec), now, state, self._number),
            )
            own = "(SELECT id FROM pm_study WHERE name = ?)"
            for row in rows:
                sql = f"INSERT INTO pm_event (study_id, {COLUMNS}) VALUES ({own}{', ?' * len(row)})"
                self._change(sql, (self.name, *row))

    def through(self, handle: Handle) -> Study:
        """Return the same study, read through another connection."""
        return Study(handle, self.name, self._number, self.spec)


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


def created(handle: Handle, name: str, spec: Mapping[str, Any], at: float | None = None) -> None:
    """Add the row of a study, unless it is there; ``at`` is when it was created."""
    with handle.transaction():
        handle.run(
            "INSERT INTO pm_study (name, spec, created_at) VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO NOTHING",
            (name, json.dumps(spec), int((time() if at is None else at) * 1e6)),
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
