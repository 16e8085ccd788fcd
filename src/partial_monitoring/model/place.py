"""Where a live decision is made: the game that is played now, and how a policy is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.model.contextual import AnyGame, ContextualGame, same_context
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.game import Game
from partial_monitoring.validation import Array, is_whole

KEYS = ("features", "observation_maps", "noise_std", "actions", "noise")
"""What a context that was not known before is described by."""


@dataclass(frozen=True, eq=False)
class Place:
    """The game of one round."""

    game: Game
    options: Mapping[str, Any]
    """What the policy is handed: nothing, or the context."""
    positions: NDArray[np.intp] | None = None
    """Where the actions stand in what the policy answers, if that is over more of them."""
    name: str | Game | None = None
    """The label of the context, or its game if it was not known before."""

    def own(self, values: Array) -> Array:
        """Return the part of an answer (1, ...) that is about the actions of this game."""
        return np.asarray(values[0] if self.positions is None else values[0][self.positions])

    def local(self, action: int) -> int:
        """Return the number of an action of the answer in this game."""
        if self.positions is None:
            return action
        found = np.flatnonzero(self.positions == action)
        if len(found) == 0:
            raise InvalidInput(
                f"action must be one that the context offers; the policy played number {action} of "
                f"all actions in context {self.name!r}."
            )
        return int(found[0])

    def outer(self, action: int) -> int:
        """Return the number of an action of this game in what the policy answers."""
        return action if self.positions is None else int(self.positions[action])


def place_of(game: AnyGame, context: Any) -> Place:
    """Return the place of a context: a label, an index, a game, or the features and maps of one."""
    if not isinstance(game, ContextualGame):
        if context is not None:
            raise InvalidInput(f"context must be left out, the game has none; got {context!r}.")
        return Place(game, {})
    if context is None:
        raise InvalidInput("context must be given, the game has contexts.")
    if isinstance(context, str) or is_whole(context):
        z = game.context_index(context)
        return Place(
            game.at(z), {"context": np.array([z])}, game.positions(z), name=game.contexts[z]
        )
    if isinstance(context, Mapping):
        context = _described(game, context)
    if not isinstance(context, Game):
        raise InvalidInput(
            f"context must be one of the game's, a Game, or a dict with features and "
            f"observation_maps; got {context!r}."
        )
    return Place(game.checked_context(context), {"context": context}, name=context)


def same_place(one: str | Game | None, two: str | Game | None) -> bool:
    """Whether two names of places mean the same one, unlisted contexts by their content."""
    if isinstance(one, Game) and isinstance(two, Game):
        return same_context(one, two)
    return one == two


def written(name: str | Game | None) -> Any:
    """Return the name of a place as plain data."""
    return game_to_dict(name) if isinstance(name, Game) else name


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a history with its context, if it has one, as plain data."""
    return dict(row) if "context" not in row else {**row, "context": written(row["context"])}


def read(name: Any) -> Any:
    """Return the name of a place from plain data."""
    return game_from_dict(name) if isinstance(name, Mapping) else name


def _described(game: ContextualGame, context: Mapping[str, Any]) -> Game:
    for key in context:
        if key not in KEYS:
            raise unknown_name("key of a context", key, KEYS)
    for key in ("features", "observation_maps"):
        if key not in context:
            raise InvalidInput(f"context must have the key {key!r}; got {sorted(context)}.")
    options = {key: context[key] for key in ("noise_std", "actions", "noise") if key in context}
    first = game.games[0]
    options.setdefault("noise", first.noise if first.noise in Game.NOISES else "gaussian")
    if np.ndim(first.noise_std) == 0:
        options.setdefault("noise_std", first.noise_std)
    return Game(context["features"], context["observation_maps"], game.parameters, **options)
