from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput


@given(
    st.integers(1, 5).flatmap(
        lambda d: st.lists(
            st.lists(st.sampled_from("abc"), min_size=d, max_size=d), min_size=1, max_size=4
        )
    )
)
def test_maps_are_the_signal_matrices(signals: list[list[str]]) -> None:
    """Row sigma of M_a is 1 where action a shows sigma; each column sums to 1."""
    k, d = len(signals), len(signals[0])
    game = pm.FiniteGame(np.zeros((k, d)), signals)
    np.testing.assert_array_equal(game.observation_maps.sum(axis=1), np.ones((k, d)))
    for a in range(k):
        assert game.row_counts[a] == len(set(signals[a]))
        for x in range(d):
            assert game.signal(a, x) == signals[a][x]
            np.testing.assert_array_equal(
                game.rows(a)[:, x], game.observation(a, game.signal(a, x))
            )


def test_symbols_may_be_anything_hashable() -> None:
    game = pm.FiniteGame([[0, 1]], [[("a", 1), None]])
    assert game.symbols == ((("a", 1), None),)
    assert game.signal(0, 1) is None


def test_a_string_is_a_row_of_characters() -> None:
    assert pm.FiniteGame([[0, 1, 2]], ["yny"]).signals == (("y", "n", "y"),)


def test_numpy_symbols_become_plain() -> None:
    game = pm.FiniteGame([[0, 1]], np.array([[3, 4]]))
    assert type(game.signal(0, 0)) is int


def test_labels_and_noise() -> None:
    game = pm.FiniteGame([[0, 1]], ["ab"], actions=["go"], outcomes=["rain", "sun"])
    assert game.signal("go", "sun") == "b"
    assert game.noise_std == pytest.approx(np.sqrt(0.5))
    assert isinstance(game.parameters, pm.Simplex)


BAD: list[tuple[Any, str]] = [
    (lambda: pm.FiniteGame([[1, 2]], ["a"]), "signals must have shape (k, d) = (1, 2) to match"),
    (lambda: pm.FiniteGame([[1, 2]], ["ab", "ab"]), "signals must have shape (k, d) = (1, 2) to m"),
    (lambda: pm.FiniteGame([[1, 2]], 5), "signals must be 1 rows of 2 symbols; got 5."),
    (lambda: pm.FiniteGame([[1]], [[[1]]]), "signals must be hashable symbols equal to themselves"),
    (lambda: pm.FiniteGame([[1]], [[float("nan")]]), "signals must be hashable symbols equal to"),
    (lambda: pm.FiniteGame([[]], [[]]), "rewards must not be empty; got shape (1, 0)."),
    (lambda: pm.FiniteGame([[1, 2]], ["ab"], outcomes=["x"]), "outcomes must have 2 labels; got 1"),
    (
        lambda: pm.FiniteGame([[1, 2]], ["ab"]).observation(0, "z"),
        "action '0' shows one of 'a', 'b'",
    ),
    (
        lambda: pm.FiniteGame([[1, 2]], ["ab"]).signal(0, 2),
        "outcome must be a label or an index be",
    ),
    (lambda: pm.games.finite([[1]]), "a finite game needs signals, one row of symbols per action"),
    (lambda: pm.games.finite(signals=["a"]), "a finite game needs either rewards or losses; got n"),
    (
        lambda: pm.games.finite([[1]], ["a"], losses=[[1]]),
        "a finite game needs either rewards or losses; got both.",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
