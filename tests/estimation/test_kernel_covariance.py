"""How the covariance of a kernel game is kept: folded, without a base, shared between states."""

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.kernel import design as kernel_design
from partial_monitoring.estimation.kernel import posterior as kernel
from partial_monitoring.estimation.kernel.covariance import folded
from partial_monitoring.estimation.kernel.posterior import KernelEstimate

POINTS = np.random.default_rng(0).random((40, 2))


def played(actions: list[int], start: KernelEstimate | None = None) -> KernelEstimate:
    game = pm.games.kernelized_bandit(POINTS, kernel=pm.kernels.SquaredExponential(0.3))
    estimate = kernel.initial(kernel_design.kernel_design(game), 1) if start is None else start
    for a in actions:
        estimate = kernel.updated(estimate, np.array([a]), np.array([[np.sin(a)]]))
    return estimate


def assert_same(one: KernelEstimate, other: KernelEstimate) -> None:
    for name in ("numbers", "variances", "signals", "log_det"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-10)
    np.testing.assert_allclose(one.covariances[0].matrix, other.covariances[0].matrix, atol=1e-10)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_folding_subtracts_and_keeps_what_it_is_given(size: int) -> None:
    rng = np.random.default_rng(size)
    rows, root = rng.standard_normal((7, size)), rng.standard_normal((size, size))
    base = root + root.T
    before = base.copy()
    found = folded(base, rows)
    np.testing.assert_allclose(found, base - rows.T @ rows, atol=1e-12)
    assert np.array_equal(found, found.T)
    assert np.array_equal(base, before)


def test_covariance_need_not_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    actions = np.random.default_rng(1).integers(12, size=600).tolist()
    dense = played(actions)
    monkeypatch.setattr(kernel_design, "DENSE", 10)
    lazy = played(actions)
    assert dense.covariances[0].base is not None
    assert lazy.covariances[0].base is None
    assert lazy.covariances[0].rows.count <= 12 + kernel.SOON
    assert_same(dense, lazy)


@pytest.mark.parametrize("dense", [10, 2500])
def test_states_are_values(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_design, "DENSE", dense)
    first = [3, 5, 3, 9] * 15
    state = played(first)
    one, other = played([1, 2, 3, 4, 5], state), played([6, 7, 8, 9, 10], state)
    assert_same(state, played(first))
    assert_same(one, played([*first, 1, 2, 3, 4, 5]))
    assert_same(other, played([*first, 6, 7, 8, 9, 10]))


@pytest.mark.parametrize("dense", [10, 2500])
def test_columns_are_those_of_the_matrix(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_design, "DENSE", dense)
    covariance = played([3, 5, 9] * 30).covariances[0]
    for index, weight in (([4], [2.0]), ([4, 7], [1.0, -1.0]), ([1, 4, 7], [0.5, 2.0, -1.0])):
        row = kernel.Functionals(np.array(index), np.array(weight))
        expected = covariance.matrix[:, index] @ np.array(weight)
        np.testing.assert_allclose(covariance.times(row), expected, atol=1e-12)
        np.testing.assert_allclose(covariance.times(row), expected, atol=1e-12)
