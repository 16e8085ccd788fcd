"""Policies on Gaussian-process posteriors do what their formulas say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import partial_monitoring as pm
from partial_monitoring.estimation.kernel import root as kernel_root
from partial_monitoring.estimation.kernel.design import kernel_design
from partial_monitoring.estimation.kernel.posterior import initial, updated
from partial_monitoring.estimation.kernel.root import pivoted, prior_root
from partial_monitoring.numerics.compiled.normal import normals
from partial_monitoring.policies.bandit.improvement import expected_gain
from partial_monitoring.policies.policy import uniform_stream

RNG = np.random.default_rng(3)
POINTS = RNG.uniform(0, 1, (25, 2))
KERNEL = pm.kernels.SquaredExponential(0.3) + pm.kernels.Linear()  # no two variances are alike
GAME = pm.games.kernelized_bandit(POINTS, kernel=KERNEL, noise_std=0.2, norm_bound=2)
UNEVEN = pm.games.kernelized_bandit(
    POINTS, kernel=KERNEL, noise_std=RNG.uniform(0.1, 0.5, 25), norm_bound=2
)
DUELS = pm.games.kernelized_dueling(POINTS, kernel=KERNEL, noise_std=0.2, norm_bound=2)
ACTIONS = [3, 7, 7, 20, 1, 3]
VALUES = np.array([0.3, -0.4, -0.2, 1.1, 0.0, 0.5])


def posterior(noise: Any = 0.2, rows: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance at the candidates after ACTIONS, by the textbook formula."""
    k = KERNEL(POINTS)
    s = np.eye(25)[ACTIONS] if rows is None else rows
    variance = np.broadcast_to(np.asarray(noise) ** 2, (25,))[ACTIONS]
    whole = s @ k @ s.T + np.diag(variance)
    gain = np.linalg.solve(whole, s @ k).T
    return gain @ VALUES, k - gain @ s @ k


def told(policy: Any, game: pm.Game = GAME, actions: Any = ACTIONS) -> Any:
    state = policy.init(game, 1)
    for a, y in zip(actions, VALUES, strict=True):
        state = policy.update(state, np.array([a]), np.array([[y]]))
    return state


# -- GP-UCB ----------------------------------------------------------------------------------


def test_gp_ucb_with_the_width_of_srinivas() -> None:
    mean, covariance = posterior()
    policy = pm.GPUCB(width="srinivas", confidence=pm.confidence.fixed(0.1), factor=0.7)
    choice = policy.decide(told(policy), np.zeros(1))
    beta = 2 * np.log(25 * 7**2 * np.pi**2 / (6 * 0.1))  # in round 7
    expected = mean + 0.7 * np.sqrt(beta * covariance.diagonal())
    assert choice.index[0] == pytest.approx(expected, rel=1e-10)
    assert choice.action[0] == expected.argmax()


def test_gp_ucb_with_the_width_of_the_confidence_set() -> None:
    mean, covariance = posterior()
    policy = pm.GPUCB(confidence=pm.confidence.fixed(0.1), norm_bound=1.5)
    choice = policy.decide(told(policy), np.zeros(1))
    k = KERNEL(POINTS)[np.ix_(ACTIONS, ACTIONS)]
    log_det = np.linalg.slogdet(np.eye(6) + k / 0.04)[1]
    reach = np.sqrt(2 * np.log(10) + log_det) + 1.5
    assert choice.index[0] == pytest.approx(mean + reach * np.sqrt(covariance.diagonal()))


@pytest.mark.parametrize("game", [GAME, UNEVEN], ids=["even noise", "uneven noise"])
@pytest.mark.parametrize("lam", [0.04, 1.0])
def test_gp_ucb_is_linucb_on_the_linear_game(game: Any, lam: float) -> None:
    """Action by action, with the same index, gaps and information."""
    one = pm.GPUCB(regularization=lam)
    two = pm.LinUCB(regularization=lam, norm_bound=2)
    a, b = one.init(game, 3), two.init(game.linear, 3)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(25)
    for _ in range(60):
        left, right = one.decide(a, np.zeros(3)), two.decide(b, np.zeros(3))
        assert np.array_equal(left.action, right.action)
        for name in ("index", "gaps", "information", "beta"):
            # The linear game leaves out directions that are rounding in the Gram matrix.
            assert getattr(left, name) == pytest.approx(getattr(right, name), rel=1e-6, abs=1e-9)
        seen = (truth[left.action] + 0.2 * rng.standard_normal(3))[:, None]
        a, b = one.update(a, left.action, seen), two.update(b, left.action, seen)


def test_without_a_regularization_it_is_the_squared_noise() -> None:
    assert kernel_design(GAME, regularization=None).regularization == pytest.approx(0.04)
    assert kernel_design(UNEVEN, regularization=None).regularization == 1.0
    mean, covariance = posterior(UNEVEN.noise_std)
    policy = pm.GPUCB(width="srinivas")
    estimate = told(policy, UNEVEN).estimate
    assert estimate.means[0] == pytest.approx(mean)
    assert estimate.variances[0] == pytest.approx(covariance.diagonal())


# -- expected improvement --------------------------------------------------------------------


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_expected_improvement_is_its_integral(jitter: float) -> None:
    mean, covariance = posterior()
    policy = pm.ExpectedImprovement(jitter=jitter)
    choice = policy.decide(told(policy), np.zeros(1))
    best = mean.max() + jitter
    for a in range(25):
        m, s = mean[a], np.sqrt(covariance[a, a])
        density = stats.norm(m, s).pdf
        gain = quad(lambda f, d=density: (f - best) * d(f), best, max(best, m) + 12 * s)[0]
        assert choice.index[0, a] == pytest.approx(gain, rel=1e-6, abs=1e-12)
    assert choice.action[0] == choice.index[0].argmax()


def test_expected_gains_far_away() -> None:
    """Against 60 digits and the asymptotic series; without uncertainty it is the positive part."""
    z = np.array([-10.0, -1.0, 0.0, 2.0, 40.0])
    known = [7.474560e-25, 0.08331547058768632, 0.3989422804014327, 2.008490702616, 40]
    assert expected_gain(z, np.ones(5)) == pytest.approx(known, rel=1e-6)
    far = expected_gain(np.array([-30.0]), np.ones(1))[0]
    assert far == pytest.approx(stats.norm.pdf(30) / 30**2 * (1 - 3 / 900 + 15 / 810000), rel=1e-6)
    assert expected_gain(np.array([-1.0, 0.0, 2.0]), np.zeros(3)).tolist() == [0, 0, 2]


# -- Thompson sampling -----------------------------------------------------------------------


@pytest.mark.parametrize("width", ["posterior", "confidence"])
def test_draws_have_the_mean_and_covariance_of_the_posterior(width: str) -> None:
    """5000 seeded draws; the covariance in the coordinates of the posterior is the identity."""
    mean, covariance = posterior()
    policy = pm.GPTS(width=width, factor=0.5)
    state = told(policy)
    uniforms = np.random.default_rng(1).random((5000, policy.draws(state)))
    drawn = np.concatenate([policy.decide(state, own[None]).index for own in uniforms])
    c = 1.0 if width == "posterior" else np.sqrt(policy.confidence_set(state).beta[0] / 0.04)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-6
    z = (drawn - mean) @ vectors[:, kept] / (0.5 * c * np.sqrt(values[kept]))
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(5000)
    assert np.abs(np.cov(z.T) - np.eye(kept.sum())).max() < 6 / np.sqrt(5000)
    assert stats.kstest(z[:, -1], "norm").pvalue > 1e-3


def test_the_draw_is_played() -> None:
    policy = pm.GPTS()
    state = told(policy)
    choice = policy.decide(state, np.random.default_rng(0).random((1, policy.draws(state))))
    assert choice.action[0] == choice.index[0].argmax()
    assert choice.distribution[0, choice.action[0]] == 1


@pytest.mark.parametrize("kernel", [KERNEL, pm.kernels.Matern(0.5, 0.2)])
@pytest.mark.parametrize("noise", [1e-4, 0.1, 3.0])
def test_roots_are_those_of_the_covariance_along_a_run(kernel: Any, noise: float) -> None:
    x = np.concatenate([POINTS, POINTS[:3], POINTS[:2] + 1e-6])  # copies, and nearly copies
    game = pm.games.kernelized_bandit(x, kernel=kernel, noise_std=noise)
    model = kernel_design(game, regularization=None)
    estimate, root = initial(model, 1), prior_root(model)
    rng = np.random.default_rng(0)
    for t in range(1500):  # past the round in which the estimate is computed anew
        a = np.array([int(rng.integers(30)) if t % 2 else 4])
        estimate = updated(estimate, a, np.zeros((1, 1)))
        root = root.after(game.observation[int(a[0])], model.regularization)
    u = root.prior @ root.inner
    assert u @ u.T == pytest.approx(estimate.covariances[0].matrix, abs=1e-8)


def test_roots_of_what_is_too_large_to_write_down(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0, 1, 4000)[:, None]
    game = pm.games.kernelized_bandit(x, kernel=pm.kernels.SquaredExponential(0.1))
    root = pivoted(game.gram)
    assert root.shape[1] < 60
    some = np.arange(0, 4000, 100)
    assert root[some] @ root[some].T == pytest.approx(game.gram.kernel(x[some]), abs=1e-6)
    monkeypatch.setattr(kernel_root, "MOST_ROOT", 10 * 4000)
    with pytest.raises(pm.errors.InvalidInput, match="smoother kernel"):
        pivoted(game.gram)


def test_thompson_duels_play_the_best_items_of_two_draws() -> None:
    policy = pm.DuelingTS()
    pairs = [(3, 7), (7, 20), (7, 1), (20, 3), (1, 3), (3, 20)]
    rows = np.array([np.eye(25)[a] - np.eye(25)[b] for a, b in pairs])
    mean, covariance = posterior(rows=rows)
    state = told(policy, DUELS, [25 * a + b for a, b in pairs])
    assert state.estimate.means[0] == pytest.approx(mean)
    count = policy.draws(state) // 2
    uniforms = np.random.default_rng(1).random((4000, 2 * count))
    choices = [policy.decide(state, own[None]) for own in uniforms]
    second = np.concatenate([choice.index for choice in choices])
    error = np.sqrt(covariance.diagonal() / 4000)
    assert np.abs(second.mean(axis=0) - mean).max() < 5 * error.max()
    assert np.cov(second.T) == pytest.approx(covariance, abs=0.1)
    drawn = np.array([divmod(int(choice.action[0]), 25) for choice in choices])
    # Both items come from the same distribution, independently.
    shares = [np.bincount(column, minlength=25) / 4000 for column in drawn.T]
    assert np.abs(shares[0] - shares[1]).max() < 0.05
    top = int(shares[0].argmax())
    both = ((drawn == top).sum(axis=1) == 2).mean()
    assert both == pytest.approx(shares[0][top] * shares[1][top], abs=0.03)
    one = choices[0]
    assert one.index[0].argmax() == one.positions[0]
    assert one.candidates[0, one.positions[0]] == one.action[0]
    apart = covariance.diagonal() + covariance[drawn[0, 0], drawn[0, 0]]
    apart = apart - 2 * covariance[drawn[0, 0]]
    assert one.information[0] == pytest.approx(0.5 * np.log1p(apart / 0.04), rel=1e-6)


def test_they_find_what_is_best() -> None:
    game = pm.games.kernelized_bandit(np.linspace(0, 1, 40), noise_std=0.1, norm_bound=2)
    result = pm.simulate(game, ["gp_ts", "expected_improvement"], "random", horizon=150, seeds=8)
    uniform = (result.theta.max(axis=1, keepdims=True) - result.theta).mean()
    for name in result.policies:
        late = result.mean(name)[-1] - result.mean(name)[-5]
        assert late < 0.1 * uniform * (150 - result.checkpoints[-5])


def test_uniform_numbers_of_two_draws_are_different() -> None:
    policy = pm.DuelingTS()
    state = policy.init(DUELS, 2)
    uniforms = uniform_stream(policy, state, np.arange(2))(0)
    one, two = np.split(normals(uniforms), 2, axis=1)
    assert one.shape == two.shape == (2, policy.draws(state) // 2)
    assert not np.isclose(one, two).any()
