"""Candidates in a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


def test_a_grid_has_all_its_corners() -> None:
    grid = pm.candidates.grid([0, -1, 2], [1, 1, 5], 3)
    assert grid.shape == (27, 3)
    assert len(np.unique(grid, axis=0)) == 27
    for corner in np.ndindex(2, 2, 2):
        point = np.where(np.array(corner) == 1, [1, 1, 5], [0, -1, 2])
        assert (grid == point).all(axis=1).any()
    np.testing.assert_array_equal(pm.candidates.grid(0, 2, 5)[:, 0], [0, 0.5, 1, 1.5, 2])
    assert pm.candidates.grid(0, 2, 1).tolist() == [[0.0]]


@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_even_points_are_in_the_box_and_even(count: int) -> None:
    points = pm.candidates.sobol([-1, 10], [1, 20], count, seed=3)
    assert points.shape == (count, 2)
    assert (points >= [-1, 10]).all()
    assert (points <= [1, 20]).all()
    np.testing.assert_array_equal(points, pm.candidates.sobol([-1, 10], [1, 20], count, seed=3))
    if count == 64:
        unit = (points - [-1, 10]) / [2, 10]
        assert qmc.discrepancy(unit) < 0.002
        assert qmc.discrepancy(np.random.default_rng(0).random((64, 2))) > 0.004
        other = pm.candidates.sobol([-1, 10], [1, 20], count, seed=4)
        assert not np.array_equal(points, other)


def test_a_sampler_gets_a_generator_and_a_count() -> None:
    def draw(rng: np.random.Generator, n: int) -> Any:
        return rng.normal(size=(n, 2))

    points = pm.candidates.sampled(draw, 7, seed=5)
    np.testing.assert_array_equal(points, np.random.default_rng(5).normal(size=(7, 2)))
    game = pm.games.kernelized_bandit(points)
    assert game.k == 7
    np.testing.assert_array_equal(game.candidates, points)


BAD: dict[str, tuple[Any, str]] = {
    "upside down": (lambda: pm.candidates.grid([0, 1], [1, 0], 3), "low must be below high"),
    "flat": (lambda: pm.candidates.grid(1, 1, 3), "low must be below high"),
    "other lengths": (lambda: pm.candidates.grid([0, 0], [1], 3), "low must be below high"),
    "empty": (lambda: pm.candidates.grid([], [], 3), "low must be below high"),
    "nan": (lambda: pm.candidates.sobol([np.nan], [1], 3), "low must be finite"),
    "infinite": (lambda: pm.candidates.sobol([0], [np.inf], 3), "high must be finite"),
    "a word": (lambda: pm.candidates.grid("a", 1, 3), "low must be real numbers"),
    "no points": (lambda: pm.candidates.grid(0, 1, 0), "per_axis must be"),
    "half a point": (lambda: pm.candidates.grid(0, 1, 2.5), "per_axis must be"),  # type: ignore[arg-type]
    "too many": (lambda: pm.candidates.grid([0] * 9, [1] * 9, 10), "at most 1,000,000 candidates"),
    "none": (lambda: pm.candidates.sobol(0, 1, 0), "count must be"),
    "seed": (lambda: pm.candidates.sobol(0, 1, 4, seed=-1), "seed must be"),
    "no sampler": (lambda: pm.candidates.sampled(3, 4), "sampler must be a function"),  # type: ignore[arg-type]
    "sampler seed": (
        lambda: pm.candidates.sampled(lambda rng, n: rng.random((n, 1)), 4, seed=-1),
        "seed must be a whole number >= 0; got -1",
    ),
    "sampler count": (
        lambda: pm.candidates.sampled(lambda rng, n: rng.random((n, 1)), 0),
        "count must be",
    ),
    "too few": (
        lambda: pm.candidates.sampled(lambda rng, n: rng.random((2, 1)), 4),
        "what the sampler returns must have shape (4, p); got (2, 1)",
    ),
    "not finite": (
        lambda: pm.candidates.sampled(lambda rng, n: np.full((n, 1), np.nan), 4),
        "what the sampler returns must be finite",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_boxes_and_counts_are_refused(name: str) -> None:
    call, words = BAD[name]
    with pytest.raises(InvalidInput) as caught:
        call()
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")
