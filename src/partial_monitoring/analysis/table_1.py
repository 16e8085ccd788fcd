"""Table 1 of the paper: bounds of alignment constants that need no computation, and examples.

With E18 and E19: a graph is only hard if some pairs are not edges, and the constant of
non-degenerate finite games has m^3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partial_monitoring import games
from partial_monitoring.analysis.analysis import analyze_game
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.validation import brief


@dataclass(frozen=True)
class FiniteAlignmentBounds:
    """The bounds of the lemma on finite games, for rewards of any range."""

    globally_observable: float
    """(a) alpha <= m d k^(d+2)."""
    locally_observable: float
    """(b) alpha(E) <= 4 m d k^(d+2)."""
    non_degenerate: float
    """(c) alpha(E) <= 4 k^2 m^3 if no action is degenerate or a duplicate (E19)."""


def finite_alignment_bounds(game: FiniteGame | str) -> FiniteAlignmentBounds:
    """Return the a-priori bounds of the alignment constants of a finite game (Table 1).

    They are stated for rewards in [0, 1]; other rewards are rescaled, which multiplies alpha by the
    square of their range.

    >>> import partial_monitoring as pm
    >>> pm.finite_alignment_bounds(pm.games.apple_tasting()).non_degenerate
    128.0
    """
    known: Any = games.named(game)
    if not known.traits.finite:
        raise InvalidInput(f"game must be a FiniteGame; got {brief(game)}.")
    k, m, d = float(known.k), float(known.m), float(known.d)
    scale = float(np.ptp(known.rewards)) ** 2
    with np.errstate(over="ignore"):
        power = float(np.power(k, d + 2))
    worst = m * d * power * scale
    return FiniteAlignmentBounds(worst, 4 * worst, 4 * k**2 * m**3 * scale)


@dataclass(frozen=True)
class MeasuredRow:
    """An example game beside the bound that Table 1 gives for it."""

    example: str
    category: str
    alignment: float
    bound: float


def table_1() -> list[MeasuredRow]:
    """Return the alignment constants of example games beside the bounds of Table 1.

    >>> all(row.alignment <= row.bound * (1 + 1e-6) for row in table_1())
    True
    """
    apples, pricing, path = games.apple_tasting(), games.dynamic_pricing(), [(0, 1), (1, 2), (2, 3)]
    easy, hard = finite_alignment_bounds(apples), finite_alignment_bounds(pricing)
    examples = [
        ("linear bandit", games.linear_bandit(), 4.0),
        ("dueling bandit", games.dueling(), 4.0),
        ("graph dueling, complete", games.graph_dueling([(0, 1), (1, 2), (0, 2)]), 4.0),
        ("graph dueling, path of 3", games.graph_dueling(), graph_dueling_bound(2)),
        ("graph dueling, path of 4", games.graph_dueling(path), graph_dueling_bound(3)),
        ("finite, non-degenerate", apples, easy.non_degenerate),
        ("finite, local", apples, easy.locally_observable),
        ("finite, global", pricing, hard.globally_observable),
    ]
    found = [(name, analyze_game(game), bound) for name, game, bound in examples]
    return [MeasuredRow(name, own.category, own.alignment, bound) for name, own, bound in found]


def graph_dueling_bound(longest_distance: int) -> float:
    """Return 4 W_max^2, with W_max the longest shortest path between Pareto items (E18)."""
    return 4.0 * longest_distance**2
