"""Turns: what a study is appended to in, with others kept out, and one commit at the end.

What is appended in a turn is collected and written when the outermost one ends. The turns of
several studies of a file may be a *group*, which ends with one commit for all of them.

Locks are taken in this order: that of the group, of a study, of a learner, of the connection.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock, get_ident
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from partial_monitoring.errors import StorageError
from partial_monitoring.storage.base import Snapshot
from partial_monitoring.storage.handle import STUDY, Handle, Row
from partial_monitoring.storage.rows import EventRow

Call = Callable[[], None]


class StudyRow(NamedTuple):
    """What of a study changes without being an event."""

    state: str
    """"running", "paused" or "archived"."""
    settings: dict[str, Any]
    """What a service does with it."""
    created_at: float
    """Seconds since 1970."""


class Turns:
    """The turns of a study.

    Parameters
    ----------
    handle
        The connection.
    name
        Of the study.
    number
        Its row.
    """

    def __init__(self, handle: Handle, name: str, number: int) -> None:
        self.name, self._handle, self._number = name, handle, number
        self._last: int | None = None
        """The number of the last event that is stored, if nobody else can have appended more."""
        self._row = StudyRow("running", {}, 0.0)
        self._renew()
        _all[id(self)] = self

    def _renew(self) -> None:
        self._lock, self._owner = RLock(), 0
        self._end = 0
        self._rows: list[EventRow] = []
        self._found: dict[tuple[Any, str], EventRow] = {}
        """What was collected, by key and by slot and decision."""
        self._also: list[tuple[str, Sequence[Any]]] = []
        self._unless: list[Call] = []
        self._then: list[Call] = []
        self._waiting: Snapshot | None = None

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Let nobody else append until the end; the number of the last event is what it gives.

        What is appended is kept at the end of the outermost turn, or of the group that it is in; or
        nothing of it if that fails. A turn inside another one that fails leaves nothing, either.
        """
        with self._lock:
            group = self._handle.group
            if not self._owner and group is not None and group.mine:
                group.join(self)
            if self._owner:
                marks = self._marks
                try:
                    yield self._end
                except BaseException:
                    self._take_back(*marks)
                    raise
                return
            try:
                with self._handle.turn(self._number) as rows:
                    self._begin(rows)
                    yield self._end
                    self._write()
            except BaseException:
                self._lost()
                raise
            self._stored()

    def take_long(self) -> None:
        """In a turn: say that it may take long."""
        self._handle.take_long()

    def unless_stored(self, call: Call) -> None:
        """In a turn: have something called if what is appended in it is not stored after all."""
        self._unless.append(call)

    def then(self, call: Call) -> None:
        """In a turn: have something called when what is appended in it is stored."""
        self._then.append(call)

    @property
    def _mine(self) -> bool:
        """Whether this thread has the turn."""
        return self._owner == get_ident()

    @property
    def _where(self) -> str:
        return f"{self._handle.address}, study {self.name!r}"

    # -- from the beginning to the end of the outermost one ------------------------------------

    def _begin(self, rows: list[Row] | None = None) -> None:
        if rows is not None or self._last is None or not self._handle.owns:
            self._last, self._row = self._read(rows)
        self._end, self._owner = self._last, get_ident()

    def _read(self, rows: list[Row] | None = None) -> tuple[int, StudyRow]:
        """Read the row of the study, if it was not; return the number of the last event, and it.

        Others may have the turn, so that nothing is remembered here.
        """
        if rows is None:
            rows = self._handle.rows(f"{STUDY} ?", (self._number,))
        if not rows:
            raise StorageError(f"{self._where}: was deleted.")
        version, state, settings, created = rows[0]
        return int(version), StudyRow(state, self._read_settings(settings), created / 1e6)

    def _read_settings(self, text: str) -> dict[str, Any]:
        if text == "{}":
            return {}
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, dict):
                return found
        raise StorageError(f"{self._where}: its settings are damaged.")

    def _collect(self, rows: Sequence[EventRow]) -> None:
        """In a turn: keep events for its end."""
        for row in rows:
            self._rows.append(row)
            if row.slot is not None:
                self._found[row.slot, str(row.decision)] = row
            if row.key is not None:
                self._found["key", row.key] = row
        self._end = rows[-1].seq

    def _change(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement at the end of this turn, or in one of its own."""
        with self.turn():
            self._also.append((sql, values))

    @property
    def _changed(self) -> bool:
        return bool(self._rows or self._also)

    def _write(self, *, grouped: bool = False) -> None:
        """Write what was collected, in one transaction."""
        if self._also:
            with self._handle.transaction():
                for sql, values in self._also:
                    self._handle.run(sql, values)
                self._append(last=False)
        else:
            self._append(last=not grouped)

    def _append(self, *, last: bool) -> None:
        if self._rows and not self._handle.append(self._number, self._rows, last=last):
            raise StorageError(
                f"{self._where}: another learner has appended events up to number "
                f"{self._read()[0]}; they are read now, so try again."
            )

    def _stored(self) -> None:
        self._last, self._owner = self._end, 0
        snapshot, self._waiting = self._waiting, None
        then = self._then
        self._clear()
        for call in then:
            call()
        if snapshot is not None:
            with suppress(StorageError):  # the events are stored, which is what counts
                self._keep(snapshot)

    def _lost(self) -> None:
        self._last, self._owner, self._waiting = None, 0, None
        unless = self._unless
        self._clear()
        for call in reversed(unless):
            call()

    def _clear(self) -> None:
        self._rows, self._found = [], {}
        self._also, self._unless, self._then = [], [], []

    @property
    def _marks(self) -> tuple[StudyRow, int, int, int, int]:
        lengths = len(self._also), len(self._unless), len(self._then)
        return self._row, len(self._rows), *lengths

    def _take_back(self, own: StudyRow, count: int, also: int, unless: int, then: int) -> None:
        """Undo what a turn did that is part of another one."""
        if not self._owner:
            return  # all is undone already
        undone, self._row = self._unless[unless:], own
        del self._also[also:], self._unless[unless:], self._then[then:]
        if count < len(self._rows):
            end = self._end - len(self._rows)
            rows, self._rows, self._found, self._end = self._rows[:count], [], {}, end
            if rows:
                self._collect(rows)
        for call in reversed(undone):
            call()

    def _keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot."""
        raise NotImplementedError


class Group:
    """Turns of the studies of a file, which end with one commit.

    Parameters
    ----------
    handle
        The connection that they share.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle, self._lock = handle, RLock()
        self._owner = 0
        self._turns: list[Turns] = []

    @property
    def mine(self) -> bool:
        """Whether this thread is in it."""
        return self._owner == get_ident()

    def join(self, own: Turns) -> None:
        """Keep the turn of a study until the end, which this thread has the lock of."""
        own._begin()
        own._lock.acquire()
        self._turns.append(own)

    @contextmanager
    def together(self) -> Iterator[None]:
        """In which turns are one: at the end, all of them are stored or none."""
        with self._lock:
            if self._owner:
                yield
                return
            self._owner = get_ident()
            try:
                yield from self._until_stored()
            finally:
                self._owner, turns, self._turns = 0, self._turns, []
                for own in turns:
                    own._lock.release()

    def _until_stored(self) -> Iterator[None]:
        try:
            yield
            if any(own._changed for own in self._turns):
                with self._handle.transaction():
                    for own in self._turns:
                        own._write(grouped=True)
        except BaseException:
            for own in reversed(self._turns):
                own._lost()
            raise
        for own in self._turns:
            own._stored()


_all: WeakValueDictionary[int, Turns] = WeakValueDictionary()


def _in_child() -> None:
    """In a fork, no other thread goes on, whatever it was about to do."""
    for ref in list(_all.valuerefs()):
        own = ref()
        if own is not None:
            own._last = None
            own._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
