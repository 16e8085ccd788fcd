"""Seeds, policies, horizons and learners meet the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring import randomness
from partial_monitoring.policies.policy import Choices
from partial_monitoring.simulation.environment import Environment
from tests.oracles.simulations import GAMES, PRICING, THETA, small

Array = NDArray[np.float64]


@pytest.mark.parametrize("gap", [pm.gaps.exact, pm.gaps.relaxed, pm.gaps.mean])
@pytest.mark.parametrize("name", GAMES)
def test_a_seed_does_not_notice_the_seeds_beside_it(name: str, gap: pm.gaps.GapEstimate) -> None:
    """Bit by bit the same, alone or among many, on every parameter set."""
    game = GAMES[name]()
    policy = pm.IDS(gap=gap)
    many = small(game, policy, seeds=[4, 0, 9, 2, 7, 5, 1], horizon=40)
    for i, seed in enumerate(many.seeds):
        if i % 3 == 0:
            alone = small(game, policy, seeds=[int(seed)], horizon=40)
            for table in ("regret", "information", "ratio", "plays"):
                mine, theirs = getattr(alone, table)["ids"][0], getattr(many, table)["ids"][i]
                assert np.array_equal(mine, theirs), table


def test_a_long_run_does_not_notice_its_neighbours_either() -> None:
    """Past the refresh of the estimate and the blocks of the random stream."""
    many = small(theta=THETA, seeds=5, horizon=1100, checkpoints=[511, 512, 513, 1000, 1001])
    alone = small(theta=THETA, seeds=[3], horizon=1100, checkpoints=[511, 512, 513, 1000, 1001])
    for table in ("regret", "information", "ratio", "plays"):
        assert np.array_equal(getattr(alone, table)["ids"][0], getattr(many, table)["ids"][3])


def test_horizons_are_prefixes() -> None:
    """The horizon is not known to the policy: a longer run starts with the shorter one."""
    short, long = small(horizon=15, checkpoints=[15]), small(horizon=30, checkpoints=[15])
    assert np.array_equal(short.regret["ids"][:, 0], long.regret["ids"][:, 0])


@pytest.mark.parametrize("name", GAMES)
def test_a_learner_with_that_seed_does_the_same(name: str) -> None:
    game = GAMES[name]()
    theta = small(game, horizon=1, seeds=[6]).theta[0]
    seeds, horizon = np.array([6]), 30
    marks = range(1, horizon + 1)
    result = pm.simulate(game, pm.IDS(), theta, horizon=horizon, seeds=seeds, checkpoints=marks)
    world = Environment(game, theta[None], seeds)
    learner = pm.Learner(game, pm.IDS(), seed=6)
    counts = np.zeros(game.k, dtype=int)
    gained, ratios = 0.0, 0.0
    for t in range(horizon):
        decision = learner.ask()
        gained += decision.information[decision.action]
        ratios += decision.ratio
        shown = world.observe(np.array([decision.action]), t)[0]
        if isinstance(game, pm.FiniteGame):
            symbol = game.symbols[decision.action][int(shown.argmax())]
            learner.tell(decision, symbol)
        else:
            learner.tell(decision, shown)
        counts[decision.action] += 1
        assert result.plays["ids"][0, t].tolist() == counts.tolist()
        assert result.information["ids"][0, t] == pytest.approx(gained, rel=1e-12)
        assert result.ratio["ids"][0, t] == pytest.approx(ratios / (t + 1), rel=1e-12)


@dataclass
class Recorder:
    """A policy that plays a fixed sequence and writes down what it sees."""

    sequence: list[int]
    seen: list[Array]

    def init(self, game: pm.Game, replicates: int) -> int:
        self.k, self.d = game.k, game.d
        return 0

    def decide(self, state: int, uniforms: Array, available: Array | None = None) -> Choices:
        n = len(uniforms)
        action = np.full(n, self.sequence[state % len(self.sequence)])
        flat = np.zeros((n, self.k))
        return Choices(action, flat, flat, flat, np.zeros(n), np.zeros(n), np.zeros((n, self.d)))

    def update(self, state: int, action: Any, observation: Array) -> int:
        self.seen.append(observation.copy())
        return state + 1


def observed(game: pm.Game, theta: Any, sequence: list[int], **kw: Any) -> Array:
    """What a fixed sequence of actions shows, shape (horizon, seeds, m)."""
    recorder = Recorder(sequence, [])
    small(game, {"fixed": recorder}, theta, **kw)
    return np.stack(recorder.seen)


def test_all_policies_meet_the_same_outcomes() -> None:
    """In a finite game the outcome of a round is the same whatever is played."""
    full = pm.games.finite([[0, 1, 2], [2, 1, 0]], ["abc", "abc"])
    one, two = (observed(full, THETA, [a], horizon=60) for a in (0, 1))
    assert np.array_equal(one, two)


def test_all_policies_meet_the_same_noise() -> None:
    """In a linear game the noise of a round is the same whatever is played."""
    game = pm.games.linear_bandit(noise_std=0.5)
    theta = np.array([0.3, -0.2, 0.5])
    means = game.features @ theta
    one, two = (observed(game, theta, [a], horizon=60)[:, :, 0] - means[a] for a in (0, 3))
    assert one == pytest.approx(two, abs=1e-12)
    assert one.std() == pytest.approx(0.5, rel=0.25)
    assert len(np.unique(one.round(9))) == one.size


def test_noise_is_the_one_of_the_game() -> None:
    coins = observed(pm.games.bernoulli_bandit_linear(2), [0.3, 0.9], [0], horizon=500)
    assert set(np.unique(coins)) == {0.0, 1.0}
    assert coins.mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 1500))
    game = pm.games.graph_dueling(feedback="sign", parameters=pm.Ball([0.0] * 3, 0.5))
    duels = observed(game, [0.3, 0.0, -0.2], [3], horizon=500)
    assert set(np.unique(duels)) == {-1.0, 1.0}
    assert duels.mean() == pytest.approx(0.3, abs=5 / np.sqrt(1500))
    shown = observed(PRICING, THETA, [1], horizon=500)
    assert shown.mean(axis=(0, 1)) == pytest.approx([0.2, 0.8], abs=5 * np.sqrt(0.16 / 1500))


def test_noise_can_be_chosen() -> None:
    game = pm.games.linear_bandit()
    theta = np.array([0.3, -0.2, 0.5])
    silent = observed(game, theta, [0, 3], noise="none")
    assert silent[::2, :, 0] == pytest.approx(0.3, abs=1e-15)
    own = observed(game, theta, [0], noise=lambda means, std, rng: means + 10.0)
    assert own == pytest.approx(10.3, abs=1e-12)

    def draws(means: Array, std: float, rng: np.random.Generator) -> Array:
        return means + rng.integers(1, 100, len(means))

    one, two = (observed(game, theta, [a], noise=draws, horizon=10) for a in (0, 1))
    assert one[:, :, 0] - 0.3 == pytest.approx(two[:, :, 0] + 0.2, abs=1e-9)
    assert len(np.unique(one)) > 3


def test_outcomes_without_probability_never_happen() -> None:
    full = pm.games.finite([[0, 1, 2, 0], [2, 1, 0, 0]], ["abcd", "abcd"])
    shown = observed(full, [0.0, 0.5, 0.5, 0.0], [0], horizon=400, seeds=5)
    assert shown.mean(axis=(0, 1))[[0, 3]].tolist() == [0.0, 0.0]
    assert shown.mean(axis=(0, 1))[1] == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(2000))


def test_rounding_does_not_reach_an_outcome_without_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten times 0.1 adds up to less than 1; the largest uniform number may lie above that."""
    theta = np.append(np.full(10, 0.1), 0.0)
    assert np.cumsum(theta)[-1] < 1.0
    game = pm.FiniteGame(np.zeros((1, 11)), ["abcdefghijk"])
    world = Environment(game, theta[None], np.array([0]))
    largest = np.full((1, 1), np.nextafter(1.0, 0.0))
    monkeypatch.setattr(randomness.Stream, "at", lambda *_: largest)
    assert world.observe(np.array([0]), 0)[0].argmax() == 9


def test_seeds_and_rounds_are_independent_of_each_other() -> None:
    noise = observed(pm.games.linear_bandit(), [0.0] * 3, [0], horizon=1500, seeds=4)[:, :, 0]
    correlations = np.corrcoef(noise.T) - np.eye(4)
    assert np.abs(correlations).max() < 5 / np.sqrt(1500)
    for lag in (1, 2, 511, 512, 513):
        product = (noise[lag:] * noise[:-lag]).mean()
        assert abs(product) < 5 / np.sqrt(4 * (1500 - lag))


def test_duels_with_their_own_utilities_per_seed() -> None:
    """Sign feedback needs means within [-1, 1] for each seed, not across seeds."""
    game = pm.games.dueling(
        [[1.0, 0.0], [1.0, 0.5]], feedback="sign", parameters=pm.Ball([0.0, 0.0], 1.0)
    )
    theta = np.array([[0.9, 0.2], [-0.9, 0.2]])
    result = pm.simulate(game, {"duels": pm.DuelingIDS()}, theta, horizon=5, seeds=2)
    assert np.isfinite(result.regret["duels"]).all()


def test_duels_of_items_cost_what_the_pairs_cost() -> None:
    game = pm.games.dueling()
    theta = np.array([0.5, 0.1, -0.3])
    result = pm.simulate(game, {"duels": pm.DuelingIDS()}, theta, horizon=25, seeds=2)
    gaps = pm.Instance(game, theta).gaps
    plays = result.plays["duels"]
    assert result.regret["duels"] == pytest.approx(plays @ gaps, abs=1e-9)
