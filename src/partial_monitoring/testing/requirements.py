"""Shared by all checks: how a failure is raised."""

from __future__ import annotations

import numpy as np

CLOSE = 1e-7
"""Numbers that should be equal may differ by this fraction of the numbers involved."""


def require(holds: bool | np.bool_, sentence: str) -> None:
    """Raise the sentence if something does not hold."""
    if not holds:
        raise AssertionError(f"{sentence}.")
