"""Requests that arrive together are run together, in the thread of the loop where that is quick."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import pytest

from partial_monitoring.service.engine import committer as committers
from partial_monitoring.service.engine.committer import Committer
from partial_monitoring.service.engine.engine import VERBS, Engine
from partial_monitoring.service.http.delivery import Delivery, result
from partial_monitoring.service.study import hosted as hosteds
from tests.service.engines import PRICING, do, running

TOGETHER = 8


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
            engine.hosted("pricing").note_cost(1.0, 1)
        if why == "disk":
            monkeypatch.setattr(committers, "SLOW_DISK", 0.0)
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


def test_a_committer_without_a_shared_commit_always_has_a_thread(tmp_path: Path) -> None:
    with running(tmp_path) as engine:
        settle(engine)
        hosted, heard = engine.hosted("pricing"), Heard(engine)
        own = Committer(engine, "alone", None)
        request = committers.Waiting(VERBS["ask"], False, {}, "", engine.new_future())
        hosted.waiting.append(request)
        own.run_here([hosted])
        assert request.future.result(20)["decisions"]
        assert heard.ran.wait(20)
        assert heard.here == [False]
        own.stop(10)
