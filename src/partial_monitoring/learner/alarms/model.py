"""What the alarms must know of a game: what its cells show, and how theta ties them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partial_monitoring.learner.alarms.sums import AllSums, Cell, Sums
from partial_monitoring.learner.observations import symbols
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class Watched:
    """A game as the alarms see it."""

    game: AnyGame

    @cached_property
    def _games(self) -> dict[str | None, Any]:
        """The game of each context."""
        whole: Any = self.game
        if whole.traits.contexts:
            return dict(zip(whole.contexts, whole.games, strict=True))
        return {None: whole}

    @cached_property
    def signals(self) -> bool:
        """Whether what is shown is a signal, and Theta the distributions of outcomes."""
        return self.game.traits.signals

    @cached_property
    def listed(self) -> bool:
        """Whether its actions are listed."""
        return self.game.traits.listed

    @cached_property
    def size(self) -> int:
        """The number of cells of the game."""
        return sum(own.k for own in self._games.values())

    def shows(self, cell: Cell) -> bool:
        """Whether a cell shows anything that is random."""
        rows = self._games[cell[0]].row_count(cell[1])
        return bool(rows > 1 if self.signals else rows > 0)

    def rows(self, cell: Cell) -> Array:
        """Return the map M_a of a cell, in the coordinates of theta, shape (m_a, d)."""
        context, action = cell
        game = self.game.linear if self.game.traits.function else self._games[context]
        return np.asarray(game.rows(action))

    def noise(self, cell: Cell) -> float:
        """Return the sub-Gaussian constant of what a cell shows, at least that of its range."""
        game = self._games[cell[0]]
        sizes, feedback = np.ravel(game.noise_std), game.feedback()
        stated = float(sizes[cell[1] % len(sizes)])
        width = feedback.high - feedback.low
        return max(stated, width / 2) if np.isfinite(width) else stated

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """The center (d,) and the radius of a ball around Theta; it may be infinite."""
        game: Any = self.game
        if game.traits.function:
            return np.zeros(game.linear.d), float(game.norm_bound)
        center = game.parameters.relative_interior_point()
        return np.asarray(center), float(game.parameters.norm_bound(center))

    def label(self, cell: Cell) -> str:
        """Return what a cell is called."""
        context, action = cell
        name = f"'{self._games[context].action_label(action)}'"
        return name if context is None else f"{name} in context '{context}'"

    def in_words(self, cell: Cell, own: Sums) -> str:
        """Say what a cell has shown on average."""
        return self.mean_in_words(cell, np.array(own.total) / own.plays)

    def mean_in_words(self, cell: Cell, mean: Array) -> str:
        """Say what a mean (m_a,) is: how often the signals come, or numbers."""
        if not self.signals:
            return ", ".join(f"{value:.3g}" for value in mean)
        names = symbols(self._games[cell[0]], cell[1])
        shown = list(zip(names, mean, strict=True))
        if len(shown) == 2:  # the other one is the rest
            shown = shown[:1]
        return ", ".join(f"'{name}' {100 * share:.0f} %" for name, share in shown)

    def random_cells(self, sums: AllSums) -> list[Cell]:
        """Return the cells that have shown something random."""
        return [cell for cell in sums if self.shows(cell)]
