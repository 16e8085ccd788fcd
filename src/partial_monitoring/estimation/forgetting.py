"""Forgetting: what was observed weighs less with every round, because the world may have changed.

With a half-life h, an observation of age i weighs c_t gamma^i after t observations, where gamma =
2^(-1/h) and c_t = (1 + gamma) / (1 + gamma^t). What is assumed before the first one
(regularisation, pseudo-counts) is not forgotten.

With weights w_i, least squares has the Gram matrix V = lambda I + sum_i w_i M_i' M_i, and in a
still world the truth is within beta^(1/2) of the estimate in the norm of V V~^-1 V, where V~ has
the squared weights, and its determinant is that of beta (Russac, Vernade and Cappe, "Weighted
linear bandits for non-stationary environments", 2019). Two things follow:

- c_t makes the sums of the weights and of their squares equal: all observations together weigh as
  much as their effective number, sum(w)^2 / sum(w^2). Then V~ is V if what was played does not
  depend on the age, and E_t with the norm and the determinant of V, which is computed as always, is
  the set above. Without it (c_t = 1) the set would be 2^(1/2) times as wide as it has to be, and
  exploring for nothing would cost up to twice as much.
- An action that was last played long ago has V~ < V: E_t is wider there than a still world asks
  for, and that is meant. In a world that changes, what was not observed for long is not known, and
  the norm of V V~^-1 V would not say so before the prior outweighs all observations.

For an action that has come to be played only lately E_t may be up to 2^(1/2) times too narrow; no
bound is proven for policies that forget.
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
        """Gamma."""
        return 1.0 if self.half_life is None else float(0.5 ** (1.0 / self.half_life))

    @property
    def memory(self) -> int:
        """The largest t: what depends on the number of rounds sees no more than four half-lives."""
        return FOREVER if self.keep == 1.0 else 1 + max(int(4.0 * (self.half_life or 0.0)), 1)

    @property
    def active(self) -> bool:
        """Whether anything is forgotten."""
        return self.half_life is not None and self.keep < 1.0


REMEMBERING = Forgetting()


def checked_half_life(half_life: object) -> float | None:
    """Return a half-life: a number of rounds above 0, or None; infinity forgets nothing either."""
    if half_life is None or (isinstance(half_life, float) and half_life == np.inf):
        return None
    return positive_number("half_life", half_life)
