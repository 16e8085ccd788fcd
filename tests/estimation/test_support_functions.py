"""The support function of Theta cut by an ellipsoid, against a conic solver with proofs.

The reference solves max <c, theta> over theta in Theta, |theta - center|_V^2 <= beta by Clarabel.
Its answers are not trusted but proved: the multipliers z give the upper bound

    h_Theta(z) + <c - z, center> + beta^(1/2) |c - z| in the norm of V^-1,

which holds for any z (weak duality), and the maximiser, pulled into both sets, a lower one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, sparse

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence import ConfidenceSet
from partial_monitoring.numerics.compiled.ball import support
from partial_monitoring.parameter_sets import ParameterSet

Array = NDArray[np.float64]


# -- parameter sets with what the reference needs ---------------------------------------------


@dataclass(frozen=True)
class Body:
    """Theta = {inside + basis x : a x <= b, |inside + basis x - middle| <= radius}.

    Written down for each set by hand, so that nothing of the library is used.
    """

    parameters: ParameterSet
    inside: Array
    basis: Array
    a: Array
    b: Array
    middle: Array | None = None
    radius: float = np.inf


def everything(d: int) -> Body:
    return Body(pm.AllParameters(d), np.zeros(d), np.eye(d), np.zeros((0, d)), np.zeros(0))


def ball(middle: Array, radius: float) -> Body:
    d = len(middle)
    return Body(
        pm.Ball(middle, radius), middle, np.eye(d), np.zeros((0, d)), np.zeros(0), middle, radius
    )


def box(low: Array, high: Array) -> Body:
    free = low < high
    basis = np.eye(len(low))[:, free]
    inside = (low + high) / 2
    half = (high - low)[free] / 2
    return Body(
        pm.Box(low, high),
        inside,
        basis,
        np.concatenate([np.eye(free.sum()), -np.eye(free.sum())]),
        np.concatenate([half, half]),
    )


def simplex(d: int) -> Body:
    basis = np.linalg.svd(np.ones((1, d)))[2][1:].T
    return Body(pm.Simplex(d), np.full(d, 1 / d), basis, -basis, np.full(d, 1 / d))


def polytope(
    rng: np.random.Generator, d: int, n: int, flat: int, hidden: bool, bounded: bool = True
) -> Body:
    """A polytope around a random point, in ``flat`` dimensions less than d.

    The equalities are given as such, or hidden as pairs of opposite inequalities.
    """
    normals = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :flat].T
    basis = np.linalg.svd(normals)[2][flat:].T if flat else np.eye(d)
    inside = rng.normal(size=d)
    walls = np.concatenate([np.eye(d), -np.eye(d)]) if bounded else np.eye(d)[:1]
    rows = np.concatenate([rng.normal(size=(n, d)), walls])
    rows[: n // 2] = np.round(rows[: n // 2])
    room = rng.random(len(rows)) + 0.05
    b = rows @ inside + room
    level = normals @ inside
    if hidden:
        a_ub = np.concatenate([rows, normals, -normals])
        parameters = pm.Polytope(a_ub, np.concatenate([b, level, -level]))
    elif flat:
        parameters = pm.Polytope(rows, b, normals, level)
    else:
        parameters = pm.Polytope(rows, b)
    return Body(parameters, inside, basis, rows @ basis, room)


# -- the library's answer and the reference ---------------------------------------------------


def confidence(
    body: Body,
    gram: Array,
    center: Array,
    beta: float,
    prior_mean: Array | None = None,
    features: Array | None = None,
) -> ConfidenceSet:
    """Return E = {theta in Theta : |theta - center|_gram^2 <= beta}, for a center in Theta.

    Through the front door: one observation with a map that makes V_t the given matrix, and a value
    that makes the estimate the given center.
    """
    d = len(center)
    values, vectors = np.linalg.eigh(gram)
    ridge = 0.5 * float(values[0])
    rows = vectors * np.sqrt(values - ridge) @ vectors.T  # gram = ridge I + rows' rows
    phi = np.eye(d) if features is None else features
    game = pm.Game(phi, np.repeat(rows[None], len(phi), axis=0), body.parameters)
    prior = body.inside if prior_mean is None else prior_mean
    policy = pm.IDS(regularization=ridge, prior_mean=prior, norm_bound=0.0)
    told = rows @ prior + np.linalg.solve(rows, gram @ (center - prior))
    local = body.basis.T @ gram @ body.basis
    known = float(np.linalg.slogdet(local / ridge)[1]) if len(local) else 0.0

    def schedule(t: Array) -> Array:
        return np.full(np.shape(t), (beta - known) / 2)

    state = policy.init(game, 1)
    state = policy.update(state, np.zeros(1, dtype=np.int64), told[None])
    return replace(policy, confidence=schedule).confidence_set(state)


def reference(
    body: Body, gram: Array, center: Array, beta: float, c: Array
) -> tuple[float, float, float]:
    """Return proved bounds (low, high) of the maximum, and the half-width of the ellipsoid."""
    g = body.basis.T @ gram @ body.basis
    dim = len(g)
    start = float(c @ center)
    if dim == 0:
        return start, start, 0.0
    root = np.linalg.cholesky(g)
    # In y with theta = center + basis root^-T y the ellipsoid is |y|^2 <= beta.
    shape = np.linalg.solve(root, body.basis.T).T  # (d, dim)
    target = shape.T @ c
    half = float(np.sqrt(beta) * np.linalg.norm(target))
    if half == 0.0:
        return start, start, 0.0
    # Scaled to |y| <= 1 and a target of length 1, without the rows that are out of reach.
    reach, unit = np.sqrt(beta), np.linalg.norm(target)
    rows = np.linalg.solve(root, body.a.T).T
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    room = np.maximum(body.b - body.a @ (body.basis.T @ (center - body.inside)), 0.0)
    near = room <= lengths * reach
    rows, room = rows[near] / lengths[near, None], room[near] / lengths[near] / reach
    blocks, bounds = [rows], [room]
    cones = [clarabel.NonnegativeConeT(len(rows))] if len(rows) else []
    cap = np.concatenate([np.zeros((1, dim)), -np.eye(dim)])
    blocks.append(cap)
    bounds.append(np.eye(dim + 1)[0])
    cones.append(clarabel.SecondOrderConeT(dim + 1))
    spread = reach * float(np.linalg.norm(shape, 2))
    round_near = body.middle is not None and (
        np.linalg.norm(center - body.middle) + spread > body.radius
    )
    if round_near:
        blocks.append(np.concatenate([np.zeros((1, dim)), -shape * reach / body.radius]))
        bounds.append(np.concatenate([[1.0], (center - body.middle) / body.radius]))
        cones.append(clarabel.SecondOrderConeT(len(c) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix((dim, dim)),
        -target / unit,
        sparse.csc_matrix(np.concatenate(blocks)),
        np.concatenate(bounds),
        cones,
        settings,
    ).solve()
    y, z = np.array(answer.x), np.array(answer.z)
    # Upper bound from the multipliers, whatever they are.
    pull = np.zeros(dim)
    high = 0.0
    if len(rows):
        mu = np.maximum(z[: len(rows)], 0.0)
        pull = pull + rows.T @ mu
        high += float(mu @ room)
    if round_near:
        v = z[len(rows) + dim + 2 :] / body.radius  # pulls theta, shape (d,)
        pull = pull - reach * shape.T @ v
        high += float(body.radius * np.linalg.norm(v) + v @ (center - body.middle))
    high += float(np.linalg.norm(target / unit - pull))
    high = min(high, 1.0)
    # Lower bound from the maximiser, pulled towards an interior point until it is in both sets.
    home = np.linalg.solve(shape.T @ shape, shape.T @ (body.inside - center)) / reach
    home = home * min(1.0, 0.5 / max(float(np.linalg.norm(home)), 1e-300))
    share = 1.0
    for _ in range(60):
        tried = home + share * (y - home)
        outside = (rows @ tried > room).any() or np.linalg.norm(tried) > 1.0
        if round_near:
            moved = center + shape @ tried * reach - body.middle
            outside = outside or np.linalg.norm(moved) > body.radius
        if not outside:
            break
        share = 1.0 - 2.0 * (1.0 - share) - 1e-15
    low = float(target @ (home + share * (y - home))) / unit if share > 0 else 0.0
    return start + half * low, start + half * high, half


def check(
    body: Body,
    gram: Array,
    center: Array,
    beta: float,
    directions: Array,
    prior_mean: Array | None = None,
) -> float:
    """Compare one set in several directions; return the largest relative width of the proofs."""
    found = confidence(body, gram, center, beta, prior_mean)
    assert found.beta[0] == pytest.approx(beta, rel=1e-3)
    assert found.center[0] == pytest.approx(center, abs=1e-5)
    beta, center = float(found.beta[0]), found.center[0]  # the same set, to the last digit
    values, points = found.support(directions)[0], found.maximizer(directions)[0]
    widest = 0.0
    for c, value, point in zip(directions, values, points, strict=True):
        low, high, half = reference(body, gram, center, beta, c)
        rounding = 1e-11 * (1.0 + float(np.abs(c) @ np.abs(center)))
        tolerance = 1e-7 * half + rounding
        widest = max(widest, (high - low) / max(half, rounding))
        assert value <= high + tolerance
        assert value >= low - 1e-8 * half - rounding, "below the truth"
        if high - low <= tolerance:
            assert value == pytest.approx((low + high) / 2, abs=2 * tolerance)
        # The maximiser is in both sets and attains the value.
        assert c @ point == pytest.approx(value, abs=2 * tolerance)
        # (The ball's one-dimensional dual finds its point to half the digits of the value.)
        loose = 1e-5 if body.middle is not None else 1e-7
        away = point - center
        assert away @ gram @ away <= beta * (1 + loose) + 1e-12
        size = 1.0 + float(np.abs(point).max())
        local = body.basis.T @ (point - body.inside)
        assert point == pytest.approx(body.inside + body.basis @ local, abs=1e-8 * size)
        lengths = np.maximum(np.linalg.norm(body.a, axis=1), 1e-300)
        assert ((body.a @ local - body.b) / lengths).max(initial=0.0) <= 1e-7 * size
        if body.middle is not None:
            assert np.linalg.norm(point - body.middle) <= body.radius * (1 + loose)
    return widest


# -- instances -------------------------------------------------------------------------------

KINDS = (
    "everything",
    "ball",
    "box",
    "flat box",
    "simplex",
    "polytope",
    "flat polytope",
    "hidden",
    "unbounded",
)


def draw_body(rng: np.random.Generator, kind: str, d: int) -> Body:
    match kind:
        case "everything":
            return everything(d)
        case "ball":
            return ball(rng.normal(size=d) * rng.choice([0.0, 1.0]), float(rng.choice([0.3, 1, 5])))
        case "box" | "flat box":
            low = np.round(rng.normal(size=d), 1)
            high = low + rng.choice([0.2, 1.0, 2.0], size=d)
            known = rng.random(d) < (0.4 if kind == "flat box" else 0.0)
            return box(low, np.where(known, low, high))
        case "simplex":
            return simplex(d)
    flat = 0 if kind in ("polytope", "unbounded") or d == 1 else int(rng.integers(1, d))
    bounded = kind != "unbounded"
    return polytope(rng, d, int(rng.integers(1, 6)), flat, kind == "hidden", bounded)


def point_of(rng: np.random.Generator, body: Body) -> Array:
    """A point of Theta: inside, on the boundary, or the end of a random ray."""
    dim = body.basis.shape[1]
    if dim == 0:
        return body.inside
    x = rng.normal(size=dim)
    speed = body.a @ x
    ahead = speed > 1e-12
    far = float((body.b[ahead] / speed[ahead]).min(initial=np.inf))
    if body.middle is not None:
        far = body.radius / float(np.linalg.norm(x))
    share = float(rng.choice([0.0, rng.random(), 1.0]))
    return body.inside + body.basis @ (x * share * (far if np.isfinite(far) else 1.0))


def draw_gram(rng: np.random.Generator, d: int) -> Array:
    n = int(rng.integers(0, 2 * d + 1))
    rows = rng.normal(size=(n, d))
    return np.eye(d) * float(rng.choice([0.1, 1.0])) + rows.T @ rows * float(rng.choice([1, 50]))


@pytest.mark.parametrize("kind", KINDS)
def test_random_instances(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    widths = []
    for _ in range(30):
        d = int(rng.integers(1, 8)) if kind != "simplex" else int(rng.integers(2, 8))
        body = draw_body(rng, kind, d)
        center, gram = point_of(rng, body), draw_gram(rng, d)
        beta = float(rng.choice([0.01, 1.0, 30.0])) * (0.1 + rng.random())
        widths.append(check(body, gram, center, beta, rng.normal(size=(4, d))))
    assert np.quantile(widths, 0.9) <= 1e-7, "the reference proves too little"


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_agrees_with_cvxpy(kind: str) -> None:
    rng = np.random.default_rng(3)
    body = draw_body(rng, kind, 4)
    center, gram, c = point_of(rng, body), draw_gram(rng, 4), rng.normal(size=4)
    low, high, half = reference(body, gram, center, 1.5, c)
    x = cp.Variable(body.basis.shape[1])
    theta = body.inside + body.basis @ x
    constraints = [cp.norm(np.linalg.cholesky(gram).T @ (theta - center)) <= np.sqrt(1.5)]
    if len(body.a):
        constraints.append(body.a @ x <= body.b)
    if body.middle is not None:
        constraints.append(cp.norm(theta - body.middle) <= body.radius)
    problem = cp.Problem(cp.Maximize(c @ theta), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert low - 1e-7 * half <= problem.value <= high + 1e-7 * half
    found = confidence(body, gram, center, 1.5).support(c[None])[0, 0]
    assert found == pytest.approx(problem.value, abs=1e-6 * half)


# -- special cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_radius_only_the_center_is_left(kind: str) -> None:
    rng = np.random.default_rng(5)
    body = draw_body(rng, kind, 3)
    game = pm.Game(np.eye(3), np.eye(3)[:, None], body.parameters)
    policy = pm.IDS(norm_bound=0.0)  # beta_1 = 0, since log 1 = 0
    found = policy.confidence_set(policy.init(game, 2))
    directions = rng.normal(size=(4, 3))
    assert (found.beta == 0).all()
    assert found.support(directions) == pytest.approx(found.center @ directions.T, abs=1e-12)
    assert found.maximizer(directions) == pytest.approx(
        np.broadcast_to(found.center[:, None], (2, 4, 3)), abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_all_directions_have_no_height_in_nothing(kind: str) -> None:
    """The zero direction, and directions in which a flat set does not extend."""
    rng = np.random.default_rng(6)
    body = draw_body(rng, kind, 4)
    found = confidence(body, draw_gram(rng, 4), point_of(rng, body), 2.0)
    assert found.support(np.zeros((1, 4)))[0, 0] == pytest.approx(0.0, abs=1e-12)
    point = found.maximizer(np.zeros((1, 4)))[0, 0]
    assert body.parameters.contains(point)
    across = np.eye(4) - body.basis @ body.basis.T
    assert found.support(across)[0] == pytest.approx(across @ found.center[0], abs=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        pm.Ball([0.2, 0.5], 0.0),
        pm.Box([0.2, 0.5], [0.2, 0.5]),
        pm.Polytope(None, None, np.eye(2), [0.2, 0.5]),
    ],
    ids=["ball", "box", "polytope"],
)
def test_a_single_point(parameters: ParameterSet) -> None:
    game = pm.Game(np.eye(2), np.eye(2)[:, None], parameters)
    policy = pm.IDS()
    state = policy.update(policy.init(game, 1), np.array([0]), np.array([[7.0]]))
    found = policy.confidence_set(state)
    assert found.center[0] == pytest.approx([0.2, 0.5], abs=1e-12)
    assert found.support([[1.0, -1.0]])[0, 0] == pytest.approx(-0.3, abs=1e-12)
    assert pm.information.log_det(game, found)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_several_replicates_are_each_by_itself(kind: str) -> None:
    rng = np.random.default_rng(8)
    body = draw_body(rng, kind, 4)
    game = pm.Game(np.eye(4), rng.normal(size=(4, 2, 4)), body.parameters)
    policy = pm.IDS()
    actions, seen = rng.integers(0, 4, (6, 5)), rng.normal(size=(6, 5, 2))
    directions = rng.normal(size=(3, 4))

    def play(which: slice) -> ConfidenceSet:
        state = policy.init(game, len(actions[0, which]))
        for a, y in zip(actions[:, which], seen[:, which], strict=True):
            state = policy.update(state, a, y)
        return policy.confidence_set(state)

    together = play(slice(None))
    for i in range(5):
        alone = play(slice(i, i + 1))
        for name in ("center", "beta", "round", "plays", "sums"):
            assert np.array_equal(getattr(alone, name)[0], getattr(together, name)[i])
        assert np.array_equal(alone.support(directions)[0], together.support(directions)[i])
        assert np.array_equal(alone.maximizer(directions)[0], together.maximizer(directions)[i])


@pytest.mark.parametrize("directions", [[1.0, 2.0, 3.0], [[1.0, 2.0]], [[np.nan, 0.0, 0.0]], "c"])
def test_bad_directions_are_refused(directions: Any) -> None:
    found = confidence(simplex(3), np.eye(3), np.full(3, 1 / 3), 1.0)
    for method in (found.support, found.maximizer):
        with pytest.raises(InvalidInput, match="directions") as caught:
            method(directions)
        assert str(caught.value).endswith(".")


# -- instances that make ties ----------------------------------------------------------------


def adversarial(rng: np.random.Generator, d: int) -> tuple[Array, Array, float, Array]:
    """Gram, center, beta and directions that make ties: what broke a first path solver.

    Centers are uniform, at a vertex, on a face or rounded to quarters; the Gram matrix comes from
    0/1 rows (as in finite games) or Gaussian ones, with up to thousands of plays; directions have
    entries -1, 0 and 1; radii range over seven orders of magnitude.
    """
    kind = rng.choice(["dirichlet", "uniform", "vertex", "face", "quarters"])
    center = rng.dirichlet(np.full(d, rng.choice([0.1, 1.0, 10.0])))
    match kind:
        case "uniform":
            center = np.full(d, 1 / d)
        case "vertex":
            center = np.eye(d)[rng.integers(d)]
        case "face":
            center = np.where(rng.random(d) < 0.5, 0.0, center)
        case "quarters":
            center = np.round(4 * center) / 4
    center = center / center.sum() if center.sum() > 0 else np.eye(d)[0]
    n = int(rng.integers(1, 3 * d))
    binary = rng.random() < 0.6
    rows = (rng.random((n, d)) < 0.5).astype(float) if binary else rng.normal(size=(n, d))
    plays = rng.integers(0, int(rng.choice([3, 100, 10_000])), size=n)
    gram = np.eye(d) * float(rng.choice([0.01, 1.0])) + rows.T @ (rows * plays[:, None])
    whole = rng.integers(-1, 2, size=(3, d)).astype(float)
    directions = np.concatenate([whole, rng.normal(size=(2, d))])
    beta = float(rng.choice([1e-4, 1e-2, 1.0, 10.0, 100.0, 1000.0]) * rng.random())
    return gram, center, beta, directions


def body_with_simplex(kind: str, d: int) -> Body:
    """A body that contains the simplex, and has its vertices on the boundary."""
    match kind:
        case "simplex":
            return simplex(d)
        case "box":
            return box(np.zeros(d), np.ones(d))
        case "ball":
            return ball(np.zeros(d), 1.0)
    # The simplex again, as a polytope with its equality hidden among redundant inequalities.
    a = np.concatenate([-np.eye(d), np.ones((1, d)), -np.ones((1, d)), np.eye(d)])
    b = np.concatenate([np.zeros(d), [1.0, -1.0], np.ones(d)])
    base = simplex(d)
    rows = np.concatenate([base.a, base.basis])
    room = np.concatenate([base.b, np.full(d, 1 - 1 / d)])
    return Body(pm.Polytope(a, b), base.inside, base.basis, rows, room)


ADVERSARIAL = ("simplex", "box", "ball", "polytope")


@dataclass(frozen=True)
class Instance:
    body: Body
    gram: Array
    center: Array
    beta: float
    directions: Array
    prior_mean: Array | None


def draw_instance(kind: str, seed: int, *sizes: int) -> Instance:
    rng = np.random.default_rng(seed)
    d = int(rng.choice(sizes))
    gram, center, beta, directions = adversarial(rng, d)
    prior_mean = center if rng.random() < 0.5 else None
    return Instance(body_with_simplex(kind, d), gram, center, beta, directions, prior_mean)


def check_adversarial(kind: str, seed: int, *sizes: int) -> float:
    case = draw_instance(kind, seed, *sizes)
    return check(case.body, case.gram, case.center, case.beta, case.directions, case.prior_mean)


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_adversarial_instances(kind: str) -> None:
    widths = [check_adversarial(kind, seed, 2, 3, 4, 5, 8) for seed in range(50)]
    widths += [check_adversarial(kind, seed, 12, 20) for seed in range(10)]
    assert np.quantile(widths, 0.8) <= 1e-7, "the reference proves too little"


SIZES = (2, 3, 4, 5, 8, 12, 20)

ONCE_UNCERTIFIED = (
    ("simplex", 145),
    ("simplex", 1050),
    ("simplex", 1065),
    ("simplex", 3307),
    ("box", 556),
    ("box", 1108),
    ("box", 2643),
    ("polytope", 986),
    ("polytope", 2684),
)


@pytest.mark.parametrize(("kind", "seed"), ONCE_UNCERTIFIED)
def test_instances_on_which_the_path_once_broke_off(kind: str, seed: int) -> None:
    """Where the path gives no certificate another method has to: value and maximiser are due."""
    check_adversarial(kind, seed, *SIZES)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_many_adversarial_instances(kind: str) -> None:
    for seed in range(100, 4000):
        check_adversarial(kind, seed, *SIZES)


def test_maximisers_over_a_ball_meet_their_optimality_conditions() -> None:
    """The value is attained, in both sets, and the direction is a sum of the active normals."""
    rng = np.random.default_rng(0)
    for case in range(400):
        d = int(rng.integers(1, 8))
        weights, beta = 10 ** rng.uniform(-3, 3, d), 10 ** rng.uniform(-3, 3)
        center, radius = rng.normal(size=d), 10 ** rng.uniform(-1, 1)
        away = rng.normal(size=d)
        away *= radius * rng.choice([0.0, 0.5, 1.0]) / np.linalg.norm(away)
        x_hat = center + away
        c = [rng.normal(size=d), -away, np.zeros(d)][case % 3]
        point = np.empty(d)
        value = support(c, weights, x_hat, beta, center, radius, point)
        size = max(np.abs(c).max() * (radius + np.abs(center).max()), 1e-300)
        assert abs(value - c @ point) <= 1e-13 * size
        in_ball = ((point - center) ** 2).sum() / radius**2
        in_ellipsoid = (weights * (point - x_hat) ** 2).sum() / beta
        assert max(in_ball, in_ellipsoid) <= 1 + 1e-10
        normals = np.stack([weights * (point - x_hat), point - center])
        lengths = np.linalg.norm(normals, axis=1)
        active = np.array([in_ellipsoid, in_ball]) >= 1 - 1e-9
        if not c.any():
            continue
        unit = normals[active] / lengths[active, None]
        shares, _ = optimize.nnls(unit.T, c)
        rest = c - shares @ unit
        assert np.abs(rest).max() <= 1e-6 * max(np.abs(c).max(), 1e-300)
