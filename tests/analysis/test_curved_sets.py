"""The classification over balls, which no finite list of vertices describes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import combinations, count, islice
from math import pi, tan
from random import Random
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.random_games import (
    decimals,
    everything,
    integers,
    library_game,
    linear_game,
    random_features,
    random_maps,
    small_integers,
)
from tests.oracles.slow_classifier import (
    Matrix,
    Polyhedron,
    SlowAnswer,
    SlowGame,
    Vector,
    box,
    classify,
    dot,
    in_span,
    minus,
)

SAME_ON_ALL_SETS = [field.name for field in fields(SlowAnswer)]


def rational_circle(points: int) -> list[Vector]:
    """Return points with rational coordinates on the unit circle, counter-clockwise."""
    circle = []
    for i in range(points):
        angle = pi * (i - points / 2 + 0.5) / points
        t = Fraction(tan(angle)).limit_denominator(40)
        circle.append(((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)))
    return circle


CIRCLE = rational_circle(20)


def polygons(center: Vector, radius: Fraction) -> tuple[Polyhedron, Polyhedron]:
    """Return a polygon inside a disc, through points of its circle, and one around it."""
    around = tuple(CIRCLE)
    chords = tuple(
        (q[1] - p[1], p[0] - q[0]) for p, q in zip(CIRCLE, CIRCLE[1:] + CIRCLE[:1], strict=True)
    )
    touching = tuple(dot(n, center) + radius for n in around)
    cutting = tuple(
        dot(n, center) + radius * dot(n, p) for n, p in zip(chords, CIRCLE, strict=True)
    )
    return Polyhedron(2, chords, cutting), Polyhedron(2, around, touching)


def test_the_polygons_are_inside_and_around_the_disc() -> None:
    center, radius = (Fraction(1), Fraction(-2)), Fraction(3, 2)
    inner, outer = polygons(center, radius)
    far = [sum(x * x for x in minus(v, center)) for v in inner.vertices()]
    assert far == [radius**2] * len(CIRCLE)
    far = [sum(x * x for x in minus(v, center)) for v in outer.vertices()]
    assert len(far) == len(CIRCLE)
    assert radius**2 < min(far) <= max(far) < radius**2 * Fraction(21, 20)


def ball_game(random: Random, d: int) -> tuple[list[Vector], tuple[Matrix, ...], Vector, Fraction]:
    """Return features, maps, centre and radius of a random game over a ball."""
    number = random.choice([small_integers, integers, decimals])
    features = random_features(random, random.choice([2, 3, 3, 4, 5]), d, number)
    maps = random_maps(random, features, random.choice([small_integers, decimals]))
    around_zero = random.random() < 0.3
    center = tuple(Fraction(0) if around_zero else decimals(random) for _ in range(d))
    return features, maps, center, Fraction(random.randint(1, 20), 10)


def over_ball(
    features: Sequence[Vector], maps: tuple[Matrix, ...], center: Vector, radius: Fraction
) -> pm.Game:
    return library_game(list(features), maps, pm.Ball(list(map(float, center)), float(radius)))


def agree(analysis: pm.Analysis, expected: Any) -> None:
    for name in SAME_ON_ALL_SETS:
        assert getattr(analysis, name) == getattr(expected, name), name
    assert not analysis.certified
    assert analysis.verify(), analysis.problems()


def check_discs(seed: int, games: int) -> int:
    """Compare games over discs with polygons; return how many these could decide.

    Every cell of the inner polygon lies in the cell of the disc, which lies in that of the outer
    one. Where the two polygons agree about all dimensions, the disc must agree with them.
    """
    decided = 0
    for number in range(seed, seed + games):
        features, maps, center, radius = ball_game(Random(number), 2)
        answers = [
            classify(SlowGame(tuple(features), maps, theta)) for theta in polygons(center, radius)
        ]
        if answers[0] == answers[1]:
            agree(pm.analyze(over_ball(features, maps, center, radius)), answers[0])
            decided += 1
    return decided


def test_discs_between_two_polygons() -> None:
    assert check_discs(0, 6) >= 4


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_many_discs_between_two_polygons(first: int) -> None:
    assert check_discs(first, 40) >= 30


def test_an_interval_is_a_ball_and_a_box() -> None:
    for seed in range(40):
        features, maps, center, radius = ball_game(Random(seed), 1)
        interval = box([center[0] - radius], [center[0] + radius])
        expected = classify(SlowGame(tuple(features), maps, interval))
        agree(pm.analyze(over_ball(features, maps, center, radius)), expected)


def test_a_ball_of_radius_zero_is_a_point() -> None:
    for seed in range(20):
        features, maps, center, _ = ball_game(Random(seed), 2)
        expected = classify(SlowGame(tuple(features), maps, box(center, center)))
        agree(pm.analyze(over_ball(features, maps, center, Fraction(0))), expected)


def test_a_ball_around_zero_is_like_all_parameters() -> None:
    """All actions tie at zero, so the cells are cones and only their directions matter."""
    for seed in range(25):
        draw = linear_game(Random(seed), everything, small_integers)
        expected = classify(draw.slow)
        zero = tuple(Fraction(0) for _ in range(draw.slow.theta.n))
        for radius in (Fraction(1, 10), Fraction(7)):
            analysis = pm.analyze(over_ball(draw.slow.features, draw.slow.maps, zero, radius))
            agree(analysis, expected)
            alpha = pm.analyze(draw.game).alignment
            assert analysis.alignment == pytest.approx(alpha, rel=1e-6)


# -- the programs of paper-notes 3.1 and 3.2, by CVXPY ---------------------------------------


class Programs:
    """t* of actions and pairs over a ball, in units of the largest difference of rewards."""

    def __init__(self, game: pm.Game) -> None:
        assert isinstance(game.parameters, pm.Ball)
        self.phi, self.ball = game.features, game.parameters
        differences = self.phi[:, None] - self.phi[None]
        self.same = (differences == 0).all(axis=2)
        self.unit = float(self.ball.support(differences).max())

    def solve(self, a: int, ignored: Sequence[int], tied: int | None = None) -> float:
        theta, t = cp.Variable(len(self.phi[a])), cp.Variable()
        rivals = [c for c in range(len(self.phi)) if c not in ignored]
        if not rivals:
            return 1.0
        conditions = [cp.norm(theta - self.ball.center) <= self.ball.radius, t <= 1]
        conditions.append((self.phi[a] - self.phi[rivals]) @ theta / self.unit >= t)
        if tied is not None:
            conditions.append((self.phi[a] - self.phi[tied]) @ theta / self.unit == 0)
        problem = cp.Problem(cp.Maximize(t), conditions)
        problem.solve(solver=cp.CLARABEL)
        assert problem.status == cp.OPTIMAL
        return float(problem.value)

    def on_segment(self, a: int, b: int, c: int) -> bool:
        away, step = self.phi[c] - self.phi[a], self.phi[b] - self.phi[a]
        share = away @ step / (step @ step)
        return bool(np.allclose(away, share * step, atol=1e-9)) and -1e-9 <= share <= 1 + 1e-9


def programs_decide(game: pm.Game, features: Sequence[Vector], maps: Sequence[Matrix]) -> Any:
    """Return the answer by the programs, or None where one of them is too close to call."""
    programs, everyone = Programs(game), range(game.k)
    values = [programs.solve(a, np.flatnonzero(programs.same[a]).tolist()) for a in everyone]
    pareto = [a for a in everyone if values[a] > 1e-3]
    faces, near = {}, {}
    for a, b in combinations(pareto, 2):
        if not programs.same[a, b]:
            near[a, b] = [c for c in everyone if programs.on_segment(a, b, c)]
            faces[a, b] = programs.solve(a, near[a, b], tied=b)
    if any(1e-7 < abs(value) < 1e-3 for value in [*values, *faces.values()]):
        return None
    neighbors = [pair for pair, value in faces.items() if value > 0.5e-3]
    rows = [list(own) for own in maps]

    def sees(a: int, b: int, actions: Sequence[int]) -> bool:
        return in_span(minus(features[a], features[b]), [row for c in actions for row in rows[c]])

    everywhere = all(sees(a, b, everyone) for a, b in faces)
    nearby = all(sees(a, b, near[a, b]) for a, b in neighbors)
    category = "hopeless" if not everywhere else "easy" if nearby else "hard"
    groups = {tuple(np.flatnonzero(programs.same[a]).tolist()) for a in everyone}
    return SlowAnswer(
        category=category if faces else "trivial",
        pareto=pareto,
        degenerate=[a for a in everyone if abs(values[a]) <= 1e-7],
        dominated=[a for a in everyone if values[a] < -1e-7],
        duplicates=sorted(list(group) for group in groups if len(group) > 1),
        neighbors=neighbors,
        neighborhoods={pair: near[pair] for pair in neighbors},
        globally_observable=everywhere,
        locally_observable=nearby,
        dimension=game.d,
        rank=int(np.linalg.matrix_rank(game.observation_maps.reshape(-1, game.d)))
        if game.observation_maps.size
        else 0,
    )


def balls_in_space(seed: int) -> Iterator[tuple[pm.Game, Any]]:
    """Games over balls in three and four dimensions that the programs decide."""
    for number in count(seed):
        random = Random(number)
        features, maps, center, radius = ball_game(random, random.choice([2, 3, 3, 4]))
        game = over_ball(features, maps, center, radius)
        if (game.features == game.features[0]).all():
            continue
        answer = programs_decide(game, features, maps)
        if answer is not None:
            yield game, answer


def test_balls_by_second_order_cone_programs() -> None:
    for game, answer in islice(balls_in_space(0), 12):
        agree(pm.analyze(game), answer)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 5000, 1000))
def test_many_balls_by_second_order_cone_programs(first: int) -> None:
    for game, answer in islice(balls_in_space(first), 60):
        agree(pm.analyze(game), answer)


def test_a_tangent_plane_touches_the_ball_in_one_point() -> None:
    """Where theta_2 <= 0, with equality at one point, the other actions are best only there."""
    features, maps = [[0, 0], [0, 1], [0, 2]], [[[0, 1]]] * 3
    for height, degenerate, dominated in ((-1, [1, 2], []), (-1.1, [], [1, 2])):
        analysis = pm.analyze(pm.Game(features, maps, pm.Ball([0, height], 1)))
        assert analysis.pareto == [0]
        assert (analysis.degenerate, analysis.dominated) == (degenerate, dominated)
        assert analysis.verify()
