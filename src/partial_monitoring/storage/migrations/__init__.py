"""The scripts that make the tables of a database, numbered; a database knows how many it has had.

A script is never changed once it was released: another one follows it.
"""

from __future__ import annotations

import os
from importlib.resources import files
from signal import SIGKILL

from partial_monitoring.errors import StorageError
from partial_monitoring.storage.handle import Handle
from partial_monitoring.validation import brief

DEATH = "PARTIAL_MONITORING_DIES_AT"

TABLES = {"pm_meta", "pm_study", "pm_event", "pm_snapshot"}
"""Those of the first script."""


def step(name: str) -> None:
    """Die here if the environment says so, for tests: as if the power had failed."""
    if os.environ.get(DEATH) == name:
        os.kill(os.getpid(), SIGKILL)


def scripts(dialect: str) -> list[str]:
    """Return the scripts of a dialect of SQL, in their order."""
    found = (own for own in (files(__package__) / dialect).iterdir() if own.name.endswith(".sql"))
    return [own.read_text(encoding="utf-8") for own in sorted(found, key=lambda own: own.name)]


def schema(handle: Handle) -> int:
    """Return how many scripts a database has had, 0 if it has none of the tables."""
    tables = handle.tables()
    if not tables:
        return 0
    if tables >= TABLES:
        rows = handle.rows("SELECT value FROM pm_meta WHERE key = 'schema'")
        if len(rows) == 1 and str(rows[0][0]).isdecimal() and int(rows[0][0]) > 0:
            return int(rows[0][0])
    raise StorageError(
        f"{handle.address}: has tables {brief(sorted(tables))} that are not those of studies."
    )


def prepare(handle: Handle, *, create: bool = True) -> None:
    """Make the tables of an empty database, or refuse one of an earlier or later version."""
    own, latest = schema(handle), len(scripts(handle.dialect))
    if own == 0 and create:
        upgrade(handle)
    elif own == 0:
        raise StorageError(f"{handle.address}: holds no studies.")
    elif own < latest:
        raise StorageError(
            f"{handle.address}: has schema {own} of an earlier version; upgrade it to {latest} "
            f"with pm store upgrade."
        )
    elif own > latest:
        raise StorageError(
            f"{handle.address}: has schema {own} of a later version; this one knows {latest}."
        )


def upgrade(handle: Handle) -> int:
    """Run the scripts that a database has not had, all or none; return how many they were."""
    todo = scripts(handle.dialect)
    with handle.transaction(), handle.alone():
        own = schema(handle)
        for number, script in enumerate(todo[own:], own + 1):
            step(f"script {number}")
            handle.script(script)
            sql = "UPDATE pm_meta SET value = ? WHERE key = 'schema'"
            handle.run(sql, (str(number),))
        step("commit")
    step("committed")
    if own > len(todo):
        prepare(handle)  # refuses it
    return len(todo) - own
