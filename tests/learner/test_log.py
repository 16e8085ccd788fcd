"""A learner that threads share, its storage, its files, and decisions that say little."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.session import snapshot
from partial_monitoring.storage.base import Storage
from partial_monitoring.storage.memory import Memory
from tests.oracles.learners import without_id

THREADS, PAIRS = 8, 300


def test_threads_share_a_learner() -> None:
    """No decision is given twice, nothing is lost, and the log makes the same learner again."""
    learner, together = pm.Learner(pm.games.dynamic_pricing(), seed=1), Barrier(THREADS)

    def work(_: int) -> list[str]:
        together.wait()
        names = []
        for _ in range(PAIRS):
            decision = learner.ask()
            learner.tell(decision, learner.game.signal(decision.action, 1))
            names.append(decision.id)
        return names

    with ThreadPoolExecutor(THREADS) as pool:
        each = list(pool.map(work, range(THREADS)))
    numbers = [int(name.rpartition("-")[2]) for own in each for name in own]
    assert sorted(numbers) == list(range(THREADS * PAIRS))
    assert learner.round == THREADS * PAIRS + 1
    events, history = learner.events, learner.history
    assert [event["seq"] for event in events] == list(range(1, 2 * THREADS * PAIRS + 1))
    assert all(row["observation"] is not None for row in history)
    again = pm.Learner.replay(learner.game, None, 1, events)
    assert again.ask().gaps.tolist() == learner.ask().gaps.tolist()


# -- storage ---------------------------------------------------------------------------------


class Stubborn(Memory):
    """A storage that cannot store."""

    def append(self, events: Any) -> None:
        raise OSError("no space left on device")


class Interrupted(Memory):
    """A storage in which an interruption from the keyboard comes after the events are stored."""

    interrupted = False

    def append(self, events: Any) -> None:
        super().append(events)
        if self.interrupted:
            raise KeyboardInterrupt


def test_an_interruption_leaves_learner_and_log_together(tmp_path: Path) -> None:
    storage = Interrupted()
    learner = pm.Learner("apple_tasting", seed=1, storage=storage)
    storage.interrupted = True
    for act in (learner.ask, lambda: learner.tell_past(["taste"], ["good"])):
        with pytest.raises(KeyboardInterrupt):
            act()
    storage.interrupted = False
    learner.tell_past(["taste"], ["good"])
    assert [event["seq"] for event in learner.events] == [1, 2, 3]
    learner.save(tmp_path / "saved.json")
    assert pm.Learner.load(tmp_path / "saved.json").round == learner.round == 3


def test_what_cannot_be_stored_has_not_happened() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), storage=Stubborn())
    for call in (learner.ask, lambda: learner.tell_past(["$1"], ["yes"])):
        with pytest.raises(OSError, match="no space left"):
            call()
    assert learner.round == 1
    assert learner.events == []


def test_a_learner_goes_on_from_its_storage() -> None:
    storage = Memory()
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=4, storage=storage)
    for _ in range(5):
        learner.tell(learner.ask(), "yes")
    waiting = learner.ask()
    again = pm.Learner(pm.games.dynamic_pricing(), seed=4, storage=storage)
    assert again.round == 6
    again.tell(waiting, "yes")
    assert len(list(storage.after())) == 12


def test_memory_is_a_storage() -> None:
    storage: Storage = Memory([{"seq": 1, "kind": "x", "observation": [1.0]}])
    storage.append([{"seq": 2, "kind": "y"}])
    assert [event["seq"] for event in storage.after()] == [1, 2]
    assert [event["seq"] for event in storage.after(1)] == [2]
    next(storage.after())["observation"].append(2.0)
    assert next(storage.after())["observation"] == [1.0]
    assert storage.latest() is None
    storage.keep({"seq": 2})
    assert storage.latest() == {"seq": 2}


def test_a_session_never_changes() -> None:
    """Events that follow leave what was known before them as it was."""
    learner, steps = pm.Learner(pm.games.dynamic_pricing(), seed=2), []
    for number in range(200):
        asked = learner.ask()
        learner.tell(asked.id, "yes") if number % 3 else learner.tell_past(["$2"], ["no"])
        steps.append((learner._session, snapshot(learner._spec, learner._session)))
    assert len(steps[-1][0].open) == 67
    for session, before in steps:
        assert snapshot(learner._spec, session) == before


# -- files -----------------------------------------------------------------------------------


def test_a_learner_that_cannot_be_saved_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "learner.json"
    pm.Learner(pm.games.dynamic_pricing()).save(path)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="gap"):
        pm.Learner(
            pm.games.dynamic_pricing(), pm.IDS(gap=lambda game, e: pm.gaps.mean(game, e))
        ).save(path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["learner.json"]


def test_a_file_holds_the_log_and_a_snapshot(tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=2)
    learner.tell_past(["$2"] * 70, ["yes"] * 70)
    learner.tell(learner.ask(), "yes")
    waiting = learner.ask()
    learner.save(tmp_path / "learner.json")
    data = json.loads((tmp_path / "learner.json").read_text())
    assert data["events"] == learner.events
    assert data["snapshot"]["seq"] == 73
    assert [ask["decision"] for ask in data["snapshot"]["open"]] == [waiting.id]
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.events == learner.events
    assert again.status().explain() == learner.status().explain()


def test_a_learner_can_be_copied() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=2)
    learner.tell(learner.ask(), "yes")
    twin = copy.deepcopy(learner)
    here, there = learner.ask(), twin.ask()
    assert without_id(here.to_dict()) == without_id(there.to_dict())
    twin.tell(there.id, "yes")
    assert (twin.round, learner.round) == (3, 2)


# -- decisions that say little ---------------------------------------------------------------


def decision(**known: Any) -> pm.Decision:
    fields: dict[str, Any] = {
        "gaps": None,
        "information": None,
        "ratio": np.nan,
        "beta": np.nan,
        "estimate": None,
    } | known
    return pm.Decision(
        0, 1, 1, "b", np.array([0.25, 0.75]), 0.75, labels=("a", "b"), place=1, **fields
    )


def test_a_decision_says_what_it_can() -> None:
    nothing = np.full(2, np.nan)
    bare = decision().explain()
    assert bare == decision(gaps=nothing, information=nothing).explain()
    assert "the policy chose it with probability 75% and does not say why" in bare
    assert "75.0%" in bare
    assert "may lose" not in bare
    assert "tells" not in bare
    assert "<table" in decision()._repr_html_()
    by_index = decision(index=np.array([1.0, 2.0])).explain()
    assert "it has the largest index" in by_index
    out = decision(index=np.array([-np.inf, 2.0])).explain()
    assert "every other action is ruled out" in out
    told = decision(gaps=np.array([0.0, 1.0]), information=np.array([0.0, 2.0])).explain()
    assert "it may lose more than 'a', but what it tells is worth that price" in told
    assert decision().to_dict() == decision(gaps=nothing).to_dict()
