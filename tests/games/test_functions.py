"""The test functions: their moments over the cube, their best points, and as truths of games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erf

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, UnknownName
from partial_monitoring.games import functions
from partial_monitoring.simulation.truths import read_truth
from partial_monitoring.simulation.truths.kinds import Function

SQUARE = {"low": [0, 0], "high": [1, 1], "count": 20}


def gauss_moments(function: Callable[[Any], Any], p: int, count: int) -> tuple[float, float]:
    """Return mean and deviation over the cube by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    x = np.stack(np.meshgrid(*[(nodes + 1) / 2] * p, indexing="ij"), axis=-1).reshape(-1, p)
    w = np.array(1.0)
    for _ in range(p):
        w = np.multiply.outer(w, weights / 2)
    values = function(x)
    mean = float(w.ravel() @ values)
    return mean, float(np.sqrt(w.ravel() @ (values - mean) ** 2))


def hartmann_moments(steepness: np.ndarray, centers: np.ndarray) -> tuple[float, float]:
    """Return mean and deviation of raw Hartmann functions, whose parts are products of bells."""

    def bell(a: Any, c: Any) -> Any:
        reach = erf(np.sqrt(a) * (1 - c)) + erf(np.sqrt(a) * c)
        return np.sqrt(np.pi / a) / 2 * reach

    weights = functions.WEIGHTS
    mean = weights @ bell(steepness, centers).prod(axis=1)
    square = 0.0
    for i in range(4):
        for j in range(4):
            a = steepness[i] + steepness[j]
            c = (steepness[i] * centers[i] + steepness[j] * centers[j]) / a
            off = steepness[i] * steepness[j] / a * (centers[i] - centers[j]) ** 2
            square += weights[i] * weights[j] * (np.exp(-off) * bell(a, c)).prod()
    return float(mean), float(np.sqrt(square - mean**2))


def test_moments_of_branin() -> None:
    assert gauss_moments(functions.branin, 2, 80) == pytest.approx((0, 1), abs=1e-7)


def test_moments_of_hartmann() -> None:
    three = hartmann_moments(functions.STEEPNESS_3, functions.CENTERS_3)
    six = hartmann_moments(functions.STEEPNESS_6, functions.CENTERS_6)
    assert three == pytest.approx(functions.HARTMANN_3, rel=1e-8)
    assert six == pytest.approx(functions.HARTMANN_6, rel=1e-8)
    assert gauss_moments(functions.hartmann3, 3, 30) == pytest.approx((0, 1), abs=1e-5)


@pytest.mark.parametrize(("p", "count"), [(1, 400), (2, 300), (3, 80)])
def test_moments_of_ackley(p: int, count: int) -> None:
    assert gauss_moments(functions.ackley, p, count) == pytest.approx((0, 1), abs=5e-3)


@pytest.mark.parametrize("p", [6, 20])
def test_moments_of_ackley_in_many_dimensions(p: int) -> None:
    values = functions.ackley(np.random.default_rng(0).random((40_000, p)))
    assert abs(values.mean()) < 0.03
    assert values.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("name", functions.KNOWN)
def test_best_points(name: str) -> None:
    """They are stationary, alike, and better than anything that a search finds."""
    known = functions.KNOWN[name]
    p = known.dimension or 3
    points = known.maximizers(p)
    values = known.function(points)
    assert values == pytest.approx(known.maximum(p), abs=1e-9)
    rng = np.random.default_rng(0)
    near = np.clip(points[:, None] + 1e-3 * rng.standard_normal((len(points), 200, p)), 0, 1)
    assert (known.function(near.reshape(-1, p)) <= known.maximum(p)).all()
    x = rng.random((20_000, p))
    starts = x[known.function(x).argsort()[-5:]]
    for start in starts:
        found = minimize(lambda z: -known.function(z[None])[0], start, bounds=[(0, 1)] * p)
        assert -found.fun <= known.maximum(p) + 1e-9
    if name == "branin":
        assert len(points) == 3
        raw = known.maximum() * functions.BRANIN[1] + functions.BRANIN[0]
        assert raw == pytest.approx(-0.397887, abs=1e-6)
    if name == "hartmann3":
        raw = known.maximum() * functions.HARTMANN_3[1] + functions.HARTMANN_3[0]
        assert raw == pytest.approx(3.86278, abs=1e-5)
    if name == "hartmann6":
        raw = known.maximum() * functions.HARTMANN_6[1] + functions.HARTMANN_6[0]
        assert raw == pytest.approx(3.32237, abs=1e-5)


def test_what_functions_refuse() -> None:
    for call in (
        lambda: pm.functions.branin([[0.1, 0.2, 0.3]]),
        lambda: pm.functions.hartmann6(np.zeros((4, 3))),
        lambda: pm.functions.ackley([0.5, 0.5]),
        lambda: pm.functions.ackley(np.zeros((3, 0))),
        lambda: pm.functions.KNOWN["branin"].maximizers(3),
        lambda: pm.functions.KNOWN["ackley"].maximizers(),
    ):
        with pytest.raises(InvalidInput):
            call()
    with pytest.raises(UnknownName, match="branin"):
        pm.functions.named("brannin")


# -- as truths -------------------------------------------------------------------------------


def test_simulations_take_names_of_functions() -> None:
    game = pm.games.kernelized_bandit(SQUARE)
    by_name = pm.simulate(game, "gp_ucb", "branin", horizon=10, seeds=2)
    by_hand = pm.simulate(game, "gp_ucb", pm.functions.branin, horizon=10, seeds=2)
    assert np.array_equal(by_name.regret["gp_ucb"], by_hand.regret["gp_ucb"])
    assert by_name.theta[0] == pytest.approx(pm.functions.branin(game.candidates))
    duels = pm.games.kernelized_dueling(SQUARE)
    assert pm.simulate(duels, "dueling_ts", "ackley", horizon=5, seeds=2).theta.shape == (2, 20)


def test_functions_need_a_kernel_game_of_their_dimension() -> None:
    with pytest.raises(InvalidInput, match="only for kernel games"):
        pm.simulate(pm.games.linear_bandit(), "ids", "branin", horizon=5, seeds=1)
    with pytest.raises(InvalidInput, match="a function of 2 coordinates"):
        pm.simulate(pm.games.kernelized_bandit(), "ids", "branin", horizon=5, seeds=1)
    with pytest.raises(InvalidInput, match="branin"):
        read_truth("brannin", pm.games.kernelized_bandit(SQUARE))


def test_experiments_take_functions(tmp_path: Path) -> None:
    game = pm.games.kernelized_bandit(SQUARE)
    truth = read_truth("branin", game)
    assert isinstance(truth, Function)
    assert truth.name == "branin"
    assert read_truth(pm.functions.ackley, game).name == "ackley"
    theta = {"square": {"hills": "branin", "own": pm.functions.ackley}}
    experiment = pm.Experiment({"square": game}, ["gp_ts", "ids"], theta, horizon=5, seeds=2)
    first = experiment.run(tmp_path)
    assert set(first["theta"].to_pylist()) == {"hills", "own"}
    assert experiment.run(tmp_path).equals(first)  # kept, and found again
    with pytest.raises(InvalidInput, match="have a name"):
        pm.Experiment(game, "ids", lambda x: x[:, 0], horizon=5, seeds=2).run(tmp_path)


def test_files_say_points_kernels_and_functions(tmp_path: Path) -> None:
    file = tmp_path / "functions.toml"
    file.write_text(
        """
horizon = 4
seeds = 2
policies = ["gp_ucb", "dueling_ts"]
[games.hills]
game = "kernelized_bandit"
theta = "branin"
[games.hills.options]
points = { low = [0, 0], high = [1, 1], count = 12 }
kernel = { type = "matern", nu = 2.5, lengthscale = [0.3, 0.5] }
[games.duels]
game = "kernelized_dueling"
options = { points = { low = 0, high = 1, per_axis = 9 } }
theta = "ackley"
"""
    )
    hills, duels = pm.load_experiment(file).settings
    assert hills.game.gram.kernel == pm.kernels.Matern(2.5, (0.3, 0.5))
    assert np.array_equal(hills.game.candidates, pm.candidates.sobol([0, 0], [1, 1], 12))
    assert duels.game.points[:, 0] == pytest.approx(np.linspace(0, 1, 9))
    assert (hills.truth_name, duels.truth_name) == ("branin", "ackley")
    assert pm.load_experiment(file).run().num_rows == 2 * 2 * 4


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ({"low": 0, "high": 1}, "one of count and per_axis"),
        ({}, "none of them"),
        ({"low": 0, "high": 1, "count": 3, "per_axis": 3}, "one of count and per_axis"),
        ({"low": 0, "high": 1, "per_axis": 3, "seed": 1}, "only with count"),
        ({"low": 0, "high": 1, "number": 3}, "number"),
        ({"low": 1, "high": 0, "count": 3}, "low must be below high"),
    ],
)
def test_points_that_are_refused(points: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        pm.games.kernelized_bandit(points)
