"""Events as rows of a table, and rows as events."""

from __future__ import annotations

import json
from typing import NamedTuple

from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief

SLOTS = {"ask": 0, "tell": 1, "lapse": 1, "cancel": 1}
"""What a decision can be only once: asked, and closed."""

APART = ("seq", "kind", "key", "actor")
"""Entries of an event that have a column of their own."""

LONGEST_KEY = 200


class EventRow(NamedTuple):
    """A row of ``pm_event``, but for its study, in the order of ``COLUMNS``."""

    seq: int
    at: int
    """Microseconds since 1970."""
    kind: str
    decision: str | None
    """That it is about."""
    slot: int | None
    body: str
    number: int | None
    """Of the decision that was asked for."""
    key: str | None
    actor: str | None


COLUMNS = ", ".join(EventRow._fields)


def row_of(event: Event, at: int) -> EventRow:
    """Return the row of an event."""
    kind, decision, number = event["kind"], event.get("decision"), None
    slot = SLOTS.get(kind)
    named = None if decision is None else str(decision)
    if slot == 0:
        digits = str(named).rpartition("-")[2]
        if not (digits.isascii() and digits.isdecimal()):
            raise InvalidInput(f"decision must end with a number; got {brief(decision)}.")
        number = int(digits)
    key, actor = event.get("key"), event.get("actor")
    if key is not None:
        check_key("key", key)
    if actor is not None:
        check_key("actor", actor)
    body = json.dumps({name: value for name, value in event.items() if name not in APART})
    return EventRow(event["seq"], at, kind, named, slot, body, number, key, actor)


def event_of(row: EventRow, *, at: bool = False) -> Event:
    """Return the event of a row; ``at``, with its time in seconds since 1970."""
    event = {"seq": row.seq, "kind": row.kind, **json.loads(row.body)}
    if row.key is not None:
        event["key"] = row.key
    if row.actor is not None:
        event["actor"] = row.actor
    if at:
        event["at"] = row.at / 1e6
    return event


def check_key(name: str, given: object) -> None:
    """Refuse what is no name of a request or of who made it."""
    if (
        not isinstance(given, str)
        or not 0 < len(given) <= LONGEST_KEY
        or not (given.isascii() or _is_text(given))
        or "\0" in given
    ):
        raise InvalidInput(f"{name} must be 1 to {LONGEST_KEY} characters; got {brief(given)}.")


def _is_text(given: str) -> bool:
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True
