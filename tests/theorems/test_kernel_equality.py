"""A kernel game and the same game in coordinates: the same decisions along whole runs.

Two sets of coordinates: those of ``game.linear``, and those of the joint Gram matrix of all rewards
and observations, factored by the tests themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.estimation.kernel import covariance
from partial_monitoring.estimation.kernel import design as kernel_design
from partial_monitoring.estimation.kernel import posterior as estimation
from partial_monitoring.kernels import (
    Linear,
    Matern,
    Periodic,
    Polynomial,
    SquaredExponential,
    readings,
)
from partial_monitoring.policies.ids import gaps
from tests.oracles.kernel_routes import (
    GAMES,
    bandit,
    compare,
    estimated,
    factored,
    observation,
    play,
    points,
    truth,
)

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
GAINS = {
    "log_det": pm.information.log_det,
    "directed": pm.information.directed,
    "directed_relaxed": pm.information.directed_relaxed,
}
RULES: dict[str, Any] = {
    "approximate": pm.sampling.approximate,
    "generalized": pm.sampling.generalized(3.0),
    "deterministic": pm.sampling.deterministic,
    "e2d": pm.sampling.e2d(0.7),
    "anytime": pm.sampling.e2d("anytime"),
}
TIED = ("copies", "duels")
"""Games with copies of actions, of which either route may play any."""


def mostly(same: float, name: str) -> None:
    assert same > (0.7 if name in TIED else 0.97)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", GAMES)
def test_gap_estimates_along_whole_runs(name: str, gap: str) -> None:
    game = GAMES[name]()
    policy = pm.IDS(gap=GAPS[gap])
    linear = game.linear if gap == "relaxed" else factored(game)
    mostly(play(game, policy, linear, seed=1), name)


@pytest.mark.parametrize("name", GAMES)
def test_directed_information_towards_the_greedy_action(name: str) -> None:
    game = GAMES[name]()
    policy = pm.IDS(information=pm.information.directed_relaxed, gap=pm.gaps.relaxed)
    mostly(play(game, policy, factored(game), seed=3), name)


ROUNDS = {"bandit": 15, "silent": 40, "two rows": 40, "written": 60, "matern": 40, "copies": 40}
"""For conic programs that tell who may be best; the others are played at night."""


@pytest.mark.parametrize("available", [False, True])
@pytest.mark.parametrize("name", ROUNDS)
def test_directed_information_along_runs(name: str, available: bool) -> None:
    """Also if the actions that are there see less than those that were played before."""
    directed_runs(name, ROUNDS[name], available)


@pytest.mark.nightly
@pytest.mark.parametrize("available", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_directed_information_along_whole_runs(name: str, available: bool) -> None:
    directed_runs(name, 150, available)


def directed_runs(name: str, rounds: int, available: bool) -> None:
    game = GAMES[name]()
    policy = pm.IDS(information=pm.information.directed)
    mostly(play(game, policy, factored(game), seed=5, rounds=rounds, available=available), name)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["bandit", "two rows", "localized duels", "transductive"])
def test_sampling_rules_along_whole_runs(name: str, rule: str) -> None:
    game = GAMES[name]()
    policy = pm.IDS(gap=pm.gaps.mean, sampling=RULES[rule], confidence=pm.confidence.fixed(0.05))
    mostly(play(game, policy, factored(game), seed=4), name)


@pytest.mark.parametrize("name", GAMES)
def test_rounds_in_which_some_actions_are_missing(name: str) -> None:
    game = GAMES[name]()
    policy = pm.IDS(confidence=pm.confidence.fixed(0.1))
    mostly(play(game, policy, factored(game), seed=5, available=True), name)


def test_what_missing_actions_have_shown_is_not_forgotten() -> None:
    """Only targets are left, which show nothing; who may be best is known from the probes."""
    game = pm.games.kernelized_transductive(points(7), points(6, seed=1), norm_bound=3.0)
    linear = factored(game)
    policy = pm.IDS(information=pm.information.directed, regularization=0.1)
    other = replace(policy, norm_bound=game.norm_bound)
    mine, theirs = policy.init(game, 1), other.init(linear, 1)
    rng, theta = np.random.default_rng(3), truth(game, 8)
    mask = np.zeros(game.k, dtype=bool)
    mask[:7] = mask[-1] = True
    for t in range(100):
        action = np.array([7 + t % 6])
        seen = observation(game, int(action[0]), theta, rng)
        mine, theirs = policy.update(mine, action, seen), other.update(theirs, action, seen)
        if t % 20 == 19:
            one = policy.decide(mine, np.array([0.4]), mask)
            compare(one, other.decide(theirs, np.array([0.4]), mask), 1e-8)


KERNELS: list[Any] = [
    SquaredExponential(0.3),
    Matern(0.5, 0.4, 2.0),
    Matern(1.5, (0.2, 0.7)),
    Linear(1.5, 0.2),
    SquaredExponential((0.3, 0.9)) * Periodic(0.8) + Linear(),
]


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_any_readings_of_any_kernel(seed: int) -> None:
    """Rewards and feedback that are random weighted sums, some of them of nothing."""
    rng = np.random.default_rng(seed)
    kernel = KERNELS[rng.integers(len(KERNELS))]
    x = rng.uniform(size=(int(rng.integers(1, 7)), 2))
    k, m = int(rng.integers(1, 8)), int(rng.integers(1, 4))

    def some() -> readings.Reading:
        weights = rng.normal(size=(k, len(x))) * (rng.random((k, len(x))) < 0.6)
        return readings.weighted(x, weights)

    noise = rng.uniform(0.3, 2.0, k) if rng.random() < 0.5 else 0.6
    game = pm.KernelGame.from_kernel(
        kernel, some(), readings.together(*(some() for _ in range(m))), noise_std=noise
    )
    policy = pm.IDS(
        gap=rng.choice(list(GAPS.values())),
        information=rng.choice(list(GAINS.values()), p=[0.5, 0.1, 0.4]),
        regularization=float(rng.choice([0.3, 1.0, 5.0])),
    )
    play(game, policy, factored(game), rounds=25, seed=seed)


@pytest.mark.parametrize("name", GAMES)
def test_many_small_refreshes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed anew is what was kept up to date."""
    monkeypatch.setattr(estimation, "REFRESH", 7)
    game = GAMES[name]()
    mostly(play(game, pm.IDS(gap=pm.gaps.mean), factored(game), rounds=70, seed=6), name)


@pytest.mark.parametrize("refresh", [5, 1024])
@pytest.mark.parametrize("name", GAMES)
def test_covariances_that_are_not_written_down(
    name: str, refresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_design, "DENSE", 0)
    monkeypatch.setattr(estimation, "REFRESH", refresh)
    game = GAMES[name]()
    policy = pm.IDS(information=pm.information.directed_relaxed)
    mostly(play(game, policy, factored(game), rounds=50, seed=7), name)


@pytest.mark.parametrize("fold", [1, 2, 1000])
def test_folding_changes_nothing(fold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covariance, "FOLD", fold)
    for name in ("bandit", "three rows"):
        game = GAMES[name]()
        mostly(play(game, pm.IDS(), factored(game), seed=8), name)


@pytest.mark.parametrize("name", ["bandit", "three rows"])
def test_past_the_first_refresh(name: str) -> None:
    game = GAMES[name]()
    assert estimation.REFRESH == 1024
    same = play(game, pm.IDS(gap=pm.gaps.mean), factored(game), rounds=1060, seed=9)
    assert same > 0.97


@pytest.mark.parametrize("seed", range(3))
def test_many_actions_are_compared_lazily(seed: int) -> None:
    """The distribution is that of the exact gaps, in all three ways."""
    game = bandit(320, Polynomial(3), dimension=2, noise_std=0.5)
    linear = factored(game)
    policy = pm.IDS()
    other = replace(policy, norm_bound=game.norm_bound)
    mine, theirs = policy.init(game, 1), other.init(linear, 1)
    rng, theta = np.random.default_rng(seed), truth(game, seed)
    for t in range(25):
        one, two = (p.decide(s, np.array([0.3])) for p, s in ((policy, mine), (other, theirs)))
        np.testing.assert_allclose(one.ratio, two.ratio, rtol=1e-8)
        np.testing.assert_allclose(estimated(one, game), estimated(two, linear), atol=1e-8)
        if t % 8 == 7:
            found = policy.confidence_set(mine)
            exact, gain = pm.gaps.exact(game, found), pm.information.log_det(game, found)
            played = one.distribution[0] > 0
            np.testing.assert_allclose(one.gaps[0, played], exact[0, played], rtol=1e-8)
            best = pm.sampling.Generalized(2.0).pairs(exact, gain).ratio
            np.testing.assert_allclose(one.ratio, best, rtol=1e-8)
        seen = observation(game, int(one.action[0]), theta, rng)
        mine, theirs = policy.update(mine, one.action, seen), other.update(theirs, one.action, seen)


def test_the_largest_gap_of_many_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written down it is that of the linear game; otherwise at most twice the truth, as well."""
    kernel = SquaredExponential(0.3) + 1000.0  # most of the size of a value is shared by all
    game = bandit(310, kernel, norm_bound=0.7)
    policy = pm.IDS(gap=pm.gaps.mean)
    linear = replace(policy, norm_bound=0.7)
    own = gaps.largest_gap(policy.confidence_set(policy.init(game, 1)))
    theirs = gaps.largest_gap(linear.confidence_set(linear.init(game.linear, 1)))
    assert own == pytest.approx(theirs, rel=1e-6)
    features = game.linear.features
    furthest = max(np.linalg.norm(features - phi, axis=1).max() for phi in features)
    monkeypatch.setattr(kernel_design, "DENSE", 0)
    growing = gaps.largest_gap(policy.confidence_set(policy.init(game, 1)))
    for found in (own, growing):
        assert 0.7 * furthest * (1 - 1e-6) <= found <= 2 * 0.7 * furthest * (1 + 1e-6)


@pytest.mark.parametrize("lam", [1e-4, 0.1, 10.0, 1e4])
def test_any_regularization(lam: float) -> None:
    for name in ("bandit", "two rows", "localized duels"):
        game = GAMES[name]()
        policy = pm.IDS(regularization=lam, gap=pm.gaps.mean)
        play(game, policy, factored(game), rounds=60, seed=11, close=1e-8 * max(1.0, 1e-2 / lam))


def test_a_norm_bound_of_the_policy_replaces_that_of_the_game() -> None:
    game = GAMES["bandit"]()
    mine, theirs = (pm.IDS(norm_bound=b) for b in (4.0, None))
    wide, usual = (p.decide(p.init(game, 1), np.array([0.5])).beta[0] for p in (mine, theirs))
    assert (wide, usual) == pytest.approx((16.0, 1.0))


def test_three_kernels_and_one_kernel_are_the_same_game() -> None:
    """A bandit from its kernel matrix, given three times, is the bandit of the points."""
    x = points(9, 2)
    kernel = Matern(2.5, 0.4)
    k = kernel(x)
    one = pm.games.kernelized_bandit(x, kernel=kernel, noise_std=0.2)
    two = pm.KernelGame(k, k[:, None, :, None], k[:, :, None], noise_std=0.2)
    assert two.shows_own_reward
    play(one, pm.IDS(), two.linear, rounds=40)
    np.testing.assert_allclose(one.gram.matrix, two.gram.matrix, atol=1e-15)
