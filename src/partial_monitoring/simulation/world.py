"""The other side of a simulation: true parameters that answer actions, for many seeds at once."""

from __future__ import annotations

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.instance import Instance
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.model.noise import NOISE, NoiseFunction, disturbed, drawn, outcome_limits
from partial_monitoring.validation import Array, Indices

MOST_MEANS = 2_000_000
"""Up to so many numbers the means of all observations are computed in advance."""


class World:
    """One instance per seed. Round t shows every policy the same outcome or the same noise.

    Parameters
    ----------
    game
        The game.
    theta
        The true parameters, shape (n, d).
    seeds
        Shape (n,).
    noise
        As for :class:`Instance`; what the game says unless given.
    """

    def __init__(
        self, game: Game, theta: Array, seeds: Indices, noise: str | NoiseFunction | None = None
    ) -> None:
        self.game, self.theta, self.seeds = game, theta, seeds
        self.kind = game.noise if noise is None else noise
        self._each = np.arange(len(seeds))
        if isinstance(game, Duels):
            self._utilities = game.utilities(theta)
            check_noise(self.kind, float(np.ptp(self._utilities, axis=1).max()))
        else:
            for own in np.unique(theta, axis=0):
                Instance(game, own, noise)  # refuses what cannot be played
            rewards = game.earned(theta)
            self._gaps = rewards.max(axis=1, keepdims=True) - rewards
        if isinstance(game, FiniteGame):
            self._prepare_outcomes(game)
        else:
            self._table: Array | None = None
            if not isinstance(game, Duels):
                self._std = np.broadcast_to(game.noise_std, (game.k,))
                if len(seeds) * game.k * game.m <= MOST_MEANS:
                    self._table = game.shown(theta)
            normal = self.kind == "gaussian"
            self._stream = randomness.Stream(seeds, randomness.NOISE, max(game.m, 1), normal=normal)

    def observe(self, action: Indices, t: int) -> Array:
        """Return what the actions (n,) show in round t (counted from 0), shape (n, m)."""
        if isinstance(self.game, FiniteGame):
            uniform = self._stream.at(t)
            outcome = (self._cumulative <= uniform).sum(axis=1)
            shown = np.zeros((len(action), self.game.m))
            shown[self._each, self._symbol[action, outcome]] = 1.0
            return shown
        means, std = self._expected(action)
        if callable(self.kind):
            return self._own_noise(action, means, std, t)
        return disturbed(self.kind, means, std, self._stream.at(t)[:, : self.game.m])

    def gap(self, action: Indices, t: int = 0) -> Array:
        """Return what the actions (n,) lose against the best one, in any round, shape (n,)."""
        if isinstance(self.game, Duels):
            first, second = np.divmod(action, self.game.count)
            own = self._utilities[self._each, first] + self._utilities[self._each, second]
            return np.asarray(2 * self._utilities.max(axis=1) - own)
        return np.asarray(self._gaps[self._each, action])

    def _expected(self, action: Indices) -> tuple[Array, Array]:
        """Return the means (n, m) of what the actions show, and the sizes (n,) of the noise."""
        if isinstance(self.game, Duels):
            first, second = np.divmod(action, self.game.count)
            shown = self._utilities[self._each, first] - self._utilities[self._each, second]
            return shown[:, None], np.full(len(action), float(self.game.noise_std))
        if self._table is not None:
            return self._table[self._each, action], self._std[action]
        if isinstance(self.game, KernelGame):
            return self.game.shown_by(action, self.theta), self._std[action]
        means = (self.game.observation_maps[action] @ self.theta[:, :, None])[:, :, 0]
        return means, self._std[action]

    def _prepare_outcomes(self, game: FiniteGame) -> None:
        self._cumulative = outcome_limits(self.theta)
        self._symbol = game.observation_maps.argmax(axis=1)  # (k, d): which row an outcome shows
        self._stream = randomness.Stream(self.seeds, randomness.NOISE, 1)

    def _own_noise(self, action: Indices, means: Array, std: Array, t: int) -> Array:
        assert callable(self.kind)
        shown = np.zeros_like(means)
        for i, a in enumerate(action):
            rows = self.game.row_count(int(a))
            rng = randomness.generator(int(self.seeds[i]), randomness.NOISE, t)
            shown[i, :rows] = drawn(self.kind, means[i, :rows], float(std[i]), rng)
        return shown


def check_noise(noise: object, widest: float) -> None:
    """Refuse unknown noise, and duels (means from -widest to widest) that it cannot show."""
    if callable(noise):
        return
    if not isinstance(noise, str) or noise not in NOISE:
        raise unknown_name("noise", noise, NOISE)
    low, high = NOISE[noise].low, NOISE[noise].high
    if not low - 1e-9 <= -widest or not widest <= high + 1e-9:
        raise InvalidInput(
            f"{noise} observations need means between {low:g} and {high:g}; duels have means "
            f"between {-widest:g} and {widest:g}."
        )
