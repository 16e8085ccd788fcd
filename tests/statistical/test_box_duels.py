"""Duels over a box: the default loses far less than random pairs."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import box_duels


def compared(p: int, shown: str, seeds: int, **options: int) -> tuple[float, float]:
    """Return what a duel loses with the default and with random pairs."""
    found = box_duels.lost(p, shown, seeds, **options)
    return float(found["default"][:, 0].mean()), float(found["random"][:, 0].mean())


@pytest.mark.nightly
@pytest.mark.parametrize(("p", "shown", "share"), [(2, "who won", 0.8), (3, "by how much", 0.4)])
def test_sixty_duels_lose_a_fraction_of_random_ones(p: int, shown: str, share: float) -> None:
    default, random = compared(p, shown, 6)
    assert default < share * random


def test_few_duels_lose_less_than_random_ones() -> None:
    default, random = compared(1, "by how much", 1, duels=15, last=5)
    assert default < 0.7 * random
    utility = box_duels.taste(2, 0)(np.random.default_rng(0).uniform([80, 5], [100, 12], (500, 2)))
    assert 0 <= utility.min() < utility.max() <= 0.9
