"""Draws from one uniform number follow the distributions that they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from partial_monitoring.numerics.compiled import chance

MANY = 4000


def own(number: float = 0.375) -> np.ndarray:
    row = np.zeros(1, dtype=np.uint64)
    chance.start(row, number)
    return row


def test_streams_depend_on_the_number_they_start_with_only() -> None:
    one, same, other = own(), own(), own(0.375 + 2.0**-53)
    first = [chance.uniform(one) for _ in range(5)]
    assert first == [chance.uniform(same) for _ in range(5)]
    assert not set(first) & {chance.uniform(other) for _ in range(5)}


def test_streams_of_neighbouring_numbers_are_independent() -> None:
    rows = [own(i * 2.0**-53) for i in range(MANY)]
    for _ in range(3):
        numbers = np.array([chance.uniform(row) for row in rows])
        assert stats.kstest(numbers, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(MANY)


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (chance.uniform, stats.uniform),
        (chance.normal, stats.norm),
        (chance.exponential, stats.expon),
        (lambda row: np.exp(chance.log_gamma_draw(row, 0.3)), stats.gamma(0.3)),
        (lambda row: np.exp(chance.log_gamma_draw(row, 1.0)), stats.gamma(1.0)),
        (lambda row: np.exp(chance.log_gamma_draw(row, 41.5)), stats.gamma(41.5)),
        (lambda row: chance.beta(row, 0.5, 0.2), stats.beta(0.5, 0.2)),
        (lambda row: chance.beta(row, 1.0, 7.0), stats.beta(1.0, 7.0)),
        (lambda row: chance.beta(row, 1e6, 3e6), stats.beta(1e6, 3e6)),
    ],
)
def test_draws_follow_their_law(draw, law) -> None:
    row = own()
    numbers = np.array([draw(row) for _ in range(MANY)])
    assert stats.kstest(numbers, law.cdf).pvalue > 1e-3


def test_points_of_the_simplex_have_the_margins_of_their_law() -> None:
    row, shapes, out = own(), np.array([0.4, 1.0, 6.0]), np.empty(3)
    points = []
    for _ in range(MANY):
        chance.dirichlet(row, shapes, out)
        points.append(out.copy())
    found = np.array(points)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for j, shape in enumerate(shapes):
        margin = stats.beta(shape, shapes.sum() - shape)
        assert stats.kstest(found[:, j], margin.cdf).pvalue > 1e-3


def test_tiny_shapes_put_everything_on_one_corner() -> None:
    row, out = own(), np.empty(3)
    for _ in range(100):
        chance.dirichlet(row, np.full(3, 1e-4), out)
        assert np.isfinite(out).all()
        assert abs(out.sum() - 1) < 1e-12


@pytest.mark.parametrize(
    ("trials", "share"), [(0, 0.5), (1, 0.3), (16, 0.9), (17, 0.1), (500, 0.02), (100_000, 0.7)]
)
def test_successes_follow_the_binomial_law(trials: int, share: float) -> None:
    row, law = own(), stats.binom(trials, share)
    found = np.array([chance.binomial(row, trials, share) for _ in range(MANY)])
    numbers, seen = np.unique(found, return_counts=True)
    if trials == 0:
        assert numbers.tolist() == [0]
        return
    assert abs(found.mean() - law.mean()) < 4.5 * law.std() / np.sqrt(MANY)
    limits = np.unique(law.ppf(np.linspace(0.1, 0.9, 9)))
    expected = np.diff(np.concatenate([[0.0], law.cdf(limits), [1.0]])) * MANY
    places = np.searchsorted(limits, numbers)
    observed = np.bincount(places, weights=seen, minlength=len(expected))
    kept = expected > 5
    assert stats.chi2.sf(((observed - expected)[kept] ** 2 / expected[kept]).sum(), 9) > 1e-3


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_certain_trials_are_certain(share: float) -> None:
    assert chance.binomial(own(), 1000, share) == 1000 * share
