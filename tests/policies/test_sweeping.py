"""PEGE, GCB and ETC: schedules, estimates and tests against a slow, obvious implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled.sweeps import phase_length, phase_sweeps
from partial_monitoring.simulation.environment import Environment

APPLE = pm.FiniteGame([[-1, 0], [0, -1]], [["-", "-"], ["rotten", "good"]])
PATH = pm.FiniteGame(
    [[0, -1], [-1 / 3, -1 / 3], [-1, 0]], [["-", "-"], ["left", "right"], ["-", "-"]]
)
POLICIES = {
    "pege": pm.PEGE(),
    "pege, gap": pm.PEGE("gap"),
    "gcb": pm.GCB(),
    "gcb, 1": pm.GCB(1.0),
    "etc": pm.ETC(),
    "etc, 20": pm.ETC(20),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def random_game(seed: int) -> pm.Game:
    """A linear game, some with duplicates, silent actions, several rows or a flat parameter set."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    features = rng.integers(-2, 3, (k, d)).astype(float)
    features[rng.integers(k)] = features[rng.integers(k)]
    maps: list[Any] = [rng.integers(-1, 2, (rng.integers(0, 3), d)) for _ in range(k)]
    maps[rng.integers(k)] = np.eye(d)
    sets = [pm.Box([-1] * d, [1] * d), pm.Ball([0.3] * d, 1), pm.AllParameters(d), pm.Simplex(d)]
    return pm.Game(features, maps, sets[seed % 4], 0.3)


class Slow:
    """One replicate, by the definition: lists of sweeps, a pseudo-inverse, a sorted list."""

    def __init__(self, game: pm.Game, policy: Any) -> None:
        self.game, self.policy = game, policy
        self.q, self.c = (
            game.parameters.difference_basis(),
            game.parameters.relative_interior_point(),
        )
        self.sigma = policy.init(game, 1).plan.observers.tolist()
        self.rows = [game.rows(a) for a in self.sigma]
        stacked = np.concatenate([*self.rows, np.zeros((0, game.d))])
        inverse = np.linalg.pinv(stacked @ self.q, rcond=1e-9)
        self.matrix, self.shown = self.q @ inverse, stacked @ self.c
        self.sweeps: list[Any] = []
        self.partial: list[Any] = []
        self.t, self.plan = 1, self._schedule()
        self.turn = next(self.plan)

    @property
    def theta(self) -> Any:
        thetas = [self.c + self.matrix @ (y - self.shown) for y in self.sweeps]
        return np.mean(thetas, axis=0) if thetas else self.c

    def ranked(self) -> tuple[int, float]:
        """The best action, and its gap to the best that is no duplicate."""
        values = self.game.features @ self.theta
        best = int(values.argmax())
        away = (self.game.features - self.game.features[best]) @ np.column_stack([self.c, self.q])
        others = values[np.abs(away).max(axis=1) > 1e-9]
        return best, float(values[best] - others.max()) if len(others) else 0.0

    def _schedule(self) -> Any:
        """Yield True for a sweep, False for a greedy round."""
        policy, s = self.policy, len(self.sigma)
        if s == 0:
            while True:
                yield False
        if isinstance(policy, pm.PEGE):
            for b in range(1, 10**6):
                gap = policy.mode == "gap"
                yield from [True] * (b if gap else 1)
                yield from [False] * int(np.exp(b) if gap else np.sqrt(b))
        while True:
            n, t = len(self.sweeps), self.t
            if isinstance(policy, pm.GCB):
                rate = np.log(t) + 2 * np.log(self.game.k)
                clear = n > 0 and self.ranked()[1] > np.sqrt(self.alpha * rate / n)
                yield not (clear or n > t ** (2 / 3) * rate)
            elif policy.rounds is not None:
                yield n * s < policy.rounds
            else:
                yield n == 0 or n * s < policy.share * t ** (2 / 3)

    @property
    def alpha(self) -> float:
        if self.policy.alpha is not None:
            return float(self.policy.alpha)
        phi, noise = self.game.features, float(self.game.noise_std)
        spread = [np.linalg.norm(self.matrix.T @ (a - b)) for a in phi for b in phi]
        return 4 * noise**2 * max(spread) ** 2

    def action(self) -> int:
        return self.sigma[len(self.partial)] if self.turn else self.ranked()[0]

    def observe(self, shown: Any) -> None:
        self.t += 1
        if self.turn:
            place = len(self.partial)
            self.partial.append(shown[: len(self.rows[place])])
            if len(self.partial) < len(self.sigma):
                return
            self.sweeps.append(np.concatenate(self.partial))
            self.partial = []
        self.turn = next(self.plan)


@every_policy
@pytest.mark.parametrize("seed", range(12))
def test_rounds_are_those_of_the_definition(seed: int, policy: Any) -> None:
    game = random_game(seed)
    try:
        state = policy.init(game, 1)
    except InvalidInput:
        assert pm.analyze(game).category == "hopeless"
        return
    if len(state.plan.observers) == 0 or len(state.actions.numbers) < game.k:
        return  # tested below
    slow, theta = Slow(game, policy), game.draw_truths(np.array([seed]))
    environment = Environment(game, theta, np.array([seed]))
    for t in range(150):
        action = policy.decide(state, np.array([0.5])).action
        assert action[0] == slow.action()
        shown = environment.observe(action, t)
        state = policy.update(state, action, shown)
        slow.observe(shown[0])
        if not slow.partial:
            np.testing.assert_allclose(state.theta[0], slow.theta, atol=1e-9)


# -- schedules -------------------------------------------------------------------------------------

WORST = [(1, 1), (1, 1), (1, 1), (1, 2), (1, 2), (1, 2), (1, 2), (1, 2), (1, 3), (1, 3)]
GAP = [(1, 2), (2, 7), (3, 20), (4, 54), (5, 148), (6, 403), (7, 1096), (8, 2980), (9, 8103)]


def lengths(policy: pm.PEGE, phases: int, rounds: int) -> list[tuple[int, int]]:
    """Return the sweeps and greedy rounds of the first phases, as they are played."""
    game = pm.games.bernoulli_bandit_linear(3)
    state = policy.init(game, 1)
    environment = Environment(game, np.array([[0.2, 0.5, 0.9]]), np.array([0]))
    found: dict[int, list[int]] = {}
    for t in range(rounds):
        phase, kind = int(state.phase[0]), int(state.rounds_left[0] > 0)
        found.setdefault(phase, [0, 0])[kind] += 1
        action = policy.decide(state, np.zeros(1)).action
        state = policy.update(state, action, environment.observe(action, t))
    return [(found[b][0] // 3, found[b][1]) for b in range(1, phases + 1)]


def test_the_first_ten_phases_of_pege() -> None:
    """Three observers; phase b sweeps once and is greedy for floor(b^(1/2)) rounds."""
    assert lengths(pm.PEGE(), 10, 60) == WORST
    assert lengths(pm.PEGE("gap"), 6, 700) == GAP[:6]
    rule = pm.PEGE("gap").init(APPLE, 1).rule
    for b in range(1, 11):
        expected = (b, int(np.exp(b)))
        assert (phase_sweeps(rule, b), phase_length(rule, b)) == expected
    assert [(phase_sweeps(rule, b), phase_length(rule, b)) for b in range(1, 10)] == GAP


def test_whole_powers_are_whole_and_phases_do_not_overflow() -> None:
    rule = pm.PEGE(alpha=0.5, beta=1 / 3).init(APPLE, 1).rule
    for root in (2, 3, 7, 10, 100, 1000):
        assert phase_length(rule, root**2) == root
        assert phase_sweeps(rule, root**3) == root
    endless = pm.PEGE("gap").init(APPLE, 1).rule
    assert 10**18 < phase_length(endless, 10**6) <= 2**62


def test_etc_commits_after_whole_sweeps() -> None:
    game, theta = pm.games.bernoulli_bandit_linear(3), [0.2, 0.5, 0.9]
    result = pm.simulate(game, {"etc": pm.ETC(rounds=40)}, theta, horizon=400, seeds=5)
    plays = result.plays["etc"]
    explored = np.searchsorted(result.checkpoints, 42)
    assert (plays[:, explored].min(axis=1) >= 13).all()
    assert (np.sort(plays[:, -1], axis=1)[:, :2] == 14).all()


def test_etc_without_a_horizon_explores_a_share() -> None:
    result = pm.simulate(PATH, {"etc": pm.ETC(share=2.0)}, [0.9, 0.1], horizon=8000, seeds=3)
    np.testing.assert_allclose(result.plays["etc"][:, -1, 1], 2 * 8000 ** (2 / 3), rtol=0.01)


# -- estimates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_without_noise_one_sweep_estimates_all_differences(seed: int) -> None:
    game = random_game(seed)
    try:
        state = pm.ETC(1).init(game, 1)
    except InvalidInput:
        return
    theta = game.draw_truths(np.array([seed]))
    environment = Environment(game, theta, np.array([0]), "none")
    for t in range(len(state.plan.observers)):
        action = pm.ETC(1).decide(state, np.zeros(1)).action
        state = pm.ETC(1).update(state, action, environment.observe(action, t))
    best = int(pm.ETC(1).decide(state, np.zeros(1)).action[0])
    assert pm.Instance(game, theta[0]).gaps[best] == pytest.approx(0, abs=1e-9)
    if len(state.actions.numbers) == game.k and len(state.plan.observers):
        phi = game.features - game.features[0]
        np.testing.assert_allclose(phi @ state.theta[0], phi @ theta[0], atol=1e-9)


def test_gcb_by_hand_on_apples() -> None:
    """Only good apples: the gap is 1, the width (f(t) / (2 N))^(1/2), f(t) = log t + 2 log 2.

    In round 2 it is 1.02, so there is a second sweep; then 0.79, and above 1 again when f(t) is
    above 4, from round 14 on.
    """
    policy = pm.GCB(alpha=0.5)
    state, actions = policy.init(APPLE, 1), []
    for _ in range(15):
        action = policy.decide(state, np.zeros(1)).action
        state = policy.update(state, action, np.array([[0.0, 1.0]]))
        actions.append(int(action[0]))
    assert actions == [1, 1, *[0] * 11, 1, 0]
    np.testing.assert_allclose(state.theta, [[0, 1]], atol=1e-12)
    assert state.gap[0] == pytest.approx(1.0)
    derived = pm.GCB().init(APPLE, 1).rule
    assert derived.first == pytest.approx(4 * APPLE.noise_std**2 * 2)  # |(1, -1)|^2 = 2
    assert derived.second == np.log(2)


def test_duplicates_of_the_best_action_are_no_rivals() -> None:
    copied = pm.FiniteGame([*APPLE.rewards, APPLE.rewards[0]], [*APPLE.signals, ["-", "-"]])
    for game in (APPLE, copied):
        policy = pm.GCB(alpha=0.01)
        state = policy.init(game, 1)
        for symbol in (1, 1, 1):
            state = policy.update(state, np.array([1]), np.eye(2)[[symbol]])
        assert state.gap[0] == pytest.approx(1.0)
    result = pm.simulate(copied, pm.GCB(1.0), [0.2, 0.8], horizon=3000, seeds=4)
    assert (result.plays["gcb"][:, -1, 1] < 1000).all()


def test_an_action_that_shows_rounding_noise_is_no_observer() -> None:
    """Its row is constant on the simplex up to rounding, which a relative tolerance takes for 1."""
    noise = [[0.1 + 0.2, 0.3, 0.3]]
    game = pm.Game(np.eye(3), [noise, noise, np.eye(3)], pm.Simplex(3))
    assert np.abs(np.array(noise) @ game.parameters.difference_basis()).max() > 0
    assert pm.PEGE().init(game, 1).plan.observers.tolist() == [2]
    assert pm.PEGE().init(pm.games.label_efficient(), 1).plan.observers.tolist() == [0]


def test_observers_are_few_and_suffice() -> None:
    game = pm.games.linear_bandit(np.random.default_rng(1).standard_normal((50, 4)))
    assert len(pm.PEGE().init(game, 1).plan.observers) == 4
    wide = pm.games.combinatorial_bandit(6, 3)
    assert len(pm.PEGE().init(wide, 1).plan.observers) == 2
    needless = pm.Game([[1, 0], [-1, 0]], [[[1, 0]], [[0, 1]]], pm.Box([-1, -1], [1, 1]))
    assert pm.PEGE().init(needless, 1).plan.observers.tolist() == [0]


# -- special games ---------------------------------------------------------------------------------


def test_actions_that_cannot_be_compared_are_played_only_if_they_may_be_best() -> None:
    """The last action depends on what nobody sees, but is never best."""
    game = pm.Game(
        [[1, 0], [-1, 0], [0, 0.1]],
        [[[1, 0]], [], []],
        pm.Polytope([[-1, 1], [-1, -1], [1, 0]], [0, 0, 1]),
    )
    assert pm.PEGE().init(game, 1).actions.numbers.tolist() != [0, 1, 2]


@every_policy
def test_hopeless_games_are_refused(policy: Any) -> None:
    game = pm.games.matching_pennies("none")
    for refused in (lambda: policy.init(game, 1), lambda: pm.simulate(game, policy, horizon=3)):
        with pytest.raises(InvalidInput, match="cannot be told apart by any feedback") as caught:
            refused()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


@every_policy
def test_trivial_games_cost_nothing(policy: Any) -> None:
    trivial = [
        pm.Game([[1.0, 2.0]], [[[1.0, 0.0]]], pm.Ball([0.0, 0.0], 1.0)),
        pm.FiniteGame([[0, 0], [-1, -1]], [["a", "b"], ["a", "b"]]),
        pm.FiniteGame([[0, 1], [0, 1]], [["a", "b"], ["-", "-"]]),
        pm.FiniteGame([[3], [5]], [["a"], ["a"]]),
        pm.Game(np.eye(2), np.eye(2)[:, None], pm.Ball([0.3, 0.4], 0.0)),
    ]
    for game in trivial:
        result = pm.simulate(game, {"own": policy}, "random", horizon=50, seeds=2)
        assert not result.regret["own"].any()


@every_policy
def test_actions_may_be_permuted(policy: Any) -> None:
    """One observer: the same signals make the same decisions, if ties keep their order."""
    game, order = pm.games.label_efficient(), [1, 0, 2]
    moved = pm.FiniteGame(game.rewards[order], [game.signals[a] for a in order])
    runs = [
        pm.simulate(own, {"own": policy}, [0.3, 0.7], horizon=400, seeds=5) for own in (game, moved)
    ]
    np.testing.assert_array_equal(runs[0].regret["own"], runs[1].regret["own"])
    plays = runs[0].plays["own"][:, -1]
    np.testing.assert_array_equal(plays[:, order], runs[1].plays["own"][:, -1])


@every_policy
def test_outcomes_and_signals_may_be_permuted(policy: Any) -> None:
    """The same sequence of outcomes, under other names, makes the same decisions."""
    game, order = pm.games.dynamic_pricing(), [2, 0, 1]
    moved = pm.FiniteGame(
        game.rewards[:, order], [[f"say {row[x]}" for x in order] for row in game.signals]
    )
    outcomes = np.random.default_rng(3).integers(0, 3, 300)
    states = [policy.init(own, 1) for own in (game, moved)]
    for outcome in outcomes:
        actions = [policy.decide(state, np.zeros(1)).action for state in states]
        assert actions[0] == actions[1]
        for i, (own, x) in enumerate(((game, outcome), (moved, order.index(outcome)))):
            shown = np.zeros((1, own.m))
            rows = own.rows(int(actions[i][0]))
            shown[0, : len(rows)] = rows[:, x]
            states[i] = policy.update(states[i], actions[i], shown)


def test_scale_free() -> None:
    """GCB with its own alpha decides the same if rewards are doubled."""
    double = pm.FiniteGame(2 * APPLE.rewards, APPLE.signals)
    runs = [pm.simulate(g, "gcb", [0.3, 0.7], horizon=500, seeds=4) for g in (APPLE, double)]
    np.testing.assert_array_equal(runs[0].plays["gcb"], runs[1].plays["gcb"])
