"""Servers that are told to stop, studies that pause, and heavy studies beside light ones."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

from partial_monitoring.storage.opened import database_at
from tests.service import crash, load
from tests.service.http_client import Client
from tests.service.load import verify

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)

HEAVY = {"named": "dynamic_pricing", "options": {"prices": list(range(1, 51))}}
RELAXED = {"name": "ids", "gap": "relaxed"}


def test_a_stop_under_load_ends_in_order(farm: crash.Farm, tmp_path: Path) -> None:
    """Who asks is answered or told to come again; the next start has nothing to replay."""
    address = f"sqlite:///{tmp_path}/shop.db"
    own = farm.serving(tmp_path, address)
    own.start()
    own.ready()
    Client(own.address, own.token).create("pricing")
    with load.playing([own.address], own.token) as players:
        for _ in range(2):
            players.wait(100)
            begun = monotonic()
            own.signal(signal.SIGTERM)
            assert own.ended() == 0
            assert monotonic() - begun < 10
            assert not list(tmp_path.glob("*-wal"))
            assert snapshot_of(address) == version_of(address) > 0
            own.start()
        players.wait(50)
    assert set(players.statuses) <= {200, 503}
    own.ready()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    assert "Traceback" not in own.printed
    verify(address, players)


def study_of(address: str) -> Any:
    return database_at(address, writes=False).study("pricing")


def snapshot_of(address: str) -> int:
    return int((study_of(address).latest() or {"seq": 0})["seq"])


def version_of(address: str) -> int:
    return int(study_of(address).version)


def test_a_pause_during_asks(tmp_path: Path) -> None:
    """What was asked before is answered, what comes later is refused; answers are taken."""
    with server.started(f"sqlite:///{tmp_path}/shop.db") as own:
        client = Client(own.address, own.token)
        client.create("pricing")
        statuses: list[list[int]] = [[] for _ in range(4)]
        told: list[int] = []
        ending = Event()

        def play(found: list[int]) -> None:
            caller = load.Caller([own.address], own.token)
            while not ending.is_set():
                status, answer = caller.once("/v1/studies/pricing/ask", {})
                found.append(status)
                if status == 200:
                    given = {"decision": answer["decisions"][0]["id"], "observation": "yes"}
                    told.append(caller.once("/v1/studies/pricing/tell", given)[0])
            caller.close()

        threads = [Thread(target=play, args=(found,)) for found in statuses]
        for thread in threads:
            thread.start()
        while min(map(len, statuses)) < 5:
            pass
        assert client("PATCH", "/v1/studies/pricing", {"state": "paused"}).status == 200
        marks = [len(found) for found in statuses]
        while min(len(found) - mark for found, mark in zip(statuses, marks, strict=True)) < 5:
            pass
        ending.set()
        for thread in threads:
            thread.join()
        for found in statuses:
            first = found.index(409)
            assert set(found[:first]) == {200}
            assert set(found[first:]) == {409}
        assert set(told) == {200}
        assert len(told) == sum(found.count(200) for found in statuses)
        assert client("PATCH", "/v1/studies/pricing", {"state": "running"}).status == 200
        assert client.ask("pricing")


def ninety_ninth(seconds: list[float]) -> float:
    return seconds[int(0.99 * len(seconds))]


@pytest.mark.nightly
def test_a_heavy_study_does_not_hold_up_a_light_one(farm: crash.Farm, tmp_path: Path) -> None:
    """Asks of the light one take as long as if it were alone, up to a factor."""
    own = farm.serving(tmp_path, f"sqlite:///{tmp_path}/shop.db")
    own.start()
    own.ready()
    client = Client(own.address, own.token)
    client.create("pricing")
    client.create("heavy", HEAVY, policy=RELAXED)
    found: dict[str, list[float]] = {}

    def measured(name: str) -> None:
        with load.playing([own.address], own.token, count=2, first=100 * len(found)) as players:
            players.wait(1500)
        found[name] = players.seconds

    measured("warm")
    measured("alone")
    ending, heavy = Event(), list[float]()

    def play() -> None:
        caller: Any = load.Caller([own.address], own.token)
        while not ending.is_set():
            begun = monotonic()
            answer, _ = caller.surely("/v1/studies/heavy/ask", {})
            heavy.append(monotonic() - begun)
            given = {"decision": answer["decisions"][0]["id"], "observation": "yes"}
            caller.surely("/v1/studies/heavy/tell", given)
        caller.close()

    thread = Thread(target=play)
    thread.start()
    while len(heavy) < 15:  # by now it is known to be slow, and a process starts
        ending.wait(0.05)
    measured("meanwhile")
    ending.wait(10)
    measured("beside")
    ending.set()
    thread.join()
    children = Path(f"/proc/{own.pid}/task").glob("*/children")
    processes = [int(word) for path in children for word in path.read_text().split()]
    own.kill()  # what decides for the heavy one does not outlive it
    end = monotonic() + 10
    while any(Path(f"/proc/{own}").exists() for own in processes) and monotonic() < end:
        ending.wait(0.05)
    assert [own for own in processes if Path(f"/proc/{own}").exists()] == []
    print(f"{len(processes)} processes beside the server")
    for name, seconds in (*found.items(), ("heavy", sorted(heavy))):
        middle, last = seconds[len(seconds) // 2], ninety_ninth(seconds)
        print(f"{name}: {len(seconds)} asks, p50 {1e3 * middle:.1f} ms, p99 {1e3 * last:.1f} ms")
    assert ninety_ninth(found["beside"]) <= 2 * ninety_ninth(found["alone"]) + 0.005
