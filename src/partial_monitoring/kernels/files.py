"""Kernels as plain strings, numbers and lists, as they are written in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from partial_monitoring.errors import InvalidInput, entry
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.kernels.combined import MOST_LEVELS, Combined, Product, Sum
from partial_monitoring.kernels.elementary import Elementary
from partial_monitoring.kernels.polynomial import Constant, Linear, Polynomial
from partial_monitoring.kernels.stationary import Matern, Periodic, SquaredExponential
from partial_monitoring.validation import brief, known_keys

ELEMENTARY = (SquaredExponential, Matern, Linear, Polynomial, Periodic, Constant)

KINDS: Mapping[str, type[Elementary] | type[Combined]] = MappingProxyType(
    {kind.TYPE: kind for kind in (*ELEMENTARY, Sum, Product)}
)
"""By the name under ``type``."""


def from_dict(data: Mapping[str, Any]) -> Kernel:
    """Build a kernel from what ``kernel.to_dict()`` returned.

    Numbers that are left out have their defaults. A sum has ``terms``, a product has ``factors``.

    >>> from_dict({"type": "matern", "nu": 1.5, "lengthscale": [0.2, 1]})
    Matern(nu=1.5, lengthscale=(0.2, 1.0), variance=1.0)
    """
    return _read(data, 1)


def _read(data: Any, depth: int) -> Kernel:
    """Build a kernel that is ``depth`` levels deep in sums and products."""
    if depth > MOST_LEVELS:
        raise InvalidInput(f"kernel must be nested at most {MOST_LEVELS} levels deep.")
    if not isinstance(data, Mapping) or "type" not in data:
        raise InvalidInput(f"kernel must be a table with the key 'type'; got {brief(data)}.")
    name = data["type"]
    kind = entry("type of kernel", name, KINDS)
    values = {key: value for key, value in data.items() if key != "type"}
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    known_keys(f"a {name} kernel", values, known)
    if issubclass(kind, Combined):
        parts = values.get(kind.FIELD)
        if not isinstance(parts, list | tuple):
            raise InvalidInput(
                f"a {name} kernel needs {kind.FIELD!r}, a list of kernels; got {brief(parts)}."
            )
        values = {kind.FIELD: tuple(_read(part, depth + 1) for part in parts)}
    return kind(**values)
