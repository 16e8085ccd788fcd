"""A storage as users name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.base import Storage
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.file import LogFile
from partial_monitoring.storage.memory import Memory
from partial_monitoring.storage.nothing import Nothing
from partial_monitoring.validation import brief

METHODS = ("append", "after", "keep", "latest")
"""Of a storage."""

MEMORY = "memory"

AnyStorage = Storage | str | Path | None
"""A storage, or what names one."""


def is_address(given: object) -> bool:
    """Whether a database is named."""
    return isinstance(given, str) and "://" in given


def database_at(given: str, *, writes: bool = True, check: bool = True) -> Database:
    """Return the database at an address; ``check`` its schema unless it is to be upgraded."""
    kind = str(given).partition("://")[0]
    if kind == "sqlite":
        from partial_monitoring.storage import sqlite

        plain = writes and check
        return sqlite.opened(given) if plain else sqlite.Sqlite(given, writes=writes, check=check)
    if kind in ("postgresql", "postgres"):
        from partial_monitoring.storage.postgres import Postgres

        return Postgres(given, writes=writes, check=check)
    raise InvalidInput(
        f"storage must be an address such as sqlite:///shop.db or postgresql://host/database; got "
        f"{brief(kind)}."
    )


def storage_of(given: AnyStorage, name: str | None = None) -> Storage:
    """Return the storage that is given: "memory", None, the path of a log, or itself.

    With a name, it is a study of a database that is there.
    """
    if is_address(given):
        if name is None:
            raise InvalidInput("name must be given with the address of a database.")
        database = database_at(str(given))
        study = database.study(name)
        if study is None:
            raise StorageError(f"{database.address}: has no study {brief(name)}.")
        return study
    if name is not None:
        raise InvalidInput("name must be left out unless storage is the address of a database.")
    if given is None:
        return Nothing()
    if isinstance(given, str | Path):
        return Memory() if given == MEMORY else LogFile(given)
    found: Any = given
    if not all(callable(getattr(found, name, None)) for name in METHODS):
        raise InvalidInput(
            f'storage must have the methods {", ".join(METHODS)}, or be "memory", the path of a '
            f"log, the address of a database or None; got {brief(given)}."
        )
    return given
