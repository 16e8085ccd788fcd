"""The programs of PM-DMED by a conic solver, written down as they are defined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import SolverError
from partial_monitoring.numerics.conic import Cone, minimize_conic

Array = NDArray[np.float64]


class Program:
    """Linear inequalities, equations and exponential cones over named blocks of variables."""

    def __init__(self, **sizes: int) -> None:
        starts = np.cumsum([0, *sizes.values()])
        self.places = {n: range(a, b) for n, a, b in zip(sizes, starts, starts[1:], strict=False)}
        self.columns = int(starts[-1])
        self.cones: list[Cone] = []

    def row(self, **blocks: Any) -> Array:
        row = np.zeros(self.columns)
        for name, values in blocks.items():
            row[list(self.places[name])] = values
        return row

    def at_most(self, row: Array, bound: float) -> None:
        self.cones.append(Cone("nonnegative", row[None], np.array([bound])))

    def equal(self, row: Array, bound: float) -> None:
        self.cones.append(Cone("zero", row[None], np.array([bound])))

    def relative_entropy(self, scale: Any, chance: Array, term: Array) -> None:
        """Scale log(scale / <chance, x>) <= <term, x>; the scale is a number or a row."""
        row, fixed = (scale, 0.0) if isinstance(scale, np.ndarray) else (0 * chance, scale)
        matrix = -np.array([-term, row, chance])
        self.cones.append(Cone("exponential", matrix, np.array([0.0, fixed, 0.0])))

    def least(self, objective: Array) -> Any:
        return minimize_conic(objective, self.cones)


def unit(size: int, place: int) -> Array:
    return np.eye(size)[place]


def nearest(
    game: pm.FiniteGame,
    targets: Array,
    slacks: Array,
    weights: Array,
    held: Any,
    half: Any,
    *,
    hinged: bool,
) -> tuple[float, Array]:
    """The least value of ``nearest_rival.nearest`` and q; infinite if there is no such q."""
    k, m, d = game.observation_maps.shape
    p = Program(q=d, term=k * m, hinge=k)
    for x in range(d):
        p.at_most(p.row(q=-unit(d, x)), 0.0)
    p.equal(p.row(q=np.ones(d)), 1.0)
    if half is not None:
        p.at_most(p.row(q=half), 0.0)
    for a in range(k):
        total = np.zeros((k, m))
        for s in range(m):
            chance = p.row(q=game.observation_maps[a, s])
            if held[a] and not hinged:
                p.equal(chance, targets[a, s])
            elif (weights[a] > 0 or held[a]) and targets[a, s] > 0:
                p.relative_entropy(targets[a, s], chance, p.row(term=unit(k * m, a * m + s)))
                total[a, s] = 1.0
        if weights[a] > 0 or held[a]:
            p.at_most(p.row(term=total.ravel(), hinge=0.0 if held[a] else -unit(k, a)), slacks[a])
        if hinged or not weights[a] > 0:
            p.at_most(p.row(hinge=-unit(k, a)), 0.0)
    found = p.least(p.row(hinge=weights))
    return (np.inf, np.full(d, np.nan)) if found is None else (found.value, found.point[:d])


def constant(
    game: pm.FiniteGame,
    targets: Array,
    slacks: Array,
    gaps: Array,
    held: Any,
    halves: list[Array],
    *,
    hinged: bool = False,
) -> tuple[float, Array]:
    """The least sum of rates times gaps and the rates, by one program over the rivals.

    max sum_c Y_c  s.t.  sum_c Y_c (KL(p_a | S_a q_c) - f_a)_+ <= gap_a, with u_c = Y_c q_c; the
    rates are the multipliers of these rows. Infinite if it is unbounded.
    """
    k, m, d = game.observation_maps.shape
    rivals = range(len(halves))
    sizes = {f"u{c}": d for c in rivals} | {f"t{c}": k * m for c in rivals}
    p = Program(y=len(halves), **sizes, **{f"h{c}": k for c in rivals})
    for c in rivals:
        weight = p.row(y=unit(len(halves), c))
        for x in range(d):
            p.at_most(p.row(**{f"u{c}": -unit(d, x)}), 0.0)
        p.equal(p.row(**{f"u{c}": np.ones(d)}) - weight, 0.0)
        p.at_most(p.row(**{f"u{c}": halves[c]}), 0.0)
        for a in range(k):
            terms = np.zeros(k * m)
            for s in range(m):
                chance = p.row(**{f"u{c}": game.observation_maps[a, s]})
                if held[a] and not hinged:
                    p.equal(chance - targets[a, s] * weight, 0.0)
                elif targets[a, s] > 0:
                    place = unit(k * m, a * m + s)
                    p.relative_entropy(targets[a, s] * weight, chance, p.row(**{f"t{c}": place}))
                    terms += place
            spare = 0 * terms[:k] if held[a] else -unit(k, a)
            p.at_most(p.row(**{f"t{c}": terms, f"h{c}": spare}) - slacks[a] * weight, 0.0)
            if hinged:
                p.at_most(p.row(**{f"h{c}": -unit(k, a)}), 0.0)
    for a in range(k):
        if not held[a]:
            p.at_most(p.row(**{f"h{c}": unit(k, a) for c in rivals}), gaps[a])
    try:
        found = p.least(p.row(y=-np.ones(len(halves))))
    except SolverError as unsolved:
        if "DualInfeasible" not in str(unsolved):
            raise
        return np.inf, np.full(k, np.nan)
    rates = np.zeros(k)
    rates[~np.asarray(held)] = found.multipliers[-int((~np.asarray(held)).sum()) :]
    return -found.value, rates
