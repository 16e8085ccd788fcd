"""Kernels that are fitted to the data, once or on a schedule."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

KERNELS = {
    "squared exponential": pm.kernels.SquaredExponential(0.3, 2.0),
    "per dimension": pm.kernels.Matern(1.5, [0.3, 0.8], 0.5),
    "sum": pm.kernels.SquaredExponential(0.4) + pm.kernels.Linear(0.3),
}


def points(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random((count, 2))


@pytest.mark.parametrize("name", KERNELS)
def test_the_likelihood_is_a_gaussian_density(name: str) -> None:
    x, y = points(7), np.random.default_rng(1).normal(size=7)
    noise = np.linspace(0.1, 0.7, 7)
    covariance = 1.7 * KERNELS[name](x) + np.diag(noise**2)
    found = pm.log_marginal_likelihood(
        KERNELS[name], pm.readings.values(x), y, noise_std=noise, scale=1.7
    )
    assert found == pytest.approx(multivariate_normal(np.zeros(7), covariance).logpdf(y))


def test_the_likelihood_of_several_rows_ignores_padding() -> None:
    x, pairs = points(5), [(0, 1), (1, 2), (3, 4)]
    kernel, rng = KERNELS["squared exponential"], np.random.default_rng(2)
    slopes = pm.readings.derivatives(x[:3], 0)
    both = pm.readings.together(pm.readings.differences(x, pairs), slopes)
    y = rng.normal(size=(3, 2))
    apart = pm.readings.one_after_another(pm.readings.differences(x, pairs), slopes)
    one = pm.log_marginal_likelihood(kernel, both, y, noise_std=0.3)
    two = pm.log_marginal_likelihood(kernel, apart, y.T.ravel(), noise_std=0.3)
    assert one == pytest.approx(two)


@pytest.mark.parametrize("name", KERNELS)
def test_no_parameters_close_by_are_more_likely(name: str) -> None:
    x, rng = points(40), np.random.default_rng(3)
    y = np.sin(6 * x[:, 0]) + x[:, 1] + 0.1 * rng.normal(size=40)
    read = pm.readings.values(x)
    fitted = pm.fit_kernel(KERNELS[name], read, y, noise_std=0.1)

    def likelihood(kernel: Any) -> float:
        return pm.log_marginal_likelihood(kernel, read, y, noise_std=0.1)

    best = likelihood(fitted)
    assert best > likelihood(KERNELS[name])
    start = KERNELS[name].parameters
    for key, value in fitted.parameters.items():
        for factor in (0.97, 1.03):
            if start[key] / 100 < value * factor < start[key] * 100:
                assert likelihood(fitted.with_parameters({key: value * factor})) <= best + 1e-3


def test_the_length_scale_of_the_truth_is_found() -> None:
    x = np.linspace(0, 1, 60)[:, None]
    truth = pm.kernels.SquaredExponential(0.15)
    drawn = np.random.default_rng(5).multivariate_normal(np.zeros(60), truth(x) + 1e-9 * np.eye(60))
    fitted = pm.fit_kernel(
        pm.kernels.SquaredExponential(1.0), pm.readings.values(x), drawn, noise_std=0.01
    )
    assert 0.08 < fitted.parameters["lengthscale"] < 0.3


def test_the_schedule_and_what_is_played_between() -> None:
    """Between two fits the policy is the inner one on a game with the fitted kernel."""
    x = np.linspace(0, 1, 25)[:, None]
    game = pm.games.kernelized_bandit(x, kernel=pm.kernels.SquaredExponential(1.0))
    inner = pm.IDS(gap=pm.gaps.mean, regularization=0.01)
    policy = pm.Refitted(inner, first=6, growth=2.0)
    state, rng = policy.init(game, 2), np.random.default_rng(0)
    told: list[tuple[Any, Any]] = []
    seen_kernels = []
    for _ in range(1, 20):
        uniforms = rng.random((2, 1))
        choice = policy.decide(state, uniforms)
        for i, run in enumerate(state.runs):
            again = inner.init(run.game, 1)
            for actions, shown in told:
                again = inner.update(again, actions[i : i + 1], shown[i : i + 1])
            alone = inner.decide(again, uniforms[i])
            assert alone.action[0] == choice.action[i]
            np.testing.assert_allclose(alone.gaps[0], choice.gaps[i], atol=1e-9)
        seen_kernels.append(state.runs[0].game.computed.kernel)
        shown = np.sin(9 * x[choice.action]) + 0.1 * rng.normal(size=(2, 1))
        told.append((choice.action, shown))
        state = policy.update(state, choice.action, shown)
    changes = [t + 1 for t in range(1, 19) if seen_kernels[t] != seen_kernels[t - 1]]
    assert changes == [6, 12]
    assert state.runs[0].game.computed.kernel != state.runs[1].game.computed.kernel
    assert state.start == game.computed.kernel


def test_a_poor_guess_of_the_kernel_is_mended() -> None:
    x = np.linspace(0, 1, 60)[:, None]
    game = pm.games.kernelized_bandit(x, kernel=pm.kernels.SquaredExponential(0.01), norm_bound=2.0)
    inner = pm.IDS(gap=pm.gaps.mean, regularization=0.01)
    policies = {"fixed": inner, "refitted": pm.Refitted(inner)}
    result = pm.simulate(game, policies, lambda p: np.sin(7 * p[:, 0]), horizon=50, seeds=3)
    assert result.mean("refitted")[-1] < 0.5 * result.mean("fixed")[-1]


@pytest.mark.parametrize("kind", ["bandit", "duels", "box"])
def test_live_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    kernel = pm.kernels.SquaredExponential(0.5)
    games: dict[str, tuple[Any, Any]] = {
        "bandit": (pm.games.kernelized_bandit(kernel=kernel), pm.IDS()),
        "duels": (pm.games.kernelized_dueling(kernel=kernel), pm.DuelingIDS()),
        "box": (pm.KernelBoxGame(kernel, [0, 0], [1, 1], noise_std=0.1), pm.IDS(gap=pm.gaps.mean)),
    }
    game, inner = games[kind]
    learner = pm.Learner(game, pm.Refitted(inner, first=4), seed=2)
    for t in range(9):
        decision = learner.ask()
        learner.tell(decision, [float(np.sin(t))])
    assert "fitted to the data" in learner.status().warnings[0]
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    assert loaded.policy == learner.policy
    for _ in range(3):
        one, two = learner.ask(), loaded.ask()
        assert one.action == two.action
        np.testing.assert_array_equal(one.gaps, two.gaps)
        learner.tell(one, [0.3])
        loaded.tell(two, [0.3])


@pytest.mark.parametrize(
    "inner",
    [pm.GPTS(), pm.GPUCB(), pm.ExpectedImprovement(), pm.IDS()],
    ids=lambda x: type(x).__name__,
)
def test_policies_that_can_be_refitted(inner: Any) -> None:
    """Also with noise of their own size for actions, whatever the kernel's rank comes to be."""
    game = pm.games.kernelized_bandit(
        np.linspace(0, 1, 15),
        kernel=pm.kernels.SquaredExponential(0.5),
        noise_std=np.linspace(0.05, 0.5, 15),
    )
    policy = pm.Refitted(inner, first=5)
    together = pm.simulate(game, policy, "random", horizon=16, seeds=3)
    alone = pm.simulate(game, policy, "random", horizon=16, seeds=[1])
    np.testing.assert_array_equal(together.regret["refitted"][1], alone.regret["refitted"][0])


def test_thompson_duels_can_be_refitted() -> None:
    game = pm.games.kernelized_dueling(kernel=pm.kernels.SquaredExponential(0.5))
    result = pm.simulate(game, pm.Refitted(pm.DuelingTS(), first=5), "random", horizon=12, seeds=2)
    assert (result.regret["refitted"][:, -1] > 0).all()


def test_what_is_told_is_taken_in_wholly_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    game = pm.games.kernelized_bandit()
    learner = pm.Learner(game, pm.Refitted(first=3), seed=0)
    decisions = [learner.ask() for _ in range(3)]

    def fails(*given: Any, **options: Any) -> Any:
        raise InvalidInput("no kernel fits.")

    monkeypatch.setattr("partial_monitoring.policies.refitted.fit_kernel", fails)
    with pytest.raises(InvalidInput, match="no kernel fits"):
        learner.tell(decisions, [[0.1], [0.2], [0.3]])
    assert learner.round == 1
    monkeypatch.undo()
    learner.tell(decisions, [[0.1], [0.2], [0.3]])
    assert learner.round == 4


def test_bad_input_is_refused() -> None:
    x = points(3)
    read, kernel = pm.readings.values(x), pm.kernels.SquaredExponential()
    cases: list[tuple[Any, str]] = [
        (lambda: pm.fit_kernel(kernel, read, [1.0, 2.0]), "observations must have shape"),
        (lambda: pm.fit_kernel(kernel, read, [1.0, np.nan, 2.0]), "observations must"),
        (lambda: pm.fit_kernel(kernel, read, [1, 2, 3], noise_std=0), "noise_std must be positive"),
        (lambda: pm.fit_kernel(kernel, x, [1, 2, 3]), "reading must be one of pm.readings"),
        (
            lambda: pm.fit_kernel(lambda a, b: a @ b.T, read, [1, 2, 3]),
            "kernel must have parameters to fit",
        ),
        (lambda: pm.Refitted(first=1), "first must be"),
        (lambda: pm.Refitted(growth=1.0), "growth must be above 1"),
        (lambda: pm.Refitted("ids"), "inner must be a policy"),
        (lambda: pm.Refitted(pm.Refitted()), "inner must be a policy"),
        (
            lambda: pm.Learner(pm.games.kernelized_bandit(), pm.Refitted(pm.LinUCB())),
            "inner must be a policy that estimates the function",
        ),
        (lambda: pm.Learner(pm.games.apple_tasting(), pm.Refitted()), "Refitted plays kernel"),
        (lambda: pm.Learner(pm.games.dueling(), pm.Refitted()), "Refitted plays kernel"),
        (
            lambda: pm.Learner(
                pm.KernelGame(np.eye(2), np.eye(2)[:, None, :, None], np.eye(2)[:, :, None]),
                pm.Refitted(),
            ),
            "game must come from a kernel of points",
        ),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()


def test_it_has_a_name_and_options_for_files() -> None:
    from partial_monitoring.policies import policy_from_dict, policy_to_dict

    policy = pm.Refitted(pm.IDS(gap=pm.gaps.relaxed, regularization=0.5), first=7)
    assert policy_from_dict(policy_to_dict(policy)) == policy
    assert policy_from_dict({"policy": "refitted", "inner": "ids"}).inner == pm.IDS()


def test_a_start_outside_the_bounds_is_moved_inside() -> None:
    gaussian_process = pytest.importorskip("sklearn.gaussian_process")
    x, rbf = np.linspace(0, 1, 8)[:, None], gaussian_process.kernels.RBF
    for start in (1e-9, 1e9):
        fitted = pm.fit_kernel(rbf(start), pm.readings.values(x), np.sin(5 * x[:, 0]))
        assert fitted.parameters["length_scale"] * (1 + 1e-9) >= 1e-5
        assert fitted.parameters["length_scale"] <= 1e5 * (1 + 1e-9)


@pytest.mark.parametrize("noise", [1e-12, 1e-200])
def test_without_any_likelihood_the_kernel_stays(noise: float) -> None:
    """Copies of points that show different values are impossible without noise."""
    x = np.tile(np.linspace(0, 1, 4)[:, None], (2, 1))
    y = np.repeat([1.0, 0.0], 4)
    start = pm.kernels.SquaredExponential(0.3)
    fitted = pm.fit_kernel(start, pm.readings.values(x), y, noise_std=noise)
    assert np.isfinite(list(fitted.parameters.values())).all()


@pytest.mark.parametrize("start", [0.01, 0.1, 1.0, 5.0])
def test_far_starts_find_the_same_length_scale(start: float) -> None:
    rng, truth = np.random.default_rng(0), pm.kernels.SquaredExponential(0.1)
    x = 2 * rng.random((40, 1))
    y = np.linalg.cholesky(truth(x) + 0.05**2 * np.eye(40)) @ rng.normal(size=40)
    fitted = pm.fit_kernel(
        pm.kernels.SquaredExponential(start), pm.readings.values(x), y, noise_std=0.05
    )
    assert 0.07 < fitted.parameters["lengthscale"] < 0.15


@pytest.mark.parametrize("start", [0.1, 0.3, 0.37, 1.0])
def test_far_starts_find_the_same_period(start: float) -> None:
    rng, truth = np.random.default_rng(0), pm.kernels.Periodic(0.37)
    x = 2 * rng.random((40, 1))
    y = np.linalg.cholesky(truth(x) + 0.05**2 * np.eye(40)) @ rng.normal(size=40)
    fitted = pm.fit_kernel(pm.kernels.Periodic(start), pm.readings.values(x), y, noise_std=0.05)
    assert fitted.parameters["period"] == pytest.approx(0.37, rel=0.03)
