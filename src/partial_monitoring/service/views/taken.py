"""A study as a view sees it: a value that does not change while it is read."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.model.any_game import Context
from partial_monitoring.storage.database import Database
from partial_monitoring.storage.handle import Handle

T = TypeVar("T")

_lock = Lock()

MOST_KEPT = 32
"""Largest number of answers that are kept for a study."""


class Taken(NamedTuple):
    """What plays, what is known after the last event, and where the events are.

    Sessions are never changed, so no lock is held while a view is computed.
    """

    spec: Spec
    session: Session
    storage: Any
    """Its log, read through a connection that nobody writes with."""
    before: tuple[Any, ...] = ()
    """The logs of the study before it was edited, the latest first."""

    def context(self, given: Any = None) -> Context:
        """Return the game of a context; the first one of the game unless one is given."""
        game: Any = self.spec.game
        if given is None and game.traits.contexts:
            return self.spec.context(game.contexts[0])
        return self.spec.context(given)


def taken(hosted: LearnerBase) -> Taken:
    """Return a study as it is now."""
    spec, session = hosted._spec, hosted._session
    storage: Any = hosted._storage
    database = getattr(hosted, "database", None)
    if database is None:  # a learner that is not served
        return Taken(spec, session, storage)
    reader = reader_of(database)
    before = tuple(own.through(reader) for own in getattr(hosted, "before", ()))
    return Taken(spec, session, storage.through(reader), before)


_readers: WeakKeyDictionary[Database, Handle] = WeakKeyDictionary()


def reader_of(database: Database) -> Handle:
    """Return the connection through which the views of a database read."""
    with _lock:
        found = _readers.get(database)
        if found is None:
            found = _readers[database] = database.reader()
        return found


def close_reader(database: Database) -> None:
    """End the connection through which the views of a database read."""
    with _lock:
        found = _readers.pop(database, None)
    if found is not None:
        found.close()


# -- what was computed for the last event -----------------------------------------------------

_known: WeakKeyDictionary[LearnerBase, dict[Hashable, tuple[Hashable, Any]]] = WeakKeyDictionary()


def remembered(hosted: LearnerBase, name: Hashable, seq: Hashable, compute: Callable[[], T]) -> T:
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
