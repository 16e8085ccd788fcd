"""Every linear, quadratic and conic program of the library is solved here, or raises.

Linear programs go to HiGHS, projections onto polyhedra to DAQP (a dual active-set method, exact up
to rounding for the small problems met here). A solver that stops for any other reason than a proven
answer raises :class:`SolverError` with its status.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.validation import Array


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """maximise <c, x> subject to a_ub x <= b_ub, a_eq x = b_eq, low <= x <= high."""

    a_ub: Array
    b_ub: Array
    a_eq: Array
    b_eq: Array
    low: Array
    high: Array

    def maximize(self, objective: Array) -> tuple[float, Array | None]:
        """Return the maximum and a maximiser.

        The value is ``-inf`` if no point is feasible and ``inf`` if there is no maximum; then the
        maximiser is None.
        """
        from scipy.optimize import linprog

        answer = linprog(
            -objective,
            A_ub=self.a_ub,
            b_ub=self.b_ub,
            A_eq=self.a_eq,
            b_eq=self.b_eq,
            bounds=np.stack([self.low, self.high], axis=1),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        match answer.status:
            case 0:
                return -float(answer.fun), np.asarray(answer.x)
            case 2:
                return -np.inf, None
            case 3:
                return np.inf, None
        raise SolverError(f"the linear program was not solved: {answer.message}")


def nearest_point(point: Array, gram: Array, a_ub: Array, b_ub: Array) -> Array:
    """Return the point of a full-dimensional polyhedron nearest to a point in the norm of a matrix.

    argmin (x - point)' gram (x - point)  subject to  a_ub x <= b_ub.
    """
    import daqp

    # In the unknown (x - point) / size the linear term is zero and all numbers are of order 1.
    size = max(1.0, float(np.abs(point).max()))
    step, _, status, _ = daqp.solve(
        np.ascontiguousarray(gram / np.abs(gram).max()),
        np.zeros(len(point)),
        np.ascontiguousarray(a_ub),
        (b_ub - a_ub @ point) / size,
        np.full(len(b_ub), -1e30),
        np.zeros(len(b_ub), dtype=np.int32),
        primal_tol=1e-12,
        dual_tol=1e-12,
        iter_limit=10_000,
    )
    if status != 1:
        raise SolverError(
            f"the projection onto the polyhedron was not solved: DAQP status {status}."
        )
    nearest: Array = point + size * np.asarray(step)
    return nearest
