"""What simulations refuse in one sentence: policies that answer nonsense, sizes, odd types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.policy import checked_actions


@dataclass
class Answering:
    """A policy that gives the same answer in every round."""

    answer: Any

    def init(self, game: Any, replicates: int) -> int:
        return replicates

    def decide(self, state: int, uniforms: Any, available: Any = None) -> Any:
        return self.answer

    def update(self, state: int, action: Any, observation: Any) -> int:
        return state


HALVES = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    "action",
    [
        np.array([-1, -1]),
        np.array([99, 0]),
        np.array([0.0, 1.0]),
        np.array([True, False]),
        np.array([np.nan, 0.0]),
        np.array([0]),
        np.array([[0, 1]]),
        np.array(0),
        np.array(["0", "1"]),
        [0, [1]],
        [True, False],
        0,
        "ab",
        None,
    ],
    ids=repr,
)
def test_a_policy_that_chooses_no_actions_is_refused(action: Any) -> None:
    policy = Answering(pm.Choices(action, HALVES))
    with pytest.raises(InvalidInput) as caught:
        pm.simulate("apple_tasting", {"mine": policy}, [0.7, 0.3], horizon=3, seeds=2)
    text = str(caught.value)
    assert text.startswith("a policy must return actions of shape (2,), whole numbers from 0 to 1;")
    assert "\n" not in text


@pytest.mark.parametrize("answer", [None, 3, np.zeros(2), np.array([0, 1]), "ids"], ids=repr)
def test_a_policy_that_returns_no_choices_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a policy must return pm\.Choices; got"):
        pm.simulate("apple_tasting", {"mine": Answering(answer)}, horizon=3, seeds=2)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("distribution", None),
        ("distribution", HALVES[:1]),
        ("gaps", [1]),
        ("information", np.zeros(3)),
        ("ratio", np.zeros(1)),
        ("beta", "wide"),
        ("index", [[0, 1], [2]]),
        ("candidates", [[0, 1]] * 2),
        ("candidates", np.array([[1, 1]] * 2)),
    ],
)
def test_a_policy_with_reasons_of_a_wrong_shape_is_refused(name: str, values: Any) -> None:
    given = {"action": np.array([0, 0]), "distribution": HALVES} | {name: values}
    with pytest.raises(InvalidInput, match=f"^a policy must .*{name}") as caught:
        pm.simulate("apple_tasting", {"mine": Answering(pm.Choices(**given))}, horizon=3, seeds=2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_whole_numbers_of_any_kind_are_actions(dtype: Any) -> None:
    for n in (1, 3):
        action = np.arange(n).astype(dtype)
        assert checked_actions(pm.Choices(action, np.ones((n, 3)) / 3), n, 3) is action
    assert checked_actions(pm.Choices([0, 1], HALVES), 2, 2).tolist() == [0, 1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "seeds", [10_000_000, 10**20, b"abc", "abc", bytearray(b"a"), range(10**7)]
)
def test_too_many_seeds_and_bytes_are_refused(seeds: Any) -> None:
    for make in (pm.simulate, pm.Experiment):
        with pytest.raises(InvalidInput) as caught:
            make("apple_tasting", "greedy", horizon=3, seeds=seeds)
        assert str(caught.value).startswith("seeds must be ")
        assert len(str(caught.value)) < 200


def test_progress_is_true_or_false() -> None:
    for progress in (np.ones(2), "yes", 1, None):
        with pytest.raises(InvalidInput, match="progress must be true or false; got "):
            pm.simulate("apple_tasting", "greedy", horizon=3, seeds=2, progress=progress)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="progress must be true or false; got "):
            pm.Experiment("apple_tasting", "greedy", horizon=3, seeds=2).run(progress=progress)  # type: ignore[arg-type]


def test_results_refuse_what_is_no_name_and_no_seed() -> None:
    result = pm.simulate("apple_tasting", "greedy", horizon=3, seeds=2)
    for name in ([1], {}, None):
        with pytest.raises(InvalidInput, match="no policy named"):
            result.mean(name)  # type: ignore[arg-type]
    for seeds in (None, 3, ["a"], [0.5], [[0]]):
        with pytest.raises(InvalidInput, match="seeds must be a list of whole numbers; got "):
            result.only(seeds)  # type: ignore[arg-type]
    assert result.only([1]).seeds.tolist() == [1]  # type: ignore[arg-type]


def test_a_game_by_name_meets_random_truths_on_twenty_seeds() -> None:
    short = pm.simulate("apple_tasting", "ids", horizon=10)
    full = pm.simulate(pm.games.apple_tasting(), "ids", "random", horizon=10, seeds=20)
    assert np.array_equal(short.regret["ids"], full.regret["ids"])
    table = pm.Experiment("apple_tasting", "ids", horizon=10).run()
    assert np.array_equal(table["regret"].to_numpy(), full.regret["ids"].ravel())


@dataclass
class Interrupted(Answering):
    """A policy during whose fifth round somebody presses Ctrl-C, inside compiled code."""

    rounds: int = 0

    def decide(self, state: int, uniforms: Any, available: Any = None) -> Any:
        self.rounds += 1
        if self.rounds == 5:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        return self.answer


def test_an_interruption_inside_compiled_code_keeps_what_is_done() -> None:
    policy = Interrupted(pm.Choices(np.zeros(2, dtype=np.int64), HALVES))
    result = pm.simulate("apple_tasting", {"mine": policy}, horizon=9, seeds=2, checkpoints=[3, 6])
    assert result.checkpoints.tolist() == [3]


def test_other_errors_of_the_system_are_not_hidden() -> None:
    class Broken(Interrupted):
        def decide(self, state: int, uniforms: Any, available: Any = None) -> Any:
            raise SystemError("bad")

    with pytest.raises(SystemError, match="bad"):
        pm.simulate("apple_tasting", {"mine": Broken(None)}, horizon=9, seeds=2)


@pytest.mark.parametrize("decay", ["False", "no", 1, None, np.ones(2)], ids=repr)
def test_decay_is_true_or_false(decay: Any) -> None:
    with pytest.raises(InvalidInput, match="decay must be true or false; got "):
        pm.EpsilonGreedy(decay=decay)


@pytest.mark.parametrize("dimension", [7, 8])
def test_regret_over_a_box_counts_from_the_known_maximum(dimension: int) -> None:
    from partial_monitoring.games.functions import KNOWN
    from partial_monitoring.simulation.environment import Environment

    kernel = pm.kernels.SquaredExponential(0.3)
    low, high = np.full(dimension, 0.05), np.ones(dimension)
    game = pm.KernelBoxGame(kernel, low, high)
    ackley = KNOWN["ackley"]
    theta = game.function_values(ackley.function)[None]
    environment = Environment(game, theta, np.arange(1), None, ackley.function)
    action = game.nearest(low[None])
    gap = ackley.maximum(dimension) - float(ackley.function(game.points_of(action))[0])
    assert environment.gap(action)[0] == pytest.approx(gap, abs=1e-6)
