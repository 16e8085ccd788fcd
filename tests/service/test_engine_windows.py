"""Windows in a service: a timer counts what is due, clocks may jump, decisions may be held."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partial_monitoring.learner import session as sessions
from partial_monitoring.learner import snapshots
from partial_monitoring.learner.answers import waits
from partial_monitoring.learner.due import is_due
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study import clock as clocks
from partial_monitoring.storage.opened import database_at
from tests.service.engines import PRICING, asked, do, refused, told

DAY = 86400.0


class Clocks:
    """A clock that can be set, and one that only goes on."""

    def __init__(self) -> None:
        self.wall, self.ticks = 1.7e9, 50.0

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr(clocks, "ticking", lambda: found.ticks)
    return found


@pytest.fixture
def engine(tmp_path: Path, time: Clocks) -> Iterator[Engine]:
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database, clock=lambda: time.wall)
    engine.create(
        {
            "name": "pricing",
            "game": PRICING,
            "window": {"days": 30, "unanswered": "yes"},
        }
    )
    yield engine
    engine.close()
    database.close()


def sleep(engine: Engine, time: Clocks, days: float) -> None:
    for _ in range(100):
        time.sleep(days * DAY / 100)
        engine.clock.now()
    engine.tick()
    do(engine, "settle")


def kinds(engine: Engine) -> list[str]:
    return [event["kind"] for event in engine.hosted("pricing").events]


def test_answers_count_when_they_are_due(engine: Engine, time: Clocks) -> None:
    first, second = do(engine, "ask", count=2, available=["$3"])["decisions"]
    assert first["due_at"] == first["asked_at"] + 30 * DAY
    assert told(engine, first["id"], "no") == "waits"
    assert told(engine, first["id"], "no") == "duplicate"
    assert refused(engine, "tell", decision=first["id"], observation="yes").status == 409
    assert engine.hosted("pricing").round == 1
    sleep(engine, time, 31)
    assert engine.hosted("pricing").round == 3
    assert told(engine, first["id"], "no") == "duplicate"
    assert [told(engine, second["id"], "no") for _ in range(2)] == ["late", "late"]
    assert kinds(engine).count("late") == 1
    shown = [row["observation"] for row in engine.hosted("pricing").history]
    assert shown == ["no", "yes"]


@pytest.mark.parametrize("jump", [DAY * 40, -DAY * 40])
def test_a_clock_that_jumps_ends_no_window(engine: Engine, time: Clocks, jump: float) -> None:
    own = asked(engine)
    time.wall += jump
    engine.tick()
    assert engine.clock.halted
    other = asked(engine)
    assert abs(other["asked_at"] - own["asked_at"]) < 1
    assert told(engine, own["id"], "yes") == "waits"
    do(engine, "settle")
    assert kinds(engine) == ["ask", "ask", "answer"]
    time.wall -= jump
    engine.tick()
    assert not engine.clock.halted
    assert kinds(engine) == ["ask", "ask", "answer"]
    sleep(engine, time, 31)
    assert kinds(engine)[3:] == ["tell", "tell"]


def test_a_window_of_one_that_is_held_begins_when_it_is_activated(
    engine: Engine, time: Clocks
) -> None:
    held = [asked(engine, hold=True) for _ in range(3)]
    plain = asked(engine)
    assert "due_at" not in held[0]
    sleep(engine, time, 20)
    done = do(engine, "activate", decisions=[held[2]["id"], held[1]["id"]])["decisions"]
    assert [own["result"] for own in done] == ["activated", "activated"]
    assert do(engine, "activate", decision=held[1]["id"])["decisions"][0]["result"] == "duplicate"
    assert refused(engine, "activate", decision=plain["id"]).status == 409
    sleep(engine, time, 11)
    hosted = engine.hosted("pricing")
    assert hosted.history[3]["observation"] == "yes"
    assert len(hosted.open) == 3
    assert told(engine, held[1]["id"], "yes") == "waits"
    sleep(engine, time, 20)
    assert [own.id for own in hosted.open] == [held[0]["id"]]
    assert told(engine, held[0]["id"], "yes") == "waits"  # and is activated by that
    sleep(engine, time, 31)
    assert hosted.open == []
    assert hosted.round == 5


def test_a_restart_keeps_what_is_held(engine: Engine, time: Clocks, tmp_path: Path) -> None:
    held = asked(engine, hold=True)
    later = asked(engine, hold=True)
    do(engine, "activate", decision=later["id"])
    before: Any = [(own.id, own.due) for own in engine.hosted("pricing").open]
    hosted = engine.hosted("pricing")
    hosted.kept(anyway=True)
    engine._studies.clear()
    engine.database._known.clear()
    again = engine.hosted("pricing")
    assert again is not hosted
    assert [(own.id, own.due) for own in again.open] == before
    sleep(engine, time, 31)
    assert [own.id for own in again.open] == [held["id"]]


@settings(max_examples=12, deadline=None)
@given(
    rounds=st.booleans(),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["ask", "hold", "activate", "tell", "cancel", "sleep"]),
            st.integers(0, 7),
        ),
        max_size=30,
    ),
)
def test_a_log_with_held_decisions_is_folded_again(
    rounds: bool, steps: list[tuple[str, int]]
) -> None:
    time = Clocks()
    with tempfile.TemporaryDirectory() as folder:
        database = database_at(f"sqlite:///{folder}/shop.db")
        engine = Engine(database, clock=lambda: time.wall)
        engine.clock = clocks.Clock(lambda: time.wall, lambda: time.ticks)
        window = {"rounds": 3} if rounds else {"hours": 10, "unanswered": "yes"}
        engine.create({"name": "pricing", "game": PRICING, "window": window})
        names = []
        for verb, number in steps:
            name = names[number % len(names)] if names else "x-1"
            if verb in ("ask", "hold"):
                names.append(asked(engine, hold=verb == "hold")["id"])
            elif verb == "sleep":
                time.sleep(3600.0 * number)
                engine.clock._last = time.wall, time.ticks
            else:
                more = {"observation": "yes"} if verb == "tell" else {}
                with contextlib.suppress(Problem):
                    do(engine, verb, decision=name, **more)
        do(engine, "settle")
        live, spec = engine.hosted("pricing")._session, engine.hosted("pricing")._spec
        engine.close()
        _check_due(spec, live, time.wall)
        study: Any = database.study("pricing")
        folded = sessions.folded(spec, study.after())
        kept = sessions.snapshot(spec, live)
        assert sessions.snapshot(spec, folded) == kept
        restored = snapshots.restored(spec, json.loads(json.dumps(kept)))
        assert sessions.snapshot(spec, restored) == kept
        assert list(_started(restored)) == list(_started(live)) == list(_started(folded))
        database.close()


def _started(session: Any) -> Iterator[Any]:
    """The held decisions that are open, in the order in which they will be due."""
    own = session.started
    return (x for x in map(own.names.get, range(own.first, own.end)) if x in session.open)


def _check_due(spec: Any, session: Any, now: float) -> None:
    """Whether nothing is open whose window has ended."""
    for own in session.open.values():
        if waits(spec.window, own):
            assert not is_due(spec.window, own, session, now)
