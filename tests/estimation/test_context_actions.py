"""Contexts that come with their features are seen, and learned from, in compiled steps."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.design import MOST_IN_COLUMNS, Design, design, leverage_of
from partial_monitoring.estimation.linear.least_squares import initial
from partial_monitoring.estimation.linear.observed import taken_in, updated_in
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.estimation.linear.updating import updated_by_rows
from partial_monitoring.numerics.linalg import in_basis

READ_LATER = ("observed_features", "shows_own_reward", "features_by_coordinate", "rivals")


def plainly(whole: Design, game: pm.Game) -> Design:
    """Return the design of a game in the coordinates of another, by its formulas."""
    whitening = whole.noise_std / np.full(game.k, game.noise_std)
    rows = game.observation_maps * whitening[:, None, None]
    maps = in_basis(rows, whole.basis[:, : whole.rank])
    return replace(
        whole,
        game=game,
        offsets=game.features @ whole.prior_mean,
        slopes=in_basis(game.features, whole.basis),
        maps=np.array(maps),
        expected=rows @ whole.prior_mean,
        whitening=whitening,
        leverage=leverage_of(maps, whole.regularization),
        groups=np.array([0, game.k]),
    )


def same(one: Any, two: Any, name: str) -> bool:
    mine, other = getattr(one, name), getattr(two, name)
    if name == "leverage":
        return bool(mine == pytest.approx(other, rel=1e-14))
    if not isinstance(mine, np.ndarray):
        return mine is other or bool(mine == other)
    kinds = mine.dtype == other.dtype and mine.flags.writeable == other.flags.writeable
    return kinds and mine.flags.c_contiguous and np.array_equal(mine, other)


def contexts(d: int, parameters: Any) -> list[pm.Game]:
    """Return games of many shapes: alike, equal, zero and padded actions, other noise."""
    rng = np.random.default_rng(d)
    phi = rng.normal(size=(6, d))
    twice = phi[[0, 1, 0, 2, 1]]
    maps = [rng.normal(size=(m, d)) for m in (2, 0, 1, 3, 1, 2)]
    noises = np.array([0.5, 1.0, 2.0, 1.0, 1.0, 3.0])
    return [
        pm.Game(phi, phi[:, None, :], parameters),
        pm.Game(twice, twice[:, None, :], parameters),
        pm.Game(phi[[3, 3, 3]], phi[[3, 3, 3], None, :], parameters),
        pm.Game(np.zeros((2, d)), np.zeros((2, 1, d)), parameters),
        pm.Game(phi[:1], phi[:1, None, :], parameters),
        pm.Game(phi, maps, parameters),
        pm.Game(phi, [[]] * 6, parameters),
        pm.Game(phi, maps, parameters, noises),
        pm.Game(phi, phi[:, None, :], parameters, 0.3),
        pm.Game(phi, phi[:, None, :] + 0.0, parameters, np.ones(6)),
    ]


def wholes(d: int) -> list[tuple[Design, Any]]:
    """Return designs of parameters that are seen as a whole, from elsewhere, and in part."""
    everywhere, ball = pm.AllParameters(d), pm.Ball(np.full(d, 0.2), 1.0)
    seen = np.eye(d)[None]
    found = []
    for parameters in (everywhere, ball, pm.Simplex(d) if d > 1 else everywhere):
        found.append((design(pm.Game(np.zeros((1, d)), seen, parameters)), parameters))
    part = pm.Game(np.eye(d)[:1], np.eye(d)[None, :1], everywhere)
    found.append((design(part, prior_mean=np.ones(d)), everywhere))
    return found


@pytest.mark.parametrize("d", [1, 2, 7, 10, 20])
def test_designs_are_those_of_the_formulas(d: int) -> None:
    for whole, parameters in wholes(d):
        for game in contexts(d, parameters):
            made, expected = through(whole, game), plainly(whole, game)
            assert made is through(whole, game)
            for name in (*(field.name for field in fields(Design)), *READ_LATER, "always_best"):
                assert same(made, expected, name), name
            assert np.array_equal(made.copies, expected.copies)


def test_what_designs_of_one_shape_share_is_not_mixed_up() -> None:
    whole, parameters = wholes(3)[0]
    one, *_ = games = contexts(3, parameters)
    for game in [*games, *games[::-1], one]:
        made = through(whole, game)
        assert made.whitening.shape == (game.k,)
        assert made.expected.shape == (game.k, game.m)
        assert made.rivals.shape == (1, game.k)


def test_many_actions_are_not_kept_by_coordinate() -> None:
    whole, parameters = wholes(2)[0]
    phi = np.random.default_rng(0).normal(size=(MOST_IN_COLUMNS + 1, 2))
    game = pm.Game(phi, phi[:, None, :], parameters)
    made, expected = through(whole, game), plainly(whole, game)
    assert made.features_by_coordinate.shape == (0, 0)
    assert all(same(made, expected, name) for name in (*READ_LATER, "always_best", "leverage"))


def test_rows_that_are_too_long_are_refused() -> None:
    whole, parameters = wholes(2)[0]
    with pytest.raises(InvalidInput, match="observation maps must not be so large"):
        through(whole, pm.Game([[1.0, 0.0]], [[[1e7, 0.0]]], parameters))


@pytest.mark.parametrize("d", [*range(1, 18), 33, 50])
def test_learning_at_one_stroke_is_learning_step_by_step(d: int) -> None:
    rng = np.random.default_rng(d)
    parameters = pm.AllParameters(d)
    everything = pm.Game(np.zeros((1, d)), np.eye(d)[None], parameters)
    whole = design(everything, regularization=0.7)
    whole = replace(whole, maps=np.zeros((1, 0, d)), expected=np.zeros((1, 0)))
    for n in (1, 3):
        estimate = initial(whole, n, by_rows=True)
        for t in range(60):
            game = contexts(d, parameters)[t % 10]
            scale = 200.0 if t == 30 else 1.0  # a row of high leverage
            part = through(whole, replace_maps(game, scale))
            action, shown = rng.integers(game.k, size=n), rng.normal(size=(n, game.m))
            stepwise = updated_by_rows(estimate, *taken_in(part, action, shown))
            estimate = updated_in(estimate, part, action, shown)
            for field in fields(estimate):
                mine, other = getattr(estimate, field.name), getattr(stepwise, field.name)
                assert mine is other or np.array_equal(mine, other), field.name


def replace_maps(game: pm.Game, scale: float) -> pm.Game:
    rows = [scale * game.rows(a) for a in range(game.k)]
    return pm.Game(game.features, rows, game.parameters, game.noise_std)
