"""What a study knows of its actions, and what playing them has cost, without another decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.beliefs import BeliefTable, at_points, number_of, of_pairs, table_of
from partial_monitoring.learner.contexts import Unlisted
from partial_monitoring.learner.counts import Tallies
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.status import confidence_of
from partial_monitoring.model.any_game import Context
from partial_monitoring.service.views.taken import Taken

MOST_CONTEXTS = 40
"""Largest number of contexts that are shown together: those that came most often."""

MOST_DECIDED = 50
"""Largest number of rivals of the best-looking action that are checked against all others."""

MOST_EXACT = 20
"""Largest number of actions whose largest plausible gaps are exact, not an upper bound of them,
which takes less time."""


class Belief(NamedTuple):
    """What is known of one action, or item or point, over all contexts that offer it."""

    label: str
    plays: int
    earns: float
    low: float
    high: float
    may_be_best: bool


class Cost(NamedTuple):
    """What was lost by all plays that were observed: estimated, and at most in E_t."""

    plays: int
    estimate: float
    at_most: float
    unknown: int = 0
    """The number of plays in contexts of which no game is kept; they are left out."""


@dataclass(frozen=True, eq=False)
class Place:
    """A context and what was observed there, with E_t."""

    context: Context
    tallies: Tallies
    confidence: Any

    @cached_property
    def _ahead(self) -> tuple[Any, Any, Any]:
        return self.confidence.ahead(0)  # type: ignore[no-any-return]

    @property
    def best(self) -> NDArray[np.bool_]:
        """Which actions of the confidence set may be best, shape (k,)."""
        _, rivals, decide = self._ahead
        return np.asarray(decide() if int(rivals.sum()) <= MOST_DECIDED else rivals)

    @property
    def at_risk(self) -> float:
        """What playing the best-looking action loses per round, at most."""
        return max(float(self._ahead[0].max()), 0.0)

    def table(self) -> BeliefTable:
        """Return what is known of the actions; what the next decision plays is not asked."""
        return table_of(self.context.game, self.confidence, self.best, {}, self.tallies)

    def cost(self, past: Mapping[Any, Any]) -> Cost:
        """Return what the plays in this context have cost, but for those of logged data."""
        game, confidence = self.context.game, self.confidence
        means = np.asarray(confidence.means[0])
        exact = len(means) <= MOST_EXACT
        most = (confidence.exact_gaps() if exact else confidence.relaxed_gaps())[0]
        estimated = means.max() - means
        place = {number_of(game, confidence, a): a for a in range(len(means))}
        pairs = game.traits.duels and not of_pairs(game, confidence)
        if not at_points(game):
            place = {}  # they are the same
        plays, unknown, sums = 0, 0, np.zeros(2)
        for action, tally in self.tallies.actions.items():
            known = past.get((self.context.name, action)) if past else None
            count = max(tally.plays - (0 if known is None else known.plays), 0)
            parts = divmod(action, game.item_count) if pairs else (action,)
            at = [place.get(part, -1 if place else part) for part in parts]
            if min(at) < 0:
                unknown += count
                continue
            plays += count
            sums += count * np.array([estimated[at].sum(), most[at].sum()])
        return Cost(plays, float(sums[0]), float(sums[1]), unknown)


class Overview(NamedTuple):
    """What is known in all contexts together.

    What an action earns is averaged over the contexts that offer it, by how often they came; so are
    the ends of its interval. It may be best if it may be in one of them.
    """

    beliefs: list[Belief]
    """Those that earn most first."""
    more: int
    """The number of actions that are left out."""
    noun: str
    best: str | None
    """The best-looking action; in a game with contexts, that of the most frequent one."""
    at_risk: float
    """On average over contexts."""
    cost: Cost
    why: str = ""
    """Why nothing is known, in a sentence; empty otherwise."""


def overview(own: Taken, past: Mapping[Any, Any] | None = None) -> Overview:
    """Return what is known after the last event.

    Parameters
    ----------
    own
        The study.
    past
        What logged data have shown, by context and action: nobody here has played that.
    """
    try:
        places, unknown = _places(own)
    except InvalidInput as error:
        return Overview([], 0, "action", None, nan, Cost(0, nan, nan), str(error))
    total = sum(place.tallies.rounds for place in places)
    share = [place.tallies.rounds / total if total else 1 / len(places) for place in places]
    tables = [place.table() for place in places]
    rows: dict[str, list[tuple[float, Any]]] = {}
    for weight, table in zip(share, tables, strict=True):
        for row in table:
            rows.setdefault(row.label, []).append((max(weight, 1e-12), row))
    beliefs = [_together(label, each) for label, each in rows.items()]
    beliefs.sort(key=lambda row: -row.earns)
    costs = [place.cost(past or {}) for place in places]
    cost = Cost(*(sum(each) for each in zip(*costs, strict=True)))
    first = int(np.argmax(share))
    return Overview(
        beliefs,
        max(table.more for table in tables),
        tables[0].noun,
        tables[first].rows[0].label if len(tables[first]) else None,
        sum(weight * place.at_risk for weight, place in zip(share, places, strict=True)),
        cost._replace(unknown=cost.unknown + unknown),
    )


def _together(label: str, each: list[tuple[float, Any]]) -> Belief:
    weights = np.array([weight for weight, _ in each])
    values = np.array([(row.earns, row.low, row.high) for _, row in each])
    earns, low, high = (weights @ values / weights.sum()).tolist()
    plays = sum(row.plays for _, row in each)
    return Belief(label, plays, earns, low, high, any(row.may_be_best for _, row in each))


def _places(own: Taken) -> tuple[list[Place], int]:
    """Return the contexts with E_t, and how many observations were made in others."""
    spec, session = own.spec, own.session
    counts: Mapping[Any, Tallies] = session.counts.settled().contexts
    game: Any = spec.game
    names: list[Any] = [None]
    if game.traits.contexts:
        names = [*game.contexts, *(key for key in counts if isinstance(key, Unlisted))]
        names.sort(key=lambda name: -counts[name].rounds if name in counts else 0)
    shown = [(_context(spec, name), counts.get(name, Tallies())) for name in names[:MOST_CONTEXTS]]
    unknown = sum(own.rounds for own in counts.values()) - sum(own.rounds for _, own in shown)
    places = [Place(*pair, confidence_of(spec, session, pair[0])) for pair in shown]
    return places, unknown


def _context(spec: Spec, name: Any) -> Context:
    return spec.context(name.game if isinstance(name, Unlisted) else name)
