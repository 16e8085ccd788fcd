"""Policies of one's own: what they may answer, and what a learner of them can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


class Answers:
    """A policy that gives one answer, whatever is asked."""

    def __init__(self, *answer: Any) -> None:
        self.answer = answer

    def init(self, game: pm.Game, replicates: int) -> tuple[()]:
        return ()

    def decide(self, state: Any, uniforms: Any, available: Any = None) -> Any:
        return self.answer[0] if len(self.answer) == 1 else pm.Choices(*self.answer)

    def update(self, state: Any, action: Any, observation: Any) -> Any:
        return state


SURE = np.array([[1.0, 0.0, 0.0]])
BAD: dict[str, tuple[Any, ...]] = {
    "negative": (np.array([-1]), SURE),
    "too large": (np.array([99]), SURE),
    "a float": (np.array([1.0]), SURE),
    "a boolean": (np.array([True]), SURE),
    "nan": (np.array([np.nan]), SURE),
    "no actions": (np.array([], dtype=int), SURE),
    "two actions": (np.array([0, 1]), SURE),
    "two axes": (np.array([[0]]), SURE),
    "a number": (0, SURE),
    "none for the action": (None, SURE),
    "a word": ("first", SURE),
    "ragged": ([[0], [0, 1]], SURE),
    "nothing": (None,),
    "a bare action": (np.array([0]),),
    "a short distribution": (np.array([0]), SURE[:, :2]),
    "a flat distribution": (np.array([0]), SURE[0]),
    "no distribution": (np.array([0]), None),
    "a distribution of nan": (np.array([0]), SURE * np.nan),
    "a negative probability": (np.array([0]), -SURE),
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_an_impossible_answer_is_refused_and_changes_nothing(answer: tuple[Any, ...]) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), Answers(*answer))  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(InvalidInput, match="a policy must") as caught:
            learner.ask()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
    assert learner.events == []
    assert learner.round == 1


def test_an_action_that_is_not_available_is_refused() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), Answers(np.array([0]), SURE))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"must choose an action that is available; got '\$1'"):
        learner.ask(available=["$2", "$3"])
    assert learner.ask(available=["$1", "$3"]).label == "$1"


@pytest.mark.parametrize("action", [np.array([0]), np.array([0], dtype=np.uint8), [0]])
def test_whole_numbers_of_every_kind_are_actions(action: Any) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), Answers(action, SURE))  # type: ignore[arg-type]
    learner.tell(learner.ask(), "yes")
    assert learner.round == 2


def test_saving_says_what_a_policy_needs_and_status_needs_nothing(tmp_path: Path) -> None:
    policy: Any = Answers(np.array([0]), SURE)
    learner = pm.Learner(pm.games.dynamic_pricing(), policy)
    learner.tell(learner.ask(), "yes")
    with pytest.raises(InvalidInput, match=r"keep learner.events .* Learner.replay") as caught:
        learner.save(tmp_path / "learner.json")
    assert "\n" not in str(caught.value)
    assert learner.status().round == 2
    again = pm.Learner.replay(learner.game, policy, 0, learner.events, check=True)
    assert again.history == learner.history


def test_a_policy_may_have_no_state() -> None:
    class Constant(Answers):
        def init(self, game: pm.Game, replicates: int) -> Any:
            return None

    policy: Any = Constant(np.array([0]), SURE)
    learner = pm.Learner(pm.games.dynamic_pricing(), policy)
    learner.tell(learner.ask(), "yes")
    learner.tell_past([0], ["yes"])
    assert learner.round == learner.status().round == 3
    again = pm.Learner.replay(learner.game, policy, 0, learner.events, check=True)
    assert again.history == learner.history
