"""Readings of functions: what they say, how they combine, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.kernels import Matern, SquaredExponential, readings
from partial_monitoring.kernels.gram import DenseGram, Functionals, KernelGram, factor, inner

Array = NDArray[np.float64]
X = np.array([[0.0, 0.3], [0.2, 0.1], [0.7, 0.9], [0.4, 0.4]])


def read(reading: readings.Reading, axis_values: Any = None) -> Array:
    """What a reading says of f(x) = 3 x_0 + x_1^2, whose slopes are 3 and 2 x_1; rows (k, m)."""
    numbers = []
    for point, axis in zip(reading.points, reading.axes, strict=True):
        values = {-1: 3 * point[0] + point[1] ** 2, 0: 3.0, 1: 2 * point[1]}
        numbers.append(values[int(axis)])
    return reading.rows.of(np.array(numbers or [0.0]))


F = 3 * X[:, 0] + X[:, 1] ** 2


def test_each_reading_reads_what_it_says() -> None:
    cases = [
        (readings.values(X), F),
        (readings.differences(X, [(0, 1), (2, 2)]), [F[0] - F[1], 0.0]),
        (readings.sums(X, [(0, 1, 2), [3], (1, 1)]), [F[:3].sum(), F[3], 2 * F[1]]),
        (readings.averages(X, [(0, 1, 2), [3]]), [F[:3].mean(), F[3]]),
        (readings.weighted(X, [[1, 0, 2, -1.0], [0, 0, 0, 0]]), [F[0] + 2 * F[2] - F[3], 0.0]),
        (readings.derivatives(X, 0), [3.0] * 4),
        (readings.derivatives(X, 1), 2 * X[:, 1]),
    ]
    for reading, expected in cases:
        np.testing.assert_allclose(read(reading), np.array(expected)[:, None], atol=1e-14)
        assert reading.k == len(expected)
        assert reading.m == 1
        assert reading.counts == (1,) * len(expected)


def test_rows_one_below_the_other() -> None:
    """Of different heights; what an action has comes first, padding after it."""
    some = readings.one_after_another(readings.values(X[:2]), readings.nothing(2))
    both = readings.together(some, readings.derivatives(X, 1), some)
    assert both.counts == (3, 3, 1, 1)
    assert both.m == 3
    expected = np.zeros((4, 3))
    expected[:2] = np.column_stack([F[:2], 2 * X[:2, 1], F[:2]])
    expected[2:, 0] = 2 * X[2:, 1]
    np.testing.assert_allclose(read(both), expected, atol=1e-14)


def test_actions_one_after_another() -> None:
    parts = readings.one_after_another(
        readings.nothing(1), readings.values(X), readings.sums(X, [(0, 1)])
    )
    assert parts.counts == (0, 1, 1, 1, 1, 1)
    np.testing.assert_allclose(read(parts)[:, 0], [0.0, *F, F[0] + F[1]], atol=1e-14)


def test_nothing_and_nothing_is_nothing() -> None:
    """Without a point there is no dimension to agree about."""
    after = readings.one_after_another(readings.nothing(2), readings.nothing(3))
    below = readings.together(readings.nothing(2), readings.nothing(2))
    assert (after.k, after.m, after.counts) == (5, 0, (0,) * 5)
    assert (below.k, below.m, below.counts) == (2, 0, (0,) * 2)
    game = pm.KernelGame.from_kernel(SquaredExponential(), readings.values(X), readings.nothing(4))
    assert (game.k, game.m, game.row_counts) == (4, 0, (0, 0, 0, 0))


def test_points_that_are_read_twice_are_one_number() -> None:
    """Values and slopes at a point are two."""
    points, axes, (first, second) = readings.shared(
        readings.values(X), readings.together(readings.values(X[::-1]), readings.derivatives(X, 0))
    )
    assert len(points) == 8
    assert axes.tolist() == [-1] * 4 + [0] * 4
    np.testing.assert_array_equal(points[:4], X)  # in the order in which they came
    assert first.index[:, 0, 0].tolist() == [0, 1, 2, 3]
    assert second.index[:, 0, 0].tolist() == [3, 2, 1, 0]


BAD: dict[str, tuple[Any, str]] = {
    "points in one row": (lambda: readings.values([0.1, 0.2]), "points must have shape (n, p)"),
    "no points": (lambda: readings.values(np.zeros((0, 2))), "points must not be empty"),
    "no coordinates": (lambda: readings.values(np.zeros((2, 0))), "points must not be empty"),
    "not a number": (lambda: readings.values([[np.nan]]), "points must be finite"),
    "infinite": (lambda: readings.derivatives([[np.inf]], 0), "points must be finite"),
    "a word": (lambda: readings.values("ab"), "points must be real numbers"),
    "no pairs": (lambda: readings.differences(X, []), "pairs must be a list of 2 numbers"),
    "three": (lambda: readings.differences(X, [(0, 1, 2)]), "pairs must be a list of 2 numbers"),
    "too far": (lambda: readings.differences(X, [(0, 4)]), "each, below 4; got [(0, 4)]"),
    "negative": (lambda: readings.differences(X, [(0, -1)]), "each, below 4"),
    "fractions": (lambda: readings.differences(X, [(0.5, 1)]), "pairs must be a list of 2"),  # type: ignore[list-item]
    "numbers": (lambda: readings.differences(X, [1, 2]), "pairs must be a list of 2"),  # type: ignore[list-item]
    "one number": (lambda: readings.differences(X, 3), "pairs must be a list of 2"),  # type: ignore[arg-type]
    "no groups": (lambda: readings.sums(X, []), "groups must be lists of numbers of points"),
    "an empty group": (lambda: readings.averages(X, [[]]), "at least one each; got [[]]"),
    "groups of words": (lambda: readings.sums(X, "ab"), "groups must be lists of numbers"),  # type: ignore[arg-type]
    "a number": (lambda: readings.sums(X, 2), "groups must be lists of numbers"),  # type: ignore[arg-type]
    "flat groups": (lambda: readings.averages(X, [0, 1]), "groups must be lists"),  # type: ignore[list-item]
    "short weights": (lambda: readings.weighted(X, [[1.0]]), "weights must have shape (k, 4)"),
    "no weights": (lambda: readings.weighted(X, np.zeros((0, 4))), "weights must not be empty"),
    "a weight": (lambda: readings.weighted(X, [[np.nan] * 4]), "weights must be finite"),
    "axis": (lambda: readings.derivatives(X, 2), "axis must be a whole number below 2; got 2"),
    "negative axis": (lambda: readings.derivatives(X, -1), "axis must be a whole number"),
    "a fraction": (lambda: readings.derivatives(X, 0.5), "axis must be a whole number"),  # type: ignore[arg-type]
    "count": (lambda: readings.nothing(0), "count must be"),
    "none": (lambda: readings.together(), "readings must be readings such as values(points)"),
    "points": (lambda: readings.together(X), "readings must be readings"),  # type: ignore[arg-type]
    "other actions": (
        lambda: readings.together(readings.values(X), readings.nothing(2)),
        "readings must have the same number of actions; got [4, 2]",
    ),
    "other dimensions": (
        lambda: readings.one_after_another(readings.values(X), readings.values([[0.1]])),
        "points of one dimension; got [1, 2]",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused(name: str) -> None:
    call, words = BAD[name]
    with pytest.raises(InvalidInput) as caught:
        call()
    text = str(caught.value)
    assert words in text
    assert text.endswith(".")
    assert "\n" not in text


# -- rows and Gram matrices --------------------------------------------------------------------


def test_rows_read_what_their_vectors_do() -> None:
    rng = np.random.default_rng(0)
    for shape in ((5, 3), (4, 2, 3), (4, 1), (3, 2, 1)):
        rows = Functionals(rng.integers(0, 6, shape), rng.normal(size=shape))
        numbers = rng.normal(size=(2, 6))
        full = rows.dense(6)
        np.testing.assert_allclose(rows.of(numbers), np.tensordot(numbers, full, (1, -1)))
        np.testing.assert_allclose(rows[1:3].dense(6), full[1:3])


@pytest.mark.parametrize("derived", [False, True])
def test_a_gram_matrix_column_by_column(derived: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, diagonal and inner products are those of the matrix, in blocks of any size."""
    rng = np.random.default_rng(1)
    axes = np.array([-1, 0, 1, -1]) if derived else np.full(4, -1)
    gram = KernelGram(SquaredExponential((0.4, 0.7)), X, axes)
    matrix = gram.matrix
    assert (np.linalg.eigvalsh(matrix) > -1e-12).all()
    np.testing.assert_allclose(gram.columns(np.array([2, 0])), matrix[:, [2, 0]], atol=1e-13)
    np.testing.assert_allclose(gram.diagonal, matrix.diagonal(), atol=1e-13)
    left, right = (Functionals(rng.integers(0, 4, (6, w)), rng.normal(size=(6, w))) for w in (1, 3))
    expected = ((left.dense(4) @ matrix) * right.dense(4)).sum(axis=1)
    for block in (1, 7, 2**22):
        monkeypatch.setattr("partial_monitoring.kernels.gram.BLOCK", block)
        for own in (gram, DenseGram(matrix)):
            np.testing.assert_allclose(inner(own, left, right), expected, atol=1e-12)
            same = ((left.dense(4) @ matrix) * left.dense(4)).sum(axis=1)
            np.testing.assert_allclose(inner(own, left, left), same, atol=1e-12)
    root = factor(gram)
    np.testing.assert_allclose(root @ root.T, matrix, atol=1e-12)


def test_what_is_too_large_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partial_monitoring.kernels.gram.MOST_ENTRIES", 10)
    with pytest.raises(InvalidInput, match="of 4 numbers is too large to store"):
        KernelGram(Matern(0.5), X, np.full(4, -1)).matrix  # noqa: B018
    with pytest.raises(InvalidInput, match="3 rows of length 4 are too many to store"):
        Functionals(np.zeros((3, 1), dtype=np.int64), np.ones((3, 1))).dense(4)
