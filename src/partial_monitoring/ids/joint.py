"""From gaps and information per context to one kernel for all contexts (section 6).

The ratio of a kernel xi is Psi(xi) = (sum_z chi(z) gap(xi, z))^kappa / sum_z chi(z) information(xi,
z): regret in one context may be paid for by information in another.
"""

from __future__ import annotations

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
    """Gaps and information of all contexts, checked and in units in which nothing overflows."""

    gaps: Array
    """Shape (contexts, actions); zero where it is noise or the action is not available."""
    information: Array
    weights: Array
    """chi, shape (contexts,)."""
    available: NDArray[np.bool_]
    kappa: float
    units: tuple[float, float]
    """What gaps and information were divided by."""


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
    from partial_monitoring.compiled.ratio import minimize, spread_rows

    p = problem
    first, second, share = minimize_jointly(p.gaps, p.information, p.weights, p.available, p.kappa)
    some = p.weights > 0
    # What does not count, or all that counts, is solved by itself.
    alone = np.flatnonzero(~some if some.sum() != 1 else np.ones_like(some))
    for z in alone:
        actions = np.flatnonzero(p.available[z])
        one, two, part = minimize(p.gaps[z, actions], p.information[z, actions], p.kappa)
        first[z], second[z], share[z] = actions[one], actions[two], part
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
    problem = checked(gaps, information, context_distribution, available, kappa)
    count = whole_number("steps", steps, at_least=0)
    one_of("step", step, STEPS)
    d, i, chi = problem.gaps, problem.information, problem.weights
    extra = non_negative_number("smoothing", smoothing) / problem.units[1]
    i = i + np.where(problem.available, extra, 0.0)
    kernel = problem.available / problem.available.sum(axis=1, keepdims=True)
    each = np.arange(len(chi))
    for k in range(1, count + 1):
        gap = float(chi @ (kernel * d).sum(axis=1))
        gain = float(chi @ (kernel * i).sum(axis=1))
        if gap <= 0 or gain <= 0:
            break
        # The gradient is chi(z) (E10) times a positive number times these slopes.
        slopes = problem.kappa * d * gain - i * gap
        best = np.where(problem.available, slopes, np.inf).argmin(axis=1)
        ahead = float(chi @ ((kernel * slopes).sum(axis=1) - slopes[each, best]))
        if ahead <= tolerance * gap * gain:
            break
        share = 2.0 / (k + 2)
        if step == "line":
            end = float(chi @ d[each, best]), float(chi @ i[each, best])
            share = best_point((gap, gain), end, problem.kappa)
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
    d = np.asarray(gaps, dtype=float)
    if d.ndim != 2 or d.size == 0:
        raise InvalidInput(f"gaps must have shape (contexts, actions); got {d.shape}.")
    mask = np.ones(d.shape, dtype=bool)
    if available is not None:
        mask = np.asarray(available)
        if mask.dtype != bool or mask.shape != d.shape:
            raise InvalidInput(
                f"available must be a boolean mask of shape {d.shape}; got {mask.dtype} of shape "
                f"{mask.shape}."
            )
        if not mask.any(axis=1).all():
            empty = int(np.flatnonzero(~mask.any(axis=1))[0])
            raise InvalidInput(
                f"available must leave an action in every context; {empty} has none."
            )
    d = np.where(mask, d, 0.0)
    i = np.asarray(information, dtype=float)
    if i.shape != d.shape:
        raise InvalidInput(f"information must have shape {d.shape}; got {i.shape}.")
    i = np.where(mask, i, 0.0)
    for name, array in (("gaps", d), ("information", i)):
        real_array(name, array, array.shape)
        if (array < 0).any():
            raise InvalidInput(f"{name} must not be negative; got {array.min():g}.")
    chi = probabilities("context_distribution", context_distribution, len(d))
    if not real_number("kappa", kappa) >= 2:
        raise InvalidInput(f"kappa must be at least 2; got {kappa!r}.")
    return prepared(d, i, np.array(chi), mask, float(kappa))


def prepared(
    gaps: Array, information: Array, chi: Array, available: NDArray[np.bool_], kappa: float
) -> Contexts:
    """Bring a problem into units in which nothing overflows; tiny gaps become zero."""
    counted = (chi > 0)[:, None] & available
    units = tuple(
        max(float(table.max(where=counted, initial=0.0)), 1e-300) for table in (gaps, information)
    )
    d = np.where(available & (gaps > ZERO_GAP * units[0]), gaps / units[0], 0.0)
    i = np.where(available, information / units[1], 0.0)
    return Contexts(d, i, chi, available, kappa, (units[0], units[1]))
