"""What is found in the log of a study by index, never by reading it."""

from __future__ import annotations

import json
from typing import Any

from partial_monitoring.storage.base import Event


def by_key(study: Any, key: str) -> Event | None:
    """Return the event that a request with a key has stored, if there is one."""
    sql = "SELECT seq, kind, body FROM pm_event WHERE study_id = ? AND instr(body, ?) > 0"
    return _first(study, sql, f'"key": {json.dumps(key)}')


def closing(study: Any, decision: object) -> Event | None:
    """Return the event that has closed a decision, if there is one."""
    sql = "SELECT seq, kind, body FROM pm_event WHERE study_id = ? AND decision = ? AND slot = 1"
    return _first(study, sql, str(decision))


def _first(study: Any, sql: str, value: str) -> Event | None:
    for seq, kind, body in study._handle.rows(sql, (study._number, value)):
        found: Event = study._event(seq, kind, body)
        return found
    return None
