"""Points of charts while many decisions are made at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.opened import database_at

PRICES = {"named": "dynamic_pricing"}


def test_a_burst_leaves_its_points(tmp_path: Path) -> None:
    """Nobody looks while it lasts, and still the points are as they would have been."""
    database = database_at(f"sqlite:///{tmp_path}/burst.db")
    engine = Engine(database)
    watcher = Watcher(engine, often=600.0)
    hosted = engine.create({"name": "shop", "game": PRICES, "policy": "ids", "seed": 1})
    first: Any = engine.submit("shop", "ask", {}).result(9)["decisions"][0]
    watcher.flush()
    sessions = {}
    for _ in range(300):
        sessions[hosted.version] = hosted._session
        seen = {"decision": first["id"], "observation": "yes"}
        engine.submit("shop", "tell", seen).result(9)
        sessions[hosted.version] = hosted._session
        first = engine.submit("shop", "ask", {}).result(9)["decisions"][0]
    watcher.flush()
    points = views.trace(hosted)["points"]
    assert 25 <= len(points) <= 80
    grown = np.diff(np.log([max(own["decisions"], 1) for own in points]))
    assert grown[10:].max() < 0.25
    for own in points[2:-1]:
        session = sessions[own["seq"]]
        known = session.asked, session.told, len(session.open)
        assert (own["decisions"], own["told"], own["open"]) == known
        assert sum(own["plays"]) == session.told
        assert own["regret"]["estimate"] is not None
    times = [own["at"] for own in points]
    assert times == sorted(times)
    engine.close()
    watcher.close()
