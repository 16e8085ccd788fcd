"""Forgetting: what was observed weighs less with every round, because the world may have changed.

With a half-life h, an observation of age i weighs c_t gamma^i g^j after t observations, j of which
were of the same action and later. Here gamma = 2^(-1/h), g = 2^(-4/h) and c_t = (1 + gamma) /
(1 + gamma^t). What is assumed before the first one (regularisation, pseudo-counts) is not
forgotten.

- gamma makes what is not observed any more unknown again, at a rate that a still world can afford.
- g lets what is observed all the time be known from the last few hundred rounds. It is known well
  all the same, so that this costs a still world next to nothing; in one that has turned, the mean
  of old and new observations turns five times as fast.

Least squares knows no actions, but rows M of what they show, which need not be orthogonal. There
"the same" is a direction: of the observations G = sum_i w_i M_i' M_i, what they know of the rows
that are observed again is multiplied by g, and all that they know of directions orthogonal to these
in the norm of G is left alone:

    G - (1 - g) G M' (M G M')^+ M G.

If weights w_i fall with age alone, least squares has V = lambda I + sum_i w_i M_i' M_i, and in a
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

For an action that has come to be played only lately E_t may be up to 2^(1/2) times too narrow, and
for one whose old observations faded because it was played again it is wider than it has to be until
c_t is 2. No bound is proven for policies that forget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partial_monitoring.validation import positive_number

AGAIN = 0.25
"""Observations weigh half when the same was observed as often again as there are rounds in this
part of a half-life. Chosen on switching and still truths of seven games: with 1/2 the default loses
a little less in a still world and more after a switch, with 1/8 more there and a little less."""

FOREVER = int(np.iinfo(np.int64).max)
"""More rounds than are ever played."""


@dataclass(frozen=True)
class Forgetting:
    """How fast observations lose weight; not at all unless a half-life is given."""

    half_life: float | None = None
    """After how many rounds an observation weighs half, if the same is not observed again."""

    @property
    def keep(self) -> float:
        """Gamma."""
        return 1.0 if self.half_life is None else float(0.5 ** (1.0 / self.half_life))

    @property
    def fade(self) -> float:
        """What observations keep of their weight when the same is observed again, g above."""
        return 1.0 if self.half_life is None else float(0.5 ** (1.0 / (AGAIN * self.half_life)))

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
