"""Weights that fall with age, see ``estimation.forgetting``."""

# mypy: ignore-errors

import numpy as np

from partial_monitoring.numerics.compiled.just_in_time import compiled


@compiled(allocates=False)
def scale(keep, count):
    """Return c: after so many observations, those of age i weigh c keep^i."""
    return (1.0 + keep) / (1.0 + keep ** float(count))


@compiled(allocates=False)
def weigh(gram, vector, factor, regularization):
    """Multiply the weights of all observations with a factor, but not that of the prior."""
    for p in range(len(vector)):
        vector[p] *= factor
        for q in range(len(vector)):
            gram[p, q] *= factor
        gram[p, p] += (1.0 - factor) * regularization


@compiled
def weigh_each(gram, vector, factors, regularization):
    """Return Gram matrices (n, r, r) and vectors (n, r) with weights times factors (n,)."""
    gram, vector = gram.copy(), vector.copy()
    for i in range(len(factors)):
        weigh(gram[i], vector[i], factors[i], regularization)
    return gram, vector


@compiled
def scales(keep, counts):
    """Return c after numbers of observations (n,), shape (n,)."""
    found = np.empty(len(counts))
    for i in range(len(counts)):
        found[i] = scale(keep, counts[i])
    return found
