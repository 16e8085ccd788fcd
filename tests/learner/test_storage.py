"""Learners are saved and loaded, and go on as if nothing had happened."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from tests.oracles.learners import GAMES, answer, played, refused, without_id

POLICIES: dict[str, pm.IDS] = {
    "default": pm.IDS(),
    "relaxed": pm.IDS(gap=pm.gaps.relaxed, sampling=pm.sampling.approximate),
    "mean": pm.IDS(gap=pm.gaps.mean, information=pm.information.directed),
    "generalized": pm.IDS(sampling=pm.sampling.generalized(3.0), regularization=0.3),
    "e2d": pm.IDS(sampling=pm.sampling.e2d(0.5), confidence=pm.confidence.fixed(0.1)),
    "anytime": pm.IDS(sampling=pm.sampling.e2d("anytime"), norm_bound=2.0),
    "deterministic": pm.IDS(sampling=pm.sampling.deterministic),
}


def assert_same_future(one: pm.Learner, two: pm.Learner, rounds: int = 20) -> None:
    rng, twin = np.random.default_rng(9), np.random.default_rng(9)
    for _ in range(rounds):
        first, second = one.ask(), two.ask()
        for field in ("round", "action", "label", "probability"):
            assert getattr(first, field) == getattr(second, field)
        for field in ("ratio", "beta"):  # nan if the policy has none
            assert np.array_equal(getattr(first, field), getattr(second, field), equal_nan=True)
        for field in ("distribution", "gaps", "information", "estimate"):
            assert np.array_equal(getattr(first, field), getattr(second, field))
        one.tell(first, answer(one.game, first, rng))
        two.tell(second, answer(two.game, second, twin))
    assert list(map(without_id, one.history)) == list(map(without_id, two.history))


@pytest.mark.parametrize("name", GAMES)
def test_after_loading_the_same_twenty_decisions_follow(name: str, tmp_path: Path) -> None:
    learner = played(name, 25)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.history == learner.history
    assert again.round == learner.round
    for field in ("seed", "regularization", "norm_bound", "noise_std"):
        assert getattr(again, field) == getattr(learner, field)
    assert np.array_equal(again.prior_mean, learner.prior_mean)
    assert_same_future(learner, again)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_saved_with_their_options(name: str, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), POLICIES[name], seed=5)
    for _ in range(5):
        decision = learner.ask()
        learner.tell(decision, learner.game.signal(decision.action, 2))
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.policy == POLICIES[name]
    assert_same_future(learner, again)


@pytest.mark.parametrize("prior", [[0.2, 0.3, 0.5], (0.2, 0.3, 0.5), np.array([0.2, 0.3, 0.5])])
def test_a_prior_mean_is_saved(prior: Any, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), pm.IDS(prior_mean=prior), seed=5)
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 5)


def test_numpy_numbers_as_options_are_saved(tmp_path: Path) -> None:
    policy = pm.IDS(regularization=np.float32(0.5), norm_bound=np.int64(2))  # type: ignore[arg-type]
    learner = pm.Learner(pm.games.dynamic_pricing(), policy, seed=5)
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 5)


def test_open_decisions_are_saved(tmp_path: Path) -> None:
    learner = played("pricing", 5)
    first, second = learner.ask(), learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    for other in (learner, again):
        other.tell(second.id, learner.game.signal(second.action, 0))
        other.tell(first.id, learner.game.signal(first.action, 1))
    assert_same_future(learner, again)
    refused(lambda: again.tell(first.id, "yes"), again, "already")


def test_a_decision_made_before_saving_can_be_told_after_loading(tmp_path: Path) -> None:
    learner = played("pricing", 3)
    decision = learner.ask()
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    again.tell(decision, learner.game.signal(decision.action, 0))
    assert again.round == 5


def test_saving_twice_gives_the_same_file(tmp_path: Path) -> None:
    learner = played("slice", 12)
    learner.save(tmp_path / "one.json")
    pm.Learner.load(tmp_path / "one.json").save(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()


def test_the_file_is_plain_and_versioned(tmp_path: Path) -> None:
    played("pricing", 3).save(tmp_path / "learner.json")
    data = json.loads((tmp_path / "learner.json").read_text())
    assert data["format"] == 6


GUISES: dict[str, Any] = {
    "float32": np.float32(0.25),
    "integer": np.int64(1),
    "fraction": Fraction(1, 4),
    "array": np.array([0.25]),
    "list of numpy": [np.float32(0.25)],
    "tuple": (0.25,),
}


@pytest.mark.parametrize("told", GUISES.values(), ids=GUISES.keys())
def test_whatever_was_told_can_be_saved(told: Any, tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    learner.tell(learner.ask(), told)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert_same_future(learner, again, 3)


def test_numpy_signals_can_be_saved(tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.matching_pennies(), seed=1)
    decision = learner.ask()
    learner.tell(decision, np.int64(learner.game.signal(decision.action, 0)))
    learner.save(tmp_path / "learner.json")
    assert_same_future(learner, pm.Learner.load(tmp_path / "learner.json"), 3)


def test_a_learner_of_a_hopeless_game_is_saved(tmp_path: Path) -> None:
    learner = pm.Learner(pm.games.matching_pennies("none"), seed=1, allow_hopeless=True)
    learner.tell(learner.ask(), "-")
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.allow_hopeless
    assert_same_future(learner, again, 3)


def test_a_policy_of_your_own_is_not_saved(tmp_path: Path) -> None:
    learner = pm.Learner(
        pm.games.dynamic_pricing(), pm.IDS(gap=lambda game, e: pm.gaps.mean(game, e))
    )
    with pytest.raises(InvalidInput, match="gap"):
        learner.save(tmp_path / "learner.json")
    assert not (tmp_path / "learner.json").exists()


BROKEN = {
    "empty": "",
    "not json": "{",
    "a list": "[1, 2]",
    "a number": "3",
    "no format": "{}",
    "only a format": '{"format": 1}',
    "another format": '{"format": 99}',
    "a broken game": '{"format": 1, "game": {}, "policy": {"policy": "ids"}, "seed": 0}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_no_learner_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "learner.json").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        pm.Learner.load(tmp_path / "learner.json")
    assert str(caught.value).endswith(".")


def test_paths_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        pm.Learner.load(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInput, match="nowhere"):
        played("pricing", 1).save(tmp_path / "nowhere" / "learner.json")


INFINITIES: list[Any] = [float("inf"), float("-inf"), (1, float("inf"))]


def test_signals_that_are_not_finite_are_kept_apart(tmp_path: Path) -> None:
    game = pm.FiniteGame([[0, 0, 1], [1, 0, 0]], [INFINITIES, [0, 0, 0]])
    learner = pm.Learner(game, allow_hopeless=True)
    learner.tell_past([0] * 3, INFINITIES)
    logged = [event["observation"] for event in learner.events]
    assert logged == [{"float": "inf"}, {"float": "-inf"}, [1, {"float": "inf"}]]
    learner.save(tmp_path / "saved.json")
    loaded = pm.Learner.load(tmp_path / "saved.json")
    replayed = pm.Learner.replay(game, events=learner.events, allow_hopeless=True)
    for again in (loaded, replayed):
        assert again._session.counts == learner._session.counts
        assert again.ask().estimate.tolist() == learner.ask().estimate.tolist()  # type: ignore[union-attr]


def test_unlisted_contexts_may_have_signals_that_are_not_finite(tmp_path: Path) -> None:
    listed, other = (pm.FiniteGame([[0, 1], [1, 0]], [[x, 2], [0, 0]]) for x in (1, float("inf")))
    learner = pm.Learner(pm.ContextualGame([listed, listed]), allow_hopeless=True)
    learner.ask(context=other)
    learner.tell_past([0], [float("inf")], [other])
    learner.save(tmp_path / "saved.json")
    assert pm.Learner.load(tmp_path / "saved.json").events == learner.events


def test_files_of_format_1_may_have_padding_that_is_not_a_number(tmp_path: Path) -> None:
    maps: Any = [[[1, 0], [0, 1]], [[1, 1]]]
    learner = pm.Learner(pm.Game(np.eye(2), maps, pm.AllParameters(2)))
    decision = learner.ask(available=[1])
    learner.tell(decision, [0.5])
    row = decision.to_dict() | {"id": 0, "observation": [0.5, float("nan")]}
    data = learner._spec.to_dict() | {"format": 1, "allow_hopeless": False, "open": []}
    data |= {"history": [row], "told": [[1, [0.5, 0.0], None]], "arrays": None}
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(data))
    for _ in range(2):
        loaded = pm.Learner.load(path)
        assert loaded.history[0]["observation"] == [0.5, None]
        assert loaded._session.counts == learner._session.counts
        loaded.save(path)
