"""Cells by listing all their vertices, in fractions: slow, obvious, and sharing no code.

Everything follows the definitions. Theta is a bounded polyhedron; a cell is Theta cut by the
inequalities <phi_a - phi_b, theta> >= 0; a polytope is known by its vertices, which are the
feasible points where enough independent inequalities hold with equality. Theta = R^d is replaced
by the box [-1, 1]^d, because its cells are cones, and an unbounded polyhedron by its part in a box
that is larger than anything that happens in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]
Pair = tuple[int, int]


# -- linear algebra --------------------------------------------------------------------------


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True) if x and y), Fraction(0))


def minus(left: Sequence[Fraction], right: Sequence[Fraction]) -> Vector:
    return tuple(x - y for x, y in zip(left, right, strict=True))


def vector(values: Iterable[Fraction | int | str]) -> Vector:
    return tuple(Fraction(value) for value in values)


def matrix(rows: Iterable[Iterable[Fraction | int | str]]) -> Matrix:
    return tuple(vector(row) for row in rows)


class Echelon:
    """Rows in reduced echelon form: each has a 1 where all the others have a 0."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: dict[int, list[Fraction]] = {}

    def reduced(self, row: Sequence[Fraction]) -> list[Fraction]:
        """Subtract multiples of the rows until their pivot columns are zero."""
        rest = list(row)
        for column, own in self.rows.items():
            factor = rest[column]
            if factor:
                rest = [x - factor * y if y else x for x, y in zip(rest, own, strict=True)]
        return rest

    def extended(self, row: Sequence[Fraction]) -> Echelon | None:
        """Return the system with one more row; None if that row is dependent."""
        rest = self.reduced(row)
        pivot = next((j for j in range(self.width) if rest[j]), None)
        if pivot is None:
            return None
        lead = rest[pivot]
        rest = [x / lead for x in rest]
        bigger = Echelon(self.width)
        for column, own in self.rows.items():
            factor = own[pivot]
            bigger.rows[column] = (
                [x - factor * y for x, y in zip(own, rest, strict=True)] if factor else own
            )
        bigger.rows[pivot] = rest
        return bigger


def independent(rows: Iterable[Sequence[Fraction]], width: int) -> list[Vector]:
    """Return a largest independent subset of the rows, the first ones."""
    system, kept = Echelon(width), []
    for row in rows:
        bigger = system.extended(row)
        if bigger is not None:
            system = bigger
            kept.append(tuple(row))
    return kept


def rank(rows: Iterable[Sequence[Fraction]], width: int) -> int:
    return len(independent(rows, width))


def in_span(target: Sequence[Fraction], rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether adding the target to the rows leaves their rank as it is."""
    return rank([*rows, target], len(target)) == rank(rows, len(target))


def affine_dimension(points: Sequence[Vector]) -> int:
    """Return the dimension of the affine hull; -1 for no points."""
    if not points:
        return -1
    return rank((minus(point, points[0]) for point in points[1:]), len(points[0]))


# -- polytopes -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Polyhedron:
    """The set {x : a x <= b, e x = f} in n variables; it must be bounded."""

    n: int
    a: Matrix = ()
    b: Vector = ()
    e: Matrix = ()
    f: Vector = ()

    def contains(self, point: Sequence[Fraction]) -> bool:
        return all(
            dot(row, point) <= bound for row, bound in zip(self.a, self.b, strict=True)
        ) and (all(dot(row, point) == bound for row, bound in zip(self.e, self.f, strict=True)))

    def vertices(self) -> list[Vector]:
        """Return all vertices, by solving all independent systems of n constraints."""
        start: Echelon = Echelon(self.n)
        for row, bound in zip(self.e, self.f, strict=True):
            if any(start.reduced((*row, bound))[: self.n]):
                bigger = start.extended((*row, bound))
                assert bigger is not None
                start = bigger
        constraints = [(*row, bound) for row, bound in zip(self.a, self.b, strict=True) if any(row)]
        found: dict[Vector, None] = {}

        def choose(system: Echelon, first: int) -> None:
            missing = self.n - len(system.rows)
            if missing == 0:
                point = tuple(system.rows[column][self.n] for column in range(self.n))
                if point not in found and self.contains(point):
                    found[point] = None
                return
            for i in range(first, len(constraints) - missing + 1):
                bigger = system.extended(constraints[i])
                if bigger is not None:
                    choose(bigger, i + 1)

        choose(start, 0)
        return list(found)


def box(low: Sequence[Fraction], high: Sequence[Fraction]) -> Polyhedron:
    n = len(low)
    eye = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    a = [row for unit in eye for row in (unit, [-x for x in unit])]
    b = [bound for i in range(n) for bound in (high[i], -low[i])]
    return Polyhedron(n, matrix(a), vector(b))


def simplex(n: int) -> Polyhedron:
    a = [[-Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    return Polyhedron(n, matrix(a), vector([0] * n), matrix([[1] * n]), vector([1]))


def bounded(theta: Polyhedron, size: int = 10**15) -> Polyhedron:
    """Return the part of a polyhedron in a large box."""
    large = box([Fraction(-size)] * theta.n, [Fraction(size)] * theta.n)
    return Polyhedron(theta.n, theta.a + large.a, theta.b + large.b, theta.e, theta.f)


# -- games -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlowGame:
    """A game in fractions: reward features (k, d), one observation map per action, and Theta."""

    features: Matrix
    maps: tuple[Matrix, ...]
    theta: Polyhedron

    @property
    def k(self) -> int:
        return len(self.features)

    @cached_property
    def corners(self) -> list[Vector]:
        """The vertices of Theta."""
        found = self.theta.vertices()
        assert found, "the parameter set is empty"
        return found

    @cached_property
    def directions(self) -> list[Vector]:
        """A basis of V = span(Theta - Theta), in reduced echelon form."""
        system = Echelon(self.theta.n)
        for corner in self.corners[1:]:
            system = system.extended(minus(corner, self.corners[0])) or system
        return [tuple(system.rows[column]) for column in sorted(system.rows)]

    @property
    def dimension(self) -> int:
        return len(self.directions)

    def along(self, row: Sequence[Fraction]) -> Vector:
        """Return a functional in the coordinates of V."""
        return tuple(dot(row, direction) for direction in self.directions)

    def at(self, x: Sequence[Fraction]) -> Vector:
        """Return the parameter with the given coordinates in V."""
        theta = list(self.corners[0])
        for share, direction in zip(x, self.directions, strict=True):
            theta = [old + share * step for old, step in zip(theta, direction, strict=True)]
        return tuple(theta)

    @cached_property
    def inner(self) -> Polyhedron:
        """Theta in the coordinates of V."""
        rows, bounds = [], []
        for row, bound in zip(self.theta.a, self.theta.b, strict=True):
            if any(self.along(row)):
                rows.append(self.along(row))
                bounds.append(bound - dot(row, self.corners[0]))
        return Polyhedron(self.dimension, tuple(rows), tuple(bounds))

    def cell(self, a: int) -> list[Vector]:
        """Return the vertices of {theta in Theta : a is best}."""
        rows, bounds = list(self.inner.a), list(self.inner.b)
        for c in range(self.k):
            lead = minus(self.features[a], self.features[c])
            rows.append(tuple(-x for x in self.along(lead)))
            bounds.append(dot(lead, self.corners[0]))
        corners = Polyhedron(self.dimension, tuple(rows), tuple(bounds)).vertices()
        return [self.at(x) for x in corners]

    @cached_property
    def cells(self) -> list[list[Vector]]:
        return [self.cell(a) for a in range(self.k)]

    def reward(self, a: int, theta: Vector) -> Fraction:
        return dot(self.features[a], theta)

    def common(self, a: int, b: int) -> list[Vector]:
        """Return the vertices of C_a and C_b together, a face of C_a."""
        return [v for v in self.cells[a] if self.reward(a, v) == self.reward(b, v)]

    def sees(self, a: int, b: int, actions: Iterable[int]) -> bool:
        """Whether the maps of some actions determine the reward difference on V."""
        rows = [self.along(row) for c in actions for row in self.maps[c]]
        return in_span(self.along(minus(self.features[a], self.features[b])), rows)


@dataclass(frozen=True)
class SlowAnswer:
    """The fields of an analysis."""

    category: str
    pareto: list[int]
    degenerate: list[int]
    dominated: list[int]
    duplicates: list[list[int]]
    neighbors: list[Pair]
    neighborhoods: dict[Pair, list[int]]
    globally_observable: bool
    locally_observable: bool
    dimension: int
    rank: int


def classify(game: SlowGame) -> SlowAnswer:
    """Classify a game by the definitions of section 4.1."""
    everyone, d = range(game.k), game.dimension
    sizes = [affine_dimension(cell) for cell in game.cells]
    pareto = [a for a in everyone if sizes[a] == d]

    same = {
        (a, b): all(game.reward(a, v) == game.reward(b, v) for v in game.corners)
        for a in everyone
        for b in everyone
    }
    groups = {tuple(b for b in everyone if same[a, b]) for a in everyone}

    pairs = [(a, b) for a, b in combinations(pareto, 2) if not same[a, b]]
    faces = {pair: game.common(*pair) for pair in pairs}
    neighbors = [pair for pair in pairs if affine_dimension(faces[pair]) == d - 1]
    neighborhoods = {
        (a, b): [
            c for c in everyone if all(game.reward(c, v) == game.reward(a, v) for v in faces[a, b])
        ]
        for a, b in neighbors
    }
    everywhere = all(game.sees(a, b, everyone) for a, b in pairs)
    nearby = all(game.sees(a, b, neighborhoods[a, b]) for a, b in neighbors)
    assert nearby == _locally_observable_at_points(game, faces), "the two local tests disagree"

    if not pairs:
        category = "trivial"
    elif not everywhere:
        category = "hopeless"
    else:
        category = "easy" if nearby else "hard"
    return SlowAnswer(
        category=category,
        pareto=pareto,
        degenerate=[a for a in everyone if 0 <= sizes[a] < d],
        dominated=[a for a in everyone if sizes[a] < 0],
        duplicates=sorted(list(group) for group in groups if len(group) > 1),
        neighbors=neighbors,
        neighborhoods=neighborhoods,
        globally_observable=everywhere,
        locally_observable=nearby,
        dimension=d,
        rank=rank((game.along(row) for rows in game.maps for row in rows), d),
    )


def _locally_observable_at_points(game: SlowGame, faces: dict[Pair, list[Vector]]) -> bool:
    """Test every pair of cells that meet, at one relative interior point of what they share.

    All actions that are optimal there must together determine the difference of the two. This is
    the second characterisation of paper-notes 3.3, without neighbours and without segments.
    """
    for (a, b), face in faces.items():
        if face:
            middle = tuple(sum(entries) / len(face) for entries in zip(*face, strict=True))
            best = max(game.reward(c, middle) for c in range(game.k))
            optimal = [c for c in range(game.k) if game.reward(c, middle) == best]
            if not game.sees(a, b, optimal):
                return False
    return True


# -- alignment -------------------------------------------------------------------------------


def alignment(game: SlowGame, pareto: Sequence[int]) -> tuple[float, float]:
    """Return the global alignment constant from its primal and from its dual program.

    alpha_ab = (max <u, v> : v in V, |M_c v| <= 1 for all c)^2
             = (min sum_c |w_c| : sum_c M_c' w_c = u on V)^2,  u = phi_a - phi_b,
    largest over all pairs of Pareto actions. The programs of all pairs are solved at once. The game
    must be globally observable and not trivial.
    """
    import cvxpy as cp

    rows = [[game.along(row) for row in own] for own in game.maps if own]
    seen = independent((row for own in rows for row in own), game.dimension)
    if not seen:
        return 0.0, 0.0
    # Orthonormal coordinates of what is seen: other directions change no program.
    basis = np.linalg.qr(np.array(seen, dtype=float).T)[0]
    maps = [np.array(own, dtype=float) @ basis for own in rows]
    pairs = combinations(pareto, 2)
    gaps = [game.along(minus(game.features[a], game.features[b])) for a, b in pairs]
    targets = basis.T @ np.array([gap for gap in gaps if any(gap)], dtype=float).T

    v = cp.Variable(targets.shape)
    heights = cp.sum(cp.multiply(targets, v), axis=0)
    primal = cp.Problem(cp.Maximize(cp.sum(heights)), [cp.norm(m @ v, axis=0) <= 1 for m in maps])
    primal.solve(solver=cp.CLARABEL)

    weights = [cp.Variable((len(m), targets.shape[1])) for m in maps]
    lengths = sum(cp.norm(w, axis=0) for w in weights)
    shown = sum(m.T @ w for m, w in zip(maps, weights, strict=True))
    dual = cp.Problem(cp.Minimize(cp.sum(lengths)), [shown == targets])
    dual.solve(solver=cp.CLARABEL)

    assert primal.status == dual.status == cp.OPTIMAL
    return float(heights.value.max()) ** 2, float(lengths.value.max()) ** 2


def alignment_by_vertices(game: SlowGame, pareto: Sequence[int]) -> Fraction:
    """Return the exact alignment constant of a game whose maps have at most one row each.

    The directions v with |M_c v| <= 1 for all c form a polytope, up to directions that no action
    sees and no Pareto pair needs; the largest <phi_a - phi_b, v> is attained at a vertex.
    """
    rows = [game.along(row) for own in game.maps for row in own]
    seen = independent(rows, game.dimension)
    # v = sum_i x_i seen_i: a row m becomes (<m, seen_i>)_i.
    inner = [tuple(dot(row, basis) for basis in seen) for row in rows]
    bounds = vector([1] * (2 * len(inner)))
    both = tuple(inner) + tuple(tuple(-x for x in row) for row in inner)
    corners = Polyhedron(len(seen), both, bounds).vertices()
    largest = Fraction(0)
    for a, b in combinations(pareto, 2):
        u = game.along(minus(game.features[a], game.features[b]))
        target = tuple(dot(u, basis) for basis in seen)
        largest = max(largest, *(dot(target, corner) for corner in corners))
    return largest**2
