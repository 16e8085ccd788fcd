"""Studies that are slow to decide do so in a process of their own, and decide the same."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import StorageError
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.study import apart as aparts
from partial_monitoring.service.study import hosted as hosteds
from partial_monitoring.service.study.apart import Apart
from partial_monitoring.storage.opened import database_at
from partial_monitoring.storage.turns import Turns
from tests.service.engines import PRICING, asked, do, refused, seen, told


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(hosteds, "SLOW", 0.0)  # everything is
    database = database_at(f"sqlite:///{tmp_path}/shop.db")
    engine = Engine(database)
    yield engine
    engine.close()
    database.close()


def started(engine: Engine) -> Apart:
    for _ in range(3):
        told(engine, asked(engine)["id"], "yes")
    own = engine.hosted("pricing").process
    assert own is not None
    until = time.monotonic() + 60
    while not own.ready and time.monotonic() < until:
        time.sleep(0.02)
    assert own.ready
    return own


def replayed(engine: Engine, policy: Any) -> pm.Learner:
    events = engine.hosted("pricing").events
    return pm.Learner.replay("dynamic_pricing", policy, 5, events, check=True)


def test_a_process_decides_the_same(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.create({"name": "pricing", "game": PRICING, "seed": 5, "policy": "ids"})
    own = started(engine)
    several = do(engine, "ask", count=3)["decisions"]
    for number in range(10):
        decision = asked(engine, available=["$2", "$3"] if number % 3 else None)
        told(engine, decision["id"], "yes" if number % 2 else seen(decision))
    assert refused(engine, "ask", available=["$9"]).status == 422
    write = Turns._write

    def fail(self: Turns, **given: Any) -> None:
        with self._handle.transaction():
            write(self, grouped=True)
            raise StorageError("the disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(Turns, "_write", fail)
        assert refused(engine, "ask").status == 503
    told(engine, several[0]["id"], seen(several[0]))
    assert asked(engine)["number"] == 16
    do(engine, "amend", decision=several[0]["id"], observation="yes", reason="a typo")
    asked(engine)
    do(engine, "history", rows=[{"action": "$2", "observation": "yes", "count": 9}])
    asked(engine)
    assert own.ready
    assert own._seen == engine.hosted("pricing").version
    assert replayed(engine, pm.IDS()).round == engine.hosted("pricing").round
    assert own._process is not None
    own._process.kill()
    assert asked(engine)["number"] == 19
    assert not own.ready
    assert replayed(engine, pm.IDS()).round == engine.hosted("pricing").round


def test_a_process_ends_with_its_engine(engine: Engine) -> None:
    engine.create({"name": "pricing", "game": PRICING, "seed": 5})
    process = started(engine)._process
    assert process is not None
    engine.close()
    assert process.poll() is not None


@pytest.mark.parametrize("size", [1, 200_000])
def test_a_process_that_hangs_is_killed(
    engine: Engine, size: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it reads nothing, or does not answer: the study decides in a thread then."""
    engine.create({"name": "pricing", "game": PRICING, "seed": 5, "policy": "ids"})
    own = started(engine)
    assert own._process is not None
    monkeypatch.setattr(aparts, "LIMIT", 0.5)
    own._slowest = 0.0
    message = own._message

    def longer(*given: Any, **more: Any) -> Any:
        return message(*given, **more) | {"more than a pipe holds": "x" * size}

    monkeypatch.setattr(own, "_message", longer)
    own._process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    assert asked(engine)["number"] == 3
    assert time.monotonic() - begun < 10
    assert not own.ready
    assert own._process.poll() == -signal.SIGKILL
    assert "decides in a thread from now on" in caplog.text
    assert asked(engine)["number"] == 4
    assert replayed(engine, pm.IDS()).round == engine.hosted("pricing").round
