"""The programs behind the alignment constants with contexts.

A contrast is a reward difference d_j that has to be observed, with the probability p_j of its
context. Observers i are the actions of the possible contexts z, with maps M_i. Then

    max over omega of (sum_j p_j <d_j, omega_j>)^2
                      / sum_z chi(z) max_{i in z} sum_j p_j |M_i omega_j|^2
  = min over kernels q of sum_j p_j d_j' G_j(q)^-1 d_j,
    G_j(q) = sum_z chi(z) sum_{i in z} q(i | z) M_i' M_i  over the observers of contrast j,

because 2 sum p_j <d_j, omega_j> - sum p_j omega_j' G_j(q) omega_j is concave in omega, linear in q,
and kernels are a compact set. The first form is one conic program. By the second every kernel gives
an upper bound that plain linear algebra evaluates, for all choices of contrasts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.analysis.observability import SEEN
from partial_monitoring.errors import SolverError
from partial_monitoring.numerics import conic
from partial_monitoring.numerics.linalg import row_space, singular, unit_rows
from partial_monitoring.validation import Array

SPREAD = 1e-9
"""Weight of the uniform kernel that is mixed in, so that no matrix is singular."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Contrast:
    """A reward difference that has to be observed, and the observers that may do so."""

    direction: Array
    """Shape (D,), in the coordinates of the rows."""
    observers: Mask
    """Shape (n,)."""


class ObservingActions:
    """The informative actions of the possible contexts.

    Each has a map ``rows`` on the directions of Theta, shape (m_i, D), and a context, which has a
    probability.
    """

    def __init__(
        self, rows: Sequence[Array], contexts: Sequence[int], chances: dict[int, float]
    ) -> None:
        # With chi(z) in the maps, kernels need no weights any more.
        self.rows = [np.sqrt(chances[z]) * own for own, z in zip(rows, contexts, strict=True)]
        self.contexts = np.array(contexts, dtype=int)
        self._spans: dict[bytes, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def _span(self, mask: Mask) -> tuple[Array, Array]:
        """Return two bases, shape (D, r), of the span of the rows of some observers.

        The first is orthonormal; in coordinates of the second the rows are.
        """
        key = mask.tobytes()
        if key not in self._spans:
            flat = np.concatenate([self.rows[i] for i in np.flatnonzero(mask)])
            seen = row_space(unit_rows(flat))
            scale, turn = singular(flat @ seen)
            self._spans[key] = seen, seen @ turn.T / scale
        return self._spans[key]

    def basis(self, mask: Mask) -> Array:
        """Return coordinates in which the rows of some observers are orthonormal, shape (D, r)."""
        return self._span(mask)[1]

    def sees(self, contrast: Contrast) -> bool:
        """Whether a difference is a combination of the rows of its observers."""
        size = float(np.linalg.norm(contrast.direction))
        if size == 0.0 or not contrast.observers.any():
            return size == 0.0
        seen, _ = self._span(contrast.observers)
        rest = contrast.direction - seen @ (seen.T @ contrast.direction)
        return bool(np.linalg.norm(rest) <= SEEN * size)

    def spread(self, kernel: Array) -> Array:
        """Return a kernel made a distribution in every context, positive everywhere."""
        spread = np.maximum(kernel, 0.0)
        for z in set(self.contexts):
            own = self.contexts == z
            total = float(spread[own].sum())
            spread[own] = spread[own] / total + SPREAD if total > 0 else 1.0
            spread[own] /= spread[own].sum()
        return spread

    def lengths(self, mask: Mask, directions: Array, kernel: Array) -> Array:
        """Return d' G(q)^-1 d for directions (n, D) that the masked observers see, shape (n,)."""
        basis = self.basis(mask)
        gram = np.zeros((basis.shape[1], basis.shape[1]))
        for i in np.flatnonzero(mask):
            shown = self.rows[i] @ basis
            gram += kernel[i] * shown.T @ shown
        inner = directions @ basis
        lengths: Array = np.einsum("nr,nr->n", inner, np.linalg.solve(gram, inner.T).T)
        return lengths


def value_of(
    contrasts: Sequence[Contrast], weights: Sequence[float], observers: ObservingActions
) -> tuple[float, Array]:
    """Return the constant of one contrast per context and the kernel that attains it, shape (n,).

    Every contrast must be in the span of its observers.
    """
    used = _condensed(contrasts, weights)
    bases = [observers.basis(contrast.observers) for contrast in used]
    inner = [contrast.direction @ own for contrast, own in zip(used, bases, strict=True)]
    size = max((float(np.abs(own).max(initial=0.0)) for own in inner), default=0.0)
    kernel = np.zeros(len(observers))
    if size == 0.0:
        return 0.0, observers.spread(kernel)
    # The unknowns are omega of every contrast, the largest lengths in every context, and the length
    # of these together, which is one over the root of the constant.
    starts = np.cumsum([0, *(len(own) for own in inner)])
    place = {z: int(starts[-1]) + i for i, z in enumerate(sorted(set(observers.contexts)))}
    unknowns = int(starts[-1]) + len(place) + 1
    objective = np.append(np.zeros(unknowns - 1), 1.0)
    one = np.concatenate([*inner, np.zeros(len(place) + 1)]) / size
    whole = np.zeros((1 + len(place), unknowns))
    whole[0, -1] = -1.0
    whole[1:, starts[-1] : -1] = -np.eye(len(place))
    cones = [
        conic.Cone("zero", one[None], np.ones(1)),
        conic.Cone("norm", whole, np.zeros(len(whole))),
    ]
    asked = []
    for i, rows in enumerate(observers.rows):
        serves = [j for j, contrast in enumerate(used) if contrast.observers[i]]
        if not serves:
            continue
        cone = np.zeros((1 + len(serves) * len(rows), unknowns))
        cone[0, place[observers.contexts[i]]] = -1.0
        for n, j in enumerate(serves):
            lines = slice(1 + n * len(rows), 1 + (n + 1) * len(rows))
            cone[lines, starts[j] : starts[j + 1]] = -rows @ bases[j]
        cones.append(conic.Cone("norm", cone, np.zeros(len(cone))))
        asked.append(i)
    solved = conic.minimize_conic(objective, cones)
    if solved is None or solved.value <= 0:
        raise SolverError("the alignment constant was not computed: its program has no answer.")
    ends = np.cumsum([0, *(len(cone.bound) for cone in cones)])[2:]
    # Within a context the multipliers of the lengths are the kernel, up to a factor.
    for i, start in zip(asked, ends, strict=False):
        kernel[i] = solved.multipliers[start]
    return (size / solved.value) ** 2, observers.spread(kernel)


def _condensed(contrasts: Sequence[Contrast], weights: Sequence[float]) -> list[Contrast]:
    """Return contrasts of weight 1 with the same constants, for each set of observers at most D.

    Only sum_j p_j d_j d_j' matters, so one contrast for each of its eigenvectors suffices.
    """
    groups: dict[bytes, list[tuple[Contrast, float]]] = {}
    for contrast, p in zip(contrasts, weights, strict=True):
        if p > 0 and contrast.direction.any():
            groups.setdefault(contrast.observers.tobytes(), []).append((contrast, p))
    condensed = []
    for members in groups.values():
        stacked = np.array([np.sqrt(p) * contrast.direction for contrast, p in members])
        if len(stacked) > stacked.shape[1]:
            values, right = singular(stacked)
            stacked = values[:, None] * right
        condensed += [Contrast(own, members[0][0].observers) for own in stacked if own.any()]
    return condensed
