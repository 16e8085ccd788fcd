"""Requests of many callers: order, repeats, conflicts, and commits that fail."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.session import snapshot
from partial_monitoring.service.engine.engine import Engine
from tests.service.engines import asked, do, refused, running, seen, told


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with running(tmp_path) as own:
        yield own


def test_decisions_are_those_of_a_learner(engine: Engine) -> None:
    learner = pm.Learner("dynamic_pricing", seed=3)
    for number in range(30):
        mine, own = learner.ask(), asked(engine)
        assert (mine.label, mine.probability, mine.round) == (
            own["label"],
            own["probability"],
            own["round"],
        )
        shown = "yes" if number % 3 else seen(own)
        learner.tell(mine, shown)
        assert told(engine, own["id"], shown) == "told"
    hosted = engine.hosted("pricing")
    assert hosted.version == 60
    assert str(hosted.status()) == str(learner.status())
    mine, own = (snapshot(x._spec, x._session) for x in (learner, hosted))
    for name in ("state", "counts", "asked", "told"):
        assert mine[name] == own[name]


def test_a_key_decides_once(engine: Engine) -> None:
    first = asked(engine, key="customer-17")
    again = asked(engine, key="customer-17")
    assert again == first | {"repeated": True}
    assert engine.hosted("pricing").version == 1
    several = do(engine, "ask", key="many", count=5)["decisions"]
    repeated = do(engine, "ask", key="many", count=5)["decisions"]
    assert [own["id"] for own in several] == [own["id"] for own in repeated]
    assert all(own["repeated"] for own in repeated)


def test_an_answer_counts_once(engine: Engine) -> None:
    own = asked(engine)
    assert told(engine, own["id"], "yes") == "told"
    assert told(engine, own["id"], "yes") == "duplicate"
    assert refused(engine, "tell", decision=own["id"], observation="no").status == 409
    assert refused(engine, "tell", decision="abc-1", observation="no").status == 404
    other = asked(engine)
    assert refused(engine, "tell", decision=other["id"], observation="maybe").status == 422
    assert told(engine, other["id"], None) == "closed"
    assert told(engine, other["id"], None) == "duplicate"
    assert refused(engine, "tell", decision=other["id"], observation="yes").status == 409
    assert engine.hosted("pricing").version == 4


def test_threads_get_decisions_of_their_own(engine: Engine) -> None:
    def play(number: int) -> list[str]:
        found = []
        for _ in range(20):
            own = asked(engine)
            assert told(engine, own["id"], "yes" if number % 2 else seen(own)) == "told"
            found.append(own["id"])
        return found

    with ThreadPoolExecutor(8) as pool:
        names = [name for own in pool.map(play, range(8)) for name in own]
    assert len(set(names)) == 160
    hosted = engine.hosted("pricing")
    again = pm.Learner.replay("dynamic_pricing", None, 3, hosted.events, check=True)
    assert again.round == hosted.round == 161
