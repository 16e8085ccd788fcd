"""Confidence sets: their radius, what they contain, and the shape of their support function."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import Schedule
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from tests.oracles.bodies import KINDS
from tests.oracles.linear_data import Data, learn, ridge, some_data

Array = NDArray[np.float64]


# -- the radius ------------------------------------------------------------------------------


def radius(data: Data, log_inverse_delta: float, lam: float, bound: float) -> float:
    """beta^(1/2) of lemma confidence, with I_r (E2)."""
    w = data.game.reduced.basis
    reduced = w.T @ data.gram(lam) @ w
    excess = np.linalg.slogdet(reduced)[1] - w.shape[1] * np.log(lam) if len(reduced) else 0.0
    rho = 1.0 if np.ndim(data.game.noise_std) else float(data.game.noise_std)
    return float(rho * np.sqrt(2 * log_inverse_delta + excess) + np.sqrt(lam) * bound)


@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=40)
def test_beta_is_the_one_of_the_lemma(seed: int, kind: str, lam: float) -> None:
    data = some_data(seed, kind)
    t = len(data.actions) + 1
    for schedule, logarithm in (
        (pm.confidence.paper(), 2 * np.log(t)),
        (pm.confidence.fixed(0.05), np.log(20)),
        (pm.confidence.fixed(1.0), 0.0),
        (lambda t: np.sqrt(t), np.sqrt(t)),  # a schedule of the user's own
    ):
        policy = pm.IDS(regularization=lam, norm_bound=1.7, confidence=schedule)
        found = learn(data, policy)
        assert found.beta[0] == pytest.approx(radius(data, logarithm, lam, 1.7) ** 2, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_set_is_a_ball_around_the_prior(kind: str) -> None:
    """delta = 1 at t = 1, so that |theta - theta_0| <= B is all there is."""
    data = some_data(1, kind, rounds=0)
    found = learn(data, pm.IDS(regularization=3.0, norm_bound=0.4))
    assert found.beta[0] == pytest.approx(3.0 * 0.4**2, rel=1e-12)
    directions = np.random.default_rng(0).normal(size=(5, data.game.d))
    away = found.maximizer(directions)[0] - found.center[0]
    assert (np.linalg.norm(away, axis=1) <= 0.4 * (1 + 1e-6)).all()


def test_beta_follows_the_total_information() -> None:
    """E15: beta_n^(1/2) = rho (2 gamma_{n-1} + 2 log 1/delta)^(1/2) + lambda^(1/2) B."""
    data = some_data(3, "ball", rounds=25)
    policy = pm.IDS(confidence=pm.confidence.fixed(0.1), regularization=2.0)
    state = policy.init(data.game, 1)
    gamma = 0.0
    for a, y in zip(data.actions, data.observations, strict=True):
        gamma += pm.information.log_det(data.game, policy.confidence_set(state))[0, a]
        state = policy.update(state, np.array([a]), y[None])
    found = policy.confidence_set(state)
    rho, bound = found.data.design.noise_std, found.data.design.norm_bound
    root = rho * np.sqrt(2 * gamma + 2 * np.log(10)) + np.sqrt(2.0) * bound
    assert np.sqrt(found.beta[0]) == pytest.approx(root, rel=1e-9)


def test_a_decision_reports_beta_itself() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), pm.IDS())
    assert learner.ask().beta == pytest.approx(1 - 1 / 3, rel=1e-12)  # B^2 of the simplex


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.1, np.nan, np.inf, "small", None])
def test_failure_probabilities_lie_in_the_unit_interval(delta: Any) -> None:
    with pytest.raises(InvalidInput, match="failure_probability") as caught:
        pm.confidence.fixed(delta)
    assert str(caught.value).endswith(".")


# -- the truth is inside ---------------------------------------------------------------------


def ever_outside(
    game: pm.Game,
    theta: Array,
    schedule: Schedule,
    *,
    replicates: int,
    rounds: int,
    seed: int,
    start: int = 1,
) -> NDArray[np.bool_]:
    """Whether the truth was outside |theta - theta_hat|_V^2 <= beta from t = start on."""
    rng = np.random.default_rng(seed)
    policy = pm.IDS(confidence=schedule)
    state = policy.init(game, replicates)
    instance = pm.Instance(game, theta)
    scale = np.ones(game.k) if np.ndim(game.noise_std) == 0 else 1 / np.asarray(game.noise_std)
    whitened = game.observation_maps * scale[:, None, None]
    squares = np.einsum("kmi,kmj->kij", whitened, whitened)
    gram = np.repeat(np.eye(game.d)[None], replicates, axis=0)
    outside = np.zeros(replicates, dtype=bool)
    for _ in range(rounds):
        actions = rng.integers(0, game.k, replicates)
        seen = np.zeros((replicates, game.m))
        for i, a in enumerate(actions):
            told = instance.observe(int(a), rng)
            vector = game.observation(int(a), told) if isinstance(game, pm.FiniteGame) else told
            seen[i, : len(vector)] = vector
        state = policy.update(state, actions, seen)
        gram += squares[actions]
        found = policy.confidence_set(state)
        away = theta - found.center
        if found.round[0] >= start:
            outside |= np.einsum("ni,nij,nj->n", away, gram, away) > found.beta * (1 + 1e-9)
    return outside


TIGHT: dict[str, tuple[pm.Game, list[float]]] = {
    "gaussian": (pm.Game([[1.0]], [[[1.0]]], pm.AllParameters(1)), [0.25]),
    "fair coin as signals": (pm.FiniteGame([[0.0, 1.0]], ["ht"]), [0.5, 0.5]),
    "fair coin as a reward": (pm.games.bernoulli_bandit_linear(1), [0.5]),
    "fair duel": (pm.Game([[1.0]], [[[1.0]]], pm.Box([-1.0], [1.0]), 1.0), [0.0]),
}


@pytest.mark.parametrize("name", TIGHT)
def test_coverage_is_what_it_promises_where_the_bound_is_nearly_tight(name: str) -> None:
    """One action, known prior mean (B = 0): a mixture martingale, tight by Ville's inequality.

    With 600 replicates and delta = 0.3, more than 242 that ever leave (expected: at most 180) have
    a probability below 1e-7. That more than 40 leave shows that rho is not needlessly large.
    """
    game, truth = TIGHT[name]
    rng = np.random.default_rng(0)
    policy = pm.IDS(
        norm_bound=0.0, prior_mean=truth, confidence=pm.confidence.fixed(0.3), regularization=0.5
    )
    n = 600
    state = policy.init(game, n)
    outside = np.zeros(n, dtype=bool)
    faces = {"fair coin as signals": np.eye(2), "fair coin as a reward": np.array([[0.0], [1.0]])}
    coin = faces.get(name, np.array([[-1.0], [1.0]]))
    gram = 0.5 * np.eye(game.d)
    rows = game.rows(0)
    for _ in range(1000):
        if name == "gaussian":
            seen = truth[0] + rng.normal(size=(n, 1))
        else:
            seen = coin[rng.integers(0, 2, n)]
        state = policy.update(state, np.zeros(n, dtype=np.int64), seen)
        gram = gram + rows.T @ rows
        found = policy.confidence_set(state)
        away = found.center - np.array(truth)
        outside |= np.einsum("ni,ij,nj->n", away, gram, away) > found.beta
    assert outside.sum() <= 242
    assert outside.sum() >= 40


COVERAGE: dict[str, tuple[pm.Game, list[float]]] = {
    "signals": (pm.games.dynamic_pricing(), [0.2, 0.5, 0.3]),
    "a sure outcome": (pm.games.dynamic_pricing(), [0.0, 0.0, 1.0]),
    "bernoulli": (pm.games.bernoulli_bandit_linear(2), [0.5, 1.0]),
    "duels": (pm.games.graph_dueling(feedback="sign"), [0.3, 0.0, -0.3]),
    "own noise": (pm.games.heteroscedastic_linear_bandit(), [0.6, -0.8, 0.0]),
}


@pytest.mark.parametrize("name", COVERAGE)
def test_coverage_on_games(name: str) -> None:
    """delta = 0.2 for all rounds together: more than 54 of 150 have a probability below 1e-5."""
    game, theta = COVERAGE[name]
    outside = ever_outside(
        game, np.array(theta), pm.confidence.fixed(0.2), replicates=150, rounds=60, seed=5
    )
    assert outside.sum() <= 54


def test_coverage_of_the_paper() -> None:
    """delta_t = 1/t^2. From round 10 on the failures sum to at most 0.105 in expectation.

    In 150 replicates more than 34 have a probability below 1e-5.
    """
    game = pm.games.linear_bandit([[1.0, 0.0], [0.6, 0.8]])
    truth = np.array([0.6, 0.8])
    outside = ever_outside(
        game, truth, pm.confidence.paper(), replicates=150, rounds=60, seed=6, start=10
    )
    assert outside.sum() <= 34


@pytest.mark.nightly
@pytest.mark.parametrize("name", COVERAGE)
def test_coverage_over_many_rounds(name: str) -> None:
    """delta = 0.1: more than 77 of 400 (expected: at most 40) have a probability below 1e-7."""
    game, theta = COVERAGE[name]
    outside = ever_outside(
        game, np.array(theta), pm.confidence.fixed(0.1), replicates=400, rounds=1000, seed=7
    )
    assert outside.sum() <= 77


# -- the support function --------------------------------------------------------------------


def rough(found: ConfidenceSet, c: Array) -> float:
    return 1e-8 * (1.0 + float(np.abs(found.support(np.stack([c, -c]))).max()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_support_function_is_one(kind: str) -> None:
    """Above the center, sublinear, positively homogeneous, and below Theta and the ellipsoid."""
    for seed in range(12):
        data, lam = some_data(seed, kind), ridge(seed)
        found = learn(data, pm.IDS(regularization=lam))
        rng = np.random.default_rng(seed)
        one, two = rng.normal(size=(2, data.game.d))
        stacked = np.stack([one, two, one + two, 3.0 * one, -one])
        h = found.support(stacked)[0]
        slack = max(rough(found, c) for c in stacked)
        assert (h >= stacked @ found.center[0] - slack).all()
        assert h[2] <= h[0] + h[1] + slack
        assert h[3] == pytest.approx(3.0 * h[0], abs=3 * slack)
        assert (h <= data.game.parameters.support(stacked) + slack).all()
        gram = data.gram(lam)
        q = data.game.parameters.difference_basis()
        if q.shape[1]:
            local = stacked @ q
            inverse = np.linalg.inv(q.T @ gram @ q)
            width = np.sqrt(found.beta[0] * np.einsum("ni,ij,nj->n", local, inverse, local))
            ellipsoid = stacked @ found.center[0] + width
            assert (h <= ellipsoid + slack).all()
            if kind == "everything":
                assert h == pytest.approx(ellipsoid, abs=slack)


@pytest.mark.parametrize("kind", KINDS)
def test_smaller_failure_probabilities_give_larger_sets(kind: str) -> None:
    for seed in range(6):
        data = some_data(seed, kind)
        directions = np.random.default_rng(seed).normal(size=(6, data.game.d))
        heights = [
            learn(data, pm.IDS(confidence=pm.confidence.fixed(delta))).support(directions)[0]
            for delta in (1.0, 0.5, 0.01, 1e-6)
        ]
        for small, large in pairwise(heights):
            assert (small <= large + 1e-8 * (1 + abs(large))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_two_plausible_parameters_are_at_most_twice_the_radius_apart(kind: str) -> None:
    """E16: |theta+ - theta-|_V^2 <= 4 beta, attained where Theta does not cut."""
    for seed in range(6):
        data, lam = some_data(seed, kind), ridge(seed)
        found, gram = learn(data, pm.IDS(regularization=lam)), data.gram(lam)
        for c in np.random.default_rng(seed).normal(size=(4, data.game.d)):
            plus, minus = found.maximizer(np.stack([c, -c]))[0]
            apart = (plus - minus) @ gram @ (plus - minus)
            assert apart <= 4 * found.beta[0] * (1 + 1e-5)
            if kind == "everything":
                assert apart == pytest.approx(4 * found.beta[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["right", "too short", "made up"])
def test_values_without_a_certificate_are_never_too_small(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Where the path proves nothing the value is what multipliers prove, whatever a solver says."""
    from partial_monitoring.numerics import conic
    from partial_monitoring.numerics.compiled import polyhedron

    path, solve = polyhedron.supports_of_each, conic.minimize_conic

    def unproven(*args: Any) -> Any:
        values, missed, points = path(*args)
        return values + 100.0, np.ones_like(missed), points

    def distorted(objective: Array, cones: Any) -> Any:
        best = solve(objective, cones)
        assert best is not None
        if kind == "right":
            return best
        wrong = best.multipliers if kind == "too short" else best.multipliers * 3.0 + 0.1
        return best._replace(point=0.2 * best.point, value=0.2 * best.value, multipliers=wrong)

    game = pm.games.dynamic_pricing()
    learner = pm.Learner(game, pm.IDS())
    learner.tell_past(["$1", "$2", "$3"] * 20, ["yes", "no", "no"] * 20)
    confidence = learner.policy.confidence_set(learner._session.state)  # type: ignore[attr-defined]
    directions = np.random.default_rng(0).standard_normal((20, 3))
    exact = confidence.support(directions)
    monkeypatch.setattr(polyhedron, "supports_of_each", unproven)
    monkeypatch.setattr(conic, "minimize_conic", distorted)
    found = confidence.support(directions)
    assert (found >= exact - 1e-9).all()
    if kind != "made up":
        np.testing.assert_allclose(found, exact, atol=1e-7)
