"""Random points of parameter sets, one per seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partial_monitoring.parameter_sets.base import ParameterSet
from partial_monitoring.randomness import THETA, generator
from partial_monitoring.validation import Array, Indices

NEAR = 1.0
"""Largest distance of points of unbounded sets from the middle, the default norm_bound."""

STEPS = 50
"""Number of steps of a random walk per dimension."""

ROUNDINGS = 3
"""Number of estimates of the spread of the set before the walks start."""


def one_per_seed(draw: Callable[[np.random.Generator], Array], seeds: Indices) -> Array:
    """Draw a point (d,) with a random generator for each seed, shape (n, d)."""
    return np.stack([draw(generator(int(seed), THETA, 0)) for seed in seeds])


def in_ball(center: Array, radius: float, seeds: Indices) -> Array:
    """Draw points uniformly from a ball, shape (n, d)."""

    def draw(rng: np.random.Generator) -> Array:
        direction = rng.standard_normal(len(center))
        length = radius * rng.random() ** (1.0 / len(center)) / np.linalg.norm(direction)
        return np.asarray(center + length * direction)

    return one_per_seed(draw, seeds)


def kept_near(parameters: ParameterSet, points: Array) -> Array:
    """Pull points (n, d) of an unbounded set to within 1 of its middle."""
    if np.isfinite(parameters.diameter()):
        return points
    center = parameters.relative_interior_point()
    away = points - center
    far = np.linalg.norm(away, axis=1, keepdims=True)
    return np.asarray(center + away * (NEAR / np.maximum(far, NEAR)))


def in_polyhedron(parameters: ParameterSet, a: Array, b: Array, seeds: Indices) -> Array:
    """Draw points of {center + Q x : a x <= b} by hit-and-run, nearly uniformly, shape (n, d).

    Directions are drawn in coordinates in which the set is about equally wide everywhere: first
    those of its bounding box, then those of the spread of some separate walks.
    """
    center, q = parameters.relative_interior_point(), parameters.difference_basis()
    dim = q.shape[1]
    if dim == 0:
        return np.repeat(center[None], len(seeds), axis=0)
    reach = np.inf if np.isfinite(parameters.diameter()) else NEAR
    high = np.minimum(parameters.support(q.T) - center @ q, reach)
    low = np.maximum(-parameters.support(-q.T) - center @ q, -reach)
    shape = np.diag(high - low)
    scouts = np.arange(8 * dim + 32)
    for trial in range(ROUNDINGS):
        spread = np.cov(_walks(a, b, reach, shape, scouts, trial + 1), rowvar=False)
        shape = np.linalg.cholesky(np.atleast_2d(spread))
    return center + _each(q, _walks(a, b, reach, shape, seeds, 0))


def _walks(a: Array, b: Array, reach: float, shape: Array, seeds: Indices, trial: int) -> Array:
    """Walk from 0 in {x : a x <= b, |x| <= reach}, one walk per seed, shape (n, D)."""
    dim = len(shape)
    steps = STEPS * dim
    sources = [generator(int(seed), THETA, trial) for seed in seeds]
    directions = np.stack([rng.standard_normal((steps, dim)) @ shape.T for rng in sources])
    shares = np.stack([rng.random(steps) for rng in sources])
    x = np.zeros((len(seeds), dim))
    for step in range(steps):
        away = directions[:, step]
        speed, room = _each(a, away), np.maximum(b - _each(a, x), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = np.where(speed > 0, room / speed, np.inf).min(axis=1, initial=np.inf)
            behind = np.where(speed < 0, room / speed, -np.inf).max(axis=1, initial=-np.inf)
        if np.isfinite(reach):
            square, along = (away**2).sum(axis=1), (away * x).sum(axis=1)
            rest = np.maximum(reach**2 - (x**2).sum(axis=1), 0.0)
            root = np.sqrt(along**2 + square * rest)
            ahead = np.minimum(ahead, (root - along) / square)
            behind = np.maximum(behind, (-root - along) / square)
        x = x + (behind + shares[:, step] * (ahead - behind))[:, None] * away
    return x


def _each(matrix: Array, vectors: Array) -> Array:
    """Multiply each vector (n, D) on its own, so that no result depends on the other vectors."""
    return np.asarray((matrix @ vectors[:, :, None])[:, :, 0])
