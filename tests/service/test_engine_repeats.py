"""Any order of requests with repeats is the run without them; one engine or several, one log."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.opened import database_at
from tests.service.engines import PRICING, seen
from tests.storage import cluster as postgres


@contextmanager
def serving(address: str, **more: Any) -> Iterator[Engine]:
    database = database_at(address)
    engine = Engine(database)
    try:
        if "pricing" not in engine.names():
            engine.create({"name": "pricing", "game": PRICING, "seed": 7, **more})
        yield engine
    finally:
        engine.close()
        database.close()


Steps = list[tuple[str, int, bool]]
"""What is done: a verb, the number of the request, and whether its answer is waited for."""


@settings(max_examples=20, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["ask", "tell", "no", "cancel"]), st.integers(0, 5), st.booleans()
        ),
        max_size=40,
    )
)
def test_repeats_change_nothing(steps: Steps) -> None:
    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/a.db") as engine:
        learner, made = pm.Learner("dynamic_pricing", seed=7), dict[int, Any]()
        names, closed, waiting = dict[int, str](), dict[int, str | None](), list[Any]()
        for verb, number, waits in steps:
            if verb == "ask":
                future = engine.submit("pricing", "ask", {"key": f"k{number}"})
                new = number not in made
                if new:
                    made[number] = learner.ask()
                if new or waits:
                    own = future.result(9)["decisions"][0]
                    assert (own["label"], own["repeated"]) == (made[number].label, not new)
                    assert names.setdefault(number, own["id"]) == own["id"]
                continue
            if number not in names:
                continue
            told = None if verb == "cancel" else _seen(made[number], verb)
            if verb == "cancel":
                future = engine.submit("pricing", "cancel", {"decision": names[number]})
            else:
                given = {"decision": names[number], "observation": told}
                future = engine.submit("pricing", "tell", given)
            waiting.append((future, number in closed and closed[number] != told))
            if number not in closed:
                closed[number] = told
                if verb == "cancel":
                    learner.cancel(made[number])
                else:
                    learner.tell(made[number], told)
        for future, refused in waiting:
            if refused:
                with pytest.raises(Problem) as found:
                    future.result(9)
                assert found.value.status == 409
            else:
                future.result(9)
        hosted = engine.hosted("pricing")
        assert str(hosted.status()) == str(learner.status())
        assert hosted.version == len(learner.events)
        for mine, own in zip(learner.history, hosted.history, strict=True):
            assert mine | {"id": 0} == own | {"id": 0}


def _seen(decision: Any, verb: str) -> str:
    return "yes" if verb == "tell" else seen({"label": decision.label})


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found


def _played(engine: Engine, number: int, count: int) -> list[str]:
    """Ask and tell, everything twice."""
    names = []
    for turn in range(count):
        given = {"key": f"{number}/{turn}"}
        own = engine.submit("pricing", "ask", given).result(20)["decisions"][0]
        again = engine.submit("pricing", "ask", given).result(20)["decisions"][0]
        assert again == own | {"repeated": True}
        told = {"decision": own["id"], "observation": "yes" if turn % 2 else seen(own)}
        results = [engine.submit("pricing", "tell", told).result(20) for _ in range(2)]
        assert [own["answers"][0]["result"] for own in results] == ["told", "duplicate"]
        names.append(own["id"])
    return names


def test_two_processes_write_one_sequence(cluster: postgres.Cluster) -> None:
    address = cluster.new("engines")
    with serving(address) as one, serving(address) as two, ThreadPoolExecutor(6) as pool:
        plays = [pool.submit(_played, (one, two)[n % 2], n, 15) for n in range(6)]
        names = [name for own in plays for name in own.result(60)]
        assert len(set(names)) == 90
        two.submit("pricing", "pause", {}).result(9)
        with pytest.raises(Problem, match="paused"):
            one.submit("pricing", "ask", {}).result(9)
        two.submit("pricing", "resume", {}).result(9)
        game = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4]}}
        still = one.submit("pricing", "ask", {"key": "open"}).result(9)["decisions"][0]
        before = one.hosted("pricing").events
        two.submit("pricing", "edit", {"game": game, "reason": "a price"}).result(9)
        told = {"decision": still["id"], "observation": "yes"}
        assert one.submit("pricing", "tell", told).result(9)["answers"][0]["result"] == "told"
        assert one.submit("pricing", "ask", {"key": "0/0"}).result(9)["decisions"][0]["repeated"]
        asked = one.submit("pricing", "ask", {}).result(9)["decisions"][0]
        assert asked["number"] == 91
        two.submit("pricing", "settle", {}).result(9)
        hosted = one.hosted("pricing")
        assert hosted.game.k == two.hosted("pricing").game.k == 4
        assert str(hosted.status()) == str(two.hosted("pricing").status())
    assert [event["seq"] for event in before] == list(range(1, len(before) + 1))
    again = pm.Learner.replay("dynamic_pricing", None, 7, before, check=True)
    assert again.round == 91


def test_a_database_that_was_away_is_used_again(cluster: postgres.Cluster) -> None:
    with serving(cluster.new("away")) as engine:
        names = _played(engine, 0, 3)
        cluster.stop()
        with pytest.raises(Problem) as found:
            engine.submit("pricing", "ask", {"key": "lost"}).result(30)
        assert found.value.status == 503
        assert not engine.ready
        assert engine.hosted("pricing").round == 4
        cluster.start()
        own = engine.submit("pricing", "ask", {"key": "lost"}).result(30)["decisions"][0]
        assert own["number"] == len(names)
        assert engine.ready


def test_a_study_is_created_once(tmp_path: Path) -> None:
    """Also by the same request after a restart, after an edit, or without a key."""
    address, base = f"sqlite:///{tmp_path}/shop.db", {"name": "pricing", "game": PRICING}
    with serving(address, key="first", settings={"max_open": 7}) as engine:
        engine.submit("pricing", "ask", {}).result(9)
    with serving(address) as engine:
        again = engine.create(base | {"seed": 7, "key": "first"}, "another")
        assert (again.version, again.settings["max_open"]) == (1, 7)
        assert again.settings["created_by"] == ""
        for same in ({"key": "second"}, {}):
            assert engine.create(base | {"seed": 7, **same}) is again
        for other, said in (
            ({"seed": 8}, "there is a study 'pricing' already"),
            ({"seed": 8, "key": "second"}, "there is a study 'pricing' already"),
            ({"seed": 8, "key": "first"}, "key 'first' was used to create another study"),
        ):
            with pytest.raises(Problem, match=said) as found:
                engine.create(base | other)
            assert found.value.status == 409
        engine.submit("pricing", "edit", {"policy": "random", "reason": "a test"}).result(9)
    with serving(address) as engine:
        edited = engine.create(base | {"seed": 7, "key": "first"})
        assert edited.study.spec["policy"] == {"policy": "random"}
        with pytest.raises(Problem, match="there is a study 'pricing' already"):
            engine.create(base | {"seed": 7})
