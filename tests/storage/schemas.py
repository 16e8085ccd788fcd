"""Databases of earlier schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from partial_monitoring.storage import migrations
from partial_monitoring.storage.opened import database_at

FIRST = Path(__file__).parent / "data" / "schema-1.json"
"""What learners of the first version have stored: closed, amended, waiting in a window, late."""


def first_version(where: str) -> None:
    """Make a database as the first version has left it."""
    database = database_at(where, check=False)
    handle = database.handle
    with handle.transaction():
        handle.script(migrations.scripts(handle.dialect)[0])
        handle.run("UPDATE pm_meta SET value = '1'")
        for table, rows in json.loads(FIRST.read_text()).items():
            own = ""
            if table == "pm_study" and handle.dialect == "postgres":
                own = " OVERRIDING SYSTEM VALUE"
            for row in rows:
                marks = ", ".join("?" * len(row))
                sql = f"INSERT INTO {table} ({', '.join(row)}){own} VALUES ({marks})"
                handle.run(sql, list(row.values()))
        if handle.dialect == "postgres":
            handle.script("ALTER TABLE pm_study ALTER COLUMN id RESTART WITH 3")
    database.close()


def logged(study: int) -> list[dict[str, Any]]:
    """Return the events that were stored."""
    found = json.loads(FIRST.read_text())["pm_event"]
    return [
        {"seq": row["seq"], "kind": row["kind"]} | json.loads(row["body"])
        for row in found
        if row["study_id"] == study
    ]
