"""What is known about the game of a study before it is played, computed once for each game."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from threading import Lock, RLock
from typing import Any

import numpy as np

from partial_monitoring.analysis.advice import advise
from partial_monitoring.analysis.bounds import bounds
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.contextual.bounds import contextual_bounds
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.tables import from_table
from partial_monitoring.service.views.plainly import plainly
from partial_monitoring.service.views.taken import remembered
from partial_monitoring.validation import brief

MOST_KEPT = 64
"""Largest number of games whose analyses are kept."""

MOST_ANALYSED, MOST_BOUNDED, MOST_ADVISED = 200, 50, 20
"""Largest numbers of actions, over all contexts, of games that are analysed, whose regret is
bounded, and for which measurements are sought, while others wait."""

MOST_CELLS = 400
"""Largest number of cells of a table that is classified while it is written."""

HORIZONS = np.logspace(0.0, 9.0, 73)
"""The numbers of rounds between which bounds are interpolated."""

TABLE_KEYS = ("actions", "outcomes", "earns", "shows")


class Theory:
    """The analysis of one game, each part computed when it is first asked for."""

    def __init__(self, game: AnyGame) -> None:
        self.game = game
        self._lock = RLock()

    @cached_property
    def _size(self) -> int:
        """The number of actions over all contexts; of duels, the number of items."""
        game: Any = self.game
        if game.traits.contexts:
            return sum(own.k for own in game.games)
        return int(game.item_count if game.traits.duels else game.k)

    def _too_large(self, most: int, what: str) -> str:
        if self.game.traits.listed and self._size <= most:
            return ""
        if not self.game.traits.listed:
            return f"The actions of this game are not listed, so that it is not {what}."
        return (
            f"A game with {self._size:,} actions is not {what} by the service, where others wait; "
            f"the library does it."
        )

    @cached_property
    def _analysis(self) -> Any:
        """The analysis, or why there is none."""
        why = self._too_large(MOST_ANALYSED, "analysed")
        try:
            return why or analyze(self.game)  # type: ignore[call-overload]
        except PartialMonitoringError as error:
            return str(error)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The class of the game and why it is in it: ``category``, ``explanation``, ``certified``.

        Without an analysis the class is None, and the explanation says why.
        """
        with self._lock:
            found = self._analysis
        if isinstance(found, str):
            return {"category": None, "explanation": [found], "certified": False}
        lines = found.explain().splitlines()
        known = {"category": found.category, "explanation": lines}
        return known | {"certified": bool(found.certified)}

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All facts about the game."""
        with self._lock:
            found = self._analysis
            if isinstance(found, str) or self._size > MOST_BOUNDED:
                return self.summary
            known: dict[str, Any] = plainly(found.to_dict())
        return self.summary | {"facts": known}

    @cached_property
    def advice(self) -> dict[str, Any]:
        """What to measure: ``sentences``, and the measurements if there are any."""
        with self._lock:
            why = self._too_large(MOST_ADVISED, "searched for measurements")
            if self.game.traits.contexts:
                why = "What to measure is not searched for in games with contexts."
            try:
                found = None if why else advise(self.game)  # type: ignore[arg-type]
            except PartialMonitoringError as error:
                found, why = None, str(error)
        if found is None:
            return {"sentences": [why], "measurements": []}
        known: dict[str, Any] = plainly(found.to_dict())
        return known | {"sentences": found.explain().splitlines()}

    def prepare(self) -> None:
        """Compute what pages show, before somebody waits for it."""
        if self.summary["category"] in ("hard", "hopeless"):
            self.advice  # noqa: B018

    @cached_property
    def _bounds(self) -> Any:
        """What is guaranteed at each of the ``HORIZONS``; None if no theorem says anything."""
        if isinstance(self._analysis, str) or self._too_large(MOST_BOUNDED, ""):
            return None
        game: Any = self.game
        bound: Any = contextual_bounds if game.traits.contexts else bounds
        try:
            return bound(game, HORIZONS, analysis=self._analysis).guaranteed
        except PartialMonitoringError:
            return None

    def regret(self, n: int) -> float | None:
        """Return the regret bound of IDS after n rounds, or what any policy loses if that is less.

        None if there is none.
        """
        with self._lock:
            known = self._bounds
        if known is None or n < 1:
            return None if known is None else 0.0
        if not (np.isfinite(known).all() and (known > 0).all()):
            return 0.0 if not known.any() else None
        return float(np.exp(np.interp(np.log(n), np.log(HORIZONS), np.log(known))))


_theories: OrderedDict[str, Theory] = OrderedDict()
_lock = Lock()


def theory(game: AnyGame) -> Theory:
    """Return what is known about a game, kept by its content."""
    try:
        name = sha256(json.dumps(game_to_dict(game), sort_keys=True).encode()).hexdigest()
    except (PartialMonitoringError, TypeError, ValueError):  # with an oracle of one's own
        return Theory(game)
    with _lock:
        found = _theories.pop(name, None) or Theory(game)
        _theories[name] = found
        while len(_theories) > MOST_KEPT:
            _theories.popitem(last=False)
    return found


def theory_of(hosted: LearnerBase) -> Theory:
    """Return what is known about the game of a study."""
    return remembered(hosted, "theory", 0, lambda: theory(hosted.game))


# -- views -----------------------------------------------------------------------------------


def analysis(hosted: LearnerBase) -> dict[str, Any]:
    """Return the class of the game, why it is in it, and all facts about it."""
    return theory_of(hosted).facts


def advice(hosted: LearnerBase) -> dict[str, Any]:
    """Return what to measure so that the game becomes easier."""
    return theory_of(hosted).advice


def classify(table: Any) -> dict[str, Any]:
    """Return the class of a table that somebody writes, with explanation and advice.

    Parameters
    ----------
    table
        ``{action: {outcome: [earns, shows]}}``; or ``actions``, ``outcomes``, and one list per
        action in ``earns`` (numbers) and ``shows`` (signals; None is one, too); or a finite game as
        in a file.
    """
    own = theory(game_of_table(table))
    return own.summary | {"advice": own.advice}


def game_of_table(table: Any) -> AnyGame:
    """Return the game of a table, or refuse it in a sentence."""
    if not isinstance(table, Mapping):
        raise InvalidInput(f"table must have rows of actions; got {brief(table)}.")
    if "signals" in table and ("rewards" in table or "losses" in table):
        return game_from_dict(_small(table))
    if set(table) != set(TABLE_KEYS):
        return from_table(_small(table))
    actions, outcomes = _labels("actions", table), _labels("outcomes", table)
    earns, shows = (_cells(name, table[name], actions, outcomes) for name in ("earns", "shows"))
    for action, row in zip(actions, earns, strict=True):
        for outcome, cell in zip(outcomes, row, strict=True):
            if isinstance(cell, bool) or not isinstance(cell, int | float):
                raise InvalidInput(
                    f"cell ({brief(action)}, {brief(outcome)}) must be a number, what is earned; "
                    f"got {brief(cell)}."
                )
    earned = {
        a: dict(zip(outcomes, row, strict=True)) for a, row in zip(actions, earns, strict=True)
    }
    signals = [["" if cell is None else _signal(cell) for cell in row] for row in shows]
    seen = {
        a: dict(zip(outcomes, row, strict=True)) for a, row in zip(actions, signals, strict=True)
    }
    return from_table(_small(earned), seen)


def _signal(cell: Any) -> Any:
    if not isinstance(cell, str | int | float):
        raise InvalidInput(f"shows must hold words or numbers; got {brief(cell)}.")
    return cell


def _labels(name: str, table: Mapping[str, Any]) -> list[str]:
    given = table[name]
    if not isinstance(given, list) or not all(isinstance(x, str) and x.strip() for x in given):
        raise InvalidInput(
            f"{name} must be a list of words, none of them empty; got {brief(given)}."
        )
    if not given or len(set(given)) < len(given):
        raise InvalidInput(f"{name} must be different from each other; got {brief(given)}.")
    return given


def _cells(name: str, given: Any, actions: Sequence[str], outcomes: Sequence[str]) -> list[Any]:
    rows = given if isinstance(given, list) else []
    if len(rows) != len(actions) or not all(
        isinstance(row, list) and len(row) == len(outcomes) for row in rows
    ):
        raise InvalidInput(
            f"{name} must have {len(actions)} rows of {len(outcomes)} cells; got {brief(given)}."
        )
    return rows


def _small(table: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = [table["signals"]] if "signals" in table else list(table.values())
    cells = sum(len(own) for row in rows for own in _flat(row))
    if cells > MOST_CELLS:
        raise InvalidInput(f"table must have at most {MOST_CELLS} cells; got {cells}.")
    return table


def _flat(row: Any) -> list[Any]:
    """Return what of a row has cells: itself if it is a table, or the lists in it."""
    if isinstance(row, Mapping):
        return [row]
    return [own for own in row if isinstance(own, list)] if isinstance(row, list) else []
