"""A study as a view sees it: a value that does not change while it is read."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.model.any_game import Context

T = TypeVar("T")

MOST_KEPT = 32
"""Largest number of answers that are kept for a study."""


class Taken(NamedTuple):
    """What plays, what is known after the last event, and where the events are.

    Sessions are never changed, so no lock is held while a view is computed.
    """

    spec: Spec
    session: Session
    storage: Any

    def context(self, given: Any = None) -> Context:
        """Return the game of a context; the first one of the game unless one is given."""
        game: Any = self.spec.game
        if given is None and game.traits.contexts:
            return self.spec.context(game.contexts[0])
        return self.spec.context(given)


def taken(hosted: LearnerBase) -> Taken:
    """Return a study as it is now."""
    return Taken(hosted._spec, hosted._session, hosted._storage)


# -- what was computed for the last event -----------------------------------------------------

_known: WeakKeyDictionary[LearnerBase, dict[Hashable, tuple[int, Any]]] = WeakKeyDictionary()
_lock = Lock()


def remembered(hosted: LearnerBase, name: Hashable, seq: int, compute: Callable[[], T]) -> T:
    """Return what was computed under a name for the same event, or compute it."""
    with _lock:
        own = _known.setdefault(hosted, {})
        found = own.get(name)
    if found is not None and found[0] == seq:
        return found[1]  # type: ignore[no-any-return]
    value = compute()
    with _lock:
        own.pop(name, None)
        own[name] = seq, value
        while len(own) > MOST_KEPT:
            del own[next(iter(own))]
    return value
