"""Directed information of confidence sets of a parameter (section 5.2).

Compiled functions compute it where they know Theta, one replicate after the other, and ask about
the few actions that they cannot decide on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partial_monitoring.validation import Array


def directed_information(confidence: Any, *, relaxed: bool) -> Array:
    """Return |M_a (theta+ - theta-)|^2 / (2 beta) for the ``Ellipsoid`` of n replicates, (n, k).

    theta+ and theta- are the two plausible parameters that differ most about the rewards of two
    Pareto actions that may both be best (``relaxed``: any two actions of which one looks best).
    """
    from partial_monitoring.numerics.compiled.directed import make_room

    n, k = confidence.means.shape
    design, information = confidence.data.design, np.zeros((n, k))
    cut = confidence.cut.bare(design.slopes.shape[1])
    room = None if cut is None else make_room(cut, k, design.rank)
    each = np.arange(n)
    for row in range(n):
        if cut is None or not _filled(confidence, row, cut, room, information[row], relaxed):
            information[row] = by_programs(confidence.of(each == row), relaxed=relaxed)
    return information


def _filled(
    confidence: Any, row: int, cut: Any, room: Any, information: Array, relaxed: bool
) -> bool:
    """Fill the directed information (k,) of one replicate; False if something is not proven."""
    from partial_monitoring.numerics.compiled import directed
    from partial_monitoring.numerics.compiled.plausible import OPEN

    data, beta = confidence.data, float(confidence.beta[row])
    contest, center = data.design.contest, confidence.local_center[row]
    known = confidence.means[row], data.gram[row], data.inverse[row], beta, center
    room.plausible[:] = OPEN
    while True:
        left, action = directed.fill_directed(relaxed, contest, cut, *known, room, information)
        if left == directed.IS_PARETO:
            _ = action in data.design.pareto  # the contest knows it now
        elif left == directed.IS_PLAUSIBLE:
            own = confidence.of(np.arange(len(confidence.beta)) == row)
            room.plausible[action] = own.may_be_best(np.array([action]))[0]
        else:
            return bool(left == directed.DONE)


def by_programs(confidence: Any, *, relaxed: bool) -> Array:
    """Return the directed information of a single replicate, shape (k,): the slow way.

    Pairs are tried from the widest on, so that few actions have to be shown to be Pareto.
    """
    design, beta = confidence.data.design, float(confidence.beta[0])
    information = np.zeros(len(design.offsets))
    _, rivals, points = confidence.compared()
    if relaxed:
        b = np.flatnonzero(rivals)
        c = np.full(len(b), confidence.means[0].argmax())
    else:
        chosen = np.flatnonzero(confidence.plausible(rivals, points))
        first, second = np.triu_indices(len(chosen), 1)
        b, c = chosen[first], chosen[second]
    if len(b) == 0 or beta <= 0:
        return information
    pairs = design.slopes[b] - design.slopes[c]
    high, plus = confidence.local_supports(pairs)
    low, minus = confidence.local_supports(-pairs)
    for i in np.argsort(-(high[0] + low[0]), kind="stable"):
        if relaxed or design.pareto.compete(int(b[i]), int(c[i])):
            omega = plus[0, i, : design.rank] - minus[0, i, : design.rank]
            return np.asarray(((design.maps @ omega) ** 2).sum(axis=1) / (2 * beta))
    return information
