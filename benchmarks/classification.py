"""Classify games: sets, class and certificates, and apart from them the alignment constant.

The plain way, as one would write it: a linear program per action and per pair with SciPy, a rank
test per pair, nothing proved.
"""

from __future__ import annotations

from itertools import combinations
from time import perf_counter

import numpy as np
from rich.table import Table
from scipy.optimize import linprog

import partial_monitoring as pm
from benchmarks.timing import show

PLAIN_UP_TO = 40


def plain(game: pm.FiniteGame) -> tuple[int, bool]:
    """Return the number of neighbour pairs and whether all are seen locally (no duplicates)."""
    phi, k, d = game.features, game.k, game.d
    bounds = [(0, 1)] * d + [(None, 1)]
    objective = np.append(np.zeros(d), -1.0)
    simplex = np.append(np.ones(d), 0.0)[None]

    def advantage(a: int, tied: int | None = None) -> float:
        others = [c for c in range(k) if c not in (a, tied)]
        duel = np.column_stack([phi[others] - phi[a], np.ones(len(others))])
        tie = np.zeros((0, d + 1)) if tied is None else np.append(phi[a] - phi[tied], 0.0)[None]
        equal = np.concatenate([simplex, tie])
        right = np.append(1.0, np.zeros(len(tie)))
        best = linprog(objective, duel, np.zeros(len(others)), equal, right, bounds)
        return -float(best.fun)

    pareto = [a for a in range(k) if advantage(a) > 1e-9]
    neighbors = [pair for pair in combinations(pareto, 2) if advantage(*pair) > 1e-9]
    rank = np.linalg.matrix_rank
    local = all(
        rank(np.vstack([rows := np.vstack([game.rows(a), game.rows(b)]), phi[a] - phi[b]]))
        == rank(rows)
        for a, b in neighbors
    )
    return len(neighbors), local


def run() -> Table:
    table = Table(title="Classification with certificates")
    for column in (
        "game",
        "class",
        "sets, class, proof",
        "plain linear programs",
        "ratio",
        "alpha",
    ):
        table.add_column(column)
    games = [
        (f"dynamic pricing, {n} prices", pm.games.dynamic_pricing(range(1, n + 1)))
        for n in (12, 20, 40, 100)
    ]
    games += [
        (f"Bernoulli bandit, {k} arms, {2**k} outcomes", pm.games.bernoulli_bandit(k))
        for k in (5, 8, 10)
    ]
    for name, game in games:
        start = perf_counter()
        analysis = pm.analyze(game)
        ours = perf_counter() - start
        assert analysis.certified
        start = perf_counter()
        alpha = analysis.alignment
        apart = perf_counter() - start
        theirs, ratio = "-", "-"
        if game.k <= PLAIN_UP_TO:
            start = perf_counter()
            assert plain(game) == (len(analysis.neighbors), analysis.locally_observable)
            plain_time = perf_counter() - start
            theirs, ratio = show(plain_time), f"{plain_time / ours:.1f}"
        alignment = f"{alpha:.6g} in {show(apart)}"
        table.add_row(name, analysis.category, show(ours), theirs, ratio, alignment)
    return table
