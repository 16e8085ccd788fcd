"""From gaps and information per context to one kernel for all contexts (section 6).

The ratio of a kernel xi is Psi(xi) = (sum_z chi(z) gap(xi, z))^kappa / sum_z chi(z) information(xi,
z): regret in one context may be paid for by information in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.policies.ids.ratio import ZERO_GAP, checked_kappa, refuse_misfits
from partial_monitoring.validation import Array, probabilities, real_array


class Contexts(NamedTuple):
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
    from partial_monitoring.numerics.compiled.contexts import minimize_replicates
    from partial_monitoring.numerics.compiled.ratio import spread_rows

    p = checked(gaps, information, context_distribution, available, kappa)
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

    Its order does not depend on the layout in memory, as that of a product with chi does.
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
    shape: tuple[int | str, ...] = ("contexts", "actions")
    d = np.ascontiguousarray(real_array("gaps", gaps, shape, finite=False))
    if d.size == 0:
        raise InvalidInput(f"gaps must hold at least one context and action; got shape {d.shape}.")
    i = np.ascontiguousarray(real_array("information", information, d.shape, finite=False))
    mask = np.ones(d.shape, dtype=bool) if available is None else _mask(available, d.shape)
    refuse_misfits(np.where(mask, d, 0.0), np.where(mask, i, 0.0))
    chi = probabilities("context_distribution", context_distribution, len(d))
    return Contexts(d, i, chi, mask, checked_kappa(kappa))


def _mask(available: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the available actions (contexts, actions), at least one in every context."""
    needed = f"available must be a boolean mask of shape {shape}"
    try:
        mask = np.ascontiguousarray(available)
    except ValueError:
        raise InvalidInput(f"{needed}; got rows of unequal length.") from None
    if mask.dtype != bool or mask.shape != shape:
        raise InvalidInput(f"{needed}; got {mask.dtype} of shape {mask.shape}.")
    if not mask.any(axis=1).all():
        empty = int(np.flatnonzero(~mask.any(axis=1))[0])
        raise InvalidInput(f"available must leave an action in every context; {empty} has none.")
    return mask
