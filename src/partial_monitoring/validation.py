"""Validation of what users pass: a read-only float64 array, or an error of one sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from math import prod
from numbers import Real
from os import PathLike, fsencode
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.errors import brief as brief

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Numbers = TypeVar("Numbers", bound=NDArray[Any])

LARGEST, SMALLEST = 1e100, 1e-100
"""Largest number, and smallest positive size, whose squares neither overflow nor vanish."""

LARGEST_WHOLE = 2**63 - 1
"""Largest whole number."""

MOST_ENTRIES = 10**8
"""Largest number of entries of an array that is built from less."""

MOST_SHARED = 4096
"""Largest number of labels that are kept for other games."""

LONGEST_PATH = 4096
"""Largest number of letters of a path."""

RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9¹²³]", re.IGNORECASE)
"""Names that Windows gives to devices."""


def set_fields(instance: object, **values: object) -> None:
    """Set the fields of a frozen dataclass, from inside its ``__init__``."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def frozen(array: Numbers) -> Numbers:
    """Return the array, marked read-only."""
    array.setflags(write=False)
    return array


class ReadOnly:
    """An object whose arrays are read-only, also in its copies and when it is unpickled."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


def real_array(
    name: str,
    value: ArrayLike,
    shape: Sequence[int | str],
    *,
    finite: bool = True,
    largest: float = LARGEST,
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
        Refuse what is not finite, or larger than ``largest``.

    Examples
    --------
    >>> real_array("features", [[1, 2]], ("k", "d"))
    array([[1., 2.]])
    >>> real_array("features", [1, 2], ("k", "d"))
    Traceback (most recent call last):
    partial_monitoring.errors.InvalidInput: features must have shape (k, d); got (2,).
    """
    array = _to_float(name, value)
    if finite and not np.abs(array).max(initial=0.0) <= largest:
        _refuse_size(name, array, largest)
    fits = array.ndim == len(shape) and all(
        isinstance(want, str) or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise InvalidInput(f"{name} must have shape {_show(shape)}; got {_show(array.shape)}.")
    return frozen(array)


def filled_array(name: str, value: ArrayLike, shape: Sequence[int | str]) -> Array:
    """Return ``value`` as :func:`sized_array` does; an array without entries is refused."""
    array = sized_array(name, value, shape)
    if array.size == 0:
        raise InvalidInput(f"{name} must not be empty; got shape {_show(array.shape)}.")
    return array


def sized_array(name: str, value: ArrayLike, shape: Sequence[int | str]) -> Array:
    """Return ``value`` as :func:`real_array` does; refused if it is tiny, but not zero.

    >>> sized_array("rows", [1e-200], (1,))
    Traceback (most recent call last):
    partial_monitoring.errors.InvalidInput: rows must be 0 or at least 1e-100 in size; got 1e-200.
    """
    array = real_array(name, value, shape)
    check_tiny(name, array)
    return array


def check_tiny(name: str, array: Array) -> None:
    """Refuse an array that is not zero, but so small that its squares vanish."""
    if 0 < (size := float(np.abs(array).max(initial=0.0))) < SMALLEST:
        raise InvalidInput(f"{name} must be 0 or at least {SMALLEST:g} in size; got {size:g}.")


def check_entries(what: str, *shape: int) -> None:
    """Refuse to build an array of this shape if it has too many entries."""
    if (count := prod(shape)) > MOST_ENTRIES:
        sizes = " x ".join(map(str, shape))
        raise InvalidInput(
            f"{what} would have {sizes} = {count} entries; at most {MOST_ENTRIES:,} are stored."
        )


def axes(value: object) -> int:
    """Return the number of axes of nested numbers; 2 for rows of unequal length."""
    found = 2 if is_ragged(value) else np.ndim(value)  # type: ignore[arg-type]
    return found if isinstance(found, int) else 0  # whatever an object calls its ndim


def is_ragged(value: object) -> bool:
    """Whether NumPy makes no array of nested lists, whose rows have unequal lengths."""
    try:
        np.ndim(value)  # type: ignore[arg-type]
    except ValueError:
        return True
    return False


def real_number(name: str, value: object) -> float:
    """Return ``value`` as a finite float."""
    return float(real_array(name, value, ()))  # type: ignore[arg-type]


def non_negative_number(name: str, value: object) -> float:
    """Return ``value`` as a float that is zero, or between 1e-100 and 1e100."""
    number = real_number(name, value)
    if number < 0:
        raise InvalidInput(f"{name} must not be negative; got {brief(value)}.")
    return positive_number(name, value) if number else number


def positive_number(name: str, value: object) -> float:
    """Return ``value`` as a float between 1e-100 and 1e100."""
    number = real_number(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be positive; got {brief(value)}.")
    if number < SMALLEST:
        raise InvalidInput(f"{name} must be at least {SMALLEST:g}; got {number:g}.")
    return number


def whole_number(name: str, value: object, *, at_least: int, at_most: int = LARGEST_WHOLE) -> int:
    """Return ``value`` as an int within the limits; booleans and fractions are refused."""
    if not is_whole(value) or int(value) < at_least:  # type: ignore[call-overload]
        raise InvalidInput(f"{name} must be a whole number >= {at_least}; got {brief(value)}.")
    if int(value) > at_most:  # type: ignore[call-overload]
        raise InvalidInput(f"{name} must be at most {at_most:,}; got {brief(value)}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_whole(value: object) -> bool:
    """Whether ``value`` is an integer (a NumPy one counts, a boolean does not)."""
    return type(value) is int or (
        isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    )


def labels(name: str, value: Iterable[object] | None, count: int) -> tuple[str, ...]:
    """Return ``count`` different labels; without a value they are the indices."""
    if value is None:
        return numbered(count) if count <= MOST_SHARED else tuple(map(str, range(count)))
    if isinstance(value, str | bytes | Set | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a sequence of {count} labels; got {brief(value)}.")
    try:
        result = tuple(str(label) for label in value)
    except (RecursionError, ValueError):  # nested deeply, or too long a number
        raise InvalidInput(
            f"{name} must be labels that can be written; got {brief(value)}."
        ) from None
    if len(result) != count:
        raise InvalidInput(
            f"{name} must have {count} labels; got {len(result)}: {brief([*result])}."
        )
    if len(set(result)) < count:
        twice = brief(Counter(result).most_common(1)[0][0])
        raise InvalidInput(f"{name} must be different from each other; {twice} appears twice.")
    for label in result:
        if not is_text(label):
            raise InvalidInput(f"{name} must be text that UTF-8 can encode; got {brief(label)}.")
    return result


@lru_cache(maxsize=64)
def numbered(count: int) -> tuple[str, ...]:
    """Return indices as labels, which all games of as many actions share."""
    return tuple(map(str, range(count)))


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode a text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def items(name: str, value: Any, of: str = "") -> list[Any]:
    """Return the items of a list or another iterable, but not the letters of a text.

    ``of`` says what the list should hold, for the message: " of actions".
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list{of}; got {brief(value)}.")
    return list(value)


def index_of(kind: str, item: int | str, names: Sequence[str]) -> int:
    """Return the index of an item given by index (an integer) or by label (a string)."""
    if isinstance(item, str):
        if item not in names:
            raise unknown_name(kind, item, names)
        return names.index(item)
    if not is_whole(item) or not 0 <= item < len(names):
        raise InvalidInput(
            f"{kind} must be a label or an index below {len(names)}; got {brief(item)}."
        )
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
            f"{name} must be non-negative and sum to 1; got {brief(array.tolist())}, whose sum is "
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
        or not is_text(value)
    ):
        raise InvalidInput(
            f"{name} must be plain words that can name a file, at most 100 letters; got "
            f"{brief(value)}."
        )
    return value


def file_path(path: object) -> Path:
    """Return the path of a file."""
    text = str(path) if isinstance(path, str | PathLike) else ""
    if not 0 < len(text) <= LONGEST_PATH or "\0" in text or not _encodable(text):
        raise InvalidInput(f"path must be the name of a file; got {brief(path)}.")
    return Path(text)


def _encodable(path: str) -> bool:
    """Whether the system can be asked for a path; not with a lone surrogate, for example."""
    try:
        return bool(fsencode(path))
    except UnicodeEncodeError:
        return False


def written(name: str, value: object) -> str:
    """Return ``value`` if it is a text."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a text; got {brief(value)}.")
    return value


def boolean(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be true or false; got {brief(value)}.")
    return bool(value)


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise InvalidInput(f"{name} must be one of {words}; got {brief(value)}.")
    return str(value)


def _to_float(name: str, value: Any) -> Array:
    try:
        if _masked(value):
            raise TypeError
        array = np.array(value)
        if array.dtype.kind not in "iufO" or _has_booleans(value, array):
            raise TypeError
        if array.dtype.kind == "O" and not all(isinstance(item, Real) for item in array.flat):
            raise TypeError
        return np.asarray(array.astype(np.float64))
    except OverflowError:
        raise InvalidInput(
            f"{name} must not exceed {LARGEST:g} in size; got {brief(value)}."
        ) from None
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} must be real numbers in rows of equal length; got {brief(value)}."
        ) from None


def _masked(value: Any) -> bool:
    """Whether entries are missing: of a masked array, or of a list with masked entries."""
    if isinstance(value, list | tuple):
        return any(isinstance(item, np.ma.MaskedArray) and np.ma.is_masked(item) for item in value)
    return bool(np.ma.is_masked(value))


def _has_booleans(value: Any, array: NDArray[Any]) -> bool:
    """Whether nested lists of numbers hold booleans, which NumPy reads as 0 and 1."""
    items: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    if array.dtype.kind == "O":
        items = array.flat
    else:
        for _ in range(array.ndim - 1):
            items = chain.from_iterable(items)
    return not {bool, np.bool_}.isdisjoint(map(type, items))


def _refuse_size(name: str, array: Array, largest: float) -> NoReturn:
    """Refuse an array that has an entry that is not finite, or larger than allowed."""
    finite = np.isfinite(array)
    must = f"not exceed {largest:g} in size" if finite.all() else "be finite"
    wrong = np.abs(array) > largest if finite.all() else ~finite
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = f" at index {where[0] if len(where) == 1 else where}" if where else ""
    raise InvalidInput(f"{name} must {must}; got {float(array[where])}{at}.")


def _show(shape: Sequence[int | str]) -> str:
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
