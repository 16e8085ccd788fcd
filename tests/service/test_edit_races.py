"""Two processes that share a database and edit the same study at the same moment."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.opening import spec_of
from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.views.taken import close_reader
from partial_monitoring.storage.opened import database_at
from tests.service.engines import PRICING, asked, do, seen, told
from tests.storage import cluster as postgres

POLICIES = ("random", "ids")


@pytest.fixture
def engines(crashable: postgres.Cluster) -> Iterator[list[Engine]]:
    address = crashable.new("edits")
    found = [Engine(database_at(address)) for _ in range(2)]
    found[0].create({"name": "pricing", "game": PRICING, "seed": 3})
    yield found
    for own in found:
        own.close()
        close_reader(own.database)
        own.database.close()


def together(engines: list[Engine], do_one: Any) -> list[Any]:
    """Do the same with all engines at the same moment."""
    barrier = Barrier(len(engines))

    def one(number: int) -> Any:
        barrier.wait()
        try:
            return do_one(number, engines[number])
        except Problem as problem:
            return problem

    with ThreadPoolExecutor(len(engines)) as pool:
        return list(pool.map(one, range(len(engines))))


def edit(number: int, engine: Engine) -> Any:
    return do(engine, "edit", policy=POLICIES[number], reason=f"process {number}")


def play(number: int, engine: Engine) -> list[Any]:
    made = []
    for _ in range(3):
        own = asked(engine)
        made.append(own["id"])
        told(engine, own["id"], seen(own))
    return made


@pytest.mark.parametrize("run", range(2))
def test_edits_at_the_same_moment_follow_each_other(engines: list[Engine], run: int) -> None:
    one, two = engines
    before = [asked(one) for _ in range(4)]
    told(two, before[0]["id"], seen(before[0]))
    ids = [own["id"] for own in before]
    for turn in range(4):
        found = together(engines, edit)
        assert not any(isinstance(own, Problem) for own in found), found
        names = sorted(own["archived"] for own in found)
        assert names == [f"pricing~{2 * turn + 1}", f"pricing~{2 * turn + 2}"]
        ids += [name for made in together(engines, play) for name in made]
    for own in before[1:]:
        assert told(engines[run % 2], own["id"], seen(own)) == "told"
        assert told(engines[1 - run % 2], own["id"], seen(own)) == "duplicate"
    assert len(set(ids)) == len(ids) == 28
    asked(one), asked(two)
    hosted = [own.hosted("pricing") for own in engines]
    versions = {own.study._number for own in hosted}
    assert len(versions) == 1
    for engine in engines:
        asked(engine)
        own = engine.hosted("pricing")
        assert [x.name for x in own.before] == [f"pricing~{n}" for n in range(8, 0, -1)]
        numbers = [row["number"] for row in views.decisions(own, limit=100)["decisions"]]
        assert numbers == sorted(set(numbers))
    database = one.database
    for name in database.names():
        study, spec = database.study(name), spec_of(database, name)
        assert study is not None
        events = list(study.after())
        assert [own["seq"] for own in events] == list(range(1, len(events) + 1))
        pm.Learner.replay(spec.game, spec.policy, spec.seed, events, check=True)


def test_who_plays_does_not_notice_edits(engines: list[Engine]) -> None:
    doubled = [*engines, *engines]

    def one(number: int, engine: Engine) -> list[Any]:
        if number < len(engines):
            return [edit((number + turn) % 2, engine)["archived"] for turn in range(5)]
        return [name for _ in range(5) for name in play(number, engine)]

    found = together(doubled, one)
    assert not any(isinstance(own, Problem) for own in found), found
    archived = [name for own in found[:2] for name in own]
    assert sorted(archived) == sorted(f"pricing~{n}" for n in range(1, 11))
    ids = [name for own in found[2:] for name in own]
    assert len(set(ids)) == len(ids) == 30
    last = asked(engines[0])
    assert last["number"] == 30
    assert told(engines[1], last["id"], seen(last)) == "told"


def test_the_same_edit_happens_once(engines: list[Engine]) -> None:
    asked(engines[0])
    given = {"policy": "random", "reason": "a test", "key": "once"}
    for _ in range(3):
        found = together(engines, lambda number, engine: do(engine, "edit", **given))
        assert not any(isinstance(own, Problem) for own in found), found
    assert engines[0].names().count("pricing~1") == 1
    assert "pricing~2" not in engines[0].names()


def test_the_same_study_is_created_once(engines: list[Engine]) -> None:
    given = {"game": PRICING, "seed": 4, "key": "once"}
    for number in range(5):
        own = given | {"name": f"study-{number}"}
        found = together(engines, lambda _, engine, own=own: engine.create(own).version)
        assert found == [0, 0]
