"""The alignment constant of a game with contexts (equation contextual-alignment-glob).

With a direction omega^z for every context and one pair of Pareto actions in each,

    alpha(chi) = max (sum_z chi(z) <phi_a^z - phi_b^z, omega^z>)^2
                     / sum_z' chi(z') max_c sum_z chi(z) |M_c^z' omega^z|^2.

The observing action c of a context serves the directions of all contexts (E20). For given pairs
this is one over the least value of the denominator where the numerator is 1: a conic program. Of
the signs and of contexts left out nothing depends, because every omega^z may be turned or be zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import prod

import numpy as np

from partial_monitoring import conic
from partial_monitoring.contextual_game import ContextualGame
from partial_monitoring.errors import SolverError
from partial_monitoring.validation import Array

MOST = 4096
"""Up to so many choices of one pair per context are looked at."""


def contextual_alignment(game: ContextualGame, pareto: Sequence[Sequence[int]]) -> float:
    """Return alpha(chi), from the Pareto actions of every context (one of each duplicates).

    All that matters must be observable, or the program has no answer.
    """
    possible = [int(z) for z in np.flatnonzero(game.context_distribution > 0)]
    pairs = [list(combinations(pareto[z], 2)) for z in possible]
    needy = [own for own in pairs if own]
    if not needy:
        return 0.0
    if prod(map(len, needy)) > MOST:
        raise SolverError(
            f"the alignment constant was not computed: there are more than {MOST} choices of pairs."
        )
    q = game.parameters.difference_basis()
    maps = [[game.at(z).rows(c) @ q for c in range(game.at(z).k)] for z in possible]
    chi = game.context_distribution[possible]
    choices: list[list[tuple[int, int] | None]] = [list(own) or [None] for own in pairs]
    best = 0.0
    for choice in product(*choices):
        away = [
            np.zeros(q.shape[1])
            if pair is None
            else (game.at(z).features[pair[1]] - game.at(z).features[pair[0]]) @ q
            for z, pair in zip(possible, choice, strict=True)
        ]
        best = max(best, _of_pairs(np.array(away), maps, chi))
    return best


def _of_pairs(away: Array, maps: Sequence[Sequence[Array]], chi: Array) -> float:
    """Return the constant for one pair in every context, whose differences are away (Z, D)."""
    count, dim = away.shape
    size = float(np.abs(away).max())
    if size == 0.0:
        return 0.0
    # The unknowns are omega (Z, D), then the largest squared norms t (Z,).
    unknowns = count * dim + count
    objective = np.concatenate([np.zeros(count * dim), chi])
    one = np.concatenate([(chi[:, None] * away / size).ravel(), np.zeros(count)])
    cones = [conic.Cone("zero", one[None], np.ones(1))]
    for z, shown in enumerate(maps):
        for rows in shown:
            if not rows.any():
                continue
            # |v|^2 <= t as |(2 v, t - 1)| <= t + 1.
            cone = np.zeros((2 + count * len(rows), unknowns))
            cone[0, count * dim + z] = cone[-1, count * dim + z] = -1.0
            for other in range(count):
                place = slice(1 + other * len(rows), 1 + (other + 1) * len(rows))
                columns = slice(other * dim, (other + 1) * dim)
                cone[place, columns] = -2.0 * np.sqrt(chi[other]) * rows
            bound = np.zeros(len(cone))
            bound[0], bound[-1] = 1.0, -1.0
            cones.append(conic.Cone("norm", cone, bound))
    least = np.zeros((count, unknowns))
    least[:, count * dim :] = -np.eye(count)
    cones.append(conic.Cone("nonnegative", least, np.zeros(count)))
    solved = conic.minimize_conic(objective, cones)
    if solved is None or solved.value <= 0:
        raise SolverError("the alignment constant was not computed: its program has no answer.")
    return size**2 / solved.value
