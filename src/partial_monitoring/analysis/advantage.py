"""The largest advantage of an action over all others: the program behind the cells (section 4.1).

    t*(a) = max t  subject to  (r_a - r_c)(theta) / size_ac >= t  for all other c,  theta in Theta.

The cell of a has full dimension iff t* > 0, is empty iff t* < 0, and lies in a face in between; the
sizes, the largest differences of two rewards, give every comparison the same weight. With the extra
condition r_a = r_b the same program decides whether a and b are neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from partial_monitoring.analysis.coordinates import LocalCoordinates
from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class Advantage:
    """The answer of the program for one action (or one pair)."""

    value: float
    """t*, between -1 and 1."""
    theta: Array
    """Where it is attained, shape (d,)."""
    mixture: Array
    """Weights q >= 0 of the other actions, shape (k,): if t* <= 0, this mixture is at least as good
    as the action everywhere."""
    tie_weight: float = 0.0
    """For a pair: the multiple w of r_a - r_b, zero on the face, that makes that true everywhere:
    sum q_c (r_c - r_a) + w (r_a - r_b) >= 0."""


class LinearAdvantage:
    """The program over Theta, a polyhedron in the coordinates of the chart."""

    def __init__(self, chart: LocalCoordinates) -> None:
        self.chart = chart
        self.k, self.n = chart.slopes.shape
        self.action = -1

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        """Return t* of an action against all that are not ignored, with ``tied`` equally good."""
        program, sizes, right = self._program(action)
        relaxed = {action, *ignored}
        for c in relaxed:
            program.set_row(c, -np.inf, np.inf)
        if tied is not None:
            program.set_row(tied, right[tied], right[tied])
            program.set_entry(tied, self.n, 0.0)
        objective = np.zeros(self.n + 1)
        objective[-1] = 1.0
        best = program.maximize(objective)
        for c in relaxed:
            program.set_row(c, right[c], np.inf)
        if tied is not None:
            program.set_row(tied, right[tied], np.inf)
            program.set_entry(tied, self.n, -1.0)
        if best is None or not np.isfinite(best.value):
            raise SolverError(f"the cell program of action {action} has no finite answer.")
        mixture = np.maximum(-best.multipliers[: self.k], 0.0) / sizes
        tie_weight = 0.0
        if tied is not None:
            mixture[tied] = 0.0
            tie_weight = float(best.multipliers[tied] / sizes[tied])
        return _answer(best.value, self.chart.theta(best.point[: self.n]), mixture, tie_weight)

    def _program(self, action: int) -> tuple[conic.LinearProgram, Array, Array]:
        """Build the program of an action, or keep the last one, whose basis is a good start."""
        if action != self.action:
            chart, box = self.chart, self.chart.local.polyhedron
            assert box is not None
            sizes = chart.sizes(action)
            ahead = (chart.slopes[action] - chart.slopes) / sizes[:, None]
            right = (chart.offsets - chart.offsets[action]) / sizes
            duel = np.column_stack([ahead, np.full(self.k, -1.0)])
            inside = np.column_stack([box.matrix, np.zeros(len(box.matrix))])
            program = conic.LinearProgram(
                np.concatenate([duel, inside]),
                np.append(right, box.row_low),
                np.append(np.full(self.k, np.inf), box.row_high),
                np.append(box.low, -np.inf),
                np.append(box.high, 1.0),
            )
            self._current = program, sizes, right
            self.action = action
        return self._current


class ConicAdvantage:
    """The program over conic constraints in the coordinates of the chart."""

    def __init__(self, chart: LocalCoordinates, region: Sequence[conic.Cone]) -> None:
        self.chart = chart
        self.region = [
            cone._replace(matrix=np.column_stack([cone.matrix, np.zeros(len(cone.bound))]))
            for cone in region
        ]

    def solve(self, action: int, ignored: Collection[int], tied: int | None = None) -> Advantage:
        chart = self.chart
        k, n = chart.slopes.shape
        others = np.array([c for c in range(k) if c not in {action, tied, *ignored}], dtype=int)
        sizes = chart.sizes(action)
        slopes = (chart.slopes[action] - chart.slopes) / sizes[:, None]
        offsets = (chart.offsets[action] - chart.offsets) / sizes
        top = np.append(np.zeros(n), 1.0)
        cones = [
            conic.Cone(
                "nonnegative",
                np.column_stack([-slopes[others], np.ones(len(others))]),
                offsets[others],
            ),
            conic.Cone("nonnegative", top[None], np.ones(1)),
            *self.region,
        ]
        if tied is not None:
            cones.append(conic.Cone("zero", np.append(slopes[tied], 0.0)[None], -offsets[[tied]]))
        best = conic.minimize_conic(-top, cones)
        if best is None:
            raise SolverError(f"the cell program of action {action} has no answer.")
        mixture = np.zeros(k)
        mixture[others] = np.maximum(best.multipliers[: len(others)], 0.0) / sizes[others]
        tie_weight = float(best.multipliers[-1] / sizes[tied]) if tied is not None else 0.0
        return _answer(-best.value, chart.theta(best.point[:n]), mixture, tie_weight)


def _answer(value: float, theta: Array, mixture: Array, tie_weight: float) -> Advantage:
    """Put the mixture on a total of 1, if it has any weight."""
    total = float(mixture.sum())
    scale = 1.0 / total if total > 0 else 1.0
    return Advantage(value, theta, mixture * scale, tie_weight * scale)


AdvantageProgram = LinearAdvantage | ConicAdvantage


def advantage_program(
    chart: LocalCoordinates, region: Sequence[conic.Cone] | None = None
) -> AdvantageProgram:
    """Return the program over Theta, or over a region in it: conic constraints in the chart."""
    if region is None and chart.local.polyhedron is not None:
        return LinearAdvantage(chart)
    return ConicAdvantage(chart, chart.cones() if region is None else region)
