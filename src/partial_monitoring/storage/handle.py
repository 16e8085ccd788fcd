"""A connection to a database, as studies use it; SQL has ``?`` where a value goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

from partial_monitoring.storage.rows import EventRow

Row = tuple[Any, ...]

STUDY = "SELECT version, state, settings, created_at FROM pm_study WHERE id ="
"""What a turn begins with."""


class Together(Protocol):
    """Turns of several studies, which end with one commit."""

    @property
    def mine(self) -> bool:
        """Whether this thread is in it."""

    def join(self, own: Any) -> None:
        """Keep the turn of a study until the end."""

    def together(self) -> AbstractContextManager[None]:
        """In which they are one."""


class Handle(ABC):
    """A connection that threads may share: one statement, or one transaction, at a time."""

    dialect: ClassVar[str]
    """The folder of its scripts."""
    indexed: ClassVar[str] = ""
    """What a table is followed by, to say which index a query goes by; ``{}`` is its name."""
    address: str
    """Of the database, without a password."""
    owns: bool = False
    """Whether nobody else can write to the database."""
    group: Together | None = None
    """What turns of several studies may be, on one connection."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """In which statements are all done or none; one inside another is part of it."""

    @abstractmethod
    def turn(self, number: int) -> AbstractContextManager[list[Row] | None]:
        """In which a study is read, decided on and appended to, with others kept out.

        It gives the row of the study, if others may have changed it and it was read therefore.
        """

    @abstractmethod
    def take_long(self) -> None:
        """In a turn: let it go on although nothing is read or written for a while."""

    @abstractmethod
    def append(self, number: int, rows: Sequence[EventRow], *, last: bool) -> bool:
        """Append events to a study; False if they do not follow its last one.

        This is the ``last`` that happens in a turn, or else a part of a transaction.
        """

    def alone(self) -> AbstractContextManager[None]:
        """In a transaction: one in which nobody else makes or changes tables."""
        return nullcontext()

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement in a transaction, and return how many rows it has changed."""

    @abstractmethod
    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        """Run a statement in a transaction, for each of several rows of values."""

    @abstractmethod
    def script(self, sql: str) -> None:
        """Run several statements, which have no values, in a transaction."""

    @abstractmethod
    def tables(self) -> set[str]:
        """Return the names of the tables that begin with ``pm_``."""

    @abstractmethod
    def problems(self) -> list[str]:
        """Return what the database itself finds wrong with its files, in sentences."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""
