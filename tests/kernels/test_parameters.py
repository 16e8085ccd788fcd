"""Parameters of kernels, plain data, functions from elsewhere, and what is refused."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tomli_w

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
    from_dict,
    from_function,
)
from tests.oracles.some_kernels import KERNELS, cloud, every_kernel

# -- parameters --------------------------------------------------------------------------------


@every_kernel
def test_parameters_there_and_back(name: str) -> None:
    kernel = KERNELS[name]
    names = list(kernel.parameters)
    assert kernel.with_parameters(kernel.parameters) == kernel
    assert kernel.with_parameters({}) == kernel
    vector = np.linspace(0.5, 1.5, len(names))
    other = kernel.with_parameters(vector)
    assert list(other.parameters) == list(other.bounds) == names
    np.testing.assert_array_equal(list(other.parameters.values()), vector)
    assert other == kernel.with_parameters(dict(zip(names, vector, strict=True)))
    if names:
        one = kernel.with_parameters({names[-1]: 7.0})
        assert one.parameters == kernel.parameters | {names[-1]: 7.0}


def test_names_of_parameters() -> None:
    kernel = (SquaredExponential([1, 2]) + Linear(offset=0.5)) * Polynomial(3, 0.0) * Matern(0.5)
    assert list(kernel.parameters) == [
        "factors[0].terms[0].lengthscale[0]",
        "factors[0].terms[0].lengthscale[1]",
        "factors[0].terms[0].variance",
        "factors[0].terms[1].variance",
        "factors[0].terms[1].offset",
        "factors[1].variance",
        "factors[2].lengthscale",
        "factors[2].variance",
    ]
    assert Linear().bounds == {"variance": (0.0, np.inf)}


def test_wrong_parameters() -> None:
    kernel = SquaredExponential()
    with pytest.raises(UnknownName, match="did you mean 'lengthscale'"):
        kernel.with_parameters({"lengthscales": 1.0})
    with pytest.raises(UnknownName, match="no parameter named 'offset'"):
        Linear().with_parameters({"offset": 1.0})
    with pytest.raises(InvalidInput, match=r"values must have shape \(2,\); got \(1,\)"):
        kernel.with_parameters([1.0])
    with pytest.raises(InvalidInput, match="variance must be positive"):
        kernel.with_parameters([1.0, 0.0])
    with pytest.raises(InvalidInput, match="variance must be finite"):
        kernel.with_parameters({"variance": np.nan})
    with pytest.raises(InvalidInput, match="has no parameters; got 'a'"):
        from_function(np.dot).with_parameters({"a": 1.0})


# -- plain data --------------------------------------------------------------------------------


@every_kernel
def test_plain_data_there_and_back(name: str) -> None:
    kernel = KERNELS[name]
    data = kernel.to_dict()
    assert from_dict(data) == kernel
    assert from_dict(json.loads(json.dumps(data))) == kernel
    assert from_dict(tomllib.loads(tomli_w.dumps(data))) == kernel


def test_wrong_plain_data() -> None:
    with pytest.raises(InvalidInput, match="kernel must be a table with the key 'type'"):
        from_dict({"lengthscale": 1.0})
    with pytest.raises(UnknownName, match="no type of kernel named 'maternn'; did you mean"):
        from_dict({"type": "maternn"})
    with pytest.raises(UnknownName, match="no key of a linear kernel named 'lengthscale'"):
        from_dict({"type": "linear", "lengthscale": 1.0})
    with pytest.raises(InvalidInput, match="a sum kernel needs 'terms', a list of kernels"):
        from_dict({"type": "sum", "terms": 3})
    with pytest.raises(InvalidInput, match=r"nu must be 0.5, 1.5 or 2.5; got 3"):
        from_dict({"type": "matern", "nu": 3})
    for kernel in (from_function(np.dot), Linear() + from_function(np.dot)):
        with pytest.raises(InvalidInput, match="must be one of this library's to be written"):
            kernel.to_dict()


# -- functions from elsewhere ------------------------------------------------------------------


def test_a_function_of_ones_own() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((150, 1)), rng.random((4, 1))
    kernel = as_kernel(lambda a, b: np.minimum(a, b.T))
    np.testing.assert_array_equal(kernel(x, y), np.minimum(x, y.T))
    np.testing.assert_array_equal(kernel.diagonal(x), x[:, 0])
    np.testing.assert_array_equal(np.diagonal(kernel(x)), x[:, 0])
    assert kernel.parameters == {}
    assert as_kernel(kernel) is kernel
    with_diagonal = from_function(lambda a, b: np.minimum(a, b.T), diagonal=lambda a: a[:, 0])
    np.testing.assert_array_equal(with_diagonal.diagonal(x), kernel.diagonal(x))
    np.testing.assert_array_equal(with_diagonal(x), kernel(x))
    np.testing.assert_array_equal((2 * kernel + Linear())(x, y), 2 * kernel(x, y) + x @ y.T)


def test_functions_that_are_no_kernels() -> None:
    x = cloud(3)
    with pytest.raises(InvalidInput, match=r"what .* returns must have shape \(3, 3\); got \(3,\)"):
        from_function(lambda a, b: a[:, 0])(x)
    with pytest.raises(InvalidInput, match=r"what .* returns must be finite"):
        from_function(lambda a, b: np.full((len(a), len(b)), np.nan))(x)
    with pytest.raises(InvalidInput, match="kernel must be symmetric"):
        from_function(lambda a, b: np.repeat(a[:, :1], len(b), axis=1))(x)
    with pytest.raises(InvalidInput, match="function must be a function; got 3"):
        from_function(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="diagonal must be a function; got 3"):
        from_function(np.dot, diagonal=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"kernel must be a kernel, .* got 'rbf'"):
        as_kernel("rbf")
    with pytest.raises(InvalidInput, match="got the class Linear"):
        as_kernel(Linear)


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SquaredExponential(0.0), "lengthscale must be positive; got 0.0"),
        (lambda: SquaredExponential([1, -2]), "lengthscale must be positive; got -2 at index 1"),
        (lambda: SquaredExponential([]), "lengthscale must have at least one entry"),
        (lambda: SquaredExponential([[1.0]]), r"lengthscale must have shape \(p,\)"),
        (lambda: SquaredExponential(np.nan), "lengthscale must be finite"),
        (lambda: SquaredExponential([1, np.inf]), "lengthscale must be finite; got inf at index 1"),
        (lambda: SquaredExponential("1"), "lengthscale must be real numbers"),
        (lambda: SquaredExponential(variance=0), "variance must be positive; got 0"),
        (lambda: Matern(2.0), "nu must be 0.5, 1.5 or 2.5; got 2.0"),
        (lambda: Periodic(period=-1.0), "period must be positive; got -1.0"),
        (lambda: Linear(offset=-1.0), "offset must not be negative; got -1.0"),
        (lambda: Polynomial(0), "degree must be a whole number >= 1; got 0"),
        (lambda: Polynomial(1.5), "degree must be a whole number"),
        (lambda: Constant(0.0), "value must be positive; got 0.0"),
    ],
)
def test_wrong_numbers(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build()


@every_kernel
def test_wrong_points(name: str) -> None:
    kernel, x = KERNELS[name], cloud(3)
    with pytest.raises(InvalidInput, match=r"x must have shape \(n, p\); got \(3,\)"):
        kernel(x[0])
    with pytest.raises(InvalidInput, match=r"y must have shape \(n, 3\); got \(2, 2\)"):
        kernel(x, np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="x must have at least one column"):
        kernel(np.ones((2, 0)))
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidInput, match="x must be finite"):
            kernel.diagonal([[bad, 0.0, 0.0]])
        with pytest.raises(InvalidInput, match="y must be finite"):
            kernel(x, [[bad, 0.0, 0.0]])


@pytest.mark.parametrize(
    "kernel", [SquaredExponential([1, 2]), Periodic([1, 2]), Matern(1.5, [1, 2])]
)
def test_one_lengthscale_per_column(kernel: Kernel) -> None:
    for x in (np.ones((2, 3)), np.ones((1, 3)), np.ones((0, 3))):
        for use in (kernel, kernel.diagonal, kernel.gradient, kernel.mixed):
            with pytest.raises(InvalidInput, match="x must have 2 columns, one for each"):
                use(x)


def test_overflow_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"finite covariances; got inf at index \(0, 0\)"):
        Polynomial(3)([[1e100]], [[1e100]])
