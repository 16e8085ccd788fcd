"""Answers that come late: simulations with delays and batches, and learners that wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import partial_monitoring as pm
from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.delayed import Late
from partial_monitoring.simulation.truths import read_truth

GAMES: dict[str, tuple[str, list[Any]]] = {
    "signals": ("dynamic_pricing", [pm.Calibrated(), pm.IDS(), pm.CBP(), pm.RandCBP()]),
    "weights": ("apple_tasting", [pm.FeedExp3(), pm.NeighborhoodWatch2(), pm.ExpByOpt()]),
    "arms": ("bernoulli_bandit", [pm.UCB1(), pm.Thompson(), pm.TsallisINF(), pm.LinTS()]),
    "numbers": ("linear_bandit", [pm.Calibrated(), pm.LinUCB(), pm.Thompson()]),
    "contexts": ("survey", [pm.Calibrated(), pm.IDS(), pm.ContextualIDS(chances="estimated")]),
    "duels": ("dueling", [pm.Calibrated(), pm.DuelingIDS()]),
    "kernels": ("kernelized_bandit", [pm.Calibrated(), pm.GPUCB(), pm.GPTS()]),
    "kernel duels": ("kernelized_dueling", [pm.DuelingIDS()]),
    "probes": ("apple_tasting", [pm.Probing(pm.FeedExp3(), 0.2), pm.Calibrated(guard=0.5)]),
}


def told_late(game: Any, policy: Any, seed: int, late: Late, horizon: int) -> list[int]:
    """Return the actions of a learner that is told what the simulation shows, when it comes."""
    truth = read_truth("random", game).prepared(game, horizon)
    world = truth.environment(game, np.array([seed]), horizon, None)
    learner = pm.Learner(game, policy, seed, pending=late.pending, allow_hopeless=True)
    stream = randomness.Stream(np.array([seed]), randomness.DELAY, 1)
    waiting: list[tuple[int, int, Any, Any]] = []
    played = []
    for t in range(horizon):
        for item in sorted(item for item in waiting if item[0] <= t):
            learner.tell(item[2], item[3])
            waiting.remove(item)
        came = world.context(t)
        z = None if came is None else int(came[0])
        own, decision = game.context(z), learner.ask(context=z)
        action = own.outer(decision.action)
        shown = world.observe(np.array([action]), t)[0]
        answer = own.feedback.decode(own.game, decision.action, shown)
        waiting.append((int(late.told(t, stream.at(t)[:, 0])[0]), t, decision.id, answer))
        played.append(action)
    return played


def simulated(game: Any, policy: Any, seeds: Any, horizon: int, **late: Any) -> Any:
    """Return the actions of a simulation, shape (seeds, horizon)."""
    marks = np.arange(1, horizon + 1)
    result = pm.simulate(
        game, {"it": policy}, horizon=horizon, seeds=seeds, checkpoints=marks, **late
    )
    plays = np.diff(result.plays["it"], axis=1, prepend=0)
    return plays.argmax(axis=2)


CASES = [
    pytest.param(name, policy, id=f"{kind}, {type(policy).__name__}")
    for kind, (name, policies) in GAMES.items()
    for policy in policies
]
LATE: list[dict[str, Any]] = [{"batch": 7}, {"delay": 5}, {"delay": [0.2, 0.5, 0.3], "batch": 2}]


@pytest.mark.parametrize(("name", "policy"), CASES)
def test_a_learner_that_is_told_late_makes_the_decisions_of_a_simulation(
    name: str, policy: Any
) -> None:
    game, horizon = pm.games.make(name), 25
    for place, late in enumerate(LATE):
        actions = simulated(game, policy, [3, 8], horizon, **late)
        known = Late.read(**late)
        assert known is not None
        seed = [3, 8][place % 2]
        assert told_late(game, policy, seed, known, horizon) == actions[place % 2].tolist()


@pytest.mark.parametrize(("name", "policy"), CASES)
def test_without_delay_nothing_changes(name: str, policy: Any) -> None:
    game = pm.games.make(name)
    at_once = pm.simulate(game, {"it": policy}, horizon=20, seeds=3)
    for options in ({"delay": [1.0]}, {"delay": lambda uniforms: 0 * uniforms}):
        late = pm.simulate(game, {"it": policy}, horizon=20, seeds=3, **options)  # type: ignore[arg-type]
        assert np.array_equal(late.plays["it"], at_once.plays["it"])
        assert np.array_equal(late.regret["it"], at_once.regret["it"])
    same = pm.simulate(game, {"it": policy}, horizon=20, seeds=3, delay=0, batch=1)
    assert same.backend == at_once.backend
    assert np.array_equal(same.regret["it"], at_once.regret["it"])


@pytest.mark.parametrize("name", ["dynamic_pricing", "linear_bandit"])
def test_a_batch_differs_where_it_would_repeat_itself(name: str) -> None:
    game, policy = pm.games.make(name), pm.LinUCB()
    if name == "dynamic_pricing":
        policy = pm.RandCBP()  # type: ignore[assignment]
    ignored = simulated(game, policy, 4, 30, batch=30, pending="ignored")
    expected = simulated(game, policy, 4, 30, batch=30)
    assert len(set(expected[0].tolist())) > len(set(ignored[0].tolist()))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(lambda weights: sum(weights) > 0.1),
    st.integers(1, 6),
    st.integers(0, 50),
    st.floats(0, 1, exclude_max=True),
)
def test_when_answers_are_told(weights: list[float], batch: int, t: int, uniform: float) -> None:
    chances = np.array(weights) / sum(weights)
    late = Late.read(chances, batch)
    if late is None:
        return
    told = int(late.told(t, np.array([uniform]))[0])
    assert told % batch == 0
    assert t < told < t + 1 + len(weights) + batch
    delay = int(np.searchsorted(np.cumsum(chances), uniform, side="right"))
    assert told >= t + 1 + min(delay, len(weights) - 1)


def test_distributions_of_delays() -> None:
    geometric, listed = stats.geom(0.3), Late.read(stats.geom(0.3))
    assert listed is not None
    assert isinstance(listed.delay, tuple)
    np.testing.assert_allclose(listed.delay[:9], geometric.pmf(np.arange(9)), atol=1e-8)
    continuous = Late.read(stats.expon(scale=4.0))
    assert continuous is not None
    assert isinstance(continuous.delay, tuple)
    np.testing.assert_allclose(continuous.delay[0], 1 - np.exp(-0.25), atol=1e-8)
    drawn = listed.told(0, np.linspace(0, 1, 10_000, endpoint=False)) - 1
    np.testing.assert_allclose(drawn.mean(), geometric.mean(), rtol=0.01)


def test_seeds_wait_by_themselves() -> None:
    late: dict[str, Any] = {"delay": stats.poisson(4.0), "batch": 3}
    together = simulated("dynamic_pricing", pm.RandCBP(), 3, 40, **late)
    alone = simulated("dynamic_pricing", pm.RandCBP(), [2], 40, **late)
    assert np.array_equal(together[2], alone[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1}, "delay"),
        ({"delay": 1.5}, "delay"),
        ({"delay": "long"}, "delay"),
        ({"delay": []}, "delay"),
        ({"delay": [0.5, 0.6]}, "add up to 1"),
        ({"delay": [1.5, -0.5]}, "add up to 1"),
        ({"delay": lambda uniforms: "no"}, "delay must return"),
        ({"delay": [[1], [2, 3]]}, "delay must"),
        ({"delay": lambda uniforms: uniforms - 2}, "at least 0"),
        ({"delay": stats.norm()}, "below 0"),
        ({"delay": stats.geom}, "delay must be a distribution whose parameters are given"),
        ({"batch": 0}, "batch"),
        ({"batch": 2.5}, "batch"),
        ({"pending": "later"}, "pending"),
    ],
)
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        pm.simulate("apple_tasting", horizon=3, seeds=2, **options)


def test_points_of_a_box_differ_within_a_batch() -> None:
    kernel = pm.kernels.SquaredExponential(0.3)
    game = pm.KernelBoxGame(kernel, [0.0], [1.0], noise_std=0.1)
    batch = pm.Learner(game, pm.IDS(gap=pm.gaps.mean)).ask(count=4)
    assert len({own.action for own in batch}) > 1
    late: Any = {"batch": 3, "horizon": 7, "seeds": 2}
    result = pm.simulate(game, {"it": pm.IDS(gap=pm.gaps.mean)}, **late)
    assert np.isfinite(result.regret["it"]).all()
