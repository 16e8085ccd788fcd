"""Draws from the posterior of finite games follow it, whichever way they are found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import partial_monitoring as pm
from partial_monitoring.numerics.compiled import outcome_counts
from partial_monitoring.policies.finite.posterior import (
    Drawing,
    Posterior,
    initial_posterior,
    partitions,
)
from tests.oracles.finite_games import NAMED, random_game

Array = NDArray[Any]

APPLES = pm.games.apple_tasting()
PRICES = pm.games.dynamic_pricing([1, 2, 3])
ARMS = pm.games.bernoulli_bandit(3)

WAYS = {
    "first accepted": Drawing(),
    "normal alone": Drawing(ratio=1 - 1e-12),
    "normal alone, envelope of Pinsker": Drawing(ratio=1 - 1e-12, envelope=1),
    "chain": Drawing(tries=0),
}
"""R just below 1 leaves out the draws from one partition, and is exact up to 1e-12."""


def having_seen(game: Any, counts: list[list[int]], n: int = 1) -> Posterior:
    """What n replicates know after every action has shown each symbol some number of times."""
    known = initial_posterior(game, n)
    for action, row in enumerate(counts):
        for symbol, count in enumerate(row):
            for _ in range(count):
                shown = np.tile(np.eye(game.m)[symbol], (n, 1))
                known = known.after(np.full(n, action), shown)
    return known


def log_posterior(game: Any, counts: list[list[int]], theta: Array, lam: float) -> Array:
    """The plain formula, at points (q, d)."""
    found = -0.5 * lam * (theta**2).sum(axis=1)
    for action, row in enumerate(counts):
        for symbol, count in enumerate(row):
            if count:
                with np.errstate(divide="ignore"):
                    found += count * np.log(theta @ game.observation_maps[action, symbol])
    return found


def agrees(values: Array, points: Array, logs: Array) -> bool:
    """Whether values follow the distribution with log weights at points (Kolmogorov, Smirnov)."""
    order = np.argsort(points)
    weights = np.exp(logs - logs.max())[order]
    below = np.cumsum(weights) / weights.sum()
    places = np.searchsorted(points[order], values)
    return bool(
        stats.kstest(np.interp(places, np.arange(len(below)), below), "uniform").pvalue > 1e-3
    )


def thirds(size: int = 400) -> Array:
    """A grid of the simplex with three outcomes, off its faces."""
    a, b = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size)
    inside = a + b < 1
    return np.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], axis=1)


# -- the law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seen", [[0, 0], [3, 7], [0, 40]], ids=str)
def test_two_outcomes(way: str, seen: list[int]) -> None:
    """A beta distribution, as the prior is nearly uniform."""
    revealing = next(a for a in range(APPLES.k) if len(APPLES.symbols[a]) == 2)
    counts = [seen if a == revealing else [2] for a in range(APPLES.k)]
    known = having_seen(APPLES, counts, 2000)
    theta, exact = known.draw(WAYS[way], np.random.default_rng(1).random(2000))
    if way == "first accepted":
        assert exact.all()
    of_first = theta[:, 0] @ APPLES.observation_maps[revealing, 0]
    assert stats.kstest(of_first, stats.beta(1 + seen[0], 1 + seen[1]).cdf).pvalue > 1e-3


@pytest.mark.parametrize("lam", [0.001, 30.0])
@pytest.mark.parametrize("way", WAYS)
def test_three_outcomes(way: str, lam: float) -> None:
    """Against a grid, in four directions."""
    counts = [[4], [3, 9], [8, 2]]
    known = having_seen(PRICES, counts, 2000)
    drawing = replace(WAYS[way], lam=lam)
    theta, exact = known.draw(drawing, np.random.default_rng(2).random(2000))
    assert exact.all() == (way != "chain")
    grid = thirds()
    logs = log_posterior(PRICES, counts, grid, lam)
    for direction in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.3, -1]):
        assert agrees(theta[:, 0] @ direction, grid @ direction, logs), direction


def test_the_normal_version() -> None:
    """R = 0 is the normal density on the simplex; in between it is in between."""
    counts = [[4], [3, 9], [8, 2]]
    known, grid = having_seen(PRICES, counts, 2000), thirds()
    normal, exact = np.zeros(len(grid)), log_posterior(PRICES, counts, grid, 0.0)
    for action in (1, 2):
        seen = np.array(counts[action])
        rates = seen / seen.sum()
        apart = grid @ PRICES.observation_maps[action, :2].T - rates
        normal -= 0.5 * seen.sum() * (apart**2).sum(axis=1)
        exact -= (seen * np.log(rates)).sum()
    for ratio in (0.0, 0.3):
        target = normal
        if ratio > 0:
            target = normal + np.minimum(0.0, exact - normal - np.log(ratio))
        for tries in (0, 1000):
            drawing = Drawing(envelope=1, ratio=ratio, tries=tries)
            theta, _ = known.draw(drawing, np.random.default_rng(3).random(2000))
            for direction in ([1, 0, 0], [0, 0, 1]):
                assert agrees(theta[:, 0] @ direction, grid @ direction, target)


def test_the_chain_agrees_with_exact_draws() -> None:
    """Eight outcomes, of which three halves are seen: four directions show nothing."""
    known = having_seen(ARMS, [[10, 90], [6, 9], [9, 6]], 4000)
    uniforms = np.random.default_rng(4).random(4000)
    exact, found = known.draw(Drawing(tries=10_000), uniforms)
    chain, none = known.draw(Drawing(tries=0), uniforms)
    assert found.all()
    assert not none.any()
    for direction in (*np.eye(8), *ARMS.rewards):
        one, two = exact[:, 0] @ direction, chain[:, 0] @ direction
        assert abs(one.mean() - two.mean()) < 0.12 * one.std()
        assert 0.85 < two.std() / one.std() < 1.15


def test_further_draws_of_a_round_are_of_the_same_law() -> None:
    known = having_seen(PRICES, [[4], [3, 9], [8, 2]])
    grid = thirds()
    logs = log_posterior(PRICES, [[4], [3, 9], [8, 2]], grid, 0.001)
    theta, _ = known.draw(Drawing(), np.array([0.7]), 2000)
    assert agrees(theta[0, :, 0], grid[:, 0], logs)
    chain, _ = known.draw(Drawing(tries=0), np.array([0.7]), 20_000)
    assert abs(chain[0].mean(axis=0) - theta[0].mean(axis=0)).max() < 0.01


# -- the bound -------------------------------------------------------------------------------------


@pytest.mark.parametrize("envelope", [1, 2])
def test_the_normal_density_is_above_the_posterior_everywhere(envelope: int) -> None:
    """KL(p || q) >= |p - q|^2, also at corners and where nothing was seen."""
    rng = np.random.default_rng(5)
    for seed in range(40):
        game = random_game(seed)
        parts, law = partitions(game), Drawing(envelope=envelope).law
        counts = rng.integers(0, rng.integers(1, 200), len(parts.size)).astype(float)
        totals = np.add.reduceat(counts, parts.first[:-1])
        for theta in (*rng.dirichlet(np.full(game.d, 0.3), 50), *np.eye(game.d)):
            chances = np.empty(len(counts))
            outcome_counts.see(parts, theta, chances)
            assert outcome_counts.log_ratio(parts, law, counts, totals, chances) <= 1e-9


def test_the_density_is_that_of_all_actions_apart() -> None:
    """Actions with the same partition share their counts, which changes F by a factor only."""
    game = pm.games.finite(losses=np.eye(4, 3), signals=["aab", "ccd", "xyz", "sss"])
    parts = partitions(game)
    assert len(parts.block) == 2
    assert (parts.shown[3] == -1).all()
    assert (parts.shown[0] == parts.shown[1]).all()
    counts = [[3, 5], [2, 2], [1, 0, 4], [9]]
    known, rng = having_seen(game, counts), np.random.default_rng(6)
    theta = rng.dirichlet(np.ones(3), 20)
    ours = np.empty(20)
    for i, point in enumerate(theta):
        chances = np.empty(len(parts.size))
        outcome_counts.see(parts, point, chances)
        own = known.belief.counts[0], known.belief.totals[0]
        ours[i] = -outcome_counts.divergence(parts, *own, chances, outcome_counts.NONE)
    assert np.ptp(ours - log_posterior(game, counts, theta, 0.0)) < 1e-9


# -- the middle ------------------------------------------------------------------------------------


def test_the_middle_is_the_posterior_mean() -> None:
    """Exactly if there is one partition, else nearly."""
    game = pm.games.finite(losses=np.eye(3), signals=["xyz", "sss", "sss"])
    known = having_seen(game, [[5, 0, 2], [4], [1]])
    assert np.allclose(known.middle, np.array([[6, 1, 3]]) / 10, atol=1e-12)
    counts = [[4], [3, 9], [8, 2]]
    grid = thirds()
    logs = log_posterior(PRICES, counts, grid, 0.0)
    weights = np.exp(logs - logs.max())
    mean = (weights[:, None] * grid).sum(axis=0) / weights.sum()
    spread = np.sqrt((weights[:, None] * (grid - mean) ** 2).sum(axis=0) / weights.sum())
    assert (abs(having_seen(PRICES, counts).middle[0] - mean) < 0.5 * spread).all()


# -- corners ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_hangs_or_leaves_the_simplex(name: str, way: str) -> None:
    """Also after many rounds in one corner."""
    game, rng = NAMED[name], np.random.default_rng(7)
    for rounds in (0, 30):
        known = initial_posterior(game, 3)
        for _ in range(rounds):
            action = rng.integers(0, game.k, 3)
            known = known.after(action, game.observation_maps[action, :, 0])
        theta, _ = known.draw(WAYS[way], rng.random(3), 4)
        assert (theta >= 0).all()
        assert np.allclose(theta.sum(axis=2), 1.0)


def test_states_are_not_changed() -> None:
    known = initial_posterior(PRICES, 2)
    before = [array.copy() for array in known.belief]
    known.after(np.array([1, 2]), np.eye(PRICES.m)[[0, 1]])
    known.draw(Drawing(), np.array([0.2, 0.3]))
    assert all(map(np.array_equal, before, known.belief))
