"""Probes of a learner: said, logged, replayed and reloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


def played(probe: float = 0.5, rounds: int = 40) -> tuple[pm.Learner, list[Any]]:
    learner = pm.Learner("dynamic_pricing", pm.IDS(), seed=4, probe=probe)
    decisions = []
    for _ in range(rounds):
        decision = learner.ask()
        learner.tell(decision, learner.game.signal(decision.action, 1))  # type: ignore[attr-defined]
        decisions.append(decision)
    return learner, decisions


def test_decisions_events_and_history_say_which_ones_are_probes() -> None:
    learner, decisions = played()
    probed = [decision.probed for decision in decisions]
    assert 10 < sum(probed) < 30
    assert [event["probed"] for event in learner.events if event["kind"] == "ask"] == probed
    assert [row["probed"] for row in learner.history] == probed
    assert [decision.to_dict()["probed"] for decision in decisions] == probed
    probe = next(decision for decision in decisions if decision.probed)
    assert "it is a probe, drawn uniformly like 0.5 of the decisions" in probe.explain()
    other = next(decision for decision in decisions if not decision.probed)
    assert "it is a probe" not in other.explain()


def test_without_probes_nothing_is_said_of_them() -> None:
    learner, decisions = played(probe=0.0, rounds=2)
    assert not any("probed" in event for event in learner.events)
    assert "probed" not in decisions[0].to_dict()
    assert (decisions[0].probed, decisions[0].floor) == (False, 0.0)


def test_reasons_are_those_of_the_policy() -> None:
    """Actions that only probes play are not said to be tried because they tell more."""
    game = pm.games.apple_tasting()
    for probe in (0.0, 0.5):
        learner = pm.Learner(game, pm.IDS(), seed=1, probe=probe)
        learner.tell_past(["taste"] * 400, ["good"] * 390 + ["rotten"] * 10)
        decision = learner.ask()
        while decision.probed:
            decision = learner.ask()
        assert "nothing else can be better" in decision.explain()


def test_replayed_and_reloaded_learners_are_the_same(tmp_path: Path) -> None:
    learner, _ = played()
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    again = pm.Learner.replay(
        learner.game, pm.IDS(), learner.seed, learner.events, probe=0.5, check=True
    )
    for _ in range(10):
        one, two, three = learner.ask(), loaded.ask(), again.ask()
        for other in (two, three):
            assert (one.action, one.probability, one.probed) == (
                other.action,
                other.probability,
                other.probed,
            )
    assert loaded.policy == learner.policy == pm.Probing(pm.IDS(), 0.5)
    with pytest.raises(InvalidInput, match="events must be what this learner decides"):
        pm.Learner.replay(learner.game, pm.IDS(), 4, learner.events, probe=0.4, check=True)


def test_only_available_actions_are_probed_also_in_contexts() -> None:
    learner = pm.Learner("segment_pricing", seed=0, probe=1.0)
    game: Any = learner.game
    for context in range(len(game.contexts)):
        labels = game.at(context).actions
        decision = learner.ask(context=context)
        assert decision.floor == pytest.approx(1 / len(labels))
        for _ in range(5):
            decision = learner.ask(context=context, available=labels[:2])
            assert decision.label in labels[:2]
            assert decision.distribution.tolist() == [0.5, 0.5] + [0.0] * (len(labels) - 2)


def test_the_status_names_the_probes() -> None:
    learner, _ = played(0.25, 3)
    assert "Practical: no bound is proven; 25 % of the actions are uniform probes." in str(
        learner.status()
    )
    assert learner.regularization == 1.0


def test_an_event_must_say_yes_or_no() -> None:
    learner, _ = played(rounds=1)
    events = learner.events
    events[0]["probed"] = "yes"
    with pytest.raises(InvalidInput, match="event must be a probe or not; got 'yes'"):
        pm.Learner.replay(learner.game, pm.IDS(), 4, events, probe=0.5)
