"""Decisions that are looked for in a log: by number, by what became of them, by label.

A log that goes on after a study was edited begins with decisions that were open then. They are
``carried``: it has all that happened to them since, and an earlier log has how they were asked for.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from partial_monitoring.storage.base import Event
from partial_monitoring.storage.log import PAIRS, Log
from partial_monitoring.storage.rows import EventRow, row_of

Pair = tuple[EventRow, EventRow | None]
"""The rows in which a decision was made, and closed."""


ABOUT = "c.study_id = a.study_id AND c.decision = a.decision AND c.slot IS NULL"
"""What else concerns a decision."""

UNANSWERED = '"unanswered"'


class Wanted(NamedTuple):
    """Which decisions are looked for; more may be found, but all of these."""

    closed: str = ""
    """The kind of the event that has closed them, any if it is empty; or it was amended."""
    unanswered: bool = False
    """Also those that were closed with the answer that stands for none."""
    late: bool = False
    """Only those that were answered too late."""
    label: str | None = None
    """Of their action."""


class Carried(NamedTuple):
    """The asks of decisions that were open when a log began, by number."""

    numbers: list[int]
    asks: list[Event]

    @classmethod
    def of(cls, log: Log) -> Carried:
        """Read them."""
        asks = [ask for event in log.of_kind("moved", limit=1) for ask in event["open"]]
        asks.sort(key=lambda ask: _number(ask["decision"]))
        return cls([_number(ask["decision"]) for ask in asks], asks)

    def first(self, otherwise: int) -> int:
        """Return the number of the first one, if there is one."""
        return self.numbers[0] if self.numbers else otherwise

    def between(self, first: int, end: int) -> list[Event]:
        """Return those with numbers from ``first`` on, before ``end``."""
        place = bisect_left(self.numbers, first), bisect_left(self.numbers, end)
        return self.asks[slice(*place)]


def _number(decision: object) -> int:
    return int(str(decision).rpartition("-")[2])


def carried_pairs(log: Log, before: Sequence[Log], asks: Sequence[Event]) -> list[Pair]:
    """Return the rows of decisions that were carried; ``before`` are the earlier logs."""
    names = [str(ask["decision"]) for ask in asks]
    closed = {row.decision: row for row in log.rows_of(names) if row.slot == 1}
    asked: dict[str | None, EventRow] = {}
    for own in before:
        left = [name for name in names if name not in asked]
        asked |= {row.decision: row for row in own.rows_of(left) if row.slot == 0}
    found = []
    for name, ask in zip(names, asks, strict=True):
        row = row_of(ask, int(ask.get("time", 0) * 1e6))
        earlier = asked.get(name)
        if earlier is not None:
            row = row._replace(at=earlier.at, key=earlier.key, actor=earlier.actor)
        found.append((row, closed.get(name)))
    return found


def found_pairs(
    log: Log, wanted: Wanted, first: int, end: int, limit: int, *, newest: bool = False
) -> list[Pair]:
    """Return the first decisions that are stored with numbers in a range; or the last ones."""
    lite, amended = log.dialect == "sqlite", bool(log.of_kind("amend", limit=1))
    index = " INDEXED BY pm_event_about" if lite else ""
    place = "instr" if lite else "strpos"
    about = f"(SELECT 1 FROM pm_event c{index} WHERE {ABOUT} AND c.kind ="
    mark = f" AND {place}(CAST(a.body AS text), ?) > 0" if wanted.label is not None else ""
    none = f" OR {place}(CAST(b.body AS text), '{UNANSWERED}') > 0" if wanted.unanswered else ""
    right = f" OR EXISTS {about} 'amend')" if amended else ""
    closed = f" AND (b.kind = ?{none}{right})" if wanted.closed else ""
    late = f" AND EXISTS {about} 'late')" if wanted.late else ""
    order = "a.number DESC" if newest else "a.number"
    sql = f"{PAIRS} AND a.number >= ? AND a.number < ?{mark}{closed}{late} ORDER BY {order} LIMIT ?"
    values = [] if wanted.label is None else [f'"label": {json.dumps(wanted.label)}']
    values += [wanted.closed] if wanted.closed else []
    return log.pairs(sql, (first, end, *values, limit))
