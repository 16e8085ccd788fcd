"""The program of exploration by optimisation, and a table of its solutions.

For exponential weights q over the competing actions A and a learning rate eta, ExpByOpt wants

    V_q(eta) = min_{p, G} max_z <p - q, L e_z> / eta + sum_c p_c Psi_q(eta G(c, s_cz) / p_c) / eta^2
    subject to  sum_c (G(c, s_cz)_a - G(c, s_cz)_b) = L_az - L_bz   for all outcomes z, a, b in A,

where p is a distribution over actions, G(c, s) in R^A, s_cz the symbol of action c in outcome z,
and Psi_q(x) = sum_a q_a psi(x_a), psi(x) = e^-x + x - 1. With exponential cones solvers fail where
differences of order eta^2 cancel. Two second-order cone programs bound eta V_q(eta) from above:

    min max_z <p - q, L e_z> + sum_c (w T(c, s_cz) + <q, E(c, s_cz)>)
    subject to  eta sum_a q_a (G - E)(c, s)_a^2 <= p_c T(c, s)   and the equalities above.

- "bounded": E = 0 and eta |G(c, s)_a| <= p_c, because psi(x) <= w x^2 for |x| <= 1, w = e - 2.
  Estimated losses times eta are at most 1.
- "free": E >= 0 and -eta (G - E)(c, s)_a <= p_c / 2, because psi(x + y) <= w x^2 + y for x >= -1/2,
  y >= 0, w = 4 (e^(1/2) - 3/2). It is closer to the least value, above all for extreme weights.

Every (p, G) that has the equalities is valid with its own value, which is then computed exactly.
"""

from __future__ import annotations

from functools import cached_property
from math import e
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import RANK_TOLERANCE
from partial_monitoring.policies.finite.geometry import Geometry, geometry
from partial_monitoring.validation import Array, Indices

MIXED = 1e-7
"""The share of uniform exploration that is mixed in, and the least exponential weight."""

LOWEST = 1e-5
"""The table has learning rates from the largest one to this fraction of it."""

ESTIMATES = {"bounded": (1.0, e - 2.0), "free": (0.5, 4.0 * (e**0.5 - 1.5))}
"""By how much estimated losses times eta may lie below 0, and w, for each kind of program."""

FEW = 3
"""Up to this number of competing actions the grid is finer, unless its spacing is given."""

ROOM = 64
"""The number of solutions (a power of two) for which there is room at first."""


class Solution(NamedTuple):
    """A feasible point of the program."""

    chances: Array
    """p of the playable actions, shape (g,)."""
    weights: Array
    """G, shape (symbols, a)."""
    value: float
    """Of the cone program, divided by eta: an upper bound of the exact value before mixing."""


class Exploration:
    """The program of a game. Playable are competing actions, and others that show something."""

    def __init__(self, game: FiniteGame, policy: str, estimates: str = "bounded") -> None:
        self.estimates = estimates
        self.geometry: Geometry = geometry(game, policy)
        self.competing = self.geometry.actions
        own, alone = self.competing, len(self.competing) == 1
        shows = [c in own or (len(game.symbols[c]) > 1 and not alone) for c in range(game.k)]
        self.played = tuple(int(c) for c in np.flatnonzero(shows))
        self.losses = -game.rewards[list(self.played)] / self.geometry.unit  # (g, d)
        counts = [len(game.symbols[c]) for c in self.played]
        self.owner = np.repeat(np.arange(len(counts)), counts)  # (symbols,)
        self.first = np.cumsum([0, *counts[:-1]])
        self.signals = np.concatenate([game.rows(c) for c in self.played])  # (symbols, d)
        self.places = np.array([self.played.index(a) for a in own])
        base = self.losses[self.places]
        self.targets = (base - base[0])[1:].T  # (d, a - 1): what differences of G must show

    @cached_property
    def flattest(self) -> Array:
        """The G whose largest entry is least, shape (symbols, a)."""
        rows, a = self.signals.shape[0], len(self.competing)
        n = rows * a + 1
        matrix, bound = self._equalities(n, 0)
        box = np.concatenate([np.eye(n)[:-1], -np.eye(n)[:-1]])
        box[:, -1] = -1.0
        cones = [
            conic.Cone("zero", matrix, bound),
            conic.Cone("nonnegative", box, np.zeros(len(box))),
        ]
        best = conic.minimize_conic(np.eye(n)[-1], cones)
        if best is None:
            raise SolverError("the differences of losses were not found in what is observed.")
        return self._repaired(best.point[:-1].reshape(rows, a))

    @cached_property
    def largest_rate(self) -> float:
        """At most 1/(2g), and so small that the uniform distribution with this G is feasible."""
        limit, _ = ESTIMATES[self.estimates]
        return limit / (len(self.played) * max(2.0 * limit, float(np.abs(self.flattest).max())))

    def solve(self, q: Array, eta: float) -> Solution:
        """Return a solution for weights q (a,) and a learning rate that is not too large.

        It is mixed with a little uniform exploration, and the rest that the solver leaves of the
        equalities, which division by p would enlarge, is removed by an orthogonal projection.
        """
        g, a = len(self.played), len(self.competing)
        if a == 1:  # nothing to learn
            return Solution(np.ones(1), np.zeros((len(self.owner), 1)), 0.0)
        objective, cones = self._cones(q, eta)
        best = conic.minimize_conic(objective, cones)
        if best is None:
            raise SolverError("the program of exploration has no feasible point.")
        end = g + len(self.owner) * a
        p = np.maximum(best.point[:g], 0.0)
        mixed = (1.0 - MIXED) * p / p.sum() + MIXED / g
        weights = self._repaired(best.point[g:end].reshape(-1, a))
        return Solution(mixed, weights, best.value / eta)

    def reliable(self, q: Array, eta: float) -> Solution:
        """Return a solution; where the solver fails that for a larger rate, at last the uniform."""
        while True:
            try:
                return self.solve(q, eta)
            except SolverError:
                if eta >= self.largest_rate:
                    uniform = np.full(len(self.played), 1.0 / len(self.played))
                    return Solution(uniform, self.flattest, np.inf)
                eta = min(2.0 * eta, self.largest_rate)

    def residual(self, weights: Array) -> float:
        """Return the largest error of the equalities."""
        differences = weights[:, 1:] - weights[:, :1]
        return float(np.abs(self.signals.T @ differences - self.targets).max(initial=0.0))

    @cached_property
    def _span(self) -> tuple[Array, Array]:
        """An orthonormal basis of what is observed (rank, d), and the inverse (symbols, d)."""
        _, values, right = np.linalg.svd(self.signals, full_matrices=False)
        basis = right[values > RANK_TOLERANCE]
        return basis, np.linalg.pinv(self.signals.T, rcond=RANK_TOLERANCE)

    def _repaired(self, weights: Array) -> Array:
        """Return G (symbols, a) with differences that are exact up to rounding."""
        fixed = weights.copy()
        for _ in range(2):
            rest = self.signals.T @ (fixed[:, 1:] - fixed[:, :1]) - self.targets
            fixed[:, 1:] -= self._span[1] @ rest
        return fixed

    def _equalities(self, n: int, start: int) -> tuple[Array, Array]:
        """Return the equalities of G, whose entries begin at ``start`` of n variables."""
        basis, a = self._span[0], len(self.competing)
        shown, end = basis @ self.signals.T, start + a * len(self.owner)  # (rank, symbols)
        matrix = np.zeros(((a - 1) * len(basis), n))
        for b in range(1, a):
            rows = slice((b - 1) * len(basis), b * len(basis))
            matrix[rows, start + b : end : a] = shown
            matrix[rows, start:end:a] = -shown
        return matrix, (basis @ self.targets).T.ravel()

    def _cones(self, q: Array, eta: float) -> tuple[Array, list[conic.Cone]]:
        """Return the objective and constraints in the variables p, G, E (if free), T, the value."""
        (g, d), rows, a = self.losses.shape, len(self.owner), len(self.competing)
        limit, curvature = ESTIMATES[self.estimates]
        free, size = self.estimates == "free", rows * a
        at = g + (2 if free else 1) * size  # where T begins
        n = at + rows + 1
        matrix, bound = self._equalities(n, g)
        total = np.zeros((1, n))
        total[0, :g] = 1.0
        worst = np.zeros((d, n))
        worst[:, :g] = self.losses.T
        worst[:, at:-1] = curvature * self.signals.T
        worst[:, -1] = -1.0
        estimate = np.zeros((size, n))  # G - E
        estimate[:, g : g + size] = np.eye(size)
        owner = limit * np.eye(n)[np.repeat(self.owner, a)]
        signs = [-eta * estimate - owner, eta * estimate - owner]
        if free:
            worst[:, g + size : at] = np.repeat(self.signals.T, a, axis=1) * np.tile(q, rows)
            estimate[:, g + size : at] = -np.eye(size)
            signs = [-eta * estimate - owner, -np.eye(n)[g + size : at]]
        bounds = np.concatenate([q @ self.losses[self.places], np.zeros(2 * size)])
        cones = [
            conic.Cone("zero", np.concatenate([total, matrix]), np.append(1.0, bound)),
            conic.Cone("nonnegative", np.concatenate([worst, *signs]), bounds),
        ]
        spread = -2.0 * np.sqrt(eta * np.tile(q, rows))[:, None] * estimate
        for s, c in enumerate(self.owner):  # |(2 (eta q)^(1/2) (G - E), p - T)| <= p + T
            ends = np.zeros((2, n))
            ends[:, c], ends[:, at + s] = -1.0, [-1.0, 1.0]
            cone = np.concatenate([ends[:1], spread[s * a : (s + 1) * a], ends[1:]])
            cones.append(conic.Cone("norm", cone, np.zeros(a + 2)))
        return np.eye(n)[-1], cones


class Solutions:
    """Solved programs at points of a grid in (log q_a - log q_last, -log eta), shared by all runs.

    Threads may share it. Copies start anew; solutions do not depend on the order in which they are
    asked for.
    """

    def __init__(self, program: Exploration, spacing: float) -> None:
        from partial_monitoring.numerics.compiled import play_exploration

        self.program, self.spacing = program, spacing
        a, g, rows = len(program.competing), len(program.played), len(program.owner)
        largest = program.largest_rate if a > 1 else 1.0
        place = np.full(program.geometry.game.k, -1, dtype=np.int64)
        place[list(program.played)] = np.arange(g)
        symbols = program.signals.reshape(rows, -1)
        self.shape = play_exploration.Shape(
            played=np.array(program.played, dtype=np.int64),
            place=place,
            competing=program.places.astype(np.int64),
            losses=np.ascontiguousarray(program.losses),
            owner=program.owner.astype(np.int64),
            first=program.first.astype(np.int64),
            symbols=np.array(
                [
                    np.flatnonzero(program.owner == c)[symbols[program.owner == c].argmax(axis=0)]
                    for c in range(g)
                ],
                dtype=np.int64,
            ),
            largest=largest,
            smallest=LOWEST * largest,
            floor=MIXED,
            spacing=float(spacing),
        )
        self.table = play_exploration.Table(
            slots=np.full(2 * ROOM, -1, dtype=np.int64),
            signs=np.zeros((ROOM, a), dtype=np.int16),
            shares=np.zeros((ROOM, g)),
            weights=np.zeros((ROOM, rows, a)),
            known=0,
        )
        """All points that are known."""
        self._adding = RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.program
        return solutions_of, (own.geometry.game, "ExpByOpt", own.estimates, self.spacing)

    def add(self, points: Indices) -> None:
        """Solve the programs at points (n, a) of the grid that are not known."""
        from partial_monitoring.numerics.compiled import sign_table

        with self._adding:
            for i in range(len(points)):
                if sign_table.find(self.table, points, i) < 0:
                    self._append(points, i)

    def at(self, point: Indices) -> tuple[Array, float]:
        """Return the weights q (a,) and the rate at a point (a,) of the grid."""
        logs = self.spacing * np.append(point[:-1], 0.0)
        q = np.exp(logs - logs.max())
        return q / q.sum(), float(self.shape.largest * np.exp(-self.spacing * point[-1]))

    def _append(self, points: Indices, i: int) -> None:
        from partial_monitoring.numerics.compiled import sign_table

        q, eta = self.at(points[i])
        found = self.program.reliable(q, eta)
        table: Any = self.table
        if table.known == len(table.signs):
            table = sign_table.grown(table)
        shares = found.chances.copy()
        shares[self.program.places] /= q
        table.signs[table.known] = points[i]
        table.shares[table.known] = shares
        table.weights[table.known] = found.weights
        table.slots[sign_table.slot_of(table, table.known, points, i)] = table.known
        self.table = table._replace(known=table.known + 1)


_KNOWN: WeakKeyDictionary[FiniteGame, dict[Any, Solutions]] = WeakKeyDictionary()


def solutions_of(
    game: FiniteGame, policy: str, estimates: str = "bounded", spacing: float | None = None
) -> Solutions:
    """Return the solutions of a game, which all policies with the same options share."""
    known = _KNOWN.setdefault(game, {})
    if (estimates, spacing) not in known:
        program = Exploration(game, policy, estimates)
        usual = 0.5 if len(program.competing) <= FEW else 1.0
        known[estimates, spacing] = Solutions(program, usual if spacing is None else spacing)
    return known[estimates, spacing]
