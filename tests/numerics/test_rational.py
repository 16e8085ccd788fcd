from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partial_monitoring.numerics import rational as r

small = st.integers(-3, 3)


@given(st.fractions(-1000, 1000, max_denominator=1000))
def test_floats_are_read_as_the_fractions_they_stand_for(fraction: Fraction) -> None:
    assert r.simplest(float(fraction)) == fraction


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-999, max_value=999))
def test_floats_are_read_as_the_decimals_they_stand_for(decimal: object) -> None:
    assert r.simplest(float(decimal)) == Fraction(str(decimal))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2**0.5, np.pi, 1 / 3 + 1e-12])
def test_other_floats_are_not_rational(value: float) -> None:
    assert r.simplest(value) is None
    assert r.rationalize(np.array([1.0, value])) is None


def test_rounding_errors_of_decimals_are_forgotten() -> None:
    assert r.simplest(0.1 + 0.2) == Fraction(3, 10)
    assert r.simplest(2 / 3 - 1 / 3) == Fraction(1, 3)


@pytest.mark.parametrize("tiny", [1.2345678901234e-10, 2**0.5 * 1e-10, 0.1 + 0.2 - 0.3])
def test_only_zero_is_read_as_zero(tiny: float) -> None:
    """Beside large numbers, tiny ones may come from a subtraction or be meant: both are open."""
    for size in (0.0, 1.0, 1e6, 1e12):
        assert r.simplest(tiny, size) != 0
        assert r.simplest(-tiny, size) != 0
        assert r.simplest(0.0, size) == 0
    assert r.rationalize(np.array([1e6, tiny])) is None


def test_common_denominators_are_exact() -> None:
    array = np.array([[1 / 3, -2.5], [0.0, 7.0]])
    read = r.rationalize(array)
    assert read is not None
    np.testing.assert_array_equal(read.floats(), array)
    assert read.fractions()[0, 0] == Fraction(1, 3)


def test_products_and_sums_do_not_overflow() -> None:
    huge = np.array([[2**61, -(2**61)], [1, 2**62 - 1]])
    exact = huge.astype(object)
    assert (r.product(huge, huge.T) == exact @ exact.T).all()
    assert (r.scaled(huge, 2**40) == exact * 2**40).all()
    assert (r.total(huge, huge, huge) == 3 * exact).all()
    assert r.product(np.zeros((2, 0), int), np.zeros((0, 3), int)).shape == (2, 3)


def test_rounding_to_a_fine_grid_is_exact() -> None:
    values = np.array([0.1, 12345.678])
    fine = r.rounded(values, 2**60)
    assert [
        abs(Fraction(int(n), 2**60) - Fraction(v)) <= Fraction(1, 2**60)
        for n, v in zip(fine, values, strict=True)
    ]


matrices = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(small, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(matrices)
def test_elimination_keeps_the_row_space_and_finds_the_kernel(rows: list[list[int]]) -> None:
    matrix = np.array(rows)
    d = matrix.shape[1]
    reduced = r.eliminate(matrix)
    assert reduced.rank == np.linalg.matrix_rank(matrix)
    head = reduced.matrix[: reduced.rank]
    assert not reduced.matrix[reduced.rank :].any()
    for row, column in enumerate(reduced.columns):
        unit = np.zeros(reduced.rank, dtype=object)
        unit[row] = reduced.pivot
        assert (head[:, column] == unit).all()
    both = np.concatenate([matrix, head.astype(float)]).astype(float)
    assert np.linalg.matrix_rank(both) == reduced.rank
    kernel = r.kernel(reduced, d)
    assert kernel.shape == (d, d - reduced.rank)
    assert not (matrix @ kernel.astype(object)).any()
    assert np.linalg.matrix_rank(kernel.astype(float)) == d - reduced.rank if kernel.size else True
