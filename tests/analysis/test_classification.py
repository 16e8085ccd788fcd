"""The classification against vertex enumeration in fractions, and against CVXPY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import combinations, count, islice
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.random_games import (
    SETS,
    Draw,
    any_game,
    bits,
    decimals,
    finite_game,
    fractions,
    integers,
    larger_game,
    library_game,
    linear_game,
    of_all_sizes,
    polytope,
    small_integers,
)
from tests.oracles.slow_classifier import (
    Matrix,
    Polyhedron,
    SlowAnswer,
    SlowGame,
    Vector,
    alignment,
    alignment_by_vertices,
    bounded,
    box,
    classify,
    dot,
    matrix,
    minus,
    simplex,
    vector,
)

SAMPLE = 60
NIGHTLY = 1200
BLOCK = 50


def check(draw: Draw) -> SlowAnswer:
    """Compare one game in every field, and every certificate with the definitions."""
    expected = classify(draw.slow)
    analysis = pm.analyze(draw.game)
    for field in fields(SlowAnswer):
        found = getattr(analysis, field.name)
        assert found == getattr(expected, field.name), (draw.name, field.name)
    assert analysis.certified, draw.name
    assert analysis.verify(), analysis.problems()
    check_certificates(draw.slow, expected, analysis)
    if expected.category == "trivial":
        assert analysis.alignment == 0
    if expected.category == "hopeless":
        assert analysis.alignment == np.inf
    return expected


# -- certificates, by the definitions --------------------------------------------------------


def exact(numbers: Any) -> Any:
    """Return exact numbers of the library as nested lists of fractions."""
    return numbers.fractions().tolist()


def check_certificates(game: SlowGame, answer: SlowAnswer, analysis: pm.Analysis) -> None:
    everyone = range(game.k)
    twins = {a: {a} for a in everyone}
    for group in answer.duplicates:
        twins |= {a: set(group) for a in group}
    for a, cell in enumerate(analysis.cells.cells):
        rivals = [c for c in everyone if c not in twins[a]]
        if a not in answer.dominated:
            theta = inside(game, exact(cell.witness))
            leads = [game.reward(a, theta) - game.reward(c, theta) for c in rivals]
            assert min(leads, default=1) > 0 if a in answer.pareto else min(leads) >= 0
        if a not in answer.pareto:
            shares = exact(cell.mixture)
            assert all(share >= 0 for share in shares)
            assert sum(shares) > 0
            assert all(shares[c] == 0 for c in twins[a])
            leads = [behind(game, a, shares, corner) for corner in game.corners]
            assert min(leads) >= 0 if a in answer.degenerate else min(leads) > 0
    for (a, b), face in analysis.cells.faces.items():
        near = answer.neighborhoods.get((a, b))
        if near is not None:
            theta = inside(game, exact(face.witness))
            leads = [game.reward(a, theta) - game.reward(c, theta) for c in everyone]
            assert leads[b] == 0
            assert [c for c in everyone if leads[c] == 0] == near
            assert min(leads) == 0
        else:
            shares = exact(face.mixture)
            assert all(share >= 0 for share in shares)
            assert sum(shares) > 0
            a, b = face.pair  # duplicates share the proof of the first ones
            for corner in game.corners:
                push = Fraction(face.tie_weight) * (game.reward(a, corner) - game.reward(b, corner))
                assert behind(game, a, shares, corner) + push >= 0
    readings = [*analysis.local_readings.items(), *analysis.global_readings.items()]
    for (a, b), reading in readings:
        target = minus(game.features[a], game.features[b])
        if reading.seen:
            assert read(game, reading) == game.along(target)
        else:
            hidden = exact(reading.blind)
            assert all(dot(row, hidden) == 0 for c in reading.actions for row in game.maps[c])
            assert dot(target, hidden) != 0
            assert len(independent_of(game, hidden)) == game.dimension


def inside(game: SlowGame, point: list[Fraction]) -> Vector:
    """Return a witness, which must lie in Theta (or in R^d, where only its direction counts)."""
    largest = max(map(abs, point))
    scaled = [x / max(largest, 1) for x in point]
    assert game.theta.contains(point) or game.theta.contains(scaled)
    return tuple(point)


def behind(game: SlowGame, a: int, shares: list[Fraction], theta: Vector) -> Fraction:
    """Return by how much an action is behind a mixture."""
    return sum(
        (share * (game.reward(c, theta) - game.reward(a, theta)) for c, share in enumerate(shares)),
        Fraction(0),
    )


def read(game: SlowGame, reading: Any) -> Vector:
    """Return sum_c M_c' w_c on V."""
    total = [Fraction(0)] * game.theta.n
    for c, own in zip(reading.actions, exact(reading.weights), strict=True):
        for weight, row in zip(own, game.maps[c], strict=False):
            total = [old + weight * x for old, x in zip(total, row, strict=True)]
    return game.along(total)


def independent_of(game: SlowGame, direction: list[Fraction]) -> list[Vector]:
    """Return a basis of V and one more direction together: no longer if that lies in V."""
    from tests.oracles.slow_classifier import independent

    return independent([*game.directions, direction], game.theta.n)


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


# -- alignment -------------------------------------------------------------------------------


def observable(seed: int, **more: Any) -> Iterator[tuple[Draw, pm.Analysis]]:
    """Games with numbers of moderate size and a finite, positive alignment constant."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, integers, decimals, fractions, bits])
        family = SETS[number // 2 % len(SETS)]
        draw = finite_game(random, kind) if number % 2 else linear_game(random, family, kind)
        analysis = pm.analyze(draw.game)
        if analysis.category in ("easy", "hard"):
            yield draw, analysis


def check_alignment(draw: Draw, analysis: pm.Analysis) -> None:
    """Compare with both programs of paper-notes 3.4, each solved by CVXPY for all pairs."""
    primal, dual = alignment(draw.slow, analysis.pareto)
    assert primal == pytest.approx(dual, rel=1e-4)
    assert analysis.alignment == pytest.approx(primal, rel=1e-4), draw.name
    assert analysis.alignment_details.gap <= 1e-6
    # The direction and the weights prove it, whoever solved the programs.
    details = analysis.alignment_details
    assert details.pair is not None
    assert details.direction is not None
    assert details.weights is not None
    a, b = details.pair
    u = draw.game.features[a] - draw.game.features[b]
    heard = np.linalg.norm(draw.game.observation_maps @ details.direction, axis=1)
    assert heard.max() <= 1 + 1e-9
    assert (u @ details.direction) ** 2 == pytest.approx(analysis.alignment, rel=1e-5)
    lengths = np.linalg.norm(details.weights, axis=1)
    assert lengths.sum() ** 2 == pytest.approx(analysis.alignment, rel=1e-5)
    along = np.array(draw.slow.directions, dtype=float)
    shown = np.einsum("cm,cmd->d", details.weights, draw.game.observation_maps)
    np.testing.assert_allclose(along @ shown, along @ u, atol=1e-7 * np.abs(along).max())


def test_alignment_is_that_of_cvxpy() -> None:
    for draw, analysis in islice(observable(0), 16):
        check_alignment(draw, analysis)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 9000, 1000))
def test_alignment_is_that_of_cvxpy_in_many_games(first: int) -> None:
    for draw, analysis in islice(observable(first), 40):
        check_alignment(draw, analysis)


def one_row_games(seed: int) -> Iterator[tuple[Draw, pm.Analysis]]:
    """Games whose actions show one number each, so that alignment is a linear program."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, decimals, fractions, of_all_sizes])
        draw = linear_game(random, SETS[number % len(SETS)], kind)
        if max(map(len, draw.slow.maps)) <= 1:
            analysis = pm.analyze(draw.game)
            if analysis.category in ("easy", "hard"):
                yield draw, analysis


def check_exact_alignment(seed: int, games: int) -> None:
    for draw, analysis in islice(one_row_games(seed), games):
        slow = alignment_by_vertices(draw.slow, analysis.pareto)
        assert analysis.alignment == pytest.approx(float(slow), rel=1e-6), draw.name


def test_alignment_of_one_row_maps_is_exact() -> None:
    check_exact_alignment(0, 15)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_alignment_of_one_row_maps_is_exact_in_many_games(first: int) -> None:
    check_exact_alignment(first, 40)


# -- floating point --------------------------------------------------------------------------

ROOT = float(np.sqrt(2))


def irrational(game: pm.Game, factors: tuple[float, float, float]) -> pm.Game | None:
    """Return a game with features, maps and Theta multiplied; None if Theta cannot be."""
    phi, shown, size = factors
    parameters = game.parameters
    match parameters:
        case _ if size == 1:
            pass
        case pm.Box(low=low, high=high):
            parameters = pm.Box(low * size, high * size)
        case pm.Polytope():
            a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
            parameters = pm.Polytope(a_ub, b_ub * size, a_eq, b_eq * size)
        case _:
            return None
    return pm.Game(game.features * phi, game.observation_maps * shown, parameters)


def moderate_games(seed: int) -> Iterator[Draw]:
    """Games whose decisions are clear in floating point."""
    for number in count(seed):
        random = Random(number)
        kind = random.choice([small_integers, integers, decimals, fractions, bits])
        if number % 3 == 0:
            yield finite_game(random, kind)
        else:
            yield linear_game(random, SETS[number // 3 % len(SETS)], kind)


def check_floating_point(seed: int, games: int) -> None:
    for draw in islice(moderate_games(seed), games):
        answer = classify(draw.slow)
        alpha = pm.analyze(draw.game).alignment
        for factors in ((ROOT, 1.0, 1.0), (1.0, ROOT, 1.0), (1.0, 1.0, ROOT)):
            game = irrational(draw.game, factors)
            if game is None:
                continue
            analysis = pm.analyze(game)
            for field in fields(SlowAnswer):
                found = getattr(analysis, field.name)
                assert found == getattr(answer, field.name), (draw.name, factors, field.name)
            assert analysis.verify(), analysis.problems()
            scale = (factors[0] / factors[1]) ** 2
            assert analysis.alignment == pytest.approx(alpha * scale, rel=1e-5)
            changed = (game.features, game.observation_maps, *_numbers(game.parameters))
            assert analysis.certified == all(map(_is_rational, changed))


def _numbers(parameters: Any) -> tuple[Any, ...]:
    match parameters:
        case pm.Box(low=low, high=high):
            return low, high
        case pm.Polytope():
            return tuple(parameters.halfspaces())
    return ()


def _is_rational(array: Any) -> bool:
    """Whether no entry is a multiple of the square root of two, given that entries are simple."""
    entries = np.abs(np.asarray(array)).ravel()
    return not any(
        abs(x - float(Fraction(x).limit_denominator(10_000))) > 1e-15 * x for x in entries
    )


def test_the_same_in_floating_point() -> None:
    check_floating_point(0, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 9000, 1000))
def test_the_same_in_floating_point_in_many_games(first: int) -> None:
    check_floating_point(first, 100)


def test_rounding_noise_is_no_difference() -> None:
    """On theta_1 + theta_2 = 0 all these actions earn the same, up to rounding."""
    segment = pm.Polytope([[1, 0], [-1, 0]], [1, 1], [[1, 1]], [0])
    for features in (
        [[ROOT, ROOT], [np.pi, np.pi], [0, 0]],
        [[ROOT + 1, ROOT - 1], [np.pi + 1, np.pi - 1]],
    ):
        analysis = pm.analyze(pm.Game(features, [[[1, 0]]] * len(features), segment))
        everyone = list(range(len(features)))
        assert analysis.category == "trivial"
        assert analysis.pareto == everyone
        assert analysis.duplicates == [everyone]
        assert analysis.verify(), analysis.problems()


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0]])
@pytest.mark.parametrize("x", [1.0, ROOT, np.pi, 1.1 * ROOT])
def test_rounding_noise_need_not_be_observed(order: list[int], x: float) -> None:
    """Two actions that earn the same up to rounding do not make a game hopeless."""
    eye = np.eye(3)
    flat = pm.Polytope(np.concatenate([eye, -eye]), np.ones(6), [[1, 1, 1]], [0])
    features = np.array([[0, 0, 0], [x, x, x], [x, 0, -x]])
    analysis = pm.analyze(pm.Game(features[order], [[[1, 0, -1]]] * 3, flat))
    assert analysis.category == "easy"
    assert analysis.alignment == pytest.approx(x**2)
    assert analysis.verify(), analysis.problems()


def test_irrational_features_are_not_certified() -> None:
    game = pm.games.dynamic_pricing()
    scaled = pm.Game(game.features * ROOT, game.observation_maps, game.parameters)
    exact_answer, answer = pm.analyze(game), pm.analyze(scaled)
    assert exact_answer.certified
    assert not answer.certified
    assert answer.verify()
    assert answer.neighborhoods == exact_answer.neighborhoods
    assert answer.category == exact_answer.category == "hard"


def test_every_pair_of_pareto_actions_is_decided() -> None:
    """The faces cover all pairs of Pareto actions that are no duplicates."""
    for seed in range(30):
        analysis = pm.analyze(any_game(8 * seed).game)
        same = {pair for group in analysis.duplicates for pair in combinations(group, 2)}
        pairs = set(combinations(analysis.pareto, 2)) - same
        assert set(analysis.cells.faces) == pairs
