"""What something is, as plain data, and a short key for it: equal keys mean equal definitions."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import cached_property
from hashlib import sha256
from types import MethodType
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput


def described(value: Any) -> Any:
    """Return a definition as plain data.

    Numbers and words stand for themselves, arrays for their numbers, dataclasses for their kind and
    their fields, functions and classes for the place where they are defined.

    >>> described(np.array([1.0, 2.0])), described(None), described(described)
    ([1.0, 2.0], None, 'partial_monitoring.experiments.identity:described')
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return described(value.tolist())
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        more = set(getattr(value, "__dict__", {})) - set(names)
        if more - _cached(type(value)):
            raise _nameless(value)
        return {"kind": _place(type(value)), **{n: described(getattr(value, n)) for n in names}}
    if isinstance(value, MethodType):
        return {"method": _place(value.__func__), "of": described(value.__self__)}
    return _place(value)


def _cached(kind: type) -> set[str]:
    """Return the names of attributes that follow from the others."""
    return {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, cached_property)
    }


def _place(value: Any) -> str:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    hidden = getattr(value, "__closure__", None) or getattr(value, "__wrapped__", None)
    if not module or not name or "<" in name or hidden:
        raise _nameless(value)
    return f"{module}:{name}"


def _nameless(value: Any) -> InvalidInput:
    return InvalidInput(
        f"the parts of an experiment must be dataclasses or functions that have a name; got "
        f"{value!r}."
    )


def content_key(definition: Any) -> str:
    """Return a key of 20 letters that changes with anything in the definition.

    >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
    True
    """
    text = json.dumps(definition, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:20]
