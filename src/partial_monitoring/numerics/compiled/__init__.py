"""Loops over actions and replicates, compiled by Numba when they are first used.

Modules here import only Numba, NumPy, the names of array types and each other. Callers import them
inside functions, or import this package, whose modules are loaded when they are first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partial_monitoring.numerics.compiled import context_actions as context_actions
    from partial_monitoring.numerics.compiled import duels as duels
    from partial_monitoring.numerics.compiled import gaps as gaps
    from partial_monitoring.numerics.compiled import groups as groups
    from partial_monitoring.numerics.compiled import improvement as improvement
    from partial_monitoring.numerics.compiled import index as index
    from partial_monitoring.numerics.compiled import learning as learning
    from partial_monitoring.numerics.compiled import linear as linear
    from partial_monitoring.numerics.compiled import live_index as live_index
    from partial_monitoring.numerics.compiled import patience as patience
    from partial_monitoring.numerics.compiled import profile as profile
    from partial_monitoring.numerics.compiled import ratio as ratio
    from partial_monitoring.numerics.compiled import refresh as refresh


def __getattr__(name: str) -> Any:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"{__name__}.{name}":
            raise AttributeError(f"no compiled loops are called {name}") from None
        raise
