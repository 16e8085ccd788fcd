from fractions import Fraction

import numpy as np
import pytest

from partial_monitoring import validation
from partial_monitoring.errors import InvalidInput, unknown_name


def test_numbers_of_any_kind_become_read_only_floats() -> None:
    array = validation.real_array("x", [[1, Fraction(1, 2)], [np.int8(3), 0.25]], ("n", 2))
    assert array.dtype == np.float64
    assert array.tolist() == [[1, 0.5], [3, 0.25]]
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 5


def test_the_users_array_is_copied() -> None:
    mine = np.ones(2)
    copy = validation.real_array("x", mine, (2,))
    mine[0] = 7
    assert copy.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, float("nan")], "x must be finite; got nan at index 1."),
        ([1, float("inf")], "x must be finite; got inf at index 1."),
        ([[1, 2]], "x must have shape (2,); got (1, 2)."),
        ([1, 2, 3], "x must have shape (2,); got (3,)."),
        ([[1], [1, 2]], "x must be real numbers in rows of equal length; got [[1], [1, 2]]."),
        ([1, "a"], "x must be real numbers in rows of equal length; got [1, 'a']."),
        ([1, 2j], "x must be real numbers in rows of equal length; got [1, 2j]."),
        ([True, False], "x must be real numbers in rows of equal length; got [True, False]."),
        (None, "x must be real numbers in rows of equal length; got None."),
        (["1", "2"], "x must be real numbers in rows of equal length; got ['1', '2']."),
    ],
)
def test_bad_arrays_get_one_sentence(value: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validation.real_array("x", value, (2,))  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [1.5, True, "3", None, -1, 0])
def test_whole_numbers(value: object) -> None:
    with pytest.raises(InvalidInput, match="n must be a whole number >= 1; got"):
        validation.whole_number("n", value, at_least=1)
    assert validation.whole_number("n", np.int64(3), at_least=1) == 3


def test_labels() -> None:
    assert validation.labels("actions", None, 2) == ("0", "1")
    assert validation.labels("actions", [1, "b"], 2) == ("1", "b")
    for bad in (["a"], ["a", "a"], "ab", 5):
        with pytest.raises(InvalidInput, match="actions must"):
            validation.labels("actions", bad, 2)


@pytest.mark.parametrize("bad", [[0.5, 0.6], [1.5, -0.5], [1.0]])
def test_probabilities(bad: list[float]) -> None:
    with pytest.raises(InvalidInput, match="chi must"):
        validation.probabilities("chi", bad, 2)


def test_unknown_names_point_to_the_nearest() -> None:
    assert "did you mean 'dueling'?" in str(unknown_name("game", "dueling_bandit", ["dueling"]))
    assert str(unknown_name("game", "zzz", ["b", "a"])) == "no game named 'zzz'. Known: a, b."
