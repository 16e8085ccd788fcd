"""Duels are asked and answered in the words of their items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

ITEMS = ["tea", "coffee", "milk"]


def duels(**options: Any) -> pm.DuelingGame:
    return pm.games.dueling(**({"feedback": "sign", "items": ITEMS} | options))


def answered(game: Any, policy: Any, answers: list[Any]) -> pm.Learner:
    learner = pm.Learner(game, policy, seed=1)
    pairs = [
        game.action_index(f"{ITEMS[t % 3]} | {ITEMS[(t + 1) % 3]}") for t in range(len(answers))
    ]
    learner.tell_past(pairs, answers)
    return learner


def test_decisions_name_both_items() -> None:
    learner = pm.Learner(duels(), seed=0)
    decision = learner.ask()
    assert decision.label == f"{decision.first} | {decision.second}"
    assert divmod(decision.action, 3) == (ITEMS.index(decision.first), ITEMS.index(decision.second))
    assert decision.to_dict()["first"] == decision.first
    status = learner.status()
    assert (status.item, status.settings) == (status.best, None)
    assert status.action == ITEMS.index(status.item)
    bandit = pm.Learner(pm.games.linear_bandit()).ask()
    assert (bandit.first, bandit.second, bandit.settings) == (None, None, None)
    assert "first" not in bandit.to_dict()
    contextual = pm.games.contextual_dueling()
    seen = pm.Learner(contextual, seed=0).ask(context=0)
    assert seen.label == f"{seen.first} | {seen.second}"


@pytest.mark.parametrize("policy", [None, pm.DuelingIDS()])
@pytest.mark.parametrize(
    "game",
    [duels(), pm.games.kernelized_dueling([[0.0], [0.5], [1.0]], feedback="sign", items=ITEMS)],
)
def test_words_are_numbers(game: Any, policy: Any) -> None:
    words = [
        "first",
        "second",
        "tie",
        "tea",
        "milk",
        "coffee",
    ]  # duels tea-coffee, coffee-milk, ...
    numbers = [1.0, -1.0, 0.0, 1.0, -1.0, None]
    words[5], numbers[5] = "tea", -1.0  # milk | tea
    one, two = answered(game, policy, words), answered(game, policy, numbers)
    first, second = one.ask(), two.ask()
    assert (first.action, first.probability) == (second.action, second.probability)
    np.testing.assert_array_equal(one.confidence_set().center, two.confidence_set().center)
    assert [event["observation"] for event in one.events[:6]] == words
    again = pm.Learner.replay(game, policy, 1, one.events, check=True)
    assert again.round == 7


def test_a_tie_is_half_a_win_for_each() -> None:
    """Two ties count as a win and a defeat, in least squares and where wins are counted."""
    for policy in (None, pm.DuelingIDS()):
        one, two = (pm.Learner(duels(), policy, seed=0) for _ in range(2))
        one.tell_past(["tea | coffee"] * 6, ["tie"] * 2 + ["first"] * 4)
        two.tell_past(["tea | coffee"] * 6, ["first", "second"] + ["first"] * 4)
        mine, other = one.confidence_set(), two.confidence_set()
        np.testing.assert_allclose(mine.center, other.center, atol=1e-12)
        np.testing.assert_allclose(mine.lengths, other.lengths, atol=1e-12)
        np.testing.assert_allclose(one.ask().distribution, two.ask().distribution, atol=1e-9)


@pytest.mark.parametrize("ties", [0.0, 0.4, 0.8])
def test_ties_leave_the_estimate_unbiased(ties: float) -> None:
    """If wins exceed defeats as the model says, the estimate is right with any share of ties."""
    theta, game, count = np.array([0.2, 0.0, -0.15]), duels(), 3_000
    rng = np.random.default_rng(7)
    pairs = [(0, 1), (1, 2), (2, 0)]
    actions, told = [], []
    for a, b in pairs:
        ahead = theta[a] - theta[b]
        chances = [(1 - ties + ahead) / 2, (1 - ties - ahead) / 2, ties]
        if min(chances) < 0:  # ties cannot be that many
            chances = [ahead, 0.0, 1 - ahead] if ahead > 0 else [0.0, -ahead, 1 + ahead]
        actions += [3 * a + b] * count
        told += rng.choice(["first", "second", "tie"], count, p=chances).tolist()
    learner = pm.Learner(game, pm.DuelingIDS(), seed=0)
    learner.tell_past(actions, told)
    found = learner.confidence_set().center[0]
    for a, b in pairs:
        assert found[a] - found[b] == pytest.approx(theta[a] - theta[b], abs=4 / np.sqrt(count))


def test_answers_that_say_nothing_are_refused() -> None:
    learner = pm.Learner(duels(), seed=0)
    decision = learner.ask()
    (other,) = set(ITEMS) - {decision.first, decision.second} or {"water"}
    cases: list[tuple[Any, str]] = [
        (other, "'first', 'second', 'tie' or the label of the winner"),
        ("won", "'first', 'second', 'tie' or the label of the winner"),
        ({"first": 1}, "real numbers"),
    ]
    for answer, message in cases:
        with pytest.raises(InvalidInput, match=message):
            learner.tell(decision, answer)
    assert learner.round == 1
    swapped = pm.Learner(duels(items=["second", "first", "x"]), seed=0)
    with pytest.raises(InvalidInput, match="the place of one item and the label of the other"):
        swapped.tell_past(["second | first"], ["first"])
    swapped.tell_past(["first | second"], ["first"])
    swapped.tell_past(["x | x"], ["x"])
    differences = pm.Learner(duels(feedback="quantitative"), seed=0)
    with pytest.raises(InvalidInput, match="must be the difference of two utilities"):
        differences.tell(differences.ask(), "first")
