"""Validation of what users pass: a read-only float64 array, or an error of one sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, unknown_name

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LARGEST_OBSERVATION = 1e100
"""Largest size of an observation, whose square must not overflow."""

RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9¹²³]", re.IGNORECASE)
"""Names that Windows gives to devices."""


def set_fields(instance: object, **values: object) -> None:
    """Set the fields of a frozen dataclass, from inside its ``__init__``."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def frozen(array: Array) -> Array:
    """Return the array, marked read-only."""
    array.setflags(write=False)
    return array


def real_array(
    name: str, value: ArrayLike, shape: Sequence[int | str], *, finite: bool = True
) -> Array:
    """Return ``value`` as a fresh read-only float64 array of the given shape.

    Parameters
    ----------
    name
        The argument's name, for the error message.
    value
        Numbers of any kind: nested lists, integers, ``Fraction``, arrays.
    shape
        One entry per axis: a number is required exactly, a word stands for any length.
    finite
        Refuse what is not finite.

    Examples
    --------
    >>> real_array("features", [[1, 2]], ("k", "d"))
    array([[1., 2.]])
    >>> real_array("features", [1, 2], ("k", "d"))
    Traceback (most recent call last):
    partial_monitoring.errors.InvalidInput: features must have shape (k, d); got (2,).
    """
    array = _to_float(name, value, finite)
    fits = array.ndim == len(shape) and all(
        isinstance(want, str) or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise InvalidInput(f"{name} must have shape {_show(shape)}; got {_show(array.shape)}.")
    return frozen(array)


def filled_array(name: str, value: ArrayLike, shape: Sequence[int | str]) -> Array:
    """Return ``value`` as :func:`real_array` does; an array without entries is refused."""
    array = real_array(name, value, shape)
    if array.size == 0:
        raise InvalidInput(f"{name} must not be empty; got shape {_show(array.shape)}.")
    return array


def observation_array(name: str, value: Any, shape: Sequence[int | str]) -> Array:
    """Return what was seen as a float64 array, if its squares do not overflow.

    >>> observation_array("observation", [1e200], (1,))
    Traceback (most recent call last):
    partial_monitoring.errors.InvalidInput: observation must not exceed 1e+100 in size; got 1e+200.
    """
    plain = type(value) is list and (len(value),) == shape
    # Of floats in a list, as most programs report them, comparisons say it all; nan fails them.
    if plain and all(type(x) is float and abs(x) <= LARGEST_OBSERVATION for x in value):
        return frozen(np.array(value, dtype=float))
    array = real_array(name, value, shape)
    largest = max(map(abs, array.ravel().tolist()), default=0.0)
    if largest > LARGEST_OBSERVATION:
        raise InvalidInput(
            f"{name} must not exceed {LARGEST_OBSERVATION:g} in size; got {largest:g}."
        )
    return array


def axes(value: object) -> int:
    """Return the number of axes of nested numbers; 2 for rows of unequal length."""
    try:
        return np.ndim(value)  # type: ignore[arg-type]
    except ValueError:
        return 2


def real_number(name: str, value: object) -> float:
    """Return ``value`` as a finite float."""
    return float(real_array(name, value, ()))  # type: ignore[arg-type]


def non_negative_number(name: str, value: object) -> float:
    """Return ``value`` as a finite float that is zero or larger."""
    number = real_number(name, value)
    if number < 0:
        raise InvalidInput(f"{name} must not be negative; got {value!r}.")
    return number


def positive_number(name: str, value: object) -> float:
    """Return ``value`` as a finite float above zero."""
    number = real_number(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be positive; got {value!r}.")
    return number


def whole_number(name: str, value: object, *, at_least: int) -> int:
    """Return ``value`` as an int of at least ``at_least``; booleans and fractions are refused."""
    if not is_whole(value) or int(value) < at_least:  # type: ignore[call-overload]
        raise InvalidInput(f"{name} must be a whole number >= {at_least}; got {value!r}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_whole(value: object) -> bool:
    """Whether ``value`` is an integer (a NumPy one counts, a boolean does not)."""
    return type(value) is int or (
        isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    )


def labels(name: str, value: Iterable[object] | None, count: int) -> tuple[str, ...]:
    """Return ``count`` different labels; without a value they are the indices."""
    if value is None:
        return tuple(str(index) for index in range(count))
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a sequence of {count} labels; got {value!r}.")
    result = tuple(str(label) for label in value)
    if len(result) != count:
        raise InvalidInput(f"{name} must have {count} labels; got {len(result)}: {list(result)}.")
    if len(set(result)) < count:
        twice = Counter(result).most_common(1)[0][0]
        raise InvalidInput(f"{name} must be different from each other; {twice!r} appears twice.")
    return result


def index_of(kind: str, item: int | str, names: Sequence[str]) -> int:
    """Return the index of an item given by index (an integer) or by label (a string)."""
    if isinstance(item, str):
        if item not in names:
            raise unknown_name(kind, item, names)
        return names.index(item)
    if not is_whole(item) or not 0 <= item < len(names):
        raise InvalidInput(f"{kind} must be a label or an index below {len(names)}; got {item!r}.")
    return int(item)


def known_keys(
    kind: str, table: Mapping[str, Any], known: Sequence[str], required: Sequence[str] = ()
) -> None:
    """Refuse a table, such as "a linear game", with a key that is unknown or missing."""
    for key in table:
        if key not in known:
            raise unknown_name(f"key of {kind}", key, known)
    for key in required:
        if key not in table:
            raise InvalidInput(f"{kind} needs the key {key!r}.")


def probabilities(name: str, value: ArrayLike, count: int) -> Array:
    """Return a probability vector of the given length, summing to 1 within 1e-9."""
    array = real_array(name, value, (count,))
    if (array < 0).any() or abs(array.sum() - 1.0) > 1e-9:
        raise InvalidInput(
            f"{name} must be non-negative and sum to 1; got {array.tolist()}, whose sum is "
            f"{array.sum():g}."
        )
    return array


def file_name(name: str, value: object) -> str:
    """Return ``value`` if it is a word that can be the name of a file in any folder."""
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= 100
        or value != value.strip()
        or value.startswith(".")
        or value.endswith(".")
        or RESERVED.fullmatch(value.partition(".")[0].strip())
        or any(letter in '/\\:*?"<>|' or ord(letter) < 32 for letter in value)
    ):
        raise InvalidInput(
            f"{name} must be plain words that can name a file, at most 100 letters; got {value!r}."
        )
    return value


def file_path(path: object) -> Path:
    """Return the path of a file."""
    if not isinstance(path, str | PathLike) or not str(path):
        raise InvalidInput(f"path must be the name of a file; got {path!r}.")
    return Path(path)


def boolean(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be true or false; got {value!r}.")
    return bool(value)


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return str(value)


def _to_float(name: str, value: Any, finite: bool) -> Array:
    try:
        array = np.array(value)
        if array.dtype.kind not in "iufO" or np.ma.is_masked(value):
            raise TypeError
        if array.dtype.kind == "O" and not all(isinstance(item, Real) for item in array.flat):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"{name} must be real numbers in rows of equal length; got {brief(value)}."
        ) from None
    if finite and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        at = f" at index {where[0] if len(where) == 1 else where}" if where else ""
        raise InvalidInput(f"{name} must be finite; got {array[where]}{at}.")
    return array


def _show(shape: Sequence[int | str]) -> str:
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def brief(value: object) -> str:
    """Return what a value looks like, on one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
