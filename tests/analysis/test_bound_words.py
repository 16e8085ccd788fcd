"""Bounds say what they guarantee, when they say nothing, and refuse bad input in one sentence."""

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

NAMES = ["dynamic_pricing", "apple_tasting", "linear_bandit", "survey", "segment_pricing"]


def bounds_of(name: str, horizon: Any) -> Any:
    contexts = pm.games.make(name).traits.contexts
    return (pm.contextual_bounds if contexts else pm.bounds)(name, horizon)


@pytest.mark.parametrize("name", NAMES)
def test_a_bound_above_the_largest_loss_says_from_where_on_it_counts(name: str) -> None:
    found = bounds_of(name, 100)
    assert found.regret[0] > found.largest_loss[0] == 100 * found.max_gap
    assert found.guaranteed[0] == found.largest_loss[0]
    first = int(found.informative_from)
    assert f"The bound says nothing before round {first:,}." in found.explain()
    before, there = (bounds_of(name, [n]) for n in (first - 1, first))
    assert before.regret[0] >= before.largest_loss[0]
    assert there.regret[0] < there.largest_loss[0]
    assert "says nothing" not in there.explain()
    assert there.guaranteed[0] == there.regret[0]


@pytest.mark.parametrize("name", NAMES)
def test_bounds_are_shown_in_words(name: str) -> None:
    found = bounds_of(name, [100, 10**9])
    assert str(found) == found.explain()
    assert len(repr(found)) < 100
    assert "regret at most" in repr(found)
    assert "rounds" in repr(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "says nothing before round" in html


def test_a_game_without_bound_says_so() -> None:
    found = pm.bounds(pm.games.matching_pennies("none"), 1000)
    assert np.isinf(found.informative_from)
    assert found.explain().startswith("No theorem bounds the regret of IDS here")
    assert found.guaranteed[0] == found.largest_loss[0]
    assert "which says nothing" in repr(found)


def test_a_trivial_game_has_no_regret() -> None:
    found = pm.bounds(pm.FiniteGame([[1, 1], [0, 0]], ["aa", "aa"]), 50)
    assert found.informative_from == 1
    assert "the regret is 0: one action is always best" in found.explain()
    assert repr(found) == "Bounds(regret at most 0 after 50 rounds)"


GAME = pm.games.apple_tasting()
BAD: list[tuple[Any, str]] = [
    (lambda: pm.bounds("nothing", 9), "no game named 'nothing'"),
    (
        lambda: pm.bounds(3, 9),
        "game must be a Game or a ContextualGame, or a name in pm.games; got 3",
    ),
    (lambda: pm.bounds(pm.games.survey(), 9), "game must have no contexts"),
    (lambda: pm.contextual_bounds(None, 9), "game must be a Game or a ContextualGame, or"),
    (lambda: pm.contextual_bounds("apple_tasting", 9), "game must be a ContextualGame; got Fini"),
    (lambda: pm.bounds(GAME, [[1], [2, 3]]), "horizon must be real numbers in rows"),
    (lambda: pm.contextual_bounds("survey", [[1], [2, 3]]), "horizon must be real numbers in rows"),
    (lambda: pm.bounds(GAME, []), "horizon must be at least 1; got []."),
    (lambda: pm.bounds(GAME, 9, analysis=3), "analysis must be one of the same game; got 3."),
    (lambda: pm.bounds(GAME, 9, local_alignment="a"), "local_alignment must be real numbers"),
    (
        lambda: pm.bounds(GAME, 9, local_alignment=-1),
        "local_alignment must not be negative; got -1",
    ),
    (lambda: pm.regret_bound(1, 1, 9, missed="x"), "missed must be real numbers"),
    (lambda: pm.regret_bound(1, 1, 9, missed=-1), "missed must not be negative; got -1."),
    (lambda: pm.regret_bound(1, 1, [[1], [2, 3]]), "horizon must be real numbers in rows of equal"),
    (lambda: pm.regret_bound([1, 2], 1, [1, 2, 3]), "information_ratio, total_information and"),
    (lambda: pm.advise(None), "game must be a Game or a ContextualGame, or a name in pm.games"),
    (lambda: pm.alignment(3), "game must be a Game or a ContextualGame, or a name in pm.games"),
    (lambda: pm.finite_alignment_bounds(3), "game must be a Game or a ContextualGame, or a name"),
    (
        lambda: pm.finite_alignment_bounds(pm.games.linear_bandit()),
        "game must be a FiniteGame; got Game",
    ),
    (lambda: pm.Measurement(0, [[1], [2, 3]]), "rows must be real numbers in rows of equal length"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_analyses_take_the_names_of_games() -> None:
    assert pm.analyze("dynamic_pricing").category == "hard"
    assert pm.analyze("survey").category == pm.analyze(pm.games.survey()).category
    assert pm.alignment("dynamic_pricing") == pm.alignment(pm.games.dynamic_pricing())
    assert pm.advise("apple_tasting").achieved
    near = pm.Ball([0.5, 0.5], 0.1)
    assert pm.local_alignment("apple_tasting", near) == pm.local_alignment(GAME, near)
    assert pm.bounds("apple_tasting", 9).regret == pm.bounds(GAME, 9).regret
    assert pm.finite_alignment_bounds("apple_tasting") == pm.finite_alignment_bounds(GAME)
