"""What kind of game a game with contexts is: each context by itself, and all of them together.

What decides between two actions of one context may be observed in another: as a whole the game can
be learned if the differences of the actions that can be best, in every context that may come, are
combinations of what is shown in contexts that may come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.contextual_game import ContextualGame
from partial_monitoring.display import number
from partial_monitoring.errors import SolverError
from partial_monitoring.observability.classify import Analysis, analyze
from partial_monitoring.observability.contextual_alignment import contextual_alignment
from partial_monitoring.validation import Array

SEEN = 1e-9
"""A difference is observed if less than this fraction of it is left over."""

LINES = {
    "trivial": "Trivial: in every context one action is always best, and nothing is to be learned.",
    "easy": (
        "Easy: regret can be kept to the order of the square root of the number of rounds, in "
        "every context by itself."
    ),
    "learnable": (
        "Learnable: all that matters can be observed in contexts that come, so that regret can be "
        "kept to the order of n^(2/3) in n rounds, possibly lower."
    ),
    "hopeless": "Hopeless: regret may grow in proportion to the number of rounds.",
}


@dataclass(frozen=True, eq=False)
class Combination:
    """How the difference of two actions of a context is read off what contexts show."""

    context: int
    first: int
    second: int
    weights: dict[tuple[int, int], Array] | None
    """By (context, action): what its observations are multiplied with; None if it cannot be."""

    @property
    def seen(self) -> bool:
        """Whether the difference can be observed at all."""
        return self.weights is not None


@dataclass(frozen=True, eq=False)
class ContextualAnalysis:
    """Facts about a game with contexts."""

    game: ContextualGame
    contexts: tuple[Analysis, ...]
    """Every context by itself."""
    combinations: tuple[Combination, ...]
    """For every context that may come, the differences of its Pareto actions from the first one."""

    @property
    def possible(self) -> list[int]:
        """The contexts that may come."""
        return [int(z) for z in np.flatnonzero(self.game.context_distribution > 0)]

    @property
    def silent(self) -> list[str]:
        """Contexts in which nothing about the parameter is shown."""
        return [self.game.contexts[z] for z in self.possible if self.contexts[z].rank == 0]

    @cached_property
    def observable(self) -> bool:
        """Whether everything that matters in some context can be observed in one that may come."""
        return all(combination.seen for combination in self.combinations)

    @property
    def category(self) -> str:
        """The class: "trivial", "easy", "learnable" or "hopeless".

        "easy" and "trivial" if that holds in every context by itself; "learnable" if it needs the
        help of other contexts, or is hard in one.
        """
        own = {self.contexts[z].category for z in self.possible}
        if own == {"trivial"}:
            return "trivial"
        if not self.observable:
            return "hopeless"
        return "easy" if own <= {"trivial", "easy"} else "learnable"

    @cached_property
    def alignment(self) -> float:
        """alpha(chi), the alignment constant; infinite if what matters is shown nowhere."""
        if not self.observable:
            return np.inf
        return contextual_alignment(self.game, [own.representatives for own in self.contexts])

    def verify(self) -> bool:
        """Check every context's proofs again, and every combination against the maps."""
        return all(analysis.verify() for analysis in self.contexts) and all(
            _left_over(self.game, combination) <= 10 * SEEN
            for combination in self.combinations
            if combination.seen
        )

    def explain(self) -> str:
        """Say in a few sentences what kind of game it is, and why."""
        lines = [LINES[self.category]]
        for z in self.possible:
            name, analysis = self.game.contexts[z], self.contexts[z]
            chance = number(float(self.game.context_distribution[z]))
            lines.append(f"'{name}' (probability {chance}) {self._by_itself(z, analysis)}.")
        for combination in self.combinations:
            if not combination.seen:
                own = self.game.at(combination.context)
                one, two = own.actions[combination.first], own.actions[combination.second]
                lines.append(
                    f"In '{self.game.contexts[combination.context]}' '{one}' and '{two}' cannot be "
                    f"told apart by anything that any context shows."
                )
        return "\n".join(lines)

    def _by_itself(self, z: int, analysis: Analysis) -> str:
        shows = "shows nothing and " if analysis.rank == 0 else ""
        alone = f"{shows}is {analysis.category} by itself"
        own = [combination for combination in self.combinations if combination.context == z]
        helped = analysis.category == "hopeless" and all(combination.seen for combination in own)
        return f"{alone}, but what it needs to know is shown in other contexts" if helped else alone

    def _alignment_or_none(self) -> float | None:
        try:
            return float(self.alignment) if np.isfinite(self.alignment) else None
        except SolverError:
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {
            "category": self.category,
            "observable": self.observable,
            "alignment": self._alignment_or_none(),
            "silent": self.silent,
            "contexts": {
                name: analysis.to_dict()
                for name, analysis in zip(self.game.contexts, self.contexts, strict=True)
            },
        }

    def __repr__(self) -> str:
        return f"ContextualAnalysis({self.category}, {len(self.contexts)} contexts)"


def analyze_contexts(game: ContextualGame) -> ContextualAnalysis:
    """Analyse every context by itself, and what they can tell each other."""
    analyses = tuple(analyze(own) for own in game.games)
    rows, sources = _everything_shown(game)
    q = game.parameters.difference_basis()
    found = []
    for z in np.flatnonzero(game.context_distribution > 0):
        own, pareto = game.at(int(z)), analyses[z].pareto
        for b in pareto[1:]:
            away = own.features[b] - own.features[pareto[0]]
            weights = _weights(away @ q, rows, sources)
            found.append(Combination(int(z), pareto[0], b, weights))
    return ContextualAnalysis(game, analyses, tuple(found))


def _everything_shown(game: ContextualGame) -> tuple[Array, list[tuple[int, int, int]]]:
    """Return the rows of all contexts that may come, on the directions of Theta, and whose."""
    q = game.parameters.difference_basis()
    rows, sources = [np.zeros((0, q.shape[1]))], []
    for z in np.flatnonzero(game.context_distribution > 0):
        own = game.at(int(z))
        for c in range(own.k):
            shown = own.rows(c) @ q
            rows.append(shown)
            sources += [(int(z), c, i) for i in range(len(shown))]
    return np.concatenate(rows), sources


def _weights(
    direction: Array, rows: Array, sources: list[tuple[int, int, int]]
) -> dict[tuple[int, int], Array] | None:
    """Return the shortest weights with which the rows add up to a direction, or None."""
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        return {}
    if len(rows) == 0:
        return None
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    solved = np.linalg.lstsq(unit.T, direction, rcond=SEEN)[0]
    if np.linalg.norm(unit.T @ solved - direction) > SEEN * size:
        return None
    weights: dict[tuple[int, int], dict[int, float]] = {}
    for (z, c, i), weight, length in zip(sources, solved, lengths, strict=True):
        if abs(weight) > SEEN * size and length > 0:
            weights.setdefault((z, c), {})[i] = float(weight / length)
    return {
        place: np.array([own.get(i, 0.0) for i in range(max(own) + 1)])
        for place, own in weights.items()
    }


def _left_over(game: ContextualGame, combination: Combination) -> float:
    """Return what a combination misses of its difference, as a fraction of it."""
    own = game.at(combination.context)
    q = game.parameters.difference_basis()
    direction = (own.features[combination.second] - own.features[combination.first]) @ q
    total = np.zeros(len(direction))
    for (z, c), weights in (combination.weights or {}).items():
        total = total + weights @ game.at(z).rows(c)[: len(weights)] @ q
    size = float(np.linalg.norm(direction))
    return float(np.linalg.norm(total - direction)) / size if size > 0 else 0.0
