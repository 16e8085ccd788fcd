"""From gaps and information per context to one kernel for all contexts (section 6).

The ratio of a kernel xi is Psi(xi) = (sum_z chi(z) gap(xi, z))^kappa / sum_z chi(z) information(xi,
z): regret in one context may be paid for by information in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.validation import Array, probabilities, real_array, real_number


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
    from partial_monitoring.numerics.compiled.contexts import minimize_replicates
    from partial_monitoring.numerics.compiled.ratio import spread_rows

    p = problem
    first, second, share, _ = minimize_replicates(
        p.gaps[None], p.information[None], p.weights[None], p.available[None], p.kappa, ZERO_GAP
    )
    return np.asarray(spread_rows(first[0], second[0], share[0], p.gaps.shape[1]))


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
    gap, gain = (averaged(chi, np.where(xi > 0, xi * table, 0.0)) for table in (d, i))
    if gap <= 0:
        return 0.0
    return gap**kappa / gain if gain > 0 else np.inf


def averaged(chi: Array, table: Array) -> float:
    """Return the sum over contexts of chi times the sum of a row.

    Added up in one way wherever the numbers stand in memory, which a product with chi is not.
    """
    return float((chi * table.sum(axis=1)).sum())


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
        # Without a mask the extremes are found much faster.
        some: Any = {} if available is None else {"where": mask, "initial": 0.0}
        least, most = array.min(**some), array.max(**some)
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
