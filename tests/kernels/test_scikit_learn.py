"""The kernels against those of scikit-learn, and those of scikit-learn as kernels here."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from partial_monitoring.errors import InvalidInput, UnknownName
from partial_monitoring.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    SquaredExponential,
    as_kernel,
)

SCALES = [0.3, 1.0, 2.0]
PAIRS: dict[str, tuple[Kernel, sk.Kernel]] = {
    "se": (SquaredExponential(0.7), sk.RBF(0.7)),
    "se per dimension": (SquaredExponential(SCALES, 2.0), 2.0 * sk.RBF(SCALES)),
    **{
        f"matern {nu}": (Matern(nu, 0.7, 3.0), 3.0 * sk.Matern(0.7, nu=nu))
        for nu in (0.5, 1.5, 2.5)
    },
    **{
        f"matern {nu} per dimension": (Matern(nu, SCALES), sk.Matern(SCALES, nu=nu))
        for nu in (0.5, 1.5, 2.5)
    },
    "linear": (Linear(), sk.DotProduct(0.0)),
    "affine": (Linear(2.0, 0.25), 2.0 * sk.DotProduct(0.5)),
    "polynomial": (Polynomial(3, 0.25, 2.0), 2.0 * sk.DotProduct(0.5) ** 3),
    "constant": (Constant(0.7), sk.ConstantKernel(0.7)),
    "sum": (SquaredExponential() + Linear() + 0.5, sk.RBF() + sk.DotProduct(0.0) + 0.5),
    "product": (SquaredExponential() * Matern(1.5), sk.RBF() * sk.Matern(nu=1.5)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_values_are_those_of_scikit_learn(name: str) -> None:
    ours, theirs = PAIRS[name]
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal((30, 3))
    y[:3] = x[:3]
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(ours(x), theirs(x), **close)
    np.testing.assert_allclose(ours(x, y), theirs(x, y), **close)
    np.testing.assert_allclose(ours.diagonal(x), theirs.diag(x), **close)
    wrapped = as_kernel(theirs)
    np.testing.assert_allclose(wrapped(x), ours(x), **close)
    np.testing.assert_array_equal(wrapped(x, y), theirs(x, y))
    np.testing.assert_array_equal(np.diagonal(wrapped(x)), wrapped.diagonal(x))


def test_periodic_values_are_those_of_scikit_learn_in_one_dimension() -> None:
    """In more dimensions theirs is a function of the distance, which is not a kernel."""
    rng = np.random.default_rng(0)
    x, y = 3 * rng.standard_normal((40, 1)), 3 * rng.standard_normal((30, 1))
    ours, theirs = Periodic(1.3, 0.6), sk.ExpSineSquared(0.6, 1.3)
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours(x, y), theirs(x, y), rtol=1e-12, atol=1e-12)


def test_parameters_of_scikit_learn() -> None:
    theirs = 2.0 * sk.RBF([0.5, 3.0], (1e-2, 1e2)) + sk.WhiteKernel(0.1, "fixed")
    kernel = as_kernel(theirs)
    names = ["k1__k1__constant_value", "k1__k2__length_scale[0]", "k1__k2__length_scale[1]"]
    assert list(kernel.parameters) == list(kernel.bounds) == names
    np.testing.assert_allclose(list(kernel.parameters.values()), [2.0, 0.5, 3.0])
    np.testing.assert_allclose(kernel.bounds[names[1]], (1e-2, 1e2))
    other = kernel.with_parameters({names[0]: 5.0})
    np.testing.assert_allclose(list(other.parameters.values()), [5.0, 0.5, 3.0])
    x = np.random.default_rng(0).standard_normal((4, 2))
    expected = 5.0 * sk.RBF([0.5, 3.0]) + sk.WhiteKernel(0.1)
    np.testing.assert_allclose(other(x), expected(x))
    np.testing.assert_allclose(other(x, x), (5.0 * sk.RBF([0.5, 3.0]))(x))
    with pytest.raises(UnknownName, match="no parameter named 'length'"):
        kernel.with_parameters({"length": 1.0})


def test_kernels_of_scikit_learn_combine_with_ours() -> None:
    x = np.random.default_rng(0).standard_normal((4, 2))
    kernel = 3.0 * as_kernel(sk.RBF(0.5)) + Linear()
    np.testing.assert_allclose(kernel(x), 3.0 * sk.RBF(0.5)(x) + x @ x.T)
    assert list(kernel.parameters) == [
        "terms[0].factors[0].value",
        "terms[0].factors[1].length_scale",
        "terms[1].variance",
    ]
    assert kernel.bounds["terms[0].factors[1].length_scale"] == pytest.approx((1e-5, 1e5))
    assert repr(as_kernel(sk.RBF(0.5))) == "as_kernel(RBF(length_scale=0.5))"
    assert not kernel.differentiable
    with pytest.raises(InvalidInput, match="kernel must be differentiable"):
        kernel.gradient(x)
    with pytest.raises(InvalidInput, match="must be one of this library's to be written"):
        kernel.to_dict()
