"""From gaps and information per context to one kernel for all contexts (section 6).

The ratio of a kernel xi is Psi(xi) = (sum_z chi(z) gap(xi, z))^kappa / sum_z chi(z) information(xi,
z): regret in one context may be paid for by information in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.ids.ratio import ZERO_GAP
from partial_monitoring.validation import (
    Array,
    non_negative_number,
    one_of,
    probabilities,
    real_array,
    real_number,
    whole_number,
)

STEPS = ("line", "classic")
"""How far Frank-Wolfe goes: to the best point ahead, or 2 / (i + 2) of the way in step i."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """Gaps and information of all contexts, checked."""

    gaps: Array
    """Shape (contexts, actions); anything where the action is not available."""
    information: Array
    weights: Array
    """chi, shape (contexts,)."""
    available: NDArray[np.bool_]
    kappa: float


@dataclass(frozen=True)
class Iteration:
    """How Frank-Wolfe goes on, and when it stops."""

    steps: int
    tolerance: float = 1e-9
    step: str = "line"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, at_least=0)
        non_negative_number("tolerance", self.tolerance)
        one_of("step", self.step, STEPS)
        non_negative_number("smoothing", self.smoothing)


def contextual(
    gaps: ArrayLike,
    information: ArrayLike,
    context_distribution: ArrayLike,
    *,
    available: ArrayLike | None = None,
    kappa: float = 2.0,
) -> Array:
    """Return the kernel with the least information ratio, exactly (paper-notes: contextual).

    Parameters
    ----------
    gaps, information
        Shape (contexts, actions).
    context_distribution
        chi, shape (contexts,).
    available
        Boolean mask of the same shape: A(z). All actions unless given.
    kappa
        At least 2.

    Returns
    -------
    Array
        xi(a|z), shape (contexts, actions). At most one context with positive probability
        randomises, between two actions; the others play the action with the least gap - lambda
        information, lambda = gap(xi) / (kappa information(xi)). Contexts of probability zero get
        the distribution that is best for them alone.

    Examples
    --------
    The second context shows nothing, so the first one explores for both:

    >>> contextual([[0.1, 0.5], [0.4, 0.4]], [[0.0, 1.0], [0.0, 0.0]], [0.5, 0.5]).round(3)
    array([[0., 1.],
           [1., 0.]])
    """
    return best_kernel(checked(gaps, information, context_distribution, available, kappa))


def best_kernel(problem: Contexts) -> Array:
    """Return the best kernel of a problem that was checked, shape (contexts, actions)."""
    from partial_monitoring.compiled.joint import minimize_jointly
    from partial_monitoring.compiled.ratio import spread_rows

    p = problem
    first, second, share, _ = minimize_jointly(
        p.gaps, p.information, p.weights, p.available, p.kappa, ZERO_GAP
    )
    return np.asarray(spread_rows(first, second, share, p.gaps.shape[1]))


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
        At most so many.
    tolerance
        Stop when the duality gap, an upper bound of what could still be gained, is below this
        fraction of the ratio.
    step
        "line" (the best point ahead, in closed form) or "classic", 2 / (i + 2) in step i = 1, 2,
        ... from the uniform kernel (E9).
    smoothing
        Added to the information (1/t in the paper), so that the gradient is bounded.
    """
    iteration = Iteration(steps, tolerance, step, smoothing)
    problem = checked(gaps, information, context_distribution, available, kappa)
    return iterated_kernel(problem, iteration)


def iterated_kernel(problem: Contexts, iteration: Iteration) -> Array:
    """Return the kernel that Frank-Wolfe reaches on a problem that was checked.

    Where the least gap is zero, or nothing can be learned, every context plays its cheapest action;
    contexts of probability zero, of which the gradient is zero (E10), are solved by themselves.
    """
    from partial_monitoring.compiled.joint import minimize_each
    from partial_monitoring.compiled.ratio import spread_rows

    chi, offered = problem.weights, problem.available
    d, i, extra = _scaled(problem, iteration.smoothing)
    each, apart = np.arange(len(chi)), np.flatnonzero(chi <= 0)
    cheapest = np.where(offered, d, np.inf).argmin(axis=1)
    if chi @ d[each, cheapest] <= 0 or chi @ i.max(axis=1) <= 0:
        kernel = spread_rows(cheapest, cheapest, np.zeros(len(chi)), d.shape[1])
    else:
        kernel = _iterate(d, i + extra, chi, offered, problem.kappa, iteration)
    first, second, share = minimize_each(
        problem.gaps, problem.information, offered, apart, problem.kappa, ZERO_GAP
    )
    kernel[apart] = spread_rows(first, second, share, d.shape[1])
    return np.asarray(kernel)


def _scaled(problem: Contexts, smoothing: float) -> tuple[Array, Array, Array]:
    """Return gaps, information and what smooths it in units in which nothing overflows.

    Tiny gaps become zero; so does all that is not available or has no weight.
    """
    counted = (problem.weights > 0)[:, None] & problem.available
    gap_unit, gain_unit = (
        max(float(table.max(where=counted, initial=0.0)), 1e-300)
        for table in (problem.gaps, problem.information)
    )
    gaps, information = (
        np.where(counted, table, 0.0) for table in (problem.gaps, problem.information)
    )
    d = np.where(gaps > ZERO_GAP * gap_unit, gaps / gap_unit, 0.0)
    return d, information / gain_unit, np.where(counted, smoothing / gain_unit, 0.0)


def _iterate(
    d: Array, i: Array, chi: Array, offered: NDArray[np.bool_], kappa: float, how: Iteration
) -> Array:
    """Return the last iterate of Frank-Wolfe from the uniform kernel."""
    kernel = offered / offered.sum(axis=1, keepdims=True)
    each = np.arange(len(chi))
    for k in range(1, how.steps + 1):
        gap = float(chi @ (kernel * d).sum(axis=1))
        gain = float(chi @ (kernel * i).sum(axis=1))
        # The gradient is chi(z) (E10) times a positive number times these slopes.
        slopes = kappa * d * gain - i * gap
        best = np.where(offered, slopes, np.inf).argmin(axis=1)
        ahead = float(chi @ ((kernel * slopes).sum(axis=1) - slopes[each, best]))
        if ahead <= how.tolerance * gap * gain:
            break
        share = 2.0 / (k + 2)
        if how.step == "line":
            end = float(chi @ d[each, best]), float(chi @ i[each, best])
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


def joint_ratio(
    kernel: ArrayLike,
    gaps: ArrayLike,
    information: ArrayLike,
    context_distribution: ArrayLike,
    *,
    kappa: float = 2.0,
) -> float:
    """Return Psi(xi), with 0/0 = 0 and 1/0 = inf."""
    xi, d, i = (np.asarray(x, dtype=float) for x in (kernel, gaps, information))
    chi = np.asarray(context_distribution, dtype=float)
    gap = float(chi @ np.where(xi > 0, xi * d, 0.0).sum(axis=1))
    gain = float(chi @ np.where(xi > 0, xi * i, 0.0).sum(axis=1))
    if gap <= 0:
        return 0.0
    return gap**kappa / gain if gain > 0 else np.inf


def checked(
    gaps: ArrayLike,
    information: ArrayLike,
    context_distribution: ArrayLike,
    available: ArrayLike | None,
    kappa: float,
) -> Contexts:
    """Validate a problem; what is not available may hold anything."""
    d = _table("gaps", gaps, ("contexts", "actions"))
    if d.size == 0:
        raise InvalidInput(f"gaps must hold at least one context and action; got shape {d.shape}.")
    i = _table("information", information, d.shape)
    mask = np.ones(d.shape, dtype=bool)
    if available is not None:
        mask = _checked_mask(available, d.shape)
    for name, array in (("gaps", d), ("information", i)):
        least, most = array.min(where=mask, initial=0.0), array.max(where=mask, initial=0.0)
        if not (least >= 0 and most < np.inf):
            real_array(name, np.where(mask, array, 0.0), array.shape)
            raise InvalidInput(f"{name} must not be negative; got {least:g}.")
    chi = probabilities("context_distribution", context_distribution, len(d))
    if not real_number("kappa", kappa) >= 2:
        raise InvalidInput(f"kappa must be at least 2; got {kappa!r}.")
    return Contexts(d, i, chi, mask, float(kappa))


def _table(name: str, value: ArrayLike, shape: Sequence[int | str]) -> Array:
    """Return numbers of a given shape, finite or not; a table of floats is not copied."""
    floats = isinstance(value, np.ndarray) and value.dtype == np.float64
    if floats and np.ndim(value) == 2 and (np.shape(value) == shape or isinstance(shape[0], str)):
        return np.ascontiguousarray(value)
    return real_array(name, value, shape, finite=False)


def _checked_mask(available: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Validate that every context has an action."""
    try:
        mask = np.asarray(available)
    except ValueError:
        raise InvalidInput(
            f"available must be a boolean mask of shape {shape}; got rows of unequal length."
        ) from None
    if mask.dtype != bool or mask.shape != shape:
        raise InvalidInput(
            f"available must be a boolean mask of shape {shape}; got {mask.dtype} of shape "
            f"{mask.shape}."
        )
    if not mask.any(axis=1).all():
        empty = int(np.flatnonzero(~mask.any(axis=1))[0])
        raise InvalidInput(f"available must leave an action in every context; {empty} has none.")
    return np.ascontiguousarray(mask)
