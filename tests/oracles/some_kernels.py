"""Kernels of every kind, and points to evaluate them at."""

import numpy as np
import pytest

from partial_monitoring.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    SquaredExponential,
)

P = 3
KERNELS: dict[str, Kernel] = {
    "se": SquaredExponential(0.7, 2.0),
    "se per dimension": SquaredExponential([0.5, 1.0, 3.0], 0.3),
    "matern 0.5": Matern(0.5, 0.8, 1.5),
    "matern 1.5": Matern(1.5, 0.8, 1.5),
    "matern 1.5 per dimension": Matern(1.5, [0.5, 1.0, 3.0]),
    "matern 2.5": Matern(2.5, 1.3, 0.4),
    "matern 2.5 per dimension": Matern(2.5, [0.5, 1.0, 3.0]),
    "linear": Linear(2.0),
    "affine": Linear(2.0, 0.5),
    "polynomial 1": Polynomial(1, 0.5, 2.0),
    "polynomial 2": Polynomial(2, 1.0, 0.5),
    "polynomial 3": Polynomial(3, 0.0, 0.5),
    "periodic": Periodic(1.7, 0.9, 1.2),
    "periodic per dimension": Periodic([1.0, 2.0, 3.0], [0.5, 1.0, 0.8], 1.2),
    "constant": Constant(0.7),
    "sum": SquaredExponential() + Linear() + Constant(0.5),
    "product": Matern(1.5) * Periodic(2.0) * Linear(1.0, 1.0),
    "nested": 2.0 * (SquaredExponential(0.5) + Polynomial(2)) * Matern(2.5) + 0.1,
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def cloud(n: int, seed: int = 0, p: int = P) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))
