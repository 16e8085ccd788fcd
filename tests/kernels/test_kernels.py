"""Kernels: values, derivatives against finite differences, parameters, plain data, errors."""

import copy
import pickle
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import (
    Constant,
    Linear,
    Matern,
    Periodic,
    Product,
    SquaredExponential,
    Sum,
    from_function,
)
from tests.oracles.some_kernels import KERNELS, P, cloud, every_kernel

SMOOTH = [name for name, kernel in KERNELS.items() if kernel.differentiable]
every_smooth_kernel = pytest.mark.parametrize("name", SMOOTH)


# -- values ------------------------------------------------------------------------------------


@every_kernel
def test_matrix_diagonal_and_rows_agree(name: str) -> None:
    kernel, x, y = KERNELS[name], cloud(7), cloud(4, 1)
    square, across = kernel(x), kernel(x, y)
    assert square.dtype == across.dtype == np.float64
    assert square.shape == (7, 7)
    assert across.shape == (7, 4)
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_array_equal(np.diagonal(square), kernel.diagonal(x))
    np.testing.assert_allclose(square, kernel(x, x), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(across, kernel(y, x).T, rtol=1e-14, atol=1e-14)
    one_by_one = [[kernel(a[None], b[None])[0, 0] for b in y] for a in x]
    np.testing.assert_allclose(across, one_by_one, rtol=1e-14, atol=1e-14)


@every_kernel
def test_no_points_and_one_point(name: str) -> None:
    kernel, none, one = KERNELS[name], np.zeros((0, P)), cloud(1)
    assert kernel(none).shape == (0, 0)
    assert kernel(none, one).shape == (0, 1)
    assert kernel.diagonal(none).shape == (0,)
    assert kernel(one)[0, 0] == kernel.diagonal(one)[0]


@every_kernel
@given(data=st.data())
def test_positive_semidefinite_with_duplicates(name: str, data: st.DataObject) -> None:
    numbers = st.floats(-3, 3, allow_subnormal=False)
    x = data.draw(arrays(float, (5, P), elements=numbers))
    near = x[:2] + data.draw(st.sampled_from([0.0, 1e-15, 1e-12, 1e-8, 1e-4]))
    values = KERNELS[name](np.concatenate([x, x[:3], near]))
    assert np.linalg.eigvalsh(values)[0] >= -1e-13 * len(values) * max(1.0, np.abs(values).max())


@pytest.mark.parametrize("name", ["se per dimension", "matern 0.5", "matern 1.5", "matern 2.5"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_nearly_equal_points(name: str, offset: float) -> None:
    kernel: Any = KERNELS[name]
    steps = np.concatenate([[0.0], np.logspace(-16, -3, 2000)])
    x = offset + steps[:, None] * np.ones(P)
    for values in (kernel(x), kernel(x, x), kernel(x, x[:1])):
        assert (values <= kernel.variance).all()
    assert (np.diagonal(kernel(x, x)) == kernel.variance).all()
    assert (np.diagonal(kernel(x)) == kernel.variance).all()
    assert (kernel.diagonal(x) == kernel.variance).all()


@pytest.mark.parametrize("lengthscale", [0.3, [0.3, 0.7, 1.1]])
def test_far_from_the_origin_no_digits_are_lost(lengthscale: Any) -> None:
    x, y = np.round(cloud(5) * 64) / 64, np.round(cloud(6, 1) * 64) / 64
    for kernel in (SquaredExponential(lengthscale), Matern(2.5, lengthscale)):
        np.testing.assert_array_equal(kernel(x + 2.0**40, y + 2.0**40), kernel(x, y))


def test_periodic_repeats_far_away() -> None:
    kernel = Periodic(0.5, 0.4)
    x = np.round(cloud(5) * 64) / 64
    np.testing.assert_allclose(kernel(x, x + 2.0**30), kernel(x), rtol=1e-13)


def test_any_distance_is_allowed() -> None:
    x = [[-1e100], [0.0], [1e100]]
    for name in ("se", "matern 0.5", "matern 1.5", "matern 2.5"):
        kernel: Any = KERNELS[name]
        np.testing.assert_array_equal(kernel(x), kernel.variance * np.eye(3))


# -- derivatives -------------------------------------------------------------------------------


def in_one_place(f: Callable[[np.ndarray], np.ndarray], at: np.ndarray, step: float) -> np.ndarray:
    """Return central differences of f in each coordinate of the points, in a last axis."""
    moves = step * np.eye(at.shape[1])
    return np.stack([(f(at + e) - f(at - e)) / (2 * step) for e in moves], axis=-1)


@every_smooth_kernel
def test_gradient_is_that_of_finite_differences(name: str) -> None:
    kernel, x, y = KERNELS[name], cloud(4), cloud(5, 1)
    y[0] = x[0]
    gradient = kernel.gradient(x, y)
    assert gradient.shape == (4, 5, P)
    expected = in_one_place(lambda at: kernel(at, y), x, 1e-5)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)
    np.testing.assert_array_equal(kernel.gradient(x), kernel.gradient(x, x))


@every_smooth_kernel
def test_mixed_is_that_of_finite_differences(name: str) -> None:
    kernel, x, y = KERNELS[name], cloud(4), cloud(5, 1)
    mixed = kernel.mixed(x, y)
    assert mixed.shape == (4, 5, P, P)
    expected = in_one_place(lambda at: kernel.gradient(x, at), y, 1e-5)
    np.testing.assert_allclose(mixed, expected, atol=1e-6)
    np.testing.assert_allclose(mixed, kernel.mixed(y, x).transpose(1, 0, 3, 2), atol=1e-13)


@every_smooth_kernel
def test_mixed_at_coinciding_points(name: str) -> None:
    """At x = y the Matern kernel of 1.5 has a kink in its second derivative: smaller steps."""
    kernel, x = KERNELS[name], cloud(4)
    mixed = kernel.mixed(x)[range(4), range(4)]
    step = 1e-7
    for i, point in enumerate(x):
        expected = in_one_place(lambda at, p=point: kernel.gradient(p[None], at), x[[i]], step)
        np.testing.assert_allclose(mixed[i], expected[0, 0], atol=3e-5)
        assert np.linalg.eigvalsh(mixed[i])[0] >= -1e-10


@every_smooth_kernel
def test_values_and_derivatives_are_jointly_positive_semidefinite(name: str) -> None:
    kernel, x = KERNELS[name], cloud(5)
    x[4] = x[3]
    down = kernel.gradient(x).transpose(0, 2, 1).reshape(5 * P, 5)
    both = kernel.mixed(x).transpose(0, 2, 1, 3).reshape(5 * P, 5 * P)
    joint = np.block([[kernel(x), down.T], [down, both]])
    np.testing.assert_allclose(joint, joint.T, atol=1e-12)
    assert np.linalg.eigvalsh(joint)[0] >= -1e-11 * np.abs(joint).max()


def test_what_is_not_differentiable_says_so() -> None:
    rough = Matern(0.5)
    for kernel in (rough, SquaredExponential() + rough, Linear() * rough, from_function(np.dot)):
        assert not kernel.differentiable
        for derivative in (kernel.gradient, kernel.mixed):
            with pytest.raises(InvalidInput, match=r"kernel must be differentiable; .* is not"):
                derivative([[0.0]], [[0.0]])
    with pytest.raises(InvalidInput, match=r"differentiable; Matern\(nu=0.5"):
        (SquaredExponential() + rough).gradient([[0.0]])


# -- combinations ------------------------------------------------------------------------------


def test_sums_and_products_of_values() -> None:
    a, b, x, y = SquaredExponential(0.5), Linear(), cloud(3), cloud(4, 1)
    np.testing.assert_array_equal((a + b)(x, y), a(x, y) + b(x, y))
    np.testing.assert_array_equal((a * b)(x, y), a(x, y) * b(x, y))
    np.testing.assert_array_equal((a + 2)(x, y), a(x, y) + 2)
    assert sum([a, b, a]) == a + b + a == Sum((a, b, a))  # type: ignore[comparison-overlap]
    assert a * (b * a) == Product((a, b, a))


@every_kernel
@pytest.mark.parametrize("number", [3, 0.5, np.float64(2.0), np.int64(2), Fraction(1, 3)])
def test_numbers_scale(name: str, number: Any) -> None:
    kernel, x, y = KERNELS[name], cloud(3), cloud(4, 1)
    for scaled in (number * kernel, kernel * number):
        np.testing.assert_allclose(scaled(x, y), float(number) * kernel(x, y), rtol=1e-14)
        assert list(scaled.parameters) == list(kernel.parameters)


def test_a_number_scales_the_variance_and_a_function_gets_a_constant() -> None:
    assert 2 * SquaredExponential() == SquaredExponential(variance=2.0)
    function = from_function(lambda x, y: x @ y.T)
    assert 2 * function == Product((Constant(2.0), function))
    assert 3 * (2 * function) == Product((Constant(6.0), function))


@pytest.mark.parametrize("number", [0, -1.0, np.nan, np.inf, True])
def test_kernels_are_scaled_by_positive_numbers_only(number: Any) -> None:
    with pytest.raises(InvalidInput, match="a number times a kernel must be"):
        number * Linear()


def test_other_things_are_not_added() -> None:
    for other in ("a", None, [1.0], np.ones(2)):
        with pytest.raises(TypeError):
            Linear() + other
        with pytest.raises(TypeError):
            other * Linear()
    with pytest.raises(InvalidInput, match="value must be positive; got -1"):
        Linear() + -1
    with pytest.raises(InvalidInput, match="terms must be kernels; got 3"):
        Sum((Linear(), 3))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"factors must be one kernel or more.*; got \(\)"):
        Product(())


def test_representations() -> None:
    assert repr(SquaredExponential([1, 2])) == (
        "SquaredExponential(lengthscale=(1.0, 2.0), variance=1.0)"
    )
    kernel = (Constant(2) + Linear()) * Matern()
    assert repr(kernel) == (
        "(Constant(value=2.0) + Linear(variance=1.0, offset=0.0)) * "
        "Matern(nu=2.5, lengthscale=1.0, variance=1.0)"
    )
    assert repr(from_function(np.dot)) == "from_function(dot)"


@every_kernel
def test_representations_are_code_and_kernels_are_values(name: str) -> None:
    kernel = KERNELS[name]
    assert eval(repr(kernel), vars(pm.kernels).copy()) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == copy.deepcopy(kernel) == kernel
    assert hash(kernel) == hash(copy.deepcopy(kernel))


# -- speed -------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["se", "matern 1.5", "matern 2.5"])
def test_one_row_against_many_points_costs_little_more_than_distances(name: str) -> None:
    many, one = cloud(10_000, p=6), cloud(1, p=6)

    def fastest(f: Callable[[np.ndarray, np.ndarray], Any]) -> float:
        times = []
        for _ in range(50):
            start = time.perf_counter()
            f(one, many)
            times.append(time.perf_counter() - start)
        return min(times)

    assert fastest(KERNELS[name]) < 20 * fastest(lambda x, y: cdist(x, y, "sqeuclidean"))
