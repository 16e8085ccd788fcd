"""Asymptotically optimal IDS: alternatives, information and decisions against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics import conic
from partial_monitoring.policies.ids.cells import nearest_in_cells
from partial_monitoring.simulation.environment import Environment
from tests.oracles.two_ways import compare

BOTH = pytest.mark.parametrize("kind", ["halfspace", "cell"])


def random_game(seed: int) -> pm.Game:
    """A linear game over R^d: bandits, several rows, duplicates, directions that nobody sees."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    features = rng.standard_normal((k, d))
    maps: Any = features[:, None, :]
    if seed % 3 == 1:
        maps = [rng.standard_normal((rng.integers(1, 3), d)) for _ in range(k)]
    if seed % 3 == 2:
        features[-1] = features[0]
        maps = features[:, None, :] * (np.arange(d) > 0)
    return pm.Game(features, maps, pm.AllParameters(d), 0.5)


def after(game: Any, policy: Any, rounds: int, seed: int = 0) -> Any:
    """Return the state of a policy after some rounds."""
    seeds = np.array([seed])
    environment = Environment(game, game.draw_truths(seeds), seeds)
    state, rng = policy.init(game, 1), np.random.default_rng(seed)
    for t in range(rounds):
        action = policy.decide(state, rng.random(1)).action
        state = policy.update(state, action, environment.observe(action, t))
    return state


class Slow:
    """The formulas of one replicate in R^d, with quadratic programs for the alternatives."""

    def __init__(self, state: Any, kind: str) -> None:
        estimate = state.estimate
        game, confidence = estimate.design.game, pm.AsymptoticIDS().confidence_set(state)
        self.phi, self.v = game.features, confidence.gram[0]
        self.theta = confidence.center[0]
        self.maps = [game.rows(a) for a in range(game.k)]
        self.means = self.phi @ self.theta
        self.g = int(self.means.argmax())
        self.rivals = [y for y in range(game.k) if (self.phi[y] != self.phi[self.g]).any()]
        self.nu = {y: self.nearest(y, kind) for y in self.rivals}
        self.n = {y: (nu - self.theta) @ self.v @ (nu - self.theta) for y, nu in self.nu.items()}
        rho, s, t = 0.5, int(estimate.round[0]), int(state.round[0])
        log_det = np.linalg.slogdet(self.v)[1]
        self.beta, self.test = (
            (rho * np.sqrt(2 * np.log(u * np.log(u)) + log_det) + 1.0) ** 2
            for u in (max(s, np.e), max(t, np.e))
        )
        eta = 1 / np.sqrt(state.largest[0])
        weights = np.array([np.exp(-eta * self.n[y] / rho**2) for y in self.rivals])
        self.q = weights / weights.sum()

    def nearest(self, y: int, kind: str) -> Any:
        others = [self.g] if kind == "halfspace" else range(len(self.phi))
        rows = np.array([self.phi[b] - self.phi[y] for b in others])
        rows = rows[np.abs(rows).max(axis=1) > 0]
        return conic.nearest_point(self.theta, self.v, rows, np.zeros(len(rows)))

    def length(self, direction: Any) -> float:
        return float(np.sqrt(direction @ np.linalg.solve(self.v, direction)))

    def information(self, x: int) -> float:
        root = np.linalg.cholesky(np.linalg.inv(self.v))
        wide = np.sqrt(self.beta) * np.linalg.norm(self.maps[x] @ root)
        shown = [np.linalg.norm(self.maps[x] @ (self.nu[y] - self.theta)) for y in self.rivals]
        return float(0.5 * (self.q * (np.array(shown) + wide) ** 2).sum())

    def gap(self, x: int) -> float:
        away = self.phi - self.phi[self.g]
        ahead = [a @ self.theta + np.sqrt(self.beta) * self.length(a) for a in away]
        return float(max(ahead) - away[x] @ self.theta)


@BOTH
@pytest.mark.parametrize("seed", range(15))
def test_decisions_are_those_of_the_definition(seed: int, kind: str) -> None:
    game, policy = random_game(seed), pm.AsymptoticIDS(kind)
    state = after(game, policy, 5 + seed, seed)
    slow = Slow(state, kind)
    choice = policy.decide(state, np.array([0.3]))
    assert state.leader[0] == slow.g
    assert state.nearest[0] == pytest.approx(min(slow.n.values()), rel=1e-6, abs=1e-9)
    if min(slow.n.values()) >= slow.test:
        assert choice.action[0] == slow.g
        assert not choice.information.any()
        return
    expected = [slow.information(x) for x in range(game.k)]
    np.testing.assert_allclose(choice.information[0], expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(choice.gaps[0], [slow.gap(x) for x in range(game.k)], rtol=1e-9)
    mixed = pm.sampling.exact(choice.gaps, choice.information)
    np.testing.assert_allclose(choice.distribution, mixed, atol=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_alternatives(seed: int) -> None:
    """Halfspaces: <u, nu> = 0 and N in closed form. The nearest of all is the same for cells."""
    state = after(random_game(seed), pm.AsymptoticIDS(), 10, seed)
    near, exact = Slow(state, "halfspace"), Slow(state, "cell")
    for y in near.rivals:
        u = near.phi[near.g] - near.phi[y]
        step = np.linalg.solve(near.v, u) * (u @ near.theta) / near.length(u) ** 2
        np.testing.assert_allclose(near.nu[y], near.theta - step, atol=1e-6)
        assert u @ (near.theta - step) == pytest.approx(0, abs=1e-9)
        assert near.n[y] == pytest.approx((u @ near.theta) ** 2 / near.length(u) ** 2, rel=1e-6)
        assert exact.n[y] >= near.n[y] * (1 - 1e-6)
    assert min(exact.n.values()) == pytest.approx(min(near.n.values()), rel=1e-5)


def test_cells_by_hand() -> None:
    """Three directions of the plane, and one that is never best."""
    slopes = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.2, 0.2]])
    center, none = np.array([1.0, 0.5]), np.zeros(4)
    points, squared = nearest_in_cells(none, slopes, center, np.eye(2), 0)
    np.testing.assert_allclose(points[1], [0.75, 0.75], atol=1e-9)
    np.testing.assert_allclose(points[2], [0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(points[3], [0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(squared, [np.inf, 0.125, 1.25, 1.25], atol=1e-6)


def test_nothing_is_learned_from_exploitation() -> None:
    game = pm.games.linear_bandit([[1, 0], [0, 1]], noise_std=0.05)
    policy = pm.AsymptoticIDS()
    seeds = np.array([0])
    environment = Environment(game, np.array([[0.9, 0.0]]), seeds)
    state, rng = policy.init(game, 1), np.random.default_rng(0)
    for t in range(600):
        action = policy.decide(state, rng.random(1)).action
        following = policy.update(state, action, environment.observe(action, t))
        if not state.exploring[0]:
            assert action[0] == state.leader[0]
            assert following.estimate is state.estimate
        state = following
    assert not state.exploring[0]
    assert state.round[0] == 601
    assert state.estimate.round[0] < 300


# -- special games ---------------------------------------------------------------------------------


@BOTH
def test_duplicates_and_trivial_games(kind: str) -> None:
    policy = pm.AsymptoticIDS(kind)
    copies = pm.games.linear_bandit([[1, 0], [1, 0], [0, 1]])
    result = pm.simulate(copies, {"own": policy}, [0.9, 0.1], horizon=100, seeds=2)
    assert np.isfinite(result.regret["own"]).all()
    for game in (
        pm.Game([[1.0, 2.0]], [[[1.0, 0.0]]], pm.Ball([0.0, 0.0], 1.0)),
        pm.FiniteGame([[0, 0], [-1, -1]], [["a", "b"], ["a", "b"]]),
        pm.FiniteGame([[0, 1], [0, 1]], [["a", "b"], ["-", "-"]]),
        pm.FiniteGame([[3], [5]], [["a"], ["a"]]),
        pm.Game(np.eye(2), np.eye(2)[:, None], pm.Ball([0.3, 0.4], 0.0)),
        pm.games.linear_bandit([[1, 0], [1, 0]]),
    ):
        result = pm.simulate(game, {"own": policy}, "random", horizon=30, seeds=2)
        assert not result.regret["own"].any()


@BOTH
def test_actions_may_be_permuted(kind: str) -> None:
    game = random_game(3)
    order = np.random.default_rng(0).permutation(game.k)
    moved = pm.Game(game.features[order], game.observation_maps[order], game.parameters, 0.5)
    policy, rng = pm.AsymptoticIDS(kind), np.random.default_rng(1)
    one, two = policy.init(game, 1), policy.init(moved, 1)
    for _ in range(12):
        action, shown = int(rng.integers(game.k)), rng.standard_normal((1, 1))
        one = policy.update(one, np.array([action]), shown)
        two = policy.update(two, np.flatnonzero(order == action), shown)
        chosen = [policy.decide(state, np.array([0.5])) for state in (one, two)]
        for name in ("distribution", "gaps", "information"):
            values = [getattr(choice, name) for choice in chosen]
            np.testing.assert_allclose(values[0][:, order], values[1], atol=1e-7)


GAMES: dict[str, Any] = {
    "bandit": pm.games.linear_bandit([[1, 0], [0, 1], [0.9, 0.4]]),
    "easily decided": pm.games.linear_bandit([[1, 0], [0, 1], [0.9, 0.4]], noise_std=0.05),
    "finite": pm.games.dynamic_pricing(),
    "rows": pm.games.combinatorial_bandit(4, 2),
    "noise": pm.games.heteroscedastic_linear_bandit(),
    "duels": pm.games.dueling(np.eye(3)),
    "trivial": pm.FiniteGame([[0, 0], [-1, -1]], [["a", "b"], ["a", "b"]]),
    "blind": pm.games.finite_versus_linear("silent ball"),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())
def test_compiled_rounds_are_the_batched_ones(game: Any) -> None:
    compare(game, pm.AsymptoticIDS(), 1200)


def test_compiled_rounds_with_options_and_probes() -> None:
    policy = pm.AsymptoticIDS(eta=0.5, regularization=0.3, norm_bound=2.0)
    compare(GAMES["bandit"], policy, 300)
    compare(GAMES["bandit"], pm.Probing(pm.AsymptoticIDS(), 0.1), 300)
    exact = pm.simulate(GAMES["bandit"], pm.AsymptoticIDS("cell"), horizon=5, seeds=2)
    assert exact.backend["asymptotic_ids"].startswith("batched: quadratic programs")


def test_the_checks_of_every_policy() -> None:
    pm.testing.check_policy(pm.AsymptoticIDS(), rounds=15)
    some = [GAMES["bandit"], GAMES["finite"], GAMES["rows"]]
    pm.testing.check_policy(pm.AsymptoticIDS("cell"), some, rounds=8)


def test_learners_report_and_are_saved(tmp_path: Any) -> None:
    game = GAMES["bandit"]
    learner, rng = pm.Learner(game, "asymptotic_ids", seed=1), np.random.default_rng(0)
    instance = pm.Instance(game, [0.8, 0.1])
    for _ in range(20):
        decision = learner.ask()
        learner.tell(decision, instance.observe(decision.action, rng))
    learner.save(tmp_path / "learner.json")
    assert pm.Learner.load(tmp_path / "learner.json").ask().label == learner.ask().label
    assert learner.status().round == 21
    assert learner.ask().estimate.shape == (2,)


@pytest.mark.parametrize(
    "options", [{"alternatives": "all"}, {"eta": 0}, {"eta": -1.0}, {"prior_mean": "a"}]
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))) as caught:
        pm.AsymptoticIDS(**options)
    assert str(caught.value).endswith(".")


def test_restricted_actions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="available cannot be given with AsymptoticIDS"):
        pm.Learner(GAMES["bandit"], "asymptotic_ids").ask(available=[0])


def test_the_end_of_optimism_in_small() -> None:
    """The costly action tells most; see ``tests/statistical/test_asymptotic_ids.py``."""
    game = pm.games.linear_bandit([[1, 0], [0, 1], [0.95, 0.1]], noise_std=0.3)
    result = pm.simulate(game, ["asymptotic_ids", "linucb"], [1, 0], horizon=20_000, seeds=8)
    plays = {name: result.plays[name][:, -1].mean(axis=0) for name in result.policies}
    assert plays["asymptotic_ids"][2] < 20 < plays["asymptotic_ids"][1]
    assert plays["linucb"][1] < 20 < 500 < plays["linucb"][2]
