"""The profile likelihood of games with signals: its maximum, its ties, and what they are worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

import partial_monitoring as pm
from partial_monitoring.estimation.profile.model import signal_model
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.numerics.compiled import profile, signal_likelihood
from tests.oracles.every_game import environment_of, learned
from tests.oracles.profile import DAMPING, GAMES, Oracle, Tie, weight
from tests.oracles.signal_games import DEGENERATE
from tests.strategies import signal_counts, signal_games

Array = np.ndarray


def known(game: Any, counts: Array, t: int = 1, seen: Any = None) -> ProfileState:
    """Return a state that has seen signals that often, computed from scratch."""
    model = signal_model(game)
    assert model is not None
    start = ProfileState.initial(model, 1)
    came = start.seen if seen is None else np.asarray(seen)[None]
    moved = replace(start, counts=counts[None], round=np.array([t]), seen=came)
    return moved.refreshed(np.array([True]))


def deviations(oracle: Oracle, counts: Array, x: Array, off: Array) -> float:
    """Return how long a gradient is, in the norm of the inverse of minus the Hessian at x."""
    hessian = oracle.hessian(counts, x)
    return float(np.sqrt(max(off @ np.linalg.lstsq(hessian, off, rcond=None)[0], 0.0)))


def coordinates(oracle: Oracle, theta: Array) -> Array:
    return (theta - oracle.center) @ oracle.basis


# -- the maximum -----------------------------------------------------------------------------------


@given(game=signal_games(), data=st.data())
def test_the_estimate_is_the_maximum_of_the_likelihood(game: Any, data: Any) -> None:
    oracle = Oracle(game)
    counts = oracle.prior + data.draw(signal_counts(len(oracle.prior)))
    x = coordinates(oracle, known(game, counts).estimate[0])
    p = oracle.base + oracle.rows @ x
    assert (p > 0).all()
    assert deviations(oracle, counts, x, oracle.rows.T @ (counts / p)) <= 1e-5
    best = oracle.likelihood(counts, oracle.estimate(counts))
    assert oracle.likelihood(counts, x) >= best - 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("name", ["pricing", "bandit", "survey"])
def test_no_other_optimizer_finds_a_larger_likelihood(name: str) -> None:
    oracle = Oracle(GAMES[name]())
    counts = oracle.prior + np.random.default_rng(1).integers(0, 30, len(oracle.prior))
    x = coordinates(oracle, known(GAMES[name](), counts).estimate[0])
    found = minimize(
        lambda y: -oracle.likelihood(counts, y),
        np.zeros(oracle.r),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
    )
    assert oracle.likelihood(counts, x) == pytest.approx(-found.fun, abs=1e-7)
    assert x == pytest.approx(found.x, abs=1e-3)


def test_the_estimate_of_one_signal_pair_is_its_share_with_the_prior() -> None:
    for seen in ([0, 0], [0, 10], [10**6, 0], [10**6, 10**6], [3, 10**6]):
        counts = np.array(seen) + 1.25
        theta = known(pm.games.label_efficient(), counts).estimate[0]
        assert theta == pytest.approx(counts / counts.sum(), rel=1e-6, abs=1e-12)


@settings(max_examples=30)
@given(game=signal_games(), seed=st.integers(0, 10**6))
def test_warm_starts_arrive_where_cold_ones_do(game: Any, seed: int) -> None:
    """Each play moves the estimate; it does not matter how it got where it is."""
    model = signal_model(game)
    assert model is not None
    warm = learned(ProfileState.initial(model, 2), environment_of(game, [seed, 1]), 25)
    cold = ProfileState.initial(model, 2)
    cold = replace(cold, counts=warm.counts, round=warm.round, seen=warm.seen)
    cold = cold.refreshed(np.array([True, True]))
    assert warm.means == pytest.approx(cold.means, abs=1e-6)
    assert warm.worth == pytest.approx(cold.worth, rel=1e-4, abs=1e-9)
    assert warm.doubt == pytest.approx(cold.doubt, rel=1e-4, abs=1e-9)


# -- ties ------------------------------------------------------------------------------------------


@given(game=signal_games(), data=st.data())
def test_ties_are_the_most_likely_points_where_two_actions_earn_the_same(
    game: Any, data: Any
) -> None:
    oracle = Oracle(game)
    counts = oracle.prior + data.draw(signal_counts(len(oracle.prior)))
    state = known(game, counts)
    x = oracle.estimate(counts)
    means = oracle.offsets + oracle.slopes @ x
    group = pm.analyze(game).representatives
    g = oracle.greedy(means, group)
    for b in group:
        tie = None if b == g else oracle.tie(counts, x, g, b)
        if tie is None or tie.point is None:
            continue
        point = coordinates(oracle, state.model.parameter(state.ties[0, b]))
        u, level = oracle.slopes[b] - oracle.slopes[g], oracle.offsets[g] - oracle.offsets[b]
        size = np.sqrt(u @ np.linalg.solve(oracle.hessian(counts, point), u))
        assert abs(u @ point - level) <= 1e-6 * size + 1e-12
        gradient = oracle.rows.T @ (counts / (oracle.base + oracle.rows @ point))
        assert deviations(oracle, counts, point, gradient - tie.multiplier * u) <= 1e-5
        assert oracle.likelihood(counts, point) == pytest.approx(
            oracle.likelihood(counts, tie.point), rel=1e-9, abs=1e-8
        )


def test_ties_are_those_of_a_general_optimizer() -> None:
    game = pm.games.dynamic_pricing(range(1, 4))
    oracle = Oracle(game)
    counts = oracle.prior + np.array([30.0, 4.0, 9.0, 12.0])
    x = oracle.estimate(counts)
    means = oracle.offsets + oracle.slopes @ x
    g = int(means.argmax())
    for b in set(range(3)) - {g}:
        u, level = oracle.slopes[b] - oracle.slopes[g], oracle.offsets[g] - oracle.offsets[b]
        found = minimize(
            lambda y: -oracle.likelihood(counts, y),
            oracle.on_plane(u, level),
            jac=lambda y: -oracle.rows.T @ (counts / (oracle.base + oracle.rows @ y)),
            method="SLSQP",
            constraints={"type": "eq", "fun": lambda y, u=u, level=level: u @ y - level},
            options={"ftol": 1e-14},
        )
        tie = oracle.tie(counts, x, g, b)
        assert tie is not None
        lost = oracle.likelihood(counts, x) + found.fun
        assert tie.sure == pytest.approx(np.sqrt(2 * lost), rel=1e-5)
        step = 1e-4  # the multiplier is how fast the likelihood rises with the level
        up, down = (
            oracle.likelihood(counts, moved)
            for moved in (
                oracle.climb(counts, oracle.on_plane(u, level + sign * step), _free(u))
                for sign in (1, -1)
            )
        )
        assert tie.multiplier == pytest.approx((up - down) / (2 * step), rel=1e-4)


def _free(u: Array) -> Array:
    return np.linalg.svd(u[None])[2][1:].T


@pytest.mark.parametrize("ones", [0, 3, 20, 49, 51, 100, 10**6])
@pytest.mark.parametrize("zeros", [0, 50, 10**6])
def test_two_outcomes_have_a_closed_form(ones: int, zeros: int) -> None:
    """Label-efficient prediction: R^2 / 2 = n KL(p, 1/2), and a label shows 1 / n of the tie."""
    seen = np.array([zeros, ones]) + 1.25
    n, p = seen.sum(), seen / seen.sum()
    sure = np.sqrt(2 * n * float(p @ np.log(2 * p)))
    lead = abs(p[0] - p[1])
    deviation = 2 * np.sqrt(p[0] * p[1] / n)
    if lead <= 0.05 * deviation:
        sure, scale = lead / deviation, deviation
    else:
        scale = sure / (n * lead)
    expected = weight(Tie(sure, scale, np.zeros(1))) / n
    state = known(pm.games.label_efficient(), seen)
    worth = state.model.unit * state.worth[0]
    assert worth == pytest.approx([expected, 0.0, 0.0], rel=1e-5, abs=1e-300)


def test_the_weight_is_the_slope_of_the_expected_improvement() -> None:
    """A share rho of the variance of a normal comparison is worth s phi(R) rho / 2."""

    def improvement(lead: float, deviation: float) -> float:
        sure = lead / deviation
        return float(deviation * (norm.pdf(sure) - sure * norm.sf(sure)))

    for lead, deviation, rho in ((0.0, 1.0, 0.3), (0.4, 0.2, 0.05), (3.0, 1.5, 1.0)):
        small = 1e-5
        smaller, larger = (deviation * np.sqrt(1 + sign * small * rho) for sign in (-1, 1))
        slope = (improvement(lead, larger) - improvement(lead, smaller)) / (2 * small)
        assert profile.weight(lead / deviation, deviation, 0.0) * rho / 2 == pytest.approx(
            slope, rel=1e-7
        )


def test_nearly_sure_comparisons_count_less() -> None:
    assert profile.weight(2.0, 3.0, DAMPING) == pytest.approx(3 * norm.pdf(2.0) / (7 / 3) ** 3)


# -- the worth of all actions ----------------------------------------------------------------------


@given(game=signal_games(), data=st.data())
def test_the_worth_is_that_of_the_formulas(game: Any, data: Any) -> None:
    oracle = Oracle(game)
    counts = oracle.prior + data.draw(signal_counts(len(oracle.prior)))
    state = known(game, counts)
    expected, doubt = oracle.worth(counts, oracle.chances, oracle.pareto())
    size = np.abs(game.features).max()
    assert state.model.unit * state.worth[0] == pytest.approx(expected, rel=1e-4, abs=1e-12 * size)
    assert state.model.unit * state.doubt[0, 0] == pytest.approx(doubt, rel=1e-4, abs=1e-12 * size)


@pytest.mark.parametrize("name", GAMES)
def test_the_worth_of_games_of_the_library(name: str) -> None:
    """With contexts it is averaged over them, by how often they came and were expected."""
    game, rng = GAMES[name](), np.random.default_rng(3)
    oracle = Oracle(game)
    contexts = len(oracle.games)
    for most in (3, 60):
        counts = oracle.prior + rng.integers(0, most, len(oracle.prior))
        seen = rng.integers(0, 40, contexts)
        t = int(seen.sum()) + 1
        chances = (seen + contexts * oracle.chances) / (t - 1 + contexts)
        state = known(game, counts, t, seen)
        expected, doubt = oracle.worth(counts, chances, oracle.pareto())
        worth = state.model.unit * state.worth[0]
        assert worth == pytest.approx(expected, rel=1e-5, abs=1e-14)
        assert state.model.unit * state.doubt[0, 0] == pytest.approx(doubt, rel=1e-5, abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_rivals_the_nearest_are_compared_exactly(seed: int) -> None:
    game = pm.games.bernoulli_bandit_linear(25)
    oracle = Oracle(game)
    counts = oracle.prior + np.random.default_rng(seed).integers(0, 20, len(oracle.prior))
    state = known(game, counts)
    assert (state.ties[0] != 0).any(axis=1).sum() == 8
    expected, doubt = oracle.worth(counts, oracle.chances, oracle.pareto())
    assert state.worth[0] * state.model.unit == pytest.approx(expected, rel=1e-5, abs=1e-14)
    assert state.doubt[0, 0] * state.model.unit == pytest.approx(doubt, rel=1e-5, abs=1e-14)


def test_equal_rivals_are_no_reason_to_compare_more_of_them() -> None:
    game = pm.games.bernoulli_bandit_linear(30)
    counts = Oracle(game).prior.copy()
    counts[0] += 20
    state = known(game, counts)
    assert np.flatnonzero((state.ties[0] != 0).any(axis=1)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


# -- degenerate games ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DEGENERATE)
def test_where_nothing_can_be_learned_nothing_is_worth_anything(name: str) -> None:
    game = DEGENERATE[name]
    model = signal_model(game)
    assert model is not None
    state = learned(ProfileState.initial(model, 2), environment_of(game, [3, 4]), 5)
    assert (state.worth == 0).all()
    assert (state.doubt == 0).all()
    assert np.isfinite(state.means).all()
    assert (state.round == 6).all()


@settings(max_examples=40)
@given(game=signal_games(hopeless=True), seed=st.integers(0, 10**6))
def test_hopeless_games_have_finite_numbers(game: Any, seed: int) -> None:
    """Where the observations do not tell which of two actions is better, their tie may be far."""
    model = signal_model(game)
    assert model is not None
    counts = model.signals.prior + 10.0 ** np.random.default_rng(seed).uniform(
        0, 6, len(model.signals.prior)
    )
    state = known(game, counts)
    for values in (state.means, state.worth, state.doubt, state.coordinates, state.ties):
        assert np.isfinite(values).all()
    assert (state.worth >= 0).all()


def test_a_likelihood_is_climbed_from_far_away() -> None:
    """Thirty prices, each with millions of signals of one kind and none of the other."""
    game = pm.games.dynamic_pricing(range(1, 31))
    oracle = Oracle(game)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        often = 10.0 ** rng.uniform(0, 6.5, len(oracle.prior)) * rng.integers(0, 2, 58)
        state = known(game, oracle.prior + np.round(often))
        x = coordinates(oracle, state.estimate[0])
        p = oracle.base + oracle.rows @ x
        pairs = (oracle.prior + np.round(often)).reshape(-1, 2)
        assert p.reshape(-1, 2) == pytest.approx(pairs / pairs.sum(axis=1)[:, None], rel=1e-4)
        assert np.isfinite(state.worth).all()


def test_steps_leave_a_tenth_of_every_probability_and_raise_the_likelihood() -> None:
    """From p = 1/2 after two and one observations of the two signals, towards 0.99."""
    counts, p = np.array([2.0, 1.0]), np.array([0.5, 0.5])
    shared = np.zeros(2, dtype=np.int64), np.array([1.0, -1.0])
    step = np.array([0.49])
    promised = float((counts / p) @ shared[1]) * 0.49
    clipped = 0.9 / 0.98
    assert signal_likelihood.allowed(*shared, counts, p, step, 0.0) == pytest.approx(clipped)
    found = signal_likelihood.allowed(*shared, counts, p, step, promised)
    assert found == pytest.approx(clipped / 2)
    gain = [2 * np.log1p(0.98 * share) + np.log1p(-0.98 * share) for share in (clipped, found)]
    assert gain[0] < 0 < 0.1 * found * promised < gain[1]


@pytest.mark.parametrize("radius", [0.5, 1.0, 20.0])
def test_parameters_without_probabilities_are_no_obstacle(radius: float) -> None:
    """In a large ball utilities differ by more than 1, where a duel would have no chances."""
    game = pm.games.dueling(np.eye(3), feedback="sign", parameters=pm.Ball(np.zeros(3), radius))
    oracle = Oracle(game)
    counts = oracle.prior + np.random.default_rng(2).integers(0, 9, len(oracle.prior))
    state = known(game, counts)
    signals, inside = state.model.signals, state.model.rivals.inside
    along = np.hstack([inside, inside @ signals.extra.T])
    change = signals.sign * along[:, signals.direction]
    assert (signals.base + change > 0).all()
    expected, doubt = oracle.worth(counts, oracle.chances, oracle.pareto())
    assert (expected > 0).any()
    assert state.model.unit * state.worth[0] == pytest.approx(expected, rel=1e-5, abs=1e-14)
    assert state.model.unit * state.doubt[0, 0] == pytest.approx(doubt, rel=1e-5, abs=1e-14)
