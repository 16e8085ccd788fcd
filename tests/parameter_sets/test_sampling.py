"""Random truths are uniform, whatever the shape of Theta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

SEEDS = np.arange(400)
SIDES = np.concatenate([np.eye(2), -np.eye(2)])
TILT = np.array([[1.0, 1.0], [1.0, -1.0]])

# A linear function of theta that is uniform on [0, 1] or has the given distribution function.
SETS: dict[str, tuple[pm.Polytope, Any, Any]] = {
    "a large square": (pm.Polytope(SIDES, [1e5, 1e5, 0, 0]), lambda x: x[:, 0] / 1e5, "uniform"),
    "long and thin": (pm.Polytope(SIDES, [1e4, 1e-3, 0, 0]), lambda x: x[:, 0] / 1e4, "uniform"),
    "thin, the other side": (
        pm.Polytope(SIDES, [1e4, 1e-3, 0, 0]),
        lambda x: x[:, 1] * 1e3,
        "uniform",
    ),
    "thin and tilted": (
        pm.Polytope(np.concatenate([TILT, -TILT]), [2.0, 1e-3, 0.0, 1e-3]),
        lambda x: x.sum(axis=1) / 2,
        "uniform",
    ),
    "a triangle": (
        pm.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 30]),
        lambda x: x[:, 0] / 30,
        lambda u: 1 - (1 - np.clip(u, 0, 1)) ** 2,
    ),
    "a half plane": (
        pm.Polytope([[-1.0, 0.0]], [0.0]),  # within 1 of (1, 0), which is all in it
        lambda x: ((x - [1, 0]) ** 2).sum(axis=1),
        "uniform",
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_random_truths_are_uniform(name: str) -> None:
    """Kolmogorov's test; a false alarm has probability 1e-4 for each set."""
    parameters, look, distribution = SETS[name]
    theta = parameters.sample(SEEDS)
    assert parameters.contains(theta).all()
    assert stats.kstest(look(theta), distribution).pvalue > 1e-4


def test_random_truths_in_many_dimensions() -> None:
    """The squared length in the unit ball of R^6 to the power of 3 is uniform."""
    theta = pm.AllParameters(6).sample(SEEDS)
    assert stats.kstest((theta**2).sum(axis=1) ** 3, "uniform").pvalue > 1e-4


def test_the_search_for_the_worst_stays_near_the_prior_mean() -> None:
    game = pm.games.linear_bandit(np.eye(3), pm.AllParameters(3))
    worst = pm.simulate(game, "ids", "worst", horizon=10, seeds=2)
    assert np.linalg.norm(worst.theta, axis=1).max() <= 1 + 1e-12


def test_errors_name_theta() -> None:
    game = pm.games.linear_bandit()
    for theta in ([2.0, 0, 0], [[2.0, 0, 0]]):
        with pytest.raises(InvalidInput, match=r"^theta must lie in the game's parameter set"):
            pm.simulate(game, "ids", theta, horizon=3, seeds=1)


@pytest.mark.parametrize("noise", ["bernoulli", "sign"])
def test_duels_with_means_outside_the_noise_are_refused(noise: str) -> None:
    game = pm.games.dueling(2 * np.eye(3), parameters=pm.Ball(np.zeros(3), 1.0))
    with pytest.raises(InvalidInput, match=f"{noise} observations need means between"):
        pm.simulate(game, "dueling_ids", [0.8, 0.0, 0.0], horizon=3, seeds=1, noise=noise)


@pytest.mark.parametrize("game", [pm.games.linear_bandit(), pm.games.dueling()])
def test_noise_that_is_no_name_is_refused(game: pm.Game) -> None:
    odd: Any = ["x"]
    with pytest.raises(InvalidInput, match=r"noise.*\['x'\]"):
        pm.simulate(game, "ids", "random", horizon=3, seeds=1, noise=odd)


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0, 1e6])
def test_the_middle_of_a_polytope_is_not_at_a_corner(size: float) -> None:
    square = pm.Polytope(SIDES, [2 * size, 2 * size, 0, 0])
    assert square.relative_interior_point() == pytest.approx([size, size])
    cone = pm.Polytope(-np.eye(2), [0, 0])  # any ball fits
    assert (cone.relative_interior_point() >= 1 - 1e-9).all()


@pytest.mark.parametrize(("rows", "right"), [(1, 1e-30), (1e30, 1), (1e-30, 1), (1, 1e30)])
def test_tiny_and_huge_polytopes_are_sampled_like_plain_ones(rows: float, right: float) -> None:
    a = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 1]])
    plain, scaled = pm.Polytope(a, np.ones(5)), pm.Polytope(a * rows, np.full(5, right))
    size = right / rows
    seeds = np.arange(20)
    np.testing.assert_allclose(scaled.sample(seeds) / size, plain.sample(seeds), rtol=1e-6)
    assert scaled.support([1.0, 1.0]) == pytest.approx(size)
    assert scaled.norm_bound([0, 0]) == pytest.approx(plain.norm_bound([0, 0]) * size)
