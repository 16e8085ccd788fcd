"""By how much can an action beat all others? The one program behind the cells (section 4.1).

    t*(a) = max t  subject to  <phi_a - phi_c, theta> >= t  for all other c,  theta in Theta.

The cell of a has full dimension iff t* > 0, is empty iff t* < 0, and lies in a face in between.
With the extra condition <phi_a - phi_b, theta> = 0 the same program decides whether a and b are
neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from partial_monitoring import conic
from partial_monitoring.errors import SolverError
from partial_monitoring.game import Game
from partial_monitoring.parameter_sets import (
    AllParameters,
    Ball,
    Box,
    ParameterSet,
    Polyhedral,
    Simplex,
)
from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class Advantage:
    """The answer of the program for one action (or one pair)."""

    value: float
    """t*, in units of the spread of the rewards (:func:`reward_spread`)."""
    theta: Array
    """Where it is attained, shape (d,)."""
    mixture: Array
    """Weights q >= 0 of the other actions, shape (k,): if t* <= 0, no theta makes action a better
    than this mixture by more than t* (q[a] = 0, sum 1)."""
    tie_weight: float = 0.0
    """For a pair: how often r_a - r_b, zero on the face, is added to make it true everywhere:
    sum q_c (r_c - r_a) + w (r_a - r_b) >= -t*."""


class AdvantageProgram(Protocol):
    """The program for one game; solved for one action, or for a pair that must tie."""

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        """Return t* of an action against all that are not ignored, with ``tied`` equally good."""
        ...


def advantage_program(game: Game) -> AdvantageProgram:
    """Return the program that fits the parameter set of a game."""
    parameters = game.parameters
    unit = 1.0 / reward_spread(game)
    offsets = game.reduced.offsets * unit
    if isinstance(parameters, AllParameters) or (
        isinstance(parameters, Ball) and np.ptp(offsets) <= 1e-12
    ):
        return _cone_program(game, unit)
    if not isinstance(parameters, Polyhedral):
        return _Conic(game.features, cones(parameters), unit)
    rewards = (game.features - game.features.mean(axis=0)) * unit
    free = np.full(game.d, np.inf)
    match parameters:
        case Box(low=low, high=high):
            rows = _Rows(np.zeros((0, game.d)), np.zeros(0), np.zeros(0), low, high)
        case Simplex():
            one = np.ones((1, game.d))
            rows = _Rows(one, np.ones(1), np.ones(1), np.zeros(game.d), np.ones(game.d))
        case _:
            a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
            below = np.append(np.full(len(b_ub), -np.inf), b_eq)
            rows = _Rows(np.concatenate([a_ub, a_eq]), below, np.append(b_ub, b_eq), -free, free)
    return _Linear(rewards, rows)


def _cone_program(game: Game, unit: float) -> AdvantageProgram:
    """All actions tie at the centre, so cells are cones and any box around it will do."""
    n = game.dimension
    radius = game.parameters.radius if isinstance(game.parameters, Ball) else 1.0
    cube = _Rows(np.zeros((0, n)), np.zeros(0), np.zeros(0), -np.ones(n), np.ones(n))
    size = radius / np.sqrt(max(n, 1))
    to_theta = game.reduced.difference_basis * size
    return _Linear(game.reduced.features * unit * size, cube, game.reduced.center, to_theta)


def reward_spread(game: Game) -> float:
    """Return how far rewards differ on Theta, within a factor of two; 1 if all are the same.

    The largest difference to the first action over Theta, or per unit of theta if Theta is not
    bounded.
    """
    away = game.features - game.features[0]
    farthest = game.parameters.support(np.concatenate([away, -away]))
    spread = float(farthest.max())
    if not np.isfinite(spread):
        spread = float(np.ptp(game.features, axis=0).max())
    return spread if spread > rounding(game) else 1.0


def rounding(game: Game) -> float:
    """Return below what differences of rewards are rounding noise."""
    center = game.reduced.center
    size = float(np.abs(game.features).max()) * max(1.0, float(np.abs(center).max()))
    return 1e-13 * size


class _Rows(NamedTuple):
    """The polyhedron  row_low <= matrix v <= row_high,  low <= v <= high."""

    matrix: Array
    row_low: Array
    row_high: Array
    low: Array
    high: Array


class _Linear:
    """Theta is a polyhedron in variables v: theta itself, or theta = origin + to_theta v."""

    def __init__(
        self,
        rewards: Array,
        rows: _Rows,
        origin: Array | float = 0.0,
        to_theta: Array | None = None,
    ) -> None:
        self.rewards, self.rows = rewards, rows
        self.origin, self.to_theta = origin, to_theta
        self.k, self.n = rewards.shape
        self.action = -1

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        program = self._program(action)
        relaxed = {action, *ignored}
        for c in relaxed:
            program.set_row(c, -np.inf, np.inf)
        if tied is not None:
            program.set_row(tied, 0.0, 0.0)
            program.set_entry(tied, self.n, 0.0)
        objective = np.zeros(self.n + 1)
        objective[-1] = 1.0
        best = program.maximize(objective)
        for c in relaxed:
            program.set_row(c, 0.0, np.inf)
        if tied is not None:
            program.set_row(tied, 0.0, np.inf)
            program.set_entry(tied, self.n, -1.0)
        if best is None or not np.isfinite(best.value):
            raise SolverError(
                f"the cell program of action {action} has no finite answer; the parameter set "
                f"seems to be empty."
            )
        mixture = np.maximum(-best.multipliers[: self.k], 0.0)
        tie_weight = 0.0
        if tied is not None:
            mixture[tied] = 0.0
            tie_weight = float(best.multipliers[tied])
        theta = best.point[: self.n]
        if self.to_theta is not None:
            theta = self.origin + self.to_theta @ theta
        return Advantage(best.value, theta, mixture, tie_weight)

    def _program(self, action: int) -> conic.LinearProgram:
        """Build the program of an action, or keep the last one, whose basis is a good start."""
        if action != self.action:
            duel = np.column_stack([self.rewards[action] - self.rewards, np.full(self.k, -1.0)])
            rows = self.rows
            inside = np.column_stack([rows.matrix, np.zeros(len(rows.matrix))])
            self._current = conic.LinearProgram(
                np.concatenate([duel, inside]),
                np.append(np.zeros(self.k), rows.row_low),
                np.append(np.full(self.k, np.inf), rows.row_high),
                np.append(rows.low, -np.inf),
                np.append(rows.high, 1.0),
            )
            self.action = action
        return self._current


class _Conic:
    """Theta is given by conic constraints on theta."""

    def __init__(self, features: Array, cones: Sequence[conic.Cone], unit: float) -> None:
        self.features = features * unit
        self.cones = [
            cone._replace(matrix=np.column_stack([cone.matrix, np.zeros(len(cone.bound))]))
            for cone in cones
        ]

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        k, d = self.features.shape
        others = np.array([c for c in range(k) if c not in {action, tied, *ignored}], dtype=int)
        ahead = self.features[action] - self.features
        duel = np.column_stack([-ahead[others], np.ones(len(others))])
        top = np.append(np.zeros(d), 1.0)
        cones = [
            conic.Cone("nonnegative", duel, np.zeros(len(others))),
            conic.Cone("nonnegative", top[None], np.ones(1)),
            *self.cones,
        ]
        if tied is not None:
            cones.append(conic.Cone("zero", np.append(ahead[tied], 0.0)[None], np.zeros(1)))
        best = conic.minimize_conic(-top, cones)
        if best is None:
            raise SolverError(
                f"the cell program of action {action} has no answer: the actions never tie."
            )
        mixture = np.zeros(k)
        mixture[others] = np.maximum(best.multipliers[: len(others)], 0.0)
        tie_weight = float(best.multipliers[-1]) if tied is not None else 0.0
        return Advantage(-best.value, best.point[:d], mixture, tie_weight)


def cones(parameters: ParameterSet) -> list[conic.Cone]:
    """Return a parameter set as conic constraints on theta."""
    match parameters:
        case AllParameters():
            return []
        case Ball(center=center, radius=radius):
            d = len(center)
            matrix = np.concatenate([np.zeros((1, d)), -np.eye(d)])
            return [conic.Cone("norm", matrix, np.append(radius, -center))]
        case Polyhedral():
            a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
            return [conic.Cone("nonnegative", a_ub, b_ub), conic.Cone("zero", a_eq, b_eq)]
    raise SolverError(f"cells over a {type(parameters).__name__} cannot be computed.")


def advantage_over(features: Array, region: Sequence[conic.Cone], unit: float) -> AdvantageProgram:
    """Return the advantage program over any region given by conic constraints on theta."""
    return _Conic(features, region, unit)
