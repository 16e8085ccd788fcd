"""What a study has beside its log: keys, state, charts, successors; and who may use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.storage import study as studies
from partial_monitoring.storage.log import DecisionRow
from partial_monitoring.storage.opened import database_at
from partial_monitoring.storage.tokens import TokenRow
from tests.storage.cluster import Cluster
from tests.storage.conftest import Address
from tests.storage.events import ask, new_study, note, tell
from tests.storage.failing import fail_in
from tests.storage.learners import learner_at, play, pm_store


def test_events_are_found_by_what_they_are_about(address: Address) -> None:
    study = new_study(address())
    first = [
        ask(1, 0, key="k é'; --", actor="t1"),
        tell(2, 0, key="2"),
        ask(3, 1),
        note(4, "pause"),
    ]
    late = {"seq": 5, "kind": "late", "decision": "x-0", "observation": 2}
    study.append([*first, late])
    more = [tell(6, 1, key="6"), ask(7, 2, key="7")]

    def check() -> None:
        assert study.by_key("k é'; --") == first[0]
        assert study.by_key("6") == more[0]
        assert study.by_key("8") is None
        assert study.asked("x-1") == first[2]
        assert study.closing("x-0") == first[1]
        assert (study.asked("x-3"), study.closing("x-2")) == (None, None)
        assert study.about("x-0") == [first[0], first[1], late]
        assert study.about("x-1") == [first[2], more[0]]
        assert list(study.after(3)) == [first[3], late, *more]

    with study.turn():
        study.append(more)
        with pytest.raises(ZeroDivisionError):
            fail_in(study.turn(), lambda: study.append([ask(8, 3, key="8")]))
        check()
    check()
    assert study.of_kind("note") == first[3:4]
    assert study.of_kind("note", after=4) == study.of_kind("note", limit=0) == []
    times = [event["at"] for event in study.after(at=True)]
    assert times == sorted(times)
    assert 1.7e9 < times[0] <= study.about("x-0", at=True)[0]["at"]


def test_decisions_are_paged_by_number(address: Address) -> None:
    study = new_study(address())
    study.append([ask(seq, seq - 1) for seq in range(1, 8)])
    study.append([tell(8, 2), {"seq": 9, "kind": "cancel", "decision": "x-5"}])
    rows = study.decisions(-1, 100, False)
    assert [row.number for row in rows] == list(range(7))
    assert [row.closed["kind"] if row.closed else None for row in rows] == [
        *(None, None, "tell", None, None, "cancel", None)
    ]
    assert rows[2] == DecisionRow(2, ask(3, 2), rows[2].asked_at, tell(8, 2), rows[2].closed_at)
    assert rows[2].closed_at is not None
    assert rows[2].asked_at <= rows[2].closed_at
    assert study.decisions(2, 2, False) == rows[3:5]
    assert [row.number for row in study.decisions(0, 3, True)] == [1, 3, 4]


def test_keys_are_names_and_used_once(address: Address) -> None:
    study = new_study(address())
    study.append([ask(1, 0, key="a" * 200)])
    for wrong in ("", "a" * 201, 7, "\0", "\ud800"):
        for name in ("key", "actor"):
            with pytest.raises(InvalidInput, match=rf"^{name} must be 1 to 200 characters; got"):
                study.append([ask(2, 1, **{name: wrong})])
    with pytest.raises(InvalidInput, match=r"^decision must end with a number; got 'x'\.$"):
        study.append([{"seq": 2, "kind": "ask", "decision": "x"}])
    with pytest.raises(StorageError, match=r"(?i)unique"):
        study.append([tell(2, 0, key="a" * 200)])
    other = new_study(study._database.given, "other")  # type: ignore[attr-defined]
    other.append([ask(1, 0, key="a" * 200)])
    assert study.version == 1


def test_state_and_settings_change_in_turns(address: Address) -> None:
    where = address()
    study = new_study(where)
    state, settings, created_at = study.row
    assert (state, settings) == ("running", {})
    assert created_at > 1.7e9
    study.set(settings={"fallback": "$1"})
    with study.turn():
        study.append([note(1, "pause")])
        study.set(state="paused")
        assert study.row.state == "paused"
        with pytest.raises(ZeroDivisionError):
            fail_in(study.turn(), lambda: study.set(state="archived", settings={}))
        assert study.row == ("paused", {"fallback": "$1"}, created_at)
    with pytest.raises(ZeroDivisionError):
        fail_in(study.turn(), lambda: study.set(state="running"))
    assert study.row == ("paused", {"fallback": "$1"}, created_at)
    assert study.through(database_at(where).reader()).row == study.row
    with pytest.raises(InvalidInput, match=r"^state must be one of running, paused, archived; got"):
        study.set(state="away")


def test_points_of_charts_are_kept(address: Address) -> None:
    study = new_study(address())
    for seq in range(1, 6):
        study.trace(seq, 1e9 + seq, {"plays": [seq, 0.1]})
    study.trace(3, 2e9, {"plays": []})
    assert study.traces(2, 2) == [(3, 2e9, {"plays": []}), (4, 1e9 + 4, {"plays": [4, 0.1]})]
    study.forget_traces([1, 2, 9])
    assert [point.seq for point in study.traces()] == [3, 4, 5]


def test_snapshots_of_long_logs_are_kept_to_look_back(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "APART", 100)
    study = new_study(address())
    for seq in range(10, 460, 20):
        study.keep({"seq": seq})
    found = [study.nearest(seq) for seq in (99, 100, 110, 299, 300, 420, 1000)]
    assert found == [None, None, *({"seq": seq} for seq in (110, 210, 210, 410, 450))]
    assert study.latest() == {"seq": 450}


def test_studies_are_renamed_and_replaced(address: Address) -> None:
    """As an edit does: another one goes on under the name, and the old one is archived."""
    where = address()
    database, study = database_at(where), new_study(where)
    new_study(where, "other")
    study.append([ask(1, 0)])
    study.set(settings={"max_open": 5})
    for method in (database.rename, lambda own, new: database.replace(own, new, {})):
        with pytest.raises(InvalidInput, match=r"has a study 'other' already\.$"):
            method(study, "other")
        with pytest.raises(InvalidInput, match=r"^name must be that of a study"):
            method(study, "")
    fresh = [note(1, "edit", key="e1"), ask(2, 1)]
    with pytest.raises(ZeroDivisionError):
        fail_in(study.turn(), lambda: database.replace(study, "pricing~1", {"game": 2}, fresh))
    assert database.names() == ["pricing", "other"]
    assert (study.name, study.row.state) == ("pricing", "running")
    with study.turn():
        study.append([note(2, "edit")])
        database.replace(study, "pricing~1", {"game": 2}, fresh)
    assert database.names() == ["pricing~1", "other", "pricing"]
    assert (study.name, study.row.state, study.version) == ("pricing~1", "archived", 2)
    for found in (database, database_at(where)):
        old, new = found.study("pricing~1"), found.study("pricing")
        assert old is not None
        assert new is not None
        assert (old.spec, new.spec) == ({"game": "any"}, {"game": 2})
        assert new.row[:2] == ("running", {"max_open": 5})
        assert list(new.after()) == fresh
        assert new.by_key("e1") == fresh[0]
    database.rename(study, "first")
    assert database.study("first") is study
    assert database.study("pricing~1") is None


def test_replacing_a_study_may_fail_with_its_group(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/shop.db"
    database, study = database_at(where), new_study(where)
    with pytest.raises(ZeroDivisionError):
        fail_in(database.together(), lambda: database.replace(study, "x~1", {}, [note(1, "edit")]))
    assert (database.names(), study.name, study.row.state) == (["pricing"], "pricing", "running")
    with database.together():
        database.replace(study, "x~1", {}, [note(1, "edit")])
    assert database.study("x~1") is study


def test_tokens_are_stored_as_hashes(address: Address) -> None:
    database = database_at(address())
    one = TokenRow("a1", bytes(range(32)), "admin", None, "first", 1e9, None, None)
    two = TokenRow("b2", bytes(32), "play", "pricing", "é", 1e9 + 0.25, 2e9, None)
    for token in (two, one):
        database.tokens.create(token)
    assert database.tokens.list() == [one, two]
    assert database.tokens.find("b2") == two
    assert database.tokens.find("'; --") is None
    assert database.tokens.revoke("b2", 1.5e9)
    assert not database.tokens.revoke("b2", 1.6e9)
    assert database.tokens.find("b2") == two._replace(revoked_at=1.5e9)
    with pytest.raises(StorageError, match=r"has a token 'a1' already\.$"):
        database.tokens.create(one)
    for wrong, said in (({"hash": b"secret"}, "hash must be"), ({"role": "king"}, "role must be")):
        with pytest.raises(InvalidInput, match=said):
            database.tokens.create(one._replace(id="c3", **wrong))  # type: ignore[arg-type]


def test_a_reader_only_reads_and_does_not_wait(address: Address) -> None:
    database = database_at(address())
    study = new_study(database.given)
    reader = database.reader()
    seen = study.through(reader)
    with study.turn():
        study.append([ask(1, 0)])
        assert list(seen.after()) == []
    assert list(seen.after()) == [ask(1, 0)]
    with pytest.raises(StorageError, match=r"read-?only"):
        seen.append([tell(2, 0)])
    reader.close()
    assert study.version == 1


def test_a_copy_has_everything(cluster: Cluster, tmp_path: Path) -> None:
    one, two = f"sqlite:///{tmp_path}/one.db", cluster.new("everything")
    play(learner_at(one), 3)
    study: Any = database_at(one).study("pricing")
    learner = learner_at(one)
    study.append([{"seq": 7, "kind": "reset", "key": "k", "actor": "t"}])
    study.set(state="paused", settings={"max_open": 7})
    study.trace(6, 1e9, {"x": 0.1})
    pm_store("copy", one, two)
    three = f"sqlite:///{tmp_path}/three.db"
    pm_store("copy", two, three)
    for where in (two, three):
        copy: Any = database_at(where).study("pricing")
        assert list(copy.after(at=True)) == list(study.after(at=True))
        assert copy.row == study.row
        assert copy.traces() == study.traces()
        assert copy.by_key("k")["actor"] == "t"
    assert play(learner_at(three), 5) == play(learner, 5)


def test_damage_of_other_tables_is_found(address: Address) -> None:
    where = address()
    learner = learner_at(where)
    play(learner, 3)
    study: Any = learner._storage
    study.trace(2, 1e9, {})
    token = TokenRow("a1", bytes(32), "admin", None, "first", 1e9, None, None)
    database_at(where).tokens.create(token)
    for sql, said in (
        ("UPDATE pm_event SET number = 77 WHERE seq = 3", r"event 3 has number 77 in its row, and"),
        ("UPDATE pm_event SET decision = 'x-1' WHERE seq = 4", r"event 4 has decision 'x-1' in "),
        ("UPDATE pm_trace SET seq = 99", r"a point of its charts is of event 99; there are 6\."),
        ("UPDATE pm_trace SET body = '[]'", r"of its charts after event 2 is damaged\."),
        ("UPDATE pm_study SET settings = '[]'", r"its settings are damaged\."),
        ("UPDATE pm_token SET study = ''", r"token 'a1' is for a study ''\."),
    ):
        with damaged(study._handle, sql):
            shown = pm_store("check", where, code=1)
        assert re.search(said, shown), shown
    assert "replayed, all is equal." in pm_store("check", where)


@contextmanager
def damaged(handle: Any, sql: str) -> Iterator[None]:
    """Change something, and take it back."""
    table = sql.split()[1]
    before = handle.rows(f"SELECT * FROM {table}")
    with handle.transaction():
        handle.run(sql)
    yield
    with handle.transaction():
        if table == "pm_study":
            handle.run("UPDATE pm_study SET settings = '{}'")
        else:
            handle.run(f"DELETE FROM {table}")
            marks = ", ".join("?" * len(before[0]))
            handle.many(f"INSERT INTO {table} VALUES ({marks})", before)


# -- plans -----------------------------------------------------------------------------------------

QUERIES = {
    "by_key": lambda own: own.by_key("k"),
    "asked": lambda own: own.asked("x-1"),
    "closing": lambda own: own.closing("x-1"),
    "about": lambda own: own.about("x-1"),
    "decisions": lambda own: own.decisions(3, 10, False),
    "of_kind": lambda own: own.of_kind("note", 3, 10),
    "after": lambda own: list(own.after(3)),
    "traces": lambda own: own.traces(3, 10),
    "latest": lambda own: own.latest(),
    "row": lambda own: own.row,
    "append": lambda own: own.append([ask(1, 0, key="k")]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_reads_what_it_does_not_need(tmp_path: Path, name: str) -> None:
    """Every one goes by an index, so that it takes as long after a million decisions."""
    where = f"sqlite:///{tmp_path}/shop.db"
    study, seen = new_study(where), list[str]()
    own = database_at(where).handle._own  # type: ignore[attr-defined]
    own.set_trace_callback(seen.append)
    QUERIES[name](study)
    own.set_trace_callback(None)
    plans = [
        step[3]
        for sql in seen
        if sql.split()[0] in ("SELECT", "UPDATE")
        for step in own.execute(f"EXPLAIN QUERY PLAN {sql}")
    ]
    assert plans or name == "append"
    for step in plans:
        assert not step.startswith("SCAN"), step
        assert "TEMP B-TREE" not in step, step
        assert not step.endswith("PRIMARY KEY (study_id=?)"), step


def test_a_learner_is_read_as_it_was(address: Address) -> None:
    """Keys and actors change no decision."""
    learner, model = learner_at(address()), pm.Learner("dynamic_pricing", seed=1)
    expected = play(model, 10)
    assert play(learner, 5) == expected[:5]
    study: Any = learner._storage
    rows = study._handle.rows("SELECT count(*) FROM pm_decision WHERE closed IS NOT NULL")
    assert rows == [(5,)]
    assert play(learner, 5) == expected[5:]
