"""What every database of studies offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

from partial_monitoring.storage import migrations
from partial_monitoring.storage.handle import Handle
from partial_monitoring.storage.study import Study, created, read_study, study_name


class Database(ABC):
    """Studies by name. It stays open as long as it, or one of its studies, is in use.

    Parameters
    ----------
    given
        The address, as it is needed to open the database again.
    """

    def __init__(self, given: str) -> None:
        self.given = given
        self._known: WeakValueDictionary[str, Study] = WeakValueDictionary()
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        return self.handle.address

    @property
    @abstractmethod
    def handle(self) -> Handle:
        """A connection for all but the turns of a study."""

    @abstractmethod
    def close(self) -> None:
        """End all connections; studies that are still in use are refused then."""

    @abstractmethod
    def back_up(self) -> str:
        """Copy the database before it is changed, if it can do so, and say where."""

    def together(self) -> AbstractContextManager[None]:
        """In which the turns of this thread, of all studies, end with one commit.

        Until then, nobody else has a turn of these studies. If it fails, nothing has happened. On
        PostgreSQL, a study has a connection of its own, and every turn its commit.
        """
        group = self.handle.group
        return nullcontext() if group is None else group.together()

    def names(self) -> list[str]:
        """Return the names of all studies, in the order in which they were created."""
        return [str(row[0]) for row in self.handle.rows("SELECT name FROM pm_study ORDER BY id")]

    def study(self, name: str, spec: Mapping[str, Any] | None = None) -> Study | None:
        """Return a study, which is created with a spec if one is given; None if it is not there."""
        study_name(name)
        with self._lock:
            found = self._known.get(name)
            if found is None:
                if spec is not None:
                    created(self.handle, name, spec)
                row = read_study(self.handle, name)
                if row is None:
                    return None
                found = self._known[name] = self._opened(name, *row)
            return found

    @abstractmethod
    def _opened(self, name: str, number: int, spec: Any) -> Study:
        """Return a study from its row."""

    def schema(self) -> int:
        """Return the number of its schema."""
        return migrations.schema(self.handle)
