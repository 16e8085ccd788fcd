"""Parameter sets written down by hand, and ellipsoids that cut them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.parameter_sets import ParameterSet

Array = NDArray[np.float64]


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
