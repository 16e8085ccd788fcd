"""Decisions compute their reasons when they are asked for, and what they say does not change."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner import deciding
from partial_monitoring.learner.decision import REASONS
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.storage.memory import Memory

POLICIES = {"default": pm.Calibrated, "ids": pm.IDS}


def bandit() -> pm.Game:
    phi = np.random.default_rng(3).standard_normal((6, 3))
    return pm.games.linear_bandit(phi / np.linalg.norm(phi, axis=1, keepdims=True))


def told(learner: pm.Learner, rounds: int) -> None:
    for t in range(rounds):
        learner.tell(learner.ask(), [0.1 * (t % 3)])


@pytest.mark.parametrize("name", POLICIES)
def test_nothing_is_computed_at_ask(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    own = deciding._reason

    def counted(context: Any, choice: Any, name: str) -> Any:
        asked.append(name)
        return own(context, choice, name)

    monkeypatch.setattr(deciding, "_reason", counted)
    learner = pm.Learner(bandit(), POLICIES[name]())
    decision = learner.ask()
    learner.tell(decision, [0.1])
    assert asked == []
    assert not set(REASONS) & set(vars(decision))
    assert decision.gaps is decision.gaps
    assert asked == ["gaps"]
    with pytest.raises(AttributeError, match="no attribute 'reasons'"):
        decision.reasons  # type: ignore[attr-defined]  # noqa: B018
    assert asked == ["gaps"]


@pytest.mark.parametrize("name", POLICIES)
def test_a_decision_says_what_was_true_when_it_was_made(name: str) -> None:
    early, late = (pm.Learner(bandit(), POLICIES[name](), seed=1) for _ in range(2))
    told(early, 5)
    told(late, 5)
    now, later = early.ask(), late.ask()
    shown = {field: getattr(now, field) for field in REASONS}
    text = now.explain()
    late.tell(later, [0.2])
    told(late, 20)
    for field, value in shown.items():
        np.testing.assert_array_equal(getattr(later, field), value, err_msg=field)
    assert later.explain() == text


def test_a_decision_stays_what_it_is() -> None:
    learner = pm.Learner(bandit(), seed=2)
    told(learner, 3)
    decision = learner.ask()
    with pytest.raises(FrozenInstanceError):
        decision.action = 1  # type: ignore[misc]
    copy = pickle.loads(pickle.dumps(decision))
    assert set(REASONS) <= set(vars(copy))
    for field in REASONS:
        np.testing.assert_array_equal(getattr(copy, field), getattr(decision, field))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: learner.ask().estimate, range(8)))
    assert all(np.array_equal(found[0], own) for own in found)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("kind", ["ball", "everywhere", "finite"])
def test_a_learner_plays_what_is_simulated(name: str, kind: str) -> None:
    """The same action in every round, with the same seed."""
    games: dict[str, Any] = {
        "ball": bandit,
        "everywhere": lambda: pm.games.linear_bandit(bandit().features, pm.AllParameters(3)),
        "finite": pm.games.apple_tasting,
    }
    game, rounds = games[kind](), 2000
    truth = np.array([0.3, 0.7]) if kind == "finite" else np.array([0.5, 0.3, -0.2])
    policy, every = POLICIES[name](), range(1, rounds + 1)
    result = pm.simulate(game, {"it": policy}, truth, horizon=rounds, seeds=[7], checkpoints=every)
    simulated = np.diff(result.plays["it"][0], axis=0, prepend=0).argmax(axis=1)
    learner, world = pm.Learner(game, policy, seed=7), Environment(game, truth[None], np.array([7]))
    for t in range(rounds):
        decision = learner.ask()
        assert decision.action == simulated[t], t
        shown = world.observe(np.array([decision.action]), t)[0]
        learner.tell(decision, game.feedback().decode(game, decision.action, shown))


def context(shift: float) -> pm.Game:
    features = bandit().features + shift
    return pm.Game(features, features[:, None, :], bandit().parameters)


class Plain(Memory):
    """A storage that is handed plain data only."""

    defers = False

    def append(self, events: Any) -> None:
        super().append(json.loads(json.dumps(events)))


def test_unlisted_contexts_are_written_when_they_are_read() -> None:
    game = pm.ContextualGame([bandit()])
    learners = [pm.Learner(game, storage=storage) for storage in ("memory", Plain())]
    for learner in learners:
        learner.tell(learner.ask(context=context(0.1), now=0), [0.2])
        learner.ask(context=context(0.2), now=0)
    one, two = ([event | {"decision": 0} for event in own.events] for own in learners)
    assert one == two == json.loads(json.dumps(one))
    assert [len(event["context"]["features"]) for event in one if event["kind"] == "ask"] == [6, 6]


def test_unlisted_contexts_are_counted_by_their_content(tmp_path: Path) -> None:
    """Whether they come as another game with the same content, or before and after a file."""
    learner = pm.Learner(pm.ContextualGame([bandit()]))
    for t in range(80):
        learner.tell(learner.ask(context=context(0.1 * (t % 2))), [0.2])
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    for t in range(80):
        for own in (learner, loaded):
            own.tell(own.ask(context=context(0.1 * (t % 2))), [0.2])
    counts = [own._session.counts.settled() for own in (learner, loaded)]
    assert [len(own.unlisted) for own in counts] == [2, 2]
    assert counts[0].to_dict() == counts[1].to_dict()
    assert {tallies.rounds for tallies in counts[0].contexts.values()} == {80}
