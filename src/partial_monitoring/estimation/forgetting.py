"""Forgetting: what was observed weighs less with every round, because the world may have changed.

With a half-life h, an observation weighs gamma = 2^(-1/h) times as much in every later round. What
is assumed before the first one (regularisation, pseudo-counts) is not forgotten. Least squares with
these weights (Russac, Vernade and Cappe, "Weighted linear bandits for non-stationary environments",
2019) has

    V_t = lambda I + sum_s gamma^(t-s) M_s' M_s,    V~_t the same with the weights gamma^(2(t-s)),

and in a still world |theta_hat - theta| <= beta_t^(1/2) in the norm of V_t V~_t^-1 V_t, where
beta_t contains log det V~_t. Weights are at most 1, so V~_t <= V_t: the set with the norm of V_t
and with log det V_t contains that one, and holds the truth as surely. It is E_t here: all that is
computed from V_t stays as it is, for a radius that is at most 2^(1/2) times as large, up to the
logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.validation import positive_number

FOREVER = int(np.iinfo(np.int64).max)
"""More rounds than are ever played."""


@dataclass(frozen=True)
class Forgetting:
    """How fast observations lose weight; not at all unless a half-life is given."""

    half_life: float | None = None
    """After how many rounds an observation weighs half."""

    @property
    def keep(self) -> float:
        """gamma: what an observation weighs one round later."""
        return 1.0 if self.half_life is None else float(0.5 ** (1.0 / self.half_life))

    @property
    def memory(self) -> int:
        """How many rounds count in the long run, the sum of all weights.

        What depends on t (failure probabilities, how long a discovery serves) sees no more rounds.
        """
        return FOREVER if self.keep == 1.0 else max(int(1.0 / (1.0 - self.keep)), 1)

    @property
    def active(self) -> bool:
        """Whether anything is forgotten."""
        return self.keep < 1.0


REMEMBERING = Forgetting()


def checked_half_life(half_life: object) -> float | None:
    """Return a half-life: a number of rounds above 0, or None; infinity forgets nothing either."""
    if half_life is None or (isinstance(half_life, float) and half_life == np.inf):
        return None
    return positive_number("half_life", half_life)
