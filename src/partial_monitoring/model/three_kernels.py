"""The Gram matrix of all rewards and observations, from three kernels over the actions."""

from __future__ import annotations

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels.gram import DenseGram, Functionals, refuse_indefinite
from partial_monitoring.validation import Array, frozen

ROUNDING = 1e-14
"""Share of its largest entry by which a Gram matrix may be indefinite without being corrected."""

SYMMETRIC = 1e-8
"""Share of its largest entry by which a Gram matrix may fail to be symmetric."""


def joint_gram(
    rewards: Array, shown: Array, cross: Array
) -> tuple[DenseGram, Functionals, Functionals]:
    """Return the Gram matrix of all rewards and observations, and which of them are which."""
    k, m = len(rewards), cross.shape[2]
    each = np.arange(k)
    apart = cross.reshape(k, k * m)
    if m == 1 and np.array_equal(rewards, shown) and np.array_equal(rewards, apart):
        own = Functionals(each[:, None], np.ones((k, 1)))
        return _semidefinite(rewards), own, own[:, None]
    whole = np.block([[rewards, apart], [apart.T, shown]])
    places = k + np.arange(k * m).reshape(k, m, 1)
    return (
        _semidefinite(whole),
        Functionals(each[:, None], np.ones((k, 1))),
        Functionals(places, np.ones((k, m, 1))),
    )


def _semidefinite(matrix: Array) -> DenseGram:
    """Return a Gram matrix, if it can be one."""
    size = float(np.abs(matrix).max(initial=0.0))
    if float(np.abs(matrix - matrix.T).max(initial=0.0)) > SYMMETRIC * size:
        raise InvalidInput("reward_kernel and observation_kernel must be symmetric; they are not.")
    even = (matrix + matrix.T) / 2
    values, vectors = refuse_indefinite(even, "the three kernels together")
    if float(values[0]) < -ROUNDING * size * len(matrix):  # the nearest that is
        even = (vectors * np.maximum(values, 0.0)) @ vectors.T
        even = (even + even.T) / 2
    return DenseGram(frozen(even))
