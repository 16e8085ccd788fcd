"""Finite partial monitoring: rewards and signals in two matrices (example 7)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring import display, validation
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import Traits
from partial_monitoring.model.feedback import Feedback, NoiseFunction, Outcome, usable
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import Simplex
from partial_monitoring.validation import Array

TRAITS = Traits(finite=True, signals=True)

SIGNAL_NOISE = float(np.sqrt(0.5))
"""Sub-Gaussian constant of a one-hot signal around its mean (paper-notes E26)."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class FiniteGame(Game):
    """A game with finitely many outcomes that are seen only through a signal.

    Each round an outcome x is drawn from an unknown distribution theta. Action a earns
    ``rewards[a, x]`` and shows ``signals[a][x]``; neither the reward nor the outcome is shown. As a
    linear game phi_a is row a of the rewards, theta lies in the simplex, and M_a has one 0/1 row
    for each symbol the action can show, in order of first appearance.

    Parameters
    ----------
    rewards
        Shape (k, d): actions by outcomes.
    signals
        k rows of d hashable symbols each; a string counts as a row of characters.
    actions, outcomes
        Labels; without them the indices.
    noise_std
        Sub-Gaussian constant of the one-hot signal, sqrt(1/2) for every finite game.

    Examples
    --------
    >>> game = FiniteGame([[0, -1], [-2, 0]], ["yy", "ny"], actions=["$1", "$2"])
    >>> game.signal("$2", 0)
    'n'
    """

    NOISES: ClassVar[tuple[str, ...]] = ("outcome",)

    outcomes: tuple[str, ...]
    signals: tuple[tuple[Hashable, ...], ...]
    symbols: tuple[tuple[Hashable, ...], ...]
    """The symbols each action can show, in the order of the rows of its map."""

    def __init__(
        self,
        rewards: ArrayLike,
        signals: Iterable[Iterable[Hashable]],
        *,
        actions: Iterable[object] | None = None,
        outcomes: Iterable[object] | None = None,
        noise_std: float = SIGNAL_NOISE,
    ) -> None:
        table = validation.filled_array("rewards", rewards, ("k", "d"))
        k, d = table.shape
        rows = _symbol_rows(signals, k, d)
        symbols = tuple(tuple(dict.fromkeys(row)) for row in rows)
        validation.set_fields(
            self,
            features=table,
            observation_maps=_one_hot(rows, symbols),
            parameters=Simplex(d),
            noise_std=validation.positive_number("noise_std", noise_std),
            actions=validation.labels("actions", actions, k),
            noise="outcome",
            row_counts=tuple(map(len, symbols)),
            outcomes=validation.labels("outcomes", outcomes, d),
            signals=rows,
            symbols=symbols,
        )

    @property
    def traits(self) -> Traits:
        return TRAITS

    @property
    def outcome_labels(self) -> tuple[str, ...]:
        return self.outcomes

    @property
    def rewards(self) -> Array:
        """The reward of each action in each outcome, shape (k, d)."""
        return self.features

    def outcome_index(self, outcome: int | str) -> int:
        """Return the index of an outcome given by index or by label."""
        return validation.index_of("outcome", outcome, self.outcomes)

    def signal(self, action: int | str, outcome: int | str) -> Hashable:
        """Return the symbol that an action shows when the outcome is the given one."""
        return self.signals[self.action_index(action)][self.outcome_index(outcome)]

    def observation(self, action: int | str, symbol: Hashable) -> Array:
        """Return the observation of a symbol: one-hot among the rows of M_a, shape (m_a,)."""
        a = self.action_index(action)
        return self.feedback().encode(self, a, symbol, len(self.symbols[a]))

    def feedback(self, noise: str | NoiseFunction | None = None) -> Feedback:
        if noise is not None and not (isinstance(noise, str) and noise == "outcome"):
            raise InvalidInput(
                f"noise must be left out for a finite game, which draws an outcome and shows its "
                f"signal; got {validation.brief(noise)}."
            )
        return Outcome(self.symbols)

    def sheets(self, title: str = "") -> list[display.Sheet]:
        """Return one table: actions by outcomes, with rewards and signals in its cells."""
        different = dict.fromkeys(symbol for own in self.symbols for symbol in own)
        colors = {symbol: i for i, symbol in enumerate(different)}
        outcomes = display.shortened(range(self.d), most=display.MOST_COLUMNS)
        rows = []
        for a in display.shortened(range(self.k)):
            if a is None:
                rows.append((display.GAP, *(display.TableCell("") for _ in outcomes)))
                continue
            cells = [display.TableCell(self.actions[a])]
            for x in outcomes:
                if x is None:
                    cells.append(display.GAP)
                    continue
                text, symbol = display.number(self.rewards[a, x]), self.signals[a][x]
                cells.append(display.TableCell(text, str(symbol), colors[symbol]))
            rows.append(tuple(cells))
        columns = ["", *(display.ELLIPSIS if x is None else self.outcomes[x] for x in outcomes)]
        notes = ["each cell: what you earn, then the signal you see"]
        silent = [
            name for name, own in zip(self.actions, self.symbols, strict=True) if len(own) == 1
        ]
        if silent:
            names = [display.ELLIPSIS if n is None else n for n in display.shortened(silent)]
            notes.append(f"shows the same signal whatever happens: {', '.join(names)}")
        headline = title or self._headline()
        return [display.Sheet(headline, tuple(columns), tuple(rows), tuple(notes))]

    def _headline(self) -> str:
        return f"{self.k} actions, {self.d} outcomes"


def _symbol_rows(
    signals: Iterable[Iterable[Hashable]], k: int, d: int
) -> tuple[tuple[Hashable, ...], ...]:
    """Validate the signal matrix: k rows of d hashable symbols."""
    try:
        rows = tuple(tuple(_plain(symbol) for symbol in row) for row in signals)
    except TypeError:
        raise InvalidInput(
            f"signals must be {k} rows of {d} symbols; got {validation.brief(signals)}."
        ) from None
    lengths = [len(row) for row in rows]
    if lengths != [d] * k:
        raise InvalidInput(
            f"signals must have shape (k, d) = ({k}, {d}) to match rewards; got {len(rows)} rows "
            f"of lengths {validation.brief(lengths)}."
        )
    for a, row in enumerate(rows):
        for x, symbol in enumerate(row):
            if not usable(symbol):
                raise InvalidInput(
                    f"signals must be hashable symbols equal to themselves; got "
                    f"{validation.brief(symbol)} for action {a}, outcome {x}."
                )
    return rows


def _one_hot(
    rows: tuple[tuple[Hashable, ...], ...], symbols: tuple[tuple[Hashable, ...], ...]
) -> Array:
    """Return the maps: one 0/1 row per symbol of each action, shape (k, m, d)."""
    shape = len(rows), max(map(len, symbols)), len(rows[0])
    validation.check_entries("the observation maps of these signals", *shape)
    maps = np.zeros(shape)
    for a, (row, own) in enumerate(zip(rows, symbols, strict=True)):
        place = {symbol: i for i, symbol in enumerate(own)}
        maps[a, [place[symbol] for symbol in row], np.arange(len(row))] = 1.0
    return validation.frozen(maps)


def _plain(symbol: Hashable) -> Hashable:
    """Turn NumPy scalars into Python ones, so that files and messages show plain symbols."""
    return symbol.item() if isinstance(symbol, np.generic) else symbol


def finite_rewards(rewards: ArrayLike | None, losses: ArrayLike | None) -> Array:
    """Return the rewards from exactly one of rewards and losses."""
    if (rewards is None) == (losses is None):
        got = "neither" if rewards is None else "both"
        raise InvalidInput(f"a finite game needs either rewards or losses; got {got}.")
    if rewards is not None:
        return validation.real_array("rewards", rewards, ("k", "d"))
    return 0.0 - validation.real_array("losses", losses, ("k", "d"))  # type: ignore[arg-type]
