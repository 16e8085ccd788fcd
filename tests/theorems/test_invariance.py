"""What must not change the class of a game, and what can only make it better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.parameter_sets import Polyhedral
from tests.oracles.random_games import (
    SETS,
    Draw,
    bits,
    decimals,
    everything,
    finite_game,
    fractions,
    integers,
    library_game,
    linear_game,
    polytope,
    small_integers,
    unbounded,
)
from tests.oracles.slow_classifier import Matrix, Polyhedron, Vector, dot, rank

GAMES = 24
NUMBERS = (bits, small_integers, integers, decimals, fractions)


@cache
def finite_games() -> list[Draw]:
    return [finite_game(Random(seed), NUMBERS[seed % 5]) for seed in range(GAMES)]


@cache
def linear_games() -> list[Draw]:
    return [
        linear_game(Random(seed), SETS[seed % len(SETS)], NUMBERS[seed % 5])
        for seed in range(GAMES)
    ]


def all_games() -> list[Draw]:
    return finite_games()[::2] + linear_games()[::2]


@dataclass(frozen=True)
class Facts:
    """What an analysis says, in a form in which order does not matter."""

    category: str
    pareto: frozenset[int]
    degenerate: frozenset[int]
    dominated: frozenset[int]
    duplicates: frozenset[frozenset[int]]
    neighborhoods: frozenset[tuple[frozenset[int], frozenset[int]]]
    globally_observable: bool
    locally_observable: bool
    dimension: int
    rank: int
    certified: bool


def facts(
    analysis: pm.Analysis, label: Callable[[int], int] = lambda a: a, keep: int | None = None
) -> Facts:
    """Return what an analysis says about actions under new labels; only the first, if asked."""
    kept = range(analysis.game.k if keep is None else keep)

    def renamed(actions: Sequence[int]) -> frozenset[int]:
        return frozenset(label(a) for a in actions if a in kept)

    assert set(analysis.neighborhoods) == set(analysis.neighbors)
    assert analysis.verify(), analysis.problems()
    groups = [renamed(group) for group in analysis.duplicates]
    return Facts(
        analysis.category,
        renamed(analysis.pareto),
        renamed(analysis.degenerate),
        renamed(analysis.dominated),
        frozenset(group for group in groups if len(group) > 1),
        frozenset(
            (renamed(pair), renamed(near))
            for pair, near in analysis.neighborhoods.items()
            if set(pair) <= set(kept)
        ),
        analysis.globally_observable,
        analysis.locally_observable,
        analysis.dimension,
        analysis.rank,
        analysis.certified,
    )


def same_alignment(found: pm.Analysis, expected: pm.Analysis, factor: float = 1.0) -> None:
    assert found.alignment == pytest.approx(expected.alignment * factor, rel=1e-6, abs=1e-12)


@cache
def analyzed(draw: Draw) -> pm.Analysis:
    """Analyse each of the sample games once."""
    return pm.analyze(draw.game)


# -- relabelling -----------------------------------------------------------------------------


def test_permuting_actions() -> None:
    for seed, draw in enumerate(all_games()):
        game, before = draw.game, analyzed(draw)
        order = Random(seed).sample(range(game.k), game.k)
        moved = pm.Game(game.features[order], [game.rows(a) for a in order], game.parameters)
        after = pm.analyze(moved)
        assert facts(after, label=lambda a, order=order: order[a]) == facts(before)
        same_alignment(after, before)


def test_permuting_outcomes() -> None:
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        order = Random(seed).sample(range(game.d), game.d)
        signals = [[row[x] for x in order] for row in game.signals]
        after = pm.analyze(pm.FiniteGame(game.rewards[:, order], signals))
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_permuting_coordinates() -> None:
    for seed, draw in enumerate(linear_games()):
        before = analyzed(draw)
        slow = draw.slow
        order = Random(seed).sample(range(slow.theta.n), slow.theta.n)

        def permuted(rows: Matrix, order: list[int] = order) -> Matrix:
            return tuple(tuple(row[x] for x in order) for row in rows)

        parameters = draw.game.parameters
        match parameters:
            case pm.Box(low=low, high=high):
                parameters = pm.Box(low[order], high[order])
            case pm.Polytope():
                a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
                parameters = pm.Polytope(a_ub[:, order], b_ub, a_eq[:, order], b_eq)
        after = pm.analyze(
            library_game(
                permuted(slow.features), tuple(permuted(rows) for rows in slow.maps), parameters
            )
        )
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_renaming_signals() -> None:
    """Each action has its own alphabet: what its symbols are called does not matter."""
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        signals: list[list[Any]] = []
        for a, row in enumerate(game.signals):
            names = Random(1000 * seed + a).sample(["x", 7, (1, 2), None, "y"], 5)
            code = dict(zip(dict.fromkeys(row), names, strict=False))
            signals.append([code[symbol] for symbol in row])
        after = pm.analyze(pm.FiniteGame(game.rewards, signals))
        assert facts(after) == facts(before)
        same_alignment(after, before)


def test_rotating_observations() -> None:
    """Permuting rows, changing signs and adding rows of zeros shows the same."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        maps = []
        for rows in draw.slow.maps:
            own = [[x * sign for x in row] for row in rows for sign in [random.choice([1, -1])]]
            own += [[Fraction(0)] * draw.slow.theta.n] * random.randint(0, 2)
            random.shuffle(own)
            maps.append(tuple(tuple(row) for row in own))
        after = pm.analyze(library_game(draw.slow.features, tuple(maps), draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before)


# -- rewards ---------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [3.0, 0.125, 1000.0, 0.001])
def test_scaling_rewards(factor: float) -> None:
    for draw in all_games()[::2]:
        game, before = draw.game, analyzed(draw)
        scaled = [[float(x * Fraction(str(factor))) for x in row] for row in draw.slow.features]
        after = pm.analyze(pm.Game(scaled, [game.rows(a) for a in range(game.k)], game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before, factor**2)


def test_scaling_observations() -> None:
    for draw in all_games():
        before = analyzed(draw)
        maps = tuple(tuple(tuple(4 * x for x in row) for row in rows) for rows in draw.slow.maps)
        after = pm.analyze(library_game(draw.slow.features, maps, draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before, 1 / 16)


def test_adding_a_constant_to_an_outcome() -> None:
    """What all actions earn alike does not matter, whatever it is in each outcome."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        shift = [Fraction(random.randint(-30, 30), 10) for _ in range(draw.slow.theta.n)]
        features = tuple(
            tuple(x + y for x, y in zip(row, shift, strict=True)) for row in draw.slow.features
        )
        after = pm.analyze(library_game(features, draw.slow.maps, draw.game.parameters))
        assert facts(after) == facts(before)
        same_alignment(after, before)


# -- more actions, more outcomes -------------------------------------------------------------


def with_action(draw: Draw, features: Vector, rows: Matrix) -> pm.Analysis:
    return pm.analyze(
        library_game((*draw.slow.features, features), (*draw.slow.maps, rows), draw.game.parameters)
    )


def test_duplicating_an_action() -> None:
    """A copy is in every set and every neighbourhood where its model is."""
    for seed, draw in enumerate(all_games()):
        before, k = analyzed(draw), draw.game.k
        a = Random(seed).randrange(k)
        after = with_action(draw, draw.slow.features[a], draw.slow.maps[a])
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)
        for kind in ("pareto", "degenerate", "dominated"):
            members = getattr(after, kind)
            assert (a in members) == (k in members)
        assert any({a, k} <= set(group) for group in after.duplicates)
        for pair, near in after.neighborhoods.items():
            assert (a in near) == (k in near)
            if a in pair:
                (other,) = set(pair) - {a}
                assert after.neighborhoods[min(other, k), max(other, k)] == near


def test_a_silent_copy() -> None:
    """A copy that shows nothing changes nothing, although it is an action like its model."""
    for seed, draw in enumerate(all_games()):
        before, k = analyzed(draw), draw.game.k
        a = Random(seed).randrange(k)
        after = with_action(draw, draw.slow.features[a], ())
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)


def test_a_silent_dominated_action() -> None:
    for draw in finite_games():
        before, k = analyzed(draw), draw.game.k
        worst = tuple(min(column) - 1 for column in zip(*draw.slow.features, strict=True))
        after = with_action(draw, worst, ())
        assert k in after.dominated
        assert facts(after, keep=k) == facts(before)
        same_alignment(after, before)


def test_splitting_an_outcome() -> None:
    """Two outcomes that pay and show the same are one: only the dimension counts them."""
    for seed, draw in enumerate(finite_games()):
        game, before = draw.game, analyzed(draw)
        assert isinstance(game, pm.FiniteGame)
        x = Random(seed).randrange(game.d)
        outcomes = [*range(game.d), x]
        signals = [[row[y] for y in outcomes] for row in game.signals]
        after = pm.analyze(pm.FiniteGame(game.rewards[:, outcomes], signals))
        assert after.dimension == before.dimension + 1
        expected = {**vars(facts(before)), "dimension": before.dimension + 1}
        assert vars(facts(after)) == expected
        same_alignment(after, before)


ORDER = ("trivial", "easy", "hard", "hopeless")


def test_more_to_see_is_never_worse() -> None:
    """One more row of observations keeps the cells; class and alignment can only improve."""
    for seed, draw in enumerate(all_games()):
        random, before = Random(seed), analyzed(draw)
        maps = list(draw.slow.maps)
        a = random.randrange(len(maps))
        row = tuple(Fraction(random.randint(-2, 2)) for _ in range(draw.slow.theta.n))
        maps[a] = (*maps[a], row)
        after = pm.analyze(library_game(draw.slow.features, tuple(maps), draw.game.parameters))
        assert after.verify()
        assert after.neighborhoods == before.neighborhoods
        assert ORDER.index(after.category) <= ORDER.index(before.category)
        assert after.alignment <= before.alignment * (1 + 1e-6)
        assert before.rank <= after.rank <= before.rank + 1


def test_full_information_is_easy() -> None:
    for draw in all_games():
        d = draw.slow.theta.n
        eye = tuple(tuple(Fraction(int(i == j)) for j in range(d)) for i in range(d))
        maps = (eye,) * draw.slow.k
        after = pm.analyze(library_game(draw.slow.features, maps, draw.game.parameters))
        assert after.category in ("trivial", "easy")
        assert after.rank == after.dimension
        features, basis = draw.game.features, draw.game.parameters.difference_basis()
        pairs = combinations(after.pareto, 2)
        gaps = [np.linalg.norm((features[a] - features[b]) @ basis) for a, b in pairs]
        # Seeing all of theta k times, each with weight 1/k: alpha is the largest |Q'(a - b)|^2.
        assert after.alignment == pytest.approx(max(gaps, default=0.0) ** 2, rel=1e-6, abs=1e-12)


# -- the parameter set -----------------------------------------------------------------------


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
    for seed in range(40):
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
    for seed in range(40):
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
        if before.margin > 1e-4:
            assert facts(after) == facts(before)
            same_alignment(after, before)
