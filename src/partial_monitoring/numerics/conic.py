"""Every linear, quadratic and conic program of the library is solved here, or raises.

Linear programs go to HiGHS, projections onto polyhedra to DAQP (a dual active-set method, exact up
to rounding for the small problems met here), second-order cone programs to Clarabel. A solver that
stops for any other reason than a proven answer raises :class:`SolverError` with its status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.errors import SolverError
from partial_monitoring.validation import Array, brief


class Solution(NamedTuple):
    """An optimal value, a point where it is attained, and the multipliers that prove it."""

    value: float
    point: Array
    multipliers: Array


class LinearProgram:
    """Maximise <objective, x> subject to row_low <= matrix x <= row_high, low <= x <= high.

    The program may be changed and solved again; each solve starts from the last basis, which makes
    a sequence of similar programs cheap.
    """

    def __init__(
        self, matrix: Array, row_low: Array, row_high: Array, low: Array, high: Array
    ) -> None:
        import highspy

        rows, columns = matrix.shape
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, rows
        program.col_cost_ = np.zeros(columns)
        program.col_lower_, program.col_upper_ = low, high
        program.row_lower_, program.row_upper_ = row_low, row_high
        entry_rows, entry_columns = np.nonzero(matrix)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.searchsorted(entry_rows, np.arange(rows + 1))
        program.a_matrix_.index_ = entry_columns
        program.a_matrix_.value_ = matrix[entry_rows, entry_columns]
        program.sense_ = highspy.ObjSense.kMaximize
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("primal_feasibility_tolerance", 1e-9),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            self._highs.setOptionValue(option, value)
        if self._highs.passModel(program) == highspy.HighsStatus.kError:
            raise SolverError("the linear program was not accepted by HiGHS.")
        self._columns = columns

    def set_row(self, row: int, low: float, high: float) -> None:
        """Change the bounds of a row."""
        self._highs.changeRowBounds(row, low, high)

    def set_entry(self, row: int, column: int, value: float) -> None:
        """Change an entry of the matrix."""
        self._highs.changeCoeff(row, column, value)

    def maximize(self, objective: Array) -> Solution | None:
        """Return an optimum, or None if no point is feasible.

        The multipliers belong to the rows: positive where the upper bound holds with equality,
        negative where the lower one does. An unbounded program has the value infinity.
        """
        from highspy import HighsModelStatus as Status

        columns = np.arange(self._columns, dtype=np.int32)
        self._highs.changeColsCost(self._columns, columns, objective)
        self._highs.run()
        status = self._highs.getModelStatus()
        if status not in (Status.kOptimal, Status.kInfeasible, Status.kUnbounded):
            self._highs.clearSolver()
            self._highs.setOptionValue("presolve", "on")
            self._highs.run()
            self._highs.setOptionValue("presolve", "off")
            status = self._highs.getModelStatus()
        if status == Status.kUnboundedOrInfeasible:
            unbounded = self.maximize(np.zeros(self._columns)) is not None
            status = Status.kUnbounded if unbounded else Status.kInfeasible
        if status == Status.kInfeasible:
            return None
        if status == Status.kUnbounded:
            nowhere = np.full(self._columns, np.nan)
            return Solution(np.inf, nowhere, np.full(self._highs.getNumRow(), np.nan))
        if status != Status.kOptimal:
            name = self._highs.modelStatusToString(status)
            raise SolverError(f"the linear program was not solved: HiGHS says {name!r}.")
        found = self._highs.getSolution()
        value = self._highs.getInfo().objective_function_value
        return Solution(value, np.array(found.col_value), np.array(found.row_dual))


def nearest_point(point: Array, gram: Array, a_ub: Array, b_ub: Array) -> Array:
    """Return the point of a full-dimensional polyhedron nearest to a point in the norm of a matrix.

    argmin (x - point)' gram (x - point)  subject to  a_ub x <= b_ub.

    With gram = L L' and u = L' (x - point) this is the shortest u with a_ub L^-T u <= b_ub - a_ub
    point. A far point is replaced by a near one with the same answer: every point of the ray from
    the answer x through the point projects onto x.
    """
    if len(b_ub) == 0:
        return point
    root = np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
    nearest = _shortest_step(point, root, a_ub, b_ub)
    away = point - nearest
    size = 1.0 + float(np.abs(nearest).max())
    distance = float(np.abs(away).max())
    if distance > 10 * size:
        nearest = _shortest_step(nearest + away * (size / distance), root, a_ub, b_ub)
    return nearest


def _shortest_step(point: Array, root: Array, a_ub: Array, b_ub: Array) -> Array:
    """Solve for u by DAQP; where its answer does not hold, by a second-order cone program."""
    import daqp
    from scipy.linalg import solve_triangular

    d = len(point)
    rows = solve_triangular(root, a_ub.T, lower=True).T
    lengths = np.linalg.norm(rows, axis=1)
    slack = (b_ub - a_ub @ point) / lengths
    rows = rows / lengths[:, None]
    size = max(float(np.abs(slack).max()), 1e-300)
    step, _, status, info = daqp.solve(
        np.eye(d),
        np.zeros(d),
        np.ascontiguousarray(rows),
        slack / size,
        np.full(len(slack), -1e30),
        np.zeros(len(slack), dtype=np.int32),
        primal_tol=1e-12,
        dual_tol=1e-12,
        iter_limit=10_000,
    )
    u = np.asarray(step)
    pull = np.asarray(info["lam"])
    holds = status == 1 and (rows @ u <= slack / size + 1e-10).all() and (pull >= -1e-10).all()
    if not holds or np.abs(u + rows.T @ pull).max() > 1e-9:
        top = np.append(np.zeros(d), 1.0)
        length = np.zeros((d + 1, d + 1))
        length[0, -1], length[1:, :d] = -1.0, -np.eye(d)
        best = minimize_conic(
            top,
            [
                Cone("nonnegative", np.column_stack([rows, np.zeros(len(rows))]), slack / size),
                Cone("norm", length, np.zeros(d + 1)),
            ],
        )
        if best is None:
            raise SolverError(
                "the projection onto the polyhedron was not solved: no feasible point."
            )
        u = best.point[:d]
    moved: Array = point + size * solve_triangular(root.T, u, lower=False)
    return moved


class Cone(NamedTuple):
    """The constraint  bound - matrix x in K, with K named by ``kind``.

    "zero": equality; "nonnegative": matrix x <= bound; "norm": the first entry is at least the
    Euclidean length of the others; "exponential": three entries with y exp(x / y) <= z, y > 0.
    """

    kind: str
    matrix: Any
    bound: Array


def nearest_in_cones(point: Array, gram: Array, cones: Sequence[Cone]) -> Array:
    """Return the point nearest to a point in the norm of a matrix, subject to conic constraints."""
    metric = gram / float(np.abs(gram).max())
    shifted = [Cone(kind, matrix, bound - matrix @ point) for kind, matrix, bound in cones]
    best = minimize_conic(np.zeros(len(point)), shifted, metric)
    if best is None:
        raise SolverError("the projection onto cones was not solved: no feasible point.")
    return np.asarray(point + best.point)


def minimize_conic(
    objective: Array, cones: Sequence[Cone], quadratic: Array | None = None
) -> Solution | None:
    """Minimise <objective, x> subject to conic constraints; None if no point is feasible.

    Half of <x, quadratic x> is added to the objective if given. Matrices may be dense or SciPy
    sparse. The multipliers z of all constraints, one after the other, satisfy
    objective + quadratic x + sum matrix' z = 0, z in the dual cone.
    """
    import clarabel
    from scipy import sparse

    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "norm": clarabel.SecondOrderConeT,
        "exponential": lambda _: clarabel.ExponentialConeT(),
    }
    columns = len(objective)
    filled = [cone for cone in cones if len(cone.bound)]
    if not filled:
        raise SolverError("the conic program was not solved: it has no constraints.")
    rows = [cone.matrix for cone in filled]
    stack = sparse.vstack if any(map(sparse.issparse, rows)) else np.concatenate
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((columns, columns) if quadratic is None else np.triu(quadratic)),
        objective,
        sparse.csc_matrix(stack(rows)),
        np.concatenate([cone.bound for cone in filled]),
        [kinds[cone.kind](len(cone.bound)) for cone in filled],
        settings,
    )
    answer = solver.solve()
    status = str(answer.status)
    if status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
        return None
    if status not in ("Solved", "AlmostSolved"):
        raise SolverError(f"the conic program was not solved: Clarabel says {brief(status)}.")
    return Solution(float(answer.obj_val), np.array(answer.x), np.array(answer.z))
