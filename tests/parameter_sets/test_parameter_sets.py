"""Each parameter set against slow, obvious computations and the conditions of optimality."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.parameter_sets import ParameterSet, Polyhedral

RNG = np.random.default_rng(0)


def simplex_as_polytope(d: int) -> pm.Polytope:
    """Return the simplex with its equality hidden in two inequalities."""
    ones = np.ones((1, d))
    return pm.Polytope(
        a_ub=np.concatenate([-np.eye(d), ones, -ones]), b_ub=np.r_[np.zeros(d), 1, -1]
    )


SETS: dict[str, tuple[ParameterSet, int]] = {
    "all": (pm.AllParameters(3), 3),
    "ball": (pm.Ball([1.0, 2.0, -1.0], 0.5), 3),
    "point ball": (pm.Ball([1.0, 2.0], 0.0), 0),
    "box": (pm.Box([0, -1, 2], [1, 1, 2]), 2),
    "point box": (pm.Box([1], [1]), 0),
    "simplex": (pm.Simplex(4), 3),
    "point simplex": (pm.Simplex(1), 0),
    "secret simplex": (simplex_as_polytope(4), 3),
    "triangle": (pm.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]), 2),
    "segment": (pm.Polytope([[-1, 0, 0]], [0], [[1, 1, 1], [0, 1, -1]], [1, 0]), 1),
    "point polytope": (pm.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -1, 2, -2]), 0),
    "orthant": (pm.Polytope(-np.eye(2), np.zeros(2)), 2),
    "line": (pm.Polytope(a_eq=[[1, 1]], b_eq=[1]), 1),
    "scaled rows": (pm.Polytope([[1e-4, 0], [-1e5, 0], [0, 1], [0, -1]], [1e-4, 0, 1, 0]), 2),
}
BOUNDED = [name for name in SETS if name not in ("all", "orthant", "segment", "line")]
every_set = pytest.mark.parametrize("name", SETS)


def sample(parameters: ParameterSet, count: int) -> np.ndarray:
    """Return points of the set: projections of a cloud around the centre."""
    center = parameters.relative_interior_point()
    cloud = center + RNG.standard_normal((count, parameters.d)) * 2
    return np.array([parameters.project(point) for point in cloud])


@every_set
def test_dimension_and_basis(name: str) -> None:
    parameters, dimension = SETS[name]
    q = parameters.difference_basis()
    assert parameters.dimension == dimension
    assert q.shape == (parameters.d, dimension)
    np.testing.assert_allclose(q.T @ q, np.eye(dimension), atol=1e-10)


@every_set
def test_a_relative_ball_around_the_interior_point_is_inside(name: str) -> None:
    """Fits in all directions of the basis and in none outside it: the dimension is right."""
    parameters, _ = SETS[name]
    center, q = parameters.relative_interior_point(), parameters.difference_basis()
    assert parameters.contains(center)
    for direction in np.concatenate([q.T, -q.T]):
        assert parameters.contains(center + 1e-3 * direction)
    off = np.eye(parameters.d) - q @ q.T
    for direction in off[np.linalg.norm(off, axis=1) > 0.1]:
        assert not parameters.contains(center + 1e-3 * direction)


@every_set
def test_points_of_the_set_lie_in_the_affine_hull_and_below_the_support(name: str) -> None:
    parameters, _ = SETS[name]
    points = sample(parameters, 20)
    assert parameters.contains(points).all()
    center, q = parameters.relative_interior_point(), parameters.difference_basis()
    away = points - center
    np.testing.assert_allclose(away, away @ q @ q.T, atol=1e-8)
    directions = RNG.standard_normal((15, parameters.d))
    heights = parameters.support(directions)
    assert heights.shape == (15,)
    assert (points @ directions.T <= heights + 1e-8).all()


@pytest.mark.parametrize("name", BOUNDED)
def test_support_is_attained(name: str) -> None:
    """Projecting a far point in direction c gives a maximiser of <c, .>, up to 1/distance."""
    parameters, _ = SETS[name]
    for direction in RNG.standard_normal((5, parameters.d)):
        far = parameters.project(parameters.relative_interior_point() + 1e6 * direction)
        assert direction @ far == pytest.approx(float(parameters.support(direction)), abs=1e-4)


@pytest.mark.parametrize("name", BOUNDED)
def test_norm_bound_and_diameter_hold(name: str) -> None:
    parameters, _ = SETS[name]
    points = sample(parameters, 40)
    origin = RNG.standard_normal(parameters.d)
    bound, diameter = parameters.norm_bound(origin), parameters.diameter()
    assert np.linalg.norm(points - origin, axis=1).max() <= bound + 1e-7
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert distances.max() <= diameter + 1e-7
    assert diameter <= 2 * parameters.norm_bound(parameters.relative_interior_point()) + 1e-9


def test_norm_bounds_are_the_known_ones() -> None:
    assert pm.Simplex(5).norm_bound(np.full(5, 0.2)) == pytest.approx(np.sqrt(1 - 1 / 5))
    assert pm.Simplex(5).norm_bound(np.eye(5)[0]) == pytest.approx(np.sqrt(2))
    assert pm.Box([0, 0], [3, 4]).norm_bound([1.5, 2]) == pytest.approx(2.5)
    assert pm.Ball([1, 1], 2).norm_bound([1, 1]) == 2
    assert simplex_as_polytope(4).norm_bound(np.full(4, 0.25)) == pytest.approx(np.sqrt(0.75))
    assert simplex_as_polytope(4).diameter() == pytest.approx(np.sqrt(2))
    for name in ("all", "orthant", "line", "segment"):
        parameters = SETS[name][0]
        finite = name == "segment"  # theta_1 >= 0 cuts it on one side only
        assert np.isinf(parameters.diameter())
        assert np.isinf(parameters.norm_bound(np.zeros(parameters.d))) or finite


def test_past_the_vertex_limit_the_box_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    import partial_monitoring.parameter_sets.polytope as module

    monkeypatch.setattr(module, "MOST_VERTICES", 0)
    bounded = simplex_as_polytope(4)
    assert bounded.norm_bound(np.full(4, 0.25)) >= np.sqrt(0.75) - 1e-9
    assert bounded.diameter() >= np.sqrt(2) - 1e-9


def gram(seed: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d)) * 10.0 ** rng.integers(-2, 3, d)
    matrix: np.ndarray = root.T @ root + 1e-3 * np.eye(d)
    return matrix


@every_set
def test_projection_satisfies_the_variational_inequality(name: str) -> None:
    """x is the projection iff <G (p - x), z - x> <= 0 for all z: h(G (p - x)) <= <G (p - x), x>."""
    parameters, _ = SETS[name]
    for seed in range(20):
        g = gram(seed, parameters.d)
        point = 3 * RNG.standard_normal(parameters.d)
        x = parameters.project(point, g)
        assert parameters.contains(x)
        pull = g @ (point - x)
        # An unbounded set has infinite support in a direction that is off by rounding.
        pull = np.where(abs(pull) < 1e-9 * abs(g).max(), 0, pull)
        others = sample(parameters, 10)
        assert ((others - x) @ pull <= 1e-6 * (1 + np.linalg.norm(pull))).all()
        if name in BOUNDED:
            height = float(parameters.support(pull))
            assert height <= pull @ x + 1e-6 * (1 + np.linalg.norm(pull))


@every_set
def test_projection_keeps_inside_points_and_agrees_with_the_euclidean_default(name: str) -> None:
    parameters, _ = SETS[name]
    center = parameters.relative_interior_point()
    np.testing.assert_array_equal(parameters.project(center, gram(1, parameters.d)), center)
    point = center + 5.0
    np.testing.assert_allclose(
        parameters.project(point), parameters.project(point, np.eye(parameters.d)), atol=1e-12
    )


def test_euclidean_projections_have_their_closed_forms() -> None:
    np.testing.assert_allclose(pm.Ball([0, 0], 1).project([3, 4]), [0.6, 0.8], atol=1e-14)
    np.testing.assert_allclose(pm.Box([0, 0], [1, 1]).project([2, -3]), [1, 0], atol=1e-12)
    np.testing.assert_allclose(pm.Simplex(3).project([1, 1, -5]), [0.5, 0.5, 0], atol=1e-12)


def test_projection_of_far_points_stays_inside() -> None:
    for scale in (1e3, 1e6, 1e9, 1e12):
        far = np.array([1, 0.3, -0.2]) * scale
        for parameters in (pm.Simplex(3), pm.Box(np.zeros(3), np.ones(3)), simplex_as_polytope(3)):
            nearest = parameters.project(far)
            assert parameters.contains(nearest)
            np.testing.assert_allclose(
                nearest,
                pm.Simplex(3).project(far)
                if parameters.d == 3 and not isinstance(parameters, pm.Box)
                else [1, 1, 0],
                atol=1e-7,
            )


@pytest.mark.parametrize("condition", [1e3, 1e6, 1e9, 1e12])
def test_projection_with_ill_conditioned_grams(condition: float) -> None:
    """On the square the answer is known: the second coordinate is 1, the first follows."""
    root = np.sqrt(condition)
    g = np.array([[1, 0.5 * root], [0.5 * root, condition]])
    nearest = pm.Box([-1, -1], [1, 1]).project([0, 1.5], g)
    np.testing.assert_allclose(nearest, [min(1.0, 0.25 * root), 1], atol=1e-6)


HIDDEN = {
    "scaled rows": ([[-1, 0], [0, -1], [1, 1], [-7, -7]], [0, 0, 1, -7], 1),
    "thirds": ([[-1, 0], [0, -1], [1, 1], [-3, -3]], [0, 0, 1, -3], 1),
    "far away": ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1000.1, -1000.1, 1000.2, -1000.1], 1),
    "no bound": ([[1], [-1]], [1e15, 0], 1),
    "no bound at all": ([[1], [-1]], [1e25, 0], 1),
    "repeated": ([[1, 1], [1, 1], [2, 2], [-1, -1]], [1, 1, 2, -1], 1),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_equalities_in_all_scales(name: str) -> None:
    a_ub, b_ub, dimension = HIDDEN[name]
    polytope = pm.Polytope(a_ub, b_ub)
    assert polytope.dimension == dimension
    assert polytope.contains(polytope.relative_interior_point())


def rational_polytope(data: st.DataObject) -> tuple[np.ndarray, ...]:
    d = data.draw(st.integers(1, 4))
    entry = st.integers(-2, 2)
    n, e = data.draw(st.integers(0, 7)), data.draw(st.integers(0, 2))
    rows = st.lists(st.lists(entry, min_size=d, max_size=d), min_size=n, max_size=n)
    a_ub = np.array(data.draw(rows), dtype=float).reshape(n, d)
    b_ub = np.array(data.draw(st.lists(entry, min_size=n, max_size=n)), dtype=float)
    rows = st.lists(st.lists(entry, min_size=d, max_size=d), min_size=e, max_size=e)
    a_eq = np.array(data.draw(rows), dtype=float).reshape(e, d)
    b_eq = np.array(data.draw(st.lists(entry, min_size=e, max_size=e)), dtype=float)
    return a_ub, b_ub, a_eq, b_eq


@given(st.data())
def test_polytope_dimension_against_one_program_per_direction(data: st.DataObject) -> None:
    """The slow way: grow a basis while some direction outside it has a positive width."""
    a_ub, b_ub, a_eq, b_eq = rational_polytope(data)
    assume(len(a_ub) + len(a_eq) > 0)
    d = a_ub.shape[1]
    box = {"A_ub": a_ub, "b_ub": b_ub, "A_eq": a_eq, "b_eq": b_eq, "bounds": [(-50, 50)] * d}
    if linprog(np.zeros(d), **box).status == 2:
        with pytest.raises(InvalidInput, match="the polytope is empty"):
            pm.Polytope(a_ub, b_ub, a_eq, b_eq)
        return
    differences: list[np.ndarray] = []
    while len(differences) < d:
        found = np.array(differences).reshape(-1, d)
        outside = np.linalg.svd(found)[2][np.linalg.matrix_rank(found) if len(found) else 0 :]
        for direction in outside:
            ends = [linprog(sign * direction, **box).x for sign in (1, -1)]
            if abs(direction @ (ends[0] - ends[1])) > 1e-6:
                differences.append(ends[0] - ends[1])
                break
        else:
            break
    assert pm.Polytope(a_ub, b_ub, a_eq, b_eq).dimension == len(differences)


@given(st.integers(0, 10_000))
def test_polytope_norm_bound_is_the_farthest_vertex(seed: int) -> None:
    """A rotated box: the vertices are known."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    size = rng.uniform(0.5, 2, d)
    polytope = pm.Polytope(np.concatenate([rotation, -rotation]), np.concatenate([size, size]))
    corners = np.array(list(product((-1, 1), repeat=d))) * size @ rotation
    origin = rng.standard_normal(d)
    farthest = np.linalg.norm(corners - origin, axis=1).max()
    assert polytope.norm_bound(origin) == pytest.approx(farthest, rel=1e-8)
    assert polytope.diameter() == pytest.approx(2 * np.linalg.norm(size), rel=1e-8)


def test_equality_by_content() -> None:
    assert pm.Ball([0, 0], 1).equals(pm.Ball([0, 0], 1))
    assert not pm.Ball([0, 0], 1).equals(pm.Ball([0, 0], 2))
    assert not pm.Ball([0, 0], 1).equals(pm.Simplex(2))
    assert simplex_as_polytope(3).equals(simplex_as_polytope(3))
    assert pm.Simplex(3) == pm.Simplex(3)


BAD: list[tuple[Any, str]] = [
    (lambda: pm.AllParameters(0), "d must be a whole number >= 1; got 0."),
    (lambda: pm.Simplex(2.5), "d must be a whole number >= 1; got 2.5."),
    (lambda: pm.Ball([0, 0], -1), "radius must not be negative; got -1."),
    (lambda: pm.Ball([0, np.nan], 1), "center must be finite; got nan at index 1."),
    (lambda: pm.Ball([[0]], 1), "center must have shape (d,); got (1, 1)."),
    (lambda: pm.Ball([], 1), "center must have at least one coordinate; got none."),
    (lambda: pm.Box([0, 2], [1, 1]), "low must not exceed high, else the box is empty; at"),
    (lambda: pm.Box([0, 0], [1]), "high must have shape (2,); got (1,)."),
    (lambda: pm.Box([0], [np.inf]), "high must be finite; got inf at index 0."),
    (lambda: pm.Polytope(), "a polytope needs a_ub and b_ub, or a_eq and b_eq; got neither."),
    (lambda: pm.Polytope(np.zeros((0, 2)), []), "a polytope needs at least one row; use AllParam"),
    (lambda: pm.Polytope([[1], [1, 2]], [1, 2]), "a_ub must be real numbers in rows of equal leng"),
    (lambda: pm.Simplex(2).support([[1], [1, 2]]), "directions must be real numbers in rows of eq"),
    (lambda: pm.Polytope([[1]]), "b_ub must come together with a_ub; got only a_ub."),
    (lambda: pm.Polytope([[1]], [1, 2]), "b_ub must have shape (1,); got (2,)."),
    (lambda: pm.Polytope([[1]], [1], [[1, 2]], [1]), "a_eq must have as many columns as a_ub, 1"),
    (lambda: pm.Polytope([[1], [-1]], [0, -1]), "the polytope is empty: no theta satisfies"),
    (lambda: pm.Polytope([[0.0]], [-1]), "the polytope is empty: no theta satisfies"),
    (lambda: pm.Simplex(2).project([1], np.eye(2)), "point must have shape (2,); got (1,)."),
    (lambda: pm.Simplex(2).project([1, 0], np.ones((2, 2))), "gram must be positive definite"),
    (lambda: pm.Simplex(2).project([1, 0], [[1, 2], [0, 1]]), "gram must be symmetric"),
    (lambda: pm.Simplex(2).support([1, 2, 3]), "directions must have shape (2,); got (3,)."),
    (lambda: pm.Simplex(2).contains([[1, 2, 3]]), "points must have shape (n0, 2); got (1, 3)."),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)


@every_set
def test_polyhedral_sets_agree_with_their_halfspaces(name: str) -> None:
    parameters, dimension = SETS[name]
    if not isinstance(parameters, Polyhedral):
        return
    twin = pm.Polytope(*parameters.halfspaces())
    assert twin.dimension == dimension
    directions = RNG.standard_normal((4, parameters.d))
    np.testing.assert_allclose(twin.support(directions), parameters.support(directions), atol=1e-8)


def _cube(n, edge):
    eye = np.eye(n)
    return pm.Polytope(np.concatenate([eye, -eye]), np.append(np.full(n, edge), np.zeros(n)))


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0])
@pytest.mark.parametrize(
    "build",
    [
        lambda size: pm.Box([0.0, 0.0], [size, size]),
        lambda size: pm.Box([0.0, 0.0], [1.0, size]),
        lambda size: pm.Ball([0.0, 0.0], size),
        lambda size: _cube(2, size),
    ],
    ids=["box", "flat box", "ball", "polytope"],
)
def test_membership_is_relative_to_the_size_of_the_set(build, size):
    own = build(size)
    assert own.contains([0.0, size * (1 + 1e-10)])
    assert not own.contains([0.0, size * (1 + 1e-6)])
    assert not own.contains([0.0, 100 * size])
    assert not own.contains([0.0, -1.1 * size])


def test_membership_in_a_cone_is_absolute():
    cone = pm.Polytope([[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])
    assert cone.contains([-1e-11, 0.0])
    assert not cone.contains([-1e-7, 1.0])
