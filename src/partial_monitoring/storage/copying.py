"""Logs that are copied from one database to another, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import NamedTuple

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.rows import EventRow
from partial_monitoring.storage.study import Study
from partial_monitoring.validation import brief

TOGETHER = 1000
"""Number of events that are appended at once."""


class Copied(NamedTuple):
    """What was copied."""

    total: int
    new: int


def found(database: Database, name: str) -> Study:
    """Return a study that is there."""
    study = database.study(name)
    if study is None:
        raise StorageError(f"{database.address}: has no study {brief(name)}.")
    return study


def copied(source: Database, target: Database, name: str) -> Copied:
    """Copy a study, or the rest of it, compare all events, and take its snapshots along."""
    one = found(source, name)
    last = one.version  # what follows while it is copied is left out
    row = one.row
    two = target.study(name, one.spec, created_at=row.created_at)
    assert two is not None
    before = two.version
    same = two.spec == one.spec and before <= last
    if not same or not _equal(_until(one, before), two.rows_after()):
        raise InvalidInput(
            f"{target.address}: has another study {brief(name)}, which is not the beginning of it."
        )
    rest = islice(one.rows_after(before), last - before)
    while rows := list(islice(rest, TOGETHER)):
        two.append_rows(rows)
    if not _equal(_until(one, last), two.rows_after()):
        raise StorageError(f"{target.address}: study {brief(name)} differs from what was copied.")
    with two.turn():
        two.set(state=row.state, settings=row.settings)
        for point in one.traces(limit=last):
            two.trace(*point)
    for snapshot in one.snapshots(last):
        if snapshot["seq"] > before:
            two.keep(snapshot)
    return Copied(last, last - before)


def _until(study: Study, last: int) -> Iterator[EventRow]:
    return islice(study.rows_after(), last)


def _equal(one: Iterator[EventRow], two: Iterator[EventRow]) -> bool:
    """Whether two logs are the same, letter for letter."""
    return all(a == b for a, b in zip_longest(one, two))
