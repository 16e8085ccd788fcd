"""Inside the library kernels are evaluated without checks, to the same bits."""

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import Constant, Kernel, Matern, Periodic, Polynomial, from_function

KERNELS = [
    pm.kernels.SquaredExponential([0.5, 2.0]),
    Matern(1.5, 0.3) + Periodic(2.0),
    2.0 * Polynomial(3) * Matern(2.5) + 0.5,
]
X, Y = (np.random.default_rng(seed).normal(size=(n, 2)) for seed, n in enumerate((7, 4)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_points_that_need_no_check_give_the_same_bits(kernel: Kernel) -> None:
    for checked, unchecked in (
        (kernel(X), kernel.evaluate(X)),
        (kernel(X, Y), kernel.evaluate(X, Y)),
        (kernel.diagonal(X), kernel.evaluate_diagonal(X)),
        (kernel.gradient(X, Y), kernel.evaluate_gradient(X, Y)),
        (kernel.mixed(X, Y), kernel.evaluate_mixed(X, Y)),
    ):
        assert checked.tobytes() == unchecked.tobytes()


def test_what_overflows_and_what_has_no_derivative_is_refused_all_the_same() -> None:
    huge = np.full((1, 2), 1e200)
    with pytest.raises(InvalidInput, match="finite covariances"):
        Polynomial(3).evaluate(huge)
    with pytest.raises(InvalidInput, match="must be differentiable"):
        (Matern(0.5) + Matern(1.5)).evaluate_gradient(X, Y)


def test_only_kernels_of_the_library_are_semidefinite_by_construction() -> None:
    product = from_function(lambda x, y: x @ y.T)
    assert all(kernel.certified for kernel in KERNELS)
    assert not product.certified
    assert not (KERNELS[0] + product * Constant(2.0)).certified


def test_a_function_cannot_change_the_points_of_a_game() -> None:
    def careless(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x *= 2.0
        return x @ y.T

    with pytest.raises(ValueError, match="read-only"):
        from_function(careless).evaluate(X.copy())
