"""What forgetting saves when the world switches, and what it costs when it stands still."""

from __future__ import annotations

import pytest
from benchmarks.forgetting import (
    GAMES,
    HALF_LIFE,
    HORIZON,
    PAIRS_OF_DEFAULT,
    forgetting,
    ratio,
    regrets,
    without_noise,
)


def measured(game: str, world: str, horizon: int, count: int) -> float:
    """Return the ratio of regret that a half-life of a fifth of the rounds leaves the default."""
    lives = None, HALF_LIFE
    policies = forgetting(game, "default", lives, horizon / HORIZON)
    found = regrets(game, policies, world, horizon, count)
    plain, forgot = (found[f"{life}"] for life in lives)
    return ratio(forgot, plain)[0]


def test_a_switch_costs_the_default_at_most_half() -> None:
    assert measured("dynamic_pricing", "switch", 4000, 16) <= 0.5


@pytest.mark.parametrize("game", ["bernoulli_bandit", "spam_filter"])
def test_a_switch_costs_half_where_age_alone_would_not_do(game: str) -> None:
    assert measured(game, "switch", HORIZON, 40) <= 0.5


@pytest.mark.parametrize("game", GAMES)
def test_means_alone_turn_around_in_about_half_of_the_time(game: str) -> None:
    """Of old and new rounds, with one switch and no noise: so much would be saved by age alone."""
    saved, _ = ratio(without_noise(game, HALF_LIFE, count=40), without_noise(game, None, count=40))
    assert 0.35 < saved < 0.6


@pytest.mark.nightly
@pytest.mark.parametrize("game", GAMES)
def test_a_still_world_costs_the_default_at_most_twice(game: str) -> None:
    assert measured(game, "still", HORIZON, PAIRS_OF_DEFAULT) <= 2.0


@pytest.mark.nightly
@pytest.mark.parametrize("game", GAMES)
def test_a_switch_of_ten_thousand_rounds_costs_the_default_at_most_half(game: str) -> None:
    """At half of the rounds, with a half-life of 2,000."""
    assert measured(game, "switch", HORIZON, PAIRS_OF_DEFAULT) <= 0.5
