"""Posteriors against scikit-learn and the textbook formulas, and the errata E4, E5 and E6."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.kernel import posterior as estimation
from partial_monitoring.kernels import Linear, Matern, Periodic, SquaredExponential, readings
from tests.oracles.kernel_reference import Posterior
from tests.oracles.kernel_routes import GAMES, bandit, learn, points, some_data

Array = NDArray[np.float64]

gp = pytest.importorskip("sklearn.gaussian_process")
sk = pytest.importorskip("sklearn.gaussian_process.kernels")

PAIRS: dict[str, tuple[Any, Any]] = {
    "squared exponential": (SquaredExponential(0.4, 2.0), 2.0 * sk.RBF(0.4)),
    "ard": (SquaredExponential((0.3, 0.9)), sk.RBF([0.3, 0.9])),
    "matern 1/2": (Matern(0.5, 0.5), sk.Matern(0.5, nu=0.5)),
    "matern 3/2": (Matern(1.5, (0.5, 0.2), 0.7), 0.7 * sk.Matern([0.5, 0.2], nu=1.5)),
    "matern 5/2": (Matern(2.5, 0.5), sk.Matern(0.5, nu=2.5)),
    "sum": (SquaredExponential(0.4) + Linear() + 1.0, sk.RBF(0.4) + sk.DotProduct(1.0)),
    "product": (
        Matern(1.5, 0.6) * SquaredExponential(0.5),
        sk.Matern(0.6, nu=1.5) * sk.RBF(0.5),
    ),
    "their own object": (sk.RBF(0.3) + 0.5 * sk.RationalQuadratic(), None),
}


def regressor(kernel: Any, alpha: Any) -> Any:
    return gp.GaussianProcessRegressor(kernel=kernel, alpha=alpha, optimizer=None)


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("name", PAIRS)
def test_mean_and_covariance_are_those_of_scikit_learn(name: str, lam: float) -> None:
    """Points are seen several times, and most candidates never."""
    ours, theirs = PAIRS[name]
    x = points(25, 2, seed=3)
    game = bandit(kernel=ours, x=x)
    actions, seen = some_data(game, 40, among=10)
    assert len(np.unique(actions)) < len(actions)
    found = learn(game, actions, seen, lam)
    model = regressor(ours if theirs is None else theirs, lam)
    mean, covariance = model.fit(x[actions], seen[:, 0]).predict(x, return_cov=True)
    np.testing.assert_allclose(found.means[0], mean, atol=1e-8)
    np.testing.assert_allclose(found.variances[0] * lam, covariance.diagonal(), atol=1e-8)
    np.testing.assert_allclose(found.covariances[0].matrix, covariance, atol=1e-8)
    gram = model.kernel_(x[actions])
    sign, log_det = np.linalg.slogdet(np.eye(40) + gram / lam)
    assert sign == 1
    assert found.log_det[0] == pytest.approx(log_det, rel=1e-9)


def test_with_noise_of_their_own_actions_are_seen_as_scikit_learn_sees_them() -> None:
    """Noise rho_a and lambda: alpha = lambda rho_a^2."""
    x, noise = points(12, 1, seed=4), np.linspace(0.2, 2.0, 12)
    game = bandit(x=x, noise_std=noise)
    actions, seen = some_data(game, 30)
    found = learn(game, actions, seen, 0.7)
    model = regressor(sk.RBF(0.3), 0.7 * noise[actions] ** 2)
    mean, covariance = model.fit(x[actions], seen[:, 0]).predict(x, return_cov=True)
    np.testing.assert_allclose(found.means[0], mean, atol=1e-8)
    np.testing.assert_allclose(found.variances[0] * 0.7, covariance.diagonal(), atol=1e-8)


@pytest.mark.parametrize("refresh", [4, 1024])
@pytest.mark.parametrize("name", GAMES)
def test_everything_follows_from_the_textbook_formulas(
    name: str, refresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Differences, sums, averages, derivatives, several rows: stacked into one problem."""
    monkeypatch.setattr(estimation, "REFRESH", refresh)
    game = GAMES[name]()
    for lam in (0.05, 1.0):
        actions, seen = some_data(game, 30, seed=5)
        found = learn(game, actions, seen, lam)
        expected = Posterior(game, actions, seen, lam)
        np.testing.assert_allclose(found.numbers[0], expected.numbers, atol=1e-8)
        np.testing.assert_allclose(found.means[0], expected.means, atol=1e-8)
        np.testing.assert_allclose(found.variances[0], expected.variances, atol=1e-8)
        np.testing.assert_allclose(found.signals[0], expected.signals, atol=1e-8)
        np.testing.assert_allclose(found.covariances[0].matrix, expected.covariance, atol=1e-8)
        assert found.log_det[0] == pytest.approx(expected.log_det, abs=1e-9)
        policy = pm.IDS(regularization=lam)
        state = policy.init(game, 1)
        for a, y in zip(actions, seen, strict=True):
            state = policy.update(state, np.array([a]), y[None])
        confidence = policy.confidence_set(state)
        psi = np.stack([confidence.distances(0, a) for a in range(game.k)])
        np.testing.assert_allclose(psi, expected.distances, atol=1e-8)
        gain = pm.information.log_det(game, confidence)[0]
        whole = np.eye(game.m) + expected.signals
        np.testing.assert_allclose(gain, 0.5 * np.linalg.slogdet(whole)[1], atol=1e-8)
        directions = np.random.default_rng(0).normal(size=(5, game.d))
        pulled = ((directions @ expected.covariance) * directions).sum(axis=1) / lam
        height = directions @ expected.numbers + np.sqrt(confidence.beta[0] * np.abs(pulled))
        np.testing.assert_allclose(confidence.support(directions)[0], height, atol=1e-7)
        best = confidence.maximizer(directions)[0]
        np.testing.assert_allclose((best * directions).sum(axis=1), height, atol=1e-7)


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_derivatives_are_limits_of_differences(seed: int) -> None:
    """The slope at x and (f(x + h) - f(x - h)) / 2h are the same reading for small h."""
    rng = np.random.default_rng(seed)
    smooth: list[Any] = [
        SquaredExponential((0.5, 0.8)),
        Matern(2.5, 0.7),
        SquaredExponential(0.6) * Linear(1.0, 1.0) + Periodic(1.5),
    ]
    kernel = smooth[seed % 3]
    x, h = rng.uniform(size=(5, 2)), 1e-4
    axis = int(rng.integers(2))
    step = h * np.eye(2)[axis]
    both = np.concatenate([x + step, x - step])
    weights = np.concatenate([np.eye(5), -np.eye(5)], axis=1) / (2 * h)
    found = []
    for shown in (readings.derivatives(x, axis), readings.weighted(both, weights)):
        game = pm.KernelGame.from_kernel(kernel, readings.values(x), shown, noise_std=0.3)
        seen = np.random.default_rng(seed).normal(size=(12, 1))
        known = learn(game, np.arange(12) % 5, seen, 0.5)
        found.append((known.means[0], known.variances[0], known.signals[0, :, 0, 0], known.log_det))
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=2e-5 * (1 + np.abs(two).max()))


# -- errata ------------------------------------------------------------------------------------


def test_e4_an_action_that_was_played_once_still_tells_something() -> None:
    """With (K + lambda I)^-1, after one play of a point with k = 1; with K^-1 it were nothing."""
    lam = 0.7
    game = bandit(6)
    known = learn(game, [2], np.array([[0.4]]), lam)
    gain = 0.5 * np.log1p(known.signals[0, 2, 0, 0])
    assert gain == pytest.approx(0.5 * np.log1p(1 / (1 + lam)), rel=1e-12)
    assert gain > 0.2


def test_e5_the_estimate_of_each_rival_counts() -> None:
    """max_b [f(b) + width(b)] - f(a), not f(ah) + max_b width(b) - f(a), which is larger."""
    game = bandit(10, norm_bound=50.0)
    actions, seen = some_data(game, 25, seed=2, among=6)
    known = learn(game, actions, seen, 1.0)
    policy = pm.IDS()
    state = policy.init(game, 1)
    for a, y in zip(actions, seen, strict=True):
        state = policy.update(state, np.array([a]), y[None])
    found = policy.confidence_set(state)
    means, greedy = known.means[0], int(known.means[0].argmax())
    width = np.sqrt(found.beta[0] * Posterior(game, actions, seen, 1.0).distances[greedy])
    right, printed = (means + width).max() - means, means[greedy] + width.max() - means
    largest = 50.0 * np.sqrt(Posterior(game, [], np.zeros((0, 1)), 1.0).distances.max())
    assert right.max() < largest
    np.testing.assert_allclose(pm.gaps.mean(game, found)[0], right, atol=1e-8)
    assert (printed > right + 1e-3).all()


@pytest.mark.parametrize("name", ["bandit", "low rank", "localized duels", "written", "duels"])
def test_e6_no_function_in_the_ball_has_a_larger_gap(name: str) -> None:
    """T = B max |phi_a - phi_b|, attained by a function, and above B itself in general."""
    game = GAMES[name]()
    policy = pm.IDS()
    found = policy.confidence_set(policy.init(game, 1))
    largest = pm.gaps.largest_gap(found)
    features = game.linear.features
    rng = np.random.default_rng(1)
    thetas = rng.normal(size=(20_000, features.shape[1]))
    thetas *= game.norm_bound / np.linalg.norm(thetas, axis=1, keepdims=True)
    assert np.ptp(thetas @ features.T, axis=1).max() <= largest * (1 + 1e-12)
    apart = (features[:, None] - features[None]).reshape(-1, features.shape[1])
    widest = apart[np.linalg.norm(apart, axis=1).argmax()]
    worst = game.norm_bound * widest / np.linalg.norm(widest)
    assert np.ptp(features @ worst) == pytest.approx(largest, rel=1e-9)


def test_e6_a_gap_can_be_twice_the_norm_bound() -> None:
    """k(x, y) = x y at +1 and -1."""
    game = bandit(kernel=Linear(), x=np.array([[1.0], [-1.0]]), norm_bound=3.0)
    policy = pm.IDS(gap=pm.gaps.mean)
    choice = policy.decide(policy.init(game, 1), np.array([0.5]))
    assert choice.gaps[0] == pytest.approx([6.0, 6.0])


def test_beta_is_that_of_the_notes() -> None:
    """sqrt(beta) = rho sqrt(2 log 1/delta + log det(I + K/lambda)) + sqrt(lambda) B."""
    game = bandit(8, noise_std=0.4, norm_bound=1.7)
    actions, seen = some_data(game, 20)
    x = np.asarray(game.candidates)[actions]
    gram = SquaredExponential(0.3)(x)
    _, log_det = np.linalg.slogdet(np.eye(20) + gram / 0.6)
    for schedule, logarithm in (
        (pm.confidence.paper(), 2 * np.log(21)),
        (pm.confidence.fixed(0.01), np.log(100)),
    ):
        policy = pm.IDS(regularization=0.6, confidence=schedule)
        state = policy.init(game, 1)
        for a, y in zip(actions, seen, strict=True):
            state = policy.update(state, np.array([a]), y[None])
        root = 0.4 * np.sqrt(2 * logarithm + log_det) + np.sqrt(0.6) * 1.7
        assert policy.confidence_set(state).beta[0] == pytest.approx(root**2, rel=1e-10)
