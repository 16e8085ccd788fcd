"""Files on disk: written whole or not at all, read as JSON or refused."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EACCES
from functools import partial
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG
from time import time
from typing import Any

from partial_monitoring.errors import InvalidInput, brief
from partial_monitoring.validation import file_path

MOST_WORDS = 1000
"""Largest number of words, with full stops between them, of a key in TOML."""

ABANDONED = 24 * 3600.0
"""Age in seconds after which a temporary file belongs to a process that died."""


PICKLES = (".pkl", ".pickle")
"""Endings of files that are read by executing them, which no file of the library is."""


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all; see :func:`write_bytes`."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.reason}.") from None
    write_bytes(path, data)


def write_bytes(path: str | Path, data: bytes | memoryview) -> None:
    """Write a file whole or not at all.

    The data go to a temporary file in the same folder, which is renamed when it is safely on disk:
    whatever happens in between, the old file stays as it was. A symbolic link stays, and the file
    that it names is replaced; a file that is replaced keeps its mode.
    """
    write_parts(path, [data])


def write_parts(path: str | Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file from its parts, whole or not at all; see :func:`write_bytes`."""
    given = file_path(path)
    if given.suffix.lower() in PICKLES:
        raise InvalidInput(f"path must not end in {brief(given.suffix)}; the file is no pickle.")
    with reporting(path, "written"):
        _replace(Path(os.path.realpath(given)), parts)


def append_lines(path: Path, data: bytes) -> None:
    """Add lines to the end of a file, which may end with half a line of a process that died."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            data = data if file.read(1) == b"\n" else b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """In which nobody else is alone with a file, which is created and stays empty."""
    with path.open("ab") as file:
        with suppress(ImportError):  # Windows: one process may use it
            from fcntl import LOCK_EX, flock

            flock(file, LOCK_EX)
        yield


def make_folder(path: str | Path) -> Path:
    """Return the path of a folder, which is created with its parents if it does not exist."""
    folder = file_path(path)
    with reporting(path, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove(path: Path) -> None:
    """Delete a file."""
    with reporting(path, "deleted"):
        path.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Delete old temporary files of a folder, which processes that died left there."""
    for path in folder.glob(".*.unfinished"):
        with suppress(OSError):
            if time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def read_json(path: str | Path, *, strict: bool = False) -> Any:
    """Return the content of a JSON file; ``strict`` refuses keys that appear twice."""
    source = file_path(path)
    with reporting(path, "read"):
        content = source.read_bytes()
    try:
        return json.loads(content, object_pairs_hook=each_key_once if strict else None)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: is not JSON: {error}.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML file; a ValueError says what is wrong."""
    # The time to read a key is quadratic in the number of its words.
    if any(part.count(".") > MOST_WORDS for part in re.split(r"[\n,{=]", text)):
        raise ValueError(f"a key has more than {MOST_WORDS} words")
    return tomllib.loads(text)


def each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the table of some pairs; one in which a key appears twice is not valid."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"key {brief(twice)} appears twice")
    return table


def _replace(target: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Replace a file that is no link, or create it."""
    found = target.stat() if os.path.lexists(target) else None
    if found is not None and not S_ISREG(found.st_mode):
        with target.open("wb") as file:  # a folder refuses; a device or a pipe has nothing to lose
            file.writelines(parts)
        return
    if found is not None and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    mode = 0o666 if found is None else S_IMODE(found.st_mode)
    unfinished = target.with_name(f".{target.name[:40]}.{token_hex(8)}.unfinished")
    try:
        with open(unfinished, "xb", opener=partial(os.open, mode=mode)) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if found is not None:
            unfinished.chmod(mode)  # whatever the process masks
        unfinished.replace(target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename last, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):
        sync(folder)


def sync(path: Path) -> None:
    """Wait until a file is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def reporting(path: str | Path, verb: str) -> Iterator[None]:
    """Say in one sentence why a path cannot be read, written or deleted."""
    try:
        yield
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{path}: cannot be {verb}: {reason}.") from None
