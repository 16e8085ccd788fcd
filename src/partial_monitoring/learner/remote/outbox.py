"""What could not be sent yet, in order: in memory, or in a file that outlives the process.

Whatever is here has a key, so that it counts once even if it is sent twice: by two processes that
share a file, or by one that dies after sending and before it takes the rows out.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from partial_monitoring.disk import alone_with, append_lines, reporting, sync_folder, write_bytes
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.validation import brief, file_path

MOST = 10_000
"""Largest number of rows that wait in memory."""

LARGEST = 64_000_000
"""Largest file, in bytes."""

Row = dict[str, Any]
"""``verb``: "tell", "history" or "forget", and ``row``: what is sent."""


class Outbox(Protocol):
    """Rows that wait, the oldest first."""

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows; all of them or, if there is no room, none."""

    def first(self, most: int) -> list[Row]:
        """Return the oldest rows."""

    def sent(self, rows: Sequence[Row]) -> None:
        """Take out the oldest rows, if they still are."""

    def reopen(self) -> None:
        """Begin with locks of its own, as after a fork."""

    @property
    def waits(self) -> bool:
        """Whether there are any."""
        ...

    def __len__(self) -> int: ...


class InMemory:
    """Rows that are lost with the process."""

    def __init__(self) -> None:
        self._rows: deque[Row] = deque()
        self.reopen()

    def reopen(self) -> None:
        """Begin with a lock of its own."""
        self._lock = threading.Lock()

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        with self._lock:
            if len(self._rows) + len(rows) > MOST:
                raise StorageError(
                    f"{MOST:,} answers to fallbacks wait to be sent already; with outbox='FILE' "
                    f"more can wait."
                )
            self._rows.extend(rows)

    def first(self, most: int) -> list[Row]:
        """Return the oldest rows."""
        with self._lock:
            return list(islice(self._rows, most))

    def sent(self, rows: Sequence[Row]) -> None:
        """Take out the oldest rows."""
        with self._lock:
            if list(islice(self._rows, len(rows))) == list(rows):
                for _ in rows:
                    self._rows.popleft()

    @property
    def waits(self) -> bool:
        """Whether there are any."""
        return bool(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class InFile:
    """Rows in a file, a line of JSON each, on disk before they count as kept.

    Processes may share it: a file beside it is locked while it is read or written, and never while
    something is sent.
    """

    def __init__(self, path: str | Path, study: str) -> None:
        self._path, self._study = file_path(path), study
        self._lock_path = self._path.with_name(self._path.name + ".lock")
        with reporting(self._path, "written"), self._alone():
            self._path.touch(mode=0o600)
        for row in self.first(1):
            if row.get("study") != study:
                raise InvalidInput(
                    f"outbox must be of study {brief(study)}; {self._path} has answers for "
                    f"{brief(row.get('study'))}."
                )

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        lines = [json.dumps(row | {"study": self._study}) + "\n" for row in rows]
        data = "".join(lines).encode()
        with reporting(self._path, "written"), self._alone():
            if self._size() + len(data) > LARGEST:
                raise StorageError(f"{self._path} has {LARGEST:,} bytes already; nothing is kept.")
            append_lines(self._path, data)

    def first(self, most: int) -> list[Row]:
        """Return the oldest rows; lines that are none are left out."""
        with reporting(self._path, "read"), self._alone(), self._path.open("rb") as file:
            lines = list(islice(file, most))
        rows: list[Row] = []
        for line in lines:
            row = _row(line)
            rows.append({**(row or {"verb": "damaged"}), "line": line})
        return rows

    def sent(self, rows: Sequence[Row]) -> None:
        """Take out the oldest rows, unless another process has done so."""
        gone = b"".join(row["line"] for row in rows)
        with reporting(self._path, "written"), self._alone():
            data = self._path.read_bytes()
            if not data.startswith(gone):
                return
            write_bytes(self._path, data[len(gone) :])
            sync_folder(self._path.parent)

    @property
    def waits(self) -> bool:
        """Whether there are any rows, in which case the file is not empty."""
        return self._size() > 0

    def __len__(self) -> int:
        with reporting(self._path, "read"), self._alone():
            return len(self._path.read_bytes().splitlines())

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def reopen(self) -> None:
        """Go on: what is locked is a file."""

    def _alone(self) -> AbstractContextManager[None]:
        """In which no other process, and no other thread, uses the file."""
        return alone_with(self._lock_path)


def _row(line: bytes) -> Row | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(found, dict) and isinstance(found.get("row"), dict)
    return found if known and isinstance(found.get("verb"), str) else None
