"""What the analysis asks of a game whose answer depends on the kind of game."""

from __future__ import annotations

from functools import singledispatch

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.dueling import Duels
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.kernel import KernelGame

MOST_VALUES = 1000
"""Kernel games of more function values than this are not checked before play: it takes too long."""


@singledispatch
def linear_game(game: object) -> Game:
    """Return the linear game that is analysed in place of a game, itself in most cases."""
    raise InvalidInput(f"game must be a Game; got {game!r}.")


@linear_game.register
def _(game: Game) -> Game:
    return game


@linear_game.register
def _(game: KernelGame) -> Game:
    return game.linear


@singledispatch
def stated_norm_bound(game: object) -> float | None:
    """Return the bound B of the norm that a game states, or None if its parameter set has one."""
    return None


@stated_norm_bound.register
def _(game: KernelGame) -> float | None:
    return game.norm_bound


@singledispatch
def finite_game(game: object) -> FiniteGame | None:
    """Return the game if it is finite, None otherwise."""
    return None


@finite_game.register
def _(game: FiniteGame) -> FiniteGame | None:
    return game


@singledispatch
def may_be_hopeless(game: object) -> bool:
    """Whether it takes an analysis to see that a game can be learned."""
    return True


@may_be_hopeless.register
def _(game: Duels) -> bool:
    return False


@may_be_hopeless.register
def _(game: KernelGame) -> bool:
    return not game.mirrored and game.d <= MOST_VALUES
