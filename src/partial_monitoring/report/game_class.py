"""The class of a game in a report: its analysis, or the reason why there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.simulation.comparison import Comparison

EXPONENTS = {"trivial": 0.0, "easy": 1 / 2, "hard": 2 / 3, "hopeless": 1.0}
"""The power of the rounds with which regret grows at best, in the worst case of each class."""

MOST_ACTIONS = 100
"""Largest number of actions or contexts of a game that a report analyses within seconds."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """The class of a game with its reasons."""

    game: AnyGame
    analysis: Analysis | None
    missing: str = ""
    """Why there is no analysis."""
    whole: ContextualAnalysis | None = None
    """The analysis of a game with contexts."""

    @property
    def category(self) -> str:
        """The class, or "unknown"."""
        found = self.whole or self.analysis
        return "unknown" if found is None else found.category

    @property
    def exponent(self) -> float | None:
        """The exponent that the class predicts."""
        return EXPONENTS.get(self.category)

    @property
    def sentences(self) -> list[str]:
        """The explanation, a sentence or two each; the first one says what matters."""
        found = self.whole or self.analysis
        return [self.missing] if found is None else found.explain().splitlines()

    @property
    def alignment(self) -> float:
        """alpha; nan where it was not computed."""
        try:
            return np.nan if self.analysis is None else self.analysis.alignment
        except PartialMonitoringError:
            return np.nan


def verdict(game: Any) -> Verdict:
    """Analyse a game, unless it is too large or the solver gives up."""
    if not game.traits.listed:
        return Verdict(game, None, "Games over a box are not analysed.")
    contexts = game.traits.contexts
    size = max(game.k, len(game.games)) if contexts else game.k
    if size > MOST_ACTIONS:
        missing = (
            f"The game has {size:,} actions (or contexts) and was not analysed: reports do that up "
            f"to {MOST_ACTIONS}. Call pm.analyze on it if you can wait."
        )
        return Verdict(game, None, missing)
    try:
        return (
            Verdict(game, None, whole=analyze(game)) if contexts else Verdict(game, analyze(game))
        )
    except PartialMonitoringError as error:
        return Verdict(game, None, f"The game could not be analysed: {error}")


def verdicts(comparisons: Sequence[Comparison]) -> list[Verdict]:
    """Return the verdict of each comparison; equal games of one name share theirs.

    Comparisons that were read from files hold a game each, so games are compared by content.
    """
    contents: dict[int, str] = {}
    analysed: dict[str, Verdict] = {}
    named: dict[tuple[str, str], Verdict] = {}
    for comparison in comparisons:
        game = comparison.game
        if id(game) not in contents:
            contents[id(game)] = _content(game)
        content = contents[id(game)]
        if content not in analysed:
            analysed[content] = verdict(game)
        named.setdefault((comparison.game_name, content), replace(analysed[content]))
    return [named[own.game_name, contents[id(own.game)]] for own in comparisons]


def _content(game: AnyGame) -> str:
    """Return what a game consists of, or who it is if files cannot hold it."""
    try:
        return json.dumps(game_to_dict(game))
    except (PartialMonitoringError, TypeError, ValueError):
        return str(id(game))
