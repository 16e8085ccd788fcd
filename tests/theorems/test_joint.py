"""The kernel over contexts with the least information ratio (section 6)."""

from __future__ import annotations

from itertools import product
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.context_kernel import joint_ratio
from partial_monitoring.policies.ids.frank_wolfe import best_point

Array = NDArray[np.float64]
Problem = tuple[Array, Array, Array, NDArray[np.bool_]]


def problem(seed: int, contexts: int = 4, actions: int = 5) -> Problem:
    """Return gaps, information, chi and a mask, with ties, zeros and duplicates now and then."""
    rng = np.random.default_rng(seed)
    shape = (contexts, actions)
    gaps, information = rng.random(shape), rng.random(shape) ** 3
    if seed % 3 == 0:
        gaps, information = np.round(gaps, 1), np.round(information, 1)
    if seed % 4 == 0:
        information[rng.integers(contexts)] = 0.0
    chi = rng.dirichlet(np.full(contexts, 0.5))
    mask = rng.random(shape) < 0.8
    mask[np.arange(contexts), rng.integers(0, actions, contexts)] = True
    return gaps, information, chi, mask


def solve(data: Problem, kappa: float = 2.0) -> Array:
    gaps, information, chi, mask = data
    return pm.sampling.contextual(gaps, information, chi, available=mask, kappa=kappa)


def value(kernel: Array, data: Problem, kappa: float = 2.0) -> float:
    gaps, information, chi, _ = data
    return joint_ratio(kernel, gaps, information, chi, kappa=kappa)


def assert_kernel(kernel: Array, mask: NDArray[np.bool_]) -> None:
    assert (kernel >= 0).all()
    assert kernel.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (kernel[~mask] == 0).all()


@pytest.mark.parametrize("kappa", [2.0, 3.0])
def test_the_kernel_is_that_of_a_conic_solver(kappa: float) -> None:
    for seed in range(25):
        data = problem(seed)
        gaps, information, chi, mask = data
        kernel = solve(data, kappa)
        assert_kernel(kernel, mask)
        least = value(kernel, data, kappa)
        if least == 0 or not np.isfinite(least):
            continue
        xi = cp.Variable(gaps.shape, nonneg=True)
        unit = least ** (-1 / kappa)  # so that the answer is 1
        gap = cp.sum(cp.multiply(unit * chi[:, None] * gaps, xi))
        gain = cp.sum(cp.multiply(chi[:, None] * information, xi))
        rules = [cp.sum(xi, axis=1) == 1, cp.multiply(xi, ~mask) == 0]
        if kappa == 2.0:
            aim: Any = cp.quad_over_lin(gap, gain)
        else:  # gap <= (r^2 gain)^(1/3)
            aim = cp.Variable(nonneg=True)
            rules.append(gap <= cp.geo_mean(cp.hstack([aim, gain]), [2, 1]))
        precise = dict.fromkeys(("tol_gap_rel", "tol_gap_abs", "tol_feas"), 1e-9)
        cp.Problem(cp.Minimize(aim), rules).solve(solver="CLARABEL", **precise)
        found = aim.value if kappa == 2.0 else aim.value**2
        assert float(found) == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("kappa", [2.0, 2.5, 3.0])
def test_the_kernel_is_ids_over_product_actions(kappa: float) -> None:
    for seed in range(30):
        data = problem(seed, contexts=3, actions=3)
        gaps, information, chi, mask = data
        tuples = [
            choice for choice in product(range(3), repeat=3)
            if all(mask[z, a] for z, a in enumerate(choice))
        ]  # fmt: skip
        whole = np.array([[sum(chi[z] * table[z, a] for z, a in enumerate(choice))
                           for choice in tuples] for table in (gaps, information)])  # fmt: skip
        mu = pm.sampling.generalized(kappa)(whole[0], whole[1])
        gap, gain = mu @ whole[0], mu @ whole[1]
        expected = 0.0 if gap <= 0 else gap**kappa / gain if gain > 0 else np.inf
        assert value(solve(data, kappa), data, kappa) == pytest.approx(
            expected, rel=1e-9, abs=1e-15
        )


def test_all_but_one_context_play_e2d() -> None:
    """With lambda = gap / (kappa information) every played action has the least gap - lambda I."""
    for seed in range(40):
        for kappa in (2.0, 3.0):
            data = problem(seed, contexts=6, actions=7)
            gaps, information, chi, mask = data
            kernel = solve(data, kappa)
            gap, gain = chi @ (kernel * gaps).sum(axis=1), chi @ (kernel * information).sum(axis=1)
            if gap <= 0 or gain <= 0:
                continue
            scores = np.where(mask, gaps - gap / (kappa * gain) * information, np.inf)
            played = (kernel > 0) & (chi > 0)[:, None]
            slack = scores - scores.min(axis=1, keepdims=True)
            assert slack[played].max() <= 1e-9
            assert ((kernel > 0).sum(axis=1)[chi > 0] > 1).sum() <= 1


def test_frank_wolfe_converges_to_it() -> None:
    for seed in range(12):
        gaps, information, chi, mask = data = problem(seed)
        exact = value(solve(data), data)
        if not 0 < exact < np.inf:
            continue
        for step, steps, close in (("line", 500, 1e-5), ("classic", 4000, 1e-5)):
            kernel = pm.sampling.frank_wolfe(
                gaps, information, chi, available=mask, steps=steps, step=step, tolerance=1e-12
            )
            assert_kernel(kernel, mask)
            assert exact * (1 - 1e-9) <= value(kernel, data) <= exact * (1 + close)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e4])
def test_smoothing_is_added_to_the_information(scale: float) -> None:
    """In the units of the information, whatever they are."""
    for seed in range(6):
        gaps, information, chi, mask = problem(seed)
        information = scale * information
        smooth = 0.3 * scale
        options: dict[str, Any] = {"available": mask, "steps": 50, "step": "classic"}
        one = pm.sampling.frank_wolfe(gaps, information, chi, smoothing=smooth, **options)
        two = pm.sampling.frank_wolfe(gaps, information + smooth, chi, **options)
        np.testing.assert_allclose(one, two, atol=1e-9)
    with pytest.raises(InvalidInput, match="smoothing must not be negative; got -1"):
        pm.sampling.frank_wolfe(gaps, information, chi, smoothing=-1)


def test_the_duality_gap_bounds_what_is_left() -> None:
    for seed in range(12):
        gaps, information, chi, mask = data = problem(seed)
        exact = value(solve(data), data)
        if not 0 < exact < np.inf:
            continue
        for tolerance in (1e-1, 1e-2, 1e-3):
            kernel = pm.sampling.frank_wolfe(
                gaps, information, chi, available=mask, steps=10**5, tolerance=tolerance
            )
            assert value(kernel, data) * (1 - tolerance) <= exact * (1 + 1e-9)


def test_never_worse_than_each_context_by_itself() -> None:
    """Jensen: the best kernel beats the one that is best in every context."""
    for seed in range(40):
        gaps, information, _, mask = data = problem(seed)
        apart = np.zeros_like(gaps)
        for z, own in enumerate(mask):
            apart[z, own] = pm.sampling.exact(gaps[z, own], information[z, own])
        assert value(solve(data), data) <= value(apart, data) * (1 + 1e-12)


@given(st.integers(0, 10**6), st.sampled_from([2.0, 3.0]))
def test_one_context_is_plain_ids(seed: int, kappa: float) -> None:
    gaps, information, chi, mask = problem(seed)
    for z in range(len(chi)):
        alone = np.eye(len(chi))[z]
        kernel = pm.sampling.contextual(gaps, information, alone, available=mask, kappa=kappa)
        for other, own in enumerate(mask):  # those of probability zero, too
            plain = pm.sampling.generalized(kappa)(gaps[other, own], information[other, own])
            if other == z or gaps[other, own].min() > 1e-6:
                np.testing.assert_allclose(kernel[other, own], plain, atol=1e-12)
    single = pm.sampling.contextual(gaps[:1], information[:1], [1.0], kappa=kappa)
    plain = pm.sampling.generalized(kappa)(gaps[0], information[0])
    np.testing.assert_allclose(single[0], plain, atol=1e-12)


@pytest.mark.parametrize("solve_with", [pm.sampling.contextual, pm.sampling.frank_wolfe])
@pytest.mark.filterwarnings("error")
def test_contexts_of_probability_zero_are_solved_by_themselves(solve_with: Any) -> None:
    """From their own numbers, whatever those of the contexts that count are."""
    for gaps, information in (
        ([[0, 0, 0], [1, 2, 3]], [[1, 1, 1], [0, 1, 2]]),
        ([[1, 2, 3], [1, 2, 2]], [[0, 0, 0], [1, 1e10, 1]]),
        ([[1e-200, 2e-200, 0], [1, 2, 5]], [[1e-200, 1e-200, 0], [1, 1e200, 0]]),
        ([[1e200, 2e200, 3e200], [1e-9, 2, 5]], [[0, 1, 2], [1e-3, 7, 0]]),
    ):
        kernel = solve_with(gaps, information, [1, 0])
        alone = pm.sampling.exact(np.array(gaps[1], float), np.array(information[1], float))
        np.testing.assert_allclose(kernel[1], alone, atol=1e-12)


def test_frank_wolfe_plays_greedily_where_nothing_can_be_learned() -> None:
    gaps = np.array([[2.0, 1.0], [1.0, 3.0]])
    for smoothing in (0.0, 0.1):
        kernel = pm.sampling.frank_wolfe(gaps, 0 * gaps, [0.5, 0.5], smoothing=smoothing)
        np.testing.assert_array_equal(kernel, [[0, 1], [1, 0]])
    nothing_lost = pm.sampling.frank_wolfe([[0, 1.0], [1, 0]], np.ones((2, 2)), [0.5, 0.5])
    np.testing.assert_array_equal(nothing_lost, [[1, 0], [0, 1]])


def least_ratio(data: Problem, kappa: float) -> float:
    """Return the least ratio from the E2D kernels of all prices at which something changes."""
    gaps, information, chi, mask = data
    more_gap = gaps[:, None, :] - gaps[:, :, None]
    more_gain = information[:, None, :] - information[:, :, None]
    both = mask[:, None, :] & mask[:, :, None] & (more_gain > 0) & (more_gap >= 0)
    prices = np.unique(np.append((more_gap[both] / more_gain[both]), 0.0))
    between = np.concatenate([(prices[1:] + prices[:-1]) / 2, [2 * prices[-1] + 1]])
    points = []
    for price in between:
        best = np.where(mask, gaps - price * information, np.inf).argmin(axis=1)
        each = np.arange(len(chi))
        points.append((float(chi @ gaps[each, best]), float(chi @ information[each, best])))
    least = np.inf
    for one, two in zip(points, [*points[1:], points[-1]], strict=True):
        p = best_point(one, two, kappa)
        gap, gain = (x + p * (y - x) for x, y in zip(one, two, strict=True))
        least = min(least, 0.0 if gap <= 0 else gap**kappa / gain if gain > 0 else np.inf)
    return least


@pytest.mark.parametrize("kappa", [2.0, 3.0])
def test_long_frontiers_are_walked_to_the_right_edge(kappa: float) -> None:
    """Many vertices, of many contexts or of few, all alike or all different."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        contexts, actions = [(2, 60), (12, 12), (40, 5), (90, 3)][seed % 4]
        information = np.sort(rng.random((contexts, actions)), axis=1)
        gaps = rng.uniform(0.01, 1) + rng.uniform(0.01, 3) * information**2
        if seed % 3 == 0:
            gaps, information = (np.repeat(t[:1], contexts, axis=0) for t in (gaps, information))
        elif seed % 3 == 1:
            gaps += 0.02 * rng.random(gaps.shape)
        mask = rng.random(gaps.shape) < 0.9
        mask[:, 0] = True
        data = gaps, information, rng.dirichlet(np.ones(contexts)), mask
        kernel = solve(data, kappa)
        assert_kernel(kernel, mask)
        assert ((kernel > 0).sum(axis=1) > 1).sum() <= 1
        assert value(kernel, data, kappa) == pytest.approx(least_ratio(data, kappa), rel=1e-9)


def test_long_frontiers_take_little_time() -> None:
    """All edges of convex frontiers are passed: not one look at all actions for each of them."""
    information = np.repeat(np.linspace(0, 1, 200_000)[None], 2, axis=0)
    for rise in (0.01, 0.7, 5.0):
        gaps = 0.5 + rise * information**2
        solve((gaps[:, :9], information[:, :9], np.full(2, 0.5), gaps[:, :9] > 0))
        start = perf_counter()
        pm.sampling.contextual(gaps, information, [0.5, 0.5])
        assert perf_counter() - start < 2  # with a look at all actions for each edge: minutes


def test_units_do_not_matter() -> None:
    for seed in range(10):
        gaps, information, chi, mask = data = problem(seed)
        kernel = solve(data)
        for scale in (1e-100, 1e100):
            again = solve((gaps * scale, information * scale, chi, mask))
            np.testing.assert_allclose(again, kernel, atol=1e-9)


def test_degenerate_problems() -> None:
    zeros = np.zeros((2, 3))
    ones = np.ones((2, 3))
    greedy = [[1, 0, 0], [1, 0, 0]]
    half = [0.5, 0.5]
    np.testing.assert_array_equal(pm.sampling.contextual(zeros, ones, half), greedy)
    np.testing.assert_array_equal(pm.sampling.contextual(ones, zeros, half), greedy)
    np.testing.assert_array_equal(pm.sampling.contextual(zeros, zeros, half), greedy)
    everything = zeros == 0
    assert_kernel(pm.sampling.frank_wolfe(zeros, ones, half), everything)
    assert_kernel(pm.sampling.frank_wolfe(ones, zeros, half, smoothing=0.1), everything)
    np.testing.assert_array_equal(pm.sampling.contextual([[3.0]], [[0.0]], [1.0]), [[1.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gaps": [0.1, 0.2]}, "gaps must have shape (contexts, actions); got (2,)"),
        ({"gaps": [[0.1, -0.2]]}, "gaps must not be negative; got -0.2"),
        ({"gaps": [[0.1, np.nan]]}, "gaps must be finite; got nan"),
        ({"information": [[0.1]]}, "information must have shape (1, 2); got (1, 1)"),
        ({"context_distribution": [0.5]}, "context_distribution must be non-negative and sum to 1"),
        ({"available": [[False, False]]}, "available must leave an action in every context; 0"),
        ({"available": [[1, 0]]}, "available must be a boolean mask of shape (1, 2); got int64"),
        ({"kappa": 1.5}, "kappa must be at least 2; got 1.5"),
        ({"gaps": [[0.1, 0.2], [0.3]]}, "gaps must be real numbers in rows of equal length"),
        ({"gaps": "many"}, "gaps must be real numbers in rows of equal length; got 'many'"),
        ({"gaps": [[1j, 2]]}, "gaps must be real numbers in rows of equal length"),
        ({"gaps": np.zeros((0, 2))}, "gaps must hold at least one context and action"),
        ({"information": [[1.0], [1, 2]]}, "information must be real numbers in rows of equal"),
        ({"available": [[True], [True, False]]}, "available must be a boolean mask of shape (1, 2"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {
        "gaps": [[0.1, 0.2]], "information": [[0.1, 0.2]], "context_distribution": [1.0]
    }  # fmt: skip
    with pytest.raises(InvalidInput) as caught:
        pm.sampling.contextual(**(options | change))
    assert message in str(caught.value)
    with pytest.raises(InvalidInput, match="step must be one of"):
        pm.sampling.frank_wolfe(**options, step="giant")
    for tolerance in ("a", np.nan, -1):
        with pytest.raises(InvalidInput, match="tolerance must"):
            pm.sampling.frank_wolfe(**options, tolerance=tolerance)
