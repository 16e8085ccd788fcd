"""Data that no learner can use: refused observations, damaged logs, logs of earlier releases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.storage.opened import database_at
from tests.service.http_client import Client
from tests.service.studies import KINDS, context_of, learner_of, seen
from tests.storage.schemas import first_version, logged

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)

DEEP: Any = 1.0
for _ in range(28):
    DEEP = [DEEP]

POISON: list[Any] = [
    *(1e308, -1e308, 10**400, -(10**20), 2**63, 0.1234567, True, {}, {"a": 1}),
    *("", " ", "NaN", "yes ", "naïve", "\u202eyes", "\x00", "\ud800", "x" * 10_000, "𝕏" * 300),
    *([], [[]], [None], ["yes"], [True], [1e308], [10**400], [1.0] * 7, [1.0] * 999),
    *([[1.0]], [[1.0, 2.0]], [{}], DEEP, {"signal": "yes"}, [["a"], [["b"]]]),
]

RAW = (
    b"NaN",
    b"[NaN]",
    b"Infinity",
    b"-Infinity",
    b"1e400",
    b"[1e999]",
    b"nul",
    b"'yes'",
    b'"\xff"',
)
"""What is no JSON, or has numbers that it cannot have."""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with server.started(f"sqlite:///{tmp_path_factory.mktemp('data')}/shop.db") as found:
        yield found


def is_possible(game: Any, action: int, given: Any) -> bool:
    """Whether an observation, strange as it may be, is one of a game of numbers."""
    numbers = given if isinstance(given, list) else [given]
    return (
        not game.traits.signals
        and len(numbers) == game.row_count(action)
        and all(type(x) in (int, float) and abs(x) <= 1e308 for x in numbers)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_impossible_observation_is_refused(serving: Any, kind: str) -> None:
    """In one sentence, with nothing stored; the true one is told afterwards."""
    name, rng = f"study{list(KINDS).index(kind)}", np.random.default_rng(0)
    learner = learner_of(kind, storage=serving.database.given, name=name)
    client, hosted = Client(serving.address, serving.token), serving.engine.hosted(name)
    game, path = learner.game, f"/v1/studies/{name}/tell"
    context = context_of(kind, game, rng)
    context = json.loads(json.dumps(context, default=np.ndarray.tolist))
    asked = client.ask(name, **({} if context is None else {"context": context}))[0]
    if "context" in asked:
        game = learner._spec.context(context).game
    before = list(hosted.study.after())
    bodies: list[Any] = [{"decision": asked["id"], "observation": own} for own in POISON]
    text = f'{{"decision": "{asked["id"]}", "observation": '.encode()
    raw = [text + own + b"}" for own in RAW]
    for given, body in zip([*POISON, *RAW], [*bodies, *raw], strict=True):
        if is_possible(game, asked["action"], given):
            continue
        reply = client("POST", path, body)
        assert reply.status in (400, 413, 422), (given, reply)
        detail = reply.json["detail"]
        assert detail.endswith(".")
        assert "\n" not in detail
        assert len(detail) < 500
        if not isinstance(body, bytes):
            reply = client("POST", path, {"answers": [body]})
            if reply.status == 200:  # what is no JSON is refused as a whole
                [found] = reply.json["answers"]
                assert (found["result"], found["status"]) == ("refused", 422)
    assert list(hosted.study.after()) == before
    told = {"decision": asked["id"], "observation": seen(game, asked["action"], rng)}
    [found] = client("POST", path, told).json["answers"]
    assert found["result"] in ("told", "waits"), found


@pytest.mark.parametrize("kind", ["linear", "kernel", "duels", "features when asked", "box"])
def test_numbers_at_the_edge_do_no_harm(serving: Any, kind: str) -> None:
    """They are refused, or the study goes on with finite numbers and is what its log makes."""
    name, rng = f"edge{list(KINDS).index(kind)}", np.random.default_rng(0)
    learner = learner_of(kind, storage=serving.database.given, name=name)
    client, path = Client(serving.address, serving.token), f"/v1/studies/{name}"
    for value in (1e308, -1e308, 1e154, 5e-324, -0.0, 1e16):
        context = json.loads(
            json.dumps(context_of(kind, learner.game, rng), default=np.ndarray.tolist)
        )
        asked = client.ask(name, **({} if context is None else {"context": context}))[0]
        game = learner.game if context is None else learner._spec.context(context).game
        told = {"decision": asked["id"], "observation": [value] * game.row_count(asked["action"])}
        reply = client("POST", f"{path}/tell", told)
        assert reply.status in (200, 422), reply
        for view in ("", "/status", "/estimate"):
            reply = client("GET", f"{path}{view}")
            assert reply.status == 200, (value, reply)
    hosted = serving.engine.hosted(name)
    again = pm.Learner(storage=serving.database.given, name=name)
    assert again._session.seq == hosted.version


def damage(address: str, sql: str, *values: Any) -> None:
    database = database_at(address)
    with database.handle.transaction():
        assert database.handle.run(sql, values) > 0
    database.close()


def played(client: Client, name: str, rounds: int) -> list[str]:
    labels = []
    for _ in range(rounds):
        [own] = client.ask(name)
        labels.append(own["label"])
        told = {"decision": own["id"], "observation": "yes" if own["action"] < 2 else "no"}
        assert client("POST", f"/v1/studies/{name}/tell", told).status == 200
    return labels


def test_a_damaged_event_stops_its_study_only(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/shop.db"
    with server.started(address) as own:
        client = Client(own.address, own.token)
        for name in ("good", "bad"):
            client.create(name, seed=1)
            labels = played(client, name, 20)
    damage(
        address,
        "UPDATE pm_event SET body = replace(body, 'observation', 'obs') WHERE seq = 8 "
        "AND study_id = (SELECT id FROM pm_study WHERE name = ?)",
        "bad",
    )
    damage(address, "DELETE FROM pm_snapshot")
    with server.started(address) as own:
        client = Client(own.address, own.token)
        assert client("GET", "/health/ready").status == 200
        for method, path, body in (
            ("POST", "/ask", {}),
            ("POST", "/tell", {"decision": "x-1", "observation": "yes"}),
            ("GET", "", None),
            ("GET", "/status", None),
        ):
            reply = client(method, f"/v1/studies/bad{path}", body)
            assert reply.status == 503
            assert "event 8 cannot be read" in reply.json["detail"]
        rows = {row["name"]: row for row in client("GET", "/v1/studies").json["studies"]}
        assert set(rows) == {"good", "bad"}
        assert client("GET", "/").status in (200, 303)
        more = played(client, "good", 20)
    expected = pm.Learner("dynamic_pricing", seed=1)
    for label in labels + more:
        decision = expected.ask()
        assert decision.label == label
        expected.tell(decision, "yes" if decision.action < 2 else "no")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE pm_snapshot SET body = substr(body, 1, 40)",
        "UPDATE pm_snapshot SET body = replace(body, '1', '2')",
        "UPDATE pm_snapshot SET sha256 = zeroblob(32)",
        "UPDATE pm_snapshot SET body = '', sha256 = ''",
    ],
)
def test_a_damaged_snapshot_is_not_used(tmp_path: Path, sql: str) -> None:
    address = f"sqlite:///{tmp_path}/shop.db"
    with server.started(address) as own:
        client = Client(own.address, own.token)
        client.create("pricing", seed=1)
        labels = played(client, "pricing", 12)
    damage(address, sql)
    with server.started(address) as own:
        labels += played(Client(own.address, own.token), "pricing", 12)
    expected = pm.Learner("dynamic_pricing", seed=1)
    for label in labels:
        decision = expected.ask()
        assert decision.label == label
        expected.tell(decision, "yes" if decision.action < 2 else "no")


def test_a_database_of_the_first_release_is_served(tmp_path: Path) -> None:
    """Its decisions stay as they were logged, and the next ones are those of its learner."""
    address = f"sqlite:///{tmp_path}/shop.db"
    first_version(address)
    expected = pm.Learner.replay("dynamic_pricing", None, 1, logged(1))
    waiting = [own.id for own in expected.open]
    with server.started(address) as own:
        client = Client(own.address, own.token)
        names = [row["name"] for row in client("GET", "/v1/studies").json["studies"]]
        assert names == ["pricing", "windowed"]
        for name in waiting:
            told = {"decision": name, "observation": "yes"}
            assert client("POST", "/v1/studies/pricing/tell", told).status == 200
            expected.tell(name, "yes")
        labels = played(client, "pricing", 20)
        assert client("POST", "/v1/studies/windowed/ask", {}).status == 200
        for name in names:
            for view in ("", "/status", "/decisions", "/events", "/trace", "/alarms"):
                assert client("GET", f"/v1/studies/{name}{view}").status == 200
        events = list(own.engine.hosted("pricing").study.after())
    assert events[: len(logged(1))] == logged(1)
    for label in labels:
        decision = expected.ask()
        assert decision.label == label
        expected.tell(decision, "yes" if decision.action < 2 else "no")
