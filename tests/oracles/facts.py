"""What of an analysis does not depend on how a game is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest

import partial_monitoring as pm
from tests.oracles.random_games import (
    SETS,
    Draw,
    bits,
    decimals,
    finite_game,
    fractions,
    integers,
    linear_game,
    small_integers,
)

GAMES = 24
NUMBERS = (bits, small_integers, integers, decimals, fractions)


@cache
def finite_games() -> list[Draw]:
    return [finite_game(Random(seed), NUMBERS[seed % 5]) for seed in range(GAMES)]


@cache
def linear_games() -> list[Draw]:
    return [
        linear_game(Random(seed), SETS[seed % len(SETS)], NUMBERS[seed % 5])
        for seed in range(GAMES)
    ]


@dataclass(frozen=True)
class Facts:
    """What an analysis says, in a form in which order does not matter."""

    category: str
    pareto: frozenset[int]
    degenerate: frozenset[int]
    dominated: frozenset[int]
    duplicates: frozenset[frozenset[int]]
    neighborhoods: frozenset[tuple[frozenset[int], frozenset[int]]]
    globally_observable: bool
    locally_observable: bool
    dimension: int
    rank: int
    certified: bool


def facts(
    analysis: pm.Analysis, label: Callable[[int], int] = lambda a: a, keep: int | None = None
) -> Facts:
    """Return what an analysis says about actions under new labels; only the first, if asked."""
    kept = range(analysis.game.k if keep is None else keep)

    def renamed(actions: Sequence[int]) -> frozenset[int]:
        return frozenset(label(a) for a in actions if a in kept)

    assert set(analysis.neighborhoods) == set(analysis.neighbors)
    assert analysis.verify(), analysis.problems()
    groups = [renamed(group) for group in analysis.duplicates]
    return Facts(
        analysis.category,
        renamed(analysis.pareto),
        renamed(analysis.degenerate),
        renamed(analysis.dominated),
        frozenset(group for group in groups if len(group) > 1),
        frozenset(
            (renamed(pair), renamed(near))
            for pair, near in analysis.neighborhoods.items()
            if set(pair) <= set(kept)
        ),
        analysis.globally_observable,
        analysis.locally_observable,
        analysis.dimension,
        analysis.rank,
        analysis.certified,
    )


def same_alignment(found: pm.Analysis, expected: pm.Analysis, factor: float = 1.0) -> None:
    assert found.alignment == pytest.approx(expected.alignment * factor, rel=1e-6, abs=1e-12)


@cache
def analyzed(draw: Draw) -> pm.Analysis:
    """Analyse each of the sample games once."""
    return pm.analyze(draw.game)
