"""A storage as users name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage.base import Storage
from partial_monitoring.storage.file import LogFile
from partial_monitoring.storage.memory import Memory
from partial_monitoring.storage.nothing import Nothing
from partial_monitoring.validation import brief

METHODS = ("append", "after", "keep", "latest")
"""Of a storage."""

MEMORY = "memory"

AnyStorage = Storage | str | Path | None
"""A storage, or what names one."""


def storage_of(given: AnyStorage) -> Storage:
    """Return the storage that is given: "memory", None, the path of a log, or itself."""
    if given is None:
        return Nothing()
    if isinstance(given, str | Path):
        if "://" in str(given):
            raise InvalidInput(f"storage must not be an address; got {brief(given)}.")
        return Memory() if given == MEMORY else LogFile(given)
    found: Any = given
    if not all(callable(getattr(found, name, None)) for name in METHODS):
        raise InvalidInput(
            f'storage must have the methods {", ".join(METHODS)}, or be "memory", the path of a '
            f"log or None; got {brief(given)}."
        )
    return given
