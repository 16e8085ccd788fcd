"""Threads share a learner: no answer is lost, no id is given out twice, and others may watch."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.model.any_game import Context

THREADS, PAIRS = 8, 60


@pytest.fixture(autouse=True)
def _impatient() -> Iterator[None]:
    """Let threads interrupt each other as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("policy", ["ids", "cbp", "randcbp"])
def test_no_answer_is_lost_and_no_id_given_out_twice(policy: str, tmp_path: Path) -> None:
    learner, together, done = pm.Learner("dynamic_pricing", policy, seed=1), Barrier(10), Event()

    def work(number: int) -> list[Any]:
        together.wait()
        names = []
        for t in range(PAIRS):
            decision = learner.ask()
            learner.tell(decision if t % 2 else decision.id, "yes" if t % 3 else symbol(decision))
            names.append(decision.id)
            if t % 10 == 0:
                learner.tell_past(["$2", "$1"], ["no", "yes"])
        return names

    def symbol(decision: pm.Decision) -> Any:
        return learner.game.signal(decision.action, 0)

    def watch(number: int) -> list[Any]:
        together.wait()
        while not done.is_set():
            assert learner.status().round <= learner.round
            seen = learner.history
            ids = [row["id"] for row in seen if row["id"] is not None]  # the others are logged data
            assert len(set(ids)) == len(ids)
            path = tmp_path / f"{number}.json"
            learner.save(path)
            for own in (pm.Learner.load(path), pickle.loads(pickle.dumps(learner))):
                told = sum(event["kind"] != "ask" for event in own.events)
                assert own.round == own.status().round == told + 1
        return []

    with ThreadPoolExecutor(THREADS + 2) as pool:
        watching = [pool.submit(watch, n) for n in range(2)]
        working = [pool.submit(work, n) for n in range(THREADS)]
        names = [name for own in working for name in own.result()]
        done.set()
        for own in watching:
            own.result()
    asked, past = THREADS * PAIRS, THREADS * 2 * (PAIRS // 10)
    assert len(set(names)) == asked == len(learner.history) - past
    assert learner.round == learner.status().round == asked + past + 1
    assert not learner._session.open
    again = pm.Learner.replay(learner.game, policy, 1, learner.events)
    assert again.ask().distribution.tolist() == learner.ask().distribution.tolist()


def test_a_learner_is_copied_while_contexts_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = pm.Learner("survey")
    learner.ask(context=0)

    def added(own: Context, memo: Any) -> Context:
        """Another thread asks in a context that was not there yet."""
        learner.ask(context=1)
        return own

    monkeypatch.setattr(Context, "__deepcopy__", added, raising=False)
    twin = deepcopy(learner)
    assert twin.ask(context=1).context == learner.ask(context=1).context
