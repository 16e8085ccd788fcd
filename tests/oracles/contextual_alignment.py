"""The alignment constants of games with contexts, from their definition by CVXPY."""

from __future__ import annotations

import warnings
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
    game: pm.ContextualGame, away: list[Array], near: list[list[int]], *, integrated: bool = False
) -> float:
    """Return the constant of one choice from its definition, as the least denominator."""
    possible = [int(z) for z in np.flatnonzero(game.context_distribution > 0)]
    chi = game.context_distribution[possible]
    if not np.any(away) or (integrated and not (chi @ np.array(away)).any()):
        return 0.0
    omega = cp.Variable((1 if integrated else len(chi), game.d))
    rows = [0 if integrated else i for i in range(len(chi))]
    top = sum(chi[i] * away[i] @ omega[rows[i]] for i in range(len(chi)))
    below = 0.0
    for p, z in zip(chi, possible, strict=True):
        shown = []
        for c in near[z]:
            m = game.at(z).rows(c)
            if m.size:
                parts = [chi[i] * cp.sum_squares(m @ omega[rows[i]]) for i in range(len(chi))]
                shown.append(sum(parts))
        below = below + p * (cp.max(cp.hstack(shown)) if shown else 0.0)
    if isinstance(below, float):
        return np.inf
    problem = cp.Problem(cp.Minimize(below), [top == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is inaccurate, where it is nearly 0
        problem.solve(solver=cp.CLARABEL)
    return 1 / float(problem.value) if problem.value > 1e-7 else np.inf
