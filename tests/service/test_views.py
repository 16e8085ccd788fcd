"""What can be read of a study: over every kind of game, before and after its first decisions."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.views import elsewhere
from partial_monitoring.service.views.taken import close_reader
from partial_monitoring.storage.opened import database_at
from tests.service.studies import KINDS, learner_of, play

every_kind = pytest.mark.parametrize("kind", KINDS)

PLAIN = ("summary", "status", "estimate", "analysis", "advice", "regret", "gauges", "trace")
ROWS = ("events", "decisions", "alarms", "off_policy", "last")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shop.db'}"


def check_plain(value: Any) -> None:
    """Only what JSON has, with finite numbers."""
    match value:
        case dict():
            assert all(isinstance(key, str) for key in value)
            list(map(check_plain, value.values()))
        case list():
            list(map(check_plain, value))
        case _:
            assert value is None or type(value) in (str, bool, int, float), repr(value)
    json.dumps(value, allow_nan=False)


@every_kind
def test_all_views_of_all_kinds_of_game(kind: str, address: str) -> None:
    learner: Any = learner_of(kind, storage=address, name="study")
    for rounds in (0, 9):
        made = play(learner, kind, rounds)
        for name in (*PLAIN, *ROWS):
            check_plain(getattr(views, name)(learner))
        for own in made[:1] + made[-1:]:
            check_plain(views.decision(learner, own.id))
            found = views.why(learner, own.id)
            check_plain(found)
            assert found["verified"] is True, found
            assert found["label"] == own.label
            assert found["reason"] == own.sheets()[0].notes[0]


# -- rows of the log --------------------------------------------------------------------------


def pricing(address: str, rounds: int = 30, **options: Any) -> Any:
    learner = pm.Learner("dynamic_pricing", pm.IDS(), 1, storage=address, name="study", **options)
    play(learner, "finite", rounds)
    return learner


def test_pages_of_decisions_are_those_of_the_history(address: str) -> None:
    learner = pricing(address)
    rows, after = list[Any](), -1
    while after is not None:
        page = views.decisions(learner, after, 7)
        rows += page["decisions"]
        after = page["next"]
    history = learner.history
    assert [row["id"] for row in rows] == [row["id"] for row in history]
    assert [row["observation"] for row in rows] == [row["observation"] for row in history]
    assert [row["number"] for row in rows] == list(range(30))
    assert views.decisions(learner, limit=4)["decisions"] == rows[-4:]
    states = [row["state"] for row in rows]
    assert states[-2:] == ["open", "open"]
    assert (states.count("told"), states.count("closed")) == (23, 5)
    waiting = views.decisions(learner, open=True)["decisions"]
    assert [row["id"] for row in waiting] == [own.id for own in learner.open]


def test_pages_of_events_are_the_log(address: str) -> None:
    learner = pricing(address)
    first = views.events(learner, limit=20)
    rest = views.events(learner, first["next"], 1000)
    both = [*first["events"], *rest["events"]]
    assert [{k: x for k, x in row.items() if k != "at"} for row in both] == learner.events
    assert (rest["next"], rest["last"]) == (None, len(both))


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet"])
def test_an_export_has_all_rows(address: str, format: str) -> None:
    learner = pricing(address, 12)
    for what, rows in (("decisions", 12), ("events", len(learner.events))):
        content = b"".join(views.export(learner, what, format))
        if format == "parquet":
            assert pyarrow.parquet.read_table(BytesIO(content)).num_rows == rows
        else:
            assert content.count(b"\n") == rows + (format == "csv")
    with pytest.raises(InvalidInput, match="what must be one of"):
        views.export(learner, "secrets")


def test_a_decision_is_found_by_its_id_and_its_number(address: str) -> None:
    learner = pricing(address)
    row = learner.history[7]
    assert views.decision(learner, row["id"]) == views.decision(learner, "7")
    assert views.decision(learner, 7)["observation"] == row["observation"]
    for wrong in ("nothing", "30", 10**30, -1, None, [1], "x-7", "7" * 400):
        with pytest.raises(Problem) as found:
            views.decision(learner, wrong)
        assert found.value.status == 404


def test_a_decision_that_waits_to_be_due_shows_its_answer(address: str) -> None:
    window = pm.Window(days=1)
    learner: Any = pm.Learner("dynamic_pricing", storage=address, name="study", window=window)
    first, second = learner.ask(count=2, now=1000.0)
    learner.tell(first, "yes", now=2000.0)
    found = views.decision(learner, first.id)
    assert (found["state"], found["observation"], found["due_at"]) == ("waits", "yes", 87400.0)
    learner.settle(now=1e6)
    assert views.decision(learner, first.id)["state"] == "told"
    assert views.decision(learner, second.id)["state"] == "closed"


# -- why --------------------------------------------------------------------------------------


def test_reasons_come_from_the_nearest_snapshot(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partial_monitoring.learner.snapshots.EVERY", 40)
    learner = pricing(address, 70)
    assert learner._storage.nearest(100)["seq"] == 80
    for row in learner.history[::9]:
        assert views.why(learner, row["id"])["verified"] is True


def test_reasons_after_corrections_are_those_of_the_time(address: str) -> None:
    learner = pricing(address, 20)
    told = next(row for row in learner.history if row["observation"] == "no")
    learner.amend(told["id"], "yes")
    later = [learner.ask() for _ in range(3)]
    learner.amend(told["id"], None)
    for name in [row["id"] for row in learner.history[::4]] + [own.id for own in later]:
        assert views.why(learner, name)["verified"] is True


def test_a_log_that_was_changed_is_not_verified(address: str) -> None:
    learner = pricing(address, 12)
    handle, row = learner._storage._handle, learner.history[5]
    with handle.transaction():
        handle.run(
            "UPDATE pm_event SET body = replace(body, ?, '0.123') WHERE decision = ? AND slot = 0",
            (json.dumps(row["probability"]), row["id"]),
        )
    found = views.why(learner, row["id"])
    assert found["verified"] is False
    assert "Computed again, it is" in found["note"]


# -- knowledge --------------------------------------------------------------------------------


def test_regret_is_plays_times_gaps(address: str) -> None:
    learner: Any = pm.Learner("apple_tasting", pm.IDS(), storage=address, name="study")
    learner.tell_past(["taste", "sell"], ["good", "-"], counts=[90, 10])
    learner.tell_past(["taste"], ["rotten"], counts=[10])
    found, confidence = views.regret(learner), learner.confidence_set()
    means, most = confidence.means[0], confidence.exact_gaps()[0]
    plays = [learner.status().table[label].plays for label in learner.game.actions]
    assert found["plays"] == sum(plays) == 110
    assert found["estimate"] == pytest.approx(plays @ (means.max() - means))
    assert found["at_most"] == pytest.approx(plays @ most)
    assert found["theory"] == pytest.approx(pm.bounds(learner.game, 110).guaranteed[0], rel=0.02)


def test_a_summary_says_what_is_promised(address: str) -> None:
    learner = pricing(address)
    found = views.summary(learner)
    assert found["category"] == "hard"
    assert found["explanation"][0].startswith("Hard: ")
    assert found["promise"]["guaranteed"] is True
    other: Any = pm.Learner("dynamic_pricing", storage=address, name="other")
    assert views.summary(other)["promise"]["sentence"].startswith("Practical, no bound holds")


def test_the_status_of_a_context_is_that_of_the_learner(address: str) -> None:
    learner: Any = learner_of("finite contexts", storage=address, name="study")
    play(learner, "finite contexts", 12)
    for name in learner.game.contexts:
        found, own = views.status(learner, name), learner.status(context=name)
        assert found["best"] == own.best
        assert found["context"] == name
        assert [row["label"] for row in found["actions"]] == [row.label for row in own.table]
    assert views.status(learner)["context"] == learner.game.contexts[0]
    with pytest.raises(InvalidInput, match="context"):
        views.status(learner, "nowhere")


def test_off_policy_values_are_those_of_the_library(address: str) -> None:
    learner: Any = learner_of("finite, probes", storage=address, name="study")
    play(learner, "finite, probes", 60)
    found, own = views.off_policy(learner, action="sell"), pm.off_policy(learner, "sell")
    assert found["values"][0]["estimate"] == pytest.approx(own.estimate)
    assert found["values"][0]["high"] == pytest.approx(own.high)
    assert found["decisions"] == own.decisions
    assert views.off_policy(learner, policy="random")["values"][0]["possible"]
    with pytest.raises(InvalidInput, match="policy"):
        views.off_policy(learner, policy="nobody")
    with pytest.raises(InvalidInput, match="no action named 'eat'"):
        views.off_policy(learner, action="eat")


def test_a_long_log_is_evaluated_from_its_end(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partial_monitoring.service.views.evaluating.EVENTS", 60)
    learner: Any = learner_of("finite, probes", storage=address, name="study")
    play(learner, "finite, probes", 60)
    found = views.off_policy(learner, action="sell")
    assert 20 < found["decisions"] < 30
    assert found["notes"][0] == "Of the last 60 events of the log."
    assert (found["events"], found["events_in_log"]) == (60, learner._session.seq)
    every = views.off_policy(learner, action="sell", events=200)
    assert every["events"] == every["events_in_log"]
    assert every["decisions"] == pm.off_policy(learner, "sell").decisions
    for wrong in (0, 200_001, 1.5):
        with pytest.raises(InvalidInput, match=f"events must .*{wrong:,}".replace(",", ",?")):
            views.off_policy(learner, action="sell", events=wrong)  # type: ignore[arg-type]
    assert found["values"][0]["possible"]


def test_a_long_log_is_evaluated_in_a_process_of_its_own(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = database_at(address)
    engine = Engine(database)
    hosted = engine.create({"name": "x", "game": {"named": "apple_tasting"}, "probe": 0.3})
    for _ in range(10):
        for own in engine.submit("x", "ask", {"count": 5}).result(9)["decisions"]:
            seen = str(hosted.game.signal(own["action"], 0))
            told = {"decision": own["id"], "observation": seen}
            engine.submit("x", "tell", told).result(9)
    here = views.off_policy(hosted, action="sell", events=90)
    given = {"action": "sell", "policy": None, "events": 90}
    assert elsewhere.elsewhere(hosted, hosted.version, given) == here
    monkeypatch.setattr("partial_monitoring.service.views.evaluating.EVENTS", 50)
    there = views.off_policy(hosted, action="sell", events=91)
    assert there["events"] == 91
    assert there["values"][0]["possible"]
    monkeypatch.setattr(elsewhere, "PATIENCE", 0.01)
    with pytest.raises(InvalidInput, match="events must be fewer: 92 were not evaluated"):
        views.off_policy(hosted, action="sell", events=92)
    with elsewhere._busy, pytest.raises(Problem, match="another evaluation") as found:
        views.off_policy(hosted, action="sell", events=93)
    assert found.value.status == 503
    monkeypatch.undo()
    assert views.off_policy(hosted, action="sell", events=91) == there
    close_reader(database)
    engine.close()
    database.close()
