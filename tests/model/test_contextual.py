from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

PLANE = pm.AllParameters(2)
BOTH = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[1, 0], [0, 1]]], PLANE, actions=["a", "b"])
ONE = pm.Game([[2, 2]], [[]], PLANE, actions=["b"])
GAME = pm.ContextualGame([BOTH, ONE], [0.25, 0.75], ["both", "one"])


def test_at_gives_the_game_of_a_context() -> None:
    assert GAME.at("one") is GAME.at(1) is ONE
    assert (GAME.k, GAME.d, GAME.m) == (2, 2, 2)


def test_stacked_arrays_place_actions_by_label() -> None:
    assert GAME.actions == ("a", "b")
    np.testing.assert_array_equal(GAME.available, [[True, True], [False, True]])
    np.testing.assert_array_equal(GAME.features[1], [[0, 0], [2, 2]])
    assert GAME.observation_maps.shape == (2, 2, 2, 2)
    np.testing.assert_array_equal(GAME.observation_maps[0, 0], [[1, 0], [0, 0]])
    np.testing.assert_array_equal(GAME.positions("one"), [1])


def test_the_distribution_is_uniform_unless_given() -> None:
    np.testing.assert_array_equal(pm.ContextualGame([BOTH, ONE]).context_distribution, [0.5, 0.5])


def test_finite_contexts_share_their_outcomes() -> None:
    first = pm.FiniteGame([[1, 0]], ["ab"], outcomes=["x", "y"])
    second = pm.FiniteGame([[0, 1]], ["aa"], outcomes=["x", "y"])
    assert isinstance(pm.ContextualGame([first, second]).at(0), pm.FiniteGame)
    other = pm.FiniteGame([[0, 1]], ["aa"], outcomes=["x", "z"])
    with pytest.raises(InvalidInput, match="finite contexts must share their outcomes; context 1"):
        pm.ContextualGame([first, other])


def test_it_prints_every_context() -> None:
    text = str(GAME)
    assert "context both (probability 0.25)" in text
    assert "2 θ1 + 2 θ2" in text


def test_contextual_instance() -> None:
    instance = pm.ContextualInstance(GAME, [0.1, 0.3], noise="none")
    assert instance.at("both").best_action == 1
    assert instance.at("one").observe("b", np.random.default_rng(0)).shape == (0,)
    rng = np.random.default_rng(0)
    share = np.mean([instance.draw_context(rng) for _ in range(4000)])
    assert share == pytest.approx(0.75, abs=5 * np.sqrt(0.25 * 0.75 / 4000))


BAD: list[tuple[Any, str]] = [
    (lambda: pm.ContextualGame([]), "games must hold at least one context; got none."),
    (lambda: pm.ContextualGame(BOTH), "games must hold"),
    (lambda: pm.ContextualGame([BOTH, 3]), "games must hold one Game per context; got 3 at 1."),
    (
        lambda: pm.ContextualGame([BOTH, pm.games.matching_pennies()]),
        "all contexts must share one parameter set; context 1 has Simplex(d=2), context 0",
    ),
    (lambda: pm.ContextualGame([BOTH, ONE], [0.5, 0.6]), "context_distribution must be non-negat"),
    (lambda: pm.ContextualGame([BOTH, ONE], [1.0]), "context_distribution must have shape (2,)"),
    (lambda: GAME.at("neither"), "no context named 'neither'. Known: both, one."),
    (lambda: pm.ContextualInstance(BOTH, [0, 0]), "game must be a ContextualGame; got Game("),
    (lambda: pm.Instance(GAME, [0, 0]), "game must be a Game (use ContextualInstance); got Conte"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
