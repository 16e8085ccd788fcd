"""The state of a policy as plain data.

The state of a policy is a frozen dataclass. Its arrays, and those of the dataclasses and named
tuples in it, are what was learned; everything else (the game, its model, its geometry) follows from
the game and the policy, except for numbers that a class names in ``learned``. Other states are made
again from the events of their learner: those that say so with a property ``replayed``, those whose
arrays have grown (other than to a shape in their ``filled``), and those in which anything else
differs from the state before the first round. Arrays that a class names in ``later`` may be missing
in files of earlier versions; its ``completed()`` computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief

ROUNDING = 1e-5
"""By how much numbers of a state may differ, relative to the largest one of their array, if they
were computed with another processor or another version of Python."""


def saved(state: Any, start: Any) -> dict[str, Any] | None:
    """Return the arrays of a state as nested lists, or None if it is made again from events.

    ``start`` is the state before the first round. JSON keeps every bit of a float.
    """
    if type(state) is not type(start) or getattr(state, "replayed", False):
        return None
    names, numbers = _names(state), _numbers(state)
    if not names:
        return None
    if numbers:
        rest = (name for name in names if name not in numbers)
        same = all(_same(getattr(state, name), getattr(start, name)) for name in rest)
        return {name: getattr(state, name) for name in numbers} if same else None
    found: dict[str, Any] = {}
    for name in names:
        value, first = getattr(state, name), getattr(start, name)
        if isinstance(value, np.ndarray) and isinstance(first, np.ndarray):
            shapes = (first.shape, _filled(start).get(name, first.shape))
            if value.shape not in shapes or value.dtype != first.dtype:
                return None
            found[name] = value.tolist()
        elif not _same(value, first):
            inner = saved(value, first)
            if inner is None:
                return None
            found[name] = inner
    return found


def with_arrays(start: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the state before the first round with given arrays instead of its own.

    Arrays of another shape or kind, and those that are not finite, are refused.
    """
    changed: dict[str, Any] = {name: _number(name, arrays[name]) for name in _numbers(start)}
    missing = _missing(start, arrays)
    for name in () if changed else _names(start):
        value = getattr(start, name)
        if name in missing:
            continue
        if isinstance(value, np.ndarray):
            if name in _filled(start) and np.size(arrays[name]):
                value = np.zeros(_filled(start)[name], dtype=value.dtype)
            changed[name] = _read(name, arrays[name], value)
        elif name in arrays:
            changed[name] = with_arrays(value, arrays[name])
    make = replace if is_dataclass(start) else type(start)._replace
    found = make(start, **changed)
    return found.completed() if missing else found


def is_former(start: Any, arrays: Any) -> bool:
    """Whether the arrays of a state lack some that earlier versions did not have."""
    if not isinstance(arrays, Mapping):
        return False
    inner = ((getattr(start, name, None), own) for name, own in arrays.items())
    return bool(_missing(start, arrays)) or any(is_former(*each) for each in inner)


def _missing(start: Any, arrays: Mapping[str, Any]) -> list[str]:
    """Return what earlier versions did not have of a state, if it is not among its arrays."""
    return [name for name in getattr(type(start), "later", ()) if name not in arrays]


def _names(state: Any) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or a named tuple; none of anything else."""
    if is_dataclass(state):
        return tuple(field.name for field in fields(state))
    return getattr(type(state), "_fields", ())


def _numbers(state: Any) -> tuple[str, ...]:
    """Return the numbers that are learned in what follows from the game otherwise."""
    return getattr(type(state), "learned", ())


def _filled(start: Any) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of arrays that are empty at first, and may be needed from some round on."""
    return getattr(start, "filled", {})


def _number(name: str, given: Any) -> float:
    if type(given) is not float or not np.isfinite(given):
        raise InvalidInput(f"{name} must be a finite number; got {brief(given)}.")
    return given


def check_rounds(arrays: Mapping[str, Any], told: int) -> None:
    """Refuse arrays of a state whose round is not the one after a number of observations."""
    for name, value in arrays.items():
        if isinstance(value, Mapping):
            check_rounds(value, told)
        elif name == "round" and set(np.ravel(value).tolist()) != {told + 1}:
            raise InvalidInput(f"round must be {told + 1}; got {brief(value)}.")


def alike(one: Any, two: Any) -> bool:
    """Whether plain data are the same, with floats up to rounding errors."""
    if isinstance(one, Mapping):
        return (
            isinstance(two, Mapping)
            and one.keys() == two.keys()
            and all(alike(one[key], two[key]) for key in one)
        )
    mine, other = list(_leaves(one)), list(_leaves(two))
    size = max((abs(x) for x in (*mine, *other) if isinstance(x, float)), default=0.0)
    return len(mine) == len(other) and all(
        x == y or (type(x) is type(y) is float and abs(x - y) <= ROUNDING * size)
        for x, y in zip(mine, other, strict=True)
    )


def _leaves(value: Any) -> Iterator[Any]:
    """Yield what is in nested lists and tables, with the lengths of the lists."""
    if isinstance(value, Mapping):
        value = sorted(value.items(), key=lambda own: str(own[0]))
    if isinstance(value, list | tuple):
        yield "length", len(value)
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _read(name: str, given: Any, value: NDArray[Any]) -> NDArray[Any]:
    """Return nested lists as an array like the one of the state before the first round."""
    read = np.array(given)
    if value.size == 0:
        fits = read.size == 0
    else:
        kinds = {"f": "f", "b": "b"}.get(value.dtype.kind, "iu")
        fits = read.shape == value.shape and read.dtype.kind in kinds
    if not fits or not np.isfinite(read).all():
        raise InvalidInput(
            f"{name} must be finite numbers of shape {value.shape}; got {brief(given)}."
        )
    return read.astype(value.dtype).reshape(value.shape)


def _same(value: Any, first: Any) -> bool:
    """Whether an entry of a state that is no array is what it was before the first round."""
    if value is first:
        return True
    return isinstance(value, bool | int | float | str) and bool(value == first)
