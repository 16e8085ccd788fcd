"""Decisions and events of a study as Parquet, CSV or lines of JSON, in pieces as they are read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any, NamedTuple

from partial_monitoring.storage.finding import Carried, Pair, carried_pairs
from partial_monitoring.storage.formats import FORMATS, WHAT
from partial_monitoring.storage.log import Log
from partial_monitoring.storage.rows import EventRow
from partial_monitoring.validation import one_of

BATCH = 5000
"""Number of rows that are read, and written, at once."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet may compute."""

Row = dict[str, Any]
Batches = Iterator[list[Row]]

TIME, WHOLE, REAL, TRUTH, TEXT, DATA = "time", "whole", "real", "truth", "text", "data"
"""Kinds of columns: microseconds since 1970, numbers, strings, and data of any kind."""

DECISIONS = {
    **{"number": WHOLE, "decision": TEXT, "asked_at": TIME, "round": WHOLE, "action": WHOLE},
    **{"label": DATA, "probability": REAL, "probed": TRUTH, "context": DATA, "available": DATA},
    **{"closed_by": TEXT, "closed_at": TIME, "observation": DATA, "amended": TRUTH, "late": DATA},
    **{"key": TEXT, "actor": TEXT, "meta": DATA},
}

EVENTS = {
    **{"seq": WHOLE, "at": TIME, "kind": TEXT, "decision": TEXT, "key": TEXT, "actor": TEXT},
    "body": TEXT,
}


class Table(NamedTuple):
    """What is exported."""

    columns: dict[str, str]
    """Their kinds."""
    batches: Callable[[Log, Sequence[Log]], Batches]


def exported_rows(
    study: Log,
    what: str,
    format: str,
    *,
    before: Sequence[Log] = (),
    count: Callable[[int], None] = lambda _: None,
) -> Iterator[bytes]:
    """Yield a file with all decisions or events of a study, piece by piece.

    Parameters
    ----------
    study
        It is read while the pieces are asked for; see :meth:`Study.through`.
    what
        "decisions": one row for each, with the answer as amended; "events": the log.
    format
        "parquet", "csv" or "ndjson". Times are seconds since 1970, in Parquet timestamps. Events as
        "ndjson" are a log that a learner can go on with, without times.
    before
        The logs of the study before it was edited, the latest first: they know more of decisions
        that were open then.
    count
        Is called with the number of rows of each piece.
    """
    table = TABLES[one_of("what", what, WHAT)]
    write = WRITERS[one_of("format", format, FORMATS)]
    if (what, format) == ("events", "ndjson"):
        table, write = Table({}, _plain_events), _ndjson

    def counted() -> Batches:
        for rows in table.batches(study, before):
            count(len(rows))
            yield rows

    return write(table.columns, counted())


# -- rows --------------------------------------------------------------------------------------


def _plain_events(study: Log, before: Sequence[Log]) -> Batches:
    events = study.after()
    while rows := list(islice(events, BATCH)):
        yield rows


def _events(study: Log, before: Sequence[Log]) -> Batches:
    rows = study.rows_after()
    while found := list(islice(rows, BATCH)):
        yield [{name: getattr(row, name) for name in EVENTS} for row in found]


def _decisions(study: Log, before: Sequence[Log]) -> Batches:
    asks = Carried.of(study).asks
    for start in range(0, len(asks), BATCH):
        pairs = carried_pairs(study, before, asks[start : start + BATCH])
        yield _rows(study, pairs, study.rows_of([str(asked.decision) for asked, _ in pairs]))
    last = -1
    while pairs := study.decision_rows(last, BATCH):
        first, last = pairs[0][0].number or 0, pairs[-1][0].number or 0
        yield _rows(study, pairs, study.rows_about(first, last))


def _rows(study: Log, pairs: list[Pair], about: list[EventRow]) -> list[Row]:
    others: dict[str | None, list[EventRow]] = {}
    for row in about:
        others.setdefault(row.decision, []).append(row)
    return [_decision(study, *pair, others.get(pair[0].decision, ())) for pair in pairs]


def _decision(study: Log, asked: EventRow, closed: EventRow | None, others: Any) -> Row:
    """Return the row of a decision, from all events about it."""
    own = study.event(asked)
    found: Row = {name: own.get(name) for name in DECISIONS}
    found |= {"number": asked.number, "decision": asked.decision, "asked_at": asked.at}
    found["probed"], found["amended"] = bool(own.get("probed")), False
    if closed is not None:
        answer = study.event(closed)
        found |= {"closed_by": closed.kind, "closed_at": closed.at}
        found["observation"] = answer.get("observation")
    for row in others:
        if row.kind == "amend":
            found["observation"], found["amended"] = study.event(row).get("observation"), True
        elif row.kind == "late":
            found["late"] = study.event(row).get("observation")
    return found


# -- files -------------------------------------------------------------------------------------


def _ndjson(columns: dict[str, str], batches: Batches) -> Iterator[bytes]:
    times = [name for name, kind in columns.items() if kind == TIME]
    for rows in batches:
        for row in rows:
            row |= {name: _seconds(row[name]) for name in times}
        yield "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _csv(columns: dict[str, str], batches: Batches) -> Iterator[bytes]:
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for rows in batches:
        for row in rows:
            writer.writerow([_cell(kind, row[name]) for name, kind in columns.items()])
        yield _taken(out)
    yield _taken(out)


def _taken(out: StringIO) -> bytes:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text.encode(errors="backslashreplace")


def _cell(kind: str, value: Any) -> Any:
    """Return a value as it is shown, so that no spreadsheet takes it for a formula."""
    if kind == TIME:
        return _seconds(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    text = _text(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _parquet(columns: dict[str, str], batches: Batches) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {TIME: pa.timestamp("us", "UTC"), WHOLE: pa.int64(), REAL: pa.float64()}
    types[TRUTH] = pa.bool_()
    fields = [pa.field(name, types.get(kind, pa.string())) for name, kind in columns.items()]
    schema, sink = pa.schema(fields), _Sink()
    with ParquetWriter(pa.PythonFile(sink, "w"), schema, compression="zstd") as writer:
        for rows in batches:
            arrays = [_column(kind, [row[name] for row in rows]) for name, kind in columns.items()]
            made = [pa.array(own, field.type) for own, field in zip(arrays, fields, strict=True)]
            writer.write_table(pa.Table.from_arrays(made, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _column(kind: str, values: list[Any]) -> list[Any]:
    if kind not in (DATA, TEXT):
        return values
    return [
        None if value is None else _text(value).encode(errors="backslashreplace").decode()
        for value in values
    ]


class _Sink:
    """A file that is taken away piece by piece."""

    def __init__(self) -> None:
        self.closed, self._parts, self._size = False, list[bytes](), 0

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6


def _text(value: Any) -> str:
    """Return a string as it is, and other data as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


TABLES = {"decisions": Table(DECISIONS, _decisions), "events": Table(EVENTS, _events)}
WRITERS = {"parquet": _parquet, "csv": _csv, "ndjson": _ndjson}
