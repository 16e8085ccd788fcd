"""Former names of contexts."""

from __future__ import annotations

from typing import Any

from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.any_game import Context as Place
from partial_monitoring.model.contextual import same_name as same_place
from partial_monitoring.model.files import context_from_entry as read
from partial_monitoring.model.files import context_to_entry as written
from partial_monitoring.model.files import plain_row

__all__ = ["Place", "place_of", "plain_row", "read", "same_place", "written"]


def place_of(game: AnyGame, context: Any) -> Place:
    """Return the game of one round."""
    return game.context(context)
