"""What a learner holds, how it moves on, and what can be read of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy, deepcopy
from threading import RLock
from typing import Any, Self

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import forks, snapshots
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.amending import history_of
from partial_monitoring.learner.due import first_due
from partial_monitoring.learner.identity import new_token
from partial_monitoring.learner.open import OpenDecision, open_decisions
from partial_monitoring.learner.shown import Shown
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.window import Window
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.policy import Policy
from partial_monitoring.storage.base import NONE, Event, Storage, log_of, plain
from partial_monitoring.validation import Array


class LearnerBase(Shown):
    """A spec, a session and the storage of its events, under a lock.

    The session is a value; ``_publish`` is the only way in which a learner moves on to another.
    """

    _storage: Storage

    def _begin(self, spec: Spec, session: Session, storage: Storage) -> None:
        self._spec, self._session, self._storage = spec, session, storage
        self._open()

    def _open(self) -> None:
        """Start to decide, under a token and with a lock of its own."""
        self._lock, self._token = RLock(), new_token()
        self._defers = bool(getattr(self._storage, "defers", False))
        self._taken: Any = getattr(self._storage, "turn", None)
        self._unless_stored: Any = getattr(self._storage, "unless_stored", None)
        forks.remember(self)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            found = {name: self.__dict__[name] for name in ("_spec", "_session", "_storage")}
            if log_of(self._storage) == NONE:  # others can be read from where the session is
                found["_storage"] = copy(self._storage)
            return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()
        self._catch_up()  # the storage may have been copied later than the session

    def __copy__(self) -> Self:
        return deepcopy(self)  # two learners must not write to one log

    # -- what it uses ------------------------------------------------------------------------

    @property
    def game(self) -> AnyGame:
        """The game."""
        return self._spec.game

    @property
    def policy(self) -> Policy[Any]:
        """What decides; with probes, a :class:`partial_monitoring.Probing`."""
        return self._spec.policy

    @property
    def seed(self) -> int:
        """What everything random follows from."""
        return self._spec.seed

    @property
    def allow_hopeless(self) -> bool:
        """Whether a game in which the best action cannot be identified was allowed."""
        return bool(self._spec.settings["allow_hopeless"])

    @property
    def window(self) -> Window | None:
        """How long decisions wait for their answers, if that is limited."""
        return self._spec.window

    @property
    def round(self) -> int:
        """t: one more than the number of observations."""
        return self._session.round

    @property
    def regularization(self) -> float:
        """lambda, as used."""
        return float(self._model.regularization)

    @property
    def prior_mean(self) -> Array:
        """theta_0, as used."""
        return np.asarray(self._model.prior_mean)

    @property
    def norm_bound(self) -> float:
        """B, as used."""
        return float(self._model.norm_bound)

    @property
    def noise_std(self) -> float:
        """rho, as used; 1 if the noise depends on the action."""
        return float(self._model.noise_std)

    @property
    def _model(self) -> Any:
        """The model of the state, or of its estimate."""
        found = getattr(self._session.state, "design", None)
        if found is None:
            raise InvalidInput(f"{type(self.policy).__name__} has no model whose options to show.")
        return found

    # -- its log -----------------------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        """All that happened, in order, as plain rows; rows are only ever added.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting(), seed=1)
        >>> learner.tell_past(["taste"], ["good"])
        >>> learner.events
        [{'seq': 1, 'kind': 'history', 'action': 0, 'label': 'taste', 'observation': 'good'}]
        """
        with self._lock:
            return list(self._storage.after())

    @property
    def open(self) -> list[OpenDecision]:
        """The decisions that are waiting for their answers, in the order in which they were made.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
        >>> decision = learner.ask(now=0)
        >>> [own.label == decision.label for own in learner.open]
        [True]
        """
        return open_decisions(self._spec, self._session)

    @property
    def history(self) -> list[dict[str, Any]]:
        """One row of plain data per decision: what it was, and the observation, as amended.

        The observation is None while it is awaited and if no answer came. Cancelled decisions are
        left out. What was told by ``tell_past`` is there, too, with the id None.
        """
        return history_of(self.events)

    # -- how it moves on ---------------------------------------------------------------------

    def _turn(self) -> AbstractContextManager[Any]:
        """In which this thread alone uses the learner, and it alone a storage that is shared."""
        return self._lock if self._taken is None else self._in_turn()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Fold what others have appended; if what follows is not stored, it has not happened.

        Whoever waits for a turn holds no lock that the one who has it may need.
        """
        before = self._session

        def go_back() -> None:
            with self._lock:
                self._session = before
                with suppress(Exception):
                    self._catch_up()

        try:
            with self._taken() as last, self._lock:
                if last != self._session.seq:
                    self._catch_up()
                before = self._session
                if self._unless_stored is not None:
                    self._unless_stored(go_back)
                yield
        except BaseException:
            if self._unless_stored is None:
                go_back()
            raise

    def _settled(self, session: Session, now: float, events: list[Event]) -> Session:
        """Return a session with all decisions counted that are due; add the events that say so."""
        if self._spec.window is None:
            return session
        session, step = first_due(self._spec, session, now)
        while step is not None:
            events.append(step.event)
            session = steps.advance(self._spec, session, step)
            session, step = first_due(self._spec, session, now)
        return session

    def _publish(self, session: Session, events: list[Event]) -> None:
        """Move on to a session, after the events that lead to it are stored."""
        try:
            self._storage.append(events if self._defers else list(map(plain, events)))
            before, self._session = self._session, session
            snapshots.keep(self._spec, before, session, self._storage)
        except BaseException:  # an interruption may come when they are stored already
            with suppress(Exception):
                self._catch_up()
            raise

    def _catch_up(self) -> None:
        """Move on to the session after all events that are stored."""
        self._session = snapshots.caught_up(self._spec, self._session, self._storage)
