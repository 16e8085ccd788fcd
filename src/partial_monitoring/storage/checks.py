"""What is wrong with the tables of a database, beside its logs, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.rows import EventRow, event_of, row_of
from partial_monitoring.storage.study import STATES, Study, study_name
from partial_monitoring.storage.tokens import HASH, ROLES
from partial_monitoring.validation import brief


def wrong_columns(row: EventRow) -> Iterator[str]:
    """Yield in which columns a row differs from that of its event."""
    try:
        right = row_of(event_of(row), row.at)
    except (PartialMonitoringError, ValueError, TypeError, RecursionError):
        return  # the event itself is damaged, which is found elsewhere
    for name in ("decision", "slot", "number", "key", "actor"):
        if getattr(row, name) != getattr(right, name):
            yield (
                f"event {row.seq} has {name} {brief(getattr(row, name))} in its row, and "
                f"{brief(getattr(right, name))} in its body."
            )


def wrong_study(study: Study) -> Iterator[str]:
    """Yield what is wrong with the row of a study, and with its points of charts."""
    row, last = study.row, study.version
    if row.state not in STATES:
        yield f"its state is {brief(row.state)}."
    seq = 0
    while points := study.trace_rows(seq):
        for seq, text in points:
            if seq > last:
                yield f"a point of its charts is of event {seq}; there are {last}."
            try:
                valid = isinstance(json.loads(text), dict)
            except (ValueError, RecursionError):
                valid = False
            if not valid:
                yield f"the point of its charts after event {seq} is damaged."


def wrong_tokens(database: Database) -> Iterator[str]:
    """Yield what is wrong with the tokens of a database."""
    for token in database.tokens.list():
        if len(token.hash) != HASH or token.role not in ROLES:
            yield f"token {brief(token.id)} is damaged."
        if token.study is not None:
            try:
                study_name(token.study)
            except PartialMonitoringError:
                yield f"token {brief(token.id)} is for a study {brief(token.study)}."
