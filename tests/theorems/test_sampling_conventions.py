"""Sampling rules: scales, ties, many problems at once, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.policies.ids.sampling import Approximate, SamplingRule
from tests.oracles.ratios import least_of_pairs
from tests.oracles.sampling_rules import RATIO_RULES, RULES, Problem, every_rule, psi
from tests.strategies import problems

# -- invariance, scales, conventions ---------------------------------------------------------


@given(problems(), st.sampled_from([2.0**-30, 2.0**-3, 2.0**5, 2.0**40]))
def test_scaling_changes_no_decision(problem: Problem, s: float) -> None:
    gaps, gains = problem
    for name in RATIO_RULES:
        here = RULES[name](gaps, gains)
        assert RULES[name](s * gaps, gains) == pytest.approx(here, abs=1e-12)
        assert RULES[name](gaps, s * gains) == pytest.approx(here, abs=1e-12)


@pytest.mark.parametrize("s", [1e-200, 1e-100, 1e-20, 1e20, 1e100, 1e200])
@pytest.mark.parametrize("name", RATIO_RULES)
def test_huge_and_tiny_numbers(name: str, s: float) -> None:
    """Squares of the gaps may overflow or vanish; the decision is the one at ordinary size."""
    gaps, gains = np.array([0.3, 0.5, 1.0, 2.0]), np.array([0.1, 1.0, 2.0, 0.5])
    here = RULES[name](gaps, gains)
    assert RULES[name](s * gaps, gains) == pytest.approx(here, abs=1e-12)
    assert RULES[name](gaps, s * gains) == pytest.approx(here, abs=1e-12)
    assert RULES[name](s * gaps, s * gains) == pytest.approx(here, abs=1e-12)


@every_rule
def test_nothing_is_lost_with_a_zero_gap(rule: SamplingRule) -> None:
    """0/0 = 0 (E27): an action without a gap wins, whatever the others show."""
    assert pm.sampling.exact([0.0, 1.0], [0.0, 1.0]).tolist() == [1.0, 0.0]
    assert rule(np.array([1.0, 0.0]), np.array([0.5, 0.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", RATIO_RULES)
def test_no_decision_explores_when_nothing_can_be_lost(name: str) -> None:
    mu = RULES[name]([2.0, 0.0, 0.0], [9.0, 0.0, 5.0])
    assert mu.tolist() == [0.0, 1.0, 0.0]


@every_rule
def test_all_blind_actions_mean_the_least_gap(rule: SamplingRule) -> None:
    """All I = 0: play argmin of the gap, the lowest index among ties."""
    assert rule([0.5, 0.2, 0.9, 0.2], [0.0, 0.0, 0.0, 0.0]).tolist() == [0.0, 1.0, 0.0, 0.0]


@every_rule
def test_a_single_action_is_played(rule: SamplingRule) -> None:
    for gap in (0.0, 1.0, 1e-200):
        for gain in (0.0, 1.0):
            assert rule([gap], [gain]).tolist() == [1.0]


@every_rule
@given(problem=problems())
def test_ties_go_to_the_lowest_index(rule: SamplingRule, problem: Problem) -> None:
    """Of identical actions only the first is ever played."""
    gaps, gains = (np.concatenate([x, x]) for x in problem)
    mu = rule(gaps, gains)
    for a in np.flatnonzero(mu):
        twins = np.flatnonzero((gaps == gaps[a]) & (gains == gains[a]))
        assert a == twins[0]


@given(problems(), st.integers(0, 10_000))
def test_the_order_of_different_actions_does_not_matter(problem: Problem, seed: int) -> None:
    gaps, gains = problem
    order = np.random.default_rng(seed).permutation(len(gaps))
    for name, kappa in (("exact", 2.0), ("approximate", 2.0), ("generalized 3", 3.0)):
        here = psi(RULES[name](gaps, gains), problem, kappa)
        there = psi(RULES[name](gaps[order], gains[order]), (gaps[order], gains[order]), kappa)
        assert there == pytest.approx(here, rel=1e-10)


@pytest.mark.parametrize("name", RATIO_RULES)
def test_gaps_below_the_named_tolerance_count_as_zero(name: str) -> None:
    noise, real = 0.5 * ZERO_GAP, 2.0 * ZERO_GAP
    assert RULES[name]([1.0, noise], [1.0, 0.0]).tolist() == [0.0, 1.0]
    mu = RULES[name]([1.0, real], [1.0, 0.0])
    assert mu[0] > 0


@every_rule
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 10_000))
def test_many_problems_at_once_are_each_by_itself(
    rule: SamplingRule, n: int, k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    gaps, gains = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], (2, n, 2, k)) * rng.random((2, n, 2, k))
    together = rule(gaps, gains)
    assert together.shape == gaps.shape
    for index in np.ndindex(n, 2):
        assert np.array_equal(rule(gaps[index], gains[index]), together[index])


@every_rule
def test_what_is_passed_in_stays_as_it_is(rule: SamplingRule) -> None:
    gaps, gains = np.array([1.0, 1e-12, 3.0]), np.array([0.0, 1.0, 2.0])
    rule(gaps, gains)
    assert gaps.tolist() == [1.0, 1e-12, 3.0]
    assert gains.tolist() == [0.0, 1.0, 2.0]


@every_rule
def test_lists_integers_and_views_are_numbers_too(rule: SamplingRule) -> None:
    gaps, gains = np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 9.0])
    expected = rule(gaps, gains)
    assert np.array_equal(rule([1, 2, 4], (0, 1, 9)), expected)
    wide = np.repeat(np.stack([gaps, gains]), 2, axis=1)[:, ::2]
    assert np.array_equal(rule(wide[0], wide[1]), expected)
    backwards = np.stack([gaps[::-1], gains[::-1]])[:, ::-1]
    assert np.array_equal(rule(backwards[0], backwards[1]), expected)
    assert np.array_equal(rule(gaps.astype(np.float32), gains.astype(np.float32)), expected)


# -- bad input -------------------------------------------------------------------------------


BAD: dict[str, tuple[Any, Any, str]] = {
    "nan gap": ([np.nan, 1.0], [1.0, 1.0], "gaps"),
    "nan information": ([1.0, 1.0], [1.0, np.nan], "information"),
    "infinite gap": ([np.inf, 1.0], [1.0, 1.0], "gaps"),
    "infinite information": ([1.0, 1.0], [np.inf, 1.0], "information"),
    "negative gap": ([-0.1, 1.0], [1.0, 1.0], "gaps"),
    "negative information": ([0.1, 1.0], [1.0, -1e-9], "information"),
    "lengths": ([1.0, 2.0], [1.0], "information"),
    "axes": ([1.0, 2.0], [[1.0, 2.0]], "information"),
    "a number": (1.0, 1.0, "gaps"),
    "no action": ([], [], "gaps"),
    "no action in a row": (np.zeros((2, 0)), np.zeros((2, 0)), "gaps"),
    "words": (["a", "b"], [1.0, 2.0], "gaps"),
    "ragged": ([[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0]], "gaps"),
    "none": (None, None, "gaps"),
    "complex": ([1j, 1.0], [1.0, 1.0], "gaps"),
}


def one_sentence(error: BaseException, *words: str) -> None:
    text = str(error)
    assert text.endswith(".")
    assert "\n" not in text
    for word in words:
        assert word in text


@every_rule
@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_numbers_are_refused(rule: SamplingRule, case: tuple[Any, Any, str]) -> None:
    gaps, gains, name = case
    with pytest.raises(InvalidInput) as caught:
        rule(gaps, gains)
    one_sentence(caught.value, name)


@pytest.mark.parametrize("kappa", [1.0, 1.999, 0.0, -3.0, np.nan, np.inf, "two", None])
@pytest.mark.parametrize("build", [pm.sampling.generalized, Approximate])
def test_kappa_is_at_least_two(build: Callable[[Any], object], kappa: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        build(kappa)
    one_sentence(caught.value, "kappa")


@pytest.mark.parametrize("tradeoff", [-1.0, np.nan, np.inf, "soon", None, [1.0, 2.0]])
def test_a_tradeoff_is_not_negative(tradeoff: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.sampling.e2d(tradeoff)
    one_sentence(caught.value, "tradeoff")


def test_close_scores_never_lead_out_of_range() -> None:
    """Where rounding is as large as what could still be gained, an action is still an action."""
    rng = np.random.default_rng(0)
    small = 10.0 ** rng.uniform(-8, -3, 20_000)
    gaps = np.column_stack([small, np.full(20_000, 2.0), 2.0 - 4e-16 * rng.integers(0, 3, 20_000)])
    information = np.column_stack([np.zeros(20_000), rng.random((2, 20_000)).T * 0.01])
    gaps[0] = [8.207065304882688e-05, 2.0, 1.9999999999999996]
    information[0] = [0.0, 0.009524986893650578, 0.009709949440844447]
    pairs = pm.sampling.generalized(2.0).pairs(gaps, information)
    for actions in (pairs.first, pairs.second):
        assert ((actions >= 0) & (actions < 3)).all()
    best = [least_of_pairs(d, i, 2.0) for d, i in zip(gaps[:200], information[:200], strict=True)]
    assert pairs.ratio[:200] == pytest.approx(best, rel=1e-9)
