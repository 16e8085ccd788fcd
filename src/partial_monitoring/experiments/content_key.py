"""Content keys: short hashes of definitions as plain data; equal keys mean equal definitions.

Entries of the library's registries are described by their names, so that modules can move;
everything else by the module that defines it and a hash of its code.
"""

from __future__ import annotations

import json
from dataclasses import Field, fields, is_dataclass
from functools import cache, cached_property, singledispatch
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput, brief
from partial_monitoring.games import functions
from partial_monitoring.policies import BUILT, PARTS, POLICIES
from partial_monitoring.simulation import truths

FORMER = {
    "policy:ids": "ids.policy",
    "policy:contextual_ids": "ids.joint_policy",
    "policy:dueling_ids": "ids.dueling",
    "policy:cbp": "baselines.cbp",
    "policy:randcbp": "baselines.cbp",
    "policy:linucb": "baselines.optimism",
    "policy:lints": "baselines.optimism",
    "policy:greedy": "baselines.greedy",
    "policy:epsilon_greedy": "baselines.greedy",
    "policy:squarecb": "baselines.greedy",
    "policy:refitted": "refitting",
    "policy:gp_ucb": "baselines.gaussian_process",
    "policy:gp_ts": "baselines.thompson",
    "policy:expected_improvement": "baselines.gaussian_process",
    "policy:dueling_ts": "baselines.thompson",
    "gap": "ids.gaps",
    "information": "ids.information",
    "sampling": "ids.sampling",
    "confidence": "estimation.confidence",
    "truth": "experiments.truths",
    "function": "functions",
}
"""Modules of registered functions and classes, or of a kind of them, in stores of format 1."""

LIBRARIES = ("builtins", "typing", "abc", "partial_monitoring")
"""Packages whose classes are described by their names alone."""

INSIDE = ("__func__", "__wrapped__", "fget", "fset", "fdel", "func", "args", "keywords")
"""Where methods, properties and what decorators make keep the functions that they call."""

DATA = (bool, int, float, complex, str, bytes, tuple, list, set, frozenset, dict, np.ndarray)
"""Kinds of values in which nothing is hidden."""


@cache
def registered() -> dict[Any, str]:
    """Return the names of all functions and classes that the library registers."""
    entries: dict[str, Any] = {f"policy:{name}": build for name, build in POLICIES.items()}
    for table in (PARTS, BUILT):
        for option, parts in table.items():
            entries |= {f"{option}:{name}": part for name, part in parts.items()}
    words = [kind.__name__.removesuffix("Truth").lower() for kind in truths.KINDS]
    entries |= {f"truth:{word}": kind for word, kind in zip(words, truths.KINDS, strict=True)}
    entries |= {f"function:{name}": known.function for name, known in functions.KNOWN.items()}
    return {
        type(entry) if is_dataclass(entry) and not isinstance(entry, type) else entry: name
        for name, entry in entries.items()
    }


def described(value: Any, *, former: bool = False) -> Any:
    """Return a definition as plain data.

    Numbers and strings stay as they are, arrays become lists, dataclasses their kind and fields,
    functions and classes their registered name, or the module that defines them and a hash of their
    code. With ``former``, registered entries are named as in stores of format 1.

    >>> described(np.array([1.0, 2.0])), described(None), described(POLICIES["cbp"])
    ([1.0, 2.0], None, 'policy:cbp')
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return described(value.tolist(), former=former)
    if isinstance(value, list | tuple):
        return [described(item, former=former) for item in value]
    if isinstance(value, dict):
        return {str(key): described(item, former=former) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [own.name for own in fields(value) if not _is_absent(value, own)]
        more = set(getattr(value, "__dict__", {})) - {own.name for own in fields(value)}
        if more - _cached(type(value)):
            raise _nameless(value)
        content = {name: described(getattr(value, name), former=former) for name in names}
        return {"kind": _name(type(value), former), **content}
    if isinstance(value, MethodType):
        owner = described(value.__self__, former=former)
        return {"method": _name(value.__func__, former), "of": owner}
    return _name(value, former)


def _is_absent(value: Any, own: Field[Any]) -> bool:
    """Whether a field is an option that came later and is not used: keys stay what they were."""
    return own.kw_only and getattr(value, own.name) is None


def _cached(kind: type) -> set[str]:
    """Return the names of cached properties, which follow from the fields."""
    return {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, cached_property)
    }


def _name(value: Any, former: bool) -> str:
    """Return the registered name of a function or class, or where it is defined."""
    try:
        name = registered().get(value)
    except TypeError:  # not hashable, so nothing that has a name
        raise _nameless(value) from None
    if name is not None:
        old = FORMER.get(name) or FORMER.get(name.partition(":")[0])
        own = getattr(value, "__name__", "").removesuffix("Truth")
        return f"partial_monitoring.{old}:{own}" if former and old else name
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    hidden = getattr(value, "__closure__", None) or getattr(value, "__wrapped__", None)
    if not module or not name or "<" in name or hidden:
        raise _nameless(value)
    code = None if module.partition(".")[0] in LIBRARIES else _code(value)
    return f"{module}:{name}" if code is None else f"{module}:{name}:{content_key(code)}"


def _code(value: Any) -> Any:
    """Return what a function or class does, as plain data; None if that cannot be seen.

    The functions that it calls are only named, and so is what the library defines.
    """
    if isinstance(value, type):
        own = [base for base in value.__mro__ if base.__module__.partition(".")[0] not in LIBRARIES]
        parts = [pair for base in own for pair in sorted(vars(base).items())]
        # Names and line numbers, such as __module__, do not count.
        found = [(x, _code(y)) for x, y in parts if x[:2] != "__" or not isinstance(y, DATA)]
        return [pair for pair in found if pair[1] is not None] or None
    if isinstance(value, DATA):
        return _plain(value)
    inner = [_code(getattr(value, name)) for name in INSIDE if hasattr(value, name)]
    if isinstance(value, FunctionType):
        written = (value.__code__, value.__defaults__, value.__kwdefaults__)
        return [*map(_plain, written), *inner]
    return [part for part in inner if part is not None] or None


@singledispatch
def _plain(value: Any) -> str:
    """Return a constant or code as text that is the same in every process."""
    plain = value is None or isinstance(value, bool | int | float | complex | str | bytes)
    return repr(value) if plain or value is ... else type(value).__name__


@_plain.register
def _(value: CodeType) -> str:
    return _plain((value.co_code, value.co_names, value.co_consts))


@_plain.register(np.ndarray)
@_plain.register(np.generic)
def _(value: Any) -> str:
    return _plain(value.tolist())


@_plain.register(tuple)
@_plain.register(list)
def _(value: Any) -> str:
    return f"({', '.join(map(_plain, value))})"


@_plain.register(set)
@_plain.register(frozenset)
def _(value: Any) -> str:
    return f"{{{', '.join(sorted(map(_plain, value)))}}}"


@_plain.register
def _(value: dict) -> str:  # type: ignore[type-arg]
    return f"{{{', '.join(f'{_plain(x)}: {_plain(y)}' for x, y in value.items())}}}"


def _nameless(value: Any) -> InvalidInput:
    return InvalidInput(
        f"the parts of an experiment must be dataclasses or functions that have a name; got "
        f"{brief(value)}."
    )


def content_key(definition: Any) -> str:
    """Return a key of 20 letters that changes with every part of the definition.

    >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
    True
    """
    text = json.dumps(definition, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:20]
