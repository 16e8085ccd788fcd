"""Check a parameter set."""

from __future__ import annotations

import numpy as np

from partial_monitoring.errors import InvalidInput, SolverError
from partial_monitoring.numerics.conic import minimize_conic
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.testing.requirements import CLOSE, require
from partial_monitoring.validation import Array


def check_parameter_set(parameters: ParameterSet, *, seed: int = 0) -> None:
    """Check that a parameter set is convex, and that its methods agree with each other.

    Its projections must lie inside, stay where they are and be nearest; its support function must
    be attained or approached by points inside and be that of a convex set. Where the set offers
    random points, local coordinates or conic constraints, they must describe the same set.
    """
    require(isinstance(parameters, ParameterSet), "it is not a ParameterSet")
    rng = np.random.default_rng(seed)
    d, center, basis = parameters.d, parameters.relative_interior_point(), _basis(parameters)
    require(center.shape == (d,), f"relative_interior_point has shape {center.shape}, not ({d},)")
    require(bool(parameters.contains(center)), "relative_interior_point is not contained")
    points = _points(parameters, rng)
    require(bool(parameters.contains(points).all()), "a projection is not contained")
    size = 1.0 + np.abs(points).max()
    middle = 0.5 * (points + points[::-1])
    require(bool(parameters.contains(middle).all()), "the set is not convex")
    off = points - center
    require(
        np.abs(off - off @ basis @ basis.T).max() <= CLOSE * size,
        "difference_basis does not span the differences of points",
    )
    for point in points:
        again = parameters.project(point)
        require(np.abs(again - point).max() <= CLOSE * size, "project moves a point that is inside")
    _check_projection(parameters, points, rng)
    _check_support(parameters, points, rng)
    _check_sample(parameters)
    if 0 < parameters.diameter() < np.inf:
        _check_coordinates(parameters, size, rng)


def _basis(parameters: ParameterSet) -> Array:
    basis = parameters.difference_basis()
    d, dim = parameters.d, parameters.dimension
    require(basis.shape == (d, dim), f"difference_basis has shape {basis.shape}, not ({d}, {dim})")
    require(
        np.abs(basis.T @ basis - np.eye(dim)).max(initial=0.0) <= 1e-9,
        "the columns of difference_basis are not orthonormal",
    )
    return basis


def _points(parameters: ParameterSet, rng: np.random.Generator) -> Array:
    """Return points of the set: projections of points near and far."""
    center = parameters.relative_interior_point()
    far = center + rng.standard_normal((20, parameters.d)) * 10.0 ** rng.uniform(-2, 1, (20, 1))
    return np.stack([parameters.project(point) for point in far])


def _check_projection(parameters: ParameterSet, points: Array, rng: np.random.Generator) -> None:
    """Nothing in the set is nearer: <G (x - p), y - p> <= 0 for all y in it."""
    d = parameters.d
    for _ in range(10):
        root = rng.standard_normal((d, d))
        gram = root @ root.T + 0.1 * np.eye(d)
        x = rng.standard_normal(d) * 5
        nearest = parameters.project(x, gram)
        steps = (points - nearest) @ (gram @ (x - nearest))
        size = np.abs(gram).max() * (1 + np.abs(x).max()) * (1 + np.abs(points).max())
        require(steps.max() <= CLOSE * size, "project does not give the nearest point")


def _check_support(parameters: ParameterSet, points: Array, rng: np.random.Generator) -> None:
    directions = rng.standard_normal((30, parameters.d))
    heights = parameters.support(directions)
    require(heights.shape == (30,), f"support has shape {heights.shape}, not (30,)")
    size = 1 + np.abs(points).max() * np.abs(directions).max()
    reached = (points @ directions.T).max(axis=0)
    require(bool((heights >= reached - CLOSE * size).all()), "support is below a point of the set")
    require(
        np.allclose(parameters.support(2 * directions), 2 * heights, rtol=CLOSE, equal_nan=False),
        "support of twice a direction is not twice the support",
    )
    sums = parameters.support(directions + directions[::-1])
    with np.errstate(invalid="ignore"):
        slack = sums - heights - heights[::-1]
    require(not (slack > CLOSE * size).any(), "support of a sum exceeds the sum of supports")
    bounded = np.isfinite(heights)
    for c, height in zip(directions[bounded], heights[bounded], strict=True):
        far = parameters.project(parameters.relative_interior_point() + 1e4 * c)
        require(float(far @ c) >= height - 1e-3 * (size + abs(height)), "support is not attained")
    reach = parameters.diameter()
    apart = np.linalg.norm(points[:, None] - points[None], axis=2).max()
    require(apart <= reach * (1 + CLOSE) + CLOSE, "two points are further apart than the diameter")
    center = parameters.relative_interior_point()
    away = np.linalg.norm(points - center, axis=1).max()
    require(
        away <= parameters.norm_bound(center) * (1 + CLOSE) + CLOSE,
        "a point is further from the centre than norm_bound",
    )


def _check_sample(parameters: ParameterSet) -> None:
    """Random points lie inside and belong to their seeds."""
    try:
        points = parameters.sample(np.arange(3))
    except InvalidInput:
        return  # the set offers none
    require(points.shape == (3, parameters.d), f"sample has shape {points.shape}, not (3, d)")
    require(bool(parameters.contains(points).all()), "a point of sample is not contained")
    alone = parameters.sample(np.array([2]))
    require(np.array_equal(points[2:], alone), "sample depends on the other seeds")


def _check_coordinates(parameters: ParameterSet, size: float, rng: np.random.Generator) -> None:
    """Maxima of linear functions over a bounded set are the same in all its descriptions."""
    try:
        cones, coordinates = parameters.cones(), parameters.coordinates()
    except SolverError:
        return  # the set offers none
    to_theta = np.eye(parameters.d) if coordinates.to_theta is None else coordinates.to_theta
    for c in rng.standard_normal((5, parameters.d)):
        height = float(parameters.support(c))
        local = float(c @ coordinates.origin) - coordinates.minimum(0.0, -c @ to_theta)
        require(abs(local - height) <= CLOSE * size, "coordinates do not describe the set")
        best = minimize_conic(-c, cones)
        reached = best is not None and abs(best.value + height) <= 1e-4 * size
        require(reached, "cones do not describe the set")
