"""How to read the reward of an action out of its own observation.

Where an action shows its own reward, there are weights w_a and a constant c_a with

    <phi_a, theta> = <w_a, M_a theta> + c_a    for all theta in Theta,

so that <w_a, y> + c_a is the reward with noise; in a finite game it is the reward itself. Actions
that do not show all of it are read as well as least squares can.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.model.game import Game
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.validation import Array


class Readout(NamedTuple):
    """How the actions of a game show their rewards."""

    weights: Array
    """w, shape (k, m)."""
    constants: Array
    """c, shape (k,)."""
    low: float
    high: float
    """The least and the largest reward that can be read; infinite if noise is not bounded."""
    deviation: float
    """What is read is sub-Gaussian with this constant: half the range of the rewards of an action,
    or rho(a) |w_a|; the largest over all actions."""


def readout(game: Any) -> Readout:
    """Return how the actions of a game without contexts show their rewards."""
    return _of_symbols(game) if game.traits.finite else _of_numbers(game.linear)


def _of_symbols(game: Any) -> Readout:
    """Read a symbol as the mean reward of the outcomes in which it appears."""
    weights, ranges = np.zeros((game.k, game.m)), np.zeros(game.k)
    lowest, highest = np.inf, -np.inf
    for a in range(game.k):
        rows = game.rows(a)
        values = rows @ game.rewards[a] / rows.sum(axis=1)
        weights[a, : len(rows)], ranges[a] = values, np.ptp(values)
        lowest, highest = min(lowest, values.min()), max(highest, values.max())
    return Readout(
        weights, np.zeros(game.k), float(lowest), float(highest), float(ranges.max()) / 2
    )


def _of_numbers(game: Game) -> Readout:
    reduced = game.reduced
    sizes = np.linalg.norm(game.observation_maps, axis=2, keepdims=True)
    seen = np.linalg.norm(reduced.observation_maps, axis=2, keepdims=True) > RANK_TOLERANCE * sizes
    inverses = np.linalg.pinv(reduced.observation_maps * seen, rcond=RANK_TOLERANCE)  # (k, D, m)
    weights = (reduced.features[:, None, :] @ inverses)[:, 0]
    shown = game.observation_maps @ reduced.center  # (k, m)
    constants = reduced.offsets - (weights * shown).sum(axis=1)
    noise = np.broadcast_to(game.noise_std, (game.k,))
    deviation = float((noise * np.linalg.norm(weights, axis=1)).max())
    return Readout(weights, constants, -np.inf, np.inf, deviation)
