"""Least squares with weights that fall with age and repetition, see ``estimation.forgetting``."""

from __future__ import annotations

import numpy as np

from partial_monitoring.estimation.linear.design import Design
from partial_monitoring.numerics import compiled
from partial_monitoring.validation import Array, Indices


def forgotten(
    design: Design, rounds: Indices, gram: Array, vector: Array, rows: Array
) -> tuple[Array, Array, Array]:
    """Return Gram matrices (n, r, r) and vectors (n, r) of rounds (n,) as the next one needs them.

    The weights are then gamma^i, i from 1 on, so that observations of rows (n, m, r) can be added
    to them, and what is known of these rows has faded, in the directions (n, q, r) that come third.
    """
    from partial_monitoring.numerics.compiled import forgetting

    keep = design.forgetting.keep
    factors = keep / forgetting.scales(keep, rounds - 1)
    again = rows, design.forgetting.fade, design.regularization
    found: tuple[Array, Array, Array] = forgetting.forget_each(gram, vector, factors, *again)
    return found


def weighed(design: Design, rounds: Indices, gram: Array, vector: Array) -> tuple[Array, Array]:
    """Return Gram matrices and vectors whose weights are then c times as large."""
    from partial_monitoring.numerics.compiled import forgetting

    factors = forgetting.scales(design.forgetting.keep, rounds - 1)
    found: tuple[Array, Array] = forgetting.weigh_each(gram, vector, factors, design.regularization)
    return found


def weighed_triangle(
    design: Design,
    before: Indices,
    after: Indices,
    triangle: Array,
    rows: Array,
    residual: Array,
    directions: Array,
) -> Array:
    """Return orthogonal factors (n, r, r + 1) after rows (n, m, r) and residuals (n, m).

    They move from rounds ``before`` to rounds ``after`` (n,), and what they know of directions
    (n, q, r) fades; the prior is brought back to lambda.
    """
    from partial_monitoring.numerics.compiled import forgetting

    if not triangle.size:
        return triangle
    keep = design.forgetting.keep
    old, new = (forgetting.scales(keep, own - 1)[:, None, None] for own in (before, after))
    kept, size = keep * new / old, np.sqrt(new)  # at most 1
    prior = np.sqrt((1.0 - kept) * design.regularization) * np.eye(design.rank)
    rotate = compiled.linear.rotate_in
    triangle = rotate(np.sqrt(kept) * triangle, prior, np.zeros(prior.shape[:2]))
    again = directions, design.forgetting.fade, design.regularization
    triangle = forgetting.fade_triangles(triangle, *again)
    return np.asarray(rotate(triangle, size * rows, size[:, 0] * residual))
