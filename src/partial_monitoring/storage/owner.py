"""Who owns a file: the lock beside it, held as long as the process lives."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from partial_monitoring.errors import StorageError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover
    flock = None  # type: ignore[assignment]

REMOTE = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "glusterfs", "lustre"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "davfs", "fuse.davfs2"),
}
"""File systems on which several machines do not see each other's locks and shared memory."""

MOUNTS = Path("/proc/self/mountinfo")


def refuse_remote(path: Path) -> None:
    """Refuse a file on a network file system."""
    kind = file_system(path)
    if kind in REMOTE:
        raise StorageError(
            f"{path}: is on a network file system ({kind}), where SQLite is not safe; use a local "
            f"disk, or postgresql://."
        )


@contextmanager
def explaining(path: Path, *, writes: bool) -> Iterator[None]:
    """Say why a file cannot be opened, if that is because of whose it is."""
    if writes and _may(path, os.R_OK) and not _may(path, os.W_OK):
        raise StorageError(f"{path}: cannot be written to, only read.")  # SQLite would read only
    try:
        yield
    except sqlite3.OperationalError:
        if not _may(path, os.R_OK):
            raise StorageError(f"{path}: cannot be opened: Permission denied.") from None
        if not _may(path.parent, os.W_OK):
            raise StorageError(
                f"{path}: cannot be opened: SQLite writes beside it, and the folder can only be "
                f"read."
            ) from None
        raise


def _may(path: Path, mode: int) -> bool:
    effective = os.access in os.supports_effective_ids
    return not path.exists() or os.access(path, mode, effective_ids=effective)


def file_system(path: Path) -> str:
    """Return the kind of file system that a file is on; "" if the system does not say."""
    best, kind, folder = 0, "", os.path.realpath(path.parent)
    with suppress(OSError, ValueError, IndexError):
        for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
            fields, _, rest = line.partition(" - ")
            where = fields.split()[4].encode().decode("unicode_escape").rstrip("/") + "/"
            if f"{folder}/".startswith(where) and len(where) >= best:
                best, kind = len(where), rest.split()[0]
    return kind


def locked(path: Path) -> int:
    """Return the descriptor of the lock beside a file, which this process holds from now on."""
    beside = f"{os.path.realpath(path)}.lock"
    try:
        held = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StorageError(f"{path}: cannot be opened: {error.strerror}.") from None
    try:
        if flock is not None:
            flock(held, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        owner = _owner(held)
        os.close(held)
        raise StorageError(f"{path}: is in use by {owner}; one process writes to a file.") from None
    except OSError as error:
        os.close(held)
        raise StorageError(f"{path}: cannot be locked: {error.strerror}.") from None
    with suppress(OSError):  # on a full disk nobody is named
        sign(held, None)
    return held


def sign(held: int, address: str | None) -> None:
    """Write who holds a lock."""
    text = json.dumps({"pid": os.getpid(), "address": address}).encode()
    os.ftruncate(held, 0)
    os.pwrite(held, text, 0)


def _owner(held: int) -> str:
    """Return who holds a lock, in words."""
    try:
        data = json.loads(os.pread(held, 4096, 0))
        pid, address = int(data["pid"]), data["address"]
    except (OSError, ValueError, LookupError, TypeError):
        return "another process"
    return f"process {pid}" + ("" if address is None else f", which can be reached at {address}")


def release(held: int | None) -> None:
    """Give up a lock, if there is one."""
    if held is not None:
        os.close(held)
