"""The live learner: ask, tell, save, load, refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.learners import GAMES, played, refused, without_id

# -- decisions -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_decision_says_what_and_why(name: str) -> None:
    learner = played(name, 5)
    game = learner.game
    decision = learner.ask()
    assert decision.id.endswith("-5")
    assert decision.round == learner.round == 6
    assert decision.label == game.actions[decision.action]
    assert decision.distribution.shape == decision.gaps.shape == (game.k,)
    assert decision.information.shape == (game.k,)
    assert decision.distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert decision.probability == decision.distribution[decision.action] > 0
    assert decision.estimate.shape == (game.d,)
    assert game.parameters.contains(decision.estimate)
    mu = pm.sampling.exact(decision.gaps, decision.information)
    assert decision.distribution == pytest.approx(mu, abs=1e-12)
    gap, gain = mu @ decision.gaps, mu @ decision.information
    assert decision.ratio == pytest.approx(gap**2 / gain if gap > 0 else 0.0, rel=1e-9)
    text = decision.explain()
    assert decision.label in text
    assert str(decision) == text
    assert "<table" in decision._repr_html_()


def test_the_same_seed_and_answers_give_the_same_decisions() -> None:
    one, two, other = (
        list(map(without_id, played("pricing", 30, seed).history)) for seed in (3, 3, 4)
    )
    assert one == two
    assert other != one


def test_actions_follow_their_distribution() -> None:
    """The state does not change without answers: 400 draws from one distribution."""
    learner = pm.Learner(pm.games.label_efficient(), pm.IDS(), seed=0, pending="ignored")
    learner.tell_past(["ask"] * 160, ["0"] * 96 + ["1"] * 64)
    first = learner.ask()
    share = first.distribution[first.distribution > 0]
    assert 0.05 < share.min() < 0.95
    actions = [learner.ask().action for _ in range(400)]
    found = np.bincount(actions, minlength=3) / 400
    # Four standard deviations: a false alarm has probability below 1e-3, and the seed is fixed.
    assert found == pytest.approx(first.distribution, abs=4 * np.sqrt(0.25 / 400))


def test_without_a_policy_it_is_the_default() -> None:
    assert pm.Learner(pm.games.dynamic_pricing()).policy == pm.Calibrated()
    assert pm.Learner("dynamic_pricing", pm.policies.DEFAULT).policy == pm.Calibrated()


# -- available -------------------------------------------------------------------------------


def test_only_available_actions_are_played() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    for _ in range(10):
        decision = learner.ask(available=["$1", 2])
        assert decision.action in (0, 2)
        assert decision.distribution[1] == 0.0
        learner.tell(decision, learner.game.signal(decision.action, 0))
    assert learner.ask(available=["$2"]).probability == 1.0
    assert learner.ask(available=range(3)).action in (0, 1, 2)


@pytest.mark.parametrize("available", [[], ["$9"], [3], [-1], [0.5], 5, "$1x", [None]])
def test_bad_available_is_refused(available: Any) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    refused(lambda: learner.ask(available=available), learner)


def test_available_all_is_the_same_as_none() -> None:
    one, two = (played("pricing", 10) for _ in range(2))
    offered = two.ask(available=["$1", "$2", "$3"])
    assert without_id(one.ask().to_dict()) == without_id(offered.to_dict())


@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
def test_what_is_not_available_is_not_a_competitor(gap: pm.gaps.GapEstimate) -> None:
    """With A(z) in place of A (section 6): nothing is lost against what cannot be played.

    Action 2 is far better but not available. Between the others action 0 is surely better, so
    there is nothing to explore: it is played with probability 1, as in the game without action 2.
    """
    features = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    game = pm.games.linear_bandit(features, pm.Box([0.0] * 3, [1.0] * 3), noise_std=0.1)
    learner = pm.Learner(game, pm.IDS(gap=gap), seed=0)
    learner.tell_past([0] * 300 + [1] * 30 + [2] * 300, [0.5] * 300 + [0.1] * 30 + [0.9] * 300)
    decision = learner.ask(available=[0, 1])
    assert decision.distribution.tolist() == [1.0, 0.0, 0.0]


# -- duels -----------------------------------------------------------------------------------


def test_duels_are_saved_and_go_on(tmp_path: Path) -> None:
    game = pm.games.dueling(items=["tea", "coffee", "milk"])
    learner = pm.Learner(game, pm.DuelingIDS(), seed=0)
    for y in (0.3, -0.1, 0.2):
        learner.tell(learner.ask(), [y])
    left = learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    for other in (learner, again):
        other.tell(left.id, 0.5)
    for _ in range(20):
        one, two = learner.ask(), again.ask()
        assert one.label == two.label
        assert np.array_equal(one.distribution, two.distribution)
        learner.tell(one, [0.1])
        again.tell(two, [0.1])


def test_duels_explain_themselves() -> None:
    learner = pm.Learner(pm.games.dueling(items=["tea", "coffee", "milk"]), pm.DuelingIDS(), seed=0)
    decision = learner.ask()
    assert decision.label in decision.explain()
    assert decision.probability == decision.distribution[decision.place]
