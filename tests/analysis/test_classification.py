"""The classification against vertex enumeration in fractions, and against CVXPY."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import partial_monitoring as pm
from tests.oracles.certificates import check
from tests.oracles.random_games import Draw, any_game, larger_game, library_game, polytope
from tests.oracles.slow_classifier import (
    Matrix,
    Polyhedron,
    SlowGame,
    alignment_by_vertices,
    bounded,
    box,
    classify,
    matrix,
    simplex,
    vector,
)

SAMPLE = 60
NIGHTLY = 1200
BLOCK = 50


# -- random games ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_random_games(seed: int) -> None:
    check(any_game(seed))


@pytest.mark.parametrize("seed", range(6))
def test_larger_random_games(seed: int) -> None:
    check(larger_game(seed))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + 4 * BLOCK, BLOCK))
def test_more_larger_random_games(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check(larger_game(seed))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, BLOCK))
def test_more_random_games(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check(any_game(seed))


def test_the_sample_has_all_sorts_of_games() -> None:
    draws = [any_game(seed) for seed in range(SAMPLE)]
    answers = [classify(draw.slow) for draw in draws]
    for category in ("trivial", "easy", "hard", "hopeless"):
        assert sum(answer.category == category for answer in answers) >= 4
    for kind in ("degenerate", "dominated", "duplicates"):
        assert sum(bool(getattr(answer, kind)) for answer in answers) >= 8
    for name, least in (("dimension", 2), ("rank", 8)):
        assert sum(getattr(answer, name) == 0 for answer in answers) >= least
    assert sum(draw.slow.k == 1 for draw in draws) >= 2
    assert sum(any(len(near) > 2 for near in a.neighborhoods.values()) for a in answers) >= 4


# -- games made by hand ----------------------------------------------------------------------


def linear(
    features: list[list[Any]], maps: list[list[list[Any]]], theta: Polyhedron, name: str
) -> Draw:
    """A game over a polytope."""
    phi: Matrix = matrix(features)
    shown = tuple(matrix(rows) for rows in maps)
    return Draw(name, SlowGame(phi, shown, theta), library_game(phi, shown, polytope(theta)))


def over_everything(features: list[list[Any]], maps: list[list[list[Any]]], name: str) -> Draw:
    phi: Matrix = matrix(features)
    d = len(phi[0])
    shown = tuple(matrix(rows) for rows in maps)
    slow = SlowGame(phi, shown, box([Fraction(-1)] * d, [Fraction(1)] * d))
    return Draw(name, slow, library_game(phi, shown, pm.AllParameters(d)))


def finite(rewards: list[list[Any]], signals: list[str], name: str) -> Draw:
    phi = matrix(rewards)
    maps = tuple(
        matrix([int(shown == symbol) for shown in row] for symbol in dict.fromkeys(row))
        for row in signals
    )
    game = pm.FiniteGame([list(map(float, row)) for row in phi], signals)
    return Draw(name, SlowGame(phi, maps, simplex(len(phi[0]))), game)


TRIANGLE = Polyhedron(2, matrix([[-1, 0], [0, -1], [1, 1]]), vector([0, 0, 1]))
POINT = Polyhedron(2, matrix([[1, 0], [-1, 0], [0, 1], [0, -1]]), vector([1, -1, 2, -2]))
FLAT = Polyhedron(
    3,
    matrix([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 1, 0], [0, 0, 1]]),
    vector([0, 0, 0, 0, 1]),
)

HAND_MADE = (
    linear([[1, 2]], [[]], TRIANGLE, "one action that shows nothing"),
    linear([[1, 2]], [[[1, 1]]], POINT, "one action, one parameter"),
    linear([[1, 2], [3, 1], [1, 1]], [[], [[1, 0]], [[0, 0]]], POINT, "ties at the only parameter"),
    linear([[1, 0], [0, 1]], [[], []], TRIANGLE, "no map has any rows"),
    linear([[1, 0], [0, 1]], [[[0, 0]], [[0, 0]]], TRIANGLE, "all maps are zero"),
    linear([[1, 0, 2], [0, 1, 2], [3, 3, 1]], [[[1, 0, 0]]] * 3, FLAT, "known coordinates"),
    linear([[0, 0, 1]] * 3, [[], [[1, 0, 0]], [[0, 0, 1]]], FLAT, "all are duplicates"),
    linear([[0, 0], [1, -1], [-1, 1]], [[[0, 0]], [[1, 0]], [[0, 1]]], TRIANGLE, "zero reward"),
    finite([[1], [2], [2]], ["a", "a", "b"], "one outcome"),
    finite([[1, 0], [0, 1], ["1/2", "1/2"]], ["aa", "aa", "ab"], "the middle action shows"),
    finite([[1, 0], [0, 1], ["0.4", "0.5"]], ["aa", "aa", "ab"], "a dominated action shows"),
    finite([[1, 0, 0], [0, 1, 0], ["1/2", "1/2", 0]], ["aaa", "aab", "abb"], "a face of a face"),
    finite(
        [[1, 0], ["0.9", "0.5"], [0, 1], [1, 0]], ["ab", "ab", "ab", "aa"], "strangers and a copy"
    ),
    finite([["1e-9", 0], [0, "1e-9"], ["4e-10", "5e-10"]], ["aa", "ab", "aa"], "tiny rewards"),
    finite([["1e9", 0], [0, "1e9"], ["5e8", "5e8"]], ["aa", "ab", "aa"], "huge rewards"),
    finite([[1, 0], [0, 1], ["0.500000000001", "0.5"]], ["aa", "aa", "ab"], "Pareto by a hair"),
    finite([[1, 0], [0, 1], ["0.499999999999", "0.5"]], ["aa", "aa", "ab"], "dominated by a hair"),
    # The number 0.50000500001 is the same float as 250002 / 499999.
    over_everything(
        [[0, "2e-11"], [1, "1.00001"], ["0.5", "0.50000500001"]],
        [[[1, 0]], [[0, 1]], [[1, 1]]],
        "decimals that are almost simple fractions",
    ),
    # Integers beyond 64 bits meet zeros.
    over_everything(
        [["1.00000000001", "0.99999999997", 0], [0, "1.00000000003", 1], ["1e-11", 1, "1e-5"]],
        [[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]],
        "long numerators",
    ),
    # A warm start from the last program leads HiGHS astray.
    over_everything(
        [["-0.003", -100, 10000, 1], [-20000, 100, -200, 0], ["0.01", "-0.01", 0, -30000]],
        [
            [["-0.003", -100, 10000, 1]],
            [[1, 0, 0, 1], [1, 1, 0, 1]],
            [["20000.01", "-100.01", 200, -30000]],
        ],
        "numbers of all sizes",
    ),
)


@pytest.mark.parametrize("draw", HAND_MADE, ids=lambda draw: draw.name)
def test_games_made_by_hand(draw: Draw) -> None:
    check(draw)


def test_two_actions_on_an_unbounded_polytope() -> None:
    """Far from the middle of Theta: a point where the two tie lies on the way between cells."""
    theta = Polyhedron(
        3, matrix([[-1, -2, -2], [-1, 2, -2], [-1, -2, 0]]), vector(["1.5", -3, "4.5"])
    )
    phi = matrix([["-0.1", "1.2", "-1.2"], ["1.4", "-0.5", "0.5"]])
    maps = (phi[:1], matrix([["1.5", "0.7", "1.2"]]))
    slow = SlowGame(phi, maps, bounded(theta))
    check(Draw("far", slow, library_game(phi, maps, polytope(theta))))


def half_line(features: list[list[Any]]) -> Draw:
    """A game on theta >= 0, of which the slow method sees a part."""
    phi = matrix(features)
    maps = tuple(((row,)) for row in phi)
    slow = SlowGame(phi, maps, box([Fraction(0)], [Fraction(10**15)]))
    return Draw("half line", slow, library_game(phi, maps, pm.Polytope([[-1]], [0])))


def test_games_on_unbounded_polytopes() -> None:
    check(half_line([[1], [0], [2], [2], [-1]]))
    check(half_line([[1], ["1.00000000001"], ["0.00002"], ["0.99999999999"]]))


def test_almost_parallel_cells_in_an_unbounded_corner() -> None:
    """HiGHS finds no point in one of the programs, but there is one."""
    theta = Polyhedron(2, matrix([[-1, 0], [0, -1]]), vector([-1, 0]))
    phi = matrix(
        [
            ["1.00000000003", 1],
            ["-1e-11", "-1e-9"],
            ["1.0000002", "3e-9"],
            ["-3e-7", "1.00000000003"],
        ]
    )
    slow = SlowGame(phi, ((),) * 4, bounded(theta))
    check(Draw("a corner", slow, library_game(phi, slow.maps, polytope(theta))))


@pytest.mark.parametrize("gap", ["1e-6", "1e-8", "1e-9", "1e-10", "1e-11"])
def test_observations_that_are_almost_the_same(gap: str) -> None:
    """The rank is that of the numbers, not of their roundings."""
    assert check(almost_the_same(gap)).rank == 2


@pytest.mark.parametrize("gap", ["1e-6", "1e-8", "1e-9", "1e-10", "1e-11"])
def test_alignment_with_observations_that_are_almost_the_same(gap: str) -> None:
    """It is huge, and must not be reported as small."""
    draw = almost_the_same(gap)
    alpha = float(alignment_by_vertices(draw.slow, [0, 1]))
    assert alpha == pytest.approx((1 + 2 / float(gap)) ** 2)
    assert pm.analyze(draw.game).alignment == pytest.approx(alpha, rel=1e-4)


def almost_the_same(gap: str) -> Draw:
    return over_everything([[1, 0], [0, 1]], [[[1, 0]], [[1, gap]]], gap)
