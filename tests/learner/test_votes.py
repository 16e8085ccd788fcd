"""Votes on duels: several answers to one decision, told as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

ITEMS = [[0.0, 0.0], [0.4, 0.1], [0.2, 0.7], [-0.3, 0.5]]


def duels(policy: Any = None) -> pm.Learner:
    return pm.Learner(pm.games.dueling(ITEMS, feedback="sign"), policy, seed=3)


def kernel_duels(policy: Any = None) -> pm.Learner:
    kernel = pm.kernels.Matern(2.5, 0.5)
    game = pm.games.kernelized_dueling(kernel=kernel, feedback="sign")
    return pm.Learner(game, policy, seed=3)


@pytest.mark.parametrize(
    ("make", "policy"),
    [
        (duels, None),
        (duels, "dueling_ids"),
        (duels, "ids"),
        (kernel_duels, "dueling_ts"),
        (kernel_duels, None),
    ],
)
@settings(max_examples=5, deadline=None)
@given(votes=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3))
def test_votes_are_as_single_answers_to_the_same_duel(
    make: Any, policy: Any, votes: list[tuple[int, int]]
) -> None:
    together, apart = make(policy), make(policy)
    for first, second in votes:
        second = second or (0 if first else 1)
        decision = together.ask()
        together.tell(decision, wins=first, of=first + second)
        apart.cancel(apart.ask())
        apart.tell_past([decision.label] * (first + second), [[1.0]] * first + [[-1.0]] * second)
    assert together.round == apart.round
    one, two = (own.confidence_set() for own in (together, apart))
    np.testing.assert_allclose(one.means, two.means, atol=1e-9)
    np.testing.assert_allclose(one.data.variances, two.data.variances, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(together.ask().distribution, apart.ask().distribution, atol=1e-6)


def test_one_vote_is_a_plain_answer() -> None:
    votes, plain = duels(), duels()
    for wins in (1, 0, 0, 1):
        one, two = votes.ask(), plain.ask()
        assert one.distribution.tolist() == two.distribution.tolist()
        votes.tell(one, wins=wins, of=1)
        plain.tell(two, [1.0 if wins else -1.0])
    assert votes._session.counts == plain._session.counts


def test_votes_are_one_event_and_are_replayed(tmp_path: Any) -> None:
    learner = duels()
    learner.tell(learner.ask(), wins=4, of=5)
    learner.tell([learner.ask(), learner.ask()], [pm.Votes(1, 3), [1.0]])
    assert [row["observation"] for row in learner.history] == [
        *({"wins": 4, "of": 5}, {"wins": 1, "of": 3}, [1.0])
    ]
    assert len(learner.events) == 6
    assert learner.round == 10
    learner.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    again = pm.Learner.replay(learner.game, None, 3, learner.events, check=True)
    expected = learner.ask().distribution.tolist()
    assert loaded.ask().distribution.tolist() == expected
    assert again.ask().distribution.tolist() == expected


def test_votes_are_amended_as_if_told_right() -> None:
    wrong, right = duels(), duels()
    first, same = wrong.ask(), right.ask()
    wrong.tell(first, wins=4, of=5)
    right.tell(same, wins=1, of=3)
    for _ in range(2):
        later, other = wrong.ask(), right.ask()
        wrong.tell_past([later.label], [[1.0]])
        right.tell_past([later.label], [[1.0]])
        wrong.cancel(later)
        right.cancel(other)
    wrong.amend(first, pm.Votes(1, 3))
    assert wrong.round == right.round == 6
    assert wrong.ask().distribution.tolist() == right.ask().distribution.tolist()
    again = pm.Learner.replay(wrong.game, None, 3, wrong.events)
    assert again.round == 6


def test_votes_wait_for_the_end_of_a_window() -> None:
    game = pm.games.dueling(ITEMS, feedback="sign")
    learner = pm.Learner(game, seed=3, window=pm.Window(rounds=1))
    learner.tell(learner.ask(), wins=4, of=5)
    assert learner.round == 1
    learner.ask()
    learner.ask()
    assert learner.round == 6


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"wins": 6, "of": 5}, "wins must be at most of, 5; got 6."),
        ({"wins": -1, "of": 5}, "wins must be a whole number >= 0; got -1."),
        ({"wins": 1.5, "of": 5}, "wins must be a whole number >= 0; got 1.5."),
        ({"wins": 0, "of": 0}, "of must be a whole number"),
        ({"wins": True, "of": 2}, "wins must be a whole number"),
        ({"wins": 1}, "of must be given along with wins."),
        ({"of": 1}, "wins must be given along with of."),
        ({"observation": [1.0], "wins": 1, "of": 1}, "observation must be left out with wins"),
        ({}, "observation must be given, or wins and of in a duel."),
    ],
)
def test_bad_votes_are_refused_and_nothing_changes(told: dict[str, Any], message: str) -> None:
    learner = duels()
    decision = learner.ask()
    with pytest.raises(InvalidInput) as caught:
        learner.tell(decision, **told)
    assert str(caught.value).startswith(message)
    assert learner.round == 1
    assert len(learner.open) == 1


@pytest.mark.parametrize("game", ["apple_tasting", "linear_bandit", pm.games.dueling(ITEMS)])
def test_other_games_have_no_votes(game: Any) -> None:
    learner = pm.Learner(game, seed=0)
    with pytest.raises(InvalidInput, match="wins and of are for duels that show who won"):
        learner.tell(learner.ask(), wins=4, of=5)
    assert learner.round == 1
