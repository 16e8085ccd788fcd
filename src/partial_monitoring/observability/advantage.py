"""By how much can an action beat all others? The one program behind the cells (section 4.1).

    t*(a) = max t  subject to  <phi_a - phi_c, theta> >= t  for all other c,  theta in Theta.

The cell of a has full dimension iff t* > 0, is empty iff t* < 0, and lies in a face in between.
With the extra condition <phi_a - phi_b, theta> = 0 the same program decides whether a and b are
neighbours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from partial_monitoring import conic
from partial_monitoring.errors import SolverError
from partial_monitoring.game import Game
from partial_monitoring.parameter_sets import AllParameters, Ball, Box, Polyhedral, Simplex
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
    """For a pair: how often r_a - r_b, zero on the face, is added: sum q_c (r_c - r_a) + w (r_a - r_b)
    is then at least -t* everywhere."""


class AdvantageProgram(Protocol):
    """The program for one game; solved for one action, or for a pair that must tie."""

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        """Return t* of an action against all that are not ignored, with ``tied`` equally good."""
        ...


def advantage_program(game: Game) -> AdvantageProgram:
    """Return the program that fits the parameter set of a game."""
    parameters = game.parameters
    center, q = game.reduced.center, game.reduced.difference_basis
    slopes, offsets = game.reduced.features, game.reduced.offsets
    unit = 1.0 / reward_spread(game)
    centered = np.ptp(offsets) * unit <= 1e-12
    if isinstance(parameters, AllParameters) or (isinstance(parameters, Ball) and centered):
        # All actions tie at the centre, so cells are cones and any box around it will do.
        n = q.shape[1]
        radius = parameters.radius if isinstance(parameters, Ball) else 1.0
        size = radius / np.sqrt(max(n, 1))
        cube = np.full(n, 1.0)
        return _Linear(
            slopes * unit, np.zeros((0, n)), *[np.zeros(0)] * 2, -cube, cube, center, q * size
        )
    if isinstance(parameters, Ball):
        return _OverBall(slopes * unit, offsets * unit, center, parameters.radius)
    if not isinstance(parameters, Polyhedral):
        raise SolverError(f"cells over a {type(parameters).__name__} cannot be computed.")
    relative = (game.features - game.features.mean(axis=0)) * unit
    eye, origin = np.eye(game.d), np.zeros(game.d)
    match parameters:
        case Box(low=low, high=high):
            return _Linear(
                relative, np.zeros((0, game.d)), *[np.zeros(0)] * 2, low, high, origin, eye
            )
        case Simplex(d=d):
            one = np.ones((1, d))
            return _Linear(
                relative, one, one[0, :1], one[0, :1], np.zeros(d), np.ones(d), origin, eye
            )
    a_ub, b_ub, a_eq, b_eq = parameters.halfspaces()
    free = np.full(game.d, np.inf)
    rows, below = np.concatenate([a_ub, a_eq]), np.append(np.full(len(b_ub), -np.inf), b_eq)
    return _Linear(relative, rows, below, np.append(b_ub, b_eq), -free, free, origin, eye)


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
    return spread if spread > 0 else 1.0


class _Linear:
    """Theta is a polyhedron {low <= v <= high, row bounds} in variables v, theta = origin + map v."""

    def __init__(
        self,
        rewards: Array,
        rows: Array,
        row_low: Array,
        row_high: Array,
        low: Array,
        high: Array,
        origin: Array,
        to_theta: Array,
    ) -> None:
        self.rewards, self.origin, self.to_theta = rewards, origin, to_theta
        k, n = rewards.shape
        self.k, self.n = k, n
        self.rows = np.column_stack([rows, np.zeros(len(rows))])
        self.row_bounds = row_low, row_high
        self.low, self.high = np.append(low, -np.inf), np.append(high, 1.0)
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
        theta = self.origin + self.to_theta @ best.point[: self.n]
        return Advantage(best.value, theta, mixture, tie_weight)

    def _program(self, action: int) -> conic.LinearProgram:
        """Build the program of an action, or keep the last one, whose basis is a good start."""
        if action != self.action:
            duel = np.column_stack([self.rewards[action] - self.rewards, np.full(self.k, -1.0)])
            self._current = conic.LinearProgram(
                np.concatenate([duel, self.rows]),
                np.append(np.zeros(self.k), self.row_bounds[0]),
                np.append(np.full(self.k, np.inf), self.row_bounds[1]),
                self.low,
                self.high,
            )
            self.action = action
        return self._current


class _OverBall:
    """Theta is a ball: theta = center + radius x with |x| <= 1, rewards offsets + slopes x."""

    def __init__(self, slopes: Array, offsets: Array, center: Array, radius: float) -> None:
        self.slopes, self.offsets = slopes * radius, offsets
        self.center, self.radius = center, radius

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        k, n = self.slopes.shape
        others = np.array([c for c in range(k) if c not in {action, tied, *ignored}], dtype=int)
        slopes = self.slopes[action] - self.slopes
        offsets = self.offsets[action] - self.offsets
        up = np.column_stack([-slopes[others], np.ones(len(others))])
        cap, ball = np.zeros((1, n + 1)), np.zeros((n + 1, n + 1))
        cap[0, -1] = 1.0
        ball[1:, :n] = -np.eye(n)
        cones = [
            conic.Cone("nonnegative", up, offsets[others]),
            conic.Cone("nonnegative", cap, np.ones(1)),
            conic.Cone("norm", ball, np.append(1.0, np.zeros(n))),
        ]
        if tied is not None:
            tie = np.append(slopes[tied], 0.0)[None]
            cones.append(conic.Cone("zero", tie, -offsets[[tied]]))
        best = conic.minimize_conic(-cap[0], cones)
        if best is None:
            # The tie line misses the ball: no point of Theta has both equally good.
            return Advantage(-1.0, self.center, np.zeros(k))
        mixture = np.zeros(k)
        mixture[others] = np.maximum(best.multipliers[: len(others)], 0.0)
        tie_weight = float(best.multipliers[-1]) if tied is not None else 0.0
        theta = self.center + self.radius * best.point[:n]
        return Advantage(-best.value, theta, mixture, tie_weight)
