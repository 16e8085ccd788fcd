"""Kernel games: how they are made, written, analysed, and what they refuse."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import Matern, SquaredExponential, readings
from partial_monitoring.model.files import game_from_dict, game_to_dict
from tests.oracles.kernel_routes import GAMES, bandit, factored, points

K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
SE = SquaredExponential(0.3)


def three(**changed: Any) -> pm.KernelGame:
    given = {
        "reward_kernel": K,
        "observation_kernel": K[:, None, :, None],
        "cross_kernel": K[:, :, None],
    }
    return pm.KernelGame(**(given | changed))


def same_game(one: pm.KernelGame, two: pm.Game) -> None:
    assert type(one) is type(two)
    assert isinstance(two, pm.KernelGame)
    np.testing.assert_array_equal(one.gram.matrix, two.gram.matrix)
    np.testing.assert_array_equal(one.features, two.features)
    np.testing.assert_array_equal(one.observation_maps, two.observation_maps)
    np.testing.assert_array_equal(one.noise_std, two.noise_std)
    for name in ("actions", "row_counts", "norm_bound", "noise", "shows_own_reward"):
        assert getattr(one, name) == getattr(two, name)
    if one.candidates is None:
        assert two.candidates is None
    else:
        np.testing.assert_array_equal(one.candidates, two.candidates)


# -- what they are -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_coordinates_have_the_kernels_as_inner_products(name: str) -> None:
    game = GAMES[name]()
    for linear in (game.linear, factored(game)):
        gram = game.gram.matrix
        phi, maps = linear.features, linear.observation_maps.reshape(game.k * game.m, -1)
        earned, shown = game.features, game.observation_maps.reshape(game.k * game.m, game.d)
        np.testing.assert_allclose(phi @ phi.T, earned @ gram @ earned.T, atol=1e-9)
        np.testing.assert_allclose(maps @ maps.T, shown @ gram @ shown.T, atol=1e-9)
        np.testing.assert_allclose(phi @ maps.T, earned @ gram @ shown.T, atol=1e-9)


def test_three_kernels_become_one_gram_matrix() -> None:
    game = GAMES["written"]()
    assert (game.k, game.m, game.d) == (6, 2, 18)
    assert game.linear.d == 5
    np.testing.assert_array_equal(game.gram.matrix[:6, :6], game.features @ game.gram.matrix[:, :6])
    assert three().shows_own_reward
    assert three().d == 3
    other = three(cross_kernel=0.5 * K[:, :, None])  # rewards and observations differ
    assert not other.shows_own_reward
    assert other.d == 6


def test_earned_and_shown_are_weighted_sums_of_the_numbers() -> None:
    game = GAMES["three rows"]()
    theta = np.random.default_rng(0).normal(size=(3, game.d))
    np.testing.assert_allclose(game.earned(theta), theta @ game.features.T, atol=1e-12)
    shown = np.einsum("nd,kmd->nkm", theta, game.observation_maps)
    np.testing.assert_allclose(game.shown(theta), shown, atol=1e-12)
    for a in range(game.k):
        rows = game.rows(a)
        assert rows.shape == (game.row_count(a), game.d)
        np.testing.assert_array_equal(rows, game.observation_maps[a, : len(rows)])


def test_some_of_the_actions() -> None:
    game = GAMES["three rows"]()
    part = game.restricted([5, game.actions[0]])
    assert part.actions == (game.actions[5], game.actions[0])
    np.testing.assert_array_equal(part.features, game.features[[5, 0]])
    np.testing.assert_array_equal(part.observation_maps, game.observation_maps[[5, 0]])
    np.testing.assert_array_equal(part.noise_std, np.asarray(game.noise_std)[[5, 0]])
    assert part.row_counts == (game.row_counts[5], game.row_counts[0])
    assert part.norm_bound == game.norm_bound


def test_candidates_and_words() -> None:
    game = bandit(4)
    np.testing.assert_array_equal(game.candidates, points(4))
    assert GAMES["localized duels"]().candidates is None
    assert repr(game) == "KernelGame(k=4, d=4, m=1, norm_bound=1.0)"
    assert "norm at most 1 in the space of SquaredExponential" in game.unknown
    assert pm.games.kernelized_bandit([0.0, 0.25, 1 / 3]).actions == ("0.0", "0.25", "0.3333")
    assert pm.games.kernelized_bandit([0.1, 0.1]).actions == ("0", "1")


def test_probes_are_where_they_measure() -> None:
    game = pm.games.kernelized_transductive()
    for action in game.actions:
        place = game.point(action)
        assert place is not None
        assert float(place[0]) == pytest.approx(float(action.split()[1]))
    x = [[0.0], [1.0]]
    mean, both = pm.readings.averages(x, [[0, 1]]), pm.readings.differences(x, [[0, 1]])
    assert pm.KernelGame.from_kernel(pm.kernels.Linear(), mean, both).point(0) is None


def test_kernels_from_elsewhere() -> None:
    sklearn = pytest.importorskip("sklearn.gaussian_process.kernels")
    x = points(6)
    own = bandit(x=x, kernel=SE)
    for kernel in (sklearn.RBF(0.3), lambda a, b: np.exp(-((a - b.T) ** 2) / 0.18)):
        other = bandit(x=x, kernel=kernel)
        np.testing.assert_allclose(other.gram.matrix, own.gram.matrix, atol=1e-12)
        decisions = [pm.Learner(game, seed=1).ask() for game in (own, other)]
        np.testing.assert_allclose(decisions[0].gaps, decisions[1].gaps, atol=1e-12)


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_files_and_pickles_keep_every_bit(name: str, tmp_path: Path) -> None:
    game = GAMES[name]()
    for ending in ("json", "toml"):
        pm.save_game(game, tmp_path / f"game.{ending}")
        same_game(game, pm.load_game(tmp_path / f"game.{ending}"))  # type: ignore[arg-type]
    same_game(game, pickle.loads(pickle.dumps(game)))


def test_a_short_file_is_a_bandit() -> None:
    data = {"kernel": {"type": "squared_exponential", "lengthscale": 0.3}, "points": [[0], [1]]}
    game = game_from_dict(data)
    assert isinstance(game, pm.KernelGame)
    assert game.shows_own_reward
    assert not isinstance(game_from_dict(data | {"duels": False}), pm.KernelDuelingGame)
    duels = game_from_dict(data | {"duels": True, "items": ["a", "b"]})
    assert isinstance(duels, pm.KernelDuelingGame)
    assert duels.action_label(1) == "a | b"


def test_kernels_from_elsewhere_cannot_be_written(tmp_path: Path) -> None:
    game = bandit(3, lambda x, y: x @ y.T)
    with pytest.raises(InvalidInput, match="kernel must be one of this library's to be written"):
        pm.save_game(game, tmp_path / "game.json")


POINTS = {"kernel": SE.to_dict(), "points": [[0.0], [1.0]]}
ROWS: dict[str, Any] = {"reward": [[[[0, 1.0]]], [[[1, 1.0]]]], "feedback": [[[[0, 1.0]]], []]}
ARRAYS = {
    "reward_kernel": K.tolist(),
    "observation_kernel": K[:, None, :, None].tolist(),
    "cross_kernel": K[:, :, None].tolist(),
}
WRITTEN = "must hold rows of pairs [number of a point, weight] for every action"
FILES: list[tuple[dict[str, Any], str]] = [
    ({"kernel": SE.to_dict()}, "a kernel game needs the key 'points'"),
    (POINTS | {"kernel": "se"}, "kernel must be a table with the key 'type'"),
    (POINTS | {"kernel": {"type": "se"}}, "no type of kernel named 'se'"),
    (POINTS | {"points": [0.0, 1.0]}, "points must have shape (n, p)"),
    (POINTS | {"points": []}, "points must have shape (n, p)"),
    (POINTS | {"points": [[], []]}, "points must not be empty"),
    (POINTS | {"points": [[np.nan], [0]]}, "points must be finite"),
    (POINTS | {"pionts": 1}, "no key of a kernel game named 'pionts'; did you mean 'points'?"),
    (POINTS | {"items": ["a", "b"]}, "no key of a kernel game named 'items'"),
    (POINTS | {"duels": "yes"}, "duels must be true or false"),
    (POINTS | {"duels": True, "items": ["a"]}, "items must have 2 labels"),
    (POINTS | {"duels": True, "actions": ["a"]}, "no key of a kernel game named 'actions'"),
    (POINTS | {"reward": ROWS["reward"]}, "both keys 'reward' and 'feedback', or none"),
    (POINTS | {"axes": [0, 0]}, "axes must be given with the keys 'reward' and 'feedback'"),
    (POINTS | {"noise_std": -1}, "noise_std must be positive"),
    (POINTS | {"norm_bound": "large"}, "norm_bound must be real numbers"),
    (POINTS | {"noise": "loud"}, "noise must be one of"),
    (POINTS | {"actions": ["a"]}, "actions must have 2 labels"),
    *((POINTS | ROWS | {"axes": axes}, "axes must hold one coordinate per point") for axes in (
        "x", ["x", "y"], [0.5, 0], [0], [1, 0], [-2, 0], None, [[0], [0]], [[0], 0],
    )),
    *((POINTS | ROWS | {"reward": [[[pair]], [[[1, 1.0]]]]}, f"reward {WRITTEN}") for pair in (
        [0, np.nan], [0, np.inf], [0.7, 1.0], [2, 1.0], [-1, 1.0], ["0", 1.0], [0, "1"], [0], 3,
    )),
    (POINTS | ROWS | {"reward": "abc"}, f"reward {WRITTEN}"),
    (POINTS | ROWS | {"feedback": []}, f"feedback {WRITTEN}"),
    (POINTS | ROWS | {"feedback": 3}, f"feedback {WRITTEN}"),
    (POINTS | ROWS | {"reward": [[], []]}, "reward must have one row per action"),
    (POINTS | ROWS | {"reward": [[[[0, 1.0]]], []]}, "reward must have one row per action"),
    (POINTS | ROWS | {"reward": [[[[0, 1]]]]}, "reward and feedback must be of the same actions"),
    ({"reward_kernel": K.tolist()}, "a kernel game needs the key 'observation_kernel'"),
    (ARRAYS | {"points": [[0.0]]}, "no key of a kernel game named 'points'"),
    (ARRAYS | {"reward_kernel": "K"}, "reward_kernel must be real numbers"),
    (ARRAYS | {"noise_std": [1.0]}, "noise_std must have shape (3,)"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), FILES)
def test_bad_files_are_refused_in_a_sentence(data: dict[str, Any], words: str) -> None:
    refused(lambda: game_from_dict(data), words)


def refused(call: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    text = str(caught.value)
    assert words in text
    assert text[-1] in ".?"
    assert "\n" not in text


# -- what is refused ---------------------------------------------------------------------------

X = points(3)
READ = readings.values(X)
BAD: dict[str, tuple[Any, str]] = {
    "not square": (lambda: three(reward_kernel=K[:2]), "reward_kernel must have shape (k, k)"),
    "no actions": (
        lambda: three(reward_kernel=np.zeros((0, 0))),
        "reward_kernel must have shape (k, k); got (0, 0)",
    ),
    "observations": (
        lambda: three(observation_kernel=np.zeros((3, 1, 3, 2))),
        "observation_kernel must have shape (k, m, k, m) = (3, m, 3, m); got (3, 1, 3, 2)",
    ),
    "cross": (lambda: three(cross_kernel=K), "cross_kernel must have shape (3, 3, 1)"),
    "nan": (lambda: three(cross_kernel=K[:, :, None] * np.nan), "cross_kernel must be finite"),
    "infinite": (lambda: three(reward_kernel=K * np.inf), "reward_kernel must be finite"),
    "not symmetric": (
        lambda: three(reward_kernel=np.triu(K)),
        "reward_kernel and observation_kernel must be symmetric",
    ),
    "indefinite": (
        lambda: three(reward_kernel=K - 2 * np.eye(3)),
        "the three kernels together must be positive semidefinite; the smallest eigenvalue",
    ),
    "too large a cross kernel": (
        lambda: three(cross_kernel=3 * K[:, :, None]),
        "the three kernels together must be positive semidefinite",
    ),
    "norm": (lambda: three(norm_bound=-1), "norm_bound must not be negative"),
    "norm nan": (lambda: bandit(norm_bound=np.nan), "norm_bound must be finite"),
    "noise": (lambda: three(noise_std=0), "noise_std must be positive"),
    "noises": (lambda: bandit(3, noise_std=[1, 2]), "noise_std must have shape (3,)"),
    "noise of duels": (
        lambda: pm.games.kernelized_dueling(X, noise_std=-1.0),
        "noise_std must be positive",
    ),
    "kind of noise": (lambda: three(noise="loud"), "noise must be one of"),
    "labels": (lambda: three(actions=["a"]), "actions must have 3 labels"),
    "reward": (
        lambda: pm.KernelGame.from_kernel(SE, np.zeros((3, 3)), READ),  # type: ignore[arg-type]
        "reward must be one of pm.readings",
    ),
    "feedback": (
        lambda: pm.KernelGame.from_kernel(SE, READ, "values"),  # type: ignore[arg-type]
        "feedback must be one of pm.readings; got 'values'",
    ),
    "two rewards": (
        lambda: pm.KernelGame.from_kernel(SE, readings.together(READ, READ), READ),
        "reward must have one row per action; got 2",
    ),
    "other actions": (
        lambda: pm.KernelGame.from_kernel(SE, READ, readings.nothing(2)),
        "reward and feedback must be of the same actions; got 3 and 2",
    ),
    "kernel": (lambda: bandit(3, "se"), "kernel must be a kernel"),
    "class": (lambda: bandit(3, SquaredExponential), "kernel must be an object or a function"),
    "no slopes": (
        lambda: pm.KernelGame.from_kernel(Matern(0.5), READ, readings.derivatives(X, 0)).linear,
        "kernel must be differentiable",
    ),
    "kernel not symmetric": (
        lambda: pm.Learner(bandit(3, lambda x, y: x + 0 * y.T)),
        "kernel must be symmetric",
    ),
    "kernel indefinite": (
        lambda: pm.Learner(bandit(3, lambda x, y: np.abs(x - y.T))),
        "kernel must be positive semidefinite; the smallest eigenvalue",
    ),
    "sum of an indefinite kernel": (
        lambda: pm.Learner(bandit(3, SE + pm.kernels.as_kernel(lambda x, y: -9 * x @ y.T))),
        "kernel must be positive semidefinite",
    ),
    "no points": (lambda: pm.games.kernelized_bandit([]), "points must not be empty"),
    "no items": (lambda: pm.games.kernelized_dueling(np.zeros((0, 1))), "points must not be"),
    "items": (lambda: pm.KernelDuelingGame(SE, X[:0]), "points must not be empty"),
    "three axes": (lambda: pm.games.kernelized_bandit(np.zeros((2, 2, 2))), "points must have"),
    "pairs": (
        lambda: pm.games.kernelized_localized_dueling(X, pairs=[(0, 3)]),
        "pairs must be a list of 2 numbers of points each, below 3; got [(0, 3)]",
    ),
    "flat pairs": (
        lambda: pm.games.kernelized_localized_dueling(X, pairs=[0, 1]),  # type: ignore[list-item]
        "pairs must be a list of 2",
    ),
    "no pairs": (
        lambda: pm.games.kernelized_localized_dueling(X, pairs=[]),
        "pairs must be a list of 2",
    ),
    "radius": (
        lambda: pm.games.kernelized_localized_dueling(X, radius=-1),
        "radius must be positive",
    ),
    "feedback of duels": (
        lambda: pm.games.kernelized_dueling(X, feedback="words"),
        "feedback must be one of 'quantitative', 'sign'; got 'words'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_game_is_refused_in_a_sentence(name: str) -> None:
    refused(*BAD[name])


# -- analysis ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bandit", "copies", "low rank", "transductive", "written"])
def test_analysis_and_bounds_are_those_of_the_linear_game(name: str) -> None:
    game = GAMES[name]()
    mine, theirs = pm.analyze(game), pm.analyze(game.linear)
    for part in ("category", "pareto", "degenerate", "dominated"):
        assert getattr(mine, part) == getattr(theirs, part)
    own = pm.bounds(game, [100, 10_000])
    other = pm.bounds(game.linear, [100, 10_000], norm_bound=game.norm_bound)
    assert own.norm_bound == game.norm_bound
    for part in ("total_information", "beta", "global_regret", "local_regret"):
        np.testing.assert_array_equal(getattr(own, part), getattr(other, part))
    pm.bounds(game, 100, analysis=mine)


def test_classes_of_kernel_games() -> None:
    """A bandit is easy; cubic probes are hard; with a rich kernel probes are hopeless."""
    expected = {
        "bandit": "easy",
        "duels": "easy",
        "one action": "trivial",
        "transductive": "hard",
        "transductive rich": "hopeless",
        "silent": "hopeless",
    }
    for name, category in expected.items():
        game = GAMES[name]()
        assert pm.analyze(game).category == category
        if category == "hopeless":
            with pytest.raises(InvalidInput, match="this game is hopeless; pass allow_hopeless"):
                pm.Learner(game)
            pm.Learner(game, allow_hopeless=True).ask()


@pytest.mark.parametrize("name", GAMES)
def test_every_kernel_game_passes_the_check(name: str) -> None:
    pm.testing.check_game(GAMES[name]())


def test_games_of_derivatives_are_saved_and_loaded(tmp_path: Path) -> None:
    slopes = pm.readings.derivatives(np.linspace(0, 1, 4)[:, None], 0)
    game = pm.KernelGame.from_kernel(SquaredExponential(0.3), slopes, slopes, noise_std=0.1)
    again = game_from_dict(game_to_dict(game))
    np.testing.assert_array_equal(again.gram.matrix, game.gram.matrix)
    learner = pm.Learner(game, seed=0)
    learner.tell(learner.ask(), [0.1])
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    np.testing.assert_array_equal(loaded.ask().distribution, learner.ask().distribution)


def test_loading_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "learner.json"
    pm.Learner(pm.games.kernelized_bandit([0.0, 1.0]), seed=0).save(path)
    data = json.loads(path.read_text())
    data["game"]["axes"] = [0, 0]
    del data["digest"]
    path.write_text(json.dumps(data | {"format": 2}))  # which has no checksum
    with pytest.raises(InvalidInput, match="is not a saved learner: axes must be given with"):
        pm.Learner.load(path)
