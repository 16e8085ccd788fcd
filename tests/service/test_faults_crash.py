"""Servers killed under load, and databases: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest
from click.testing import CliRunner

from partial_monitoring.cli import main
from partial_monitoring.storage.opened import database_at
from tests.service import crash, load
from tests.service.http_client import Client
from tests.service.load import verify
from tests.storage.cluster import Cluster


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_server_is_killed_under_load(times: int, farm: crash.Farm, tmp_path: Path) -> None:
    address, rng = f"sqlite:///{tmp_path}/shop.db", random.Random(times)
    own = farm.serving(tmp_path, address)
    own.start()
    own.ready()
    Client(own.address, own.token).create("pricing")
    with load.playing([own.address], own.token) as players:
        for _ in range(times):
            players.wait(rng.randrange(5, 150))
            sleep(rng.random() / 50)
            own.kill()
            own.start()
        players.wait(100)
    own.ready()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    assert "Traceback" not in own.printed
    verify(address, players)


def check_away(client: Client) -> None:
    """Without its database a server says so, shows what it knows, and is to be left alone."""
    reply = client("POST", "/v1/studies/pricing/ask", {"key": "away"})
    assert reply.status == 503
    assert int(reply.headers["retry-after"]) > 0
    ready = client("GET", "/health/ready")
    assert ready.status == 503
    assert client("GET", "/health/live").status == 200
    for path in ("", "/status", "/decisions", "/events"):
        assert client("GET", f"/v1/studies/pricing{path}").status in (200, 503), path
    assert b"\npm_ready 0\n" in client("GET", "/metrics").body
    for text in (reply.body, ready.body):
        assert b"PostgreSQL" in text  # whose database it is
        assert b"postgresql:" not in text  # and not where
        assert b"password" not in text


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.nightly)])
def test_a_database_dies_under_two_servers(
    times: int, farm: crash.Farm, crashable: Cluster, tmp_path: Path
) -> None:
    address, rng = crashable.new(f"faults{times}"), random.Random(times)
    servers = [farm.serving(tmp_path, address) for _ in range(2)]
    for own in servers:
        own.start()
        own.ready()
    token = servers[0].token
    Client(servers[0].address, token).create("pricing")
    with load.playing([own.address for own in servers], token) as players:
        for turn in range(times):
            players.wait(rng.randrange(20, 150))
            crashable.stop("immediate")
            try:
                if not turn:
                    check_away(Client(servers[0].address, token))
            finally:
                crashable.start()
            players.wait(20)
            own = servers[turn % 2]
            own.kill()  # its transaction, too
            own.start()
            own.ready()  # one that finds no database when it starts says so and ends
        players.wait(100)
    for own in servers:
        own.ready()
        own.signal(signal.SIGTERM)
        assert own.ended() == 0
    verify(address, players)


@pytest.mark.nightly
def test_many_clients_of_four_servers(farm: crash.Farm, crashable: Cluster, tmp_path: Path) -> None:
    """One sequence, whoever appends; one that was killed goes on from what others have stored."""
    address = crashable.new("four")
    servers = [farm.serving(tmp_path, address) for _ in range(4)]
    for own in servers:
        own.start()
        own.ready()
    token = servers[0].token
    Client(servers[0].address, token).create("pricing")
    with load.playing([own.address for own in servers], token, count=64) as players:
        for own in servers:
            players.wait(400)
            own.kill()
            own.start()
        players.wait(400)
    verify(address, players)


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.nightly)])
def test_a_server_is_killed_while_a_study_is_edited(
    times: int, farm: crash.Farm, tmp_path: Path
) -> None:
    """An edit happens once, however often it is sent; no decision is lost between two logs."""
    address, rng = f"sqlite:///{tmp_path}/shop.db", random.Random(times)
    own = farm.serving(tmp_path, address)
    own.start()
    own.ready()
    Client(own.address, own.token).create("pricing")
    caller = load.Caller([own.address], own.token)
    with load.playing([own.address], own.token, count=4) as players:
        for turn in range(times):
            players.wait(rng.randrange(20, 60))
            policy = ("random", "ids")[turn % 2]
            given = {"policy": policy, "reason": "a try", "key": f"edit/{turn}"}
            sending = Thread(target=caller.surely, args=("/v1/studies/pricing/edit", given))
            sending.start()
            sleep(rng.random() / 10)
            own.kill()
            own.start()
            sending.join()
        players.wait(40)
    caller.close()
    own.ready()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    database = database_at(address, writes=False)
    assert set(database.names()) == {"pricing", *(f"pricing~{n + 1}" for n in range(times))}
    logs: list[Any] = [list(database.study(name).after()) for name in database.names()]  # type: ignore[union-attr]
    keys = Counter(event["key"] for log in logs for event in log if "key" in event)
    assert max(keys.values()) == 1
    told = {event["decision"] for log in logs for event in log if event["kind"] == "tell"}
    for player in players.players:
        assert player.asked.keys() <= keys.keys()
        assert player.told.keys() <= told
    result = CliRunner().invoke(main, ["store", "check", address])
    assert result.exit_code == 0, result.output


def died_at(caller: load.Caller, ids: list[str]) -> int:
    """Ask until the server dies, and return the number of the request that was not answered."""
    for turn in range(5 * crash.SNAPSHOTS):
        try:
            status, found = caller.once("/v1/studies/pricing/ask", {"key": f"then/{turn}"})
        except (OSError, load.HTTPException):
            return turn
        assert status == 200
        ids.append(found["decisions"][0]["id"])
    pytest.fail("the server does not die")


@pytest.mark.parametrize("point", crash.POINTS)
def test_a_server_dies_at_a_point(point: str, farm: crash.Farm, tmp_path: Path) -> None:
    """Before a commit nothing is stored; after it, the same key finds what was decided."""
    address = f"sqlite:///{tmp_path}/shop.db"
    own = farm.serving(tmp_path, address)
    own.start()
    own.ready()
    client = Client(own.address, own.token)
    client.create("pricing")
    ids = [client.ask("pricing", key=f"before/{turn}")[0]["id"] for turn in range(3)]
    own.kill()
    own.start(die=point)
    own.ready()
    caller = load.Caller([own.address], own.token)
    turn = died_at(caller, ids)
    assert own.ended() == -signal.SIGKILL
    own.start()
    found, _ = caller.surely("/v1/studies/pricing/ask", {"key": f"then/{turn}"})
    own.ready()
    [decision] = found["decisions"]
    assert decision["number"] == len(ids)
    if point != "in a snapshot":
        assert turn == 0
        assert decision["repeated"] == (point == "after the commit")
    caller.close()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    study: Any = database_at(address, writes=False).study("pricing")
    asks = [event["decision"] for event in study.after() if event["kind"] == "ask"]
    assert asks == [*ids, decision["id"]]
    assert study.latest()["seq"] == len(asks)
    assert CliRunner().invoke(main, ["store", "check", address]).exit_code == 0
