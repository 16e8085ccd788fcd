"""Sampling rules as theorems: the exact minimiser, the 4/3 rule, other kappas, E2D."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.policies.ids.ratio import information_ratio
from partial_monitoring.policies.ids.sampling import Approximate
from tests.oracles.ratios import KAPPAS, least_of_pairs, ratio
from tests.oracles.sampling_rules import Problem, psi, some_kappa
from tests.strategies import problems

Array = NDArray[np.float64]


# -- the exact rule --------------------------------------------------------------------------


@given(problems(), some_kappa)
def test_lemma_existence(problem: Problem, kappa: float) -> None:
    """A minimiser exists; it is infinite only if every action loses something and shows nothing."""
    mu = pm.sampling.generalized(kappa)(*problem)
    gaps, gains = problem
    assert (mu >= 0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-15)
    assert np.isfinite(psi(mu, problem, kappa)) == ((gains > 0).any() or (gaps <= 0).any())


@given(problems(), some_kappa)
def test_the_exact_rule_is_the_best_of_all_pairs(problem: Problem, kappa: float) -> None:
    mu = pm.sampling.generalized(kappa)(*problem)
    least = least_of_pairs(*problem, kappa)
    assert psi(mu, problem, kappa) == pytest.approx(least, rel=1e-10, abs=1e-300)


@given(problems(), st.integers(0, 10_000))
def test_no_mixture_is_better_than_the_exact_rule(problem: Problem, seed: int) -> None:
    gaps, gains = problem
    mu = pm.sampling.exact(gaps, gains)
    rng = np.random.default_rng(seed)
    others = rng.dirichlet(np.full(len(gaps), rng.choice([0.1, 1.0])), size=300)
    nearby = 0.99 * mu + 0.01 * others
    for mixed in (others, nearby):
        assert (information_ratio(mixed, gaps, gains) >= psi(mu, problem) * (1 - 1e-12)).all()


def test_many_actions_against_all_pairs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        k = 60
        gaps, gains = rng.exponential(size=k) ** 2 + 1e-3, rng.exponential(size=k) ** 3
        for kappa in KAPPAS:
            mu = pm.sampling.generalized(kappa)(gaps, gains)
            least = least_of_pairs(gaps, gains, kappa)
            assert psi(mu, (gaps, gains), kappa) == pytest.approx(least, rel=1e-10)


def test_points_on_one_curve() -> None:
    """Actions with equal ratios, I = D^2, and actions on one line: every pair is near-optimal."""
    gaps = np.linspace(1.0, 3.0, 41)
    for gains in (gaps**2, 2 * gaps - 1, 4 * (gaps - 1) + 1e-3, gaps - 0.999):
        mu = pm.sampling.exact(gaps, gains)
        assert psi(mu, (gaps, gains)) == pytest.approx(least_of_pairs(gaps, gains), rel=1e-11)


@given(problems(), some_kappa)
def test_lemma_support(problem: Problem, kappa: float) -> None:
    """At most two actions; h(a) = kappa D^(kappa-1) D_a - Psi I_a is least there.

    The least value is (kappa - 1) D^kappa, which is gap(mu)^2 for kappa = 2.
    """
    gaps, gains = problem
    mu = pm.sampling.generalized(kappa)(gaps, gains)
    support = np.flatnonzero(mu)
    assert 1 <= len(support) <= 2
    value = psi(mu, problem, kappa)
    assume(np.isfinite(value))
    gap = float(mu @ gaps)
    h = kappa * gap ** (kappa - 1) * gaps - value * gains
    scale = kappa * gap**kappa
    assert h[support] == pytest.approx((kappa - 1) * gap**kappa, rel=1e-7, abs=1e-9 * scale)
    assert h.min() >= (kappa - 1) * gap**kappa - 1e-9 * scale


@given(problems(), some_kappa)
def test_lemma_almost_greedy(problem: Problem, kappa: float) -> None:
    """gap(mu) <= kappa / (kappa - 1) min gap; twice for kappa = 2."""
    mu = pm.sampling.generalized(kappa)(*problem)
    assert mu @ problem[0] <= kappa / (kappa - 1) * problem[0].min() * (1 + 1e-12)


def test_almost_greedy_is_sharp() -> None:
    """A far action that shows everything, a greedy one that shows nothing: exactly twice."""
    for kappa in KAPPAS:
        gaps, gains = np.array([1.0, 50.0]), np.array([0.0, 1.0])
        mu = pm.sampling.generalized(kappa)(gaps, gains)
        assert mu @ gaps == pytest.approx(kappa / (kappa - 1), rel=1e-12)


@given(problems(least=2, most=2), some_kappa)
def test_two_actions_follow_the_closed_form(problem: Problem, kappa: float) -> None:
    order = np.argsort(problem[0], kind="stable")
    (d1, d2), (i1, i2) = problem[0][order], problem[1][order]
    assume(d1 > 0)
    mu = pm.sampling.generalized(kappa)(*problem)
    if i1 >= i2:
        assert mu[order[0]] == 1.0 or (d1 == d2 and i1 == i2)
    elif d1 == d2:
        assert mu[order[1]] == 1.0
    else:
        share = np.clip((d1 / (d2 - d1) - kappa * i1 / (i2 - i1)) / (kappa - 1), 0.0, 1.0)
        assert mu[order[1]] == pytest.approx(share, abs=1e-9)


# -- the 4/3 rule ----------------------------------------------------------------------------


def bound_of_anchoring(kappa: float) -> float:
    c = kappa**kappa / (kappa - 1) ** (kappa - 1)
    return float((1 - 1 / c) ** -(kappa - 1))


def test_the_constants_of_anchoring() -> None:
    assert [bound_of_anchoring(kappa) for kappa in (2.0, 3.0, 4.0)] == pytest.approx(
        [4 / 3, 1.3781, 1.3970], abs=1e-4
    )


@given(problems(), some_kappa)
def test_lemma_approximate(problem: Problem, kappa: float) -> None:
    """Within 4/3 of the least ratio (kappa = 2), and the best mixture with the greedy action."""
    gaps, gains = problem
    mu = Approximate(kappa)(gaps, gains)
    assert len(np.flatnonzero(mu)) <= 2
    found, least = psi(mu, problem, kappa), least_of_pairs(gaps, gains, kappa)
    assert least * (1 - 1e-12) <= found or np.isinf(found)
    if np.isfinite(found):
        assert found <= bound_of_anchoring(kappa) * least * (1 + 1e-9)
    tied = np.flatnonzero(gaps == gaps.min())
    anchor = tied[gains[tied].argmax()]
    partners = [
        least_of_pairs(gaps[[anchor, b]], gains[[anchor, b]], kappa) for b in range(len(gaps))
    ]
    assert found == pytest.approx(min(partners), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_the_bound_of_anchoring_is_tight(kappa: float) -> None:
    c = kappa**kappa / (kappa - 1) ** (kappa - 1)
    near, far = 1 + 1e-7, 1e6
    gaps = np.array([1.0, near, far])
    gains = np.array([0.0, near**kappa, c * (far - 1)])
    found = psi(Approximate(kappa)(gaps, gains), (gaps, gains), kappa)
    least = psi(pm.sampling.generalized(kappa)(gaps, gains), (gaps, gains), kappa)
    assert found / least <= bound_of_anchoring(kappa) * (1 + 1e-12)
    assert found / least >= bound_of_anchoring(kappa) * (1 - 1e-3)


def test_the_anchor_is_the_most_informative_of_tied_greedy_actions() -> None:
    """E24: anchored at action 0 this instance has 4/3, anchored at action 1 it is optimal."""
    gaps, gains = np.array([1.0, 1.0, 1e6]), np.array([0.0, 1.0, 4 * (1e6 - 1)])
    least = psi(pm.sampling.exact(gaps, gains), (gaps, gains))
    assert psi(pm.sampling.approximate(gaps, gains), (gaps, gains)) == pytest.approx(least)
    at_zero = min(least_of_pairs(gaps[[0, b]], gains[[0, b]]) for b in range(3))
    assert at_zero / least == pytest.approx(4 / 3, rel=1e-5)


@given(problems(positive=True))
def test_approximation_is_exact_when_other_gaps_are_twice_the_least(problem: Problem) -> None:
    gaps, gains = problem
    gaps = np.where(gaps > gaps.min(), 2 * gaps, gaps)
    found = psi(pm.sampling.approximate(gaps, gains), (gaps, gains))
    assert found == pytest.approx(psi(pm.sampling.exact(gaps, gains), (gaps, gains)), rel=1e-10)


# -- kappa above 2 ---------------------------------------------------------------------------


@given(problems(), some_kappa)
def test_the_minimiser_for_two_is_good_for_every_kappa(problem: Problem, kappa: float) -> None:
    """Psi_kappa(mu_2) <= 2^kappa (kappa-1)^(kappa-1) / kappa^kappa min Psi_kappa, notes 1.7."""
    constant = 2**kappa * (kappa - 1) ** (kappa - 1) / kappa**kappa
    assert constant <= 2 ** (kappa - 2) * (1 + 1e-15)
    found = psi(pm.sampling.exact(*problem), problem, kappa)
    least = least_of_pairs(*problem, kappa)
    assert found <= constant * least * (1 + 1e-9) or np.isinf(least)


@pytest.mark.parametrize("kappa", [2.5, 3.0, 4.0])
def test_that_constant_is_attained(kappa: float) -> None:
    x = kappa / (2 * (kappa - 1))
    gaps, gains = np.array([x, 1.0]), np.array([2 * x - 1, 1.0])
    found = psi(pm.sampling.exact(gaps, gains), (gaps, gains), kappa)
    least = psi(pm.sampling.generalized(kappa)(gaps, gains), (gaps, gains), kappa)
    constant = 2**kappa * (kappa - 1) ** (kappa - 1) / kappa**kappa
    assert found / least == pytest.approx(constant, rel=1e-9)


# -- deterministic and E2D -------------------------------------------------------------------


@given(problems())
def test_deterministic_is_the_best_single_action(problem: Problem) -> None:
    gaps, gains = problem
    mu = pm.sampling.deterministic(gaps, gains)
    values = ratio(gaps, gains)
    assert sorted(mu.tolist()) == [0.0] * (len(gaps) - 1) + [1.0]
    chosen = int(mu.argmax())
    if np.isfinite(values.min()):
        assert values[chosen] == values.min()
        assert chosen == values.argmin()
    else:
        assert chosen == gaps.argmin()


@given(problems(), st.sampled_from([0.0, 0.1, 1.0, 30.0]))
def test_e2d_minimises_the_gap_minus_information(problem: Problem, tradeoff: float) -> None:
    gaps, gains = problem
    mu = pm.sampling.e2d(tradeoff)(gaps, gains)
    assert mu.argmax() == (gaps - tradeoff * gains).argmin()
    assert mu.max() == mu.sum() == 1.0


@given(problems(), st.sampled_from([0.01, 0.1, 1.0, 30.0]))
def test_e2d_inequality(problem: Problem, tradeoff: float) -> None:
    """min_a D - lambda I <= Psi(mu) / (4 lambda) for every mu (notes 1.10)."""
    gaps, gains = problem
    mu = pm.sampling.e2d(tradeoff)(gaps, gains)
    score = float(mu @ (gaps - tradeoff * gains))
    least = psi(pm.sampling.exact(gaps, gains), problem)
    assert score <= least / (4 * tradeoff) + 1e-12 * (1 + abs(score))


@given(problems(positive=True))
def test_anytime_e2d_follows_the_exact_rule(problem: Problem) -> None:
    """With lambda = D(mu) / 2 I(mu) the inequality is tight: the score is half the gap of mu.

    So the action is one on which h(a) = 2 D(mu) D_a - Psi I_a is least (lemma support).
    """
    gaps, gains = problem
    assume((gains > 0).any())
    mu = pm.sampling.exact(gaps, gains)
    gap, gain = mu @ gaps, mu @ gains
    tradeoff = gap / (2 * gain)
    chosen = int(pm.sampling.e2d("anytime")(gaps, gains).argmax())
    assert gaps[chosen] - tradeoff * gains[chosen] == pytest.approx(gap / 2, rel=1e-7)
    assert gap / 2 == pytest.approx(psi(mu, problem) / (4 * tradeoff), rel=1e-7)


def test_anytime_e2d_is_not_decided_by_rounding() -> None:
    """At its tradeoff the two actions of the exact rule tie: the same one wins at every scale."""
    rng = np.random.default_rng(0)
    rule = pm.sampling.e2d("anytime")
    for _ in range(200):
        gaps, gains = rng.random(4) + 0.1, rng.random(4)
        chosen = {
            int(rule(s * gaps, r * gains).argmax()) for s in (1.0, 3.0, 0.7) for r in (1.0, 1.1)
        }
        assert len(chosen) == 1
