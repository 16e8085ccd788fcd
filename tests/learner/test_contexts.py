"""A live learner in contexts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.environment import Environment

SURVEY = pm.games.survey(3, answer_rate=0.4)
PRICING = pm.games.segment_pricing()
THETA = {"survey": np.array([0.2, 0.5, 0.8]), "pricing": np.array([0.2, 0.5, 0.3])}
POLICIES = [pm.IDS(), pm.ContextualIDS(), pm.ContextualIDS(chances="estimated")]


def told(game: pm.Game, action: int, shown: Any) -> Any:
    if isinstance(game, pm.FiniteGame):
        return game.symbols[action][int(shown[: len(game.symbols[action])].argmax())]
    return shown[: game.row_count(action)].tolist()


@pytest.mark.parametrize("policy", POLICIES, ids=["conditional", "contextual", "estimated"])
@pytest.mark.parametrize("name", ["survey", "pricing"])
def test_a_learner_does_what_the_simulation_does(policy: Any, name: str, tmp_path: Path) -> None:
    """Also when it is saved and loaded on the way, with a decision still open."""
    game = {"survey": SURVEY, "pricing": PRICING}[name]
    theta = THETA[name]
    result = pm.simulate(
        game, {"it": policy}, theta, horizon=40, seeds=[7], checkpoints=range(1, 41)
    )
    world = Environment(game, theta[None], np.array([7]))
    learner = pm.Learner(game, policy, seed=7)
    played = np.zeros(game.k, dtype=int)
    for t in range(40):
        z = int(world.context(t)[0])
        decision = learner.ask(context=game.contexts[z] if t % 2 else z)
        own = game.at(z)
        assert own.actions[decision.action] == decision.label
        assert len(decision.distribution) == own.k
        assert decision.context == game.contexts[z]
        assert decision.label in decision.explain()
        outer = int(game.positions(z)[decision.action])
        played[outer] += 1
        np.testing.assert_array_equal(result.plays["it"][0, t], played)
        if t == 20:
            learner.save(tmp_path / "learner.json")
            learner = pm.Learner.load(tmp_path / "learner.json")
        shown = world.observe(np.array([outer]), t)[0]
        learner.tell(decision.id, told(own, decision.action, shown))
    assert learner.round == 41
    assert learner.history[3]["context"] in game.contexts


@pytest.mark.parametrize("chances", [None, "known", "estimated", "growing"])
def test_a_context_that_was_not_known_before(chances: str | None, tmp_path: Path) -> None:
    policy = pm.IDS() if chances is None else pm.ContextualIDS(chances=chances)
    features = [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    fresh = {"features": features, "observation_maps": [[row] for row in features]}
    as_game = pm.Game(
        features, [[row] for row in features], SURVEY.parameters, 0.5, noise="bernoulli"
    )
    learners = [pm.Learner(SURVEY, policy, seed=1) for _ in range(3)]
    for t in range(12):
        context: Any = "answers" if t % 3 else "new"
        decisions = []
        for learner, form in zip(learners, (fresh, as_game, fresh), strict=True):
            decisions.append(learner.ask(context=form if context == "new" else context))
        assert len({decision.action for decision in decisions}) == 1
        if t == 6:
            learners[2].save(tmp_path / "learner.json")
            learners[2] = pm.Learner.load(tmp_path / "learner.json")
        for learner, decision in zip(learners, decisions, strict=True):
            learner.tell(decision.id, [float(t % 2)])
    estimates = [learner.ask(context="silent").estimate for learner in learners]
    np.testing.assert_array_equal(estimates[0], estimates[1])
    np.testing.assert_allclose(estimates[0], estimates[2], atol=1e-12)


def test_logged_data_with_contexts() -> None:
    one, two = pm.Learner(SURVEY, seed=1), pm.Learner(SURVEY, seed=1)
    for z, action, seen in (("answers", "product 2", 1.0), ("silent", "product 1", None)):
        decision = one.ask(context=z, available=[action])
        assert decision.label == action
        one.tell(decision, [] if seen is None else [seen])
    two.tell_past(["product 2", 1], [[1.0], None], ["answers", "silent"])
    np.testing.assert_allclose(one.ask(context=0).gaps, two.ask(context=0).gaps)


def test_the_status_of_a_context(tmp_path: Path) -> None:
    learner = pm.Learner(SURVEY)
    learner.tell_past(
        ["product 2"] * 300 + ["product 0"] * 300, [[1.0]] * 300 + [[0.0]] * 300, ["answers"] * 600
    )
    learner.save(tmp_path / "learner.json")
    loud = pm.Learner.load(tmp_path / "learner.json").status(context="answers")
    assert loud.explain() == learner.status(context="answers").explain()
    status = learner.status(context="silent")
    assert status.best == "product 2"
    assert "product 0" not in status.plausible


def test_a_decision_says_that_it_serves_other_contexts() -> None:
    game = pm.games.survey(products=2, answer_rate=0.5, voucher=True)
    for policy in (pm.ContextualIDS(), pm.IDS(sampling=pm.sampling.e2d(20.0))):
        decision = pm.Learner(game, policy).ask(context="answers")
        assert decision.label != "voucher"
        said = decision.explain()
        assert "it may lose more than 'voucher', but what it tells serves other contexts" in said
        assert "nothing to explore" not in said
    content = pm.Learner(game, pm.IDS()).ask(context="answers").explain()
    assert "nothing else can be better, so there is nothing to explore" in content


FRESH = {"features": [[1, 0, 0], [0, 1, 0]], "observation_maps": [[[1, 0, 0]], [[0, 1, 0]]]}


def test_the_status_of_an_unlisted_context_is_that_of_its_content(tmp_path: Path) -> None:
    """Told under one object, asked for under another: what does not fit the model is seen."""
    learner = pm.Learner(SURVEY)
    learner.tell_past([0] * 40, [[50.0]] * 40, [dict(FRESH) for _ in range(40)])
    learner.save(tmp_path / "learner.json")
    for own in (learner, pm.Learner.load(tmp_path / "learner.json")):
        assert any("scatter" in warning for warning in own.status(context=FRESH).warnings)
        assert not any("scatter" in warning for warning in own.status(context=0).warnings)


def test_history_and_decisions_are_plain_data(tmp_path: Path) -> None:
    learner = pm.Learner(SURVEY)
    first, second = learner.ask(context="answers"), learner.ask(context=FRESH)
    assert first.to_dict()["context"] == "answers"
    assert second.to_dict()["context"]["features"] == FRESH["features"]
    assert json.loads(json.dumps(learner.history)) == learner.history
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.history == learner.history
    again.tell(second, [1.0])
    assert again.history[1]["observation"] == [1.0]


def test_contexts_are_counted_when_they_are_told() -> None:
    learner = pm.Learner(SURVEY, pm.ContextualIDS(chances="growing"))
    asked = [learner.ask(context="silent") for _ in range(3)]
    assert learner._session.state.seen.tolist() == [[0, 0]]
    for decision in asked[:2]:
        learner.tell(decision, None)
    assert learner._session.state.seen.tolist() == [[0, 2]]


def test_policies_look_at_unlisted_contexts_before_they_play() -> None:
    bandit = pm.games.contextual_linear_bandit()
    silent = {"features": [[1, 0, 0], [0, 1, 0]], "observation_maps": [[], []]}
    for policy in (pm.LinUCB(), pm.LinTS()):
        learner = pm.Learner(bandit, policy)
        with pytest.raises(InvalidInput, match="plays bandits, whose actions show their own"):
            learner.ask(context=silent)
        assert learner.history == []
    duel = pm.games.contextual_dueling()
    plane = pm.Game(np.eye(2), np.eye(2)[:, None], duel.parameters)
    for other in (pm.Greedy(), pm.SquareCB(), pm.LinUCB(), pm.LinTS()):
        with pytest.raises(InvalidInput, match=r"cannot play duels.*use IDS or ContextualIDS"):
            pm.Learner(duel, other)
        with pytest.raises(InvalidInput, match=r"cannot play duels.*use DuelingIDS"):
            pm.Learner(duel.at(0), other)
        with pytest.raises(InvalidInput, match=r"cannot play duels.*use IDS or ContextualIDS"):
            pm.Learner(pm.ContextualGame([plane]), other).ask(context=duel.at(0))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda own: own.ask(), "context must be given, the game has contexts"),
        (lambda own: own.ask(context="loud"), "no context named 'loud'"),
        (lambda own: own.ask(context=5), "context"),
        (lambda own: own.ask(context=3.5), "context must be one of the game's, a Game, or a dict"),
        (lambda own: own.ask(context={"features": [[1, 0, 0]]}), "have the key 'observation_maps'"),
        (lambda own: own.ask(context={"feature": 1}), "no key of a context named 'feature'"),
        (
            lambda own: own.ask(context=pm.games.apple_tasting()),
            "context must be a game over the parameters of all contexts",
        ),
        (lambda own: own.ask(context=0, available=[]), "available must hold at least one action"),
        (lambda own: own.tell_past([0], [[1.0]]), "context must be given, the game has contexts"),
        (
            lambda own: own.tell_past([0], [[1.0]], [0, 1]),
            "contexts must hold one entry per action",
        ),
        (lambda own: own.status(), "context must be given, the game has contexts"),
    ],
)
def test_bad_use_changes_nothing(use: Any, message: str) -> None:
    learner = pm.Learner(SURVEY, seed=3)
    with pytest.raises(InvalidInput) as caught:
        use(learner)
    assert message in str(caught.value)
    assert learner.round == 1
    assert learner.history == []


def test_games_without_contexts_take_none() -> None:
    with pytest.raises(InvalidInput, match="context must be left out, the game has none; got 0"):
        pm.Learner(pm.games.apple_tasting()).ask(context=0)
