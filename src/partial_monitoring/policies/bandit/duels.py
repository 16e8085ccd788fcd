"""Duels are not for policies that look at the reward of each action by itself."""

from __future__ import annotations

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.dueling import Duels


def refuse_duels(name: str, game: AnyGame) -> None:
    """Refuse duels, and say which policy plays them, with contexts or without."""
    contexts = isinstance(game, ContextualGame)
    games = game.games if isinstance(game, ContextualGame) else (game,)
    if any(isinstance(own, Duels) for own in games):
        other = "IDS or ContextualIDS" if contexts else "DuelingIDS"
        raise InvalidInput(f"{name} cannot play duels, which show differences; use {other}.")
