"""A learner whose decisions a service makes: how it is opened and copied, and what it knows.

Nothing is learned here. What is read of a study (what plays, its log) comes from the service, and
what can be computed from that (a confidence set, a picture) is computed as in any other learner.
"""

from __future__ import annotations

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import forks, snapshots
from partial_monitoring.learner.clock import Now, date
from partial_monitoring.learner.of_past import LearnerOfPast
from partial_monitoring.learner.open import OpenDecision
from partial_monitoring.learner.opening import DEFAULTS, settings_of
from partial_monitoring.learner.remote import creating
from partial_monitoring.learner.remote.address import read_address, read_token, study_path
from partial_monitoring.learner.remote.calls import Service
from partial_monitoring.learner.remote.decisions import is_decision
from partial_monitoring.learner.remote.log import RemoteLog
from partial_monitoring.learner.remote.outbox import InFile, InMemory
from partial_monitoring.learner.remote.sending import Sender
from partial_monitoring.learner.remote.statuses import read_status
from partial_monitoring.learner.status import Status, confidence_of
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import file_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNSAID = {"game": None, "policy": None, "seed": 0, "probe": 0.0, "device": None}
"""What plays, if nothing is said about it."""

TIMES = ("asked_at", "due_at")


class RemoteBase(LearnerOfPast):
    """A study of a service; threads may share it, each with a connection of its own."""

    _storage: RemoteLog

    def __init__(
        self,
        game: Any = None,
        policy: Any = None,
        seed: int = 0,
        *,
        probe: float = 0.0,
        storage: str,
        name: str | None = None,
        device: str | None = None,
        token: str | None = None,
        outbox: str | Path | None = None,
        **settings: Any,
    ) -> None:
        if device is not None:
            raise InvalidInput("device must be left out with the address of a service.")
        self._path, self._secret = study_path(name), read_token(token)
        self._name = str(name)
        self._begin_at(storage, None if outbox is None else file_path(outbox))
        given = {"game": game, "policy": policy, "seed": seed, "probe": probe, "device": None}
        said = settings_of(**settings)
        if said != DEFAULTS or given != UNSAID:
            self._spec = creating.opened(self._service, self._path, self._name, given, said)

    def _begin_at(self, storage: str, outbox: Path | None) -> None:
        self._storage_name, self._outbox_path = storage, outbox
        self._service = Service(read_address(storage), self._secret)
        self._storage = RemoteLog(self._service, self._path)
        kept = InMemory() if outbox is None else InFile(outbox, self._name)
        self._sender = Sender(self._service, self._path, kept, keeps=outbox is not None)
        self._folded: Any = None
        self._numbers: dict[str, int] = {}
        self._lock = RLock()
        forks.remember(self)

    def _open(self) -> None:
        """Go on in a process that was forked, with locks and connections of its own."""
        self._lock = RLock()
        self._service.reopen()
        self._sender.reopen()

    # -- what a copy has -----------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: no token, which a process has in PM_TOKEN, and no answers."""
        return {name: vars(self)[name] for name in ("_name", "_storage_name", "_outbox_path")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(state, None)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = object.__new__(type(self))
        copy._restore(self.__getstate__(), self._secret)
        return copy

    def _restore(self, state: dict[str, Any], token: str | None) -> None:
        self._name, self._path = state["_name"], study_path(state["_name"])
        self._secret = read_token(token)
        self._begin_at(state["_storage_name"], state["_outbox_path"])

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what the service knows: what plays, once, and what is known by now."""
            if name == "_spec":
                self._spec = found = creating.spec_at(self._service, self._path)
                return found
            if name == "_session" and "_service" in vars(self):
                return self._caught_up()
            raise AttributeError(f"a Learner has no attribute {name!r}.")

    def _caught_up(self) -> Any:
        """Return what is known after the last event, folded here from the log.

        A study that was edited has begun another log, which is folded from its start.
        """
        spec = creating.spec_at(self._service, self._path)
        if self._folded is None or spec.digest != self._spec.digest:
            self._spec, self._folded = spec, spec.start
        self._folded = found = snapshots.caught_up(self._spec, self._folded, self._storage)
        return found

    # -- what it knows -------------------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        """All that happened, in order, as plain rows; read page by page."""
        return list(self._storage.after())

    @property
    def round(self) -> int:
        """t: one more than the number of observations."""
        found = self._service.get(self._path)
        if not isinstance(found, dict) or type(found.get("round")) is not int:
            raise self._service.unexpected(self._path, found)
        return int(found["round"])

    @property
    def open(self) -> list[OpenDecision]:
        """The decisions that are waiting for their answers, in the order in which they were made.

        ``due`` is a time; it is None with a window of rounds, about which the service says nothing.
        """
        found = []
        for row in self._storage.waiting():
            try:
                found.append(_open_decision(row))
            except (KeyError, TypeError, ValueError, OverflowError):
                raise self._service.unexpected(f"{self._path}/decisions", row) from None
        return found

    def status(self, *, context: object = None) -> Status:
        """Return what each action earns, which may still be best, and where data and model clash.

        The service computes it.
        """
        name = context
        if context is not None and not isinstance(context, str):
            name = self._spec.context(context).name
            if not isinstance(name, str):
                raise InvalidInput("context must be a listed one for a status through a service.")
        where = "" if name is None else f"?context={quote(str(name), safe='')}"
        path = f"{self._path}/status"
        found = self._service.get(path + where)
        try:
            return read_status(found)
        except (KeyError, TypeError, AttributeError, IndexError):
            raise self._service.unexpected(path, found) from None

    def confidence_set(self, *, context: object = None) -> Any:
        """Return E_t, with the estimate and what is still plausible, folded here from the log."""
        session = self._caught_up()
        return confidence_of(self._spec, session, self._spec.context(context))

    def plot(self, ax: Any = None, *, context: object = None, title: str | None = None) -> Figure:
        """Draw what each action is estimated to earn, folded here from the log."""
        self._caught_up()
        return super().plot(ax, context=context, title=title)

    def statuses(self, *, most: int | None = None) -> dict[str | None, Status]:
        """Return the status of every context by its label, or of the first ones."""
        game: Any = self._spec.game
        names = game.contexts if game.traits.contexts else (None,)
        return {name: self.status(context=name) for name in names[:most]}

    def _facts(self) -> dict[str, str]:
        return {"storage": repr(str(self._service.address)), "name": repr(self._name)}

    def close(self) -> None:
        """Close the connection of this thread; the next call opens another one."""
        self._service.close()

    # -- what only the owner of a log can do ---------------------------------------------------

    def settle(self, *, now: Now = None) -> int:
        """Say that the service counts by itself what is due."""
        raise InvalidInput("settle is not for a client: the service counts what is due by itself.")

    def save(self, path: str | Path) -> NoReturn:
        """Say where the study is saved."""
        raise InvalidInput(
            "save is not for a client: the service keeps the study; 'pm store export' writes it."
        )

    def moved_to(self, *given: Any, **options: Any) -> NoReturn:
        """Say how a study moves to another game."""
        raise InvalidInput("moved_to is not for a client: the service edits a study (S/edit).")

    @classmethod
    def load(cls, *given: Any, **options: Any) -> Any:
        """Say what reads a learner."""
        raise InvalidInput("load is not for a client; use pm.Learner.load.")

    @classmethod
    def replay(cls, *given: Any, **options: Any) -> Any:
        """Say what replays events."""
        raise InvalidInput("replay is not for a client; use pm.Learner.replay.")


def _open_decision(row: dict[str, Any]) -> OpenDecision:
    if not is_decision({"probability": 1.0, **row}):
        raise ValueError
    since, due = (None if x is None else date(float(x)) for x in map(row.get, TIMES))
    known = row["action"], row["label"], row.get("context"), row["round"]
    return OpenDecision(row["id"], *known, since, due, row.get("observation"))
