from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, UnknownName

BALL = pm.Ball([0, 0], 1)


def random_set(rng: np.random.Generator, d: int) -> Any:
    """Return a parameter set of any kind, full-dimensional or not."""
    kind = int(rng.integers(6))
    low = rng.integers(-2, 2, d).astype(float)
    return [
        pm.AllParameters(d),
        pm.Ball(rng.standard_normal(d), float(rng.integers(0, 3))),
        pm.Box(low, low + rng.integers(0, 3, d)),
        pm.Simplex(d),
        pm.Polytope(-np.eye(d), np.zeros(d), np.ones((1, d)), [2.0]),
        pm.Polytope(np.concatenate([np.eye(d), -np.eye(d)]), np.r_[low + 1, -low]),
    ][kind]


def random_game(seed: int) -> pm.Game:
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    maps = [rng.integers(-1, 2, (int(rng.integers(0, 4)), d)) for _ in range(k)]
    return pm.Game(rng.integers(-2, 3, (k, d)), maps, random_set(rng, d))


@given(st.integers(0, 10_000))
def test_reduced_coordinates_mean_the_same_on_theta(seed: int) -> None:
    game = random_game(seed)
    reduced = game.reduced
    x = np.random.default_rng(seed).standard_normal(reduced.dimension)
    theta = reduced.center + reduced.difference_basis @ x
    np.testing.assert_allclose(
        reduced.offsets + reduced.features @ x, game.features @ theta, atol=1e-9
    )
    np.testing.assert_allclose(
        game.observation_maps @ reduced.center + reduced.observation_maps @ x,
        game.observation_maps @ theta,
        atol=1e-9,
    )


@given(st.integers(0, 10_000))
def test_the_observation_basis_sees_what_the_maps_see_and_no_more(seed: int) -> None:
    """M v = M W W' v on V, im W is inside V, and r is the rank of the projected rows."""
    game = random_game(seed)
    q, w = game.reduced.difference_basis, game.reduced.basis
    np.testing.assert_allclose(w.T @ w, np.eye(game.rank), atol=1e-10)
    np.testing.assert_allclose(q @ q.T @ w, w, atol=1e-10)
    seen = game.observation_maps @ q
    np.testing.assert_allclose(game.observation_maps @ w @ w.T @ q, seen, atol=1e-9)
    rank = np.linalg.matrix_rank(np.concatenate(seen), tol=1e-9) if seen.size else 0
    assert game.rank == rank <= min(game.dimension, sum(game.row_counts))


def test_maps_are_padded_and_rows_are_not() -> None:
    game = pm.Game([[1, 0], [0, 1], [1, 1]], [[], [[1, 2]], [[1, 0], [0, 1]]], BALL)
    assert game.observation_maps.shape == (3, 2, 2)
    assert game.row_counts == (0, 1, 2)
    assert game.rows(0).shape == (0, 2)
    np.testing.assert_array_equal(game.observation_maps[1], [[1, 2], [0, 0]])


def test_a_game_that_shows_nothing() -> None:
    for maps in ([[], []], np.zeros((2, 0, 2)), np.zeros((2, 3, 2))):
        game = pm.Game([[1, 0], [0, 1]], maps, BALL)
        assert game.rank == 0
        assert game.reduced.basis.shape == (2, 0)
        assert "nothing" in str(game) or "0" in str(game)


def test_one_action_one_dimension() -> None:
    game = pm.Game([[2]], [[[1]]], pm.AllParameters(1))
    assert (game.k, game.d, game.m, game.rank, game.dimension) == (1, 1, 1, 1, 1)


def test_rows_of_very_different_size_count_alike() -> None:
    game = pm.Game(np.eye(2), [[[1e8, 0]], [[0, 1e-8]]], pm.AllParameters(2))
    assert game.rank == 2


def test_noise_is_one_number_or_one_per_action() -> None:
    maps = np.ones((2, 1, 2))
    assert pm.Game(np.eye(2), maps, BALL, 2).noise_std == 2.0
    np.testing.assert_array_equal(pm.Game(np.eye(2), maps, BALL, [1, 2]).noise_std, [1, 2])


def test_fractions_are_numbers() -> None:
    game = pm.Game([[Fraction(1, 3)]], [[[Fraction(1, 7)]]], pm.Box([Fraction(1, 3)], [1]))
    assert game.features[0, 0] == 1 / 3


def test_a_game_cannot_be_changed() -> None:
    game = pm.games.dynamic_pricing()
    with pytest.raises(AttributeError):
        game.features = None  # type: ignore[misc, assignment]
    with pytest.raises(ValueError, match="read-only"):
        game.features[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        game.reduced.basis[0, 0] = 1


def test_the_callers_arrays_do_not_reach_the_game() -> None:
    features, maps = np.eye(2), np.ones((2, 1, 2))
    game = pm.Game(features, maps, BALL)
    features[0, 0] = maps[0, 0, 0] = 7
    assert game.features[0, 0] == game.observation_maps[0, 0, 0] == 1


def test_actions_by_index_and_by_label() -> None:
    game = pm.Game(np.eye(2), np.ones((2, 1, 2)), BALL, actions=["left", "right"])
    assert game.action_index("right") == game.action_index(1) == game.action_index(np.int64(1)) == 1
    with pytest.raises(UnknownName, match="no action named 'rigth'; did you mean 'right'"):
        game.action_index("rigth")
    for bad in (2, -1, 1.0, True, None):
        with pytest.raises(InvalidInput, match="action must be a label or an index below 2"):
            game.action_index(bad)  # type: ignore[arg-type]


EYE, ONE = np.eye(2), np.ones((2, 1, 2))
BAD: list[tuple[Any, str]] = [
    (lambda: pm.Game([1, 2], ONE, BALL), "features must have shape (k, d); got (2,)."),
    (lambda: pm.Game(np.zeros((0, 2)), [], BALL), "features must have at least one row and one"),
    (lambda: pm.Game([[1, np.nan]], ONE[:1], BALL), "features must be finite; got nan at index (0"),
    (
        lambda: pm.Game(np.ones((5, 3)), np.ones((4, 1, 3)), pm.Simplex(3)),
        "observation_maps must have shape (k, m, d) = (5, m, 3) to match features; got (4, 1, 3).",
    ),
    (lambda: pm.Game(EYE, [[[1, 0]]], BALL), "observation_maps must have shape (k, m, d) = (2, m,"),
    (lambda: pm.Game(EYE, [[[1]], []], BALL), "observation_maps[0] must have shape (m, 2); got (1"),
    (lambda: pm.Game(EYE, 5, BALL), "observation_maps must have shape (k, m, d) = (2, m, 2) to m"),
    (
        lambda: pm.Game(EYE, [[[1, np.inf]], []], BALL),
        "observation_maps[0] must be finite; got inf",
    ),
    (
        lambda: pm.Game(EYE, [[[1, 0], [1]], []], BALL),
        "observation_maps[0] must be real numbers in",
    ),
    (lambda: pm.Game(EYE, ONE, BALL, [1, [2]]), "noise_std must be real numbers in rows of equal"),
    (lambda: pm.Game(EYE, ONE, BALL, actions=5), "actions must be a sequence of 2 labels; got 5."),
    (
        lambda: pm.Game(EYE, ONE, BALL).rows(-1),
        "action must be a label or an index below 2; got -1",
    ),
    (lambda: pm.Game(EYE, ONE, "simplex"), "parameters must be a parameter set such as Simplex(2)"),
    (
        lambda: pm.Game(EYE, ONE, pm.Simplex(3)),
        "parameters must have dimension 2 to match features",
    ),
    (lambda: pm.Game(EYE, ONE, BALL, 0), "noise_std must be positive; got 0."),
    (lambda: pm.Game(EYE, ONE, BALL, [1, -1]), "noise_std must be positive; got -1."),
    (lambda: pm.Game(EYE, ONE, BALL, [1, 1, 1]), "noise_std must have shape (2,); got (3,)."),
    (lambda: pm.Game(EYE, ONE, BALL, actions=["a"]), "actions must have 2 labels; got 1: ['a']."),
    (lambda: pm.Game(EYE, ONE, BALL, actions=["a", "a"]), "actions must be different from each"),
    (lambda: pm.Game(EYE, ONE, BALL, noise="uniform"), "noise must be one of 'gaussian', 'bernou"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)
