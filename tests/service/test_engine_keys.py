"""A key means one request, whatever its verb; and what a request says is not passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.opened import database_at

ROW = {"action": "$2", "observation": "yes"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    window = {"seconds": 1000}
    game = {"named": "dynamic_pricing"}
    engine.create({"name": "pricing", "game": game, "policy": "ids", "window": window})
    yield engine
    engine.close()
    database.close()


def do(engine: Engine, verb: str, **given: Any) -> Any:
    return engine.submit("pricing", verb, given, "somebody").result(30)


def refused(engine: Engine, verb: str, **given: Any) -> int:
    with pytest.raises(Problem) as found:
        do(engine, verb, **given)
    return found.value.status


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("pause", {}),
        ("settings", {"max_open": 7}),
        ("clear", {}),
        ("reset", {"reason": "new season"}),
        ("void", {"from": 0, "to": 9, "reason": "wrong"}),
        ("edit", {"policy": "cbp", "reason": "slow"}),
        ("history", {"rows": [ROW]}),
    ],
)
def test_a_key_of_another_request_is_refused(engine: Engine, verb: str, given: Any) -> None:
    own = do(engine, "ask", key="used")["decisions"][0]
    version = engine.hosted("pricing").version
    assert refused(engine, verb, key="used", **given) == 409
    assert refused(engine, "history", rows=[ROW, {**ROW, "key": "used"}]) == 409
    assert refused(engine, "cancel", decision=own["id"], key="used") == 409
    assert engine.hosted("pricing").version == version


@pytest.mark.parametrize("first", [0, 1])
def test_rows_without_a_key_are_learned_from_once(engine: Engine, first: int) -> None:
    rows = [{**ROW, "key": "own"}, ROW, ROW]
    rows = rows[first:] + rows[:first]
    assert do(engine, "history", rows=rows, key="all") == {"accepted": 3, "repeated": 0}
    assert do(engine, "history", rows=rows, key="all") == {"accepted": 0, "repeated": 3}
    assert engine.hosted("pricing").round == 4


def test_a_row_may_have_the_key_of_its_request(engine: Engine) -> None:
    rows = [ROW, {**ROW, "key": "all"}]
    assert do(engine, "history", rows=rows, key="all") == {"accepted": 2, "repeated": 0}
    assert do(engine, "history", rows=rows, key="all") == {"accepted": 0, "repeated": 2}


def test_a_caller_cannot_prevent_an_alarm(engine: Engine) -> None:
    do(engine, "ask", key="alarm/misfit/0/0")
    alarm = {"what": "alarm", "alarm": "misfit", "key": "alarm/misfit/0/0"}
    for _ in range(2):
        do(engine, "note", **alarm)
    assert [own["kind"] for own in engine.hosted("pricing").events] == ["ask", "note"]


def test_the_time_of_several_answers_counts(engine: Engine) -> None:
    first, second = do(engine, "ask", count=2)["decisions"]
    answers = [{"decision": first["id"], "observation": "yes"}]
    assert refused(engine, "tell", answers=answers, now="soon") == 422
    assert refused(engine, "tell", answers=answers, now=1e12) == 422
    later = first["asked_at"] + 30
    do(engine, "tell", answers=answers, now=later, key="all")
    [held] = do(engine, "ask", hold=True)["decisions"]
    do(engine, "activate", decision=held["id"], now=later)
    assert engine.hosted("pricing").events[-1]["time"] == later
    assert refused(engine, "cancel", decision=second["id"], now=1e12) == 422


def test_a_fallback_is_available(engine: Engine) -> None:
    do(engine, "settings", fallback="$2")
    do(engine, "pause")
    assert do(engine, "ask", available=["$2", "$3"])["decisions"][0]["label"] == "$2"
    assert refused(engine, "ask", available=["$3"]) == 409
    assert refused(engine, "ask", available=["$9"]) == 422
    assert refused(engine, "ask", now="soon") == 422


def test_a_decision_is_cancelled_once(engine: Engine) -> None:
    first, second = do(engine, "ask", count=2)["decisions"]
    names = [first["id"], second["id"], first["id"]]
    found = do(engine, "cancel", decisions=names)["decisions"]
    assert [(own["decision"], own["result"]) for own in found] == [
        (first["id"], "cancelled"),
        (second["id"], "cancelled"),
        (first["id"], "duplicate"),
    ]
    [third] = do(engine, "ask")["decisions"]
    engine.clock._last = engine.clock._last[0] + 2000, engine.clock._last[1]
    engine.clock._wall = lambda: engine.clock._last[0]
    with pytest.raises(Problem, match="has been answered, or closed"):
        do(engine, "cancel", decision=third["id"])


def test_an_answer_that_waits_is_amended_once(engine: Engine) -> None:
    [own] = do(engine, "ask")["decisions"]
    do(engine, "tell", decision=own["id"], observation="yes", key="told")
    given = {"decision": own["id"], "observation": "no", "reason": "a typo"}
    assert do(engine, "amend", **given, key="typo")["amended"] == 1
    assert do(engine, "amend", **given, key="typo")["repeated"]
    assert refused(engine, "amend", **given, key="told") == 409
    void = {"decisions": [own["id"]], "reason": "wrong", "key": "void"}
    assert do(engine, "void", **void)["amended"] == 1
    assert do(engine, "void", **void)["repeated"]


def test_a_late_answer_is_noted_once(engine: Engine) -> None:
    [own] = do(engine, "ask")["decisions"]
    engine.clock._last = engine.clock._last[0] + 2000, engine.clock._last[1]
    engine.clock._wall = lambda: engine.clock._last[0]
    late = {"decision": own["id"], "observation": "yes"}
    assert do(engine, "tell", **late)["answers"][0]["result"] == "late"
    do(engine, "edit", policy="cbp", reason="another")
    version = engine.hosted("pricing").version
    assert do(engine, "tell", **late)["answers"][0]["result"] == "late"
    assert engine.hosted("pricing").version == version
