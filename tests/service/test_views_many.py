"""Studies with many decisions: what can be read of them does not take longer."""

from __future__ import annotations

import random
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner.spec import Spec
from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.opened import database_at

READ = ("summary", "status", "trace", "regret", "alarms", "gauges", "decisions", "events", "last")

QUICK = 1.0
"""Seconds within which a page has what it shows."""

START = 5.0
"""Seconds within which a service starts again."""


def written(address: str, decisions: int) -> None:
    """Write a log of decisions that somebody else has made, and their answers."""
    settings = {"allow_hopeless": False, "pending": "expected"}
    spec = Spec(pm.games.dynamic_pricing([1, 2, 3, 4, 5]), pm.IDS(), 1, settings)
    database, rng = database_at(address), random.Random(0)
    study = database.study("shop", spec.to_dict())
    assert study is not None
    rows: list[dict[str, Any]] = []
    for number in range(decisions):
        action = rng.choice([1, 2, 2, 2, 2, 3, 4])
        name, bought = f"abcdefghjk-{number}", rng.random() < 0.9 - 0.15 * action
        asked = {"action": action, "label": f"${action + 1}", "probability": 0.2}
        ask = {"kind": "ask", "decision": name, "round": number + 1, "time": 1e9 + number}
        rows.append({"seq": 2 * number + 1} | ask | asked)
        told = {"kind": "tell", "decision": name, "observation": "yes" if bought else "no"}
        rows.append({"seq": 2 * number + 2} | told)
        if len(rows) == 20_000 or number == decisions - 1:
            study.append(rows)
            rows = []
    database.close()


def check(path: Path, decisions: int, slack: float = 1.0) -> None:
    address = f"sqlite:///{path}/shop.db"
    written(address, decisions)
    for again in (False, True):
        database, begun = database_at(address), monotonic()
        engine = Engine(database)
        watcher, hosted = Watcher(engine, often=0.05), engine.hosted("shop")
        while (own := watching(hosted)) is None or own.seq < hosted.version:
            assert monotonic() < begun + 600
            sleep(0.01)
        if again:
            assert monotonic() < begun + slack * START
            for name in READ:
                getattr(views, name)(hosted)  # compiled, read and analysed once
                begun = monotonic()
                getattr(views, name)(hosted)
                assert monotonic() < begun + slack * QUICK, name
            assert len(views.trace(hosted)["points"]) <= 500
        made = engine.submit("shop", "ask", {}).result(60)["decisions"][0]
        engine.submit("shop", "tell", {"decision": made["id"], "observation": "yes"}).result(60)
        begun = monotonic()
        assert views.why(hosted, made["id"])["verified"]
        assert monotonic() < begun + (slack * QUICK if again else 600)
        watcher.close()
        engine.close()
        database.close()


def test_three_thousand_decisions(tmp_path: Path) -> None:
    check(tmp_path, 3_000, slack=10.0)  # others may use the machine


@pytest.mark.nightly
def test_a_million_decisions(tmp_path: Path) -> None:
    check(tmp_path, 1_000_000)
