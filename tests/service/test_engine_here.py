"""Requests that arrive together are run together, in the thread of the loop where that is quick."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

import pytest

from partial_monitoring.errors import StorageError
from partial_monitoring.service.engine import committer as committers
from partial_monitoring.service.engine.committer import Committer
from partial_monitoring.service.engine.engine import VERBS, Engine
from partial_monitoring.service.http.delivery import Delivery, result
from partial_monitoring.service.study import hosted as hosteds
from tests.service.engines import PRICING, do, running

TOGETHER = 8


@pytest.fixture(autouse=True)
def _whatever_else_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine count as quick."""
    monkeypatch.setattr(hosteds, "QUICK", 1.0)
    monkeypatch.setattr(hosteds, "SLOW", 1.0)
    monkeypatch.setattr(committers, "SLOW_DISK", 100.0)


class Heard:
    """In which thread requests were run, and how many with each commit."""

    def __init__(self, engine: Engine) -> None:
        self.here: list[bool] = []
        self.sizes: list[int] = []
        self.ran = Event()
        engine.after_commit.append(self._note)

    def _note(self, hosted: Any, steps: Any) -> None:
        self.here.append(current_thread() is main_thread())
        self.sizes.append(len(steps))
        self.ran.set()


def settle(engine: Engine, study: str = "pricing") -> None:
    """Let a study be known to be quick, after a first decision."""
    own = do(engine, "ask", study)["decisions"][0]
    do(engine, "tell", study, decision=own["id"], observation="yes")
    with engine.committer(engine.hosted(study))._running:  # the thread has ended its work
        engine.hosted(study).note_cost(0.0, hosteds.SETTLED)


def in_loop(engine: Engine, made: Callable[[Delivery], Any]) -> Any:
    """Run what uses an engine from a loop, and let the engine be as it was."""

    async def main() -> Any:
        delivery = Delivery(10.0, 4)
        delivery.begin(engine)
        try:
            return await made(delivery)
        finally:
            delivery.close()

    before = engine.new_future, engine.deliver, engine.rouse
    try:
        return asyncio.run(main())
    finally:
        engine.new_future, engine.deliver, engine.rouse = before


async def ask_together(engine: Engine, study: str = "pricing") -> list[Any]:
    futures = [engine.submit(study, "ask", {}) for _ in range(TOGETHER)]
    return [result(own)["decisions"][0] for own in await asyncio.gather(*futures)]


def test_what_arrives_together_is_stored_with_one_commit_in_the_loop(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        heard = Heard(engine)
        asked = in_loop(engine, lambda _: ask_together(engine))
        assert (heard.here, heard.sizes) == ([True], [TOGETHER])
        stored = [event["decision"] for event in engine.hosted("pricing").study.after()]
        assert stored[-TOGETHER:] == [own["id"] for own in asked]


def test_a_loop_decides_what_a_thread_decides(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with running(tmp_path / "one") as one, running(tmp_path / "two") as two:
        settle(one)
        settle(two)
        heard = Heard(one)
        shown = [own["label"] for own in in_loop(one, lambda _: ask_together(one))]
        assert heard.here == [True]
        assert shown == [do(two, "ask")["decisions"][0]["label"] for _ in range(TOGETHER)]


@pytest.mark.parametrize("why", ["new", "slow", "disk"])
def test_what_may_take_long_is_run_by_another_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    with running(tmp_path) as engine:
        if why != "new":
            settle(engine)
        if why == "slow":
            engine.hosted("pricing").note_cost(2 * hosteds.QUICK, 1)
        if why == "disk":
            monkeypatch.setattr(committers, "SLOW_DISK", -1.0)
        heard = Heard(engine)
        in_loop(engine, lambda _: ask_together(engine))
        assert heard.ran.wait(20)
        assert not any(heard.here)


def test_a_study_is_quick_after_enough_requests(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        own = do(engine, "ask")["decisions"][0]
        assert not engine.hosted("pricing").is_quick
        for _ in range(10 * hosteds.SETTLED):
            do(engine, "cancel", decisions=[own["id"]])
            if engine.hosted("pricing").is_quick:
                return
        pytest.fail("a study must become quick")


def test_a_request_that_took_long_makes_a_study_not_quick(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        own = engine.hosted("pricing")
        own.note_cost(2 * hosteds.QUICK * TOGETHER, TOGETHER)
        assert not own.is_quick
        own.note_cost(hosteds.QUICK, hosteds.SETTLED - 1)
        assert not own.is_quick
        own.note_cost(hosteds.QUICK, 1)
        assert own.is_quick
        own.slow = True
        assert not own.is_quick


def test_nobody_in_the_loop_waits_for_a_thread_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free = Event(), Event()

    def wait(draft: Any, given: Any, actor: str) -> Any:
        begun.set()
        assert free.wait(20)
        return {}

    async def made(delivery: Delivery) -> list[Any]:
        held = engine.submit("new", "pause", {})
        while not begun.is_set():
            await asyncio.sleep(0.001)
        futures = [engine.submit("pricing", "ask", {}) for _ in range(TOGETHER)]
        for _ in range(20):  # turns of the loop go on
            await asyncio.sleep(0.001)
        assert not any(own.done() for own in futures)
        free.set()
        await held
        return list(await asyncio.gather(*futures))

    with running(tmp_path) as engine:
        settle(engine)
        engine.create({"name": "new", "game": PRICING})
        monkeypatch.setitem(VERBS, "pause", wait)
        assert len(in_loop(engine, made)) == TOGETHER


def test_what_was_gathered_is_answered_when_the_loop_ends(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)

        async def made(delivery: Delivery) -> None:
            engine.submit("pricing", "ask", {})

        before = engine.hosted("pricing").version
        in_loop(engine, made)
        engine.close()
        assert engine.hosted("pricing").version == before + 1


def test_a_refusal_in_the_loop_changes_nothing_for_others(tmp_path: Path) -> None:
    async def made(delivery: Delivery) -> list[Any]:
        given: list[dict[str, Any]] = [{}, {"count": 0}, {}]
        futures = [engine.submit("pricing", "ask", own) for own in given]
        return list(await asyncio.gather(*futures))

    with running(tmp_path) as engine:
        settle(engine)
        heard = Heard(engine)
        first, bad, last = in_loop(engine, made)
        assert bad.status == 422
        assert first["decisions"][0]["number"] + 1 == last["decisions"][0]["number"]
        assert (heard.here, heard.sizes) == ([True], [2])


@pytest.mark.parametrize("lock", ["file", "study", "connection", "group"])
def test_nobody_in_the_loop_waits_for_a_lock(tmp_path: Path, lock: str) -> None:
    """Another process writes to the file, or another thread of this one has a lock."""
    held, free = Event(), Event()

    def hold() -> None:
        study: Any = engine.hosted("pricing").study
        if lock == "file":
            with closing(connect(tmp_path / "shop.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                held.set()
                assert free.wait(20)
            return
        own = {"study": study, "connection": study._handle, "group": study._handle.group}[lock]
        with own._lock:
            held.set()
            assert free.wait(20)

    async def made(delivery: Delivery) -> list[Any]:
        futures = [engine.submit("pricing", "ask", {}) for _ in range(TOGETHER)]
        for _ in range(20):  # turns of the loop go on
            await asyncio.sleep(0.001)
        assert not any(own.done() for own in futures)
        free.set()
        return [result(own) for own in await asyncio.gather(*futures)]

    with running(tmp_path) as engine:
        settle(engine)
        before, thread = engine.hosted("pricing").version, Thread(target=hold)
        thread.start()
        assert held.wait(20)
        assert len(in_loop(engine, made)) == TOGETHER
        thread.join()
        assert engine.hosted("pricing").version == before + TOGETHER
        assert engine.ready
        with engine.committer(engine.hosted("pricing"))._running:  # the thread has ended its work
            heard = Heard(engine)
        in_loop(engine, lambda _: ask_together(engine))
        assert heard.here == [True]
        [(patience,)] = engine.database.handle.rows("PRAGMA busy_timeout")
        assert patience == 10_000


def test_what_cannot_be_stored_is_tried_by_the_thread_that_can_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        handle: Any = engine.database.handle
        append, tried = type(handle).append, list[bool]()

        def failing(self: Any, *given: Any, **more: Any) -> Any:
            tried.append(current_thread() is main_thread())
            if len(tried) < 3:
                raise StorageError("the disk is full.")
            return append(self, *given, **more)

        monkeypatch.setattr(type(handle), "append", failing)
        found = in_loop(engine, lambda _: asyncio.gather(engine.submit("pricing", "ask", {})))
        assert found[0].status == 503
        assert tried == [True, False]
        assert not engine.ready
        again = in_loop(engine, lambda _: asyncio.gather(engine.submit("pricing", "ask", {})))
        assert again[0]["decisions"]
        assert tried[2:] == [False]  # not in the loop before it is known to work again
        assert engine.ready


def test_what_is_about_many_decisions_is_not_run_in_the_loop(tmp_path: Path) -> None:
    async def made(delivery: Delivery) -> Any:
        given = {"count": committers.MOST_HERE + 1}
        return await asyncio.gather(*(engine.submit("pricing", "ask", given) for _ in range(3)))

    with running(tmp_path) as engine:
        settle(engine)
        heard = Heard(engine)
        assert [len(own["decisions"]) for own in in_loop(engine, made)] == [65, 65, 65]
        assert heard.ran.wait(20)
        assert not any(heard.here)


def test_no_more_is_run_in_the_loop_at_once_than_its_share(tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(3)]

    async def made(delivery: Delivery) -> Any:
        asks = [engine.submit(name, "ask", {"count": 40}) for name in names]
        return await asyncio.gather(*asks)

    with running(tmp_path) as engine:
        for name in names:
            engine.create({"name": name, "game": PRICING})
            settle(engine, name)
        heard = Heard(engine)
        assert [len(own["decisions"]) for own in in_loop(engine, made)] == [40, 40, 40]
        assert sum(heard.here) == 1


def test_a_slow_decision_among_quick_requests_is_noticed(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        own = engine.hosted("pricing")
        own.note_pace(2 * hosteds.SLOW)
        own.note_cost(0.0, 10 * hosteds.SETTLED)
        assert not own.is_quick


def test_what_stores_nothing_says_nothing_about_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as engine:
        do(engine, "ask", key="one")
        own = engine.committer(engine.hosted("pricing"))
        own._seconds = 1.0
        engine.failed(StorageError("the disk is full."))
        for _ in range(30):
            assert do(engine, "ask", key="one")["decisions"][0]["repeated"]
        assert own._seconds == 1.0
        assert not engine.ready
        do(engine, "ask")
        assert own._seconds < 1.0
        assert engine.ready


def test_one_snapshot_at_a_time_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, free, kept = Event(), Event(), list[str]()

    def keep(self: Any, *, anyway: bool = False) -> None:
        kept.append(self.name)
        begun.set()
        assert free.wait(20)

    with running(tmp_path) as engine:
        monkeypatch.setattr(hosteds.snapshots, "EVERY", 1)
        monkeypatch.setattr(hosteds.Hosted, "kept", keep)
        for _ in range(5):
            do(engine, "ask")
            assert begun.wait(20)
        assert kept == ["pricing"]
        free.set()


def test_what_is_submitted_after_the_loop_has_ended_is_run(tmp_path: Path) -> None:
    """An alarm that is raised when a service ends, for example."""
    with running(tmp_path) as engine:
        settle(engine)

        async def begin() -> Delivery:
            delivery = Delivery(10.0, 4)
            delivery.begin(engine)
            return delivery

        before, delivery = engine.hosted("pricing").version, asyncio.run(begin())
        delivery.close()
        engine.new_future = Future
        engine.submit("pricing", "ask", {})
        begun = monotonic()
        engine.close()
        assert monotonic() - begun < 5.0
        assert engine.hosted("pricing").version == before + 1


def test_a_committer_without_a_shared_commit_always_has_a_thread(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        hosted, heard = engine.hosted("pricing"), Heard(engine)
        own = Committer(engine, "alone", None)
        request = committers.Waiting(VERBS["ask"], False, 1, {}, "", engine.new_future())
        hosted.waiting.append(request)
        own.run_here([hosted])
        assert request.future.result(20)["decisions"]
        assert heard.ran.wait(20)
        assert heard.here == [False]
        own.stop(10)
