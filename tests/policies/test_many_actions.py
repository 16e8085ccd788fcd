"""Games with many actions: what is found in closed form is what programs find."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.policies.finite import estimation, patterns
from partial_monitoring.policies.finite.geometry import Geometry, geometry
from partial_monitoring.policies.finite.patterns import Patterns, is_fan
from partial_monitoring.policies.needs import analysis_of
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.play import play_batched
from tests.oracles.finite_games import random_game

TEN_PRICES = pm.games.dynamic_pricing(range(1, 11))
FANS = {
    "apple tasting": pm.games.apple_tasting(),
    "ten prices": TEN_PRICES,
    "uneven prices": pm.games.dynamic_pricing([1, 2, 4, 5, 9, 10], cost=1),
    "arms": pm.games.bernoulli_bandit(3),
}


def by_programs(observed: estimation.Observed, shortest: np.ndarray) -> np.ndarray:
    """The flattest solutions, each by a linear and a quadratic program."""
    if observed.free.shape[1] == 0:
        return shortest
    return np.array([estimation._flattest(observed.rows, observed.free, one) for one in shortest])


@pytest.mark.parametrize("game", FANS.values(), ids=FANS.keys())
def test_flattest_vectors_in_closed_form(
    game: pm.FiniteGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = geometry(game, "test")
    monkeypatch.setattr(estimation.Observed, "flattest", by_programs)
    expected = geometry(game, "test")
    assert np.abs(found.vectors - expected.vectors).max() <= 1e-13
    assert np.array_equal(found.observers, expected.observers)


@pytest.mark.parametrize("seed", range(20))
def test_shifted_solutions(seed: int) -> None:
    """Symbols of different numbers per observer, entries with ties, against the programs."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, size=rng.integers(2, 7))
    starts = np.append(0, np.cumsum(counts)[:-1])
    owner = np.repeat(np.arange(len(counts)), counts)
    # Shifts of sum 0, and a solution that is orthogonal to them: equal sums of all observers.
    shifts = np.eye(len(counts))[:, 1:] - np.eye(len(counts))[:, :1]
    free = np.linalg.qr(shifts[owner])[0]
    raw = rng.integers(-3, 4, size=(5, len(owner))).astype(float)
    shortest = raw - raw @ free @ free.T
    rows = np.eye(len(owner)) - free @ free.T
    expected = np.array([estimation._flattest(rows, free, one) for one in shortest])
    assert np.allclose(estimation.shifted(shortest, starts), expected, rtol=0, atol=1e-7)


def test_many_vectors_estimate_without_bias() -> None:
    shape = geometry(pm.games.dynamic_pricing(range(1, 41)), "test")
    losses = -shape.game.features / shape.unit
    first, second = np.array(shape.pairs).T
    estimated = np.einsum("ecs,csd->ed", shape.vectors, shape.game.observation_maps)
    assert np.abs(estimated - (losses[first] - losses[second])).max() < 1e-12


@pytest.mark.parametrize("game", FANS.values(), ids=FANS.keys())
def test_a_fan_leaves_what_programs_leave(
    game: pm.FiniteGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = geometry(game, "test")
    assert is_fan(shape)
    quick = Patterns(shape)
    monkeypatch.setattr(patterns, "is_fan", lambda own: False)
    slow = Patterns(shape)
    signs = random_signs(shape, 12)
    for own, expected in zip(quick.masks(signs), slow.masks(signs), strict=True):
        assert np.array_equal(own, expected)
    left = slow.table.left[slow.numbers(signs)]
    assert np.array_equal(quick.table.left[quick.numbers(signs)], left)
    assert left.any(axis=1).any()


def random_signs(shape: Geometry, count: int) -> np.ndarray:
    """Patterns, half of them those of some order of the actions, the others with a few errors."""
    rng = np.random.default_rng(len(shape.pairs))
    first, second = np.array(shape.pairs).T
    signs = np.zeros((count, len(first)), dtype=np.int8)
    for row, own in enumerate(signs):
        height = rng.permutation(shape.game.k)
        own[:] = np.sign(height[first] - height[second])
        own[rng.random(len(own)) < rng.random()] = 0
        if row % 2:
            wrong = rng.random(len(own)) < 0.1
            own[wrong] = -own[wrong]
    return signs


def test_which_games_are_fans() -> None:
    """Three actions that are best in turn on a line are none, and neither are most with k > d."""
    line = pm.FiniteGame([[0, -3], [-1, -1], [-3, 0]], ["ab", "ab", "ab"])
    assert not is_fan(geometry(line, "test"))
    assert not is_fan(geometry(pm.FiniteGame([[1, 2]], ["aa"]), "test"))
    # The point where 80 prices earn the same is 1e-14 away from the boundary.
    assert is_fan(geometry(pm.games.dynamic_pricing(range(1, 61)), "test"))


@pytest.mark.parametrize("policy", [pm.CBP(), pm.RandCBP()], ids=["cbp", "randcbp"])
def test_the_same_actions_with_and_without_programs(
    policy: pm.CBP, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played() -> np.ndarray:
        theta = np.random.default_rng(4).dirichlet(np.ones(TEN_PRICES.d), size=2)
        world = Environment(TEN_PRICES, theta, np.arange(2))
        plays: np.ndarray = play_batched(TEN_PRICES, policy, world, np.arange(1, 301)).plays
        return plays

    quick = played()
    monkeypatch.setattr(patterns, "is_fan", lambda own: False)
    monkeypatch.setattr(estimation.Observed, "flattest", by_programs)
    assert np.array_equal(played(), quick)


def test_patterns_that_were_forgotten_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = (geometry(random_game(seed), "test") for seed in range(50))
    shape = next(own for own in shapes if len(own.pairs) > 2 and not is_fan(own))
    signs = random_signs(shape, 40)
    expected = Patterns(shape).masks(signs)
    monkeypatch.setattr(patterns, "MOST", 5)
    short = Patterns(shape)
    for i in range(40):
        for own, mask in zip(short.masks(signs[i : i + 1]), expected, strict=True):
            assert np.array_equal(own[0], mask[i])
    assert short.table.known < 3


def test_a_game_is_analysed_once() -> None:
    game = pm.games.dynamic_pricing([1, 2, 3])
    assert geometry(game, "test").analysis is analysis_of(game)
    assert pm.RandCBP().init(game, 2).geometry.analysis is analysis_of(game)
