"""Studies in a file of SQLite, to which one process writes at a time.

The file is in WAL mode and every commit waits for the disk, so that what was acknowledged survives
a power failure. A lock beside it, held as long as the process lives, keeps others out: a second
writer would corrupt nothing, but the two would wait for each other. All learners of a process share
one connection. Other processes may read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from secrets import token_hex
from threading import RLock
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary, finalize

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage import migrations, owner
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.handle import Handle, Row
from partial_monitoring.storage.rows import COLUMNS, EventRow
from partial_monitoring.storage.study import Study
from partial_monitoring.storage.turns import Group
from partial_monitoring.validation import brief, file_path

PREFIX = "sqlite:///"

SYNCHRONOUS = ("full", "normal")
"""Whether a commit waits for the disk; with "normal", a power failure may lose the last ones."""


PATIENCE = 10.0
"""Seconds that another process may take to write."""

MOVE = "UPDATE pm_study SET version = ? WHERE id = ? AND version = ?"

INSERT = f"INSERT INTO pm_event (study_id, {COLUMNS}) VALUES (?{', ?' * len(EventRow._fields)})"


class Connection(Handle):
    """The connection of a process to a file."""

    dialect = "sqlite"
    indexed = " INDEXED BY {}"

    def __init__(self, path: Path, synchronous: str, *, writes: bool) -> None:
        self.address, self._lock, self._depth = str(path), RLock(), 0
        self._process = os.getpid()
        self.owns, self.group = writes, Group(self)
        mode = "rwc" if writes else "ro"
        with self._reporting(), owner.explaining(path, writes=writes):
            self._own = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=PATIENCE,
            )
            try:
                self._own.execute("PRAGMA foreign_keys = ON")
                if writes:
                    [(found,)] = self._own.execute("PRAGMA journal_mode = WAL")
                    if found != "wal":
                        raise StorageError(f"{path}: cannot be written in WAL mode, but {found}.")
                    self._own.execute(f"PRAGMA synchronous = {synchronous}")
                else:
                    self._own.execute("SELECT count(*) FROM sqlite_master")
            except BaseException:
                self._own.close()
                raise

    def turn(self, number: int) -> AbstractContextManager[None]:
        return nullcontext()  # this process is the only one that writes

    def take_long(self) -> None:
        pass  # nobody ends it

    def append(self, number: int, rows: Sequence[EventRow], *, last: bool) -> bool:
        """Append; if it is the last one of a turn, in a transaction of its own."""
        with self._lock, self._reporting():
            own, alone = self._own, last and not self._depth
            try:
                if alone:
                    own.execute("BEGIN IMMEDIATE")
                moved = own.execute(MOVE, (rows[-1].seq, number, rows[0].seq - 1)).rowcount == 1
                if moved:
                    own.executemany(INSERT, [(number, *row) for row in rows])
                if alone and moved:
                    own.execute("COMMIT")
                return moved
            finally:
                if alone:
                    self._roll_back()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._depth:
                yield
                return
            with self._reporting():
                self._own.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
                with self._reporting():
                    self._own.execute("COMMIT")
            finally:
                self._depth = 0
                self._roll_back()

    @contextmanager
    def at_once(self, studies: Sequence[Study]) -> Iterator[bool]:
        """Take the locks that turns of some studies need, if nobody has them; say whether they are.

        Until the end, another process that writes is not waited for, either.
        """
        with ExitStack() as held:
            taken = all(_taken(own, held) for own in (self.group, *studies, self))
            if taken:
                self._own.execute("PRAGMA busy_timeout = 0")
                held.callback(self._own.execute, f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
            yield taken

    def _roll_back(self) -> None:
        if self._own.in_transaction:  # SQLite has ended it already if the disk is full
            with suppress(sqlite3.Error):
                self._own.execute("ROLLBACK")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._lock, self._reporting():
            return self._own.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        with self._reporting():
            return self._own.execute(sql, values).rowcount

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        with self._reporting():
            self._own.executemany(sql, values)

    def script(self, sql: str) -> None:
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self.run(statement)
                statement = ""
        self.run(statement)  # whatever it is

    def tables(self) -> set[str]:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 3) = 'pm_'"
        return {row[0] for row in self.rows(sql)}

    def problems(self) -> list[str]:
        rows = [*self.rows("PRAGMA integrity_check(10)"), *self.rows("PRAGMA foreign_key_check")]
        return [f"{' '.join(map(str, row))}." for row in rows if row != ("ok",)]

    def copy_to(self, path: Path) -> None:
        """Write a copy of the file as it is now, whole or not at all."""
        unfinished = path.with_name(f".{path.name}.{token_hex(8)}.unfinished")
        try:
            with disk.reporting(path, "written"):
                unfinished.touch(Path(self.address).stat().st_mode & 0o777, exist_ok=False)
            with self._lock, self._reporting(), closing(sqlite3.connect(unfinished)) as target:
                self._own.backup(target)
            with disk.reporting(path, "written"):
                disk.sync(unfinished)
                unfinished.replace(path)
                disk.sync_folder(path.parent)
        except InvalidInput as error:
            raise StorageError(str(error)) from None
        finally:
            with suppress(OSError):
                unfinished.unlink()

    def close(self) -> None:
        self._own.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Say in one sentence what is wrong."""
        if os.getpid() != self._process:
            raise StorageError(
                f"{self.address}: is open in process {self._process}, of which this one is a fork; "
                f"one process writes to a file."
            )
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning) as error:
            said = " ".join(str(error).split()).rstrip(".")
            raise StorageError(f"{self.address}: {said or 'cannot be used'}.") from error


class Sqlite(Database):
    """A file of studies.

    Parameters
    ----------
    given
        The address, ``sqlite:///shop.db`` or ``sqlite:////folder/shop.db``, with
        ``?synchronous=normal`` if commits need not wait for the disk.
    writes
        Whether this process is the one that writes.
    check
        Whether the schema must be that of this version.
    """

    def __init__(self, given: str, *, writes: bool = True, check: bool = True) -> None:
        super().__init__(given)
        self.path, synchronous = parsed(given)
        owner.refuse_remote(self.path)
        if not writes and not self.path.exists():
            raise StorageError(f"{self.path}: cannot be opened: No such file or directory.")
        self._held = owner.locked(self.path) if writes else None
        try:
            self._connection = Connection(self.path, synchronous, writes=writes)
            self._finish = finalize(self, _finish, self._connection, self._held)
        except BaseException:
            owner.release(self._held)
            raise
        try:
            if check and writes:
                self.upgrade()
            if check:
                migrations.prepare(self._connection, create=writes)
        except BaseException:
            self.close()
            raise
        if writes:
            _open[_place(self.path)] = self
        _all[id(self)] = self

    @property
    def handle(self) -> Connection:
        return self._connection

    def announce(self, address: str) -> None:
        """Tell processes that are refused where this one can be reached."""
        if self._held is not None:
            owner.sign(self._held, address)

    def close(self) -> None:
        if _open.get(_place(self.path)) is self:
            del _open[_place(self.path)]
        self._finish()

    def reader(self) -> Connection:
        return Connection(self.path, parsed(self.given)[1], writes=False)

    def back_up(self, path: str | Path) -> None:
        target = file_path(path)
        if target.exists():
            raise InvalidInput(f"{path}: exists already.")
        own = self.reader()  # others go on writing in the meantime
        try:
            own.copy_to(target)
        finally:
            own.close()

    def _copied(self) -> str:
        path = self.path.with_name(f"{self.path.name}.schema-{self.schema()}")
        self._connection.copy_to(path)
        return str(path)

    def _opened(self, name: str, number: int, spec: Any) -> Study:
        return SqliteStudy(self, name, number, spec)

    def _leave(self) -> None:
        """In a fork: neither the lock nor the connection belongs to it."""
        self._finish.detach()
        _left.append(self._connection)  # to close it would touch the file
        owner.release(self._held)
        self._held = None


class SqliteStudy(Study):
    """A study in a file, which keeps it open."""

    def __init__(self, database: Sqlite, name: str, number: int, spec: Any) -> None:
        super().__init__(database.handle, name, number, spec)
        self._database = database

    def __reduce__(self) -> Any:
        return opened_again, (self._database.given, self.name)


_open: WeakValueDictionary[str, Sqlite] = WeakValueDictionary()
_all: WeakValueDictionary[int, Sqlite] = WeakValueDictionary()
_left: list[Connection] = []


def opened(given: str) -> Sqlite:
    """Return the database of an address, the same one if this process has it open."""
    path, synchronous = parsed(given)
    found = _open.get(_place(path))
    if found is None:
        return Sqlite(given)
    if parsed(found.given)[1] != synchronous:
        raise InvalidInput(f"storage must be opened as before, as {found.given!r}; got {given!r}.")
    return found


def opened_again(given: str, name: str) -> Study:
    """Return a study that is there."""
    found = opened(given).study(name)
    if found is None:
        raise StorageError(f"{given}: has no study {brief(name)}.")
    return found


def parsed(given: str) -> tuple[Path, str]:
    """Return the path of an address, and whether commits wait for the disk."""
    place, _, query = given.removeprefix(PREFIX).partition("?")
    name, _, synchronous = query.partition("=")
    if not given.startswith(PREFIX) or place in ("", ":memory:") or place.endswith("/"):
        raise InvalidInput(
            f"storage must name a file, as sqlite:///shop.db does; got {brief(given)}."
        )
    if query and (name != "synchronous" or synchronous.lower() not in SYNCHRONOUS):
        raise InvalidInput(
            f"storage must have no option but synchronous=full or normal; got {brief(query)}."
        )
    return file_path(place), synchronous.lower() or SYNCHRONOUS[0]


def _taken(own: Any, held: ExitStack) -> bool:
    """Take a lock if nobody has it, until something ends."""
    if not own._lock.acquire(blocking=False):
        return False
    held.callback(own._lock.release)
    return True


def _place(path: Path) -> str:
    return os.path.realpath(path)


def _finish(connection: Connection, held: int | None) -> None:
    connection.close()
    owner.release(held)


def _in_child() -> None:
    for ref in list(_all.valuerefs()):
        database = ref()
        if database is not None:
            database._leave()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
