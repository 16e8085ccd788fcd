"""What could be measured in addition, in words of what one can arrange or buy."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.analysis.analysis import Analysis
from partial_monitoring.model.game import Game
from partial_monitoring.validation import (
    Array,
    axes,
    brief,
    positive_number,
    real_array,
    set_fields,
)

MOST_NAMES = 4
"""Largest number of outcomes of a group that are named."""


@dataclass(frozen=True, eq=False, init=False)
class Measurement:
    """An observation that an action could show in addition.

    Parameters
    ----------
    action
        The action (index or label) that would show it.
    rows
        What it would show: rows of an observation map, shape (m, d), or a single one (d,).
    label
        Its name in explanations.
    cost
        Its cost.
    """

    action: int | str
    rows: Array
    label: str
    cost: float

    def __init__(
        self, action: int | str, rows: ArrayLike, label: str | None = None, cost: float = 1.0
    ) -> None:
        array = real_array("rows", rows, ("d",) if axes(rows) == 1 else ("m", "d"))
        set_fields(
            self,
            action=action,
            rows=np.atleast_2d(array),
            label=f"{brief(action)} would show more" if label is None else label,
            cost=positive_number("cost", cost),
        )


def default_candidates(game: Game, analysis: Analysis) -> list[Measurement]:
    """Return own rewards, what compares competing actions, then the whole outcome."""
    name, phi = game.actions, [game.reward_row(a) for a in range(game.k)]
    later = {a for group in analysis.duplicates for a in group[1:]}
    homes = [a for a in range(game.k) if a not in later and a not in analysis.dominated]
    pairs = [pair for pair in analysis.neighbors if not later & set(pair)]
    both = [pair for one, two in pairs for pair in ((one, two), (two, one))]
    if game.traits.finite:
        compared, what = list(_splits(game, both)), "the outcome"
    else:
        compared, what = [_comparison(game, a, b) for a, b in both], "all of theta"
    return [
        *(
            Measurement(a, phi[a], f"playing '{name[a]}' would also show its own reward")
            for a in homes
        ),
        *compared,
        *(
            Measurement(a, np.eye(game.d), f"playing '{name[a]}' would also show {what}")
            for a in homes
        ),
    ]


def _comparison(game: Game, a: int, b: int) -> Measurement:
    """Return the measurement of a reward difference."""
    words = f"whenever '{game.actions[a]}' is played, it is also compared with '{game.actions[b]}'"
    return Measurement(a, game.reward_row(a) - game.reward_row(b), words)


def _splits(game: Any, pairs: Sequence[tuple[int, int]]) -> Iterator[Measurement]:
    """Yield measurements that tell outcomes apart which share a signal of an action.

    To know r_a - r_b after playing a it suffices to know, within each signal of a, which value the
    difference has: outcomes are grouped by it. A pair that is ambiguous under several signals needs
    all of these splits, and each of them is a candidate by itself as well.
    """
    known: set[tuple[int, tuple[tuple[int, ...], ...]]] = set()
    for a, b in pairs:
        away = game.rewards[a] - game.rewards[b]
        splits = [
            found for symbol in game.symbols[a] if len(found := _groups(game, a, symbol, away)) > 1
        ]
        for chosen in [[own] for own in splits] + [splits] if len(splits) > 1 else [splits]:
            groups = tuple(group for own in chosen for group in own)
            if groups and (a, groups) not in known:
                known.add((a, groups))
                rows = np.array([np.isin(np.arange(game.d), group) for group in groups])
                words = " and ".join(_words(game, a, own) for own in chosen)
                yield Measurement(a, rows.astype(float), words)


def _groups(game: Any, a: int, symbol: Hashable, away: Array) -> list[tuple[int, ...]]:
    """Return the outcomes with this signal of an action, in groups of equal difference."""
    groups: dict[float, list[int]] = {}
    for x in range(game.d):
        if game.signals[a][x] == symbol:
            groups.setdefault(float(away[x]), []).append(x)
    return [tuple(group) for group in groups.values()]


def _words(game: Any, a: int, groups: Sequence[tuple[int, ...]]) -> str:
    """Say which outcomes are told apart, and when."""
    shown, silent = game.signals[a][groups[0][0]], len(game.symbols[a]) == 1
    name = game.actions[a]
    when = (
        f"after '{name}', which always shows the same"
        if silent
        else f"when you see '{shown}' after '{name}'"
    )
    names = [_either(game, group) for group in groups]
    if len(names) == 2:
        return f"{when}, you can tell {names[0]} from {names[1]}"
    apart = [f"({own})" if " or " in own else own for own in names]
    return f"{when}, you can tell {', '.join(apart[:-1])} and {apart[-1]} apart"


def _either(game: Any, group: Sequence[int]) -> str:
    """Name the outcomes of a group."""
    names = [f"'{game.outcomes[x]}'" for x in group[:MOST_NAMES]]
    hidden = len(group) - len(names)
    return " or ".join([*names, f"{hidden} more"] if hidden else names)
