"""The support function of Theta cut by an ellipsoid, by a conic solver with proofs.

The reference solves max <c, theta> over theta in Theta, |theta - center|_V^2 <= beta by Clarabel.
Its answers are not trusted but proved: the multipliers z give the upper bound

    h_Theta(z) + <c - z, center> + beta^(1/2) |c - z| in the norm of V^-1,

which holds for any z (weak duality), and the maximiser, pulled into both sets, a lower one.
"""

from __future__ import annotations

from dataclasses import replace

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import partial_monitoring as pm
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from tests.oracles.bodies import Body

Array = NDArray[np.float64]


def confidence(
    body: Body,
    gram: Array,
    center: Array,
    beta: float,
    prior_mean: Array | None = None,
    features: Array | None = None,
) -> ConfidenceSet:
    """Return E = {theta in Theta : |theta - center|_gram^2 <= beta}, for a center in Theta.

    Through the front door: one observation with a map that makes V_t the given matrix, and a value
    that makes the estimate the given center.
    """
    d = len(center)
    values, vectors = np.linalg.eigh(gram)
    ridge = 0.5 * float(values[0])
    rows = vectors * np.sqrt(values - ridge) @ vectors.T  # gram = ridge I + rows' rows
    phi = np.eye(d) if features is None else features
    game = pm.Game(phi, np.repeat(rows[None], len(phi), axis=0), body.parameters)
    prior = body.inside if prior_mean is None else prior_mean
    policy = pm.IDS(regularization=ridge, prior_mean=prior, norm_bound=0.0)
    told = rows @ prior + np.linalg.solve(rows, gram @ (center - prior))
    local = body.basis.T @ gram @ body.basis
    known = float(np.linalg.slogdet(local / ridge)[1]) if len(local) else 0.0

    def schedule(t: Array) -> Array:
        return np.full(np.shape(t), (beta - known) / 2)

    state = policy.init(game, 1)
    state = policy.update(state, np.zeros(1, dtype=np.int64), told[None])
    return replace(policy, confidence=schedule).confidence_set(state)


def reference(
    body: Body, gram: Array, center: Array, beta: float, c: Array
) -> tuple[float, float, float]:
    """Return proved bounds (low, high) of the maximum, and the half-width of the ellipsoid."""
    g = body.basis.T @ gram @ body.basis
    dim = len(g)
    start = float(c @ center)
    if dim == 0:
        return start, start, 0.0
    root = np.linalg.cholesky(g)
    # In y with theta = center + basis root^-T y the ellipsoid is |y|^2 <= beta.
    shape = np.linalg.solve(root, body.basis.T).T  # (d, dim)
    target = shape.T @ c
    half = float(np.sqrt(beta) * np.linalg.norm(target))
    if half == 0.0:
        return start, start, 0.0
    # Scaled to |y| <= 1 and a target of length 1, without the rows that are out of reach.
    reach, unit = np.sqrt(beta), np.linalg.norm(target)
    rows = np.linalg.solve(root, body.a.T).T
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    room = np.maximum(body.b - body.a @ (body.basis.T @ (center - body.inside)), 0.0)
    near = room <= lengths * reach
    rows, room = rows[near] / lengths[near, None], room[near] / lengths[near] / reach
    blocks, bounds = [rows], [room]
    cones = [clarabel.NonnegativeConeT(len(rows))] if len(rows) else []
    cap = np.concatenate([np.zeros((1, dim)), -np.eye(dim)])
    blocks.append(cap)
    bounds.append(np.eye(dim + 1)[0])
    cones.append(clarabel.SecondOrderConeT(dim + 1))
    spread = reach * float(np.linalg.norm(shape, 2))
    round_near = body.middle is not None and (
        np.linalg.norm(center - body.middle) + spread > body.radius
    )
    if round_near:
        blocks.append(np.concatenate([np.zeros((1, dim)), -shape * reach / body.radius]))
        bounds.append(np.concatenate([[1.0], (center - body.middle) / body.radius]))
        cones.append(clarabel.SecondOrderConeT(len(c) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix((dim, dim)),
        -target / unit,
        sparse.csc_matrix(np.concatenate(blocks)),
        np.concatenate(bounds),
        cones,
        settings,
    ).solve()
    y, z = np.array(answer.x), np.array(answer.z)
    # Upper bound from the multipliers, whatever they are.
    pull = np.zeros(dim)
    high = 0.0
    if len(rows):
        mu = np.maximum(z[: len(rows)], 0.0)
        pull = pull + rows.T @ mu
        high += float(mu @ room)
    if round_near:
        v = z[len(rows) + dim + 2 :] / body.radius  # pulls theta, shape (d,)
        pull = pull - reach * shape.T @ v
        high += float(body.radius * np.linalg.norm(v) + v @ (center - body.middle))
    high += float(np.linalg.norm(target / unit - pull))
    high = min(high, 1.0)
    # Lower bound from the maximiser, pulled towards an interior point until it is in both sets.
    home = np.linalg.solve(shape.T @ shape, shape.T @ (body.inside - center)) / reach
    home = home * min(1.0, 0.5 / max(float(np.linalg.norm(home)), 1e-300))
    share = 1.0
    for _ in range(60):
        tried = home + share * (y - home)
        outside = (rows @ tried > room).any() or np.linalg.norm(tried) > 1.0
        if round_near:
            moved = center + shape @ tried * reach - body.middle
            outside = outside or np.linalg.norm(moved) > body.radius
        if not outside:
            break
        share = 1.0 - 2.0 * (1.0 - share) - 1e-15
    low = float(target @ (home + share * (y - home))) / unit if share > 0 else 0.0
    return start + half * low, start + half * high, half
