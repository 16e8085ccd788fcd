"""What every database of studies offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from partial_monitoring.errors import InvalidInput
from partial_monitoring.storage import migrations
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.handle import Handle
from partial_monitoring.storage.study import Study, created, read_study, study_name
from partial_monitoring.storage.tokens import Tokens
from partial_monitoring.validation import brief


class Upgraded(NamedTuple):
    """What was upgraded."""

    before: int
    latest: int
    kept: str
    """Where a copy of the database is, as it was."""
    changed: bool


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
    def reader(self) -> Handle:
        """Return another connection, which only reads; who asks for it closes it."""

    @abstractmethod
    def back_up(self, path: str | Path) -> None:
        """Copy the database as it is now to a new file, while it is in use."""

    @abstractmethod
    def _copied(self) -> str:
        """Copy the database before it is changed, if it can do so, and say where."""

    @property
    def tokens(self) -> Tokens:
        """Who may use it through a service."""
        return Tokens(self.handle)

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

    def study(
        self, name: str, spec: Mapping[str, Any] | None = None, *, created_at: float | None = None
    ) -> Study | None:
        """Return a study, which is created with a spec if one is given; None if it is not there."""
        study_name(name)
        with self._lock:
            found = self._known.get(name)
            if found is None:
                if spec is not None:
                    created(self.handle, name, spec, created_at)
                row = read_study(self.handle, name)
                if row is None:
                    return None
                found = self._known[name] = self._opened(name, *row)
            return found

    def rename(self, study: Study, new: str) -> None:
        """Give a study another name, at the end of its turn if this is one."""
        self._refuse_known(new)
        with study.turn():
            study.rename(new)
            study.then(partial(self._know, study, new))

    def replace(
        self, study: Study, old: str, spec: Mapping[str, Any], events: Sequence[Event] = ()
    ) -> None:
        """Let another study begin with a study's name, settings and state; that one is archived.

        ``old`` is the name of the archived one from now on, ``spec`` what plays in the other, and
        ``events`` are its first ones. All or nothing, at the end of the turn if this is one; until
        then :meth:`study` finds the old one.
        """
        self._refuse_known(old)
        with study.turn():
            study.succeeded(old, spec, events)
            study.then(partial(self._know, study, old))

    def _refuse_known(self, name: str) -> None:
        if read_study(self.handle, study_name(name)) is not None:
            raise InvalidInput(f"the database has a study {brief(name)} already.")

    def _know(self, study: Study, name: str) -> None:
        """Find a study by another name from now on."""
        with self._lock:
            self._known.pop(study.name, None)
            self._known[name], study.name = study, name

    @abstractmethod
    def _opened(self, name: str, number: int, spec: Any) -> Study:
        """Return a study from its row."""

    def schema(self) -> int:
        """Return the number of its schema."""
        return migrations.schema(self.handle)

    def upgrade(self) -> Upgraded:
        """Change the tables to those of this version, all or none; a file is copied first."""
        before, latest = self.schema(), len(migrations.scripts(self.handle.dialect))
        kept = ""
        if 0 < before < latest:
            migrations.step("copy")
            kept = self._copied()
            migrations.step("copied")
        return Upgraded(before, latest, kept, migrations.upgrade(self.handle) > 0)
