"""What someone needs to get the same numbers again: versions, and policies in words."""

from __future__ import annotations

import platform
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from partial_monitoring.policies.policy import Policy

PACKAGES = ("numpy", "scipy", "numba")


def versions() -> dict[str, str]:
    """Return the versions of everything that the numbers depend on."""
    import partial_monitoring

    found = {"partial-monitoring": partial_monitoring.__version__}
    found["python"] = platform.python_version()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def describe(policy: Policy[Any]) -> str:
    """Show a policy with the options that differ from their defaults.

    >>> import partial_monitoring as pm
    >>> describe(pm.IDS()), describe(pm.IDS(gap=pm.gaps.relaxed, regularization=2.0))
    ('IDS()', 'IDS(gap=relaxed, regularization=2.0)')
    """
    if isinstance(policy, str):
        return policy  # of a kind that is not the library's, as it described itself
    options: list[str] = []
    if is_dataclass(policy):
        for field in fields(policy):
            value = getattr(policy, field.name)
            if repr(value) != repr(_default(field)):
                options.append(f"{field.name}={_brief(value)}")
    return f"{type(policy).__name__}({', '.join(options)})"


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _brief(value: object) -> str:
    """Show a function by its name, everything else as Python does."""
    text = getattr(value, "__name__", None) or " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:79] + "…"
