"""Answers that depend on the action: then what is learned may be biased.

The null hypothesis is that in each context a decision is answered with one probability, whatever
its action is. With Q the mixture of Krichevsky and Trofimov of how many decisions of a cell were
answered and how many were not,

    e = (product over actions of Q) / (largest probability with one rate)

is an e-process in each context, and all contexts are taken together by ``log_some``. Time is the
order in which decisions were *made*, not that in which answers come: a decision counts when it and
all decisions before it are answered or lapsed. In the order of answers, those that are never
answered would be missing, the more so the newer an action is, and an action that is played more and
more would seem to be answered more often. The action may depend on all that is known when it is
chosen, among it which decisions were answered so far, but not on whether its own answer will come.

An open decision holds up those after it, but at most ``MOST_WAITING`` of them: then it counts as
not answered. Decisions that were cancelled are left out. A rate that changes over time for all
actions alike is outside of the null hypothesis, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from partial_monitoring.learner.alarms.mixtures import log_most_likely, log_signals, log_some
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import Cell, Evidence

MOST_WAITING = 10_000
"""Largest number of decisions that wait for an earlier one."""


class Answers:
    """Which decisions were answered, counted in the order in which they were made."""

    def __init__(self) -> None:
        self.counts: dict[Cell, tuple[int, int]] = {}
        """How many decisions of each cell were answered and were not."""
        self._waiting: dict[Any, tuple[Cell, bool | None]] = {}
        """The decisions that do not count yet, by id, and whether they are answered, if known."""

    def asked(self, decision: Any, cell: Cell) -> None:
        """Note a decision that was made."""
        self._waiting[decision] = cell, None
        if len(self._waiting) > MOST_WAITING:
            self.closed(next(iter(self._waiting)), answered=False)

    def closed(self, decision: Any, *, answered: bool) -> None:
        """Note whether a decision was answered, or that it will not be."""
        if decision in self._waiting:  # otherwise it counted already
            self._waiting[decision] = self._waiting[decision][0], answered
            self._count()

    def cancelled(self, decision: Any) -> None:
        """Forget a decision whose action was never taken."""
        self._waiting.pop(decision, None)
        self._count()

    def _count(self) -> None:
        """Count the first decisions as far as it is known whether they were answered."""
        while self._waiting:
            first = next(iter(self._waiting))
            cell, known = self._waiting[first]
            if known is None:
                return
            del self._waiting[first]
            yes, no = self.counts.get(cell, (0, 0))
            self.counts[cell] = (yes + 1, no) if known else (yes, no + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        waiting = [[name, *cell, known] for name, (cell, known) in self._waiting.items()]
        return {"counts": [[*cell, *own] for cell, own in self.counts.items()], "waiting": waiting}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Answers:
        """Return it from plain data."""
        found = cls()
        found.counts = {(context, a): (yes, no) for context, a, yes, no in data["counts"]}
        found._waiting = {name: ((context, a), own) for name, context, a, own in data["waiting"]}
        return found


def dependence(watched: Watched, counts: Mapping[Cell, tuple[int, int]]) -> Evidence:
    """Return the e-value against the hypothesis that answers do not depend on the action."""
    evidence, rates = [], []
    groups: dict[str | None, list[Cell]] = {}
    for cell in counts:
        groups.setdefault(cell[0], []).append(cell)
    for cells in groups.values():
        own = np.array([counts[cell] for cell in cells], dtype=float)
        mixtures, together = log_signals(own), float(log_most_likely(own.sum(axis=0)))
        evidence.append(float(mixtures.sum()) - together)
        share, plays = own[:, 0] / own.sum(axis=1), own.sum(axis=1)
        rate = own[:, 0].sum() / plays.sum()
        apart = plays * (share - rate) ** 2
        worst, low, high = int(apart.argmax()), int(share.argmin()), int(share.argmax())
        other = low if worst != low else high
        pair = (cells[worst], share[worst]), (cells[other], share[other])
        rates.append((float(apart[worst]), pair))
    if not rates:
        return Evidence(0.0, "")
    (one, x), (two, y) = max(rates, key=itemgetter(0))[1]
    return Evidence(
        float(log_some(np.array(evidence))),
        f"whether an answer comes depends on the action: {100 * x:.0f} % after "
        f"{watched.label(one)}, {100 * y:.0f} % after {watched.label(two)}; what is learned may be "
        f"biased.",
    )
