"""Estimates of functions where numbers are large, small, close to each other, or many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel import covariance
from partial_monitoring.estimation.kernel import design as kernel_design
from partial_monitoring.estimation.kernel import posterior as estimation
from partial_monitoring.estimation.kernel.append_only import AppendOnly, stacked
from partial_monitoring.estimation.kernel.posterior import KernelEstimate
from partial_monitoring.kernels import Linear, Matern, SquaredExponential
from tests.oracles.kernel_reference import Posterior
from tests.oracles.kernel_routes import GAMES, bandit, learn, observation, points, some_data, truth

Array = NDArray[np.float64]


def close_points() -> Array:
    """Points and copies of them, moved a little."""
    x = points(4)
    return np.concatenate([x, x + 1e-9, x + 1e-7, x + 1e-5])


def matches(known: KernelEstimate, expected: Posterior, loudness: float) -> None:
    """Up to rounding of the kernel: eps times what is observed, in units of lambda."""
    slack = 1e-9 + 1e-13 * loudness
    size = 1.0 + np.abs(expected.means).max()
    np.testing.assert_allclose(known.means[0], expected.means, atol=slack * size)
    np.testing.assert_allclose(known.variances[0], expected.variances, rtol=1e-9, atol=slack)
    np.testing.assert_allclose(known.signals[0], expected.signals, rtol=1e-9, atol=slack)
    assert known.log_det[0] == pytest.approx(expected.log_det, rel=1e-9, abs=100 * slack)
    assert known.variances.min() >= -1e-9
    assert np.diagonal(known.signals, axis1=2, axis2=3).min(initial=0.0) >= -1e-9


@pytest.mark.parametrize("refresh", [50, 1024])
@pytest.mark.parametrize("lam", [1e-8, 1e-4, 1.0, 1e6])
@pytest.mark.parametrize("kernel", [SquaredExponential(0.3), Matern(0.5, 0.3), Linear()])
def test_points_that_are_almost_the_same(
    kernel: Any, lam: float, refresh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimation, "REFRESH", refresh)
    game = bandit(x=close_points(), kernel=kernel)
    actions, seen = some_data(game, 120, among=10)
    matches(learn(game, actions, seen, lam), Posterior(game, actions, seen, lam), 1 / lam)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e8])
def test_kernels_of_any_size(scale: float) -> None:
    game = bandit(10, SquaredExponential(0.3, scale))
    actions, seen = some_data(game, 100)
    matches(learn(game, actions, seen, 1.0), Posterior(game, actions, seen, 1.0), scale)


@pytest.mark.parametrize("lam", [1e-12, 1e-8, 1.0, 1e6])
@pytest.mark.parametrize("gain", [pm.information.log_det, pm.information.directed_relaxed])
@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
def test_decisions_stay_decisions(gap: Any, gain: Any, lam: float) -> None:
    """Nothing is negative or not a number, however close points are."""
    game = bandit(x=close_points(), kernel=Matern(1.5, 0.3))
    policy = pm.IDS(gap=gap, information=gain, regularization=lam)
    state, rng, theta = policy.init(game, 1), np.random.default_rng(0), truth(game, 0)
    with np.errstate(invalid="raise", divide="raise", over="raise"):
        for _ in range(40):
            choice = policy.decide(state, rng.random(1))
            for part in (choice.gaps, choice.information, choice.beta, choice.distribution):
                assert np.isfinite(part).all()
                assert (part >= 0).all()
            assert choice.distribution.sum() == pytest.approx(1.0, abs=1e-9)
            seen = observation(game, int(choice.action[0]), theta, rng)
            state = policy.update(state, choice.action, seen)


def repeated(rounds: int, lam: float) -> None:
    """Two actions, over and over: the posterior of two points with noise lambda / n."""
    game = bandit(6, Matern(1.5, 0.3))
    policy = pm.IDS(regularization=lam)
    state = policy.init(game, 1)
    values = 0.3 + 0.1 * np.sin(np.arange(rounds))
    action = np.where(np.arange(rounds) % 5 == 0, 4, 1)
    for a, y in zip(action, values, strict=True):
        state = policy.update(state, np.array([a]), np.array([[y]]))
    known = state.estimate
    assert isinstance(known, KernelEstimate)
    often = np.array([(action == a).sum() for a in (1, 4)])
    means = np.array([values[action == a].mean() for a in (1, 4)])
    gram = np.asarray(game.gram.matrix)
    part = gram[np.ix_([1, 4], [1, 4])] + np.diag(lam / often)
    weights = np.linalg.solve(part, gram[[1, 4]])
    np.testing.assert_allclose(known.means[0], means @ weights, atol=1e-8)
    variances = (gram.diagonal() - (gram[[1, 4]] * weights).sum(axis=0)) / lam
    np.testing.assert_allclose(known.variances[0], variances, atol=1e-9 + 1e-13 / lam, rtol=1e-8)
    np.testing.assert_allclose(known.variances[0, [1, 4]], 1 / often, rtol=1e-2)
    whole = np.eye(2) + np.sqrt(often[:, None] * often) * gram[np.ix_([1, 4], [1, 4])] / lam
    slack = 1e-16 * rounds / lam  # of so many small numbers that were added
    assert known.log_det[0] == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-9, abs=slack)
    assert known.variances.min() > 0


@pytest.mark.parametrize("lam", [1e-8, 1e-3, 1.0])
def test_an_action_repeated_thousands_of_times(lam: float) -> None:
    repeated(5000 if lam == 1.0 else 1500, lam)


@pytest.mark.nightly
@pytest.mark.parametrize("lam", [1e-8, 1e-3, 1.0])
def test_an_action_repeated_a_hundred_thousand_times(lam: float) -> None:
    repeated(100_000, lam)


def test_a_kernel_that_was_rounded_is_mended() -> None:
    """An eigenvalue of -2e-8 would grow with every round."""
    k = np.array([[1.0, 1.0 + 2e-8], [1.0 + 2e-8, 1.0]])
    game = pm.KernelGame(k, k[:, None, :, None], k[:, :, None], noise_std=0.1)
    assert np.linalg.eigvalsh(game.gram.matrix)[0] >= -1e-15
    np.testing.assert_allclose(game.gram.matrix, k, atol=3e-8)
    actions = np.arange(1100) % 2
    known = learn(game, actions, np.full((1100, 1), 0.3), 1e-5)
    np.testing.assert_allclose(known.means[0], 0.3, atol=1e-6)
    assert known.variances.min() > 0


def test_what_is_too_loud_is_refused() -> None:
    sentence = r"is 1e\+14, above 1e\+12; raise regularization or noise_std\.$"
    with pytest.raises(InvalidInput, match=sentence):
        pm.Learner(bandit(), pm.IDS(regularization=1e-14))
    with pytest.raises(InvalidInput, match=sentence):
        pm.Learner(bandit(kernel=SquaredExponential(0.3, 1e14)), pm.IDS())
    with pytest.raises(InvalidInput, match=sentence):
        pm.Learner(bandit(3, noise_std=[1.0, 1e-7, 1.0]), pm.IDS())
    duels = GAMES["duels"]()
    for policy in (pm.IDS(regularization=1e-14), pm.DuelingIDS(regularization=1e-14)):
        with pytest.raises(InvalidInput, match="raise regularization or noise_std"):
            pm.Learner(duels, policy)
    pm.Learner(bandit(), pm.IDS(regularization=1e-11))


@pytest.mark.parametrize("dense", [0, 2500])
def test_rounds_that_show_nothing(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to compute anew from."""
    monkeypatch.setattr(kernel_design, "DENSE", dense)
    monkeypatch.setattr(estimation, "REFRESH", 10)
    game = GAMES["transductive"]()
    policy = pm.IDS()
    state = policy.init(game, 1)
    before = policy.decide(state, np.array([0.5]))
    for _ in range(25):
        state = policy.update(state, np.array([0]), np.zeros((1, 1)))
    after = policy.decide(state, np.array([0.5]))
    np.testing.assert_array_equal(after.information, before.information)
    np.testing.assert_array_equal(after.estimate, before.estimate)
    seen = policy.update(state, np.array([game.k - 1]), np.array([[0.7]]))
    assert np.abs(policy.decide(seen, np.array([0.5])).estimate).max() > 0.1


# -- states are values -------------------------------------------------------------------------


def test_a_stack_shares_rows_until_two_add_one() -> None:
    empty = AppendOnly.empty(2, room=2)
    one = empty.added(np.array([1.0, 2.0]))
    left, right = one.added(np.array([3.0, 4.0])), one.added(np.array([5.0, 6.0]))
    assert left.buffer is one.buffer
    assert right.buffer is not one.buffer
    longer = left.added(np.array([7.0, 8.0]))  # the buffer is full
    for stack, rows in (
        (empty, []),
        (one, [[1, 2]]),
        (left, [[1, 2], [3, 4]]),
        (right, [[1, 2], [5, 6]]),
        (longer, [[1, 2], [3, 4], [7, 8]]),
        (stacked(left.rows).added(np.array([9.0, 9.0])), [[1, 2], [3, 4], [9, 9]]),
    ):
        np.testing.assert_array_equal(stack.rows, np.array(rows, dtype=float).reshape(-1, 2))


@pytest.mark.parametrize("dense", [0, 2500])
@pytest.mark.parametrize("name", ["bandit", "three rows", "duels"])
def test_updating_a_state_twice_changes_neither(
    name: str, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a state after every number of rounds, two futures that know nothing of each other."""
    monkeypatch.setattr(kernel_design, "DENSE", dense)
    monkeypatch.setattr(estimation, "REFRESH", 20)
    monkeypatch.setattr(covariance, "FOLD", 8)
    game = GAMES[name]()
    policies: list[Any] = [pm.IDS()] + ([pm.DuelingIDS()] if name == "duels" else [])
    for policy in policies:
        state = policy.init(game, 1)
        rng = np.random.default_rng(1)
        uniform = np.array([0.3])
        for t in range(45):
            before = policy.decide(state, uniform)
            actions = rng.integers(0, game.k, (2, 3))
            seen = rng.normal(size=(2, 3, 1, game.m))
            futures = [policy_run(policy, state, a, y) for a, y in zip(actions, seen, strict=True)]
            again = policy_run(policy, state, actions[0], seen[0])
            same(policy.decide(state, uniform), before)
            same(policy.decide(again, uniform), policy.decide(futures[0], uniform))
            state = policy_run(policy, state, actions[t % 2][:1], seen[t % 2][:1])


def policy_run(policy: Any, state: Any, actions: Any, seen: Array) -> Any:
    for a, y in zip(actions, seen, strict=True):
        state = policy.update(state, np.array([a]), y)
    return state


def same(one: Any, two: Any) -> None:
    for name in ("action", "distribution", "gaps", "information", "ratio", "beta", "estimate"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("name", ["bandit", "own noise", "two rows", "localized duels", "duels"])
def test_replicates_do_not_depend_on_each_other(name: str) -> None:
    """A batch of seeds is the seeds one by one, bit by bit."""
    game = GAMES[name]()
    policies: list[Any] = [pm.IDS(), pm.IDS(gap=pm.gaps.mean)]
    if name == "duels":
        policies = [pm.DuelingIDS()]
    for policy in policies:
        options: dict[str, Any] = {"horizon": 60, "checkpoints": np.arange(1, 61)}
        whole = pm.simulate(game, {"p": policy}, "random", seeds=[4, 7, 9], **options)
        for i, seed in enumerate((4, 7, 9)):
            own = pm.simulate(game, {"p": policy}, "random", seeds=[seed], **options)
            np.testing.assert_array_equal(own.regret["p"][0], whole.regret["p"][i])
            np.testing.assert_array_equal(own.plays["p"][0], whole.plays["p"][i])
