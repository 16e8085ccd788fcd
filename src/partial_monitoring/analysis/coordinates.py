"""The rewards of a game in coordinates in which Theta has size about one.

Parameters are written theta = origin + to_theta v. Rewards are then offsets + slopes v with offsets
and slopes in the same units, so that they can be compared, whatever the size and place of Theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets.coordinates import Coordinates
from partial_monitoring.validation import Array

NOISE = 1e-13
"""Rounding error of a reward, relative to the features and parameters it is computed from."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalCoordinates(Coordinates):
    """The rewards of a game in local coordinates v of its parameter set."""

    offsets: Array
    """Rewards at the origin, shape (k,)."""
    slopes: Array
    """Shape (k, n)."""
    noise: Array
    """How large differences of an action's reward may be by rounding alone, shape (k,)."""

    def sizes(self, action: int) -> Array:
        """Return how far the rewards of all actions differ from that of one, never zero, (k,)."""
        sizes = self._differences(action)
        return np.where(sizes > 0, sizes, 1.0)

    def same(self, action: int) -> Array:
        """Return which actions have the reward of the given one, up to rounding, (k,) of bool."""
        return np.asarray(self._differences(action) <= self.noise + self.noise[action])

    def _differences(self, action: int) -> Array:
        """Return bounds of the differences of all rewards to that of an action, shape (k,)."""
        apart = np.abs(self.slopes - self.slopes[action]).max(axis=1, initial=0.0)
        return np.asarray(apart + np.abs(self.offsets - self.offsets[action]))


def local_coordinates(game: Game) -> LocalCoordinates:
    """Return the rewards of a game in the coordinates of its parameter set."""
    whole = game.parameters.coordinates()
    found = _with_rewards(game, whole)
    if whole.inner is None:
        return found
    apart = np.abs(found.offsets - found.offsets[0])
    tied = (apart <= found.noise + found.noise[0]).all()
    return _with_rewards(game, whole.inner) if tied else found


def _with_rewards(game: Game, coordinates: Coordinates) -> LocalCoordinates:
    features, origin, to_theta = game.features, coordinates.origin, coordinates.to_theta
    reach = float(np.abs(origin).max()) + coordinates.size
    return LocalCoordinates(
        origin,
        to_theta,
        coordinates.size,
        coordinates.local,
        offsets=features @ origin,
        slopes=features if to_theta is None else features @ to_theta,
        noise=NOISE * np.abs(features).max(axis=1) * reach,
    )


def all_actions(games: Sequence[Game]) -> Game:
    """Return the plain game of the actions of several games with the same parameter."""
    features = np.concatenate([own.features for own in games])
    maps = [own.rows(a) for own in games for a in range(own.k)]
    return Game(features, maps, games[0].parameters)
