"""Segments: what they are, what they share, and that nothing shared is as good as apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.files import game_from_dict, game_to_dict

SHOP = pm.games.dynamic_pricing()
WIDE = pm.games.dynamic_pricing([1, 2, 3, 5])
BANDIT = pm.Game(np.eye(2), np.eye(2)[:, None], pm.AllParameters(2), 0.5)
BALL = pm.Game(np.eye(2), np.eye(2)[:, None], pm.Ball([0, 0], 1.0), 0.5)
DUELS = pm.DuelingGame(np.eye(3), pm.Box([0] * 3, [1] * 3), 1.0, ["x", "y", "z"], noise="sign")
KINDS = {"shop": SHOP, "bandit": BANDIT, "ball": BALL, "duels": DUELS}

kinds = pytest.mark.parametrize("kind", KINDS)
sharing = pytest.mark.parametrize("shared", [None, 0.4])


def two(game: pm.Game, shared: float | None = None, other: pm.Game | None = None) -> Any:
    return pm.segments({"a": game, "b": other or game}, shared, [0.3, 0.7])


@sharing
@kinds
def test_a_segment_earns_and_shows_what_its_own_game_does(kind: str, shared: float | None) -> None:
    own = KINDS[kind]
    game = two(own, shared)
    for theta in game.draw_truths(np.arange(3)):
        assert game.parameters.contains(theta)
        for name, part in game.split(theta).items():
            lifted = game.at(name)
            np.testing.assert_allclose(lifted.features @ theta, own.features @ part, atol=1e-12)
            for a in range(own.k):
                np.testing.assert_allclose(
                    lifted.rows(a) @ theta, own.rows(a) @ part, rtol=0, atol=1e-12
                )
        assert np.array_equal(game.joined(game.split(theta)), theta)


@sharing
@kinds
def test_files_keep_segments(kind: str, shared: float | None, tmp_path: Path) -> None:
    game = two(KINDS[kind], shared)
    again: Any = game_from_dict(game_to_dict(game))
    assert game_to_dict(again) == game_to_dict(game)
    assert (again.shared, again.contexts) == (shared, ("a", "b"))
    for ending in ("json", "toml"):
        pm.save_game(game, tmp_path / f"game.{ending}")
        assert repr(pm.load_game(tmp_path / f"game.{ending}")) == repr(game)


@sharing
@kinds
def test_every_default_plays_and_is_saved(kind: str, shared: float | None, tmp_path: Path) -> None:
    game = two(KINDS[kind], shared)
    theta = game.draw_truths(np.arange(1))[0]
    instance = pm.ContextualInstance(game, theta)
    learner = pm.Learner(game, seed=1)
    rng = np.random.default_rng(0)
    for t in range(6):
        name = "ab"[t % 2]
        decision = learner.ask(context=name)
        learner.tell(decision, instance.at(name).observe(decision.label, rng))
    assert "looks best" in str(learner.status(context="a"))
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.ask(context="b").label == learner.ask(context="b").label


def test_segments_may_have_different_sizes() -> None:
    game = pm.segments({"small": SHOP, "large": WIDE})
    assert (game.d, game.parameters.sizes) == (7, (3, 4))
    result = pm.simulate(game, ["calibrated", "ids"], "random", horizon=30, seeds=3)
    assert result.backend["calibrated"] == "compiled"
    assert pm.analyze(game).certified


def test_outcomes_are_those_of_the_segment() -> None:
    """Each segment draws from its own distribution, in compiled and batched rounds alike."""
    game = two(SHOP, other=WIDE)
    theta = game.joined({"a": [1, 0, 0], "b": [0, 0, 0, 1]})
    for policy in ("calibrated", "ids"):
        learner = pm.Learner(game, policy)
        instance = pm.ContextualInstance(game, theta)
        rng = np.random.default_rng(0)
        for _ in range(5):
            for name, shown in (("a", {"$1": "yes", "$2": "no", "$3": "no"}), ("b", {})):
                decision = learner.ask(context=name)
                seen = instance.at(name).observe(decision.label, rng)
                assert seen == shown.get(decision.label, "yes")
                learner.tell(decision, seen)
    result = pm.simulate(game, ["calibrated", "random"], theta, horizon=40, seeds=4)
    assert result.mean("calibrated")[-1] < result.mean("random")[-1]


def test_what_is_shared_is_said() -> None:
    assert "all contexts share one unknown θ" in str(pm.games.survey())
    same = pm.ContextualGame([SHOP, SHOP], contexts=["startup", "enterprise"])
    for text in (str(same), same._repr_html_()):
        assert "startup, enterprise are the same game and learn as one" in " ".join(text.split())
    assert "has its own unknown θ" in str(two(SHOP))
    assert "about 0.4 times as large" in " ".join(str(two(SHOP, 0.4)).split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([SHOP],), "games must be a dict with one game per segment"),
        (({},), "games must be a dict with one game per segment"),
        (({"a": pm.games.survey()},), "one Game without contexts per segment"),
        (({"a": pm.games.kernelized_bandit()},), "take game.linear"),
        (({1: SHOP},), "must name its segments by strings; got 1"),
        (({"a": SHOP, "b": BANDIT},), "must show the same kind of thing; 'b' has"),
        (({"a": SHOP, "b": WIDE}, 0.3), "shared must be None unless the unknowns"),
        (({"a": SHOP, "b": SHOP}, 0), "shared must be"),
        (({"a": SHOP, "b": SHOP}, -1), "shared must be"),
        (({"a": SHOP, "b": SHOP}, "much"), "shared must be"),
        (({"a": SHOP, "b": SHOP}, 1e9), "shared must be from 0.001 to 1000"),
        (({"a": SHOP, "b": SHOP}, None, [1.0]), "context_distribution"),
    ],
)
def test_refusals_are_one_sentence(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        pm.segments(*arguments)
    assert str(caught.value).count("\n") == 0


def test_a_parameter_by_segment_is_checked() -> None:
    game = two(SHOP)
    with pytest.raises(InvalidInput, match="the theta of 'b' must lie"):
        game.joined({"a": [1, 0, 0], "b": [1, 1, 0]})
    with pytest.raises(InvalidInput, match="thetas"):
        game.joined({"a": [1, 0, 0]})
    with pytest.raises(InvalidInput, match="thetas must be a dict with one theta per segment"):
        game.joined([[1, 0, 0], [1, 0, 0]])
    for theta in ([1, 0, 0], "many", [[1, 0], [0]], None):
        with pytest.raises(InvalidInput, match="theta must have 6 entries"):
            game.split(theta)


# -- nothing shared is as good as apart ------------------------------------------------------------


def alone(policy: pm.IDS, game: pm.Game, plays: list[int], shown: list[Any]) -> Any:
    """Return the choice of a policy that has seen one segment only."""
    state = policy.init(game, 1)
    for action, seen in zip(plays, shown, strict=True):
        state = policy.update(state, np.array([action]), seen[None, : game.m])
    return policy.decide(state, np.array([0.3]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 99)), max_size=12),
    st.sampled_from([(SHOP, WIDE), (BANDIT, BANDIT), (BALL, BALL), (SHOP, SHOP)]),
)
def test_own_unknowns_decide_like_one_learner_each(
    rounds: list[tuple[int, int]], games: tuple[pm.Game, pm.Game]
) -> None:
    """IDS with a width that depends on nothing else, whatever was observed elsewhere."""
    policy = pm.IDS(confidence=pm.confidence.deviations(2.0))
    game = two(games[0], other=games[1])
    state, told = policy.init(game, 1), ([], [])
    plays: tuple[list[int], list[int]] = ([], [])
    for z, number in rounds:
        own = games[z]
        action = number % own.k
        seen = np.zeros(game.m)
        rows = own.row_counts[action]
        if own.traits.signals:
            seen[number % rows] = 1.0
        else:
            seen[:rows] = np.sin(number + np.arange(rows))
        global_action = game.positions(z)[action]
        state = policy.update(state, np.array([global_action]), seen[None], context=np.array([z]))
        plays[z].append(action)
        told[z].append(seen)  # type: ignore[arg-type]
    for z, own in enumerate(games):
        choice = policy.decide(state, np.array([0.3]), context=np.array([z]))
        expected = alone(policy, own, plays[z], told[z])
        places = game.positions(z)
        np.testing.assert_allclose(choice.gaps[0, places], expected.gaps[0], atol=1e-6)
        np.testing.assert_allclose(
            choice.information[0, places], expected.information[0], atol=1e-9
        )
        np.testing.assert_allclose(
            choice.estimate[0, game.block(z)], expected.estimate[0], atol=1e-7
        )
        assert places[expected.action[0]] == choice.action[0]
