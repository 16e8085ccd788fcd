"""The simulated environment: true parameters that answer actions, for many seeds at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.games import functions
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.feedback import NoiseFunction
from partial_monitoring.model.truths import Truths
from partial_monitoring.validation import Array, Indices


class Schedule(NamedTuple):
    """Some parameters, and which of them holds when."""

    truths: Truths
    """What actions earn and show under q parameters."""
    rows: Indices
    """Which parameter holds in each round, shape (1 or n, rounds); (1, 0) if none ever moves: then
    there is one for all replicates, or one for each."""


class Environment:
    """One true parameter per seed; round t shows every policy the same context and noise.

    Parameters
    ----------
    game
        The game, of any kind; actions are numbered over all contexts.
    theta
        The true parameters, shape (n, d).
    seeds
        Shape (n,).
    noise
        As for :class:`partial_monitoring.Instance`; that of the game unless given.
    function
        (n, p) -> (n,), if theta represents one function over a box.
    """

    def __init__(
        self,
        game: AnyGame,
        theta: Array,
        seeds: Indices,
        noise: str | NoiseFunction | None = None,
        function: Callable[[Array], Any] | None = None,
    ) -> None:
        self.game, self.theta, self.seeds = game, theta, seeds
        self.feedback = game.feedback(noise)
        for own in np.unique(theta, axis=0):
            game.parameters.checked(own)
        self.truths = game.truths(theta, functions.with_maximizers(function))
        self.feedback.check(self.truths)
        self._numbers = self.feedback.source(game, seeds)
        self._contexts = randomness.Stream(seeds, randomness.CONTEXT, 1)
        self._limits = game.context_limits

    def context(self, t: int) -> Indices | None:
        """Return the contexts of round t (counted from 0), shape (n,); None without contexts."""
        if self._limits is None:
            return None
        uniforms = self._contexts.at(t)[:, 0]
        return np.searchsorted(self._limits, uniforms, side="right").astype(np.int64)

    def observe(self, action: Indices, t: int) -> Array:
        """Return what the actions (n,) show in round t, shape (n, m)."""
        return self.feedback.draw(self.truths, action, self.context(t), self._numbers.at(t))

    def gap(self, action: Indices, t: int = 0) -> Array:
        """Return what the actions (n,) lose against the best ones in round t, shape (n,)."""
        return self.truths.gap(action, self.context(t))

    def schedule(self) -> Schedule:
        """Return the parameters and when they hold, for compiled loops."""
        theta = self.theta
        same = len(theta) > 1 and bool((theta == theta[0]).all())  # listed once
        truths = self.game.truths(theta[:1]) if same else self.truths
        return Schedule(truths, np.zeros((1, 0), dtype=np.int32))

    def lead(self, marks: Indices) -> Array | None:
        """Return by how much the best actions of all rounds beat what regret is measured against.

        That is, until each of the given rounds, shape (1 or n, marks); None if it is the same.
        """
        return None
