"""Search for a true parameter with large regret."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.parameter_sets.sampling import kept_near
from partial_monitoring.validation import Array

CANDIDATES = 48
"""Number of parameters tried in each generation."""

KEPT = 6
"""Number of parameters around which the next generation is drawn."""

GENERATIONS = 4
"""Number of generations."""

RUNS = 4
"""Number of runs over which the regret of a parameter is averaged."""

SEARCH = 5
"""The purpose of the random numbers of the search."""


def worst_theta(parameters: ParameterSet, regret: Callable[[Array, int], Array]) -> Array:
    """Return a parameter for which a policy has large regret.

    Parameters
    ----------
    parameters
        The set Theta.
    regret
        (parameters (n, d), seed) -> final regret of one run for each, shape (n,).

    Notes
    -----
    A few generations of random parameters, each drawn around the best of the previous one with half
    its spread and projected onto Theta (on unbounded sets, within 1 of their center). The parameter
    found is bad, not necessarily the worst.
    """
    rng = randomness.generator(0, SEARCH, 0)
    theta = parameters.sample(np.arange(CANDIDATES))
    spread = theta.std(axis=0) + 1e-3
    best, score = theta[:KEPT], np.full(KEPT, -np.inf)
    for generation in range(GENERATIONS):
        many = np.repeat(theta, RUNS, axis=0)
        found = regret(many, generation).reshape(-1, RUNS).mean(axis=1)
        pool, values = np.concatenate([best, theta]), np.concatenate([score, found])
        order = np.argsort(-values, kind="stable")[:KEPT]
        best, score = pool[order], values[order]
        parents = best[rng.integers(0, KEPT, CANDIDATES)]
        moved = parents + spread * 0.5 ** (generation + 1) * rng.standard_normal(parents.shape)
        inside = np.stack([parameters.project(point) for point in moved])
        theta = kept_near(parameters, inside)
    return np.asarray(best[0])
