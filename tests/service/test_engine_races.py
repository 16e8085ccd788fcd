"""What other threads and other processes do in the meantime changes nothing that is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.service.engine.engine import VERBS, Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study import hosted as hosteds
from partial_monitoring.service.study.apart import Apart
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.verbs import changing
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.opened import database_at
from partial_monitoring.storage.study import Study
from tests.storage import cluster as postgres

GAME = {"named": "dynamic_pricing"}


@contextmanager
def serving(address: str, **more: Any) -> Iterator[Engine]:
    database = database_at(address)
    engine = Engine(database)
    if more:
        engine.create({"name": "pricing", "game": GAME, "policy": "ids", "seed": 5, **more})
    yield engine
    engine.close()
    database.close()


def do(engine: Engine, verb: str, **given: Any) -> Any:
    return engine.submit("pricing", verb, given, "somebody").result(30)


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    assert found()


def test_who_reads_does_not_take_a_pause_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(f"sqlite:///{tmp_path}/shop.db", key="new") as engine:
        change, study = Study.set, engine.hosted("pricing").study

        def changed(self: Study, **given: Any) -> None:
            change(self, **given)
            reading = Thread(target=lambda: (study.version, study.row))
            reading.start()
            reading.join(10)

        do(engine, "ask")
        with monkeypatch.context() as patch:
            patch.setattr(Study, "set", changed)
            do(engine, "pause")
        with pytest.raises(Problem, match="is paused"):
            do(engine, "ask")
        assert engine.hosted("pricing").state == study.row.state == "paused"


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A study that decides in a process of its own."""
    monkeypatch.setattr(hosteds, "SLOW", 0.0)
    with serving(f"sqlite:///{tmp_path}/shop.db", window={"rounds": 20}) as engine:
        for _ in range(3):
            do(engine, "ask")
        own = engine.hosted("pricing").process
        assert own is not None
        until(lambda: own.ready)
        yield engine
        assert own.ready
        assert own._seen == engine.hosted("pricing").version
        log = engine.hosted("pricing").events
        window = pm.Window(rounds=20)
        pm.Learner.replay("dynamic_pricing", pm.IDS(), 5, log, window=window, check=True)


def test_a_process_knows_what_is_held(slow: Engine) -> None:
    [held] = do(slow, "ask", hold=True, meta={"page": 3})["decisions"]
    do(slow, "activate", decision=held["id"])
    do(slow, "ask", count=2)
    [held] = do(slow, "ask", hold=True)["decisions"]
    do(slow, "tell", decision=held["id"], observation="yes")
    do(slow, "ask")


def test_a_process_forgets_what_was_refused(slow: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    decide, calls = Apart.decide, list[int]()

    def fails(self: Apart, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise InvalidInput("no third one.")
        return decide(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Apart, "decide", fails)
        with pytest.raises(Problem, match="no third one"):
            do(slow, "ask", count=3)
    do(slow, "history", rows=[{"action": "$2", "observation": "yes"}] * 3)
    do(slow, "ask")


def test_a_process_that_starts_too_late_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", lambda self: None)
        own = Apart(steps.Spec(pm.games.dynamic_pricing(), pm.IDS(), 0, {}))
    own.stop()
    own._start()
    assert own._process is not None
    assert own._process.poll() is not None
    assert not own.ready


def test_a_damaged_event_is_the_concern_of_who_needs_it(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/shop.db", key="new") as engine:
        [first] = do(engine, "ask", key="first")["decisions"]
        [second] = do(engine, "ask")["decisions"]
        do(engine, "tell", decision=first["id"], observation="yes")
        handle = engine.database.handle
        with handle.transaction():
            handle.run("UPDATE pm_event SET body = '[]' WHERE seq IN (1, 3)")
        held, going = Event(), Event()

        def wait(draft: Any, given: Any, actor: str) -> dict[str, Any]:
            held.set()
            assert going.wait(30)
            return {}

        VERBS["wait"] = wait  # type: ignore[index]
        try:
            waits = engine.submit("pricing", "wait", {})
            assert held.wait(30)
            answers = [{"decision": own["id"], "observation": "yes"} for own in (first, second)]
            given = {"ask": {}, "tell": {"answers": answers}}
            futures = [engine.submit("pricing", verb, own) for verb, own in given.items()]
            damaged = engine.submit("pricing", "ask", {"key": "first"})
        finally:
            going.set()
            del VERBS["wait"]  # type: ignore[attr-defined]
        assert waits.result(30) == {}
        assert futures[0].result(30)["decisions"][0]["number"] == 2
        told = futures[1].result(30)["answers"]
        assert [own["result"] for own in told] == ["refused", "told"]
        with pytest.raises(Problem, match="event 1 is damaged") as found:
            damaged.result(30)
        assert found.value.status == 503
        assert engine.ready


def test_a_watcher_reads_what_others_have_stored(crashable: postgres.Cluster) -> None:
    address = crashable.new("watched")
    with serving(address, key="new") as one, serving(address) as two:
        watcher = Watcher(two, often=0.05)
        idle = two.hosted("pricing")
        until(lambda: watching(idle) is not None)
        for own in do(one, "ask", count=2)["decisions"]:
            do(one, "tell", decision=own["id"], observation="yes")
        two.tick()
        until(lambda: getattr(watching(idle), "seq", 0) == 4)
        watcher.close()


def test_a_request_may_compute_for_long(
    crashable: postgres.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, reset = crashable.new("long"), changing.reset

    def long(draft: Any, given: Any, actor: str) -> dict[str, Any]:
        time.sleep(1.5)
        return reset(draft, {"reason": "it is"}, actor)

    monkeypatch.setitem(VERBS, "void", long)
    mark = "&" if "?" in address else "?"
    limited = f"{address}{mark}options=-c%20idle_in_transaction_session_timeout%3D1s"
    with serving(limited, key="new") as engine:
        assert do(engine, "void")["version"] == 1


def test_an_edit_by_another_process_is_noticed(crashable: postgres.Cluster) -> None:
    address = crashable.new("edited")
    with serving(address, key="new") as one, serving(address) as two:
        for own in do(one, "ask", count=2)["decisions"]:
            do(one, "tell", decision=own["id"], observation="yes")
        before = one.hosted("pricing").version
        game = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4]}}
        do(two, "edit", game=game, reason="another price")
        assert two.hosted("pricing").version == before  # by chance
        one.tick()
        until(lambda: one.studies["pricing"].game.k == 4)
