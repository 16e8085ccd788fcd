"""Games over a box, whose points are looked at more closely around the best."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.kernel.box import (
    BoxData,
    BoxPosterior,
    box_design,
    candidate_points,
)
from partial_monitoring.estimation.kernel.ellipsoid import KernelEllipsoid

KERNEL = pm.kernels.Matern(2.5, 0.3)


def game(p: int = 2, **options: Any) -> pm.KernelBoxGame:
    low, high = np.linspace(-1, 0, p), np.linspace(1, 3, p)
    return pm.KernelBoxGame(KERNEL, low, high, **({"noise_std": 0.1, "norm_bound": 2.0} | options))


def bump(x: Any) -> Any:
    return np.exp(-((np.asarray(x) - 0.37) ** 2).sum(axis=1) / 0.2)


@given(st.integers(1, 12), st.integers(0, 2**32))
def test_numbers_and_points_belong_together(p: int, seed: int) -> None:
    own = game(p)
    assert own.k == own.levels**p < 2**63
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, own.k, 20)
    points = own.points_of(numbers)
    assert ((points >= own.low) & (points <= own.high)).all()
    np.testing.assert_array_equal(own.nearest(points), numbers)
    anywhere = rng.uniform(own.low, own.high, (20, p))
    away = np.abs(own.points_of(own.nearest(anywhere)) - anywhere)
    assert (away <= (own.high - own.low) / (own.levels - 1) * 0.5000001).all()
    corners = [own.low, own.high]
    np.testing.assert_allclose(own.points_of(own.nearest(corners)), corners, atol=1e-14)


@pytest.mark.parametrize("repeats", [1, 7])
def test_the_estimate_is_that_of_the_points_as_candidates(repeats: int) -> None:
    """At any points it is what a game with just these candidates has learned."""
    own, rng = game(), np.random.default_rng(0)
    played = np.repeat(own.nearest(rng.uniform(own.low, own.high, (9, 2))), repeats)
    other = own.nearest(rng.uniform(own.low, own.high, (15, 2)))
    data = BoxData.empty()
    everything = np.unique(np.concatenate([played, other]))
    finite = pm.games.kernelized_bandit(
        own.points_of(everything), kernel=KERNEL, noise_std=0.1, norm_bound=2.0
    )
    policy = pm.IDS(regularization=0.3)
    state = policy.init(finite, 1)
    for action in played:
        shown = rng.normal()
        data = data.after(int(action), shown)
        place = np.searchsorted(everything, action)
        state = policy.update(state, np.array([place]), np.array([[shown]]))
    known = BoxPosterior.on(own, box_design(own, regularization=0.3), data)
    estimate = known.estimate(everything)
    np.testing.assert_allclose(estimate.means, state.estimate.means, atol=1e-9)
    np.testing.assert_allclose(estimate.variances, state.estimate.variances, atol=1e-9)
    np.testing.assert_allclose(estimate.signals, state.estimate.signals, atol=1e-9)
    np.testing.assert_allclose(estimate.log_det, state.estimate.log_det, atol=1e-9)
    one, two = (
        pm.gaps.exact(finite, KernelEllipsoid.around(x, pm.confidence.paper()))
        for x in (estimate, state.estimate)
    )
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_what_is_looked_at_holds_the_largest_estimate() -> None:
    """Looking closer finds nearly the maximum of the estimate over a fine grid."""
    own, rng, data = game(), np.random.default_rng(1), BoxData.empty()
    for action in own.nearest(rng.uniform(own.low, own.high, (25, 2))):
        value = float(bump(own.points_of(np.array([action])))[0])
        data = data.after(int(action), value + 0.05 * rng.normal())
    known = BoxPosterior.on(own, box_design(own, regularization=0.01), data)
    chosen = own.points_of(candidate_points(known, 2.0))
    fine = pm.candidates.grid(own.low, own.high, 200)
    for seems, unsure in ((1.0, 0.0), (1.0, 2.0), (0.0, 1.0)):
        best = fine[int(known.score(fine, seems, unsure).argmax())]
        found = chosen[int(known.score(chosen, seems, unsure).argmax())]
        high, near = (seems * m + unsure * r for m, r in (known.at(x[None]) for x in (best, found)))
        assert near[0] >= high[0] - 0.02 * abs(high[0])


@pytest.mark.parametrize("p", [1, 3, 6])
def test_the_search_finds_what_a_longer_one_finds(p: int) -> None:
    own = pm.KernelBoxGame(KERNEL, [0.0] * p, [1.0] * p, noise_std=0.1, norm_bound=2.0)
    rng, data = np.random.default_rng(p), BoxData.empty()
    for action in own.nearest(rng.random((40, p))):
        value = float(bump(own.points_of(np.array([action])))[0])
        data = data.after(int(action), value + 0.1 * rng.normal())
    known = BoxPosterior.on(own, box_design(own, regularization=0.01), data)
    chosen = own.points_of(candidate_points(known, 3.0))
    for weights in ((1.0, 0.0), (1.0, 3.0), (0.0, 1.0)):
        many = rng.random((2000, p))
        best = 0.0
        for start in many[np.argsort(-known.score(many, *weights))[:5]]:
            found = minimize(
                lambda x, w=weights: -float(known.score(x[None], *w)[0]),
                start,
                method="L-BFGS-B",
                bounds=[(0, 1)] * p,
            )
            best = max(best, -float(found.fun))
        assert known.score(chosen, *weights).max() >= 0.99 * best


def test_slopes_are_limits_of_differences() -> None:
    for chosen in (KERNEL, pm.kernels.SquaredExponential(0.4) + pm.kernels.Polynomial(2)):
        own = pm.KernelBoxGame(chosen, [0, 0], [1, 1], noise_std=0.1)
        data = BoxData.empty()
        for action in own.nearest([[0.2, 0.3], [0.9, 0.1], [0.5, 0.5]]):
            data = data.after(int(action), 0.7)
        for seen in (data, BoxData.empty()):
            known = BoxPosterior.on(own, box_design(own, regularization=0.1), seen)
            x = np.array([0.33, 0.61])
            value, slope = known.slope(x, 1.0, 2.0)
            assert value == pytest.approx(known.score(x[None], 1.0, 2.0)[0])
            for axis in range(2):
                step = np.eye(2)[axis] * 1e-6
                up, down = (known.score((x + sign * step)[None], 1.0, 2.0)[0] for sign in (1, -1))
                assert slope[axis] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_kernels_without_slopes_are_searched_closer_and_closer() -> None:
    own = pm.KernelBoxGame(pm.kernels.Matern(0.5, 0.5), [0, 0], [1, 1], noise_std=0.1)
    data = BoxData.empty().after(int(own.nearest([[0.61, 0.27]])[0]), 1.0)
    known = BoxPosterior.on(own, box_design(own, regularization=0.01), data)
    chosen = own.points_of(candidate_points(known, 0.0))
    best = chosen[int(known.score(chosen, 1.0, 0.0).argmax())]
    np.testing.assert_allclose(best, [0.61, 0.27], atol=1e-3)


def test_directed_information_and_rivals_are_those_of_the_points_as_candidates() -> None:
    own, rng, data = game(), np.random.default_rng(3), BoxData.empty()
    for action in np.repeat(own.nearest(rng.uniform(own.low, own.high, (8, 2))), 2):
        data = data.after(int(action), float(rng.normal()))
    known = BoxPosterior.on(own, box_design(own, regularization=0.05), data)
    actions = own.nearest(rng.uniform(own.low, own.high, (9, 2)))
    estimate = known.estimate(actions)
    everything = np.concatenate([actions, known.actions])
    finite = pm.games.kernelized_bandit(
        own.points_of(everything), kernel=KERNEL, noise_std=0.1, norm_bound=2.0
    )
    policy = pm.IDS(regularization=0.05)
    state = policy.init(finite, 1)
    for action, shown in zip(data.actions.rows[:, 0], data.shown.rows, strict=True):
        place = len(actions) + np.searchsorted(known.actions, action)
        state = policy.update(state, np.array([place]), shown[None])
    state = state.estimate.restricted(np.arange(len(actions)))
    for information in (pm.information.directed, pm.information.directed_relaxed):
        one, two = (
            information(finite, KernelEllipsoid.around(x, pm.confidence.paper()))
            for x in (estimate, state)
        )
        np.testing.assert_allclose(one, two, atol=1e-8)


def test_the_best_point_is_told_by_number() -> None:
    own = game()
    learner = pm.Learner(own, pm.IDS(gap=pm.gaps.mean, regularization=0.01), seed=0)
    for _ in range(8):
        decision = learner.ask()
        learner.tell(decision, [float(bump(own.point(decision.action)[None])[0])])
    status = learner.status()
    assert own.action_label(status.action) == status.best
    decision = learner.ask()
    assert decision.considered is not None
    assert decision.considered[decision.place] == decision.action
    assert len(decision.considered) == len(decision.estimate)


def test_data_that_do_not_fit_are_noticed_after_many_points() -> None:
    own, rng = game(noise_std=0.01), np.random.default_rng(0)
    learner = pm.Learner(own, pm.IDS(gap=pm.gaps.mean), seed=0)
    actions = own.nearest(rng.uniform(own.low, own.high, (560, 2)))
    learner.tell_past(actions.tolist(), [[x] for x in 3.0 * rng.normal(size=560)])
    assert any("scatter" in warning for warning in learner.status().warnings)


@pytest.mark.parametrize("by", ["name", "function"])
def test_named_functions_are_played_as_they_are(by: str) -> None:
    own = pm.KernelBoxGame(KERNEL, [0] * 6, [1] * 6, noise_std=0.1)
    theta: Any = "hartmann6" if by == "name" else pm.functions.hartmann6
    policy = {"it": pm.IDS(gap=pm.gaps.mean)}
    result = pm.simulate(own, policy, theta, horizon=3, seeds=1)
    table = pm.Experiment({"box": own}, policy, theta=theta, horizon=3, seeds=1).run()
    assert table["regret"].to_pylist()[-1] == result.regret["it"][0, -1]
    assert result.regret["it"][0, 0] > 5.0  # the interpolant of few values is flatter


def test_before_the_first_round_everything_is_possible() -> None:
    own = game(3)
    known = BoxPosterior.on(own, box_design(own), BoxData.empty())
    chosen = candidate_points(known, 1.0)
    assert len(np.unique(chosen)) == len(chosen) > 60
    assert known.log_det[0] == 0
    np.testing.assert_array_equal(known.at(own.points_of(chosen))[0], 0)


@pytest.mark.parametrize(
    "policy",
    [pm.IDS(gap=pm.gaps.mean), pm.IDS(gap=pm.gaps.relaxed), pm.GPUCB(), pm.ExpectedImprovement()],
    ids=["mean", "relaxed", "ucb", "ei"],
)
def test_seeds_run_as_if_they_were_alone(policy: Any) -> None:
    own = game()
    together = pm.simulate(own, {"it": policy}, bump, horizon=6, seeds=3)
    for seed in range(3):
        alone = pm.simulate(own, {"it": policy}, bump, horizon=6, seeds=[seed])
        np.testing.assert_array_equal(together.regret["it"][seed], alone.regret["it"][0])


def test_a_learner_does_what_the_simulation_does(tmp_path: Path) -> None:
    own = game()
    policy = pm.IDS(gap=pm.gaps.mean, regularization=0.01)
    result = pm.simulate(
        own, policy, bump, horizon=10, seeds=[5], noise="none", checkpoints=range(1, 11)
    )
    learner = pm.Learner(own, policy, seed=5)
    lost = 0.0
    for t in range(10):
        decision = learner.ask()
        assert decision.label == own.action_label(decision.action)
        value = float(bump(own.point(decision.action)[None])[0])
        lost += 1.0 - value
        assert result.regret["ids"][0, t] == pytest.approx(lost, abs=1e-6)
        learner.tell(decision, [value])
        if t == 5:
            learner.save(tmp_path / "learner.json")
            learner = pm.Learner.load(tmp_path / "learner.json")
    assert "looks best" in str(learner.status())
    assert "more actions" in str(learner.ask())


def test_the_optimum_of_a_function_is_found() -> None:
    own = game(norm_bound=1.5)
    policy = pm.IDS(regularization=0.01)
    state, rng = policy.init(own, 1), np.random.default_rng(0)
    for _ in range(40):
        choice = policy.decide(state, rng.random(1))
        shown = bump(own.points_of(choice.action)) + 0.1 * rng.normal(size=1)
        state = policy.update(state, choice.action, shown[:, None])
    best = own.points_of(choice.candidates[0, choice.estimate[0].argmax()])
    assert bump(best[None])[0] > 0.95


def test_experiments_play_over_a_box() -> None:
    table = pm.Experiment(
        {"box": game()}, {"ids": pm.IDS(gap=pm.gaps.mean)}, theta="random", horizon=4, seeds=2
    ).run()
    assert table.num_rows == 8
    assert min(table["regret"].to_pylist()) >= 0


def test_values_at_the_reference_points_stand_for_a_function() -> None:
    own = game()
    theta = bump(own.computed.points)
    np.testing.assert_allclose(own.values(theta, own.computed.points), theta, atol=1e-6)
    result = pm.simulate(own, pm.IDS(gap=pm.gaps.mean), theta, horizon=5, seeds=2)
    assert (result.regret["ids"] >= 0).all()
    drawn = pm.simulate(own, pm.IDS(gap=pm.gaps.mean), "random", horizon=3, seeds=2)
    assert (drawn.theta[0] != drawn.theta[1]).any()


def test_files_and_pictures(tmp_path: Path) -> None:
    own = game()
    for name in ("box.json", "box.toml"):
        pm.save_game(own, tmp_path / name)
        again = pm.load_game(tmp_path / name)
        assert isinstance(again, pm.KernelBoxGame)
        assert repr(again) == repr(own)
        assert again.computed.kernel == KERNEL
    assert "x2     0      3" in str(own)
    assert "<table" in own._repr_html_()


def test_bad_input_is_refused() -> None:
    own = game()
    cases: list[tuple[Any, str]] = [
        (lambda: pm.KernelBoxGame(KERNEL, [0, 1], [1, 1]), "low must be below high"),
        (lambda: pm.KernelBoxGame(KERNEL, [0], [1, 1]), "low must be below high"),
        (lambda: pm.KernelBoxGame(KERNEL, [0, np.nan], [1, 1]), "low must"),
        (lambda: pm.KernelBoxGame(KERNEL, [0] * 13, [1] * 13), "at most 12 coordinates"),
        (lambda: pm.KernelBoxGame(KERNEL, 0, 1, noise_std=0), "noise_std must be positive"),
        (lambda: own.actions, "too many to list"),
        (lambda: own.action_index(own.k), "action must be the number of a point"),
        (lambda: own.action_index("0.5, 0.5"), "action must be the number of a point"),
        (lambda: own.points_of([0, -1]), "actions must be numbers of points"),
        (lambda: own.points_of([own.k]), "actions must be numbers of points"),
        (lambda: own.points_of([0.5]), "actions must be numbers of points"),
        (lambda: pm.Learner(own, pm.LinUCB()), "plays games whose actions can be listed"),
        (lambda: pm.Learner(own, pm.GPTS()), "plays games whose actions can be listed"),
        (lambda: pm.analyze(own), "too many to list"),
        (lambda: pm.Learner(own).ask(available=[0]), "available cannot be given"),
        (
            lambda: pm.simulate(own, "ids", bump, horizon=2, seeds=1, noise="sign"),
            "noise over a box",
        ),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()
