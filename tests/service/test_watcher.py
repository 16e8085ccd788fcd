"""Alarms and points of charts: once each, few, beside those who ask, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from partial_monitoring.learner.alarms.watch import Watch
from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.study.watched import Watching, watching
from partial_monitoring.service.views.tracing import MOST_POINTS
from partial_monitoring.service.watching.charts import KEPT, Point, thinned
from partial_monitoring.service.watching.watcher import Watcher
from partial_monitoring.storage.opened import database_at

PRICES = {"named": "dynamic_pricing", "options": {"prices": [1, 2, 3, 4, 5]}}


class Service:
    """An engine with a watcher over a file, which can be started again."""

    def __init__(self, path: Path) -> None:
        self.address = f"sqlite:///{path}/shop.db"
        self.start()

    def start(self) -> None:
        self.database = database_at(self.address)
        self.engine = Engine(self.database)
        self.watcher = Watcher(self.engine, often=0.01)

    def stop(self) -> None:
        self.watcher.close()
        self.engine.close()
        self.database.close()

    def create(self, game: Any = PRICES, **more: Any) -> Any:
        given = {"name": "shop", "game": game, "policy": "ids", "seed": 1} | more
        return self.engine.create(given)

    @property
    def hosted(self) -> Any:
        return self.engine.hosted("shop")

    def do(self, verb: str, /, **arguments: Any) -> Any:
        return self.engine.submit("shop", verb, arguments).result(30)

    def play(self, rounds: int, chance: Any, seed: int = 0) -> None:
        """Ask in batches, so that there are few commits, and answer."""
        rng = np.random.default_rng(seed)
        for _ in range(rounds // 10):
            made = self.do("ask", count=10)["decisions"]
            answers = [
                {"decision": own["id"], "observation": "yes" if rng.random() < p else "no"}
                for own in made
                for p in [chance(own["action"])]
            ]
            self.do("tell", answers=answers)

    def alarms(self) -> list[str]:
        self.watcher.flush()
        self.do("settings")  # after what the watcher has handed in
        self.watcher.flush()
        return [own["kind"] for own in views.alarms(self.hosted)["alarms"]]

    def history(self, label: str, observation: str, count: int) -> None:
        self.do("history", rows=[{"action": label, "observation": observation, "count": count}])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    own = Service(tmp_path)
    yield own
    own.stop()


def stored(service: Service) -> list[Any]:
    return [own for own in service.hosted.study.of_kind("note") if own["what"] == "alarm"]


def break_model(service: Service) -> None:
    """Data that no demand explains: more people pay $3 than $2."""
    service.history("$2", "no", 300)
    service.history("$3", "yes", 300)


def test_an_alarm_is_stored_once_and_stays_after_a_restart(service: Service) -> None:
    service.create()
    service.play(50, lambda a: 0.5)
    assert service.alarms() == []
    break_model(service)
    assert service.alarms() == ["misfit"]
    service.play(50, lambda a: 0.5)
    assert service.alarms() == ["misfit"]
    [event] = stored(service)
    assert event["sentence"].startswith("what the actions show together does not fit the game")
    assert event["log_e"] > 6
    assert views.gauges(service.hosted)["alarms"] == {
        "misfit": True,
        "drift": False,
        "answers": False,
    }
    service.stop()
    service.start()
    assert service.alarms() == ["misfit"]
    assert len(stored(service)) == 1
    assert views.summary(service.hosted)["alarms"] == ["misfit"]


def test_two_processes_store_one_alarm(service: Service) -> None:
    service.create()
    other = Watcher(service.engine, often=0.01)
    break_model(service)
    for own in (service.watcher, other, service.watcher):
        own.flush()
    assert service.alarms() == ["misfit"]
    assert len(stored(service)) == 1
    other.close()


def test_a_cleared_alarm_comes_again_only_with_new_evidence(service: Service) -> None:
    service.create()
    service.history("$2", "no", 20)
    service.history("$3", "yes", 20)
    assert service.alarms() == ["misfit"]
    service.do("clear", alarm="misfit", reason="known")
    assert service.alarms() == ["misfit"]
    [alarm] = views.alarms(service.hosted)["alarms"]
    assert alarm["cleared"]
    assert alarm["reason"] == "known"
    assert views.alarms(service.hosted)["active"] == []
    break_model(service)
    assert service.alarms() == ["misfit", "misfit"]
    assert [own["kind"] for own in views.alarms(service.hosted)["active"]] == ["misfit"]
    service.do("reset", reason="a new shop")
    service.alarms()
    assert views.alarms(service.hosted)["active"] == []


def test_a_study_that_is_as_assumed_has_no_alarm(service: Service) -> None:
    service.create()
    service.play(300, lambda a: 0.9 - 0.15 * a)
    assert service.alarms() == []
    found = views.alarms(service.hosted)
    assert found["watched"]
    assert len(found["evidence"]) == 3
    assert "strongest evidence against it: e = " in found["sentence"]


def test_the_watch_is_that_of_the_log(service: Service) -> None:
    service.create(window={"rounds": 15, "unanswered": "no"})
    service.play(60, lambda a: 0.5)
    first = service.do("ask", count=3)["decisions"]
    service.do("cancel", decision=first[0]["id"])
    service.do("tell", decision=first[1]["id"], observation=None)
    check_watch(service)
    service.stop()
    service.start()
    service.play(40, lambda a: 0.3)
    check_watch(service)


def test_corrections_are_read_again(service: Service) -> None:
    service.create()
    made = service.do("ask", count=20)["decisions"]
    service.do("tell", answers=[{"decision": x["id"], "observation": "no"} for x in made])
    service.watcher.flush()
    service.do("amend", decision=made[0]["id"], observation="yes", reason="late sale")
    service.do("void", decisions=[made[1]["id"]], reason="a test")
    check_watch(service)
    shown = views.decision(service.hosted, made[0]["id"])
    assert (shown["observation"], shown["amended"], shown["reason"]) == ("yes", True, "late sale")
    rows = {row["id"]: row for row in views.decisions(service.hosted)["decisions"]}
    assert rows[made[0]["id"]]["observation"] == "yes"
    assert rows[made[1]["id"]]["state"] == "closed"
    assert rows[made[2]["id"]]["observation"] == "no"


def check_watch(service: Service) -> None:
    service.watcher.flush()
    own, hosted = watching(service.hosted), service.hosted
    assert own is not None
    assert own.seq == hosted.version
    expected = Watch.of(hosted._spec, hosted.events)
    assert own.watch.to_dict() == expected.to_dict()
    again = Watching.from_dict(hosted._spec, own.to_dict())
    assert again.watch.to_dict() == expected.to_dict()


def test_a_study_that_is_edited_goes_on(service: Service) -> None:
    service.create()
    made = service.do("ask", count=20)["decisions"]
    service.do("tell", answers=[{"decision": x["id"], "observation": "no"} for x in made[:10]])
    service.watcher.flush()
    service.do("edit", policy="randcbp", reason="faster")
    service.do("tell", answers=[{"decision": x["id"], "observation": "no"} for x in made[10:15]])
    later = service.do("ask")["decisions"][0]
    service.watcher.flush()
    hosted = service.hosted
    assert views.summary(hosted)["policy"]["policy"] == "randcbp"
    assert views.why(hosted, later["id"])["verified"]
    assert views.why(hosted, made[3]["id"])["verified"]  # from the log before
    assert views.decision(hosted, made[12]["id"])["state"] == "told"
    assert views.trace(hosted)["points"][-1]["seq"] == hosted.version
    service.stop()
    service.start()
    service.do("tell", answers=[{"decision": x["id"], "observation": "no"} for x in made[15:]])
    service.watcher.flush()
    own = watching(service.hosted)
    assert own is not None
    assert own.seq == service.hosted.version


def test_logged_data_cost_nothing_here(service: Service) -> None:
    service.create()
    service.play(50, lambda a: 0.9 - 0.2 * a)
    service.history("$4", "no", 1000)
    service.watcher.flush()
    found = views.regret(service.hosted)
    assert found["plays"] == 50
    assert found["estimate"] <= found["at_most"] <= 50 * 5


# -- charts -----------------------------------------------------------------------------------


def test_points_are_drawn_and_kept(service: Service) -> None:
    hosted = service.create()
    assert len(views.trace(hosted)["points"]) == 1
    for _ in range(5):
        service.play(20, lambda a: 0.5)
        service.watcher.flush()
    found = views.trace(hosted)
    assert found["actions"] == ["$1", "$2", "$3", "$4", "$5"]
    points = found["points"]
    assert 5 <= len(points) <= 20
    assert [own["seq"] for own in points] == sorted({own["seq"] for own in points})
    last = points[-1]
    assert last["decisions"] == last["told"] == sum(last["plays"]) == 100
    assert all(
        x <= y <= z for x, y, z in zip(last["low"], last["estimate"], last["high"], strict=True)
    )
    assert 0 <= last["regret"]["estimate"] <= last["regret"]["at_most"] <= last["regret"]["theory"]
    states = [own.seq for own in hosted.study.traces() if "state" in own.body]
    assert len(states) == 1
    service.stop()
    service.start()
    assert views.trace(service.hosted)["points"][-1]["plays"] == last["plays"]


def test_few_points_are_kept_whatever_the_size() -> None:
    points: list[Point] = []
    decisions, at = 1, 0.0
    for seq in range(20_000):
        decisions, at = decisions + 50, at + 60.0
        points.append(Point(seq, at, decisions))
        if len(points) > MOST_POINTS:
            points = thinned(points, KEPT)
    assert len(points) <= MOST_POINTS
    assert points[0].seq == 0
    assert points[-1].seq == 19_999
    gaps = np.diff([own.at for own in points])
    assert gaps.max() < 20_000 * 60 / 50


def test_a_start_reads_only_what_is_new(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create()
    service.play(200, lambda a: 0.5)
    service.stop()
    read: list[int] = []
    own = Watching._read

    def counted(self: Any, log: Any, event: Any) -> None:
        read.append(event["seq"])
        own(self, log, event)

    monkeypatch.setattr(Watching, "_read", counted)
    service.start()
    service.play(10, lambda a: 0.5)
    check_watch(service)
    assert len(read) <= 20


def test_what_was_read_of_a_long_log_is_stored(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create()
    service.play(100, lambda a: 0.5)
    service.stop()
    service.start()
    study = service.hosted.study
    service.watcher.flush()
    rows = [own.seq for own in study.traces()]
    service.watcher.close()
    study.forget_traces(rows)
    monkeypatch.setattr("partial_monitoring.service.watching.watcher.CHUNK", 50)
    known = list[int]()
    for _ in range(3):
        own = Watcher(service.engine, often=100.0)
        while not any(beside.begun for beside in list(own._own.values())):
            sleep(0.01)
        own.close()
        known.append(study.traces()[-1].body["state"]["seq"])
    assert known == sorted(known)
    assert known[-1] == service.hosted.version
    service.watcher = Watcher(service.engine, often=0.01)


def test_what_is_stored_of_charts_may_be_lost(service: Service) -> None:
    service.create()
    service.play(50, lambda a: 0.5)
    service.stop()
    service.start()
    study = service.hosted.study
    study.forget_traces([own.seq for own in study.traces()])
    service.stop()
    service.start()
    service.play(20, lambda a: 0.5)
    check_watch(service)
    assert views.trace(service.hosted)["points"][-1]["decisions"] == 70


def test_what_goes_wrong_is_logged_and_tried_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.create()
    monkeypatch.setattr("partial_monitoring.service.watching.watcher.REST", 0.0)

    def broken(*_: Any) -> None:
        raise RuntimeError("no ink")

    with monkeypatch.context() as patch:
        patch.setattr("partial_monitoring.service.watching.charts.point", broken)
        service.play(20, lambda a: 0.5)
        service.watcher.flush()
    assert "cannot be watched" in caplog.text
    service.play(20, lambda a: 0.5)
    check_watch(service)
    assert views.trace(service.hosted)["points"][-1]["decisions"] == 40


def test_views_are_read_while_others_play(service: Service) -> None:
    hosted = service.create(probe=0.1)
    ended: list[bool] = []

    def read() -> int:
        count = 0
        while not ended:
            for name in ("summary", "status", "trace", "regret", "alarms", "gauges", "decisions"):
                getattr(views, name)(hosted)
            for name in ("last", "events", "estimate"):
                getattr(views, name)(hosted)
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            service.play(200, lambda a: 0.9 - 0.15 * a)
        finally:
            ended.append(True)
        assert all(own.result() > 0 for own in readers)
    check_watch(service)
    assert views.last(hosted)["decision"]["number"] == 199
    assert views.why(hosted, 199)["verified"]
