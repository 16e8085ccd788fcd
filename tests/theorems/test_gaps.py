"""Gap estimates and directed information, against brute force and notes 1.5 and 1.6."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.ids.ratio import information_ratio
from tests.oracles.bodies import (
    KINDS,
    ONCE_UNCERTIFIED,
    SIZES,
    ball,
    draw_body,
    draw_gram,
    draw_instance,
    point_of,
)
from tests.oracles.conic_support import confidence, reference
from tests.oracles.linear_data import Data, draw_data, learn, ridge, some_data

Array = NDArray[np.float64]

BOUNDED = tuple(kind for kind in KINDS if kind not in ("everything", "unbounded"))


def pairs(found: ConfidenceSet) -> Array:
    """h_E(phi_b - phi_a) for all a, b, by one support call each, shape (k, k)."""
    features = found.data.design.game.features
    return np.stack([found.support(features - phi)[0] for phi in features])


def scale(found: ConfidenceSet) -> float:
    return 1e-8 * (1.0 + float(np.abs(pairs(found)).max()))


def widths(data: Data, found: ConfidenceSet) -> Array:
    """beta^(1/2) |phi_b - phi_a| in the norm of V^-1 on the affine hull, uncut, shape (k, k)."""
    q = data.game.parameters.difference_basis()
    local = data.game.features @ q
    away = local[None] - local[:, None]
    if not q.shape[1]:
        return np.zeros(away.shape[:2])
    inverse = np.linalg.inv(q.T @ data.gram(found.data.design.regularization) @ q)
    return np.sqrt(found.beta[0] * np.einsum("abi,ij,abj->ab", away, inverse, away))


# -- exact -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_exact_gaps_are_the_largest_over_all_pairs(kind: str) -> None:
    for seed in range(10):
        data = some_data(seed, kind)
        found = learn(data, pm.IDS(regularization=ridge(seed)))
        exact = pm.gaps.exact(data.game, found)[0]
        assert exact == pytest.approx(pairs(found).max(axis=1), abs=scale(found))
        assert (exact >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_exact_gaps_against_a_conic_solver(kind: str) -> None:
    rng = np.random.default_rng(31)
    for _ in range(4):
        body = draw_body(rng, kind, 3)
        gram, center, features = draw_gram(rng, 3), point_of(rng, body), rng.normal(size=(4, 3))
        found = confidence(body, gram, center, 2.0, features=features)
        exact = pm.gaps.exact(found.data.design.game, found)[0]
        for a in range(4):
            bounds = [
                reference(body, gram, found.center[0], float(found.beta[0]), phi - features[a])
                for phi in features
            ]
            low, high = (max(bound[i] for bound in bounds) for i in (0, 1))
            assert low - 1e-7 <= exact[a] <= high + 1e-7


@pytest.mark.parametrize(("kind", "seed"), ONCE_UNCERTIFIED)
def test_exact_gaps_where_the_path_once_broke_off(kind: str, seed: int) -> None:
    """Two actions whose features differ by one direction: the gap is its support value."""
    case = draw_instance(kind, seed, *SIZES)
    for c in case.directions:
        features = np.stack([np.zeros_like(c), c])
        found = confidence(
            case.body, case.gram, case.center, case.beta, case.prior_mean, features=features
        )
        exact = pm.gaps.exact(found.data.design.game, found)[0]
        for gap, direction in zip(exact, (c, -c), strict=True):
            low, high, half = reference(
                case.body, case.gram, found.center[0], float(found.beta[0]), direction
            )
            slack = 1e-7 * half + 1e-10
            assert max(low, 0.0) - slack <= gap <= max(high, 0.0) + slack


@pytest.mark.parametrize("kind", KINDS)
def test_no_plausible_parameter_has_a_larger_gap(kind: str) -> None:
    for seed in range(6):
        data = some_data(seed, kind)
        found = learn(data, pm.IDS(regularization=ridge(seed)))
        exact = pm.gaps.exact(data.game, found)[0]
        rng = np.random.default_rng(seed)
        extremes = found.maximizer(rng.normal(size=(20, data.game.d)))[0]
        plausible = rng.dirichlet(np.ones(20), size=30) @ extremes
        for theta in np.concatenate([extremes, plausible]):
            rewards = data.game.features @ theta
            assert (exact >= rewards.max() - rewards - 10 * scale(found)).all()


@pytest.mark.parametrize("k", [127, 128, 129, 200])
def test_many_actions_on_all_of_space(k: int) -> None:
    """Compiled loops and blocks of matrix products give the same gaps."""
    rng = np.random.default_rng(k)
    features = rng.normal(size=(k, 4))
    maps = rng.normal(size=(k, 1, 4)) * (np.arange(4) < 3)  # one direction is never seen
    game = pm.Game(features, maps, pm.AllParameters(4))
    data = draw_data(rng, game, rng.normal(size=4), 20)
    found = learn(data, pm.IDS(regularization=0.3))
    means = features @ found.center[0]
    expected = (means[None] - means[:, None] + widths(data, found)).max(axis=1)
    assert pm.gaps.exact(game, found)[0] == pytest.approx(expected, rel=1e-9)


def test_lazy_gaps_make_the_same_decision() -> None:
    """With many actions gaps are computed where they matter; the distribution is the exact one.

    Some actions show much and earn little, so that most decisions mix two actions.
    """
    rng = np.random.default_rng(7)
    mixed = 0
    for seed in range(25):
        k = 320
        features = rng.normal(size=(k, 3)) * rng.choice([0.2, 1.0], size=(k, 1))
        maps = 0.02 * rng.normal(size=(k, 1, 3))
        maps[:20] = rng.normal(size=(20, 1, 3))
        features[:20] -= rng.choice([0.5, 2.0, 8.0])
        game = pm.Game(features, maps, pm.AllParameters(3))
        some = rng.integers(0, 20, int(rng.choice([0, 30, 300])))
        told = (maps[some, :, :] @ rng.normal(size=3)) + rng.normal(size=(len(some), 1))
        policy = pm.IDS()
        state = policy.init(game, 1)
        for a, y in zip(some, told, strict=True):
            state = policy.update(state, np.array([a]), y[None])
        choice = policy.decide(state, np.array([0.3]))
        found = policy.confidence_set(state)
        exact = pm.gaps.exact(game, found)
        gains = pm.information.log_det(game, found)
        best = information_ratio(pm.sampling.exact(exact, gains), exact, gains)[0]
        mine = information_ratio(choice.distribution, exact, gains)[0]
        assert mine == pytest.approx(best, rel=1e-9), seed
        played = choice.distribution[0] > 0
        mixed += int(played.sum() == 2)
        assert choice.gaps[0][played] == pytest.approx(exact[0][played], rel=1e-9)
        assert (choice.gaps[0] <= exact[0] * (1 + 1e-9)).all()
        assert choice.ratio[0] == pytest.approx(best, rel=1e-9)
    assert mixed >= 8


# -- relaxed and mean ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_relaxed_gaps_are_their_definition_and_bound_the_exact_ones(kind: str) -> None:
    """delta + h_E(phi_ah - phi_a) >= max_b h_E(phi_b - phi_a), with least value delta at ah."""
    for seed in range(10):
        data = some_data(seed, kind)
        found = learn(data, pm.IDS(regularization=ridge(seed)))
        table, slack = pairs(found), scale(found)
        greedy = int((data.game.features @ found.center[0]).argmax())
        delta = table[greedy].max()
        expected = delta + table[:, greedy]
        expected[greedy] = delta
        relaxed = pm.gaps.relaxed(data.game, found)[0]
        assert relaxed == pytest.approx(expected, abs=2 * slack)
        assert (relaxed >= pm.gaps.exact(data.game, found)[0] - 2 * slack).all()
        assert relaxed[greedy] == relaxed.min()
        assert relaxed[greedy] == pytest.approx(delta, abs=slack)


@pytest.mark.parametrize("kind", KINDS)
def test_mean_gaps_are_their_definition(kind: str) -> None:
    """min(delta0 + mean gap, T), with delta0 over the uncut ellipsoid (E7); least at ah."""
    for seed in range(10):
        data = some_data(seed, kind)
        found = learn(data, pm.IDS(regularization=ridge(seed)))
        means = data.game.features @ found.center[0]
        greedy = int(means.argmax())
        delta = max(float((means - means[greedy] + widths(data, found)[greedy]).max()), 0.0)
        untruncated = delta + means[greedy] - means
        largest = pm.gaps.largest_gap(found)
        mean = pm.gaps.mean(data.game, found)[0]
        slack = 10 * scale(found)
        assert mean == pytest.approx(np.minimum(untruncated, largest), abs=slack)
        assert mean[greedy] == mean.min()
        # delta <= delta0, and relaxed <= 2 mean since E is inside the ellipsoid.
        relaxed = pm.gaps.relaxed(data.game, found)[0]
        assert relaxed[greedy] <= delta + slack
        assert (relaxed <= 2 * untruncated + slack).all()
        if kind in BOUNDED:
            assert (relaxed <= 2 * mean + slack).all()


def test_twice_the_mean_gap_is_attained() -> None:
    """The factor 2 is sharp on R^d: two actions with tied means."""
    game = pm.Game([[1.0, 0.0], [0.0, 1.0]], [[[1.0, 0.0]], [[0.0, 1.0]]], pm.AllParameters(2))
    policy = pm.IDS(norm_bound=100.0)
    found = policy.confidence_set(policy.init(game, 1))
    relaxed, mean = (gap(game, found)[0] for gap in (pm.gaps.relaxed, pm.gaps.mean))
    assert relaxed[1] == pytest.approx(2 * mean[1], rel=1e-12)


def test_the_counterexample_to_the_printed_factor() -> None:
    """E7: with delta over the set that Theta cuts, relaxed gaps are 9.2 times the mean gaps."""
    u = np.array([-0.803, 0.596])
    body, gram = ball(np.zeros(2), 1.0), np.diag([0.141, 47.55])
    center = np.array([0.538, 0.843])
    center = center / max(1.0, float(np.linalg.norm(center)))
    found = confidence(body, gram, center, 0.1867, features=np.stack([u, np.zeros(2)]))
    game = found.data.design.game
    relaxed = pm.gaps.relaxed(game, found)[0]
    delta, ahead = float(found.support(-u[None])[0, 0]), float(u @ found.center[0])
    assert delta == pytest.approx(0.037, abs=2e-3)
    assert ahead == pytest.approx(0.070, abs=2e-3)
    printed = delta + ahead
    assert relaxed[1] == pytest.approx(0.983, abs=5e-3)
    assert relaxed[1] / printed > 9
    assert relaxed[1] <= 2 * pm.gaps.mean(game, found)[0, 1]


# -- the largest gap -------------------------------------------------------------------------


def test_truncation_is_at_twice_the_norm() -> None:
    """E6: phi = +-1 and |theta| <= B allow a gap of 2B, not B."""
    game = pm.Game([[1.0], [-1.0]], [[[1.0]], [[1.0]]], pm.Ball([0.0], 3.0))
    policy = pm.IDS()
    found = policy.confidence_set(policy.init(game, 1))
    assert pm.gaps.largest_gap(found) == pytest.approx(6.0, rel=1e-12)
    assert pm.gaps.mean(game, found)[0] == pytest.approx([6.0, 6.0], rel=1e-12)


@pytest.mark.parametrize("kind", BOUNDED)
def test_no_gap_on_theta_exceeds_the_largest(kind: str) -> None:
    for seed in range(5):
        data = some_data(seed, kind, rounds=0)
        rng = np.random.default_rng(seed)
        largest = pm.gaps.largest_gap(learn(data))
        features = data.game.features
        reach = max(float(data.game.parameters.support(b - a)) for a in features for b in features)
        assert largest == pytest.approx(max(reach, 0.0), abs=1e-7)
        for theta in data.game.parameters.relative_interior_point() + rng.normal(size=(20, 1)):
            point = data.game.parameters.project(theta)
            rewards = features @ point
            assert rewards.max() - rewards.min() <= largest + 1e-7


def test_on_all_of_space_the_largest_gap_is_within_the_norm_bound() -> None:
    rng = np.random.default_rng(0)
    features, prior = rng.normal(size=(5, 3)), rng.normal(size=3)
    game = pm.games.linear_bandit(features, pm.AllParameters(3))
    policy = pm.IDS(norm_bound=2.0, prior_mean=prior)
    found = policy.confidence_set(policy.init(game, 1))
    away = features[None] - features[:, None]
    expected = (away @ prior + 2.0 * np.linalg.norm(away, axis=2)).max()
    assert pm.gaps.largest_gap(found) == pytest.approx(expected, rel=1e-12)


def test_with_many_actions_the_largest_gap_is_within_a_factor_of_two() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(350, 3))
    for parameters in (pm.Ball(np.zeros(3), 2.0), pm.Simplex(3), pm.AllParameters(3)):
        game = pm.games.linear_bandit(features, parameters)
        policy = pm.IDS()
        found = policy.confidence_set(policy.init(game, 1))
        few = pm.games.linear_bandit(features[:300], parameters)
        least = pm.gaps.largest_gap(policy.confidence_set(policy.init(few, 1)))
        away = (features[None] - features[:, None]).reshape(-1, 3)
        if isinstance(parameters, pm.AllParameters):
            true = float(np.linalg.norm(away, axis=1).max())
        else:
            true = float(parameters.support(away).max())
        largest = pm.gaps.largest_gap(found)
        assert least <= true * (1 + 1e-12)
        assert true * (1 - 1e-12) <= largest <= 2 * true
