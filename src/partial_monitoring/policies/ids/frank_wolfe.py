"""The kernel over contexts by Frank-Wolfe (Algorithm 3), to reproduce the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.policies.ids.context_kernel import Contexts, averaged, checked
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.validation import Array, non_negative_number, one_of, whole_number

STEPS = ("line", "classic")
"""How far Frank-Wolfe goes: to the best point ahead, or 2 / (i + 2) of the way in step i."""


class Iteration(NamedTuple):
    """How Frank-Wolfe goes on, and when it stops."""

    steps: int
    tolerance: float = 1e-9
    step: str = "line"
    smoothing: float = 0.0


def frank_wolfe(
    gaps: ArrayLike,
    information: ArrayLike,
    context_distribution: ArrayLike,
    *,
    available: ArrayLike | None = None,
    kappa: float = 2.0,
    steps: int = 1000,
    tolerance: float = 1e-9,
    step: str = "line",
    smoothing: float = 0.0,
) -> Array:
    """Return an approximately best kernel by Frank-Wolfe (Algorithm 3), to reproduce the paper.

    Parameters
    ----------
    gaps, information, context_distribution, available, kappa
        As for :func:`contextual`.
    steps
        Largest number of steps.
    tolerance
        Stop when the duality gap, an upper bound of what could still be gained, is below this
        fraction of the ratio.
    step
        "line" (the best point ahead, in closed form) or "classic", 2 / (i + 2) in step i = 1, 2,
        ... from the uniform kernel (E9).
    smoothing
        Added to the information (1/t in the paper), so that the gradient is bounded.
    """
    iteration = Iteration(
        whole_number("steps", steps, at_least=0),
        non_negative_number("tolerance", tolerance),
        one_of("step", step, STEPS),
        non_negative_number("smoothing", smoothing),
    )
    problem = checked(gaps, information, context_distribution, available, kappa)
    return iterated_kernel(problem, iteration)


def iterated_kernel(problem: Contexts, iteration: Iteration) -> Array:
    """Return the kernel that Frank-Wolfe reaches on a problem that was checked.

    Where the least gap is zero, or nothing can be learned, every context plays its cheapest action;
    contexts of probability zero, of which the gradient is zero (E10), are solved by themselves.
    """
    from partial_monitoring.numerics.compiled.contexts import minimize_each
    from partial_monitoring.numerics.compiled.ratio import spread_rows

    gaps, information, chi, offered, kappa = problem
    counted = (chi > 0)[:, None] & offered
    lost, gained = (np.where(counted, table, 0.0) for table in (gaps, information))
    # In these units nothing overflows; tiny gaps become zero.
    gap_unit, gain_unit = (max(float(table.max()), 1e-300) for table in (lost, gained))
    d, i = np.where(lost > ZERO_GAP * gap_unit, lost / gap_unit, 0.0), gained / gain_unit
    each, apart = np.arange(len(chi)), np.flatnonzero(chi <= 0)
    cheapest = np.where(offered, d, np.inf).argmin(axis=1)
    if chi @ d[each, cheapest] <= 0 or chi @ i.max(axis=1) <= 0:
        kernel = spread_rows(cheapest, cheapest, np.zeros(len(chi)), d.shape[1])
    else:
        smooth = i + np.where(counted, iteration.smoothing / gain_unit, 0.0)
        kernel = _iterate(d, smooth, chi, offered, kappa, iteration)
    first, second, share = minimize_each(gaps, information, offered, apart, kappa, ZERO_GAP)
    kernel[apart] = spread_rows(first, second, share, d.shape[1])
    return np.asarray(kernel)


def _iterate(
    d: Array, i: Array, chi: Array, offered: NDArray[np.bool_], kappa: float, how: Iteration
) -> Array:
    """Return the last iterate of Frank-Wolfe from the uniform kernel."""
    kernel = offered / offered.sum(axis=1, keepdims=True)
    each = np.arange(len(chi))
    for k in range(1, how.steps + 1):
        gap, gain = averaged(chi, kernel * d), averaged(chi, kernel * i)
        # The gradient is chi(z) (E10) times a positive number times these slopes.
        slopes = kappa * d * gain - i * gap
        best = np.where(offered, slopes, np.inf).argmin(axis=1)
        saved = (kernel * slopes).sum(axis=1) - slopes[each, best]
        ahead = averaged(chi, saved[:, None])
        if ahead <= how.tolerance * gap * gain:
            break
        share = 2.0 / (k + 2)
        if how.step == "line":
            end = averaged(chi, d[each, best][:, None]), averaged(chi, i[each, best][:, None])
            share = best_point((gap, gain), end, kappa)
        kernel *= 1.0 - share
        kernel[each, best] += share
    return np.asarray(kernel)


def best_point(start: tuple[float, float], end: tuple[float, float], kappa: float) -> float:
    """Return where between two points (gap, information) the ratio is least, from 0 to 1."""
    (gap, gain), (last_gap, last_gain) = start, end
    more_gap, more_gain = last_gap - gap, last_gain - gain

    def ratio(p: float) -> float:
        x, y = gap + p * more_gap, gain + p * more_gain
        return 0.0 if x <= 0 else x**kappa / y if y > 0 else np.inf

    candidates = [0.0, 1.0]
    if more_gap * more_gain != 0:
        p = (gap * more_gain - kappa * gain * more_gap) / ((kappa - 1) * more_gap * more_gain)
        candidates.append(min(1.0, max(0.0, p)))
    return min(candidates, key=ratio)
