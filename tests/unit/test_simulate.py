"""The simulator and its results."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.policy import Choices
from partial_monitoring.simulation.environment import Environment
from partial_monitoring.simulation.result import Result

Array = NDArray[np.float64]

PRICING = pm.games.dynamic_pricing()
THETA = [0.2, 0.5, 0.3]

GAMES: dict[str, Callable[[], pm.Game]] = {
    "simplex": pm.games.dynamic_pricing,
    "ball": pm.games.linear_bandit,
    "own noise": pm.games.heteroscedastic_linear_bandit,
    "box": pm.games.bernoulli_bandit_linear,
    "all": pm.games.graph_dueling,
    "signs": lambda: pm.games.graph_dueling(feedback="sign"),
    "duels": pm.games.dueling,
    "semi-bandit": pm.games.combinatorial_bandit,
    "polytope": lambda: pm.Game(
        np.eye(3) + 0.1,
        [[[1.0, 0, 0]], [[1.0, 1, 0], [0, 1, 1]], [[0.3, 0.2, 0.1]]],
        pm.Polytope(-np.eye(3), [0.0] * 3, np.ones((1, 3)), [1.0]),
    ),
    "many arms": lambda: pm.games.linear_bandit(
        np.random.default_rng(0).normal(size=(320, 3)), pm.AllParameters(3)
    ),
}


def small(
    game: pm.Game = PRICING, policies: Any = "ids", theta: Any = "random", **kw: Any
) -> Result:
    options = {"horizon": 20, "seeds": 3} | kw
    return pm.simulate(game, policies, theta, **options)


# -- policies, seeds, theta, checkpoints ------------------------------------------------------


def test_policies_by_name_alone_in_lists_and_in_dicts() -> None:
    assert small(policies="ids").policies == ["ids"]
    assert small(policies=pm.IDS()).policies == ["ids"]
    assert small(policies=["ids"]).policies == ["ids"]
    named = small(policies={"a": pm.IDS(), "b": "ids", "c": pm.IDS(gap=pm.gaps.mean)})
    assert named.policies == ["a", "b", "c"]
    assert set(named.regret) == set(named.plays) == {"a", "b", "c"}
    assert np.array_equal(named.regret["a"], named.regret["b"])


def test_a_policy_has_the_name_it_is_registered_under() -> None:
    duels = pm.games.dueling()
    assert small(duels, "dueling_ids").policies == ["dueling_ids"]
    assert small(duels, pm.DuelingIDS()).policies == ["dueling_ids"]


def test_seeds_are_a_count_or_a_list() -> None:
    assert small(seeds=4).seeds.tolist() == [0, 1, 2, 3]
    assert small(seeds=np.int64(2)).seeds.tolist() == [0, 1]
    assert small(seeds=[7, 3]).seeds.tolist() == [7, 3]
    assert small(seeds=range(5, 7)).seeds.tolist() == [5, 6]
    assert small(seeds=np.array([9])).seeds.tolist() == [9]


def test_theta_is_one_or_one_per_seed() -> None:
    shared = small(theta=THETA)
    assert shared.theta.tolist() == [THETA] * 3
    own = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    each = small(theta=own)
    assert np.array_equal(each.theta, own)
    for i in range(3):
        alone = small(theta=own[i], seeds=[i])
        assert np.array_equal(alone.regret["ids"][0], each.regret["ids"][i])


@pytest.mark.parametrize("name", GAMES)
def test_random_theta_lies_in_theta_and_belongs_to_its_seed(name: str) -> None:
    game = GAMES[name]()
    one, two = small(game, seeds=4, horizon=1), small(game, seeds=[3, 1], horizon=1)
    assert game.parameters.contains(one.theta).all()
    assert np.array_equal(two.theta[0], one.theta[3])
    assert np.array_equal(two.theta[1], one.theta[1])
    assert len(np.unique(one.theta, axis=0)) == 4


def test_random_theta_fills_the_set() -> None:
    """Uniform on the simplex: each coordinate has mean 1/3, within five standard errors."""
    theta = small(horizon=1, seeds=400).theta
    assert theta.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=5 * 0.236 / 20)
    ball = small(pm.games.linear_bandit(), horizon=1, seeds=400).theta
    lengths = np.linalg.norm(ball, axis=1)
    assert (lengths**3).mean() == pytest.approx(0.5, abs=5 * 0.289 / 20)


def test_the_worst_theta_is_worse_than_random_ones() -> None:
    worst = small(theta="worst", seeds=20, horizon=20)
    assert PRICING.parameters.contains(worst.theta).all()
    assert len(np.unique(worst.theta, axis=0)) == 1
    random = small(theta="random", seeds=20, horizon=20)
    assert worst.mean("ids")[-1] > random.mean("ids")[-1]
    again = small(theta="worst", seeds=20, horizon=20)
    assert np.array_equal(again.regret["ids"], worst.regret["ids"])


def test_checkpoints_end_with_the_horizon() -> None:
    assert small(checkpoints=[5, 10]).checkpoints.tolist() == [5, 10, 20]
    assert small(checkpoints=[20]).checkpoints.tolist() == [20]
    assert small(checkpoints=[]).checkpoints.tolist() == [20]
    assert small(checkpoints=[10, 5, 10]).checkpoints.tolist() == [5, 10, 20]
    default = small(horizon=1000)
    assert default.checkpoints[-1] == default.horizon == 1000
    assert (np.diff(default.checkpoints) > 0).all()
    assert 20 <= len(default.checkpoints) <= 60
    assert small(horizon=1).checkpoints.tolist() == [1]


def test_checkpoints_do_not_change_the_run() -> None:
    coarse, fine = small(checkpoints=[7]), small(checkpoints=range(1, 21))
    for table in ("regret", "information", "ratio", "plays"):
        few, many = getattr(coarse, table)["ids"], getattr(fine, table)["ids"]
        assert np.array_equal(few, many[:, [6, 19]])


@pytest.mark.parametrize("name", GAMES)
def test_what_is_recorded_fits_together(name: str) -> None:
    game = GAMES[name]()
    theta = game.parameters.relative_interior_point() + 0.0
    if name in ("all", "signs", "ball", "own noise", "duels"):
        theta = theta + 0.1 * np.arange(game.d)
    result = small(game, theta=theta, checkpoints=range(1, 21))
    gaps = pm.Instance(game, theta).gaps
    plays = result.plays["ids"]
    assert plays.shape == (3, 20, game.k)
    assert (plays.sum(axis=2) == np.arange(1, 21)).all()
    assert result.regret["ids"] == pytest.approx(plays @ gaps, abs=1e-9)
    assert (np.diff(result.regret["ids"], axis=1) >= 0).all()
    assert (np.diff(result.information["ids"], axis=1) >= -1e-12).all()


def test_information_gained_is_that_of_the_lemma() -> None:
    """The sum of I_t(a_t) is 1/2 log det W_{n+1} - r/2 log lambda, whatever was played."""
    result = small(theta=THETA, horizon=40)
    w = PRICING.reduced.basis
    for i in range(3):
        counts = result.plays["ids"][i, -1]
        maps = PRICING.observation_maps @ w
        gram = np.eye(2) + np.einsum("k,kmi,kmj->ij", counts, maps, maps)
        expected = 0.5 * np.linalg.slogdet(gram)[1]
        assert result.information["ids"][i, -1] == pytest.approx(expected, rel=1e-9)


# -- the same numbers ------------------------------------------------------------------------


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


def test_purposes_seeds_and_blocks_have_numbers_of_their_own() -> None:
    first = {
        (seed, purpose, block): float(randomness.generator(seed, purpose, block).random())
        for seed in (0, 1, 2**40)
        for purpose in (randomness.POLICY, randomness.NOISE, randomness.CONTEXT)
        for block in (0, 1, 2)
    }
    assert len(set(first.values())) == len(first)


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


# -- interruption ----------------------------------------------------------------------------


@dataclass
class Interrupted:
    """IDS that is interrupted from the keyboard after some rounds."""

    rounds: int

    def init(self, game: pm.Game, replicates: int) -> Any:
        self.inner, self.left = pm.IDS(), self.rounds
        return self.inner.init(game, replicates)

    def decide(self, state: Any, uniforms: Array, available: Array | None = None) -> Choices:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.inner.decide(state, uniforms, available)

    def update(self, state: Any, action: Any, observation: Array) -> Any:
        return self.inner.update(state, action, observation)


def test_an_interruption_keeps_what_is_done() -> None:
    marks = [5, 10, 15, 20]
    full = small(checkpoints=marks)
    part = small(policies={"ids": Interrupted(12)}, checkpoints=marks)
    assert part.checkpoints.tolist() == [5, 10]
    for table in ("regret", "information", "ratio", "plays"):
        whole = getattr(full, table)["ids"]
        assert np.array_equal(getattr(part, table)["ids"], whole[:, :2])
    assert np.isfinite(part.mean("ids")).all()


def test_an_interrupted_second_policy_keeps_what_both_reached() -> None:
    part = small(policies={"a": pm.IDS(), "b": Interrupted(12)}, checkpoints=[5, 10, 15])
    assert part.policies == ["a", "b"]
    assert part.checkpoints.tolist() == [5, 10]


def test_an_interruption_at_once_keeps_the_policies_that_are_done() -> None:
    try:
        part = small(policies={"a": pm.IDS(), "b": Interrupted(0)}, checkpoints=[5, 10, 15])
    except KeyboardInterrupt:
        pytest.fail("the finished policy is lost")
    assert part.policies == ["a"]
    assert part.checkpoints.tolist() == [5, 10, 15, 20]


def test_an_interruption_before_anything_is_done_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        small(policies={"ids": Interrupted(0)})


def test_progress_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    quiet, shown = small(), small(progress=True)
    assert np.array_equal(quiet.regret["ids"], shown.regret["ids"])
    assert capsys.readouterr().out == ""


# -- bad input -------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no game": ({"game": None}, "game"),
    "a name as game": ({"game": "pricing"}, "game"),
    "unknown policy": ({"policies": "idss"}, "idss"),
    "no policy": ({"policies": []}, "policies"),
    "no policy in a dict": ({"policies": {}}, "policies"),
    "a number as policy": ({"policies": 3}, "policies"),
    "none as policy": ({"policies": None}, "policies"),
    "a class as policy": ({"policies": pm.IDS}, "polic"),
    "one policy twice": ({"policies": ["ids", pm.IDS()]}, "ids"),
    "no horizon": ({"horizon": 0}, "horizon"),
    "half a horizon": ({"horizon": 2.5}, "horizon"),
    "no seeds": ({"seeds": 0}, "seeds"),
    "an empty list of seeds": ({"seeds": []}, "seeds"),
    "one seed twice": ({"seeds": [1, 1]}, "seeds"),
    "a negative seed": ({"seeds": [-1]}, "seeds"),
    "half a seed": ({"seeds": [0.5]}, "seeds"),
    "half a count": ({"seeds": 1.5}, "seeds"),
    "a word as seeds": ({"seeds": "three"}, "seeds"),
    "no seeds at all": ({"seeds": None}, "seeds"),
    "a seed that is too large": ({"seeds": [2**70]}, "seeds"),
    "theta outside": ({"theta": [0.5, 0.5, 0.5]}, "theta"),
    "theta too short": ({"theta": [0.5, 0.5]}, "theta"),
    "theta unknown": ({"theta": "worse"}, "theta"),
    "theta nan": ({"theta": [np.nan, 0.5, 0.5]}, "theta"),
    "theta missing": ({"theta": None}, "theta"),
    "too few rows of theta": ({"theta": [[0.2, 0.5, 0.3]] * 2}, "theta"),
    "ragged theta": ({"theta": [[0.2, 0.5, 0.3], [1.0], [0.2, 0.5, 0.3]]}, "theta"),
    "theta with three axes": ({"theta": np.ones((3, 1, 3)) / 3}, "theta"),
    "checkpoint zero": ({"checkpoints": [0, 5]}, "checkpoints"),
    "checkpoint beyond": ({"checkpoints": [25]}, "checkpoints"),
    "half a checkpoint": ({"checkpoints": [2.5]}, "checkpoints"),
    "checkpoint as a word": ({"checkpoints": "often"}, "checkpoints"),
    "noise in a finite game": ({"noise": "gaussian"}, "noise"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused(case: tuple[dict[str, Any], str]) -> None:
    options, name = case
    with pytest.raises(InvalidInput) as caught:
        small(**options)
    text = str(caught.value)
    assert name in text
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize("game", [pm.games.linear_bandit(), pm.games.dueling()])
def test_unknown_noise_is_refused(game: pm.Game) -> None:
    with pytest.raises(InvalidInput, match="gausian"):
        small(game, noise="gausian")


def test_means_outside_the_noise_are_refused() -> None:
    with pytest.raises(InvalidInput, match="bernoulli"):
        small(pm.games.linear_bandit(), theta=[0.5, -0.5, 0.0], noise="bernoulli")


# -- results ---------------------------------------------------------------------------------


def made(regret: Any, checkpoints: Any, name: str = "p", seeds: Any = None) -> Result:
    table = np.array(regret, dtype=float)
    n, marks = table.shape
    return Result(
        np.arange(n) if seeds is None else np.array(seeds),
        np.array(checkpoints),
        np.zeros((n, 2)),
        {name: table},
        {name: table},
        {name: table},
        {name: np.zeros((n, marks, 2), dtype=np.int64)},
        {name: 1.0},
    )


def test_mean_error_and_quantiles() -> None:
    result = made([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]], [5, 10])
    assert result.mean("p").tolist() == [3.0, 4.0]
    assert result.standard_error("p") == pytest.approx([2 / np.sqrt(3), np.sqrt(12 / 3)])
    assert result.quantile("p", 0.5).tolist() == [3.0, 2.0]
    assert result.quantile("p", 1.0).tolist() == [5.0, 8.0]
    assert result.horizon == 10
    assert np.isnan(made([[1.0, 2.0]], [5, 10]).standard_error("p")).all()


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0])
def test_exponents_of_pure_powers(power: float) -> None:
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    result = made(np.array([[1.0], [2.0], [5.0]]) * t**power, t)
    found = result.exponent("p")
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.low == pytest.approx(power, abs=1e-9)
    assert found.high == pytest.approx(power, abs=1e-9)


def test_exponents_look_at_the_late_rounds_only() -> None:
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    late = np.where(t < 1000, 1000.0 * np.sqrt(1000), 1000.0 * np.sqrt(t))
    assert made([late], t).exponent("p").value == pytest.approx(0.5, abs=0.02)
    assert made([late], t).exponent("p", start=0.0).value < 0.3


def test_an_exponent_has_an_interval_that_covers_its_noise() -> None:
    rng = np.random.default_rng(0)
    t = np.unique(np.geomspace(1, 10_000, 50).round()).astype(int)
    powers = rng.normal(0.6, 0.1, size=(40, 1))
    found = made(t**powers, t).exponent("p")
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.2


def test_no_regret_has_exponent_zero() -> None:
    assert made(np.zeros((3, 2)), [50, 100]).exponent("p").value == 0.0


def test_checkpoints_without_regret_are_left_out_of_exponents() -> None:
    """A policy that pays late has the slope of what it pays, not 0."""
    t = np.array([10, 20, 40, 80, 100])
    regret = np.where(t > 10, t**0.5, 0.0)
    assert made([regret, regret], t).exponent("p").value == pytest.approx(0.5)
    once = np.where(t == 100, 1.0, 0.0)
    assert np.isnan(made([once, once], t).exponent("p").value)


def test_a_single_seed_has_no_interval() -> None:
    found = made([[1.0, 2.0]], [50, 100]).exponent("p")
    assert found.value == pytest.approx(1.0)
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_too_few_checkpoints_have_no_exponent() -> None:
    with pytest.raises(InvalidInput, match="checkpoints"):
        made([[1.0, 2.0]], [1, 100]).exponent("p")


@pytest.mark.parametrize("method", ["mean", "standard_error", "exponent"])
def test_unknown_policies_are_named(method: str) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'ids'"):
        getattr(small(), method)("idss")


@pytest.mark.parametrize("q", [-0.1, 1.5, np.nan, "half"])
def test_bad_quantiles_are_refused(q: Any) -> None:
    with pytest.raises(InvalidInput):
        small().quantile("ids", q)


@pytest.mark.parametrize("start", [1.5, np.nan, "a", None])
def test_bad_starts_are_refused(start: Any) -> None:
    with pytest.raises(InvalidInput):
        small(horizon=100).exponent("ids", start=start)


def test_rows_are_tidy() -> None:
    result = small(policies={"a": "ids", "b": "ids"}, seeds=[5, 6], checkpoints=[10])
    rows = result.rows()
    assert len(rows) == 2 * 2 * 2
    assert rows[0] == {
        "policy": "a",
        "seed": 5,
        "round": 10,
        "regret": result.regret["a"][0, 0],
        "information": result.information["a"][0, 0],
        "ratio": result.ratio["a"][0, 0],
    }


def test_a_result_shows_itself() -> None:
    assert "ids" in repr(small())
    assert "20" in repr(small())


# -- files and merging -----------------------------------------------------------------------


def assert_equal(one: Result, two: Result) -> None:
    assert one.policies == two.policies
    assert np.array_equal(one.seeds, two.seeds)
    assert np.array_equal(one.checkpoints, two.checkpoints)
    assert np.array_equal(one.theta, two.theta)
    assert one.seconds == two.seconds
    for table in ("regret", "information", "ratio", "plays"):
        for name in one.policies:
            mine, theirs = getattr(one, table)[name], getattr(two, table)[name]
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["simplex", "ball", "polytope"])
def test_results_come_back_from_files(name: str, tmp_path: Path) -> None:
    policies = {"a b": pm.IDS(), "ü": pm.IDS(gap=pm.gaps.mean)}
    result = small(GAMES[name](), policies)
    result.save(tmp_path / "result.parquet")
    assert_equal(Result.load(tmp_path / "result.parquet"), result)


def test_infinite_ratios_are_kept(tmp_path: Path) -> None:
    """Where nothing can be learned the ratio is infinite."""
    result = small(pm.games.matching_pennies("none"), theta=[0.6, 0.4])
    assert np.isinf(result.ratio["ids"]).any()
    result.save(tmp_path / "result.parquet")
    assert_equal(Result.load(tmp_path / "result.parquet"), result)


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        Result.load(tmp_path / "nowhere.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InvalidInput, match="saved result"):
        Result.load(tmp_path / "text.parquet")
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match="saved result"):
        Result.load(tmp_path / "other.parquet")


@pytest.mark.parametrize("content", ["numbers", "no policies", "other rows", "words as seeds"])
def test_results_with_other_content_are_refused(tmp_path: Path, content: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "result.parquet"
    small().save(path)
    table = parquet.read_table(path)
    meta = json.loads(table.schema.metadata[b"partial_monitoring"])
    if content == "numbers":
        table = table.set_column(3, "regret", pa.array([1.0] * len(table)))
    elif content == "no policies":
        meta["actions"] = {}
    elif content == "other rows":
        table = table.set_column(0, "policy", pa.array(["x"] * len(table)))
    else:
        table = table.set_column(1, "seed", pa.array(["one"] * len(table)))
    table = table.replace_schema_metadata({"partial_monitoring": json.dumps(meta)})
    parquet.write_table(table, path)
    with pytest.raises(InvalidInput, match="is damaged or not a saved result"):
        Result.load(path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        small().save(tmp_path / "nowhere" / "result.parquet")


def test_seeds_merge() -> None:
    one, two = small(seeds=[0, 1]), small(seeds=[2])
    merged, full = one.merged(two), small(seeds=3)
    assert merged.seeds.tolist() == [0, 1, 2]
    assert np.array_equal(merged.regret["ids"], full.regret["ids"])
    assert np.array_equal(merged.plays["ids"], full.plays["ids"])
    assert np.array_equal(merged.theta, full.theta)


def test_policies_merge() -> None:
    one, two = small(policies={"a": "ids"}), small(policies={"b": pm.IDS(gap=pm.gaps.mean)})
    merged = one.merged(two)
    both = small(policies={"a": "ids", "b": pm.IDS(gap=pm.gaps.mean)})
    assert merged.policies == ["a", "b"]
    assert np.array_equal(merged.regret["b"], both.regret["b"])


def test_what_does_not_belong_together_is_not_merged() -> None:
    base = small(theta=THETA)
    others = [
        small(theta=THETA),
        small(theta=THETA, seeds=[2, 3]),
        small(theta=THETA, seeds=[9], horizon=30),
        small(theta=THETA, seeds=[9], policies={"other": "ids"}),
        small(theta=[0.1, 0.6, 0.3], policies={"other": "ids"}),
    ]
    for other in others:
        with pytest.raises(InvalidInput) as caught:
            base.merged(other)
        assert str(caught.value).endswith(".")


def test_results_of_different_games_are_not_merged() -> None:
    one = small(PRICING, theta=THETA, seeds=[0])
    two = small(pm.games.linear_bandit(), theta=[0.1, 0.1, 0.1], seeds=[1])
    with pytest.raises(InvalidInput):
        one.merged(two)


def test_results_that_only_swap_sizes_are_not_merged() -> None:
    """Three actions in two dimensions are not two actions in three."""
    flat = pm.Game(np.ones((3, 2)), np.ones((3, 1, 2)), pm.Ball([0, 0], 1.0))
    tall = pm.Game(np.ones((2, 3)), np.ones((2, 1, 3)), pm.Ball([0, 0, 0], 1.0))
    one, two = small(flat, seeds=[0]), small(tall, seeds=[1])
    with pytest.raises(InvalidInput, match="same game"):
        one.merged(two)
    odd: Any = 3
    with pytest.raises(InvalidInput, match="other must be a Result; got 3"):
        one.merged(odd)


def test_the_order_of_policies_does_not_matter_when_seeds_merge() -> None:
    a, b = "ids", pm.IDS(gap=pm.gaps.mean)
    one, two = (
        small(policies={"a": a, "b": b}, seeds=[0]),
        small(policies={"b": b, "a": a}, seeds=[1]),
    )
    full = small(policies={"a": a, "b": b}, seeds=2)
    merged = one.merged(two)
    for name in ("a", "b"):
        assert np.array_equal(merged.regret[name], full.regret[name])


@pytest.mark.parametrize("normal", [False, True])
def test_streams_are_those_of_fresh_generators(normal: bool) -> None:
    seeds = np.array([0, 7, 2**62])
    stream = randomness.Stream(seeds, randomness.NOISE, 3, normal=normal)
    for t in (0, 511, 512, 5000, 3):
        block, row = divmod(t, randomness.BLOCK)
        for i, seed in enumerate(seeds):
            fresh = randomness.generator(int(seed), randomness.NOISE, block)
            shape = (randomness.BLOCK, 3)
            numbers = fresh.standard_normal(shape) if normal else fresh.random(shape)
            np.testing.assert_array_equal(stream.at(t)[i], numbers[row])
