"""What the tests of the engine share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.opened import database_at

PRICING = {"named": "dynamic_pricing"}


@contextmanager
def running(folder: Path) -> Iterator[Engine]:
    """Serve a file with a study of prices."""
    database = database_at(f"sqlite:///{folder}/shop.db")
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING, "seed": 3})
    yield engine
    engine.close()
    database.close()


def do(engine: Engine, verb: str, study: str = "pricing", /, **arguments: Any) -> Any:
    return engine.submit(study, verb, arguments).result(20)


def asked(engine: Engine, **arguments: Any) -> Any:
    return do(engine, "ask", **arguments)["decisions"][0]


def told(engine: Engine, decision: Any, observation: Any, **more: Any) -> str:
    answers = do(engine, "tell", decision=decision, observation=observation, **more)["answers"]
    return str(answers[0]["result"])


def seen(decision: Any) -> str:
    """A customer who pays no more than $1."""
    return "yes" if decision["label"] == "$1" else "no"


def refused(engine: Engine, verb: str, **arguments: Any) -> Problem:
    with pytest.raises(Problem) as found:
        do(engine, verb, **arguments)
    return found.value
