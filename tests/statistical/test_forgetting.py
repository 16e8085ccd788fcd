"""What forgetting saves when the world switches, and what it costs when it stands still."""

from __future__ import annotations

import pytest
from benchmarks.forgetting import GAMES, HALF_LIFE, HORIZON, forgetting, regrets


def ratio(game: str, name: str, world: str, horizon: int, count: int, seeds: int) -> float:
    """Return the regret with a half-life of a fifth of the rounds, over that without."""
    lives, scale = (None, HALF_LIFE), horizon / HORIZON
    chosen = {
        own: policy
        for own, policy in forgetting(game, lives, scale).items()
        if own.rpartition(", ")[0] == name
    }
    found = regrets(game, chosen, world, horizon, count, seeds)
    plain, forgot = (found[f"{name}, {life}"].mean() for life in lives)
    return float(forgot / plain)


def test_a_switch_costs_the_default_at_most_half() -> None:
    assert ratio("dynamic_pricing", "default", "switch", 4000, 8, 2) <= 0.5


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("game", "name"),
    [*((game, "default") for game in GAMES), ("dynamic_pricing", "IDS, calibrated")],
)
def test_the_promise(game: str, name: str) -> None:
    """Ten thousand rounds, one switch at half of them, a half-life of 2,000.

    In a still world the regret of other policies may be more than twice as large, where it is next
    to nothing; docs/changing-world.md has figures.
    """
    assert ratio(game, name, "switch", HORIZON, 20, 4) <= 0.5
    assert ratio(game, name, "still", HORIZON, 20, 4) <= 2.0
