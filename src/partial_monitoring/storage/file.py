"""Events in a file to which lines are only ever appended (NDJSON), and a snapshot beside it.

A line is what was appended at once: an event, or the list of several. It is written with one call
of the system and ends with a newline, so that after a crash it is there or not: an incomplete last
line was never acknowledged, and is cut. Nothing is held open, and several learners may take turns
with one file: one that does not know the latest events is refused until it has read them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO
from warnings import warn

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage.base import Event, Snapshot
from partial_monitoring.validation import boolean, file_path

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # pragma: no cover
    flock = None  # type: ignore[assignment]

CHUNK = 1 << 16
"""Number of bytes that are read at once from the end."""

BEGINNING = b'{"seq": 1, '
"""How the first event of a log begins."""


class LogFile:
    """A storage that appends lines of JSON to a file.

    Parameters
    ----------
    path
        Of the file, which is created if it does not exist. The latest snapshot is beside it, in
        a file with ``.snapshot`` added to the name, which may be deleted at any time.
    sync
        Wait until the disk has written every line: then what ``ask`` and ``tell`` have returned
        survives a power failure, for 0.1 to 10 ms per call. Without it, lines are handed to the
        system at once and survive the end of the process, however it ends.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = pm.LogFile(f"{folder}/decisions.ndjson", sync=True)
    ...     learner = pm.Learner("dynamic_pricing", storage=log)
    ...     learner.tell(learner.ask(), "yes")
    ...     len(learner.events)
    2
    """

    def __init__(self, path: str | Path, *, sync: bool = False) -> None:
        self.path, self.sync = file_path(path), boolean("sync", sync)
        self._size = self._seq = 0
        with self._open("a+b", "opened") as file:
            self._look(file)
        if self.sync:
            disk.sync_folder(self.path.parent)

    def __repr__(self) -> str:
        return f"LogFile({str(self.path)!r}, sync={self.sync})"

    def append(self, events: Sequence[Event]) -> None:
        """Append events that follow the last one, as one line."""
        rows = [{"seq": event["seq"], **event} for event in events]
        if not rows:
            return
        line = json.dumps(rows if len(rows) > 1 else rows[0]).encode() + b"\n"
        with self._open("r+b", "written") as file:
            if file.seek(0, os.SEEK_END) != self._size:
                self._look(file)
            if rows[0]["seq"] != self._seq + 1:
                raise InvalidInput(
                    f"{self.path}: another learner has appended events up to number {self._seq}; "
                    f"they are read now, so try again."
                )
            self._write(file, line)
            self._size, self._seq = self._size + len(line), rows[-1]["seq"]

    def after(self, seq: int = 0) -> Iterator[Event]:
        """Yield the events after a number, in order, as they are read."""
        with disk.reporting(self.path, "read"), self.path.open("rb") as file:
            end = self._end(file)
            if seq >= self._seq and end == self._size:
                return
            place = file.seek(self._place(file, seq, end))
            while place < end:
                line = file.readline()
                place += len(line)
                yield from (event for event in self._events(line) if event["seq"] > seq)

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot beside the log, instead of the one before."""
        text = json.dumps(snapshot)
        disk.write_text(self._beside, json.dumps({"digest": _digest(text), "snapshot": text}))

    def latest(self) -> Snapshot | None:
        """Return the snapshot beside the log, if there is one and it is not damaged."""
        try:
            data = disk.read_json(self._beside)
            if data["digest"] != _digest(data["snapshot"]):
                return None
            return json.loads(data["snapshot"])  # type: ignore[no-any-return]
        except (InvalidInput, LookupError, TypeError, ValueError, AttributeError):
            return None  # it never was, or is damaged: the events are enough

    # -- the file ----------------------------------------------------------------------------

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.snapshot")

    @contextmanager
    def _open(self, mode: str, verb: str) -> Iterator[Any]:
        """Open the file unbuffered, with no other process writing to it, where the system can."""
        with disk.reporting(self.path, verb), self.path.open(mode, 0) as file:
            if flock is not None:
                flock(file.fileno(), LOCK_EX)  # until it is closed
            yield file

    def _look(self, file: BinaryIO) -> None:
        """Find out what is there, and cut an incomplete last line."""
        size, end = file.seek(0, os.SEEK_END), self._end(file)
        if end < size:
            warn(
                f"{self.path}: the last line is incomplete, as after a crash; its {size - end} "
                f"bytes are cut.",
                stacklevel=6,
            )
            file.truncate(end)
        start = self._after_newline(file, end - 1)
        file.seek(start)
        self._seq = self._events(file.read(end - start))[-1]["seq"] if end else 0
        self._size = end

    def _end(self, file: BinaryIO) -> int:
        """Return the number of bytes of complete lines, or refuse what is no log."""
        file.seek(0)
        first = file.read(len(BEGINNING) + 1).removeprefix(b"[")
        if not BEGINNING.startswith(first[: len(BEGINNING)]):
            raise InvalidInput(f"{self.path}: is not the log of a learner.")
        return self._after_newline(file, file.seek(0, os.SEEK_END))

    def _write(self, file: BinaryIO, line: bytes) -> None:
        """Append a line, or leave the file as it was."""
        try:
            file.seek(self._size)
            if file.write(line) != len(line):
                raise OSError("no space left on device")
            if self.sync:
                os.fsync(file.fileno())
        except BaseException:
            file.truncate(self._size)
            raise

    def _place(self, file: BinaryIO, seq: int, end: int) -> int:
        """Return where the line with the event after a number begins, by bisection."""
        low, high = 0, end  # lines begin there
        while seq and low < high:
            start = self._after_newline(file, (low + high) // 2)
            file.seek(start)
            line = file.readline()
            if self._events(line)[-1]["seq"] > seq:
                high = start
            else:
                low = start + len(line)
        return low

    @staticmethod
    def _after_newline(file: BinaryIO, end: int) -> int:
        """Return the place after the last newline before a place; 0 if there is none."""
        while end > 0:
            start = max(0, end - CHUNK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _events(self, line: bytes) -> list[Event]:
        try:
            read = json.loads(line)
            rows = read if isinstance(read, list) else [read]
            if rows and all(type(row["seq"]) is int for row in rows):
                return rows
        except (ValueError, TypeError, LookupError, RecursionError):
            pass
        raise InvalidInput(f"{self.path}: has a line that is no event: {_brief(line)}.")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _brief(line: bytes) -> str:
    return repr(line[:40].decode(errors="replace"))
