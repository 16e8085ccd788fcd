"""Studies in PostgreSQL, which as many processes as wanted share.

Who holds the lock on the row of a study decides: ``SELECT version ... FOR UPDATE``. It first folds
what others have appended, so there is one sequence of events without gaps. There are no leases, no
leader and no clocks; the server ends a transaction whose process is frozen.

Needs psycopg, which is imported when an address of PostgreSQL is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakValueDictionary, finalize

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage import migrations
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.handle import STUDY, Handle, Row
from partial_monitoring.storage.rows import COLUMNS, EventRow
from partial_monitoring.storage.study import Study
from partial_monitoring.validation import brief

FROZEN = 10
"""Seconds after which the server ends a transaction in which nothing happens."""

LONG = 600
"""The same for one that may compute for long, such as to learn from all events again."""

WAIT = 15
"""Seconds that a process waits for another one's transaction."""

CONNECT = 10
"""Seconds to wait for a connection."""

SETTINGS = "; ".join(
    f"SELECT set_config('{name}', '{value}', false) WHERE current_setting('{name}') = '{unset}'"
    for name, value, unset in (
        ("lock_timeout", f"{WAIT}s", "0"),
        ("idle_in_transaction_session_timeout", f"{FROZEN}s", "0"),
        ("synchronous_commit", "on", "off"),
    )
)
"""What a connection begins with, unless its address or its server says otherwise."""

_TYPES = "seq bigint, at bigint, kind text, decision text, slot smallint, body text, number bigint"

PREPARED = f"""
PREPARE pm_turn (bigint) AS {STUDY} $1 FOR UPDATE;
PREPARE pm_append (bigint, bigint, bigint, json) AS
  WITH moved AS (
    UPDATE pm_study SET version = $1 WHERE id = $2 AND version = $3 RETURNING id
  )
  INSERT INTO pm_event (study_id, {COLUMNS})
  SELECT moved.id, {COLUMNS.replace("body", "body::json")}
  FROM moved, json_to_recordset($4) AS row ({_TYPES}, key text, actor text)
"""
"""What a turn begins and ends with, each sent with BEGIN or COMMIT in one message: two round trips.

(With a pipeline, whose messages are several, a process that is frozen between them would hold the
study for ever: the server does not count that as idle. JSON is read several times faster than
arrays, or a value for each cell, are sent.)"""

READ_ONLY = "SET default_transaction_read_only = on"

TABLES = 0x706D
"""The number of the lock of who makes or changes tables."""


class Connection(Handle):
    """A connection, opened when it is needed, and again after it was lost."""

    dialect = "postgres"

    def __init__(self, given: str, *, writes: bool = True) -> None:
        self._given, self.address = given, shown(given)
        self._settings = SETTINGS if writes else f"{SETTINGS}; {READ_ONLY}"
        self._driver = driver()
        self._own: Any = None
        self._finish: Any = None
        self._prepared = False
        self._renew()
        _all[id(self)] = self

    def _renew(self) -> None:
        self._lock, self._depth, self._committed = RLock(), 0, False

    def transaction(self) -> AbstractContextManager[None]:
        return self._transaction()

    @contextmanager
    def turn(self, number: int) -> Iterator[list[Row] | None]:
        rows: list[Row] = []
        with self._transaction(f"BEGIN; EXECUTE pm_turn ({number:d})", rows):
            yield rows

    @contextmanager
    def _transaction(self, begin: str = "BEGIN", rows: list[Row] | None = None) -> Iterator[None]:
        """Commit at the end; ``rows`` take the result of what it begins with after BEGIN."""
        with self._lock:
            if self._depth:
                yield
                return
            self._committed = False
            try:
                found = self._first(begin, prepared=rows is not None)
                self._depth = 1
                if rows is not None:
                    found.nextset()
                    rows += found.fetchall()
                yield
                if not self._committed:
                    with self._reporting():
                        self._begun.execute("COMMIT")
            except BaseException:
                with suppress(self._driver.Error, StorageError):
                    self._begun.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    def take_long(self) -> None:
        self.run(f"SET LOCAL idle_in_transaction_session_timeout = '{LONG}s'")

    def append(self, number: int, rows: Sequence[EventRow], *, last: bool) -> bool:
        end = b"; COMMIT" if last else b""
        move = rows[-1].seq, number, rows[0].seq - 1
        text = json.dumps([row._asdict() for row in rows]).encode()
        with self._reporting():
            own = self._begun
            literal = bytes(self._driver.pq.Escaping(own.pgconn).escape_literal(text))
            done = own.execute(b"EXECUTE pm_append (%d, %d, %d, %b)%b" % (*move, literal, end))
            self._committed = last
            return int(done.rowcount) == len(rows)

    @contextmanager
    def alone(self) -> Iterator[None]:
        self.rows("SELECT pg_advisory_xact_lock(?)", (TABLES,))
        yield

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._lock:
            if not self._depth:
                return list(self._first(sql, values).fetchall())
            with self._reporting():
                return list(self._begun.execute(_marked(sql), values).fetchall())

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        with self._reporting():
            return int(self._begun.execute(_marked(sql), values).rowcount)

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        with self._reporting():
            if len(values) == 1:
                self._begun.execute(_marked(sql), values[0])
            else:
                self._begun.cursor().executemany(_marked(sql), values)

    def script(self, sql: str) -> None:
        with self._reporting():
            self._begun.execute(sql)

    def tables(self) -> set[str]:
        sql = (
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() "
            "AND starts_with(tablename::text, 'pm_')"
        )
        return {str(row[0]) for row in self.rows(sql)}

    def problems(self) -> list[str]:
        return []

    def close(self) -> None:
        with self._lock:
            if self._own is not None:
                self._finish()
            self._own = None

    def _first(self, sql: str, values: Sequence[Any] = (), *, prepared: bool = False) -> Any:
        """Run a statement outside of a transaction; once more if the connection was lost."""
        fresh = self._own is None
        try:
            return self._tried(sql, values, prepared)
        except StorageError:
            if fresh or self._own is not None:
                raise
        return self._tried(sql, values, prepared)

    def _tried(self, sql: str, values: Sequence[Any], prepared: bool) -> Any:
        with self._reporting():
            own = self._connected()
            if prepared and not self._prepared:
                own.execute(PREPARED)
                self._prepared = True
            return own.execute(_marked(sql), values or None)

    @property
    def _begun(self) -> Any:
        """The connection of a transaction, which must not have been lost in it."""
        if self._own is None:
            raise StorageError(f"{self.address}: the connection was lost.")
        return self._own

    def _connected(self) -> Any:
        if self._own is None:
            own = self._driver.connect(self._given, autocommit=True, connect_timeout=CONNECT)
            own.adapters.register_loader("json", self._driver.types.string.TextLoader)
            self._own, self._finish, self._prepared = own, finalize(self, own.close), False
            own.execute(self._settings)
        return self._own

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Say in one sentence what is wrong; a connection that was lost is given up."""
        try:
            yield
        except self._driver.Error as error:
            lines = str(error).strip().splitlines() or ["cannot be used"]
            if self._own is not None and self._own.closed:
                self.close()
            if isinstance(error, self._driver.errors.LockNotAvailable):
                lines = ["another process holds the study for too long; try again"]
            raise StorageError(f"{self.address}: {lines[0].strip().rstrip('.')}.") from error


class Postgres(Database):
    """A database of PostgreSQL.

    Parameters
    ----------
    given
        The address, ``postgresql://user@host/database``, with all that libpq knows.
    check
        Whether the schema must be that of this version.
    """

    def __init__(self, given: str, *, writes: bool = True, check: bool = True) -> None:
        super().__init__(given)
        self._handle = Connection(given)
        if check:
            migrations.prepare(self._handle, create=writes)

    @property
    def handle(self) -> Connection:
        return self._handle

    def close(self) -> None:
        for study in list(self._known.values()):
            study._handle.close()
        self._handle.close()

    def reader(self) -> Connection:
        return Connection(self.given, writes=False)

    def back_up(self, path: str | Path) -> None:
        raise StorageError(f"{self.address}: is copied by pg_dump, not to a file.")

    def _copied(self) -> str:
        return ""

    def _opened(self, name: str, number: int, spec: Any) -> Study:
        return PostgresStudy(self, name, number, spec)


class PostgresStudy(Study):
    """A study with a connection of its own."""

    def __init__(self, database: Postgres, name: str, number: int, spec: Any) -> None:
        super().__init__(Connection(database.given), name, number, spec)
        self._database = database

    def __reduce__(self) -> Any:
        return opened_again, (self._database.given, self.name)


_all: WeakValueDictionary[int, Connection] = WeakValueDictionary()
_left: list[Any] = []


def opened_again(given: str, name: str) -> Study:
    """Return a study that is there."""
    found = Postgres(given).study(name)
    if found is None:
        raise StorageError(f"{shown(given)}: has no study {brief(name)}.")
    return found


def driver() -> Any:
    """Return psycopg."""
    try:
        return import_module("psycopg")
    except ImportError:
        raise StorageError(
            "an address of PostgreSQL needs psycopg; in a clone, install it with "
            "pip install '.[postgres]'."
        ) from None


def shown(given: str) -> str:
    """Return an address without what must not be shown: user, password and options."""
    try:
        parts = urlsplit(given)
        place = f"{parts.hostname or ''}{'' if parts.port is None else f':{parts.port}'}"
    except ValueError:
        raise InvalidInput(
            "storage must be an address, as postgresql://host/database is."
        ) from None
    return f"postgresql://{place}{parts.path}"


def _marked(sql: str) -> str:
    return sql.replace("?", "%s")


def _in_child() -> None:
    """In a fork, connections belong to the parent: to close one would end it there."""
    for ref in list(_all.valuerefs()):
        own = ref()
        if own is not None:
            if own._own is not None:
                own._finish.detach()
                _left.append(own._own)
            own._own = None
            own._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
