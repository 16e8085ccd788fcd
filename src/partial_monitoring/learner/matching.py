"""Which actions of one game are those of another, and what they showed means the same in both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.linear.weighted import Rows
from partial_monitoring.learner.spec import Spec
from partial_monitoring.model.any_game import AnyGame, Context
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.function_game import FunctionGame
from partial_monitoring.model.segments import SegmentedGame
from partial_monitoring.validation import Array

STAYS, CHANGED, GONE = "stays", "changed", "gone"
"""What became of an action: it shows what it showed, it shows something else, it is no more."""

MOST_NAMED = 10_000
"""Largest number of actions whose names are compared to say which were added."""


class Match(NamedTuple):
    """What became of an action in another game."""

    fate: str
    context: Context | None = None
    action: int = -1
    """Its number in the game of its context."""


class Matching:
    """The actions of one game in another, by name; refused if the unknowns are different."""

    def __init__(self, old: Spec, new: Spec) -> None:
        self.old, self.new = old, new
        self._found: dict[tuple[Any, int], Match] = {}
        _refuse_other_unknowns(old.game, new.game)

    def __call__(self, context: Context, action: int) -> Match:
        """Return what became of an action of a context of the old game."""
        if not (context.name is None or isinstance(context.name, str)):
            return self._match(context, action)
        key = context.name, action
        if key not in self._found:
            self._found[key] = self._match(context, action)
        return self._found[key]

    def _match(self, context: Context, action: int) -> Match:
        label, number = context.game.action_label(action), action
        try:
            there = self.new.context(context.name)
            if action >= there.game.k or not there.game.is_called(action, label):
                number = there.game.action_index(label)
        except InvalidInput:
            return Match(GONE)
        one = games_of(self.old.game).get(context.name, context.game)
        two = games_of(self.new.game).get(there.name, there.game)
        stays = _shows_the_same(one, action, two, number)
        return Match(STAYS if stays else CHANGED, there, number)

    def rows_of(self, seen: Context, action: int) -> Rows | None:
        """Return what an action of the old game showed of the unknown, if that is the same in both.

        Then it says something about the new game, whatever became of the action.
        """
        old, new = self.old.game, self.new.game
        if old.traits.function or old.d != new.d or unknown_of(old) != unknown_of(new):
            return None
        noise = np.ravel(seen.game.noise_std)
        return Rows(np.asarray(seen.game.rows(action)), float(noise[action % len(noise)]))

    def names(self) -> tuple[list[str], list[str]]:
        """Return the actions (of duels, the items) that were added, and those that are gone."""
        one, two = _names(self.old.game), _names(self.new.game)
        return [x for x in two if x not in one], [x for x in one if x not in two]

    @property
    def notes(self) -> list[str]:
        """What else is to be said of the two games."""
        one, two = unknown_of(self.old.game), unknown_of(self.new.game)
        if one == two:
            return []
        return [f"There were {one}, now there are {two}: what was observed is read in the new game"]


# -- games -----------------------------------------------------------------------------------


@singledispatch
def games_of(game: Any) -> Mapping[str | None, Any]:
    """Return the game of each listed context by name, None without contexts."""
    return {None: game}


@games_of.register
def _(game: ContextualGame) -> Mapping[str | None, Any]:
    return dict(zip(game.contexts, game.games, strict=True))


@games_of.register
def _(game: SegmentedGame) -> Mapping[str | None, Any]:
    return dict(zip(game.contexts, game.segments, strict=True))


@singledispatch
def unknown_of(game: Any) -> str:
    """Return what is unknown in a game, in words."""
    return f"{game.d} unknown numbers"


@unknown_of.register
def _(game: FiniteGame) -> str:
    return f"the outcomes {', '.join(game.outcomes)}"


@unknown_of.register
def _(game: FunctionGame) -> str:
    return f"an unknown function ({game.computed.kernel!r})"


@unknown_of.register
def _(game: ContextualGame) -> str:
    return unknown_of(game.games[0])


@unknown_of.register
def _(game: SegmentedGame) -> str:
    own = (f"{name}: {unknown_of(x)}" for name, x in zip(game.contexts, game.segments, strict=True))
    return f"segments ({'; '.join(own)})"


def _refuse_other_unknowns(old: AnyGame, new: AnyGame) -> None:
    """Refuse a game in which nothing that was observed would mean anything.

    Signals mean what they are called, whatever the outcomes behind them, if an action that stays
    shows the same ones; numbers are shown of the same unknowns only.
    """
    one, two = old.traits, new.traits
    kinds = ("signals", "contexts", "function", "duels")
    alike = all(getattr(one, name) == getattr(two, name) for name in kinds)
    both = games_of(old), games_of(new)
    shared = [(both[0][name], both[1][name]) for name in both[0] if name in both[1]]
    if alike and one.signals:
        alike = any(unknown_of(x) == unknown_of(y) or _share_signals(x, y) for x, y in shared)
    elif alike:
        alike = all(unknown_of(x) == unknown_of(y) for x, y in shared)
    if not (alike and shared):
        raise InvalidInput(
            f"game must have the same unknowns as the learner's, {unknown_of(old)}; got "
            f"{unknown_of(new)}."
        )


def _share_signals(one: Any, two: Any) -> bool:
    """Whether an action of the same name shows the same signals in two games."""
    return any(
        set(one.symbols[a]) == set(two.symbols[two.action_index(label)])
        for a, label in enumerate(one.actions)
        if label in two.actions
    )


def _shows_the_same(one: Any, a: int, two: Any, b: int) -> bool:
    """Whether what two actions of two games show means the same."""
    if one.traits.signals:
        first, second = _signals(one, a), _signals(two, b)
        return first.keys() == second.keys() and (
            one.outcome_labels != two.outcome_labels or first == second
        )
    if one.traits.function:
        pairs = zip(_reads(one, a), _reads(two, b), strict=True)
        return all(x.shape == y.shape and bool(np.allclose(x, y)) for x, y in pairs)
    return bool(np.array_equal(one.rows(a), two.rows(b)))


def _reads(game: Any, action: int) -> tuple[Array, Array, Array]:
    """Return where an action reads the function, of which coordinate, and with which weight."""
    found = game.reading(np.array([action]))
    rows = slice(found.counts[0])
    places = found.rows.index[0, rows]
    return found.points[places], found.axes[places], found.rows.weight[0, rows]


def _signals(game: Any, action: int) -> dict[Any, tuple[float, ...]]:
    """Return in which outcomes an action shows each of its signals."""
    return {
        symbol: tuple(row.tolist())
        for symbol, row in zip(game.symbols[action], game.rows(action), strict=True)
    }


def _names(game: Any) -> list[str]:
    """Return the names of the actions of a game, of duels those of the items."""
    if not game.traits.listed:
        return []
    if game.traits.duels and not game.traits.contexts:
        return list(game.items)
    return list(game.actions) if game.k <= MOST_NAMED else []
