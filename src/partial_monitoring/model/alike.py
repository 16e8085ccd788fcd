"""A prior by which parts of theta are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partial_monitoring.validation import Array


class Alike(NamedTuple):
    """Parts of theta that a prior takes for alike: a common part plus own deviations.

    The correlation of the j-th entries of J parts is (1 1' + scale^2 I) / (1 + scale^2).
    """

    scale: float
    """How large own deviations are next to the common part."""
    blocks: tuple[slice, ...]
    """Where the parts are in theta, all of the same size."""

    def root(self) -> Array:
        """Return the symmetric matrix L whose square is the correlation of theta, (d, d)."""
        count, size = len(self.blocks), self.blocks[0].stop
        unit = np.hypot(1.0, self.scale)
        apart, together = self.scale / unit, np.hypot(np.sqrt(count), self.scale) / unit
        mean = np.full((count, count), 1.0 / count)
        return np.kron(apart * (np.eye(count) - mean) + together * mean, np.eye(size))
