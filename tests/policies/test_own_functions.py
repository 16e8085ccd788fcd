"""What users hand in fits, or one sentence says why it does not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

POLICIES = [pm.IDS, pm.LinUCB, pm.LinTS]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (lambda t: t * np.nan, r"log\(1 / delta\) of each replicate, must be finite; got nan"),
        (lambda t: np.full(len(t), np.inf), "must be finite; got inf"),
        (lambda t: np.zeros(len(t) + 1), r"must have shape \(1,\); got \(2,\)"),
        (lambda t: 1.0, r"must have shape \(1,\); got \(\)"),
        (lambda t: "often", "must be real numbers"),
    ],
)
def test_schedules(policy: Callable[..., Any], schedule: Any, message: str) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), policy(confidence=schedule))
    with pytest.raises(InvalidInput, match=message):
        learner.ask()


def test_a_schedule_of_ones_own() -> None:
    own = pm.Learner(pm.games.linear_bandit(), pm.IDS(confidence=lambda t: 2 * np.log(t)))
    assert own.ask().beta == pm.Learner(pm.games.linear_bandit(), pm.IDS()).ask().beta


NOISE: list[tuple[Any, str]] = [
    (lambda means, std, rng: means * np.nan, "what noise returns must be finite; got nan"),
    (lambda means, std, rng: np.zeros(3), r"must have shape \(1,\); got \(3,\)"),
    (lambda means, std, rng: None, "what noise returns must be real numbers"),
]


@pytest.mark.parametrize(("noise", "message"), NOISE)
def test_noise(noise: Any, message: str) -> None:
    game = pm.games.linear_bandit()
    with pytest.raises(InvalidInput, match=message):
        pm.simulate(game, "ids", [0.5, 0, 0], horizon=3, seeds=2, noise=noise)
    instance = pm.Instance(game, [0.5, 0, 0], noise)
    with pytest.raises(InvalidInput, match=message):
        instance.observe(0, np.random.default_rng(0))


PARTS: list[tuple[dict[str, Any], str]] = [
    ({"gap": lambda game, e: np.zeros(game.k)}, r"what gap returns must have shape \(1, 3\)"),
    ({"gap": lambda game, e: np.zeros((1, 2))}, r"what gap returns must have shape \(1, 3\)"),
    ({"information": lambda game, e: 1.0}, "what information returns must have shape"),
    ({"information": lambda game, e: None}, "what information returns must be real numbers"),
    ({"sampling": lambda gaps, i: gaps[0]}, "what sampling returns must have shape"),
    ({"sampling": lambda gaps, i: gaps * 0}, "what sampling returns must be probabilities"),
    ({"sampling": lambda gaps, i: gaps * np.nan}, "what sampling returns must be probabilities"),
]


@pytest.mark.parametrize(("options", "message"), PARTS)
def test_parts_of_ids(options: dict[str, Any], message: str) -> None:
    game = pm.games.linear_bandit(np.eye(3), pm.Ball(np.zeros(3), 1.0))
    with pytest.raises(InvalidInput, match=message):
        pm.Learner(game, pm.IDS(**options)).ask()


@pytest.mark.parametrize("name", ["sampling", "confidence"])
def test_parts_of_dueling_ids(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be a function; got 3"):
        pm.DuelingIDS(**{name: 3})  # type: ignore[arg-type]


def test_numbers_of_any_kind() -> None:
    half, tenth = Fraction(5, 2), Fraction(1, 10)
    odd: Any = pm.IDS(
        sampling=pm.sampling.generalized(half),  # type: ignore[arg-type]
        confidence=pm.confidence.fixed(tenth),  # type: ignore[arg-type]
    )
    plain = pm.IDS(sampling=pm.sampling.generalized(2.5), confidence=pm.confidence.fixed(0.1))
    assert odd == plain
    game = pm.games.linear_bandit()
    assert pm.Learner(game, odd).ask().beta == pm.Learner(game, plain).ask().beta
    tradeoff: Any = Fraction(1, 2)
    assert pm.sampling.e2d(tradeoff)([1.0, 2.0], [1.0, 0.0]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("policy", [pm.IDS, pm.DuelingIDS, pm.LinUCB, pm.LinTS])
def test_policies_with_a_prior_mean_can_be_compared(policy: Callable[..., Any]) -> None:
    one, two = policy(prior_mean=np.array([0.1, 0.2])), policy(prior_mean=[0.1, 0.2])
    assert one == two
    assert one != policy(prior_mean=[0.2, 0.1])
    assert hash(one) == hash(two)
    with pytest.raises(InvalidInput, match="prior_mean must have shape"):
        policy(prior_mean=[[0.1]])


def test_a_prior_mean_is_saved(tmp_path: Path) -> None:
    policy = pm.IDS(prior_mean=np.array([0.1, 0.2, 0.3]))
    learner = pm.Learner(pm.games.linear_bandit(), policy)
    learner.save(tmp_path / "learner.json")
    assert pm.Learner.load(tmp_path / "learner.json").policy == policy


@pytest.mark.parametrize("path", [None, 3, ""])
def test_paths(path: Any) -> None:
    result = pm.simulate(pm.games.apple_tasting(), "ids", "random", horizon=2, seeds=1)
    for method in (
        pm.Learner(pm.games.apple_tasting()).save,
        pm.Learner.load,
        result.save,
        pm.Result.load,
    ):
        with pytest.raises(InvalidInput, match="path must be the name of a file"):
            method(path)


class Undecided:
    """Not a policy: it can only decide."""

    def decide(self) -> None: ...


def test_what_only_decides_is_no_policy() -> None:
    odd: Any = Undecided()
    with pytest.raises(InvalidInput, match="policies must be policies or names"):
        pm.simulate(pm.games.apple_tasting(), odd, "random", horizon=2, seeds=1)
    with pytest.raises(InvalidInput, match="policy must be a policy"):
        pm.Learner(pm.games.apple_tasting(), odd)


def test_decisions_of_other_learners_are_refused() -> None:
    game = pm.games.apple_tasting()
    mine, other = pm.Learner(game, seed=0), pm.Learner(game, seed=0)
    other.tell_past(["taste"] * 400, ["good"] * 380 + ["rotten"] * 20)
    own, strange = mine.ask(), other.ask()
    with pytest.raises(InvalidInput, match="is not one of this learner's"):
        mine.tell(strange, "good")
    mine.tell(own, mine.game.signals[own.action][0])  # type: ignore[attr-defined]


def test_whether_to_play_hopeless_games_is_said_by_yes_or_no() -> None:
    odd: Any = "no"
    with pytest.raises(InvalidInput, match="allow_hopeless must be true or false; got 'no'"):
        pm.Learner(pm.games.apple_tasting(), allow_hopeless=odd)


@pytest.mark.parametrize("theta", [pm.Ball([0, 0], 1.0), pm.Box([-1, -1], [1, 1])])
def test_observations_that_are_too_large_are_refused(theta: pm.ParameterSet) -> None:
    maps = np.array([[[1.0, 0.2]], [[0.3, 1.0]]])
    learner = pm.Learner(pm.Game(np.eye(2), maps, theta))
    for size in (1e200, -1e200):
        with pytest.raises(InvalidInput, match="observation must not exceed"):
            learner.tell_past([0], [[size]])
    assert learner.round == 1
    learner.tell_past([0], [[1e99]])
    assert bool(theta.contains(learner.ask().estimate))
    assert learner.ask().estimate[0] > 0.9
