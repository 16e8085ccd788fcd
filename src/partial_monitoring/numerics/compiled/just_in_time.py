"""The decorator of all compiled functions, and a line on the terminal while they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    fastmath: bool | set[str] = False,
    inline: str = "never",
) -> Any:
    """Compile a function when it is first called, for later processes too.

    All functions share these options, fastmath aside: Numba compiles its own building blocks (such
    as ``np.empty``) anew for callers with other options.
    """
    options = {"cache": True, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
    decorate = njit(**options, fastmath=fastmath, inline=inline)
    return decorate if function is None else decorate(function)
