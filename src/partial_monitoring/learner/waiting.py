"""Open decisions, whose observations are still to come, and how many there are of each action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.estimation.state import Pending
from partial_monitoring.learner.contexts import Unlisted
from partial_monitoring.learner.counts import Key
from partial_monitoring.learner.identity import DecisionId, decision_number
from partial_monitoring.learner.persistent import PersistentMap
from partial_monitoring.model.any_game import Context
from partial_monitoring.storage.base import Event

MOST_UNLISTED = 16
"""Largest number of unlisted contexts whose open decisions are expected, each of which takes time;
a selection that follows from their content, so that a log is replayed exactly."""


FEW = 8
"""Largest number of open decisions that are counted when a policy is told of them."""


class Waiting(NamedTuple):
    """A decision whose observation is still to come."""

    event: Event
    """The ask; of one that was held, with ``begins``: seq, time and number of asks by then."""
    context: Context
    action: int
    answer: Event | None = None
    """What was told of it, if that counts only when it is due."""

    @property
    def key(self) -> Key:
        """What its context is found by."""
        name = self.context.name
        if name is None or isinstance(name, str):
            return name
        logged = self.event.get("context")
        return logged if isinstance(logged, Unlisted) else Unlisted(name)


class Started(NamedTuple):
    """Decisions that were held, in the order in which their windows began; some may be closed."""

    names: PersistentMap[int, DecisionId] = PersistentMap()
    first: int = 0
    end: int = 0

    @classmethod
    def of(cls, asks: Iterable[Event]) -> Started:
        """Return those of open decisions."""
        found = cls()
        for ask in sorted((x for x in asks if "begins" in x), key=lambda x: x["begins"]["seq"]):
            found = found.added(ask["decision"])
        return found

    def added(self, name: DecisionId) -> Started:
        """Return them with one more."""
        return Started(self.names.with_item(self.end, name), self.first, self.end + 1)

    def among(self, waiting: Mapping[DecisionId, Waiting]) -> Started:
        """Return them without those at the beginning that are not open any more."""
        names, first = self.names, self.first
        while first < self.end and waiting.get(names[first]) is None:
            names, first = names.without(first), first + 1
        return self if first == self.first else Started(names, first, self.end)


class InContext(NamedTuple):
    """How many decisions are open in one context, by action as a policy numbers it."""

    context: Context
    actions: Mapping[int, int]

    @property
    def number(self) -> int:
        """The number of a listed context, 0 in games without contexts."""
        given: Any = self.context.given
        return 0 if given is None else int(given[0])

    def pending(self) -> tuple[Any, Pending]:
        """Return them as a policy is handed them, with the context that it is handed."""
        actions = sorted(self.actions)
        count = np.array([[self.actions[a] for a in actions]], dtype=np.int64)
        return self.context.given, Pending(np.array(actions, dtype=np.int64), count)


class OpenDecisions(Mapping[DecisionId, Waiting]):
    """Open decisions by id; never changed.

    How many there are of each action is counted on the way, once they are many: what a policy is
    told of them does not take longer if there are more.
    """

    __slots__ = ("_by_id", "_contexts")

    def __init__(
        self,
        by_id: PersistentMap[DecisionId, Waiting] | None = None,
        contexts: PersistentMap[Key, InContext] | None = None,
    ) -> None:
        self._by_id = PersistentMap() if by_id is None else by_id
        self._contexts = contexts  # None if they are few, which are counted when asked for

    @classmethod
    def of(cls, items: Iterable[tuple[DecisionId, Waiting]]) -> OpenDecisions:
        """Return given decisions, of which no two have the same id."""
        found = cls()
        for name, own in items:
            found = found.with_item(name, own)
        return found

    def __getitem__(self, name: DecisionId) -> Waiting:
        return self._by_id[name]

    def get(self, name: DecisionId, default: Any = None) -> Any:
        """Return the decision with an id, or another value if it is not open."""
        return self._by_id.get(name, default)

    def __iter__(self) -> Iterator[DecisionId]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def in_order(self) -> list[Waiting]:
        """Return the decisions in the order in which they were made."""
        return [self[name] for name in sorted(self, key=decision_number)]

    def with_item(self, name: DecisionId, own: Waiting) -> OpenDecisions:
        """Return the decisions with one more, whose id is new."""
        every = self._by_id.with_item(name, own)
        return OpenDecisions(every, _more(self._in_contexts, own) if len(every) > FEW else None)

    def answered(self, name: DecisionId, answer: Event | None) -> OpenDecisions:
        """Return the decisions with the answer to one of them, which stays open."""
        own = self._by_id[name]._replace(answer=answer)
        return OpenDecisions(self._by_id.with_item(name, own), self._contexts)

    def begun(self, name: DecisionId, begins: Event) -> OpenDecisions:
        """Return the decisions with the beginning of the window of one that was held."""
        own = self._by_id[name]
        own = own._replace(event=own.event | {"begins": begins})
        return OpenDecisions(self._by_id.with_item(name, own), self._contexts)

    def taken(self, name: DecisionId) -> tuple[Waiting, OpenDecisions]:
        """Return one of the decisions, and the others."""
        own, rest = self._by_id[name], self._by_id.without(name)
        return own, OpenDecisions(rest, _less(self._in_contexts, own) if len(rest) > FEW else None)

    def pending(self) -> list[tuple[Any, Pending]]:
        """Return the open decisions of each context as a policy is handed them, in a fixed order.

        Listed contexts come first, in the order of the game.
        """
        contexts = self._in_contexts
        if len(contexts) == 1:
            return [own.pending() for own in contexts.all()]
        listed = [own for key, own in contexts.items() if not isinstance(key, Unlisted)]
        listed.sort(key=lambda own: own.number)
        keys = [key for key in contexts if isinstance(key, Unlisted)]
        keys = sorted(keys, key=lambda key: key.content)[:MOST_UNLISTED]
        return [own.pending() for own in (*listed, *(contexts[key] for key in keys))]

    @property
    def _in_contexts(self) -> PersistentMap[Key, InContext]:
        """How many there are of each action, in each context."""
        if self._contexts is not None:
            return self._contexts
        found: PersistentMap[Key, InContext] = PersistentMap()
        for own in self.in_order():
            found = _more(found, own)
        return found


def _more(contexts: PersistentMap[Key, InContext], own: Waiting) -> PersistentMap[Key, InContext]:
    """Return how many decisions there are of each action, with one more."""
    key, action = own.key, own.context.outer(own.action)
    known: InContext | None = contexts.get(key)
    if known is None:
        return contexts.with_item(key, InContext(own.context, {action: 1}))
    counts = {**known.actions, action: known.actions.get(action, 0) + 1}
    return contexts.with_item(key, InContext(known.context, counts))


def _less(contexts: PersistentMap[Key, InContext], own: Waiting) -> PersistentMap[Key, InContext]:
    """Return how many decisions there are of each action, with one less."""
    key, action = own.key, own.context.outer(own.action)
    known = contexts[key]
    counts = {**known.actions, action: known.actions[action] - 1}
    if not counts[action]:
        del counts[action]
    if not counts:
        return contexts.without(key)
    return contexts.with_item(key, InContext(known.context, counts))
