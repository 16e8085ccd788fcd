import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partial_monitoring.numerics.linalg import null_space, row_space, unit_rows


def low_rank(seed: int, n: int, d: int, r: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d))


@given(st.integers(0, 999), st.integers(0, 12), st.integers(1, 6), st.integers(0, 6))
def test_row_space_and_null_space_split_the_space(seed: int, n: int, d: int, r: int) -> None:
    rows = low_rank(seed, n, d, min(r, d))
    span, rest = row_space(unit_rows(rows)), null_space(unit_rows(rows))
    assert span.shape[1] == min(n, d, r)
    assert span.shape[1] + rest.shape[1] == d
    both = np.concatenate([span, rest], axis=1)
    np.testing.assert_allclose(both.T @ both, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(rows @ rest, 0, atol=1e-8)
    np.testing.assert_allclose(rows @ span @ span.T, rows, atol=1e-8)


def test_rounding_noise_spans_nothing() -> None:
    assert row_space(np.full((5, 3), 1e-16)).shape == (3, 0)


@pytest.mark.parametrize("n", [200_000])
def test_blocks_give_the_same_span(n: int) -> None:
    rows = low_rank(0, n, 5, 3)
    span = row_space(unit_rows(rows))
    assert span.shape == (5, 3)
    np.testing.assert_allclose(rows[:10] @ span @ span.T, rows[:10], atol=1e-10)


def test_unit_rows_drop_zero_rows() -> None:
    np.testing.assert_array_equal(unit_rows(np.array([[0.0, 0], [3, 4]])), [[0.6, 0.8]])
