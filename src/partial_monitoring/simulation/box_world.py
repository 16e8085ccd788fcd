"""The other side of a simulation over a box: a function that answers any point of it."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.games.functions import Function
from partial_monitoring.kernels.candidates import sobol
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.noise import NoiseFunction
from partial_monitoring.validation import Array, Indices, real_array

SEARCHED = 4096
"""Points among which the maximum of a function is looked for, before the best are polished."""

POLISHED = 8


class BoxWorld:
    """One function per seed, or one for all. Round t shows every policy the same noise.

    Parameters
    ----------
    game
        The game.
    theta
        The values at the reference points, shape (n, d): the functions of least norm with them,
        unless there is a function.
    seeds
        Shape (n,).
    function
        (n, p) -> (n,), if it is the same for all seeds.
    """

    def __init__(
        self,
        game: KernelBoxGame,
        theta: Array,
        seeds: Indices,
        noise: str | NoiseFunction | None = None,
        function: Function | None = None,
    ) -> None:
        kind = game.noise if noise is None else noise
        if kind not in ("gaussian", "none"):
            raise InvalidInput(f"noise over a box must be 'gaussian' or 'none'; got {kind!r}.")
        self.game, self.theta, self.seeds = game, theta, seeds
        self.size = float(game.noise_std) if kind == "gaussian" else 0.0
        self._stream = randomness.Stream(seeds, randomness.NOISE, 1, normal=True)
        self._function = function
        if function is None:
            self._weights = [game.weights(own) for own in theta]
            self._best = np.array([largest_value(game, self._of(i)) for i in range(len(seeds))])
        else:
            self._best = np.full(len(seeds), largest_value(game, self._of(0)))

    def observe(self, action: Indices, t: int) -> Array:
        """Return what the points (n,) show in round t (counted from 0), shape (n, 1)."""
        return np.asarray(self._values(action)[:, None] + self.size * self._stream.at(t))

    def gap(self, action: Indices, t: int = 0) -> Array:
        """Return what the points (n,) lose against the best one, shape (n,)."""
        return np.maximum(self._best - self._values(action), 0.0)

    def _values(self, action: Indices) -> Array:
        points = self.game.points_of(action)
        if self._function is not None:
            return np.asarray(self._of(0)(points))
        return np.array([self._of(i)(points[i : i + 1])[0] for i in range(len(points))])

    def _of(self, i: int) -> Function:
        if self._function is None:
            gram, weights = self.game.computed, self._weights[i]
            return lambda points: gram.kernel(points, gram.points) @ weights
        function = self._function
        return lambda x: real_array("what theta returns", function(np.array(x)), (len(x),))


def largest_value(game: KernelBoxGame, function: Function) -> float:
    """Return the largest value of a function over the box, as far as it is found.

    Of many points that fill the box the best are polished by a quasi-Newton method.
    """
    points = sobol(game.low, game.high, SEARCHED)
    values = np.asarray(function(points))
    best = float(values.max())
    for start in points[np.argsort(-values)[:POLISHED]]:
        found = minimize(
            lambda x: -float(function(x[None])[0]),
            start,
            method="L-BFGS-B",
            bounds=list(zip(game.low, game.high, strict=True)),
        )
        best = max(best, -float(found.fun))
    return best
