"""Least squares and information, re-derived from the definitions by dense linear algebra.

Everything goes through ``IDS.init``, ``update`` and ``confidence_set``; the reference stacks all
observations that were ever made into one least-squares problem.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.estimation.linear.least_squares import affine_estimate, free_estimate
from partial_monitoring.parameter_sets import ParameterSet
from tests.oracles.bodies import KINDS, Body, draw_body
from tests.oracles.linear_data import Data, draw_data, draw_game, learn

Array = NDArray[np.float64]


def objective(data: Data, theta: Array, prior_mean: Array, regularization: float) -> float:
    rows, seen = data.stacked()
    misfit, away = rows @ theta - seen, theta - prior_mean
    return float(misfit @ misfit + regularization * away @ away)


# -- the estimate ----------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_free_estimate_is_ridge_regression(seed: int) -> None:
    """On R^d: theta = V^-1 (lambda theta_0 + sum M' y), which lstsq finds from stacked rows."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    game = draw_game(rng, draw_body(rng, "everything", d))
    data = draw_data(rng, game, rng.normal(size=d), int(rng.integers(0, 20)))
    lam, prior = float(rng.choice([0.1, 1.0, 5.0])), rng.normal(size=d)
    found = learn(data, pm.IDS(regularization=lam, prior_mean=prior)).center[0]
    rows, seen = data.stacked()
    expected = np.linalg.lstsq(
        np.concatenate([rows, np.sqrt(lam) * np.eye(d)]),
        np.concatenate([seen, np.sqrt(lam) * prior]),
        rcond=None,
    )[0]
    assert found == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_estimate_on_an_affine_subspace(seed: int) -> None:
    """E33: least squares over aff(Theta), here Theta = {theta : A theta = b} itself."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    flat = int(rng.integers(1, d))
    normals = np.linalg.qr(rng.normal(size=(d, flat)))[0].T
    inside, basis = rng.normal(size=d), np.linalg.svd(normals)[2][flat:].T
    body = Body(
        pm.Polytope(None, None, normals, normals @ inside),
        inside,
        basis,
        np.zeros((0, d - flat)),
        np.zeros(0),
    )
    game = draw_game(rng, body)
    data = draw_data(rng, game, inside, int(rng.integers(0, 20)))
    prior = inside + basis @ rng.normal(size=d - flat)
    found = learn(data, pm.IDS(regularization=0.7, prior_mean=prior))
    rows, seen = data.stacked()
    x = np.linalg.lstsq(
        np.concatenate([rows @ basis, np.sqrt(0.7) * np.eye(d - flat)]),
        np.concatenate([seen - rows @ prior, np.zeros(d - flat)]),
        rcond=None,
    )[0]
    assert found.center[0] == pytest.approx(prior + basis @ x, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_constrained_estimate_satisfies_its_optimality_conditions(kind: str) -> None:
    """No direction into Theta improves the objective: <g, theta_hat> = min over Theta of <g, .>."""
    rng = np.random.default_rng(11)
    for _ in range(25):
        d = int(rng.integers(2, 7))
        body = draw_body(rng, kind, d)
        game = draw_game(rng, body)
        truth = body.inside + 1.5 * rng.normal(size=d)  # often outside: the constraint binds
        data = draw_data(rng, game, truth, int(rng.integers(0, 30)))
        lam, prior = 0.6, body.inside + body.basis @ rng.normal(size=body.basis.shape[1])
        found = learn(data, pm.IDS(regularization=lam, prior_mean=prior)).center[0]
        assert game.parameters.contains(found)
        rows, seen = data.stacked()
        slope = rows.T @ (rows @ found - seen) + lam * (found - prior)
        scale = 1.0 + float(np.abs(slope) @ (1.0 + np.abs(found)))
        if kind in ("everything", "unbounded"):
            for step in body.inside + rng.normal(size=(20, d)) - found:
                inside = game.parameters.contains(found + step)
                assert slope @ step >= -1e-8 * scale or not inside
        else:
            assert slope @ found + game.parameters.support(-slope) <= 1e-8 * scale


@pytest.mark.parametrize("kind", KINDS)
def test_constrained_estimate_is_the_one_of_a_conic_solver(kind: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(2):
        body = draw_body(rng, kind, 4)
        game = draw_game(rng, body)
        data = draw_data(rng, game, body.inside + rng.normal(size=4), 12)
        prior = body.inside + rng.normal(size=4)  # off the affine hull of flat sets
        found = learn(data, pm.IDS(regularization=0.6, prior_mean=prior)).center[0]
        rows, seen = data.stacked()
        x = cp.Variable(body.basis.shape[1])
        theta = body.inside + body.basis @ x
        constraints = [body.a @ x <= body.b] if len(body.a) else []
        if body.middle is not None:
            constraints.append(cp.norm(theta - body.middle) <= body.radius)
        loss = cp.sum_squares(rows @ theta - seen) + 0.6 * cp.sum_squares(theta - prior)
        cp.Problem(cp.Minimize(loss), constraints).solve(solver=cp.CLARABEL)
        best = body.inside + body.basis @ np.asarray(x.value)
        assert found == pytest.approx(best, abs=2e-5)
        mine, theirs = (objective(data, p, prior, 0.6) for p in (found, best))
        assert mine <= theirs + 1e-7 * (1 + theirs)


BOUNDED = tuple(kind for kind in KINDS if kind not in ("everything", "unbounded"))


@pytest.mark.parametrize("kind", BOUNDED)
def test_wild_data_do_not_drive_the_estimate_out_of_theta(kind: str) -> None:
    """Observations a million times too large, with little regularisation to hold them."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        d = int(rng.integers(2, 7))
        body = draw_body(rng, kind, d)
        game = draw_game(rng, body)
        data = draw_data(rng, game, body.inside, int(rng.integers(1, 30)))
        wild = Data(game, data.actions, 1e6 * data.observations)
        found = learn(wild, pm.IDS(regularization=1e-4))
        theta = found.center[0]
        assert game.parameters.contains(theta)
        rows, seen = wild.stacked()
        slope = rows.T @ (rows @ theta - seen) + 1e-4 * (theta - found.data.design.prior_mean)
        scale = 1.0 + float(np.abs(slope) @ (1.0 + np.abs(theta)))
        assert slope @ theta + game.parameters.support(-slope) <= 1e-5 * scale


@pytest.mark.parametrize("kind", KINDS)
def test_all_three_estimates_of_one_state(kind: str) -> None:
    """Notes 1.3: free, on the affine hull, and on Theta, the projection of either in V's norm."""
    rng = np.random.default_rng(13)
    for _ in range(6):
        d = int(rng.integers(2, 6))
        body = draw_body(rng, kind, d)
        game = draw_game(rng, body)
        data = draw_data(rng, game, body.inside + rng.normal(size=d), int(rng.integers(0, 20)))
        lam, prior = 0.6, body.inside + body.basis @ rng.normal(size=body.basis.shape[1])
        found = learn(data, pm.IDS(regularization=lam, prior_mean=prior))
        rows, seen = data.stacked()
        gram = data.gram(lam)
        free = np.linalg.solve(gram, lam * prior + rows.T @ seen)
        local = body.basis.T @ gram @ body.basis
        step = np.linalg.solve(local, body.basis.T @ (rows.T @ (seen - rows @ prior)))
        hull = prior + body.basis @ step
        assert free_estimate(found.data)[0] == pytest.approx(free, abs=1e-8)
        assert affine_estimate(found.data)[0] == pytest.approx(hull, abs=1e-8)
        for start in (free, hull):
            nearest = game.parameters.project(start, gram)
            assert found.center[0] == pytest.approx(nearest, abs=1e-6)


def test_a_prior_mean_off_the_affine_hull_is_projected() -> None:
    """Same estimate, smaller B: notes 1.3."""
    game = pm.games.dynamic_pricing()
    off, on = np.array([2.0, 0.5, 0.5]), np.array([4 / 3, -1 / 6, -1 / 6])
    given_off, given_on = (pm.Learner(game, pm.IDS(prior_mean=p)) for p in (off, on))
    assert given_off.prior_mean == pytest.approx(on, abs=1e-15)
    assert given_off.norm_bound == pytest.approx(given_on.norm_bound, abs=1e-12)
    farthest = np.linalg.norm(np.eye(3) - on, axis=1).max()
    assert given_off.norm_bound == pytest.approx(farthest, abs=1e-12)
    assert farthest < np.linalg.norm(np.eye(3) - off, axis=1).max()


DEFAULTS: list[tuple[ParameterSet, list[float], float]] = [
    (pm.AllParameters(2), [0.0, 0.0], 1.0),
    (pm.Ball([1.0, 2.0], 3.0), [1.0, 2.0], 3.0),
    (pm.Box([0.0, -1.0], [1.0, 3.0]), [0.5, 1.0], np.hypot(0.5, 2.0)),
    (pm.Simplex(2), [0.5, 0.5], np.sqrt(1 / 2)),
    (pm.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1]), [0.0, 0.0], np.sqrt(2.0)),
]


@pytest.mark.parametrize(("parameters", "prior", "bound"), DEFAULTS)
def test_defaults_come_from_the_parameter_set(
    parameters: ParameterSet, prior: list[float], bound: float
) -> None:
    learner = pm.Learner(pm.Game(np.eye(2), np.eye(2)[:, None], parameters), pm.IDS())
    assert learner.regularization == 1.0
    assert learner.prior_mean == pytest.approx(prior, abs=1e-12)
    assert learner.norm_bound == pytest.approx(bound, abs=1e-12)
    assert learner.noise_std == 1.0


def test_noise_constants_of_the_families() -> None:
    """rho = sqrt(1/2) for signals, 1/2 for Bernoulli rewards, 1 for duels (notes 1.4)."""
    expected = {
        pm.games.dynamic_pricing(): np.sqrt(0.5),
        pm.games.bernoulli_bandit_linear(): 0.5,
        pm.games.dueling(feedback="sign"): 1.0,
        pm.games.dueling(): 1.0,
        pm.games.heteroscedastic_linear_bandit(): 1.0,  # divided out
    }
    for game, rho in expected.items():
        assert pm.Learner(game, pm.IDS()).noise_std == pytest.approx(rho, abs=1e-15)


# -- whitening, special cases, invariance ----------------------------------------------------


def same_decisions(one: ConfidenceSet, two: ConfidenceSet, s: float = 1.0) -> None:
    """Same gaps and information; estimates differ by the factor s."""
    assert two.center[0] == pytest.approx(s * one.center[0], rel=1e-9, abs=1e-9 * s)
    first, second = one.data.design.game, two.data.design.game
    for gap in (pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean):
        assert gap(second, two)[0] == pytest.approx(gap(first, one)[0], rel=1e-7, abs=1e-8)
    gains = pm.information.log_det(second, two)[0]
    assert gains == pytest.approx(pm.information.log_det(first, one)[0], rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_heteroscedastic_noise_is_divided_out(kind: str) -> None:
    """Own noise per action equals dividing maps and observations by it, with rho = 1."""
    rng = np.random.default_rng(21)
    body = draw_body(rng, kind, 3)
    rho = np.array([0.5, 1.0, 3.0, 0.1])
    maps, features = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3))
    one = pm.Game(features, maps, body.parameters, rho)
    two = pm.Game(features, maps / rho[:, None, None], body.parameters, 1.0)
    data = draw_data(rng, one, body.inside, 30)
    white = Data(two, data.actions, data.observations / rho[data.actions][:, None])
    found, expected = learn(data), learn(white)
    assert found.beta[0] == pytest.approx(expected.beta[0], rel=1e-10)
    assert found.sums[0] == pytest.approx(expected.sums[0] * rho[:, None], rel=1e-9, abs=1e-12)
    same_decisions(expected, found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("s", [0.1, 7.0])
def test_rescaling_is_neutral(kind: str, s: float) -> None:
    """E30: (phi / s, s theta, M / s) with lambda / s^2 and s B changes no gap, no information."""
    rng = np.random.default_rng(22)
    body = draw_body(rng, kind, 3)
    maps, features = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3))
    match body.parameters:
        case pm.AllParameters():
            scaled: ParameterSet = pm.AllParameters(3)
        case pm.Ball(center=center, radius=radius):
            scaled = pm.Ball(s * center, s * radius)
        case pm.Box(low=low, high=high):
            scaled = pm.Box(s * low, s * high)
        case pm.Polytope(a_ub=a_ub, b_ub=b_ub, a_eq=a_eq, b_eq=b_eq):
            scaled = pm.Polytope(a_ub, s * b_ub, a_eq, s * b_eq)
        case _:
            scaled = pm.Polytope(-np.eye(3), np.zeros(3), np.ones((1, 3)), [s])
    one = pm.Game(features, maps, body.parameters)
    two = pm.Game(features / s, maps / s, scaled)
    data = draw_data(rng, one, body.inside, 30)
    policy = pm.IDS(prior_mean=body.inside, norm_bound=1.3, regularization=0.8)
    other = pm.IDS(prior_mean=s * body.inside, norm_bound=1.3 * s, regularization=0.8 / s**2)
    found = learn(data, policy)
    there = learn(Data(two, data.actions, data.observations), other)
    assert there.beta[0] == pytest.approx(found.beta[0], rel=1e-9)
    same_decisions(found, there, s)


def test_bandits_have_the_widths_of_linucb() -> None:
    """|a|_{V^-1} beta^(1/2) with V = lambda I + sum a a', as in Abbasi-Yadkori et al. (2011)."""
    rng = np.random.default_rng(4)
    arms = rng.normal(size=(6, 4))
    lam, delta, rho, bound = 0.5, 0.05, 0.3, 2.0
    game = pm.games.linear_bandit(arms, pm.AllParameters(4), noise_std=rho)
    data = draw_data(rng, game, rng.normal(size=4), 60)
    policy = pm.IDS(regularization=lam, norm_bound=bound, confidence=pm.confidence.fixed(delta))
    found = learn(data, policy)
    v, b = lam * np.eye(4), np.zeros(4)
    for a, y in zip(data.actions, data.observations[:, 0], strict=True):
        v += np.outer(arms[a], arms[a])
        b += arms[a] * y
    theta = np.linalg.solve(v, b)
    root = rho * np.sqrt(2 * np.log(np.sqrt(np.linalg.det(v) / lam**4) / delta))
    root += np.sqrt(lam) * bound
    for arm in arms:
        width = root * np.sqrt(arm @ np.linalg.solve(v, arm))
        assert found.support(arm[None])[0, 0] == pytest.approx(arm @ theta + width, rel=1e-10)
        assert -found.support(-arm[None])[0, 0] == pytest.approx(arm @ theta - width, rel=1e-9)
    gains = pm.information.log_det(game, found)[0]
    squares = np.array([arm @ np.linalg.solve(v, arm) for arm in arms])
    assert gains == pytest.approx(0.5 * np.log(1 + squares), rel=1e-10)


def test_duels_have_the_widths_of_linear_dueling() -> None:
    """V = lambda I + sum of (phi_a - phi_b)(phi_a - phi_b)'."""
    rng = np.random.default_rng(5)
    items = rng.normal(size=(4, 3))
    pairs = [(a, b) for a in range(4) for b in range(4)]
    one, two = items[[a for a, _ in pairs]], items[[b for _, b in pairs]]
    game = pm.Game(one + two, (one - two)[:, None], pm.AllParameters(3))
    data = draw_data(rng, game, rng.normal(size=3), 50)
    found = learn(data, pm.IDS(confidence=pm.confidence.fixed(0.1)))
    v = np.eye(3) + sum(np.outer(one[a] - two[a], one[a] - two[a]) for a in data.actions)
    b = sum(
        (one[a] - two[a]) * y for a, y in zip(data.actions, data.observations[:, 0], strict=True)
    )
    theta = np.linalg.solve(v, b)
    root = np.sqrt(2 * np.log(10) + np.linalg.slogdet(v)[1]) + 1.0
    for x in one - two:
        width = root * np.sqrt(x @ np.linalg.solve(v, x))
        assert found.support(x[None])[0, 0] == pytest.approx(x @ theta + width, abs=1e-9)


# -- bad input -------------------------------------------------------------------------------


BAD_OPTIONS: dict[str, dict[str, Any]] = {
    "no regularization": {"regularization": 0.0},
    "negative regularization": {"regularization": -1.0},
    "nan regularization": {"regularization": np.nan},
    "negative bound": {"norm_bound": -1.0},
    "infinite bound": {"norm_bound": np.inf},
    "short prior": {"prior_mean": [0.5, 0.5]},
    "nan prior": {"prior_mean": [np.nan, 0.5, 0.5]},
    "word": {"prior_mean": "uniform"},
}


@pytest.mark.parametrize("options", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.Learner(pm.games.dynamic_pricing(), pm.IDS(**options))
    assert next(iter(options)) in str(caught.value)
    assert str(caught.value).endswith(".")
