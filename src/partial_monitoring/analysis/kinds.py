"""What the analysis asks of a game whose answer depends on the kind of game."""

from __future__ import annotations

from typing import Any

from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.finite import FiniteGame

MOST_VALUES = 1000
"""Kernel games of more function values than this are not checked before play: it takes too long."""


def stated_norm_bound(game: Any) -> float | None:
    """Return the bound B of the norm that a game states, or None if its parameter set has one."""
    return float(game.norm_bound) if game.traits.function else None


def finite_game(game: Any) -> FiniteGame | None:
    """Return the game if it is finite, None otherwise."""
    return game if game.traits.finite else None


def may_be_hopeless(game: AnyGame) -> bool:
    """Whether it takes an analysis to see that a game can be learned."""
    if game.traits.function:
        return not game.shows_own_reward and game.d <= MOST_VALUES
    return not game.traits.duels
