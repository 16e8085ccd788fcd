"""The log of a study: its events, appended in turns, and found by number, key or decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import time
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.rows import COLUMNS, EventRow, event_of, row_of
from partial_monitoring.storage.turns import Turns
from partial_monitoring.validation import brief

READ = 1000
"""Number of events that are read at once."""

_SELECT = f"SELECT {COLUMNS} FROM pm_event WHERE study_id = ?"
_BOTH = ", ".join(f"{own}.{name}" for own in "ab" for name in EventRow._fields)

PAIRS = (
    f"SELECT {_BOTH} FROM pm_event a LEFT JOIN pm_event b ON b.study_id = a.study_id "
    f"AND b.decision = a.decision AND b.slot = 1 WHERE a.study_id = ?"
)
"""The rows in which decisions of a study were made (a), and closed (b)."""


class DamagedEvent(StorageError):
    """An event that is stored cannot be read; others can."""

    def __init__(self, where: str, row: EventRow) -> None:
        super().__init__(f"{where}: event {row.seq} is damaged; its body is {brief(row.body)}.")
        self.said = f"event {row.seq} is damaged."


class DecisionRow(NamedTuple):
    """A decision, when it was made and when it was closed, in seconds since 1970."""

    number: int
    asked: Event
    asked_at: float
    closed: Event | None
    closed_at: float | None


class Log(Turns):
    """The events of a study."""

    @property
    def version(self) -> int:
        """The number of the last event."""
        return self._end if self._mine else self._read()[0]

    def append(self, events: Sequence[Event]) -> None:
        """Append events that follow the last one, at the end of the turn if this is one."""
        now = int(time() * 1e6)
        self.append_rows([row_of(event, now) for event in events])

    def append_rows(self, rows: Sequence[EventRow]) -> None:
        """Append events as rows."""
        if not rows:
            return
        first, last = rows[0].seq, rows[-1].seq
        if [row.seq for row in rows] != list(range(first, first + len(rows))):
            raise InvalidInput(f"events must be numbered without gaps; got {first} to {last}.")
        with self.turn() as end:
            if first != end + 1:
                raise StorageError(
                    f"{self._where}: another learner has appended events up to number {end}; "
                    f"they are read now, so try again."
                )
            self._collect(rows)

    def after(self, seq: int = 0, *, at: bool = False) -> Iterator[Event]:
        """Yield the events after a number, in order, as they are read; ``at``, with their times."""
        for row in self.rows_after(seq):
            yield self.event(row, at=at)

    def rows_after(self, seq: int = 0) -> Iterator[EventRow]:
        """Yield the events after a number as rows, in order, as they are read."""
        sql = f"{_SELECT} AND seq > ? ORDER BY seq LIMIT {READ}"
        collected = list(self._rows) if self._mine else []
        stored = collected[0].seq - 1 if collected else None
        while stored is None or seq < stored:
            rows = self._handle.rows(sql, (self._number, seq))
            for row in map(EventRow._make, rows):
                seq = row.seq
                yield row
            if len(rows) < READ:
                break
        for row in collected:
            if row.seq > seq:
                yield row

    # -- by what they are about ----------------------------------------------------------------

    def by_key(self, key: str) -> Event | None:
        """Return the event of a request that has a key, if there is one."""
        return self._first("key", key, f"{_SELECT} AND key = ?")

    def by_keys(self, keys: Sequence[str]) -> dict[str, Event]:
        """Return the events of requests by their keys, of those that there are."""
        found: dict[str, Event] = {}
        most = 1 if self._handle.dialect == "sqlite" else READ  # a list takes it longer
        for first in range(0, len(keys), most):
            some = keys[first : first + most]
            sql = f"{_SELECT} AND key IN ({', '.join('?' * len(some))})"
            for row in map(EventRow._make, self._handle.rows(sql, (self._number, *some))):
                found[str(row.key)] = self.event(row)
        if self._mine:
            kept = {key: self._found.get(("key", key)) for key in keys}
            found |= {key: self.event(row) for key, row in kept.items() if row is not None}
        return found

    def asked(self, decision: object) -> Event | None:
        """Return the event in which a decision was made, if there is one."""
        return self._first(0, str(decision), f"{_SELECT} AND decision = ? AND slot = 0")

    def closing(self, decision: object) -> Event | None:
        """Return the event that has closed a decision, if there is one."""
        return self._first(1, str(decision), f"{_SELECT} AND decision = ? AND slot = 1")

    def about(self, decision: object, *, at: bool = False) -> list[Event]:
        """Return all events about a decision, in order; ``at``, with their times."""
        name = str(decision)
        rows = self.rows_of([name])
        if self._mine:
            rows += [row for row in self._rows if row.decision == name]
        return [self.event(row, at=at) for row in rows]

    def rows_of(self, decisions: Sequence[str]) -> list[EventRow]:
        """Return all stored events about decisions, in order."""
        found, most = list[EventRow](), 1 if self.dialect == "sqlite" else READ
        by_index = f"pm_event{self._handle.indexed.format('pm_event_about')}"
        for first in range(0, len(decisions), most):
            some = decisions[first : first + most]
            stored = f"{_SELECT} AND decision IN ({', '.join('?' * len(some))}) AND slot"
            sql = f"{stored} IN (0, 1) UNION ALL {stored.replace('pm_event', by_index)} IS NULL"
            rows = self._handle.rows(sql, (self._number, *some, self._number, *some))
            found += map(EventRow._make, rows)
        return sorted(found, key=lambda row: row.seq)

    @property
    def dialect(self) -> str:
        """What SQL it is read with."""
        return self._handle.dialect

    def of_kind(
        self, kind: str, after: int = 0, limit: int = READ, *, at: bool = False
    ) -> list[Event]:
        """Return the first stored events of a kind after a number, other than asks and answers."""
        sql = f"{_SELECT} AND kind = ? AND slot IS NULL AND seq > ? ORDER BY seq LIMIT ?"
        rows = self._handle.rows(sql, (self._number, kind, after, limit))
        return [self.event(row, at=at) for row in map(EventRow._make, rows)]

    def decisions(
        self, after_number: int = -1, limit: int = READ, open_only: bool = False
    ) -> list[DecisionRow]:
        """Return the first decisions that are stored after one, by number.

        With ``open_only`` those that are closed are left out, but have to be read.
        """
        found = []
        for asked, closed in self.decision_rows(after_number, limit, open_only=open_only):
            event, at = None, None
            if closed is not None:
                event, at = self.event(closed), closed.at / 1e6
            own = self.event(asked)
            found.append(DecisionRow(asked.number or 0, own, asked.at / 1e6, event, at))
        return found

    def decision_rows(
        self, after_number: int, limit: int, *, open_only: bool = False
    ) -> list[tuple[EventRow, EventRow | None]]:
        """Return the rows in which the first decisions after one were made, and closed."""
        rest = " AND b.seq IS NULL" if open_only else ""
        sql = f"{PAIRS} AND a.number > ?{rest} ORDER BY a.number LIMIT ?"
        return self.pairs(sql, (after_number, limit))

    def pairs(self, sql: str, values: Sequence[Any]) -> list[tuple[EventRow, EventRow | None]]:
        """Return the rows in which decisions were made and closed; ``sql`` begins with PAIRS."""
        width = len(EventRow._fields)
        rows = self._handle.rows(sql, (self._number, *values))
        found = ((EventRow._make(row[:width]), row[width:]) for row in rows)
        return [(a, None if b[0] is None else EventRow._make(b)) for a, b in found]

    def rows_about(self, first: int, last: int) -> list[EventRow]:
        """Return what else is about decisions with numbers in a range, in order."""
        names = ", ".join(f"b.{name}" for name in EventRow._fields)
        sql = (
            f"SELECT {names} FROM pm_event a JOIN pm_event b ON b.study_id = a.study_id "
            f"AND b.decision = a.decision AND b.slot IS NULL WHERE a.study_id = ? "
            f"AND a.number BETWEEN ? AND ?"
        )
        rows = self._handle.rows(sql, (self._number, first, last))
        return sorted(map(EventRow._make, rows), key=lambda row: row.seq)

    def _first(self, what: Any, value: str, sql: str) -> Event | None:
        row = self._found.get((what, value)) if self._mine else None
        if row is None:
            for values in self._handle.rows(sql, (self._number, value)):
                row = EventRow._make(values)
        return None if row is None else self.event(row)

    def event(self, row: EventRow, *, at: bool = False) -> Event:
        """Return the event of a row; ``at``, with its time."""
        try:
            return event_of(row, at=at)
        except (ValueError, TypeError, RecursionError):
            raise DamagedEvent(self._where, row) from None
