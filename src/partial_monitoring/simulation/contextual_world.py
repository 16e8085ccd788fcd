"""The other side of a simulation with contexts: they come, and actions are answered."""

from __future__ import annotations

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.instance import ContextualInstance, Instance
from partial_monitoring.model.noise import NOISE, NoiseFunction, disturbed, outcome_limits
from partial_monitoring.validation import Array, Indices


class ContextualWorld:
    """One instance per seed. Round t brings every policy the same context, outcome and noise.

    Actions are numbered as in ``game.actions``, over all contexts.

    Parameters
    ----------
    game
        The game; contexts are drawn from its context distribution.
    theta
        The true parameters, shape (n, d).
    seeds
        Shape (n,).
    noise
        As for :class:`partial_monitoring.Instance`.
    """

    def __init__(
        self,
        game: ContextualGame,
        theta: Array,
        seeds: Indices,
        noise: str | NoiseFunction | None = None,
    ) -> None:
        kinds = {own.noise if noise is None else noise for own in game.games}
        if len(kinds) > 1 or callable(noise):
            raise InvalidInput(
                f"noise must be one of the library's and the same in all contexts; got "
                f"{noise or sorted(map(str, kinds))!r}."
            )
        self.game, self.theta, self.seeds = game, theta, seeds
        self.kind = next(iter(kinds))
        self._refuse(noise)
        self._each = np.arange(len(seeds))
        self._finite = isinstance(game.games[0], FiniteGame)
        self._coming = randomness.Stream(seeds, randomness.CONTEXT, 1)
        chances = np.cumsum(game.context_distribution)
        last = len(chances) - 1 - (game.context_distribution[::-1] > 0).argmax()
        self._chances = np.where(np.arange(len(chances)) >= last, np.inf, chances)
        normal = self.kind == "gaussian" and not self._finite
        width = 1 if self._finite else max(game.m, 1)
        self._stream = randomness.Stream(seeds, randomness.NOISE, width, normal=normal)
        self._std = np.ones((len(game.games), game.k))
        for z, own in enumerate(game.games):
            self._std[z, game.positions(z)] = own.noise_std
        if self._finite:
            self._cumulative = outcome_limits(theta)
            self._symbol = game.observation_maps.argmax(axis=2)  # (contexts, k, d)

    def _refuse(self, noise: str | NoiseFunction | None) -> None:
        """Refuse what cannot be played: parameters outside, means that the noise cannot have."""
        different = np.unique(self.theta, axis=0)
        for own in different:
            self.game.parameters.checked(own)
        Instance(self.game.games[0], different[0], noise)
        bounds = NOISE.get(str(self.kind))
        if bounds is not None and np.isfinite([bounds.low, bounds.high]).any():
            # Means of actions that are not there are zero, which all noise can have.
            means = self.game.observation_maps @ different.T  # (contexts, k, m, parameters)
            off = (means < bounds.low - 1e-9) | (means > bounds.high + 1e-9)
            for own in different[off.any(axis=(0, 1, 2))]:
                ContextualInstance(self.game, own, noise)

    def context(self, t: int) -> Indices:
        """Return the contexts of round t (counted from 0), shape (n,)."""
        uniforms = self._coming.at(t)[:, 0]
        return np.searchsorted(self._chances, uniforms, side="right").astype(np.int64)

    def observe(self, action: Indices, t: int) -> Array:
        """Return what the actions (n,) show in round t, shape (n, m)."""
        z = self.context(t)
        self.game.check_offered(z, action)
        if self._finite:
            outcome = (self._cumulative <= self._stream.at(t)).sum(axis=1)
            shown = np.zeros((len(action), self.game.m))
            shown[self._each, self._symbol[z, action, outcome]] = 1.0
            return shown
        rows = self.game.observation_maps[z, action]  # (n, m, d)
        means = (rows * self.theta[:, None, :]).sum(axis=-1)
        draws = self._stream.at(t)[:, : self.game.m]
        return disturbed(self.kind, means, self._std[z, action], draws)

    def gap(self, action: Indices, t: int) -> Array:
        """Return what the actions (n,) lose in round t against the best of their context."""
        z = self.context(t)
        rewards = (self.game.features[z] * self.theta[:, None, :]).sum(axis=-1)  # (n, k)
        rewards = np.where(self.game.available[z], rewards, -np.inf)
        return np.asarray(rewards.max(axis=1) - rewards[self._each, action])
