from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from partial_monitoring.numerics.exact_lp import ExactSolution, maximize

entry = st.integers(-3, 3)


@given(st.integers(0, 8), st.integers(1, 4), st.data())
def test_optimality_conditions_and_a_floating_point_solver(
    m: int, n: int, data: st.DataObject
) -> None:
    draw = data.draw
    a = np.array(draw(st.lists(entry, min_size=m * n, max_size=m * n)), dtype=int).reshape(m, n)
    b = np.array(draw(st.lists(entry, min_size=m, max_size=m)), dtype=int)
    c = np.array(draw(st.lists(entry, min_size=n, max_size=n)), dtype=int)
    best = maximize(c, a, b)
    other = linprog(-c, A_ub=a if m else None, b_ub=b if m else None, bounds=[(None, None)] * n)
    if isinstance(best, ExactSolution):
        a, b, c = (array.astype(object) for array in (a, b, c))
        assert all(a @ best.point <= b)
        assert c @ best.point == best.value
        assert all(best.multipliers >= 0)
        assert all(a.T @ best.multipliers == c)
        assert sum(b * best.multipliers, Fraction(0)) == best.value
        assert abs(float(best.value) + other.fun) < 1e-8
    elif best == "infeasible":
        assert other.status == 2
    else:
        feasible = linprog(
            np.zeros(n), A_ub=a if m else None, b_ub=b if m else None, bounds=[(None, None)] * n
        )
        assert feasible.status == 0
        assert other.status in (2, 3, 4)


def test_a_program_that_cycles_without_care() -> None:
    """Beale's example: largest-coefficient pivoting returns to where it started."""
    a = np.array([[1, -32, -4, 36], [1, -24, -1, 6], [0, 0, 1, 0]])
    a = np.concatenate([a, -np.eye(4, dtype=int)])
    best = maximize(np.array([3, -80, 2, -24]), a, np.array([0, 0, 1, 0, 0, 0, 0]))
    assert isinstance(best, ExactSolution)
    assert best.value == 5
