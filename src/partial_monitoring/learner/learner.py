"""The live interface: ask what to do, tell what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from threading import RLock
from typing import Any, overload

import numpy as np

from partial_monitoring import display
from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import files, forks, past
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.identity import new_token
from partial_monitoring.learner.observations import history_of
from partial_monitoring.learner.session import Request, open_decision
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.status import Status, confidence_of, status_of
from partial_monitoring.learner.votes import UNSAID, vote
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies import name_of
from partial_monitoring.policies.policy import PENDING, Policy
from partial_monitoring.storage.base import Event, Storage, plain
from partial_monitoring.storage.memory import Memory
from partial_monitoring.validation import Array, boolean, brief, items, one_of, whole_number

STORAGE = ("append", "after", "keep", "latest")
"""The methods of a storage."""

Available = Iterable[int | str] | None

MOST_ASKED = 1_000_000
"""Largest number of decisions that are made at once."""


class Learner:
    """A policy that learns from one live problem; threads may share it.

    Parameters
    ----------
    game
        The game, or the name of one of ``pm.games``.
    policy
        What decides, or the name of one of ``pm.policies``; ``pm.Calibrated()`` unless given.
    seed
        Everything random follows from it: the same seed, answers and order give the same decisions.
    allow_hopeless
        Play a game in which the best action cannot be identified, instead of refusing it.
    probe
        The share of decisions that are drawn uniformly from the actions that are available, so that
        other policies can be evaluated from the log, see :class:`partial_monitoring.Probing`.
    pending
        "expected": decisions are made as if open ones had been answered as expected, if the policy
        can do so (``expecting`` of :class:`partial_monitoring.Policy`), so that many of them differ
        as they would with answers; "ignored": as if nothing were open.
    storage
        Where its events are kept, in memory unless given; it resumes from those already there.
    device
        "cuda" to keep the features of a linear bandit on an NVIDIA GPU, and decide there.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    >>> decision = learner.ask()
    >>> learner.tell(decision, "yes")
    >>> learner.round
    2
    """

    def __init__(
        self,
        game: AnyGame | str,
        policy: Policy[Any] | str | None = None,
        seed: int = 0,
        *,
        allow_hopeless: bool = False,
        probe: float = 0.0,
        pending: str = "expected",
        storage: Storage | None = None,
        device: str | None = None,
    ) -> None:
        settings = {
            "allow_hopeless": boolean("allow_hopeless", allow_hopeless),
            "pending": one_of("pending", pending, PENDING),
        }
        spec = Spec(game, policy, seed, settings, probe=probe, device=device)
        if not allow_hopeless:
            refuse_hopeless(spec.game)
        storage = Memory() if storage is None else storage
        if not all(callable(getattr(storage, name, None)) for name in STORAGE):
            raise InvalidInput(
                f"storage must have the methods {', '.join(STORAGE)}; got {brief(storage)}."
            )
        self._begin(spec, steps.restore(spec, storage.latest(), storage.after()), storage)

    def _begin(self, spec: Spec, session: Session, storage: Storage) -> None:
        self._spec, self._session, self._storage = spec, session, storage
        self._open()

    def _open(self) -> None:
        """Start to decide, under a token and with a lock of its own."""
        self._lock, self._token = RLock(), new_token()
        self._defers = bool(getattr(self._storage, "defers", False))
        forks.remember(self)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: self.__dict__[name] for name in ("_spec", "_session", "_storage")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()
        self._catch_up()  # the storage may have been copied later than the session

    def __copy__(self) -> Learner:
        return deepcopy(self)  # two learners must not write to one log

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self._facts().items())
        return f"Learner({facts})"

    def _repr_html_(self) -> str:
        rows = [(display.TableCell(x), display.TableCell(y)) for x, y in self._facts().items()]
        return display.as_html([display.Sheet("Learner", ("", ""), tuple(rows))])

    def _facts(self) -> dict[str, str]:
        return {
            "game": brief(self.game),
            "policy": name_of(self.policy),
            "round": str(self.round),
            "open": str(len(self._session.open)),
        }

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
    def history(self) -> list[dict[str, Any]]:
        """One row of plain data per decision: what it was, and the observation."""
        return history_of(self.events)

    @classmethod
    def replay(
        cls,
        game: AnyGame | str,
        policy: Policy[Any] | str | None = None,
        seed: int = 0,
        events: Iterable[Event] = (),
        *,
        allow_hopeless: bool = False,
        probe: float = 0.0,
        pending: str = "expected",
        check: bool = False,
    ) -> Learner:
        """Return the learner to which the given events have happened.

        Parameters
        ----------
        game, policy, seed, allow_hopeless, probe, pending
            As for :class:`Learner`.
        events
            The ``events`` of another learner. Decisions are taken from them.
        check
            Compute every decision again, and refuse events in which one is different.
        """
        rows = items("events", events)
        options: dict[str, Any] = {"allow_hopeless": allow_hopeless, "probe": probe}
        learner = cls(game, policy, seed, **options, pending=pending)
        session, differences = steps.replay(learner._spec, rows, check=boolean("check", check))
        for logged, computed in differences:
            raise InvalidInput(
                f"events must be what this learner decides; it decides "
                f"{brief(computed['label'])} with "
                f"probability {computed['probability']:g} where event {logged['seq']} has "
                f"{brief(logged['label'])} with {logged['probability']:g}."
            )
        learner._begin(learner._spec, session, Memory(rows))
        return learner

    # -- ask and tell ------------------------------------------------------------------------

    @overload
    def ask(self, *, context: object = None, available: Available = None) -> Decision: ...
    @overload
    def ask(
        self, *, context: object = None, available: Available = None, count: int
    ) -> list[Decision]: ...
    def ask(
        self, *, context: object = None, available: Available = None, count: int | None = None
    ) -> Decision | list[Decision]:
        """Return the next decision, or a list of the next ones.

        Parameters
        ----------
        context
            What is seen before acting, only in games with contexts: one of theirs by label or
            index, or an unlisted one, as a ``Game`` over the same parameters or as a dict with its
            ``features`` and ``observation_maps``.
        available
            The actions that can be played this time; all of them unless given.
        count
            How many decisions to make at once, as by asking as often; all are stored, or none.
        """
        if count is not None:
            whole_number("count", count, at_least=1, at_most=MOST_ASKED)
        if available is not None:
            available = items("available", available, " of actions")
        made: list[Any] = []
        with self._lock, self._spec.patience:
            request, session = {"context": context, "available": available}, self._session
            for _ in range(count or 1):
                made.append(steps.decide(self._spec, session, {**request, "token": self._token}))
                session = steps.advance(self._spec, session, made[-1])
            self._publish(session, [step.event for step in made])
        return made[0].decision if count is None else [step.decision for step in made]

    def tell(
        self,
        decision: Decision | str | int | Sequence[Decision | str | int],
        observation: Any = UNSAID,
        *,
        wins: int | None = None,
        of: int | None = None,
    ) -> None:
        """Report what was observed after a decision, given itself or by its id, in any order.

        (The ids of decisions that earlier versions saved are whole numbers.)
        In finite games it is the signal, in others a vector with the observations of the action
        (or one of full length, whose padding is ignored). For a list of decisions it is a list of
        observations; either all of them are accepted or none. In duels that show who won, ``wins``
        says how many ``of`` several votes went to the first item.
        """
        if wins is not None or of is not None:
            with self._lock:
                self._observe([vote(decision, observation, wins, of)])
            return
        if observation is UNSAID:
            raise InvalidInput("observation must be given, or wins and of in a duel.")
        if isinstance(decision, (Decision, str)) or not isinstance(decision, Sequence):
            with self._lock:
                self._observe([{"decision": decision, "observation": observation}])
            return
        observations = items("observation", observation, ", one entry per decision")
        decisions = list(decision)
        if len(decisions) != len(observations):
            raise InvalidInput(
                f"observation must hold one entry per decision, {len(decisions)}; got "
                f"{len(observations)}."
            )
        with self._lock:
            names = [open_decision(self._session, item).event["decision"] for item in decisions]
            if len(set(names)) < len(names):
                raise InvalidInput("decision must not name the same decision twice.")
            self._observe(
                {"decision": name, "observation": seen}
                for name, seen in zip(names, observations, strict=True)
            )

    def tell_past(
        self,
        actions: Any,
        observations: Iterable[Any] | None = None,
        contexts: Iterable[Any] | None = None,
        *,
        counts: Iterable[int] | None = None,
        weights: Iterable[float] | None = None,
        probabilities: Iterable[float] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Start from logged data: actions that were played before and what was observed after them.

        Parameters
        ----------
        actions
            What was played; or a table, a data frame or a dict of lists, with the columns action
            and observation, and context, count, weight and probability if there are any.
        observations
            What each of them showed.
        contexts
            In games with contexts, those in which they were played.
        counts
            How often each row came: daily aggregates need not be expanded.
        weights
            By how much each row counts, for policies that learn by least squares: an average of n
            observations has weight n.
        probabilities
            With which the actions were chosen, for policies and off-policy values that weight by
            them.
        columns
            The names of the columns of a table that are called otherwise, as in
            ``{"action": "price"}``; of an observation with several entries, a list of names.
        """
        given = {"actions": actions, "observations": observations, "contexts": contexts}
        given |= {"counts": counts, "weights": weights, "probabilities": probabilities}
        rows = past.read_rows(given, columns)
        with self._lock:
            self._publish(*past.told(self._spec, self._session, rows))

    def _observe(self, requests: Iterable[Request]) -> None:
        """Accept all observations, or none of them if one is refused; under the lock."""
        session, events = self._session, []
        with self._spec.patience:
            for request in requests:
                step = steps.observe(self._spec, session, request)
                session = steps.advance(self._spec, session, step)
                events.append(step.event)
        self._publish(session, events)

    def _publish(self, session: Session, events: list[Event]) -> None:
        """Move on to a session, after the events that lead to it are stored."""
        try:
            self._storage.append(events if self._defers else list(map(plain, events)))
            self._session = session
        except BaseException:  # an interruption may come when they are stored already
            with suppress(Exception):
                self._catch_up()
            raise

    def _catch_up(self) -> None:
        """Move on to the session after all events that are stored."""
        for event in self._storage.after(self._session.seq):
            self._session = steps.fold(self._spec, self._session, event)

    # -- what it knows -----------------------------------------------------------------------

    def confidence_set(self, *, context: object = None) -> Any:
        """Return E_t, with the estimate and what is still plausible; with contexts, in one."""
        return confidence_of(self._spec, self._session, self._spec.context(context))

    def status(self, *, context: object = None) -> Status:
        """Return which actions may still be best, what is at risk, and where data and model clash.

        In games with contexts, the status is that of one of them.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting(), pm.IDS())
        >>> learner.tell_past(["taste"] * 200, ["good"] * 180 + ["rotten"] * 20)
        >>> print(learner.status())
        Round 201: 'sell' looks best.
        No other action can be best any more, if the model holds.
        Certified: the bound of its expected regret holds, if the model does.
        """
        return status_of(self._spec, self._session, self._spec.context(context))

    # -- save and load -----------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to a file, whole or not at all; loaded again, it decides the same."""
        with self._lock:
            session, events = self._session, list(self._storage.after())
        files.write(path, self._spec, session, events)

    @classmethod
    def load(cls, path: str | Path) -> Learner:
        """Read a learner that was saved; a file that is damaged or not consistent is refused."""
        spec, session, events = files.read(path)
        learner = cls.__new__(cls)
        learner._begin(spec, session, Memory(events))
        return learner
