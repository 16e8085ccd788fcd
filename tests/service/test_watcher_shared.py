"""Several processes that watch the same studies in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.postgres import Postgres
from tests.storage import cluster as postgres

GAME = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4, 5]}}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield str(found.new("watched"))


class Process:
    """An engine with a watcher; threads of one process stand in for two."""

    def __init__(self, address: str) -> None:
        self.database = Postgres(address)
        self.engine = Engine(self.database)
        self.watcher = Watcher(self.engine, often=0.01)

    def do(self, verb: str, /, **arguments: Any) -> Any:
        return self.engine.submit("shop", verb, arguments).result(30)

    def close(self) -> None:
        self.watcher.close()
        self.engine.close()
        self.database.close()


def test_two_processes_store_one_alarm_and_see_the_same(address: str) -> None:
    one, two = Process(address), Process(address)
    one.engine.create({"name": "shop", "game": GAME, "policy": "ids", "seed": 1})
    for number in range(4):
        own = (one, two)[number % 2]
        made = own.do("ask", count=10)["decisions"]
        answers = [{"decision": row["id"], "observation": "no"} for row in made]
        (two, one)[number % 2].do("tell", answers=answers)
    rows = [{"action": "$3", "observation": "yes", "count": 500}]
    rows += [{"action": "$2", "observation": "no", "count": 500}]
    two.do("history", rows=rows)
    one.do("ask")  # folds what the other has stored
    for own in (one, two, one, two):
        own.watcher.flush()
        own.do("settings")
    one.do("ask")
    two.do("ask")
    for own in (one, two):
        own.watcher.flush()
        hosted = own.engine.hosted("shop")
        found = watching(hosted)
        assert found is not None
        assert found.watch.told == 1040
        assert [alarm["kind"] for alarm in views.alarms(hosted)["alarms"]] == ["misfit"]
    notes = one.engine.hosted("shop").study.of_kind("note")
    assert [event["what"] for event in notes] == ["alarm"]
    one.close()
    two.close()
