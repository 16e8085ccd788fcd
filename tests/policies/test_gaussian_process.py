"""Policies on Gaussian-process posteriors behind the one interface, and on odd games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies import make, policy_from_dict, policy_to_dict
from partial_monitoring.policies.policy import uniform_stream
from partial_monitoring.simulation.environment import Environment

POINTS = np.random.default_rng(0).uniform(0, 1, (30, 2))
BANDIT = pm.games.kernelized_bandit(POINTS, norm_bound=2)
NOISY = pm.games.kernelized_bandit(POINTS, noise_std=np.linspace(0.1, 0.6, 30))
DUELS = pm.games.kernelized_dueling(POINTS, norm_bound=2)
SIGNS = pm.games.kernelized_dueling(POINTS, norm_bound=0.4, feedback="sign")

CASES: dict[str, tuple[Any, Any]] = {
    "gp_ucb": (pm.GPUCB(), BANDIT),
    "gp_ucb of srinivas": (pm.GPUCB(width="srinivas", factor=0.5), NOISY),
    "gp_ts": (pm.GPTS(), BANDIT),
    "gp_ts wide": (pm.GPTS(width="confidence", regularization=1.0), NOISY),
    "ei": (pm.ExpectedImprovement(), BANDIT),
    "ei with jitter": (pm.ExpectedImprovement(jitter=0.1, norm_bound=1.0), NOISY),
    "dueling_ts": (pm.DuelingTS(), DUELS),
    "dueling_ts of signs": (pm.DuelingTS(width="confidence", factor=0.2), SIGNS),
}
every_case = pytest.mark.parametrize(("policy", "game"), CASES.values(), ids=CASES.keys())


def told(policy: Any, game: Any, seed: int, rounds: int) -> pm.Learner:
    """Play a learner against the world that ``simulate`` would give its seed."""
    learner = pm.Learner(game, policy, seed)
    go_on(learner, game, seed, 0, rounds)
    return learner


def go_on(learner: pm.Learner, game: Any, seed: int, start: int, stop: int) -> None:
    world = Environment(game, np.zeros((1, game.d)), np.array([seed]))
    for t in range(start, stop):
        decision = learner.ask()
        learner.tell(decision, world.observe(np.array([decision.action]), t)[0])


@every_case
def test_policies_keep_the_contract(policy: Any, game: Any) -> None:
    pm.testing.check_policy(policy, on=[game])


@every_case
def test_replicates_do_not_depend_on_each_other(policy: Any, game: Any) -> None:
    together = pm.simulate(game, {"p": policy}, "random", horizon=40, seeds=[3, 4, 5])
    alone = pm.simulate(game, {"p": policy}, "random", horizon=40, seeds=[5])
    for table in ("regret", "information", "ratio"):
        assert np.array_equal(getattr(together, table)["p"][2:3], getattr(alone, table)["p"])


@every_case
def test_a_learner_does_what_the_simulation_does(policy: Any, game: Any) -> None:
    learner = told(policy, game, 9, 40)
    state = policy.init(game, 2)
    numbers = np.array([8, 9])
    world = Environment(game, np.zeros((2, game.d)), numbers)
    uniforms = uniform_stream(policy, state, numbers)
    for t in range(40):
        action = policy.decide(state, uniforms(t)).action
        assert learner.history[t]["action"] == action[1]
        state = policy.update(state, action, world.observe(action, t))


@every_case
def test_decisions_go_on_after_loading(policy: Any, game: Any, tmp_path: Path) -> None:
    learner = told(policy, game, 2, 30)
    learner.save(tmp_path / "learner.json")
    again = pm.Learner.load(tmp_path / "learner.json")
    assert again.policy == policy
    for one in (learner, again):
        go_on(one, game, 2, 30, 40)
    rows = [[row | {"id": None} for row in one.history] for one in (learner, again)]
    assert rows[0] == rows[1]
    assert np.array_equal(again.ask().index, learner.ask().index)


@every_case
def test_explanations_and_status_can_be_read(policy: Any, game: Any) -> None:
    few = {"points": POINTS[:6], "norm_bound": 0.4}
    small = pm.games.kernelized_dueling if game in (DUELS, SIGNS) else pm.games.kernelized_bandit
    learner = told(policy, small(**few), 0, 20)
    text = learner.ask().explain()
    assert "it has the largest index" in text
    assert "nan" not in text
    assert "nan" not in learner.status().explain()


@every_case
def test_policies_are_plain_data(policy: Any, game: Any) -> None:
    assert policy_from_dict(json.loads(json.dumps(policy_to_dict(policy)))) == policy


def test_policies_by_name() -> None:
    assert make("gp_ucb", width="srinivas") == pm.GPUCB(width="srinivas")
    assert make("gp_ts", factor=2.0) == pm.GPTS(factor=2.0)
    assert make("expected_improvement", jitter=0.1) == pm.ExpectedImprovement(jitter=0.1)
    assert make("dueling_ts") == pm.DuelingTS()
    narrow = make("ids", confidence=["deviations", 3])
    assert narrow == pm.IDS(confidence=pm.confidence.deviations(3))
    assert policy_to_dict(narrow)["confidence"] == ["deviations", 3.0]


def test_confidence_sets_of_some_deviations() -> None:
    """beta is squared deviations of the noise, at all times, on linear games as well."""
    policy = pm.IDS(confidence=pm.confidence.deviations(3))
    for game in (BANDIT, pm.games.linear_bandit()):
        state = policy.init(game, 2)
        for _ in range(3):
            beta = policy.confidence_set(state).beta
            assert beta == pytest.approx([9 * float(game.noise_std) ** 2] * 2)
            state = policy.update(state, np.array([0, 1]), np.zeros((2, 1)))
    with pytest.raises(InvalidInput, match="number"):
        pm.confidence.deviations(0)
    schedule = pm.confidence.deviations(2)
    assert schedule(np.array([1.0, 5.0])) == pytest.approx(2.0)


@pytest.mark.parametrize("policy", [pm.GPUCB(), pm.GPTS(), pm.ExpectedImprovement()])
def test_only_what_is_available_is_played(policy: Any) -> None:
    learner = told(policy, BANDIT, 0, 20)
    for _ in range(10):
        decision = learner.ask(available=[1, 3])
        assert decision.action in (1, 3)
        assert np.isposinf(decision.gaps[[0, 2]]).all()


def test_the_improvement_is_on_what_is_available() -> None:
    game = pm.games.kernelized_bandit([[0.0], [5.0], [10.0]])
    learner = pm.Learner(game, pm.ExpectedImprovement())
    learner.tell_past([0] * 20, [[8.0]] * 20)
    assert learner.ask().index[1] < 1e-9
    assert learner.ask(available=[1, 2]).index[1] == pytest.approx(np.sqrt(0.5 / np.pi))


# -- odd games -------------------------------------------------------------------------------


ODD: dict[str, Any] = {
    "one candidate": pm.games.kernelized_bandit([[0.5]]),
    "copies": pm.games.kernelized_bandit([[0.5]] * 3 + [[0.6]]),
    "nothing unknown": pm.KernelGame(
        np.zeros((2, 2)), np.zeros((2, 1, 2, 1)), np.zeros((2, 2, 1)), noise_std=0.1
    ),
    "one point without variance": pm.games.kernelized_bandit(
        [[0.0], [1.0], [2.0]], kernel=pm.kernels.Linear()
    ),
    "hardly any noise": pm.games.kernelized_bandit(POINTS, noise_std=1e-5),
}


@pytest.mark.parametrize("game", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize(
    "policy", [pm.GPUCB(), pm.GPUCB(width="srinivas"), pm.GPTS(), pm.ExpectedImprovement()]
)
def test_odd_games(policy: Any, game: Any) -> None:
    result = pm.simulate(game, {"p": policy}, np.zeros(game.d), horizon=30, seeds=2)
    assert np.isfinite(result.regret["p"]).all()
    learner = told(policy, game, 0, 30)
    assert np.isfinite(learner.ask().index).all()


@pytest.mark.parametrize("points", [[[0.5]], [[0.5]] * 3 + [[0.6]]])
def test_odd_duels(points: Any) -> None:
    game = pm.games.kernelized_dueling(points)
    result = pm.simulate(game, "dueling_ts", np.zeros(game.d), horizon=20, seeds=2)
    assert np.isfinite(result.regret["dueling_ts"]).all()


def test_without_promise_the_best_is_played() -> None:
    game = pm.games.kernelized_bandit([[0.0], [5.0], [10.0]], noise_std=0.01)
    learner = pm.Learner(game, pm.ExpectedImprovement(jitter=10.0))
    learner.tell_past([0, 1, 2] * 20, [[0.1], [0.3], [0.2]] * 20)
    decision = learner.ask()
    assert (decision.index == 0).all()
    assert decision.action == 1


def test_many_items_are_never_paired() -> None:
    game = pm.games.kernelized_dueling(
        {"low": 0, "high": 1, "per_axis": 3000}, kernel={"type": "squared_exponential"}
    )
    result = pm.simulate(game, "dueling_ts", lambda x: np.sin(5 * x[:, 0]), horizon=30, seeds=1)
    assert result.mean("dueling_ts")[-1] - result.mean("dueling_ts")[-4] < 1


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [pm.GPUCB(), pm.GPTS(), pm.ExpectedImprovement()])
def test_what_they_refuse(policy: Any) -> None:
    with pytest.raises(InvalidInput, match="use DuelingIDS or DuelingTS"):
        policy.init(DUELS, 1)
    for game in (pm.games.linear_bandit(), pm.games.survey()):
        with pytest.raises(InvalidInput, match="plays kernel games"):
            pm.Learner(game, policy)
    for game in (pm.games.kernelized_transductive(), pm.games.kernelized_localized_dueling()):
        with pytest.raises(InvalidInput, match="allow_partial=True"):
            policy.init(game, 1)
        type(policy)(allow_partial=True).init(game, 1)


def test_rewards_that_are_shown_in_other_words() -> None:
    """Two rows whose sum is the reward show it, though the game is not written as a bandit."""
    x = POINTS[:5]
    game = pm.KernelGame.from_kernel(
        pm.kernels.SquaredExponential(0.3),
        pm.readings.sums(x, [(a, (a + 1) % 5) for a in range(5)]),
        pm.readings.together(pm.readings.values(x), pm.readings.values(np.roll(x, -1, axis=0))),
        noise_std=0.1,
    )
    assert not game.shows_own_reward
    result = pm.simulate(game, ["gp_ucb", "gp_ts", "linucb"], "random", horizon=20, seeds=2)
    assert result.policies == ["gp_ucb", "gp_ts", "linucb"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: pm.GPUCB(width="wide"),
        lambda: pm.GPUCB(factor=0),
        lambda: pm.GPTS(width="srinivas"),
        lambda: pm.ExpectedImprovement(jitter=-1),
        lambda: pm.DuelingTS(width="srinivas"),
        lambda: pm.DuelingTS().init(BANDIT, 1),
        lambda: pm.DuelingTS().init(pm.games.dueling(np.eye(3)), 1),
        lambda: pm.Learner(DUELS, pm.DuelingTS()).ask(available=[0]),
        lambda: pm.Learner(BANDIT, pm.GPUCB(regularization=-1)),
    ],
)
def test_options_that_are_refused(call: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).endswith(".")
