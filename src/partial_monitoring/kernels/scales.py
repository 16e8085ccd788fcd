"""A warning where the lengthscale of a kernel does not fit the points that it is used for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from partial_monitoring.errors import DoubtfulInput, visible
from partial_monitoring.kernels.base import Kernel
from partial_monitoring.validation import Array

FEWEST, MOST = 1 / 50, 50.0
"""A lengthscale below the first or above the second part of an edge does not fit it."""

ABOVE = 3
"""The line that is warned about called the constructor of a game, and that this function."""


def warn_of_scales(kernel: Kernel, low: Array, high: Array, axes: Sequence[str]) -> None:
    """Warn of lengthscales that are far below or above the edges of a box with these corners (p,).

    Of kernels that are added or multiplied, one that fits is enough.
    """
    width = high - low
    own = [np.broadcast_to(scales, width.shape) for scales in kernel.lengthscales]
    if not own:
        return
    longest, shortest = np.max(own, axis=0), np.min(own, axis=0)
    for axis, edge in enumerate(width):
        if longest[axis] < FEWEST * edge:
            found, means = longest[axis], "points tell almost nothing of each other"
        elif shortest[axis] > MOST * edge:
            found, means = shortest[axis], f"{axes[axis]} makes almost no difference"
        else:
            continue
        sentence = (
            f"the lengthscale {found:g} of {axes[axis]} does not fit its range of {edge:g}, so "
            f"that {means}; take a tenth to the whole of the range, in its units."
        )
        warnings.warn(visible(sentence), DoubtfulInput, stacklevel=ABOVE)
        return
