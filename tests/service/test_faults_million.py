"""A study of a million decisions: asked, started and shown as quickly as a small one."""

from __future__ import annotations

import gc
import os
import random
import signal
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pytest

from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.storage.opened import database_at
from tests.service import load
from tests.service.http_client import Client
from tests.service.processes import running

PRICES = {"named": "dynamic_pricing"}

PAGES = ("/", "/studies/many", "/studies/many/chart")

VIEWS = ("", "/status", "/estimate", "/trace", "/decisions?limit=100", "/alarms", "/regret")


def memory(process: int | str = "self") -> float:
    """Return how many megabytes a process holds."""
    gc.collect()
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def processor(process: int) -> float:
    """Return the seconds of a processor that a process has used, whoever else uses it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def grow(engine: Engine, name: str, decisions: int) -> None:
    """Ask and tell, a thousand at a time; the dearer, the fewer buy."""
    rng = random.Random(0)
    for _ in range(decisions // 1000):
        asked = engine.submit(name, "ask", {"count": 1000}).result(60)["decisions"]
        answers = [
            {
                "decision": own["id"],
                "observation": "yes" if rng.random() < 0.9 - 0.15 * own["action"] else "no",
            }
            for own in asked
        ]
        told = engine.submit(name, "tell", {"answers": answers}).result(60)["answers"]
        assert {own["result"] for own in told} == {"told"}


@pytest.mark.nightly
@pytest.mark.parametrize("decisions", [100_000, 1_000_000])
def test_a_study_of_many_decisions(decisions: int, tmp_path: Path) -> None:
    name = "partial_monitoring.service.watching.watcher"
    watcher = pytest.importorskip(name, exc_type=ImportError)
    address = f"sqlite:///{tmp_path}/shop.db"
    database = database_at(address)
    engine = Engine(database)
    beside = watcher.Watcher(engine)
    for name in ("few", "many"):
        engine.create({"name": name, "game": PRICES, "seed": 1})
        grow(engine, name, 1000)
    grow(engine, "many", decisions // 10 - 1000)
    before, begun, more = memory(), perf_counter(), decisions - decisions // 10
    grow(engine, "many", more)
    pace, held = more / (perf_counter() - begun), memory() - before
    beside.flush()
    beside.close()
    engine.close()
    database.close()
    said = [f"{decisions:,} decisions, built with {pace:,.0f} a second, {held:.0f} MB more"]
    begun = perf_counter()
    with running(tmp_path, "sqlite:///shop.db", "--rate", "100000") as own:
        own.wait_ready()
        start, taken_by = perf_counter() - begun, processor(own.own.pid)
        caller: Any = load.Caller([own.address], own.token)
        taken: dict[str, list[float]] = {"few": [], "many": []}
        for _ in range(600):
            for name, seconds in taken.items():
                begun = perf_counter()
                [asked] = caller.surely(f"/v1/studies/{name}/ask", {})[0]["decisions"]
                seconds.append(perf_counter() - begun)
                given = {"decision": asked["id"], "observation": "yes"}
                caller.surely(f"/v1/studies/{name}/tell", given)
        caller.close()
        few, many = (median(seconds[100:]) for seconds in taken.values())
        client, slowest = Client(own.address, own.token), ("", 0.0)
        cookie = {"Cookie": f"pm_token={own.token}"}
        paths = [*PAGES, *(f"/v1/studies/many{view}" for view in VIEWS)]
        for path in [*paths, *paths]:
            begun = perf_counter()
            reply = client("GET", path, headers=cookie, token="" if path in PAGES else None)
            assert reply.status == 200, (path, reply)
            slowest = max(slowest, (path, perf_counter() - begun), key=lambda found: found[1])
        served = memory(own.own.pid)
        own.own.send_signal(signal.SIGTERM)
        assert own.ended() == 0
    said += [f"start {start:.1f} s ({taken_by:.1f} s of a processor), server holds {served:.0f} MB"]
    said += [f"ask p50 {1e3 * few:.2f} ms at 1,000 and {1e3 * many:.2f} ms: {many / few:.2f}"]
    said += [f"slowest page {slowest[0]}: {slowest[1]:.2f} s"]
    print("; ".join(said))
    assert many <= 1.2 * few + 0.0002
    assert taken_by < 5.0
    assert slowest[1] < 1.0
    assert held < 50 * decisions / 1e6 + 20
