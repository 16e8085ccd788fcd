"""Decisions and events as files: complete, in pieces, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import json
import tracemalloc
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage import exporting, log
from partial_monitoring.storage.exporting import exported_rows
from partial_monitoring.storage.opened import database_at
from tests.storage.conftest import Address
from tests.storage.events import ask, new_study, note, tell
from tests.storage.learners import learner_at, play, pm_store


def read(study: Any, what: str, form: str) -> list[dict[str, Any]]:
    data = b"".join(exported_rows(study, what, form))
    if form == "ndjson":
        return [json.loads(line) for line in data.splitlines()]
    if form == "csv":
        return list(csv.DictReader(StringIO(data.decode())))
    return pq.read_table(BytesIO(data)).to_pylist()  # type: ignore[no-any-return]


def decided(address: str) -> Any:
    """A study with all that may happen to a decision."""
    window = pm.Window(seconds=10)
    learner = learner_at(address, window=window)
    one, two, three, four = (learner.ask(now=0.0, available=["$1", "$3"]) for _ in range(4))
    learner.tell(one, "yes", now=1.0)
    learner.cancel(two)
    learner.settle(now=11.0)
    learner.tell(three, "no", now=12.0)
    learner.amend(one, "no")
    learner.amend(four, "yes")
    learner.ask(now=13.0)
    return learner._storage


def test_decisions_are_rows_with_their_answers(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH", 2)
    study = decided(address())
    rows = read(study, "decisions", "ndjson")
    assert [row["number"] for row in rows] == list(range(5))
    assert [row["closed_by"] for row in rows] == ["tell", "cancel", "lapse", "lapse", None]
    assert [row["observation"] for row in rows] == ["no", None, None, "yes", None]
    assert [row["amended"] for row in rows] == [True, False, False, True, False]
    assert [row["late"] for row in rows] == [None, None, "no", None, None]
    assert rows[0]["available"] == ["$1", "$3"]
    assert rows[0]["label"] in rows[0]["available"]
    assert all(row["asked_at"] > 1.7e9 for row in rows)
    table = read(study, "decisions", "parquet")
    assert [row["asked_at"].timestamp() for row in table] == [row["asked_at"] for row in rows]
    assert [row["closed_at"] is None for row in table] == [False] * 4 + [True]
    same = ("number", "decision", "label", "probability", "round", "observation", "late")
    cells = read(study, "decisions", "csv")
    for name in same:
        values = [row[name] for row in rows]
        assert [row[name] for row in table] == values
        assert [row[name] for row in cells] == ["" if x is None else str(x) for x in values]


def test_events_are_rows(address: Address) -> None:
    study = new_study(address())
    events = [ask(1, 0, key="k", actor="t"), tell(2, 0), note(3, "alarm", level=0.01)]
    study.append(events)
    assert read(study, "events", "ndjson") == events
    for form in ("csv", "parquet"):
        rows = read(study, "events", form)
        assert [int(row["seq"]) for row in rows] == [1, 2, 3]
        assert [row["kind"] for row in rows] == ["ask", "tell", "note"]
        assert (rows[0]["key"], rows[0]["actor"]) == ("k", "t")
        assert json.loads(rows[2]["body"]) == {"what": "alarm", "level": 0.01}


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "a=1",
    'q"',
    "\ud800",
    "é\0",
    "x\ny",
    -0.5,
]


def test_no_cell_is_a_formula(address: Address) -> None:
    study = new_study(address())
    asks = [ask(seq, seq - 1, label=label) for seq, label in enumerate(HOSTILE, 1)]
    study.append(asks)
    data = b"".join(exported_rows(study, "decisions", "csv")).decode()
    shown = [row["label"] for row in csv.DictReader(StringIO(data, newline=""))]
    assert shown[:6] == [f"'{label}" for label in HOSTILE[:6]]
    assert shown[6:] == ["a=1", 'q"', "\\ud800", "é\0", "x\ny", "-0.5"]
    for form in ("parquet", "ndjson"):
        assert len(read(study, "decisions", form)) == len(HOSTILE)


def test_empty_studies_have_columns(address: Address) -> None:
    study = new_study(address())
    assert read(study, "decisions", "parquet") == read(study, "decisions", "ndjson") == []
    assert next(exported_rows(study, "events", "csv")).startswith(b"seq,at,kind,")
    for what, form in (("all", "csv"), ("events", "xls")):
        with pytest.raises(InvalidInput, match=r"^(what|format) must be one of"):
            exported_rows(study, what, form)


@pytest.mark.parametrize("form", ["csv", "parquet", "ndjson"])
def test_pieces_are_made_as_they_are_asked_for(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with the number of decisions."""
    monkeypatch.setattr(exporting, "BATCH", 200)
    monkeypatch.setattr(log, "READ", 200)
    study = new_study(f"sqlite:///{tmp_path}/x.db")
    for first in range(0, 4000, 2000):
        study.append([ask(seq + 1, seq, more="x" * 400) for seq in range(first, first + 2000)])
    b"".join(exported_rows(study, "events", form))  # everything is imported
    tracemalloc.start()
    size = sum(map(len, exported_rows(study, "events", form)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    assert size > 1e4


def test_files_are_written_by_their_suffix(address: Address, tmp_path: Path) -> None:
    where = address()
    learner = learner_at(where)
    play(learner, 5)
    for name, said, more in (
        ("log.ndjson", "10 events.", ()),
        ("x.parquet", "5 decisions.", ()),
        ("x.csv", "5 decisions.", ()),
        ("y.csv", "10 events.", ("--what", "events")),
        ("y.txt", "5 decisions.", ("--format", "ndjson", "--what", "decisions")),
    ):
        assert said in pm_store("export", where, "pricing", str(tmp_path / name), *more)
    path = tmp_path / "log.ndjson"
    assert pm.Learner("dynamic_pricing", seed=1, storage=path).events == learner.events
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 5
    assert (tmp_path / "y.txt").read_bytes().count(b"\n") == 5
    assert "exists already" in pm_store("export", where, "pricing", str(path), code=2)
    assert "has no study" in pm_store("export", where, "no", str(tmp_path / "x.csv"), code=2)
    said = pm_store("export", where, "pricing", str(tmp_path / "x"), code=2)
    assert "file must end with one of parquet, csv, ndjson; got 'x'." in said
    assert [own.name for own in tmp_path.iterdir() if "unfinished" in own.name] == []
    assert database_at(where).study("pricing") is not None
