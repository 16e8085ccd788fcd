"""Small random games, in fractions and as games of the library, that make trouble on purpose.

Few different numbers, so that ties abound; copies, mixtures and shifted copies of actions; maps
without rows or with rows of zeros; flat, pointed and unbounded parameter sets, with their
equalities in the open or hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import partial_monitoring as pm
from partial_monitoring.parameter_sets import ParameterSet
from tests.oracles.slow_classifier import (
    Matrix,
    Polyhedron,
    SlowGame,
    Vector,
    bounded,
    box,
    dot,
    matrix,
    simplex,
    vector,
)

Number = Callable[[Random], Fraction]


@dataclass(frozen=True)
class Draw:
    """One game, twice."""

    name: str
    slow: SlowGame
    game: pm.Game


# -- numbers ---------------------------------------------------------------------------------


def bits(random: Random) -> Fraction:
    return Fraction(random.randint(0, 1))


def small_integers(random: Random) -> Fraction:
    return Fraction(random.randint(-2, 2))


def integers(random: Random) -> Fraction:
    return Fraction(random.randint(-9, 9))


def decimals(random: Random) -> Fraction:
    return Fraction(random.randint(-15, 15), 10)


def fine_decimals(random: Random) -> Fraction:
    return Fraction(random.randint(-2000, 2000), 1000)


def fractions(random: Random) -> Fraction:
    return Fraction(random.randint(-6, 6), random.choice([1, 2, 3, 7]))


def almost_tied(random: Random) -> Fraction:
    """Differences below every floating-point tolerance, which exact arithmetic sees."""
    size = random.choice([10**5, 10**7, 10**9, 10**11])
    return Fraction(random.randint(0, 1)) + Fraction(random.randint(-3, 3), size)


def of_all_sizes(random: Random) -> Fraction:
    return Fraction(random.randint(-3, 3)) * Fraction(10) ** random.randint(-4, 4)


NUMBERS: tuple[Number, ...] = (bits, small_integers, integers, decimals, fine_decimals, fractions)


# -- parameter sets --------------------------------------------------------------------------


def polytope(theta: Polyhedron) -> pm.Polytope:
    """Return a polyhedron as a set of the library."""
    return pm.Polytope(
        [list(map(float, row)) for row in theta.a] if theta.a else None,
        list(map(float, theta.b)) if theta.a else None,
        [list(map(float, row)) for row in theta.e] if theta.e else None,
        list(map(float, theta.f)) if theta.e else None,
    )


def everything(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    return box([Fraction(-1)] * d, [Fraction(1)] * d), pm.AllParameters(d)


def some_simplex(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    return simplex(d), pm.Simplex(d)


def some_box(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    """A box, sometimes flat, sometimes a point, sometimes around zero."""
    number = random.choice([small_integers, decimals, fractions])
    low = [number(random) for _ in range(d)]
    flat = random.choice([0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 1.0])
    widths = [
        Fraction(0) if random.random() < flat else abs(number(random)) + Fraction(1, 2)
        for _ in range(d)
    ]
    if random.random() < 0.3:
        low = [-width for width in widths]
    high = [x + width for x, width in zip(low, widths, strict=True)]
    return box(low, high), pm.Box(list(map(float, low)), list(map(float, high)))


def _cuts(random: Random, d: int, theta: Polyhedron, point: Vector, tight: float) -> Polyhedron:
    """Cut a polyhedron by one to three halfspaces that contain a point, some only just."""
    rows, bounds = list(theta.a), list(theta.b)
    for _ in range(random.randint(1, 3)):
        row = vector(random.randint(-2, 2) for _ in range(d))
        room = 0 if random.random() < tight else Fraction(random.randint(0, 4), 2)
        rows.append(row)
        bounds.append(dot(row, point) + room)
    order = random.sample(range(len(rows)), len(rows))
    return Polyhedron(
        d, tuple(rows[i] for i in order), tuple(bounds[i] for i in order), theta.e, theta.f
    )


def cut_box(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    """A box with corners cut off; the cuts may leave only a face or a point."""
    point = vector(random.randint(-1, 1) for _ in range(d))
    room = box([x - random.randint(0, 2) for x in point], [x + 1 for x in point])
    theta = _cuts(random, d, room, point, tight=random.choice([0.0, 0.2, 0.6]))
    return theta, polytope(theta)


def hidden_equalities(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    """A box on a hyperplane, whose equation is two inequalities, or follows from several."""
    point = vector(random.randint(-1, 1) for _ in range(d))
    theta = box([x - 1 for x in point], [x + 2 for x in point])
    if random.random() < 0.5:
        normal = vector([1, *(random.randint(-1, 2) for _ in range(d - 1))])
        rows = [normal, tuple(-2 * x for x in normal)]
    else:  # rows that add up to nothing can only hold with equality
        first = vector([1, *(random.randint(-1, 1) for _ in range(d - 1))])
        second = vector(random.randint(-1, 1) for _ in range(d))
        rows = [first, second, tuple(-x - y for x, y in zip(first, second, strict=True))]
    bounds = [dot(row, point) for row in rows]
    theta = Polyhedron(d, (*theta.a, *rows), (*theta.b, *bounds))
    return theta, polytope(theta)


def open_equalities(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    """A cut box on one or more hyperplanes, with superfluous equations too."""
    point = tuple(Fraction(random.randint(-2, 2), 2) for _ in range(d))
    rows = [
        vector(random.randint(-1, 1) for _ in range(d)) for _ in range(random.choice([1, 1, d]))
    ]
    theta = box([x - 1 for x in point], [x + 1 for x in point])
    theta = Polyhedron(d, theta.a, theta.b, tuple(rows), tuple(dot(row, point) for row in rows))
    if random.random() < 0.5:
        theta = _cuts(random, d, theta, point, tight=0.3)
    return theta, polytope(theta)


def unbounded(random: Random, d: int) -> tuple[Polyhedron, ParameterSet]:
    """An orthant, a halfspace, a plane: cut as everything else."""
    kind = random.choice(["orthant", "halfspaces", "plane"])
    point = vector(random.randint(-1, 1) for _ in range(d))
    theta = Polyhedron(d)
    if kind == "orthant":
        corner = box(point, point)
        theta = Polyhedron(d, corner.a[1::2], corner.b[1::2])
    elif kind == "plane":
        normal = vector([1, *(random.randint(-1, 1) for _ in range(d - 1))])
        theta = Polyhedron(d, (), (), (normal,), (dot(normal, point),))
    if kind == "halfspaces" or random.random() < 0.5:
        theta = _cuts(random, d, theta, point, tight=0.3)
    return bounded(theta), polytope(theta)


SETS = (
    everything,
    some_simplex,
    some_box,
    cut_box,
    hidden_equalities,
    open_equalities,
    unbounded,
)


# -- games -----------------------------------------------------------------------------------


def _troubled(random: Random, rows: list[Vector], k: int) -> list[Vector]:
    """Add copies, mixtures and beaten copies of actions until there are k, in any order."""
    while len(rows) < k:
        one, other = random.choice(rows), random.choice(rows)
        half = random.choice([Fraction(1, 2), Fraction(1, 4)])
        match random.randint(0, 3):
            case 0:
                rows.append(one)
            case 1:
                rows.append(
                    tuple(half * x + (1 - half) * y for x, y in zip(one, other, strict=True))
                )
            case 2:
                rows.append(tuple(x - abs(y) for x, y in zip(one, other, strict=True)))
            case _:
                rows.append(tuple(x - random.randint(0, 1) for x in one))
    random.shuffle(rows)
    return rows


def random_features(random: Random, k: int, d: int, number: Number) -> list[Vector]:
    fresh = k if random.random() < 0.6 else random.randint(min(k, 2), k)
    own = [tuple(number(random) for _ in range(d)) for _ in range(fresh)]
    return _troubled(random, own, k)


SIZES = (1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5)
MANY = (6, 7, 8, 9, 10)


def finite_game(random: Random, number: Number | None = None, sizes: Sequence[int] = SIZES) -> Draw:
    """A finite game with (unless told) up to 5 actions, and up to 5 outcomes and 3 symbols."""
    k = random.choice(sizes)
    d = random.choice([1, 2, 2, 3, 3, 3, 3, 4, 4, 5])
    number = number or random.choice(NUMBERS)
    rewards = random_features(random, k, d, number)
    signals = []
    for _ in range(k):
        symbols = random.randint(1, 3)
        signals.append("".join(random.choice("abc"[:symbols]) for _ in range(d)))
    maps = tuple(
        matrix([int(shown == symbol) for shown in row] for symbol in dict.fromkeys(row))
        for row in signals
    )
    slow = SlowGame(tuple(rewards), maps, simplex(d))
    game = pm.FiniteGame([list(map(float, row)) for row in rewards], signals)
    return Draw(f"finite {number.__name__}", slow, game)


def random_maps(random: Random, features: list[Vector], number: Number) -> tuple[Matrix, ...]:
    """Observation maps: nothing, zeros, the own reward, a difference, or anything."""
    d = len(features[0])
    silence = random.choice([0.0, 0.1, 0.3, 0.7])
    maps = []
    for own in features:
        rows: list[Vector] = []
        for _ in range(random.choice([1, 1, 2])):
            if random.random() < silence:
                rows += random.choice([[], [vector([0] * d)]])
                continue
            other = random.choice(features)
            match random.randint(0, 3):
                case 0:
                    rows.append(own)
                case 1:
                    rows.append(tuple(x - y for x, y in zip(own, other, strict=True)))
                case _:
                    rows.append(tuple(number(random) for _ in range(d)))
        maps.append(tuple(rows))
    return tuple(maps)


def linear_game(
    random: Random,
    family: Callable[[Random, int], tuple[Polyhedron, ParameterSet]] | None = None,
    number: Number | None = None,
    sizes: Sequence[int] = SIZES,
) -> Draw:
    """A linear game over any polyhedral parameter set."""
    k = random.choice(sizes)
    d = random.choice([1, 2, 2, 2, 2, 3, 3, 3, 3, 4] if sizes is SIZES else [2, 3])
    family = family or random.choice(SETS)
    number = number or random.choice(NUMBERS)
    theta, parameters = family(random, d)
    features = random_features(random, k, d, number)
    maps = random_maps(random, features, random.choice([bits, small_integers, decimals]))
    return Draw(
        f"{family.__name__} {number.__name__}",
        SlowGame(tuple(features), maps, theta),
        library_game(features, maps, parameters),
    )


def readable(number: Fraction) -> bool:
    """Whether a float can only stand for this number: a short decimal or a simple fraction."""
    if number.denominator <= 1000:
        return True
    mantissa, _, _ = repr(float(number)).partition("e")
    digits = mantissa.replace(".", "").replace("-", "").strip("0")
    return len(digits) <= 12 and Fraction(repr(float(number))) == number


def _is_readable(slow: SlowGame) -> bool:
    rows = [*slow.features, *(row for own in slow.maps for row in own)]
    return all(readable(entry) for row in rows for entry in row)


def library_game(
    features: list[Vector] | Matrix, maps: tuple[Matrix, ...], parameters: ParameterSet
) -> pm.Game:
    return pm.Game(
        [list(map(float, row)) for row in features],
        [[list(map(float, row)) for row in rows] for rows in maps],
        parameters,
    )


def any_game(seed: int) -> Draw:
    """Return one game for each seed: a third finite, the others over each kind of set in turn."""
    random = Random(seed)
    number = {6: of_all_sizes, 7: almost_tied}.get(seed % 8)
    while True:
        if seed % 3 == 0:
            draw = finite_game(random, number)
        else:
            draw = linear_game(random, SETS[seed // 3 % len(SETS)], number)
        if _is_readable(draw.slow):
            return draw


def larger_game(seed: int) -> Draw:
    """Return a game with six to ten actions, for which the slow method needs a while."""
    random = Random(seed)
    number = random.choice([bits, small_integers, integers, decimals])
    if seed % 2:
        return finite_game(random, number, MANY)
    return linear_game(random, SETS[seed // 2 % len(SETS)], number, MANY)
