"""What actions earn and show under true parameters, for many parameters at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.validation import Array, Indices, brief

MOST_NUMBERS = 20_000_000
"""Largest number of means that are listed beforehand."""


class Tables(NamedTuple):
    """What all actions show and lose, for parameters in rows."""

    means: Array
    """Of what is shown, shape (n, contexts, k, m)."""
    sizes: Array
    """Of the noise, shape (contexts, k)."""
    losses: Array
    """Against the best action, shape (n, contexts, k); infinite for actions not offered."""
    signals: Array
    """What actions show in each outcome of a finite game, shape (contexts, k, d, m); of other games
    it is not asked for."""


class Truths(ABC):
    """One true parameter per replicate; each kind of game has its own implementation."""

    theta: Array
    """The true parameters, shape (n, d)."""

    @abstractmethod
    def means(self, action: Indices, context: Indices | None = None) -> Array:
        """Return the means of what the actions (n,) show in their contexts (n,), shape (n, m)."""

    @abstractmethod
    def sizes(self, action: Indices, context: Indices | None = None) -> Array:
        """Return the standard deviation of the noise of the actions (n,), shape (n,)."""

    @abstractmethod
    def gap(self, action: Indices, context: Indices | None = None) -> Array:
        """Return what the actions (n,) lose per round against the best ones, shape (n,)."""

    @abstractmethod
    def outside(self, low: float, high: float) -> str | None:
        """Say which mean of an observation is not between two bounds; None if all are."""

    def tables(self) -> Tables | None:
        """Return what all actions show and lose; None if they are not listed, or too many."""
        return None

    def columns(self, action: Indices, outcome: Indices, context: Indices | None = None) -> Array:
        """Return column x of M_a for actions and outcomes (n,), the one-hot signals, (n, m)."""
        raise NotImplementedError

    def outcomes(self, uniforms: Array, context: Indices | None = None) -> Indices:
        """Return the outcomes (n,) of a finite game that uniform numbers (n, 1) draw."""
        own = self.outcome_limits
        here = own[:, 0] if own.shape[1] == 1 else own[np.arange(len(own)), context]
        return np.asarray((here <= uniforms).sum(axis=1))

    @cached_property
    def outcome_limits(self) -> Array:
        """The uniform number below which each outcome is drawn, shape (n, 1 or contexts, d)."""
        weights = np.maximum(self.theta, 0.0)
        return limits(weights / weights.sum(axis=1, keepdims=True))[:, None]


def limits(chances: Array) -> Array:
    """Return the uniform number below which each of (..., n) is drawn with its probability.

    Rounding must not pass the last one that has any probability.
    """
    last = chances.shape[-1] - 1 - (chances[..., ::-1] > 0).argmax(axis=-1)
    beyond = np.arange(chances.shape[-1]) >= last[..., None]
    return np.where(beyond, np.inf, np.cumsum(chances, axis=-1))


def mean_outside(games: Iterable[Any], thetas: Array, low: float, high: float) -> str | None:
    """Say which mean of an observation under parameters (n, d) is first not between two bounds."""
    for theta in np.unique(thetas, axis=0):
        for game in games:
            means = game.shown(theta[None])[0]
            for a, row in np.argwhere((means < low) | (means > high)):
                return f"action {brief(game.actions[a])} has mean {means[a, row]:g}"
    return None
