"""The alignment constants of games with contexts, from their definition by CVXPY."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations, product

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm

Array = NDArray[np.float64]


def choices(
    game: pm.ContextualGame, actions: list[list[int]], *, ordered: bool = False
) -> list[list[Array]]:
    """All choices of one difference per context that may come; zero where there is no pair."""
    options = []
    for z in np.flatnonzero(game.context_distribution > 0):
        phi = game.at(int(z)).features
        own = [phi[a] - phi[b] for a, b in combinations(actions[z], 2)]
        own += [-away for away in own] if ordered else []
        options.append(own or [np.zeros(game.d)])
    return [list(choice) for choice in product(*options)]


def by_cvxpy(
    game: pm.ContextualGame, near: list[list[int]], *, integrated: bool = False
) -> Callable[[list[Array]], float]:
    """Return what gives the constant of a choice from its definition, as the least denominator.

    The differences are parameters of one program, which is compiled once for all choices.
    """
    possible = [int(z) for z in np.flatnonzero(game.context_distribution > 0)]
    chi = game.context_distribution[possible]
    omega = cp.Variable((1 if integrated else len(chi), game.d))
    target = cp.Parameter(omega.shape)
    rows = [0 if integrated else i for i in range(len(chi))]
    below = 0.0
    for p, z in zip(chi, possible, strict=True):
        shown = []
        for c in near[z]:
            m = game.at(z).rows(c)
            if m.size:
                parts = [chi[i] * cp.sum_squares(m @ omega[rows[i]]) for i in range(len(chi))]
                shown.append(sum(parts))
        below = below + p * (cp.max(cp.hstack(shown)) if shown else 0.0)
    least = None if isinstance(below, float) else cp.Minimize(below)
    problem = least and cp.Problem(least, [cp.sum(cp.multiply(target, omega)) == 1])

    def solved(away: list[Array]) -> float:
        weighted = chi[:, None] * np.array(away)
        aim = weighted.sum(axis=0, keepdims=True) if integrated else weighted
        if not aim.any():
            return 0.0
        if problem is None:
            return np.inf
        target.value = aim
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it is inaccurate where it is nearly 0
            problem.solve(solver=cp.CLARABEL)
        return 1 / float(problem.value) if problem.value > 1e-7 else np.inf

    return solved
