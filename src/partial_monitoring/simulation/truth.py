"""The true parameters of a simulation: given, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.games import functions
from partial_monitoring.kernels.gram import Computed
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.validation import Array, Indices, axes, real_array

MOST_CENTERS = 100
"""Random functions are sums of up to so many columns of the kernel."""


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
        return np.array([game.parameters.checked(own, "theta") for own in rows])
    one = game.parameters.checked(theta, "theta")  # type: ignore[arg-type]
    return np.repeat(one[None], len(seeds), axis=0)


def random_truths(game: AnyGame, seeds: Indices) -> Array:
    """Draw one parameter per seed: from Theta, or a function whose norm is the bound, (n, d)."""
    if isinstance(game, KernelGame):
        return np.stack([_random_function(game, int(seed)) for seed in seeds])
    return game.parameters.sample(seeds)


def function_of(game: AnyGame, name: str) -> functions.Function:
    """Return a test function by name, as the truth of a kernel game."""
    if not isinstance(game, KernelGame):
        raise InvalidInput(f"theta may be a function only for kernel games; got {name!r}.")
    known = functions.KNOWN[name].dimension
    if isinstance(game.gram, Computed) and known not in (None, game.gram.points.shape[1]):
        raise InvalidInput(
            f"theta {name!r} is a function of {known} coordinates; the points of the game have "
            f"{game.gram.points.shape[1]}."
        )
    return functions.named(name)


def function_values(game: KernelGame, function: Callable[[Array], Any]) -> Array:
    """Return the numbers of a kernel game for a function (n, p) -> (n,)."""
    if not isinstance(game.gram, Computed) or (game.gram.axes >= 0).any():
        raise InvalidInput(
            "theta may be a function only for games that read values of it at points; give the "
            "numbers instead."
        )
    shape = (game.d,)
    return real_array("what theta returns", function(np.array(game.gram.points)), shape)


def _random_function(game: KernelGame, seed: int) -> Array:
    """Draw a sum of up to 100 columns of the kernel, scaled to the norm bound of the game."""
    rng = randomness.generator(seed, randomness.THETA, 0)
    count = min(game.d, MOST_CENTERS)
    centers = np.sort(rng.choice(game.d, count, replace=False))
    weights = rng.standard_normal(count)
    values = game.gram.columns(centers) @ weights
    squared = float(weights @ values[centers])
    if squared <= 0:
        return np.zeros(game.d)
    return np.asarray(values * (game.norm_bound / np.sqrt(squared)))
