"""ExpByOpt: its program against other solvers and closed forms, its estimates, rounds of play."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.policies.finite.exploration import (
    ESTIMATES,
    MIXED,
    Exploration,
    Solutions,
    solutions_of,
)
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

Array = NDArray[np.float64]

APPLE = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
LABEL = pm.games.finite(losses=[[1, 1], [1, 0], [0, 1]], signals=["ab", "aa", "aa"])
PRICES = pm.games.finite(losses=[[0, 1, 2], [2, 0, 1], [2, 2, 0]], signals=["yyy", "nyy", "nny"])
GAMES = NAMED | {"arms": pm.games.bernoulli_bandit(3), "prices": PRICES}
LEARNED = {name: game for name, game in GAMES.items() if pm.analyze(game).category != "trivial"}


def exact(own: Exploration, q: Array, eta: float, p: Array, weights: Array) -> float:
    """V_q(eta) at (p, G), outcome by outcome."""
    values = []
    for z in range(own.losses.shape[1]):
        total = (p @ own.losses[:, z] - q @ own.losses[own.places, z]) / eta
        for s in np.flatnonzero(own.signals[:, z]):
            chance = p[own.owner[s]]
            x = eta * weights[s] / chance
            total += chance * q @ (np.exp(-x) + x - 1) / eta**2
        values.append(total)
    return float(max(values))


def by_exponential_cones(own: Exploration, q: Array, eta: float, *, bounded: bool = False) -> float:
    """The least V_q(eta), by another formulation: p exp(-H / p) <= w with H = eta G.

    With |H| <= p on request.
    """
    rows, a, g = len(own.owner), len(q), len(own.played)
    p, h, w, top = cp.Variable(g), cp.Variable((rows, a)), cp.Variable((rows, a)), cp.Variable()
    spread = cp.multiply(w - np.eye(g)[own.owner] @ p[:, None] @ np.ones((1, a)) + h, q[None])
    constraints = [cp.sum(p) == 1, p >= 0]
    constraints += [
        own.signals.T @ (h[:, 1:] - h[:, :1] @ np.ones((1, a - 1))) == eta * own.targets
    ]
    for s in range(rows):
        for b in range(a):
            constraints.append(cp.ExpCone(-h[s, b], p[own.owner[s]], w[s, b]))
            constraints += [cp.abs(h[s, b]) <= p[own.owner[s]]] if bounded else []
    lost = own.losses.T @ p - own.losses[own.places].T @ q
    constraints += [lost * eta + own.signals.T @ cp.sum(spread, axis=1) <= top]
    problem = cp.Problem(cp.Minimize(top), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these tolerances may not be reached
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value) / eta**2


# -- the program -------------------------------------------------------------------------------


@pytest.mark.parametrize("estimates", ESTIMATES)
@pytest.mark.parametrize("eta", [0.1, 0.02])
@pytest.mark.parametrize("name", LEARNED)
def test_solutions_are_nearly_those_of_exponential_cones(
    name: str, eta: float, estimates: str
) -> None:
    """Exact values are at least the least one, and at most those of the second-order cones."""
    own = Exploration(LEARNED[name], "test", estimates)
    eta, a = min(eta, own.largest_rate), len(own.competing)
    rng, bounded = np.random.default_rng(len(name)), estimates == "bounded"
    for q in (np.full(a, 1 / a), rng.dirichlet(np.ones(a))):
        found = own.solve(q, eta)
        value = exact(own, q, eta, found.chances, found.weights)
        least = by_exponential_cones(own, q, eta)
        assert value >= least - 1e-8 / eta**2
        assert value <= found.value + 1e-5  # mixing in 1e-7 divided by eta
        if bounded:
            assert np.abs(eta * found.weights).max() <= 1.001 * found.chances.max()
            least = by_exponential_cones(own, q, eta, bounded=True)
        assert value <= least + 0.2 * abs(least) + 0.01


def test_extreme_weights_make_free_estimates_better() -> None:
    """Where an action has hardly any weight, bounded estimates ask for exploration of order eta."""
    q, eta = np.array([1 - 1e-4, 1e-4]), 0.05
    values = {}
    for estimates in ESTIMATES:
        own = Exploration(APPLE, "test", estimates)
        values[estimates] = exact(own, q, eta, *own.solve(q, eta)[:2])
    assert values["free"] < 0.3 * values["bounded"]


def test_closed_forms() -> None:
    """For uniform weights and small rates: 1/8, 1/4, and eta^(-1/2) / 2 by exact cones."""
    half = np.full(2, 0.5)
    arms, apples, labels = (
        Exploration(game, "test") for game in (pm.games.bernoulli_bandit(2), APPLE, LABEL)
    )
    for eta in (0.01, 0.001):
        for own, value in ((arms, 1 / 8), (apples, 1 / 4)):
            found = own.solve(half, eta)
            assert exact(own, half, eta, *found[:2]) == pytest.approx(value, rel=0.005)
            assert by_exponential_cones(own, half, 0.05) == pytest.approx(value, rel=0.03)
        found = labels.solve(half, eta)
        assert exact(labels, half, eta, *found[:2]) == pytest.approx(0.5 / np.sqrt(eta), rel=0.02)
    assert by_exponential_cones(labels, half, 0.01) == pytest.approx(5.0, rel=0.005)


def test_local_and_global_weights_of_prices() -> None:
    """Where two actions that are no neighbours compete, the value grows as the rate falls."""
    own = Exploration(PRICES, "test")
    far, near = np.array([0.4999, 0.0002, 0.4999]), np.array([0.9, 0.05, 0.05])
    rates = (0.1, 0.01)
    assert [by_exponential_cones(own, far, eta) for eta in rates] == pytest.approx(
        [0.43, 1.03], rel=0.02
    )
    assert [by_exponential_cones(own, near, eta) for eta in rates] == pytest.approx(
        [0.50, 0.53], rel=0.02
    )
    found = [exact(own, far, eta, *own.solve(far, eta)[:2]) for eta in (0.01, 0.001, 0.0001)]
    assert found[1] / found[0] > 2.5
    assert found[2] / found[1] > 2.5
    found = [exact(own, near, eta, *own.solve(near, eta)[:2]) for eta in (0.01, 0.0001)]
    assert found[1] == pytest.approx(found[0], rel=0.05)


@pytest.mark.parametrize("estimates", ESTIMATES)
@pytest.mark.parametrize("seed", range(15))
def test_solutions_of_random_games_are_feasible(seed: int, estimates: str) -> None:
    own = Exploration(random_game(seed), "test", estimates)
    a, rng = len(own.competing), np.random.default_rng(seed)
    for eta in (1.0, 0.1, 1e-3, 1e-5):
        q = np.maximum(rng.dirichlet(np.full(a, 0.1)), 1e-7)
        q, eta = q / q.sum(), eta * (own.largest_rate if a > 1 else 1.0)
        found = own.reliable(q, eta)
        assert own.residual(found.weights) < 1e-10
        assert found.chances.sum() == pytest.approx(1.0, abs=1e-12)
        assert (found.chances >= 0.9 * MIXED / len(own.played)).all()
        assert np.isfinite(exact(own, q, eta, *found[:2]))


def test_where_the_solver_fails_a_larger_rate_or_uniform_exploration_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, q = Exploration(APPLE, "test"), np.full(2, 0.5)
    asked: list[float] = []
    solve = Exploration.solve

    def fails(self: Exploration, q: Array, eta: float) -> Any:
        asked.append(eta)
        if eta < 0.1:
            raise SolverError("it is not solved.")
        return solve(self, q, eta)

    monkeypatch.setattr(Exploration, "solve", fails)
    assert own.reliable(q, 0.03).value == solve(own, q, 0.12).value
    assert asked == [0.03, 0.06, 0.12]
    monkeypatch.setattr(Exploration, "solve", lambda self, q, eta: fails(self, q, 0.0))
    found = own.reliable(q, 0.01)
    assert found.chances.tolist() == [0.5, 0.5]
    assert own.residual(found.weights) < 1e-10


# -- the grid ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNED)
def test_interpolated_solutions_are_valid_and_nearly_as_good(name: str) -> None:
    """Distributions, equalities and values of what is played, at random scores."""
    from partial_monitoring.numerics.compiled import play_exploration as play
    from partial_monitoring.policies.finite.exp_by_opt import refreshed, scratch

    policy, n = pm.ExpByOpt(), 12
    solutions = solutions_of(LEARNED[name], "test")
    own, rng = solutions.program, np.random.default_rng(1)
    state = policy.init(LEARNED[name], n).known
    state.scores[:] = rng.normal(size=state.scores.shape) * rng.choice([2, 10, 40], size=(n, 1))
    state.spent[:] = np.exp(rng.uniform(0, 7, n))
    room = scratch(solutions, n)
    refreshed(solutions, state, room)
    worse = []
    for i in range(n):
        q, eta, p = room.q[i], play.rate(solutions.shape, state.spent[i]), state.chances[i]
        assert q == pytest.approx(weights_of(state.scores[i], eta), rel=1e-12)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert (p > 0).all()
        assert own.residual(state.weights[i]) < 1e-10
        value = exact(own, q, eta, p, state.weights[i])
        assert state.value[i] == pytest.approx(value, rel=1e-6, abs=1e-6 / eta)
        best = exact(own, q, eta, *own.solve(q, eta)[:2])
        worse.append(max(value, 0.0) - max(best, 0.0))
        assert worse[-1] < 0.25 * max(best, 0.0) + 0.25
    assert np.mean(worse) < 0.05


def weights_of(scores: Array, eta: float) -> Array:
    q = np.exp(-eta * (scores - scores.min()))
    q = np.maximum(q / q.sum(), MIXED)
    return np.asarray(q / q.sum())


@pytest.mark.parametrize("name", LEARNED)
def test_estimates_are_unbiased_up_to_a_shift(name: str) -> None:
    """By enumeration: what actions show in each outcome, after some rounds."""
    game, policy = LEARNED[name], pm.ExpByOpt()
    state = policy.init(game, 2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = policy.decide(state, rng.random(2)).action
        shown = game.observation_maps[action, :, rng.integers(game.d)]
        state = policy.update(state, action, shown)
    chances = policy.decide(state, np.zeros(2)).distribution[0]
    own = state.solutions.program
    for z in range(game.d):
        mean = np.zeros(len(own.competing))
        for c in np.flatnonzero(chances):
            shown = np.repeat(game.observation_maps[c, :, z][None], 2, axis=0)
            moved = policy.update(state, np.full(2, c), shown)
            mean += chances[c] * (moved.scores[0] - state.scores[0])
        losses = own.losses[own.places, z]
        assert mean - mean[0] == pytest.approx(losses - losses[0], abs=1e-10)


def test_programs_are_solved_once_for_all_runs() -> None:
    game = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
    pm.simulate(game, "exp_by_opt", [0.4, 0.6], horizon=1000, seeds=20)
    solved = solutions_of(game, "test").table.known
    assert solved < 250
    pm.simulate(game, "exp_by_opt", [0.4, 0.6], horizon=1000, seeds=20)
    assert solutions_of(game, "test").table.known == solved
    copy = pickle.loads(pickle.dumps(solutions_of(game, "test")))
    assert isinstance(copy, Solutions)


# -- rounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_the_batched_ones(game: pm.FiniteGame) -> None:
    compare(game, pm.ExpByOpt(), 150)


@pytest.mark.parametrize("seed", range(5))
def test_compiled_rounds_of_random_games(seed: int) -> None:
    compare(random_game(seed), pm.ExpByOpt(estimates="free", spacing=1.0), 60)


def test_the_contract_of_policies() -> None:
    pm.testing.check_policy(pm.ExpByOpt())


@pytest.mark.parametrize("name", ["one action", "one outcome"])
def test_trivial_games_cost_nothing_and_solve_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("partial_monitoring.numerics.conic.minimize_conic", refuse)
    game = GAMES[name]
    result = pm.simulate(game, "exp_by_opt", np.eye(game.d)[0], horizon=20, seeds=2)
    assert (result.regret["exp_by_opt"] == 0).all()


def test_an_opponent_that_changes_sides() -> None:
    """Realised regret against the best action in hindsight, for outcomes fixed in advance."""
    game, n, rng = NAMED["path"], 2000, np.random.default_rng(0)
    chance = np.where(np.arange(n) < n / 2, 0.9, 0.15)
    outcomes = (rng.random((n, 8)) >= chance[:, None]).astype(int)
    policy, losses = pm.ExpByOpt(), -np.array(game.rewards)
    state, lost = policy.init(game, 8), np.zeros(8)
    for t in range(n):
        action = policy.decide(state, rng.random(8)).action
        lost += losses[action, outcomes[t]]
        state = policy.update(state, action, game.observation_maps[action, :, outcomes[t]])
    best = losses[:, outcomes].sum(axis=1).min(axis=0)
    assert (lost - best).mean() < 2 * np.sqrt(n)


def test_regret_is_below_its_own_bound() -> None:
    """log |A| / eta_n + sum eta_t V_t, for the worst of some opponents."""
    for p in (0.5, 0.45, 0.3):
        result = pm.simulate(APPLE, "exp_by_opt", [p, 1 - p], horizon=1000, seeds=30)
        # Values are at most about 0.6, so that the bound is at most 2 (log 2 (1 + 600))^(1/2).
        assert result.mean("exp_by_opt")[-1] < 2 * np.sqrt(np.log(2) * 601)


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="cannot be told apart"):
        pm.ExpByOpt().init(pm.games.matching_pennies("none"), 1)
    with pytest.raises(InvalidInput, match="spacing must lie between"):
        pm.ExpByOpt(spacing=3.0)
    with pytest.raises(InvalidInput, match="estimates"):
        pm.ExpByOpt(estimates="wild")
    own = pm.ExpByOpt()
    with pytest.raises(InvalidInput, match="available cannot be given"):
        own.decide(own.init(APPLE, 1), np.zeros(1), np.array([True, False]))
    assert not own.promise(None).certified  # solutions are interpolated
