"""The class of games with contexts: each by itself, and what they tell each other."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput

Array = NDArray[np.float64]


def game(maps: list[list[list[float]]], chi: list[float] | None = None) -> pm.ContextualGame:
    """Two actions with rewards theta_1 and theta_2 in each context, and what these show."""
    box = pm.Box([0, 0], [1, 1])
    features = [[1, 0], [0, 1]]
    games = [pm.Game(features, [rows, []], box, actions=["a", "b"]) for rows in maps]
    return pm.ContextualGame(games, chi)


def test_contexts_help_each_other() -> None:
    """The difference is shown in neither context alone, but in both together."""
    both = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    assert [own.category for own in both.contexts] == ["hopeless", "hopeless"]
    assert both.observable
    assert both.category == "learnable"
    assert both.verify()
    (first, _) = both.combinations
    assert first.weights is not None
    assert {place: w.tolist() for place, w in first.weights.items()} == {
        (0, 0): [pytest.approx(-1.0)],
        (1, 0): [pytest.approx(1.0)],
    }
    assert "what it needs to know is shown in other contexts" in both.explain()
    pm.Learner(game([[[1, 0]], [[0, 1]]]))


def test_contexts_that_never_come_do_not_help() -> None:
    alone = game([[[1, 0]], [[0, 1]]], [1.0, 0.0])
    analysis = pm.analyze(alone)
    assert analysis.category == "hopeless"
    assert analysis.possible == [0]
    assert "cannot be told apart by anything that any context shows" in analysis.explain()
    with pytest.raises(InvalidInput, match="actions 'a' and 'b' of context '0' cannot be told"):
        pm.Learner(alone)
    pm.Learner(alone, allow_hopeless=True).ask(context=0)


@pytest.mark.parametrize(
    ("name", "options", "category", "silent"),
    [
        ("survey", {}, "learnable", ["silent"]),
        ("survey", {"answer_rate": 1.0}, "easy", []),
        ("survey", {"answer_rate": 0.0}, "hopeless", ["silent"]),
        ("survey", {"voucher": True}, "learnable", ["silent"]),
        ("greedy_exploration", {}, "easy", []),
        ("segment_pricing", {}, "learnable", []),
        ("contextual_linear_bandit", {}, "easy", []),
        ("contextual_dueling", {}, "easy", []),
        ("contextual_apple_tasting", {}, "easy", []),
    ],
)
def test_named_games(
    name: str, options: dict[str, object], category: str, silent: list[str]
) -> None:
    found = pm.games.make(name, **options)
    assert isinstance(found, pm.ContextualGame)
    analysis = pm.analyze(found)
    assert analysis.category == category
    assert analysis.silent == silent
    assert analysis.verify()


def test_one_context_is_the_plain_game() -> None:
    names = {"trivial": "trivial", "easy": "easy", "hard": "learnable", "hopeless": "hopeless"}
    for name in pm.games.GAMES:
        plain = pm.games.make(name)
        if isinstance(plain, pm.Game):
            whole = pm.analyze(pm.ContextualGame([plain]))
            assert whole.category == names[pm.analyze(plain).category]


def test_random_games_against_brute_force() -> None:
    """Observable if and only if no direction that matters is invisible wherever one may be."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        box = pm.Box([-1] * 3, [1] * 3)
        games = []
        for _ in range(3):
            k = int(rng.integers(1, 4))
            maps = [rng.integers(-1, 2, (int(rng.integers(0, 2)), 3)) for _ in range(k)]
            games.append(pm.Game(rng.integers(-2, 3, (k, 3)), maps, box))
        chi = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]][seed % 3])
        analysis = pm.analyze(pm.ContextualGame(games, chi))
        shown = np.concatenate([own.observation_maps.reshape(-1, 3)
                                for own, p in zip(games, chi, strict=True) if p > 0])  # fmt: skip
        blind = _null_space(shown)
        matters = [
            own.features[b] - own.features[a]
            for own, p in zip(games, chi, strict=True)
            if p > 0
            for a in pm.analyze(own).pareto
            for b in pm.analyze(own).pareto
        ]
        expected = all(np.abs(blind @ direction).max(initial=0) < 1e-9 for direction in matters)
        assert analysis.observable == expected
        assert analysis.verify()


def _null_space(rows: Array) -> Array:
    _, values, right = np.linalg.svd(np.concatenate([rows, np.zeros((3, 3))]))
    return right[(values > 1e-9).sum() :]


def test_a_false_combination_is_found() -> None:
    analysis = pm.analyze(game([[[1, 0]], [[0, 1]]]))
    weights = analysis.combinations[0].weights
    assert weights is not None
    weights[0, 0][:] = 0.5
    assert not analysis.verify()


def test_the_command_line() -> None:
    text = CliRunner().invoke(main, ["analyze", "survey"]).output
    assert "'silent' (probability 0.7) shows nothing and is hopeless by itself" in text
    data = json.loads(CliRunner().invoke(main, ["analyze", "survey", "--json"]).output)
    assert data["category"] == "learnable"
    assert set(data["contexts"]) == {"answers", "silent"}
