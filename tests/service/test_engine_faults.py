"""What goes wrong: commits that fail, damaged logs, requests without end, studies that are slow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.service.engine import engine as engines
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study import apart
from partial_monitoring.service.study import draft as drafts
from partial_monitoring.service.study import hosted as hosteds
from partial_monitoring.storage.opened import database_at
from partial_monitoring.storage.study import Study
from partial_monitoring.storage.turns import Turns
from tests.service.engines import PRICING, asked, do, refused, seen, told


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING, "seed": 3})
    engine.create({"name": "other", "game": PRICING, "seed": 4})
    yield engine
    engine.close()
    database.close()


def test_a_commit_that_fails_changes_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, hosted = asked(engine, key="first"), engine.hosted("pricing")
    write, heard, versions = Turns._write, list[Any](), list[int]()

    def fail(self: Turns, **given: Any) -> None:
        with self._handle.transaction():
            write(self, grouped=True)
            versions.append(hosted.version)
            raise StorageError("the disk is full.")

    engine.after_commit.append(lambda *given: heard.append(given))
    before = str(hosted.status()), hosted.version, len(hosted.open)
    with monkeypatch.context() as patch:
        patch.setattr(Turns, "_write", fail)
        for verb, arguments in (
            ("ask", {"key": "second"}),
            ("tell", {"decision": own["id"], "observation": "yes"}),
            ("pause", {}),
            ("edit", {"policy": "random", "reason": "a try"}),
        ):
            problem = refused(engine, verb, **arguments)
            assert problem.status == 503
            assert problem.headers["Retry-After"]
            assert not engine.ready
            assert "disk" in engine.why_not
        engine.tick()
    assert engine.ready
    assert (str(hosted.status()), hosted.version, len(hosted.open)) == before
    assert (hosted.state, engine.hosted("pricing"), heard) == ("running", hosted, [])
    assert set(versions) == {1}
    assert asked(engine, key="second")["number"] == 1
    assert engine.ready
    assert told(engine, own["id"], "yes") == "told"
    assert asked(engine, key="first")["repeated"]
    assert pm.Learner.replay("dynamic_pricing", None, 3, hosted.events, check=True).round == 2


def test_a_commit_whose_outcome_is_unknown_is_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, hosted, write = asked(engine), engine.hosted("pricing"), Turns._write

    def fail(self: Turns, **given: Any) -> None:
        write(self, **given)
        raise StorageError("the connection was lost.")

    hosted.slow = True  # with commits of its own
    with monkeypatch.context() as patch:
        patch.setattr(Turns, "_write", fail)
        assert refused(engine, "ask", key="mine").status == 503
        assert refused(engine, "tell", decision=own["id"], observation="yes").status == 503
    again = asked(engine, key="mine")
    assert (again["number"], again["repeated"]) == (1, True)
    assert told(engine, own["id"], "yes") == "duplicate"
    with monkeypatch.context() as patch:
        patch.setattr(Turns, "_write", fail)
        assert refused(engine, "edit", policy="random", reason="a try", key="e").status == 503
    assert do(engine, "edit", policy="random", reason="a try", key="e")["repeated"]
    assert asked(engine)["number"] == 2
    assert engine.names() == ["pricing~1", "other", "pricing"]


def test_an_unexpected_error_answers_its_own_request(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setitem(engines.VERBS, "cancel", fail)  # type: ignore[arg-type]
    gate = _blocked(engine)
    futures = [engine.submit("pricing", verb, {}) for verb in ("ask", "cancel", "ask")]
    gate.set()
    assert [futures[n].result(9)["decisions"][0]["number"] for n in (0, 2)] == [0, 1]
    with pytest.raises(Problem, match="incident") as found:
        futures[1].result(9)
    assert found.value.status == 500
    assert str(found.value.detail).split()[4].rstrip(";") in caplog.text


def test_what_cannot_be_stored_answers_its_own_request(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Study.append

    def picky(self: Any, events: Any) -> None:
        if any(event.get("meta") == {"bad": 1} for event in events):
            raise InvalidInput("meta must be good.")
        append(self, events)

    monkeypatch.setattr(Study, "append", picky)
    gate = _blocked(engine)
    metas = ({"good": 1}, {"bad": 1}, {"good": 2})
    futures = [engine.submit("pricing", "ask", {"meta": own}) for own in metas]
    gate.set()
    assert [futures[n].result(9)["decisions"][0]["number"] for n in (0, 2)] == [0, 1]
    with pytest.raises(Problem, match="good"):
        futures[1].result(9)


def test_another_version_is_noted(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(engine)
    monkeypatch.setattr(hosteds, "VERSION", "9.9")
    asked(engine)
    note = engine.hosted("pricing").events[1]
    assert (note["kind"], note["what"], note["version"]) == ("note", "engine", "9.9")
    assert note["before"] == pm.__version__
    asked(engine)
    assert engine.hosted("pricing").version == 4


def _blocked(engine: Engine) -> Event:
    """Keep the committer busy until the event is set."""
    gate, begun = Event(), Event()

    def wait(*_: Any) -> None:
        begun.set()
        gate.wait(9)
        engine.after_commit.remove(wait)

    engine.after_commit.append(wait)
    engine.submit("other", "ask", {})
    begun.wait(9)
    return gate


def test_requests_of_all_studies_share_a_commit(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, written, write = _blocked(engine), list[int](), Turns._write
    futures = [engine.submit(name, "ask", {}) for name in ("pricing", "other") * 20]

    def count(self: Turns, **given: Any) -> None:
        written.append(len(self._rows))
        write(self, **given)

    monkeypatch.setattr(Turns, "_write", count)
    gate.set()
    for future in futures:
        future.result(9)
    assert written == [20, 20]


def test_too_many_requests_are_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MOST_WAITING", 10)
    gate = _blocked(engine)
    futures = [engine.submit("pricing", "ask", {}) for _ in range(10)]
    with pytest.raises(Problem) as found:
        engine.submit("pricing", "ask", {})
    assert (found.value.status, found.value.headers["Retry-After"]) == (503, "1")
    engine.submit("other", "ask", {})
    gate.set()
    assert {future.result(9)["decisions"][0]["number"] for future in futures} == set(range(10))


def test_a_damaged_log_is_quarantined(engine: Engine) -> None:
    for name in ("pricing", "other"):
        for _ in range(5):
            own = engine.submit(name, "ask", {}).result(9)["decisions"][0]
            told_ = {"decision": own["id"], "observation": "yes"}
            engine.submit(name, "tell", told_).result(9)
    engine._studies.clear()
    with engine.database.handle.transaction():
        study: Any = engine.database.study("pricing")
        sql = "UPDATE pm_event SET body = replace(body, 'yes', 'maybe')"
        engine.database.handle.run(f"{sql} WHERE study_id = ? AND seq = 6", (study._number,))
    with pytest.raises(Problem, match="event 6") as found:
        engine.hosted("pricing")
    assert found.value.status == 503
    with pytest.raises(Problem, match="event 6"):
        do(engine, "ask")
    assert engine.submit("other", "ask", {}).result(9)["decisions"][0]["number"] == 5
    with pytest.raises(Problem, match="no study") as found:
        engine.submit("nothing", "ask", {}).result(9)
    assert found.value.status == 404


def test_a_pause_ends_asks_that_come_after_it(engine: Engine) -> None:
    gate = _blocked(engine)
    verbs = ("ask", "pause", "ask", "resume", "ask")
    futures = [engine.submit("pricing", verb, {}) for verb in verbs]
    gate.set()
    assert futures[0].result(9)["decisions"][0]["number"] == 0
    with pytest.raises(Problem, match="paused"):
        futures[2].result(9)
    assert futures[4].result(9)["decisions"][0]["number"] == 1


def test_threads_go_on_while_a_study_is_edited(engine: Engine) -> None:
    stop = time.monotonic() + 1.5

    def play(number: int) -> list[str]:
        names = []
        while time.monotonic() < stop:
            own = asked(engine)
            assert told(engine, own["id"], "yes" if number % 2 else seen(own)) == "told"
            names.append(own["id"])
        return names

    with ThreadPoolExecutor(5) as pool:
        plays = [pool.submit(play, number) for number in range(4)]
        for edition in range(4):
            prices = list(range(1, 5 + edition))
            game = {"named": "dynamic_pricing", "options": {"prices": prices}}
            do(engine, "edit", game=game, reason="more prices")
            time.sleep(0.2)
        names = [name for own in plays for name in own.result(20)]
    hosted = engine.hosted("pricing")
    assert len(set(names)) == len(names) == hosted._session.asked == hosted.round - 1
    assert hosted.game.k == 7
    engine._studies.clear()
    again = engine.hosted("pricing")
    assert (again.version, str(again.status())) == (hosted.version, str(hosted.status()))


def test_slow_studies_do_not_delay_others(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    decide, slow = drafts.steps.decide, engine.hosted("pricing")

    def slowly(spec: Any, *given: Any) -> Any:
        if spec is slow._spec:
            time.sleep(0.02)
        return decide(spec, *given)

    monkeypatch.setattr(drafts.steps, "decide", slowly)
    monkeypatch.setattr(apart, "MOST", 0)
    for _ in range(5):
        asked(engine)
    slow.note_pace(0.02)
    slow.note_pace(0.0)
    slow.note_pace(0.02)
    assert not slow.slow
    for _ in range(3):
        slow.note_pace(0.02)
    assert slow.slow
    waiting = [engine.submit("pricing", "ask", {}) for _ in range(50)]
    begun = time.monotonic()
    for _ in range(10):
        engine.submit("other", "ask", {}).result(9)
    assert time.monotonic() - begun < 0.5
    assert not waiting[-1].done()
    numbers = [own.result(20)["decisions"][0]["number"] for own in waiting]
    assert numbers == list(range(5, 55))


def test_what_waits_is_answered_at_the_end(tmp_path: Path) -> None:
    database = database_at(f"sqlite:///{tmp_path}/end.db")
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING})
    futures: list[Future[Any]] = [engine.submit("pricing", "ask", {}) for _ in range(300)]
    engine.close()
    assert sum(own.result(1)["decisions"][0]["number"] for own in futures) == 299 * 150
    with pytest.raises(Problem, match="ends"):
        engine.submit("pricing", "ask", {})
    study = database.study("pricing")
    assert study is not None
    assert (study.latest() or {})["seq"] == 300
    database.close()
