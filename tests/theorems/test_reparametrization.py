"""The class of a game does not depend on how its parameter set is written."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.parameter_sets import Polyhedral
from tests.oracles.facts import NUMBERS, analyzed, facts, finite_games, linear_games, same_alignment
from tests.oracles.random_games import (
    SETS,
    Draw,
    bits,
    everything,
    finite_game,
    integers,
    library_game,
    linear_game,
    polytope,
    small_integers,
    unbounded,
)
from tests.oracles.slow_classifier import Matrix, Polyhedron, Vector, dot, rank


def test_boxes_and_simplices_as_polytopes() -> None:
    """The same set written with inequalities only."""
    for draw in finite_games()[::2] + linear_games():
        if isinstance(draw.game.parameters, pm.Box | pm.Simplex):
            before = analyzed(draw)
            theta = draw.slow.theta
            hidden = Polyhedron(
                theta.n,
                theta.a + theta.e + tuple(tuple(-x for x in row) for row in theta.e),
                theta.b + theta.f + tuple(-x for x in theta.f),
            )
            for same in (theta, hidden):
                after = pm.analyze(library_game(draw.slow.features, draw.slow.maps, polytope(same)))
                assert facts(after) == facts(before)
                same_alignment(after, before)


def invertible(random: Random, n: int) -> Matrix:
    while True:
        candidate = tuple(
            tuple(Fraction(random.randint(-2, 2), random.choice([1, 1, 2])) for _ in range(n))
            for _ in range(n)
        )
        if rank(candidate, n) == n:
            return candidate


def times(row: Vector, matrix: Matrix) -> Vector:
    return tuple(dot(row, column) for column in zip(*matrix, strict=True))


def reparametrised(draw: Draw, a: Matrix, c: Vector) -> pm.Game:
    """Write theta = A eta + c, with (eta, 1) for the new parameter."""

    def lifted(row: Vector) -> Vector:
        return (*times(row, a), dot(row, c))

    theta = draw.slow.theta
    one = (*(Fraction(0) for _ in c), Fraction(1))
    moved = Polyhedron(
        theta.n + 1,
        tuple((*times(row, a), Fraction(0)) for row in theta.a),
        tuple(bound - dot(row, c) for row, bound in zip(theta.a, theta.b, strict=True)),
        (*((*times(row, a), Fraction(0)) for row in theta.e), one),
        (*(f - dot(row, c) for row, f in zip(theta.e, theta.f, strict=True)), Fraction(1)),
    )
    return library_game(
        tuple(lifted(row) for row in draw.slow.features),
        tuple(tuple(lifted(row) for row in rows) for rows in draw.slow.maps),
        polytope(moved),
    )


def check_reparametrisation(seed: int) -> None:
    random = Random(seed)
    family = random.choice([chosen for chosen in SETS if chosen is not unbounded])
    number = random.choice([bits, small_integers, integers])
    draw = finite_game(random, number) if seed % 4 == 0 else linear_game(random, family, number)
    n = draw.slow.theta.n
    shift = tuple(Fraction(random.randint(-3, 3)) for _ in range(n))
    before = pm.analyze(draw.game)
    after = pm.analyze(reparametrised(draw, invertible(random, n), shift))
    assert facts(after) == facts(before), draw.name
    same_alignment(after, before)


def test_affine_reparametrisation() -> None:
    for seed in range(20):
        check_reparametrisation(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 7000, 1000))
def test_affine_reparametrisation_of_many_games(first: int) -> None:
    for seed in range(first, first + 100):
        check_reparametrisation(seed)


def test_linear_reparametrisation_of_all_parameters() -> None:
    for seed in range(20):
        random = Random(seed)
        draw = linear_game(random, everything, small_integers)
        a = invertible(random, draw.slow.theta.n)
        features = tuple(times(row, a) for row in draw.slow.features)
        maps = tuple(tuple(times(row, a) for row in rows) for rows in draw.slow.maps)
        before = pm.analyze(draw.game)
        after = pm.analyze(library_game(features, maps, draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before)


def check_rotation(seed: int) -> None:
    """Turn and stretch the parameters of a game by irrational numbers."""
    random = Random(seed)
    draw = linear_game(random, SETS[seed % len(SETS)], NUMBERS[seed % 5])
    before, d, stretch = pm.analyze(draw.game), draw.slow.theta.n, float(np.pi)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    parameters = draw.game.parameters
    if isinstance(parameters, Polyhedral):
        a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
        parameters = pm.Polytope(a_ub @ turn.T, b_ub * stretch, a_eq @ turn.T, b_eq * stretch)
    features, maps = (
        array @ turn.T / stretch for array in (draw.game.features, draw.game.observation_maps)
    )
    after = pm.analyze(pm.Game(features, maps, parameters))
    expected = {**vars(facts(before)), "certified": False}
    if features.any() or maps.any() or not isinstance(parameters, pm.AllParameters):
        assert vars(facts(after)) == expected, draw.name
    same_alignment(after, before)


def test_rotating_polytopes() -> None:
    for seed in range(20):
        check_rotation(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 7000, 1000))
def test_rotating_many_polytopes(first: int) -> None:
    for seed in range(first, first + 100):
        check_rotation(seed)


def test_rotating_balls() -> None:
    factor = 2.5
    for seed in range(15):
        rng = np.random.default_rng(seed)
        draw = linear_game(Random(seed), everything, integers)
        d = draw.slow.theta.n
        ball = pm.Ball(rng.integers(-2, 3, d) / 2, 1.5)
        before = pm.analyze(pm.Game(draw.game.features, draw.game.observation_maps, ball))
        turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
        after = pm.analyze(
            pm.Game(
                draw.game.features @ turn.T / factor,
                draw.game.observation_maps @ turn.T / factor,
                pm.Ball(factor * turn @ ball.center, factor * ball.radius),
            )
        )
        decisions = [*before.cells.cells, *before.cells.faces.values()]
        if all(not 1e-9 < abs(own.advantage) <= 1e-4 for own in decisions):  # clear, or ties
            assert facts(after) == facts(before)
            same_alignment(after, before)
