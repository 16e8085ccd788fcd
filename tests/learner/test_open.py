"""The life of a decision: open, answered, closed without an answer, or cancelled."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner.off_policy.logged import read_log
from partial_monitoring.learner.session import snapshot
from tests.oracles.learners import GAMES, fingerprint, refused


def pricing(**options: Any) -> pm.Learner:
    return pm.Learner(pm.games.dynamic_pricing(), pm.IDS(), seed=1, **options)


# -- what is open ----------------------------------------------------------------------------


def test_open_decisions_say_what_waits_and_since_when() -> None:
    learner, noon = pricing(), datetime(2026, 11, 16, 12, tzinfo=UTC)
    assert learner.open == []
    first = learner.ask(now=noon)
    learner.tell(learner.ask(now=noon), "yes")
    second = learner.ask(now=noon.timestamp() + 60)
    one, two = learner.open
    assert (one.id, one.action, one.label, one.round) == (
        first.id,
        first.action,
        first.label,
        first.round,
    )
    assert (two.id, two.round) == (second.id, 2)
    assert (one.since, two.since) == (noon, noon.replace(minute=1))
    assert repr(one) == (
        f"OpenDecision({first.id!r}, {first.label!r}, round=1, since=2026-11-16 12:00)"
    )
    learner.tell(one.id, "yes")
    assert [own.id for own in learner.open] == [second.id]


def test_open_decisions_have_their_contexts() -> None:
    learner = pm.Learner(pm.games.survey(), pm.ContextualIDS())
    decision = learner.ask(context=1)
    assert learner.open[0].context == decision.context
    assert repr(decision.context) in repr(learner.open[0])


def test_time_never_goes_back() -> None:
    learner = pricing()
    learner.ask(now=1000)
    learner.ask(now=10)
    assert [event["time"] for event in learner.events] == [1000, 1000]
    learner.ask()
    assert learner.events[-1]["time"] > 1.7e9


@pytest.mark.parametrize(
    "now", [-1, 1e18, np.nan, "noon", datetime(2026, 1, 1), [1], True, 10**400, b"1"], ids=repr
)
def test_a_bad_time_is_refused(now: Any) -> None:
    learner = pricing()
    refused(lambda: learner.ask(now=now), learner, "now")


def test_logs_of_earlier_versions_have_no_times() -> None:
    learner = pricing()
    learner.ask()
    events = [
        {key: value for key, value in event.items() if key != "time"} for event in learner.events
    ]
    copy = pm.Learner.replay(learner.game, learner.policy, 1, events, check=True)
    assert copy.open[0].since is None
    assert "since" not in repr(copy.open[0])
    copy.ask(now=5)
    assert copy.events[-1]["time"] == 5


def test_a_time_in_a_log_that_goes_back_is_refused() -> None:
    learner = pricing()
    learner.ask(now=5, count=2)
    for time in (4, "5", None, -1, True, float("nan")):
        events = [learner.events[0], learner.events[1] | {"time": time}]
        with pytest.raises(pm.errors.InvalidInput, match="earlier"):
            pm.Learner.replay(learner.game, learner.policy, 1, events)


# -- no answer will come ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["none", "cancel"])
def test_closing_leaves_what_was_learned(how: str) -> None:
    learner, other = pricing(), pricing()
    for own in (learner, other):
        own.tell(own.ask(), "yes")
    decision, waiting = learner.ask(), learner.ask()
    if how == "none":
        learner.tell(decision, None)
    else:
        learner.cancel(decision)
    learner.tell(waiting, "yes")
    other.ask()
    other.tell(other.ask(), "yes")
    assert learner.open == []
    assert learner.round == other.round == 3
    one, two = (snapshot(own._spec, own._session) for own in (learner, other))
    assert one["state"] == two["state"]
    assert one["counts"] == two["counts"]
    refused(lambda: learner.tell(decision, "yes"), learner, "already")
    refused(lambda: learner.cancel(decision), learner, "already")


def test_a_closed_decision_is_not_expected_any_more() -> None:
    learner = pm.Learner("dynamic_pricing", "randcbp", seed=0)
    twin = pm.Learner("dynamic_pricing", "randcbp", seed=0, pending="ignored")
    learner.cancel(learner.ask(count=20))
    twin.ask(count=20)
    assert learner.ask().action == twin.ask().action
    assert not learner._session.open.pending()[1:]


def test_history_keeps_what_lapsed_and_forgets_what_was_cancelled() -> None:
    learner = pricing()
    lapsed, cancelled, told = learner.ask(count=3)
    learner.tell([lapsed, told], [None, "yes"])
    learner.cancel([cancelled.id])
    assert [(row["id"], row["observation"]) for row in learner.history] == [
        (lapsed.id, None),
        (told.id, "yes"),
    ]
    assert [event["kind"] for event in learner.events] == ["ask"] * 3 + ["lapse", "tell", "cancel"]
    log = read_log(learner, None)
    assert (len(log), log.notes) == (1, ("1 decision without an answer is left out.",))


def test_of_an_action_that_shows_nothing_none_is_the_observation() -> None:
    learner = pm.Learner(GAMES["box"](), pm.IDS(), seed=1)
    learner.tell(learner.ask(available=["2"]), None)
    assert learner.round == 2
    learner.tell(learner.ask(available=["0"]), None)
    assert learner.round == 2
    assert [event["kind"] for event in learner.events] == ["ask", "tell", "ask", "lapse"]


def test_a_signal_called_none_is_an_observation() -> None:
    game = pm.FiniteGame([[0, 1], [1, 0]], [[None, "x"], ["-", "-"]])
    learner = pm.Learner(game, pm.IDS(), seed=1)
    learner.tell(learner.ask(available=[0]), None)
    learner.tell(learner.ask(available=[1]), None)
    assert learner.round == 2
    assert [event["kind"] for event in learner.events] == ["ask", "tell", "ask", "lapse"]


def test_several_are_closed_or_none() -> None:
    learner = pricing()
    one, two = learner.ask(count=2)
    refused(lambda: learner.cancel([one, two, "x-5"]), learner, "x-5")
    refused(lambda: learner.cancel([one, one]), learner, "twice")
    refused(lambda: learner.tell([one, two], [None, "maybe"]), learner, "maybe")
    learner.cancel([])
    learner.cancel([one, two.id])
    assert learner.open == learner.history == []


@pytest.mark.parametrize("decision", [None, "x", 0, 1.5, [None], {}, object()])
def test_what_is_no_open_decision_cannot_be_cancelled(decision: Any) -> None:
    learner = pricing()
    learner.ask()
    refused(lambda: learner.cancel(decision), learner, "decision")


# -- the action that is answered -------------------------------------------------------------


def test_a_tell_may_name_its_action() -> None:
    learner = pricing()
    decision = learner.ask(available=["$2"])
    refused(lambda: learner.tell(decision, "yes", action="$3"), learner, "action", "$2", "$3")
    refused(lambda: learner.tell(decision, None, action=0), learner, "action", "$2")
    refused(lambda: learner.tell(decision, "yes", action="$99"), learner, "$99")
    learner.tell(decision, "yes", action="$2")
    learner.tell(learner.ask(available=["$3"]), "no", action=2)
    assert learner.round == 3


def test_a_list_of_answers_may_name_its_actions() -> None:
    learner = pricing()
    pair = [learner.ask(available=["$2"]), learner.ask(available=["$3"])]
    refused(lambda: learner.tell(pair, ["yes"] * 2, action=["$3", "$2"]), learner, "$2")
    refused(lambda: learner.tell(pair, ["yes"] * 2, action=["$2"]), learner, "action", "2")
    refused(lambda: learner.tell(pair, ["yes"] * 2, action="$2"), learner, "action")
    learner.tell(pair, ["yes", "yes"], action=["$2", None])
    assert learner.round == 3


# -- files, logs, copies ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pricing", "bandit", "box"])
def test_closed_decisions_survive_files_and_replay(name: str, tmp_path: Path) -> None:
    learner = pm.Learner(GAMES[name](), pm.IDS(), seed=2)
    batch = learner.ask(count=5)
    shown = "yes" if name == "pricing" else [0.5] * learner.game.row_count(batch[0].action)
    learner.tell(batch[0], shown)
    learner.tell(batch[1], None)
    learner.cancel(batch[2])
    learner.ask()
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    copy = pm.Learner.replay(learner.game, learner.policy, 2, learner.events, check=True)
    assert fingerprint(loaded) == fingerprint(copy) == fingerprint(learner)
    assert loaded.open == copy.open == learner.open


@pytest.mark.parametrize("kind", ["lapse", "cancel"])
def test_a_logged_close_of_what_is_not_open_is_refused(kind: str) -> None:
    learner = pricing()
    learner.tell(learner.ask(), "yes")
    told = learner.events[0]["decision"]
    for decision in (told, "x", None, 7):
        event = {"seq": 3, "kind": kind, "decision": decision}
        with pytest.raises(pm.errors.InvalidInput):
            pm.Learner.replay(learner.game, learner.policy, 1, [*learner.events, event])
