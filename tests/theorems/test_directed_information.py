"""Directed information, against its definition and the bounds of notes 1.6."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from tests.oracles.bodies import KINDS
from tests.oracles.linear_data import Data, draw_data, learn, some_data


@pytest.mark.parametrize("kind", KINDS)
def test_directed_information_is_at_most_eight_times_the_information(kind: str) -> None:
    """E17: J <= 8 I for lambda >= L^2, where L bounds the (whitened) maps (E13)."""
    for seed in range(12):
        data = some_data(seed, kind)
        game = data.game
        rho = np.ones(game.k) if np.ndim(game.noise_std) == 0 else np.asarray(game.noise_std)
        loudest = max(
            (np.linalg.norm(m, 2) for m in game.observation_maps / rho[:, None, None] if m.size),
            default=0.0,
        )
        found = learn(data, pm.IDS(regularization=max(loudest**2, 1e-3)))
        directed = pm.information.directed(game, found)[0]
        gains = pm.information.log_det(game, found)[0]
        assert (directed >= 0).all()
        assert (directed <= 8 * gains * (1 + 1e-5) + 1e-9).all()


def test_four_times_the_information_is_not_enough() -> None:
    """E17: the printed factor 4 fails; one row with lambda = L^2 gives 4 / log 2 = 5.77."""
    game = pm.Game([[1.0], [-1.0]], [[[1.0]], [[1.0]]], pm.AllParameters(1))
    policy = pm.IDS(regularization=1.0)
    found = policy.confidence_set(policy.init(game, 1))
    directed = pm.information.directed(game, found)[0]
    gains = pm.information.log_det(game, found)[0]
    assert directed / gains == pytest.approx(np.full(2, 4 / np.log(2)), rel=1e-9)


def test_loud_maps_need_more_regularization() -> None:
    """E13: M = 10, lambda = 10 has |M|^2 / lambda = 10 > 4 I = 4.80: lambda >= L fails."""
    game = pm.Game([[1.0], [-1.0]], [[[10.0]], [[10.0]]], pm.AllParameters(1))
    policy = pm.IDS(regularization=10.0)
    found = policy.confidence_set(policy.init(game, 1))
    gain = pm.information.log_det(game, found)[0, 0]
    assert 4 * gain == pytest.approx(4.80, abs=5e-3)
    assert pm.information.directed(game, found)[0, 0] == pytest.approx(20.0, rel=1e-9)
    assert pm.information.directed(game, found)[0, 0] > 8 * gain


def plausible_in(data: Data, found: ConfidenceSet) -> list[int]:
    """P(E): actions that are best for some plausible parameter, by one conic program each."""
    root = np.linalg.cholesky(data.gram(1.0)).T
    features, kept = data.game.features, []
    for a in range(data.game.k):
        theta, t = cp.Variable(data.game.d), cp.Variable()
        others = np.delete(features, a, axis=0)
        inside = cp.norm(root @ (theta - found.center[0])) <= np.sqrt(found.beta[0])
        best = (features[a] - others) @ theta >= t
        problem = cp.Problem(cp.Maximize(t), [inside, best])
        problem.solve(solver=cp.CLARABEL)
        if problem.value >= -1e-7:
            kept.append(a)
    return kept


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 28, 34])
def test_directed_information_on_all_of_space_is_its_closed_form(seed: int) -> None:
    """J = 2 |M V^-1 u|^2 / |u|^2 for the widest difference u of plausible Pareto actions."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, 4)
    features = np.column_stack([np.cos(angles), np.sin(angles)])
    game = pm.Game(features, rng.normal(size=(4, 1, 2)), pm.AllParameters(2))
    data = draw_data(rng, game, 1.5 * rng.normal(size=2), int(rng.integers(5, 200)))
    found = learn(data)
    rivals = plausible_in(data, found)
    inverse = np.linalg.inv(data.gram(1.0))
    expected = np.zeros(4)
    if len(rivals) > 1:
        differences = [features[b] - features[a] for a, b in combinations(rivals, 2)]
        u = max(differences, key=lambda u: float(u @ inverse @ u))
        expected = 2 * ((game.observation_maps @ inverse @ u) ** 2).sum(axis=1) / (u @ inverse @ u)
    assert pm.information.directed(game, found)[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_relaxed_directed_information_looks_at_the_greedy_action_only(kind: str) -> None:
    """Pairs (b, ah) instead of all pairs: |theta+ - theta-| is one of an ordinary pair."""
    for seed in range(6):
        data = some_data(seed, kind)
        found = learn(data, pm.IDS(regularization=100.0))  # above L^2
        relaxed = pm.information.directed_relaxed(data.game, found)[0]
        gains = pm.information.log_det(data.game, found)[0]
        assert (relaxed >= 0).all()
        assert (relaxed <= 8 * gains * (1 + 1e-5) + 1e-9).all()


def test_for_two_actions_both_directed_informations_agree() -> None:
    rng = np.random.default_rng(3)
    for parameters in (pm.AllParameters(2), pm.Ball([0.0, 0.0], 1.0), pm.Box([-1, -1], [1, 1])):
        game = pm.Game(rng.normal(size=(2, 2)), rng.normal(size=(2, 1, 2)), parameters)
        found = learn(draw_data(rng, game, np.array([0.3, -0.2]), 8))
        full, relaxed = (
            information(game, found)[0]
            for information in (pm.information.directed, pm.information.directed_relaxed)
        )
        assert full == pytest.approx(relaxed, rel=1e-6, abs=1e-9)


def test_with_one_plausible_action_nothing_is_worth_knowing() -> None:
    game = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]], pm.AllParameters(2))
    data = Data(game, np.repeat([0, 1], 500), np.repeat([[5.0], [0.0]], 500, axis=0))
    found = learn(data)
    assert plausible_in(data, found) == [0]
    assert pm.information.directed(game, found)[0].tolist() == [0.0, 0.0]
    assert pm.gaps.exact(game, found)[0, 0] == 0.0


def with_one_more(rng: np.random.Generator) -> tuple[pm.Game, pm.Game]:
    """A game on a simplex, and the same with an action that is best at one corner only."""
    features = rng.integers(-3, 4, (3, 3)).astype(float)
    extra = np.array([features[:, 0].max(), -5.0, -29.0])
    maps = [*rng.integers(-2, 3, (3, 1, 3)).astype(float), np.zeros((0, 3))]
    game = pm.Game(features, maps[:3], pm.Simplex(3), noise_std=0.5)
    return game, pm.Game([*features, extra], maps, pm.Simplex(3), noise_std=0.5)


def test_actions_that_are_best_only_in_ties_do_not_count() -> None:
    """Only Pareto actions are in P(E); one more action that shows nothing changes nothing."""
    rng = np.random.default_rng(0)
    corner = np.array([0.96, 0.02, 0.02])
    informative = 0
    for _ in range(12):
        game, more = with_one_more(rng)
        assert pm.analyze(more).degenerate[-1:] == [3]
        played = np.arange(24) % 3
        shown = np.array([game.rows(int(a)) @ corner for a in played])
        one, other = (learn(Data(g, played, shown)) for g in (game, more))
        expected = pm.information.directed(game, one)[0]
        found = pm.information.directed(more, other)[0, :3]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
        informative += bool(expected.any())
    assert informative > 2


def test_where_only_duplicates_may_be_best_nothing_is_worth_knowing() -> None:
    features = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    for parameters in (pm.AllParameters(2), pm.Box([-9, -9], [9, 9])):
        game = pm.games.linear_bandit(features, parameters)
        found = learn(Data(game, np.repeat([0, 2], 500), np.repeat([[5.0], [0.0]], 500, axis=0)))
        assert pm.information.directed(game, found)[0].tolist() == [0.0] * 3
        assert pm.information.directed_relaxed(game, found)[0].tolist() == [0.0] * 3
