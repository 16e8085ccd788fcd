"""What kind of game was played, for a report: the analysis, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.analysis.bounds import bounds
from partial_monitoring.analysis.classify import analyze
from partial_monitoring.analysis.contextual.analysis import ContextualAnalysis
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.model.box import KernelBoxGame
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.simulation.result import Comparison
from partial_monitoring.validation import Array, Indices

EXPONENTS = {"trivial": 0.0, "easy": 1 / 2, "hard": 2 / 3, "hopeless": 1.0}
"""The power of the rounds with which regret grows at best, in the worst case of each class."""

MOST_ACTIONS = 100
"""Larger games are not analysed for a report: the pairs of actions would take minutes."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """The class of a game with its reasons."""

    game: AnyGame
    analysis: Analysis | None
    missing: str = ""
    """Why there is no analysis."""
    whole: ContextualAnalysis | None = None
    """That of a game with contexts."""

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

    def bound(self, rounds: Indices) -> Array | None:
        """Return the regret that theory guarantees for IDS after so many rounds, if it does."""
        if self.analysis is None or isinstance(self.game, ContextualGame):
            return None
        game: Any = self.game
        try:
            regret = bounds(game, rounds, analysis=self.analysis).regret
        except PartialMonitoringError:
            return None
        return regret if np.isfinite(regret).all() and (regret > 0).any() else None


def verdict(game: AnyGame) -> Verdict:
    """Analyse a game, unless it is too large or the solver gives up."""
    contexts = len(game.games) if isinstance(game, ContextualGame) else 1
    if isinstance(game, KernelBoxGame):
        return Verdict(game, None, "Games over a box are not analysed.")
    if game.k > MOST_ACTIONS or contexts > MOST_ACTIONS:
        return Verdict(
            game,
            None,
            f"The game has {max(game.k, contexts):,} actions (or contexts) and was not analysed: "
            f"that is done up to {MOST_ACTIONS} here. Call pm.analyze on it if you can wait.",
        )
    try:
        if isinstance(game, ContextualGame):
            return Verdict(game, None, whole=analyze(game))
        return Verdict(game, analyze(game.linear))
    except PartialMonitoringError as error:
        return Verdict(game, None, f"The game could not be analysed: {error}")


def verdicts(comparisons: Sequence[Comparison]) -> list[Verdict]:
    """Return the verdict of each comparison; a game that stands several times is analysed once."""
    found: dict[int, Verdict] = {}
    for comparison in comparisons:
        if id(comparison.game) not in found:
            found[id(comparison.game)] = verdict(comparison.game)
    return [found[id(comparison.game)] for comparison in comparisons]
