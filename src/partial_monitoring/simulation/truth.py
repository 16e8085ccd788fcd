"""The true parameters of a simulation: given, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.games import functions
from partial_monitoring.kernels.gram import KernelGram
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.instance import checked_theta
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.parameter_sets import (
    AllParameters,
    Ball,
    Box,
    ParameterSet,
    Polyhedral,
    Simplex,
)
from partial_monitoring.validation import Array, Indices, axes, real_array

THETA = 4
"""The purpose for which random parameters are drawn."""

NEAR = 1.0
"""On unbounded sets truths stay this close to the middle, as the default norm_bound believes."""

MOST_CENTERS = 100
"""Random functions are sums of up to so many columns of the kernel."""

STEPS = 50
"""Steps of a random walk per dimension."""

ROUNDINGS = 3
"""How often the walk learns the shape of the set before it starts."""


def true_parameters(game: AnyGame, theta: object, seeds: Indices) -> Array:
    """Return one true parameter per seed, shape (n, d), from one, from many, or at random."""
    if isinstance(theta, str) and theta in functions.KNOWN:
        theta = function_of(game, theta)
    if isinstance(game, KernelGame) and callable(theta):
        return np.repeat(function_values(game, theta)[None], len(seeds), axis=0)
    if isinstance(theta, str):
        if theta != "random":
            raise InvalidInput(
                f"theta must be a parameter, one per seed, 'random', 'worst' or a test function; "
                f"got {theta!r}."
            )
        return random_truths(game, seeds)
    if axes(theta) == 2:
        rows = real_array("theta", theta, ("seeds", game.d))  # type: ignore[arg-type]
        if len(rows) != len(seeds):
            raise InvalidInput(f"theta must have one row per seed, {len(seeds)}; got {len(rows)}.")
        return np.array([checked_theta(own, game.parameters, "theta") for own in rows])
    one = checked_theta(theta, game.parameters, "theta")  # type: ignore[arg-type]
    return np.repeat(one[None], len(seeds), axis=0)


def random_truths(game: AnyGame, seeds: Indices) -> Array:
    """Draw one parameter per seed: from Theta, or a function whose norm is the bound, (n, d)."""
    if isinstance(game, KernelGame):
        return np.stack([_random_function(game, int(seed)) for seed in seeds])
    return random_theta(game.parameters, seeds)


def function_of(game: AnyGame, name: str) -> functions.Function:
    """Return a test function by name, as the truth of a kernel game."""
    if not isinstance(game, KernelGame):
        raise InvalidInput(f"theta may be a function only for kernel games; got {name!r}.")
    known = functions.KNOWN[name].dimension
    if isinstance(game.gram, KernelGram) and known not in (None, game.gram.points.shape[1]):
        raise InvalidInput(
            f"theta {name!r} is a function of {known} coordinates; the points of the game have "
            f"{game.gram.points.shape[1]}."
        )
    return functions.named(name)


def function_values(game: KernelGame, function: Callable[[Array], Any]) -> Array:
    """Return the numbers of a kernel game for a function (n, p) -> (n,)."""
    if not isinstance(game.gram, KernelGram) or (game.gram.axes >= 0).any():
        raise InvalidInput(
            "theta may be a function only for games that read values of it at points; give the "
            "numbers instead."
        )
    shape = (game.d,)
    return real_array("what theta returns", function(np.array(game.gram.points)), shape)


def _random_function(game: KernelGame, seed: int) -> Array:
    """Draw a sum of up to 100 columns of the kernel, scaled to the norm bound of the game."""
    rng = randomness.generator(seed, THETA, 0)
    count = min(game.d, MOST_CENTERS)
    centers = np.sort(rng.choice(game.d, count, replace=False))
    weights = rng.standard_normal(count)
    values = game.gram.columns(centers) @ weights
    squared = float(weights @ values[centers])
    if squared <= 0:
        return np.zeros(game.d)
    return np.asarray(values * (game.norm_bound / np.sqrt(squared)))


def random_theta(parameters: ParameterSet, seeds: Indices) -> Array:
    """Draw one parameter per seed, uniformly from Theta, shape (n, d).

    From unbounded sets, uniformly from the part that is within 1 of the middle (the default prior
    mean): on R^d from the unit ball.
    """
    if isinstance(parameters, Simplex | Box | AllParameters | Ball):
        return np.stack(
            [_draw(parameters, randomness.generator(int(seed), THETA, 0)) for seed in seeds]
        )
    if not isinstance(parameters, Polyhedral):
        raise InvalidInput(
            f"theta cannot be drawn from a {type(parameters).__name__}; give one or one per seed."
        )
    return _walked(parameters, seeds)


def kept_near(parameters: ParameterSet, points: Array) -> Array:
    """Pull points (n, d) of an unbounded set to within 1 of its middle."""
    if np.isfinite(parameters.diameter()):
        return points
    center = parameters.relative_interior_point()
    away = points - center
    far = np.linalg.norm(away, axis=1, keepdims=True)
    return np.asarray(center + away * (NEAR / np.maximum(far, NEAR)))


def _draw(parameters: ParameterSet, rng: np.random.Generator) -> Array:
    d = parameters.d
    match parameters:
        case Simplex():
            return rng.dirichlet(np.ones(d))
        case Box(low=low, high=high):
            return rng.uniform(low, high)
    center, radius = np.zeros(d), NEAR
    if isinstance(parameters, Ball):
        center, radius = parameters.center, parameters.radius
    direction = rng.standard_normal(d)
    length = radius * rng.random() ** (1.0 / d) / np.linalg.norm(direction)
    return np.asarray(center + length * direction)


def _walked(parameters: Polyhedral, seeds: Indices) -> Array:
    """Draw from a polyhedron by random walks along chords, which tend to be uniform.

    Directions are drawn in coordinates in which the set is about as wide everywhere: first those of
    its bounding box, then of the spread of some walks of their own.
    """
    center, q = parameters.relative_interior_point(), parameters.difference_basis()
    dim = q.shape[1]
    if dim == 0:
        return np.repeat(center[None], len(seeds), axis=0)
    a, b = parameters.facets()
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
    sources = [randomness.generator(int(seed), THETA, trial) for seed in seeds]
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
    """Multiply each vector (n, D) by itself, so that it does not matter how many there are."""
    return np.asarray((matrix @ vectors[:, :, None])[:, :, 0])
