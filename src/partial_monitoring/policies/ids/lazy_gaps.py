"""Exact gaps only where they matter, for games with many actions on R^d or a ball.

The information ratio does not decrease when a gap grows. So solve for the distribution with lower
bounds of the gaps: if the gaps on its support happen to be exact, it is the best distribution for
the exact gaps as well. Otherwise make those exact and solve again. The exact gap of one action
takes one pass over the features, and the competitor it finds improves the lower bounds of all
others. On R^d that is done here, on a ball by the set itself.
"""

from __future__ import annotations

import numpy as np

from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.policies.ids.ratio import ZERO_GAP
from partial_monitoring.policies.ids.sampling import Rule
from partial_monitoring.validation import Array

FROM = 300
"""Number of actions from which this pays on R^d."""

ON_A_BALL = 40
"""Number of actions from which this pays on a ball."""


def pays(confidence: ConfidenceSet) -> bool:
    """Whether gaps may be computed lazily, and there are enough actions for that."""
    k = confidence.k
    return k >= min(FROM, ON_A_BALL) and many(k, whole=confidence.uncut is confidence)


def many(k: int, *, whole: bool) -> bool:
    """Whether there are enough actions for lazy gaps, on R^d or not."""
    return k >= (FROM if whole else ON_A_BALL)


def lazily(
    confidence: ConfidenceSet, information: Array, rule: Rule
) -> tuple[ConfidenceSet, list[Array]]:
    """Return E_t whose exact gaps are exact only where a rule needs them, and those handed out.

    Whoever changes what was handed out must ask the set itself again.
    """
    answers: list[Array] = []

    def exact_gaps() -> Array:
        answers.append(lazy_exact(confidence, information, rule))
        return answers[-1]

    lazy = object.__new__(type(confidence))
    vars(lazy).update(vars(confidence), exact_gaps=exact_gaps)  # an equal set, but for this
    return lazy, answers


def lazy_exact(confidence: ConfidenceSet, information: Array, rule: Rule) -> Array:
    """Return gaps (n, k) that give the same distribution as the exact ones.

    Gaps on its support are exact, the others are lower bounds of the exact ones.
    """
    if confidence.uncut is confidence:
        return np.stack([_one(confidence, row, own, rule) for row, own in enumerate(information)])
    gaps = confidence.lazy_gaps(information, rule.kappa, ZERO_GAP)
    return confidence.exact_gaps() if gaps is None else gaps


def _one(confidence: ConfidenceSet, row: int, information: Array, rule: Rule) -> Array:
    """Return the gaps (k,) of one replicate, given its information (k,)."""
    means = confidence.means[row]
    exact = np.zeros(len(means), dtype=bool)
    tried = np.zeros(len(means), dtype=bool)
    lower = np.zeros(len(means))

    def compare(b: int) -> None:
        """Make the gap of b exact, and use b as a competitor of all others."""
        width = confidence.widths(row, b)
        tried[b] = True
        rivals = means + width
        lower[b], exact[b] = max(float(rivals.max()) - means[b], 0.0), True
        np.maximum(lower, means[b] - means + width, out=lower, where=~exact)
        strongest.append(int(rivals.argmax()))

    strongest: list[int] = []
    compare(int(means.argmax()))
    while True:
        rival = strongest[-1]
        if not tried[rival]:
            compare(rival)
        todo = np.flatnonzero((rule(lower, information) > 0) & ~exact)
        if len(todo) == 0:
            return lower
        for a in todo:
            compare(int(a))
