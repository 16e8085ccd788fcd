"""Contextual partial monitoring: one game per context over one parameter (section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring import display
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game, index_of
from partial_monitoring.model.kernel import KernelGame
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.validation import (
    Array,
    Indices,
    frozen,
    labels,
    probabilities,
    set_fields,
)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ContextualGame:
    """A game whose features, maps and available actions depend on a context seen before acting.

    Context z is itself a :class:`Game` with the features phi_a^z, the maps M_a^z and the available
    actions A(z); all contexts share one unknown parameter theta. Actions with one label are the
    same action in different contexts.

    Parameters
    ----------
    games
        One game per context, all over the same parameter set.
    context_distribution
        chi, the probability of each context; uniform if not given.
    contexts
        Labels of the contexts; without them the indices.

    Examples
    --------
    >>> from partial_monitoring import AllParameters, ContextualGame, Game
    >>> theta = AllParameters(2)
    >>> answers = Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], theta)
    >>> silent = Game([[1, 0], [0, 1]], [[], []], theta)
    >>> ContextualGame([answers, silent], [0.3, 0.7], ["answers", "silent"]).at("silent").rank
    0
    """

    games: tuple[Game, ...]
    context_distribution: Array
    contexts: tuple[str, ...]

    def __init__(
        self,
        games: Iterable[Game],
        context_distribution: ArrayLike | None = None,
        contexts: Iterable[object] | None = None,
    ) -> None:
        checked = _checked_games(games)
        count = len(checked)
        if context_distribution is None:
            context_distribution = np.full(count, 1.0 / count)
        set_fields(
            self,
            games=checked,
            context_distribution=probabilities("context_distribution", context_distribution, count),
            contexts=labels("contexts", contexts, count),
        )

    @property
    def parameters(self) -> ParameterSet:
        """The parameter set that all contexts share."""
        return self.games[0].parameters

    @property
    def d(self) -> int:
        """Length of the parameter vector."""
        return self.games[0].d

    @property
    def k(self) -> int:
        """Number of different actions over all contexts."""
        return len(self.actions)

    @property
    def m(self) -> int:
        """Largest number of rows of an observation map."""
        return max(game.m for game in self.games)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The labels of all actions, in order of first appearance."""
        return tuple(dict.fromkeys(label for game in self.games for label in game.actions))

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        """A(z) as a mask, shape (contexts, k)."""
        mask = np.zeros((len(self.games), self.k), dtype=bool)
        for z in range(len(self.games)):
            mask[z, self.positions(z)] = True
        mask.setflags(write=False)
        return mask

    @cached_property
    def features(self) -> Array:
        """phi_a^z, shape (contexts, k, d); zero where the action is not available."""
        stacked = np.zeros((len(self.games), self.k, self.d))
        for z, game in enumerate(self.games):
            stacked[z, self.positions(z)] = game.features
        return frozen(stacked)

    @cached_property
    def observation_maps(self) -> Array:
        """M_a^z, shape (contexts, k, m, d); zero where the action is not available."""
        stacked = np.zeros((len(self.games), self.k, self.m, self.d))
        for z, game in enumerate(self.games):
            stacked[z, self.positions(z), : game.m] = game.observation_maps
        return frozen(stacked)

    def positions(self, context: int | str) -> NDArray[np.intp]:
        """Return where the actions of ``at(context)`` stand among all actions."""
        return self._positions[self.context_index(context)]

    @cached_property
    def _positions(self) -> tuple[NDArray[np.intp], ...]:
        where = {label: a for a, label in enumerate(self.actions)}
        return tuple(
            np.array([where[label] for label in game.actions], dtype=np.intp) for game in self.games
        )

    @cached_property
    def local_actions(self) -> NDArray[np.intp]:
        """Where all actions stand among those of each context, -1 if not, shape (contexts, k)."""
        local = np.full((len(self.games), self.k), -1, dtype=np.intp)
        for z, places in enumerate(self._positions):
            local[z, places] = np.arange(len(places))
        return local

    def context_index(self, context: int | str) -> int:
        """Return the index of a context given by index or by label."""
        return index_of("context", context, self.contexts)

    def at(self, context: int | str) -> Game:
        """Return the game that is played when the given context is seen."""
        return self.games[self.context_index(context)]

    def checked_context(self, game: Game) -> Game:
        """Return a context that is given by its game, if it is over the same parameters."""
        if not game.parameters.equals(self.parameters):
            raise InvalidInput(
                f"context must be a game over the parameters of all contexts, "
                f"{self.parameters!r}; got {game.parameters!r}."
            )
        return game

    def check_offered(self, context: Indices, action: Indices) -> None:
        """Refuse actions (n,), numbered over all contexts, that their contexts (n,) lack."""
        there = (action >= 0) & (action < self.k)
        there &= self.available[context, np.where(there, action, 0)]
        if not there.all():
            names = np.array(self.contexts, dtype=object)[context]
            check_offered(self.actions, action, there, names)

    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return the tables that show this game."""
        headline = f"{len(self.games)} contexts, {self.k} actions"
        return display.contextual_sheets(self, title or headline)

    def __repr__(self) -> str:
        kind = type(self.parameters).__name__
        return (
            f"ContextualGame(contexts={len(self.games)}, k={self.k}, d={self.d}, m={self.m}, "
            f"parameters={kind})"
        )

    def __str__(self) -> str:
        return display.as_text(self.sheets())

    def _repr_html_(self) -> str:
        return display.as_html(self.sheets())


def check_offered(
    labels: Sequence[str], action: Indices, there: NDArray[np.bool_], names: Any = None
) -> None:
    """Refuse the first action (n,) that is not there (n,); names are those of the contexts."""
    if there.all():
        return
    first = int(np.flatnonzero(~there)[0])
    number = int(action[first])
    label = labels[number] if 0 <= number < len(labels) else number
    where = "" if names is None else f" in context {names[first]!r}"
    raise InvalidInput(f"action must be one that the context offers; got {label!r}{where}.")


def same_context(one: Game, two: Game) -> bool:
    """Whether two contexts have the same features, maps and noise."""
    return one is two or all(
        np.array_equal(getattr(one, name), getattr(two, name))
        for name in ("features", "observation_maps", "noise_std")
    )


def _checked_games(value: Iterable[Game]) -> tuple[Game, ...]:
    """Validate that the contexts are games over one parameter set."""
    if not isinstance(value, Iterable):
        raise InvalidInput(f"games must hold one Game per context; got {value!r}.")
    games = tuple(value)
    if not games:
        raise InvalidInput("games must hold at least one context; got none.")
    for z, game in enumerate(games):
        if not isinstance(game, Game):
            raise InvalidInput(f"games must hold one Game per context; got {game!r} at {z}.")
        if isinstance(game, KernelGame):
            raise InvalidInput(
                f"contexts cannot be kernel games; give the linear ones, game.linear; got {game!r} "
                f"at {z}."
            )
        if not game.parameters.equals(games[0].parameters):
            raise InvalidInput(
                f"all contexts must share one parameter set; context {z} has {game.parameters!r}, "
                f"context 0 has {games[0].parameters!r}."
            )
        if _outcomes(game) != _outcomes(games[0]):
            raise InvalidInput(
                f"finite contexts must share their outcomes; context {z} has {_outcomes(game)}, "
                f"context 0 has {_outcomes(games[0])}."
            )
    return games


def _outcomes(game: Game) -> Sequence[str] | None:
    return game.outcomes if isinstance(game, FiniteGame) else None


AnyGame = Game | ContextualGame
"""A game with or without contexts."""
