"""The information ratio Psi_kappa(mu) = gap(mu)^kappa / information(mu): conventions and lemmas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from partial_monitoring.policies.ids.ratio import information_ratio
from tests.oracles.ratios import KAPPAS, least_of_pairs
from tests.strategies import mixtures, problems

Array = NDArray[np.float64]


def best_share(d1: float, i1: float, d2: float, i2: float, kappa: float) -> float:
    """The closed form (notes 1.7) for d1 <= d2."""
    if i1 >= i2:
        return 0.0
    if d1 == d2:
        return 1.0
    share = (d1 / (d2 - d1) - kappa * i1 / (i2 - i1)) / (kappa - 1)
    return float(np.clip(share, 0.0, 1.0))


# -- conventions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "gain", "value"), [(0, 0, 0.0), (0, 1, 0.0), (1, 0, np.inf), (2, 4, 1.0), (3, 1, 9.0)]
)
def test_nothing_over_nothing_is_nothing_and_something_over_nothing_infinite(
    gap: float, gain: float, value: float
) -> None:
    assert information_ratio([1.0], [gap], [gain]) == value


def test_gaps_and_information_of_a_mixture_are_averages() -> None:
    mu, gaps, gains = [0.25, 0.75, 0.0], [1.0, 3.0, 9.0], [0.0, 2.0, 9.0]
    assert information_ratio(mu, gaps, gains) == pytest.approx(2.5**2 / 1.5, rel=1e-15)
    assert information_ratio(mu, gaps, gains, kappa=3.0) == pytest.approx(2.5**3 / 1.5, rel=1e-15)


def test_an_action_that_is_not_played_does_not_count() -> None:
    assert information_ratio([1.0, 0.0], [0.0, 5.0], [0.0, 1.0]) == 0.0
    assert information_ratio([1.0, 0.0], [2.0, 5.0], [0.0, 1.0]) == np.inf


@given(st.data(), st.sampled_from(KAPPAS))
def test_many_problems_at_once_are_each_by_itself(data: st.DataObject, kappa: float) -> None:
    k = data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    mu = rng.dirichlet(np.ones(k), size=(2, 3))
    gaps, gains = rng.integers(0, 3, (2, 2, 3, k)).astype(float)
    together = information_ratio(mu, gaps, gains, kappa=kappa)
    assert together.shape == (2, 3)
    for index in np.ndindex(2, 3):
        alone = information_ratio(mu[index], gaps[index], gains[index], kappa=kappa)
        assert alone == pytest.approx(together[index], rel=1e-14)


# -- lemmas ----------------------------------------------------------------------------------


@given(st.data(), problems(), st.sampled_from(KAPPAS))
def test_lemma_convexity(data: st.DataObject, problem: tuple[Array, Array], kappa: float) -> None:
    """Psi_kappa is convex in mu for kappa >= 2, with the conventions for zeros."""
    gaps, gains = problem
    one, two = data.draw(mixtures(len(gaps))), data.draw(mixtures(len(gaps)))
    s = data.draw(st.floats(0.0, 1.0))
    at_one = information_ratio(one, gaps, gains, kappa=kappa)
    at_two = information_ratio(two, gaps, gains, kappa=kappa)
    between = information_ratio((1 - s) * one + s * two, gaps, gains, kappa=kappa)
    if np.isfinite(at_one) and np.isfinite(at_two):
        assert between <= ((1 - s) * at_one + s * at_two) * (1 + 1e-9) + 1e-12


def test_below_two_the_ratio_is_not_convex() -> None:
    """The Hessian's determinant is kappa (kappa - 2) x^(2 kappa - 2) / y^4: kappa >= 2 is sharp."""
    gaps, gains, kappa = np.array([0.8, 1.2]), np.array([0.85, 1.15]), 1.5
    ends = information_ratio(np.eye(2), gaps[None], gains[None], kappa=kappa)
    middle = information_ratio([0.5, 0.5], gaps, gains, kappa=kappa)
    assert middle > ends.mean() * (1 + 1e-6)


@given(st.data(), problems(), st.sampled_from(KAPPAS))
def test_the_ratio_grows_with_gaps_and_falls_with_information(
    data: st.DataObject, problem: tuple[Array, Array], kappa: float
) -> None:
    gaps, gains = problem
    mu = data.draw(mixtures(len(gaps)))
    more = np.array(data.draw(st.lists(st.floats(0, 2), min_size=len(gaps), max_size=len(gaps))))
    here = information_ratio(mu, gaps, gains, kappa=kappa)
    assert information_ratio(mu, gaps + more, gains, kappa=kappa) >= here * (1 - 1e-12)
    assert information_ratio(mu, gaps, gains + more, kappa=kappa) <= here * (1 + 1e-12)


SIZES = st.just(0.0) | st.floats(1e-4, 20.0)


@given(st.floats(0.01, 5.0), SIZES, SIZES, SIZES, st.sampled_from(KAPPAS))
def test_lemma_closed_form(d1: float, i1: float, more: float, i2: float, kappa: float) -> None:
    """The closed form of notes 1.7 minimises the ratio of two actions, for every kappa >= 2."""
    gaps, gains = np.array([d1, d1 + more]), np.array([i1, i2])
    share = best_share(d1, i1, d1 + more, i2, kappa)
    assume(i1 > 0 or i2 > 0)
    value = information_ratio([1 - share, share], gaps, gains, kappa=kappa)
    assert value == pytest.approx(least_of_pairs(gaps, gains, kappa), rel=1e-9)


@given(problems(positive=True), st.sampled_from(KAPPAS))
def test_lemma_closed_form_remark(problem: tuple[Array, Array], kappa: float) -> None:
    """Mixing the greedy action with b: c^-1 form of equation ratio-closed-form-remark."""
    gaps, gains = problem
    delta = gaps.min()
    least = least_of_pairs(gaps, gains, kappa)
    factor = kappa**kappa / (kappa - 1) ** (kappa - 1)
    for d, i in zip(gaps, gains, strict=True):
        if i <= 0:
            continue
        far = d >= kappa / (kappa - 1) * delta
        bound = factor * delta ** (kappa - 1) * (d - delta) / i if far else d**kappa / i
        assert least <= bound * (1 + 1e-9)


@given(problems(most=4), st.sampled_from(KAPPAS), st.integers(0, 10_000))
def test_two_actions_are_enough(problem: tuple[Array, Array], kappa: float, seed: int) -> None:
    """Lemma support: no mixture of many actions beats the best mixture of two."""
    gaps, gains = problem
    least = least_of_pairs(gaps, gains, kappa)
    mu = np.random.default_rng(seed).dirichlet(np.full(len(gaps), 0.5), size=200)
    values = information_ratio(mu, gaps, gains, kappa=kappa)
    assert (values >= least * (1 - 1e-9)).all()


@given(problems(), st.sampled_from([1e-6, 0.5, 3.0, 1e6]), st.sampled_from([1e-6, 2.0, 1e6]))
def test_scaling_gaps_and_information_scales_the_ratio(
    problem: tuple[Array, Array], s: float, r: float
) -> None:
    gaps, gains = problem
    mu = np.full(len(gaps), 1 / len(gaps))
    for kappa in KAPPAS:
        here = information_ratio(mu, gaps, gains, kappa=kappa)
        there = information_ratio(mu, s * gaps, r * gains, kappa=kappa)
        assert there == pytest.approx(here * s**kappa / r, rel=1e-9)
