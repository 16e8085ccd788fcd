"""How Theta meets an ellipsoid: all of R^d, a ball, or a polyhedron.

A shape works in the coordinates x of a model, theta = prior_mean + basis x, on n replicates at
once. It projects estimates onto Theta and gives the support function of Theta cut by the ellipsoids
|x - center|_G^2 <= beta, where G = diag(W_t, lambda).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import SolverError
from partial_monitoring.estimation.linear.design import Model
from partial_monitoring.estimation.linear.least_squares import Estimate, is_graded
from partial_monitoring.numerics import conic
from partial_monitoring.parameter_sets import AllParameters, Ball, Polyhedral
from partial_monitoring.validation import Array


class Shape(Protocol):
    """Theta in the coordinates of a model."""

    def project(self, estimate: Estimate, x: Array) -> Array:
        """Return the points of Theta nearest to x (n, D) in the norms of the estimate."""
        ...

    def supports(
        self, estimate: Estimate, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        """Return values (n, q) and maximisers (n, q, D) of directions (q, D)."""
        ...


def shape_of(model: Model) -> Shape:
    """Return the shape of a game's parameter set."""
    parameters = model.game.parameters
    if isinstance(parameters, AllParameters) or model.basis.shape[1] == 0:
        return Everything()
    if isinstance(parameters, Ball):
        return Round(
            model, model.basis.T @ (parameters.center - model.prior_mean), parameters.radius
        )
    if isinstance(parameters, Polyhedral):
        return Faceted(model, parameters)
    raise SolverError(f"confidence sets in a {type(parameters).__name__} cannot be computed.")


@dataclass(frozen=True)
class Everything:
    """Theta = R^d (or a single point): the ellipsoid is not cut."""

    def project(self, estimate: Estimate, x: Array) -> Array:
        return x

    def supports(
        self, estimate: Estimate, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        r = estimate.model.rank
        lam = estimate.model.regularization
        pulled = np.concatenate(
            [
                directions[:, :r] @ estimate.inverse,
                np.broadcast_to(
                    directions[:, r:] / lam, (len(center), len(directions), directions.shape[1] - r)
                ),
            ],
            axis=2,
        )
        width = np.sqrt(np.maximum((pulled * directions).sum(axis=-1), 0.0))
        reach = np.sqrt(beta)[:, None]
        values = (directions * center[:, None, :]).sum(axis=-1) + reach * width
        step = np.where(width > 0, reach / np.where(width > 0, width, 1.0), 0.0)
        return values, center[:, None, :] + step[:, :, None] * pulled


@dataclass(frozen=True, eq=False)
class Round:
    """Theta is a ball."""

    model: Model
    center: Array
    radius: float

    def _diagonal(self, estimate: Estimate) -> tuple[Array, Array]:
        """Return the eigenvalues (n, D) of G and the rotation (n, D, D) to its coordinates."""
        model = self.model
        n, r, dim = estimate.replicates, model.rank, model.basis.shape[1]
        values, vectors = np.linalg.eigh(estimate.gram)
        # Of a graded matrix the small eigenvalues are those of its inverse; the large ones are then
        # only known to be large.
        for row in np.flatnonzero(is_graded(estimate)):
            shares, vectors[row] = np.linalg.eigh(estimate.inverse[row])
            values[row] = 1.0 / np.maximum(shares, np.finfo(float).eps * shares[-1])
        weights = np.full((n, dim), model.regularization)
        weights[:, :r] = values
        turn = np.broadcast_to(np.eye(dim), (n, dim, dim)).copy()
        turn[:, :r, :r] = vectors
        return weights, turn

    def project(self, estimate: Estimate, x: Array) -> Array:
        from partial_monitoring.numerics.compiled import ball

        weights, turn = self._diagonal(estimate)
        back = np.swapaxes(turn, 1, 2)
        turned = (back @ x[:, :, None])[:, :, 0]
        center = back @ self.center
        found = ball.projections(weights, turned, center, self.radius)
        return np.asarray((turn @ found[:, :, None])[:, :, 0])

    def supports(
        self, estimate: Estimate, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import ball

        weights, turn = self._diagonal(estimate)
        back = np.swapaxes(turn, 1, 2)
        values, points = ball.supports(
            np.ascontiguousarray(directions @ turn),
            weights,
            (back @ center[:, :, None])[:, :, 0],
            np.maximum(beta, 1e-300),
            back @ self.center,
            self.radius,
        )
        return values, points @ back

    def group_gaps(
        self, estimate: Estimate, center: Array, beta: Array, starts: NDArray[np.int64]
    ) -> Array:
        """Return the exact gaps (n, N) of actions that compete in groups, one after the other."""
        from partial_monitoring.numerics.compiled import ball

        weights, turn = self._diagonal(estimate)
        back = np.swapaxes(turn, 1, 2)
        gaps = ball.group_gaps(
            np.ascontiguousarray(estimate.model.slopes @ turn),
            estimate.model.offsets,
            starts,
            weights,
            (back @ center[:, :, None])[:, :, 0],
            np.maximum(beta, 1e-300),
            back @ self.center,
            self.radius,
        )
        return np.asarray(gaps)


class Faceted:
    """Theta is a polyhedron {x : facets x <= bounds}."""

    def __init__(self, model: Model, parameters: Polyhedral) -> None:
        self.model = model
        rows, right = parameters.facets()
        q, center = parameters.difference_basis(), parameters.relative_interior_point()
        self.facets = np.ascontiguousarray(rows @ (q.T @ model.basis))
        self.bounds = right - rows @ (q.T @ (model.prior_mean - center))
        self.interior = model.basis.T @ (center - model.prior_mean)

    @cached_property
    def ceiling(self) -> Array:
        """Max over Theta of <phi_b - phi_a, theta>, shape (k, k)."""
        features = self.model.game.features
        return np.stack([self.model.game.parameters.support(features - phi) for phi in features])

    def project(self, estimate: Estimate, x: Array) -> Array:
        from partial_monitoring.numerics.compiled import polyhedron

        model = self.model
        centers, finished = polyhedron.centers(
            estimate.inverse, x, model.regularization, self.facets, self.bounds, self.interior
        )
        for row in np.flatnonzero(~finished):
            gram = np.diag(np.full(x.shape[1], model.regularization))
            gram[: model.rank, : model.rank] = estimate.gram[row]
            theta = model.prior_mean + model.basis @ x[row]
            full = model.basis @ gram @ model.basis.T + _outside(model.basis)
            nearest = model.game.parameters.project(theta, full)
            centers[row] = model.basis.T @ (nearest - model.prior_mean)
        return np.asarray(centers)

    def supports(
        self, estimate: Estimate, center: Array, beta: Array, directions: Array
    ) -> tuple[Array, Array]:
        from partial_monitoring.numerics.compiled import polyhedron

        values, certified, points = polyhedron.pair_supports(
            estimate.inverse,
            center,
            beta,
            self.model.regularization,
            np.ascontiguousarray(directions),
            self.facets,
            self.bounds,
        )
        for row, t in np.argwhere(~certified):
            found = self._by_cones(estimate, row, center[row], float(beta[row]), directions[t])
            if found is None:
                continue
            # The value stays a bound from above, the better of two that multipliers prove. An
            # interior point method may overshoot by its tolerance; the bound may not be passed.
            point, bound = found
            values[row, t] = min(float(values[row, t]), bound)
            room = max(float(values[row, t] - directions[t] @ center[row]), 0.0)
            gain = max(float(directions[t] @ (point - center[row])), 1e-300)
            points[row, t] = center[row] + (point - center[row]) * min(1.0, room / gain)
        return values, points

    def _by_cones(
        self, estimate: Estimate, row: int, center: Array, beta: float, direction: Array
    ) -> tuple[Array, float] | None:
        """Return a maximiser and a bound by an interior-point method, or None.

        In whitened coordinates, where any multipliers mu >= 0 of the facets N z <= s prove that the
        maximum is at most <s, mu> + beta^(1/2) |c - N' mu|.
        """
        from partial_monitoring.numerics.compiled import polyhedron

        dim = len(center)
        root = polyhedron.whiten(estimate.inverse[row], self.model.regularization, dim)
        facets, slack = self.facets @ root, self.bounds - self.facets @ center
        ball = np.concatenate([np.zeros((1, dim)), -np.eye(dim)])
        size = max(float(np.linalg.norm(root.T @ direction)), 1e-300)
        c = root.T @ direction / size
        try:
            best = conic.minimize_conic(
                -c,
                [
                    conic.Cone("nonnegative", facets, slack),
                    conic.Cone("norm", ball, np.append(np.sqrt(beta), np.zeros(dim))),
                ],
            )
        except SolverError:
            return None
        if best is None:
            return None
        mu = np.maximum(best.multipliers[: len(slack)], 0.0)
        height = float(slack @ mu) + np.sqrt(beta) * float(np.linalg.norm(c - facets.T @ mu))
        return center + root @ best.point, float(direction @ center) + size * height

    def exact_gaps(
        self, estimate: Estimate, center: Array, beta: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return max over b of the support of phi_b - phi_a (n, k), and where it is exact (n,)."""
        from partial_monitoring.numerics.compiled import polyhedron

        model = self.model
        gaps, certified = polyhedron.exact_gaps(
            estimate.inverse,
            center,
            beta,
            model.regularization,
            model.slopes,
            model.offsets,
            self.facets,
            self.bounds,
            self.ceiling,
        )
        return np.asarray(gaps), np.asarray(certified)


def _outside(basis: Array) -> Array:
    """Return the projection onto the complement of a basis, which makes a Gram matrix definite."""
    complement: Array = np.eye(len(basis)) - basis @ basis.T
    return complement
