"""The test behind "clearly less": its level for skewed regret, and its power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from partial_monitoring.report.significance import FEWEST, LEVEL, Pair, betting_test, holm
from partial_monitoring.report.summary import sections
from partial_monitoring.validation import Array
from tests.oracles.report_samples import comparison, made_up

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

SKEWED: dict[str, tuple[Draw, float]] = {
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "lognormal": (lambda rng, shape: rng.lognormal(size=shape), float(np.exp(0.5))),
    "1 in 20 loses 20": (lambda rng, shape: 20.0 * (rng.random(shape) < 0.05), 1.0),
    "1 in 10 loses 10": (lambda rng, shape: 10.0 * (rng.random(shape) < 0.1), 1.0),
    "heavy tails": (lambda rng, shape: abs(rng.standard_t(3, size=shape)), 2 * 3**0.5 / np.pi),
}
"""Regret of mean equal to a constant, against a policy that always has that regret."""


def share_called_clear(name: str, seeds: int, trials: int) -> float:
    draw, mean = SKEWED[name]
    rng = np.random.default_rng(0)
    p = betting_test(draw(rng, (seeds, trials)) - mean)
    return float(np.mean([pair_of(x, seeds).clear for x in p]))


def pair_of(p: float, seeds: int) -> Pair:
    return Pair("a", "b", -1.0, -1.0, -1.0, p, p, seeds)


@pytest.mark.parametrize("name", SKEWED)
def test_equal_means_of_skewed_regret_are_rarely_called_different(name: str) -> None:
    for seeds in (20, FEWEST):
        assert share_called_clear(name, seeds, trials=2000) <= LEVEL + 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("name", SKEWED)
@pytest.mark.parametrize("seeds", [6, 20, 40, FEWEST, 100, 300])
def test_the_level_holds_for_skewed_regret(name: str, seeds: int) -> None:
    assert share_called_clear(name, seeds, trials=10_000) <= LEVEL + 3 * (LEVEL / 10_000) ** 0.5


def test_the_means_of_many_examples_are_as_said() -> None:
    rng = np.random.default_rng(0)
    for draw, mean in SKEWED.values():
        assert draw(rng, (1000, 1000)).mean() == pytest.approx(mean, rel=0.02)


def test_the_test_averages_the_fortunes_of_gamblers() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.3, 1, (12, 5)).clip(-2, 2)
    for j, p in enumerate(betting_test(values, 2.0)):
        fortunes = [
            quad(lambda u, s=sign, x=values[:, j]: float(np.prod(1 + s * u * x / 2)), 0, 1)[0]
            for sign in (-1, 1)
        ]
        assert p == pytest.approx(min(1.0, 2 / max(fortunes)))


def test_the_test_does_not_depend_on_units_or_order() -> None:
    values = np.random.default_rng(2).exponential(size=(60, 3)) - 0.7
    p = betting_test(values, 10.0)
    assert betting_test(1e9 * values[::-1], 1e10) == pytest.approx(p)
    assert betting_test(-values, 10.0) == pytest.approx(p)
    assert betting_test(np.zeros((60, 2))).tolist() == [1.0, 1.0]


def test_hundreds_of_pairs_leave_power() -> None:
    ones = holm(betting_test(np.ones((FEWEST, 600))))
    assert ones.max() < 1e-6
    names = {f"policy {i}": 0.5 for i in range(35)}  # 595 pairs
    result = made_up(names, seeds=60)
    for i, name in enumerate(names):
        result.regret[name][:, -1] += 100.0 * i
    (section,) = sections(comparison(result))
    assert len(section.pairs) == 595
    assert section.winner == "policy 0"
    assert all(pair.clear for pair in section.pairs)
