"""Numbers, sizes and nesting beyond every use are refused in one sentence, quickly."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.files import game_from_dict

SE = pm.kernels.SquaredExponential
FINITE = np.array([[0.0, -1.0], [-0.5, 0.0]])


def file(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


EXTREME: dict[str, Callable[[float], Any]] = {
    "rewards": lambda s: pm.FiniteGame(FINITE * s, ["yy", "ny"]),
    "features": lambda s: pm.Game(np.eye(2) * s, np.ones((2, 1, 2)), pm.Ball([0, 0], 1)),
    "observation_maps": lambda s: pm.Game(np.eye(2), np.ones((2, 1, 2)) * s, pm.Ball([0, 0], 1)),
    "item_features": lambda s: pm.DuelingGame(np.eye(2) * s, pm.Ball([0, 0], 1)),
    "radius": lambda s: pm.Ball([0, 0], s),
    "high": lambda s: pm.Box([0], [s]),
    "b_ub": lambda s: pm.Polytope([[1.0], [-1.0]], [s, s]),
    "noise_std": lambda s: pm.games.linear_bandit(noise_std=s),
    "lengthscale": lambda s: SE([1.0, s]),
    "variance": lambda s: SE(1.0, s),
    "reward_kernel": lambda s: pm.KernelGame([[s]], [[[[s]]]], [[[s]]]),
    "norm_bound": lambda s: pm.Learner(pm.games.apple_tasting(), pm.IDS(norm_bound=s)),
    "regularization": lambda s: pm.Learner(pm.games.apple_tasting(), pm.IDS(regularization=s)),
    "alpha": lambda s: pm.CBP(alpha=s),
    "factor": lambda s: pm.LinTS(factor=s),
    "jitter": lambda s: pm.ExpectedImprovement(jitter=s),
}


@pytest.mark.parametrize("size", [1e-200, 1e101, 1e308])
@pytest.mark.parametrize("name", EXTREME)
def test_numbers_whose_squares_overflow_or_vanish_are_refused(name: str, size: float) -> None:
    with pytest.raises(InvalidInput, match=rf"^{name} must .*1e[+-]100"):
        EXTREME[name](size)


@pytest.mark.parametrize("size", [1e-99, 1e99])
@pytest.mark.parametrize("name", sorted(EXTREME.keys() - {"regularization"}))
def test_large_and_small_numbers_are_taken(name: str, size: float) -> None:
    EXTREME[name](size)


def test_test_functions_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(pm.games.functions.branin([[1e50, -1e50]])).all()
        assert np.isfinite(pm.games.functions.ackley([[1e100, 0]])).all()
        for name in ("branin", "ackley"):
            with pytest.raises(InvalidInput, match="x must not exceed"):
                getattr(pm.games.functions, name)([[1e308, 1e308]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pm.kernels.Polynomial(10**9), "degree must be at most 100"),
        (lambda: pm.kernels.Polynomial(10**400), "degree must be at most 100"),
        (lambda: pm.candidates.sobol([0], [1], 10**9), "count must be at most"),
        (lambda: pm.candidates.sobol([0], [1], 10**400), "count must be at most"),
        (lambda: pm.RandCBP(levels=10**9), "levels must be at most"),
        (lambda: pm.Simplex(10**5).difference_basis(), "would have 100000 x 100000"),
        (lambda: pm.AllParameters(10**5).difference_basis(), "would have 100000 x 100000"),
        (lambda: pm.Simplex(10**400), "d must be at most"),
        (lambda: pm.games.full_information(10**400), "arms must be at most"),
        (lambda: pm.games.loopless_clique(10**6), "arms must be at most"),
        (lambda: pm.games.revealing_action(10**6), "arms must be at most"),
        (lambda: pm.games.bernoulli_bandit(10**400), "arms must be at most"),
        (lambda: pm.games.bernoulli_bandit_linear(10**400), "arms must be at most"),
        (lambda: pm.games.survey(10**400), "products must be at most"),
        (lambda: pm.games.greedy_exploration(10**400), "contexts must be at most"),
        (lambda: pm.games.combinatorial_bandit(10**400), "items must be at most"),
        (lambda: pm.FiniteGame([[0] * 20_000], [range(20_000)]), "1 x 20000 x 20000"),
        (lambda: pm.Game([[0] * 20_000], [np.eye(6000, 20_000)], pm.Simplex(20_000)), "6000 x"),
        (lambda: pm.games.linear_bandit(noise_std=10**5000), "noise_std must not exceed"),
    ],
)
def test_sizes_are_limited(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        call()
    assert len(str(caught.value)) < 200


def test_the_maps_of_many_signals_are_stored_once() -> None:
    tracemalloc.start()
    game = game_from_dict({"rewards": [[0] * 2000], "signals": [list(range(2000))]})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(game, pm.FiniteGame)
    assert np.array_equal(game.observation_maps[0], np.eye(2000))
    assert peak < 1.3 * game.observation_maps.nbytes


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1e999999999 y", "must be finite"),
        ("1e400 y", "must be finite"),
        ("1e200 y", "must not exceed"),
        ("1/0 y", "must have a number as reward"),
        ("1 y\0", "NUL"),
        ('"1 ' + "y" * 140_000 + '"', "field larger than"),
    ],
)
def test_cells_of_a_csv_file_are_bounded(tmp_path: Path, cell: str, words: str) -> None:
    path = file(tmp_path, "game.csv", f"a,b\nx,{cell}\n")
    with pytest.raises(InvalidInput, match=words):
        pm.load_game(path)


def test_fractions_in_a_csv_file_are_exact(tmp_path: Path) -> None:
    game = pm.load_game(file(tmp_path, "game.csv", "a,b,c\nx,1/3 y,1e2 z\n"))
    assert isinstance(game, pm.FiniteGame)
    assert game.rewards.tolist() == [[1 / 3, 100.0]]


def nested(levels: int) -> Any:
    kernel: Any = {"type": "constant"}
    for level in range(levels):
        kind, key = ("sum", "terms") if level % 2 else ("product", "factors")
        kernel = {"type": kind, key: [kernel, {"type": "linear"}]}
    return kernel


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    symbol: Any = "a"
    for _ in range(900):
        symbol = [symbol]
    table = {"rewards": [[0]], "signals": [[symbol]]}
    with pytest.raises(InvalidInput, match=r"game\.json: "):
        pm.load_game(file(tmp_path, "game.json", "[" * 100_000))
    with pytest.raises(InvalidInput, match="deep"):
        game_from_dict(table)
    with pytest.raises(InvalidInput, match="at most 50 levels deep"):
        pm.kernels.from_dict(nested(900))
    kernel = pm.kernels.from_dict(nested(40))
    assert pm.kernels.from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    for _ in range(4):
        kernel = SE() * (kernel + SE())
    with pytest.raises(InvalidInput, match="at most 50 levels deep"):
        SE() * (SE() + SE() * (SE() + kernel))


@pytest.mark.parametrize("size", [1e30, 1e45, 1e60])
def test_bounds_of_large_games_are_numbers_or_infinite(size: float) -> None:
    games = [
        pm.FiniteGame(np.array([[0, -1.0], [-2, 0]]) * size, ["yy", "ny"]),
        pm.Game(np.eye(2) * size, np.eye(2)[:, None], pm.Ball([0, 0], size)),
    ]
    for game in games:
        assert (pm.bounds(game, 100).regret > 0).all()
