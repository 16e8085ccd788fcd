"""Covariance functions k(x, y) on R^p, to be added and multiplied, with derivatives.

A kernel says how alike the values of an unknown function are at two points. Call it with points in
rows: ``kernel(x, y)`` is the matrix of all k(x_i, y_j), ``kernel(x)`` the symmetric one.
"""

from partial_monitoring.kernels import candidates, readings
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.kernels.combined import Product, Sum
from partial_monitoring.kernels.files import from_dict
from partial_monitoring.kernels.polynomial import Constant, Linear, Polynomial
from partial_monitoring.kernels.stationary import Matern, Periodic, SquaredExponential
from partial_monitoring.kernels.wrapped import FromFunction, FromSklearn, as_kernel, from_function

__all__ = [
    "Constant",
    "FromFunction",
    "FromSklearn",
    "Kernel",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "SquaredExponential",
    "Sum",
    "as_kernel",
    "candidates",
    "from_dict",
    "from_function",
    "readings",
]


def __dir__() -> list[str]:
    return __all__
