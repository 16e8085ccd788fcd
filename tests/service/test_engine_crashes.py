"""A service killed under load, and its database: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from subprocess import PIPE, Popen
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from partial_monitoring.learner.checking import checked
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.storage.opened import database_at
from tests.service.crashing import CALLERS, played
from tests.service.engines import PRICING
from tests.storage import cluster as postgres

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def starter() -> Iterator[Popen[str]]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.service.crashing"]
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as found:
        yield found


@pytest.fixture(scope="module")
def cluster() -> Iterator[postgres.Cluster]:
    if postgres.MISSING is not None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as found:
        yield found


def _said(starter: Popen[str], order: Any) -> str:
    assert starter.stdin is not None
    assert starter.stdout is not None
    print(json.dumps(order), file=starter.stdin, flush=True)
    return starter.stdout.readline()


def _acknowledged(log: Path) -> list[list[Any]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in lines]


def _firsts(rows: list[list[Any]]) -> list[int]:
    """Where the callers begin: with what was acknowledged last, to hear the same once more."""
    last = dict.fromkeys(range(CALLERS), 0)
    for _, caller, number, *_ in rows:
        last[caller] = max(last[caller], number)
    return list(last.values())


def _check(address: str, rows: list[list[Any]]) -> None:
    """Whether all that was acknowledged is in the log, once."""
    database = database_at(address)
    try:
        result = checked(database, "pricing")
        assert result.problems == []
        assert database.handle.problems() == []
        study: Any = database.study("pricing")
        asks, tells = dict[str, Any](), dict[str, Any]()
        for event in study.after():
            if event["kind"] == "ask":
                asks[event["key"]] = event
            elif event["kind"] == "tell":
                tells[event["decision"]] = event["observation"]
        for kind, caller, number, name, what in rows:
            if kind == "ask":
                own = asks[f"{caller}/{number}"]
                assert (own["decision"], own["label"]) == (name, what)
            else:
                assert tells[name] == what
        assert len(asks) >= len({tuple(row[1:3]) for row in rows})
    finally:
        database.close()


@pytest.mark.parametrize("times", [2, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_service_survives_its_death(
    kind: str, times: int, starter: Popen[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address, log = f"sqlite:///{tmp_path}/shop.db", tmp_path / "log"
    if kind == "postgres":
        address = request.getfixturevalue("cluster").new("killed")
    database = database_at(address)
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING, "seed": 2, "policy": "ids"})
    engine.close()
    database.close()
    dice = random.Random(times)
    for _ in range(times):
        before = len(rows := _acknowledged(log))
        process = int(_said(starter, [address, str(log), _firsts(rows)]))
        until = monotonic() + 60
        while len(_acknowledged(log)) < before + CALLERS and monotonic() < until:
            sleep(0.01)
        sleep(dice.uniform(0.0, 0.2))
        os.kill(process, SIGKILL)
        _said(starter, process)
        assert len(_acknowledged(log)) > before
    _check(address, _acknowledged(log))


@pytest.mark.parametrize("times", [1, pytest.param(50, marks=pytest.mark.nightly)])
def test_a_service_survives_the_death_of_its_database(
    cluster: postgres.Cluster, times: int, tmp_path: Path
) -> None:
    address, path = cluster.new("crashed"), tmp_path / "log"
    database = database_at(address)
    engine = Engine(database)
    engine.create({"name": "pricing", "game": PRICING, "seed": 2, "policy": "ids"})
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    playing = Thread(target=played, args=(engine, 20 * times, log))
    playing.start()
    for number in range(times):
        until = monotonic() + 60
        while len(_acknowledged(path)) < CALLERS * 20 * number + 50 and monotonic() < until:
            sleep(0.01)
        cluster.stop()
        cluster.start()
    playing.join(100 + 20 * times)
    assert not playing.is_alive()
    engine.close()
    database.close()
    rows = _acknowledged(path)
    assert len(rows) == 2 * CALLERS * 20 * times
    _check(address, rows)
