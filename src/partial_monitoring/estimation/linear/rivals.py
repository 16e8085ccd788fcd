"""Which actions may be best for some parameter in E_t, and what tells them apart (section 5.2).

Every function is handed the confidence set of a single replicate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.advantage import advantage_program
from partial_monitoring.analysis.alignment import region_cones
from partial_monitoring.analysis.coordinates import local_coordinates
from partial_monitoring.errors import SolverError
from partial_monitoring.estimation.linear.least_squares import Estimate
from partial_monitoring.validation import Array

Mask = NDArray[np.bool_]

PLAUSIBLE = 1e-9
"""An action that falls short of being best by less than this fraction still counts."""


class Set(Protocol):
    """What is asked of the confidence set here."""

    @property
    def data(self) -> Estimate: ...
    @property
    def beta(self) -> Array: ...
    @property
    def means(self) -> Array: ...
    @property
    def local_center(self) -> Array: ...
    def local_supports(self, directions: Array) -> tuple[Array, Array]: ...


def ahead(one: Set) -> tuple[Array, Mask, Callable[[], Mask]]:
    """Return how far each action may be ahead of the greedy one (k,), and the rivals (k,).

    Rivals may be at least as good; the last function decides which of them may be best.
    """
    design, greedy = one.data.design, int(one.means[0].argmax())
    values, points = one.local_supports(design.slopes - design.slopes[greedy])
    far = values[0] + design.offsets - design.offsets[greedy]
    rivals = far >= 0
    rivals[greedy] = True
    return far, rivals, lambda: plausible(one, rivals, points[0])


def plausible(one: Set, rivals: Mask, points: Array) -> Mask:
    """Return which of the rivals are best for some parameter in E_t, shape (k,).

    Most are found among the points (c, D) of E_t that are at hand; a conic program decides the
    rest.
    """
    design = one.data.design
    values = design.offsets + np.concatenate([points, one.local_center]) @ design.slopes.T
    top = values.max(axis=1, keepdims=True)
    slack = PLAUSIBLE * np.maximum(np.ptp(values, axis=1, keepdims=True), 1e-300)
    found = (values >= top - slack).any(axis=0) & rivals
    open_cases = np.flatnonzero(rivals & ~found)
    if len(open_cases) == 0:
        return np.asarray(found)
    chart = local_coordinates(design.game)
    region = chart.pulled_back(region_cones(one, design.game))
    program = advantage_program(chart, region)
    for a in open_cases:
        try:
            found[a] = program.solve(int(a), ()).value >= -PLAUSIBLE
        except SolverError:
            found[a] = True  # undecided: keeping it only asks for more information
    return np.asarray(found)


def directed(one: Set, *, relaxed: bool) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta), shape (1, k).

    theta+ and theta- are the two plausible parameters that differ most about the rewards of two
    Pareto actions that may both be best (``relaxed``: of which one looks best). Pairs are tried
    from the widest on, so that few actions have to be shown to be Pareto.
    """
    design, beta = one.data.design, float(one.beta[0])
    information = np.zeros(one.means.shape)
    _, rivals, decide = ahead(one)
    if relaxed:
        b = np.flatnonzero(rivals)
        by_mean = np.argsort(-one.means[0], kind="stable")
        greedy = next((int(a) for a in by_mean if a in design.pareto), int(by_mean[0]))
        c = np.full(len(b), greedy)
    else:
        chosen = np.flatnonzero(decide())
        first, second = np.triu_indices(len(chosen), 1)
        b, c = chosen[first], chosen[second]
    if len(b) == 0 or beta <= 0:
        return information
    pairs = design.slopes[b] - design.slopes[c]
    high, plus = one.local_supports(pairs)
    low, minus = one.local_supports(-pairs)
    for i in np.argsort(-(high[0] + low[0]), kind="stable"):
        if design.pareto.compete(int(b[i]), int(c[i])):
            omega = plus[0, i, : design.rank] - minus[0, i, : design.rank]
            information[0] = ((design.maps @ omega) ** 2).sum(axis=1) / (2 * beta)
            break
    return information
