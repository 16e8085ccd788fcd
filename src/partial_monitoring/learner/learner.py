"""The live interface: ask what to do, tell what was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeGuard, cast, overload

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import files, opening, snapshots
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.answers import refuse_repeated
from partial_monitoring.learner.clock import Now, seconds
from partial_monitoring.learner.corrections import amend
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.observations import one_per_decision
from partial_monitoring.learner.of_past import LearnerOfPast
from partial_monitoring.learner.remote.address import is_service
from partial_monitoring.learner.remote.client import Client
from partial_monitoring.learner.session import Request
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.status import Status, confidence_of, status_of
from partial_monitoring.learner.votes import UNSAID, Votes
from partial_monitoring.learner.window import Window
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.policies.policy import Policy
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.memory import Memory
from partial_monitoring.storage.opened import MEMORY, AnyStorage
from partial_monitoring.validation import boolean, brief, items, whole_number

Available = Iterable[int | str] | None

Named = Decision | str | int
"""A decision, or its id."""

StepOf = Callable[[Spec, Session, Request], steps.Step]

MOST_ASKED = 1_000_000
"""Largest number of decisions that are made at once."""


class Learner(LearnerOfPast):
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
    window
        How long decisions wait for their answers, see :class:`partial_monitoring.Window`: needed if
        how late an answer comes depends on what it is. Unless given, answers count at once, and
        decisions wait for ever.
    storage
        Where its log is kept: "memory", and in the file when it is saved; a path (lines are added
        to a file, see :class:`LogFile`); the address of a database, ``sqlite:///shop.db`` or
        ``postgresql://host/shop``; None (nowhere, without ``history``); or an object with the
        methods of a ``LogFile``. It resumes from events that are already there. With the address of
        a service, ``https://decide.corp:8787``, that decides: see :class:`RemoteLearner`.
    name
        Of the study, in a database. One that is there is opened, and the game, the policy and all
        else may be left out; what is given must be the same.
    device
        "cuda" to keep the features of a linear bandit on an NVIDIA GPU, and decide there.
    token
        With the address of a service: "pm_...", or the environment variable PM_TOKEN has it.
    outbox
        With the address of a service: a file in which answers wait while it is away.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    >>> decision = learner.ask()
    >>> learner.tell(decision, "yes")
    >>> learner.round
    2
    """

    def __new__(cls, *given: Any, storage: AnyStorage = MEMORY, **options: Any) -> Self:
        """Return a new learner, for the address of a service a client of it."""
        if cls is Learner and is_service(storage):
            return cast(Self, object.__new__(RemoteLearner))
        return object.__new__(cls)

    def __init__(
        self,
        game: AnyGame | str | None = None,
        policy: Policy[Any] | str | None = None,
        seed: int = 0,
        *,
        allow_hopeless: bool = False,
        probe: float = 0.0,
        pending: str = "expected",
        window: Window | None = None,
        storage: AnyStorage = MEMORY,
        name: str | None = None,
        device: str | None = None,
        token: str | None = None,
        outbox: str | Path | None = None,
    ) -> None:
        opening.only_with_service(token=token, outbox=outbox)
        settings = opening.settings_of(
            allow_hopeless=allow_hopeless, pending=pending, window=window
        )
        given = {"game": game, "policy": policy, "seed": seed, "probe": probe, "device": device}
        spec, found = opening.opened(given, settings, storage, name)
        self._begin(spec, snapshots.opened(spec, found), found)

    __new__.__wrapped__ = __init__  # type: ignore[attr-defined]  # whose arguments help() shows

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
        window: Window | None = None,
        check: bool = False,
    ) -> Learner:
        """Return the learner to which the given events have happened.

        Parameters
        ----------
        game, policy, seed, allow_hopeless, probe, pending, window
            As for :class:`Learner`.
        events
            The ``events`` of another learner. Decisions are taken from them.
        check
            Compute every decision again, and refuse events in which one is different.
        """
        rows = items("events", events)
        options: dict[str, Any] = {"allow_hopeless": allow_hopeless, "probe": probe}
        learner = cls(game, policy, seed, **options, pending=pending, window=window)
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
    def ask(
        self, *, context: object = None, available: Available = None, now: Now = None
    ) -> Decision: ...
    @overload
    def ask(
        self, *, context: object = None, available: Available = None, count: int, now: Now = None
    ) -> list[Decision]: ...
    def ask(
        self,
        *,
        context: object = None,
        available: Available = None,
        count: int | None = None,
        now: Now = None,
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
        now
            The time of the decision, a ``datetime`` with a zone or seconds since 1970; that of the
            system's clock unless given. A time before that of an earlier decision counts as that.
        """
        if count is not None:
            whole_number("count", count, at_least=1, at_most=MOST_ASKED)
        if available is not None:
            available = items("available", available, " of actions")
        made: list[Any] = []
        events: list[Event] = []
        time = seconds(now)
        request = {"context": context, "available": available, "now": time}
        with self._turn(), self._spec.patience:
            request["token"], session = self._token, self._session
            for _ in range(count or 1):
                session = self._settled(session, time, events)
                step = steps.decide(self._spec, session, request)
                session = steps.advance(self._spec, session, step)
                made.append(step.decision)
                events.append(step.event)
            self._publish(session, events)
        return made[0] if count is None else made

    def tell(
        self,
        decision: Named | Sequence[Named],
        observation: Any = UNSAID,
        *,
        action: Any = None,
        wins: int | None = None,
        of: int | None = None,
        now: Now = None,
    ) -> None:
        """Report what was observed after a decision, given itself or by its id, in any order.

        For a list of decisions, ``observation`` and ``action`` are lists as well; either all of
        them are accepted or none. (The ids of decisions that earlier versions saved are whole
        numbers.)

        Parameters
        ----------
        decision
            The decision, or its id.
        observation
            In finite games the signal, in others a vector with the observations of the action (or
            one of full length, with 0, NaN or None where the action shows nothing). None if no
            answer will come: the decision is closed and nothing is learned. (Of an action that
            shows nothing, and of one with a signal None, None is the observation.)
        action
            The action that was taken, by label or number: if it is given, and not that of the
            decision, the answer is refused.
        wins, of
            In duels that show who won, instead of an observation: of how many votes the first item
            has won how many.
        now
            The time, as for ``ask``, for windows: an answer to a decision that is due by then comes
            too late; the log and ``history`` have it, but it does not count.
        """
        if wins is not None or of is not None:
            observation = Votes.told(observation, wins, of)
        elif observation is UNSAID:
            raise InvalidInput("observation must be given, or wins and of in a duel.")
        time = seconds(now)
        if not _are_several(decision):
            with self._turn():
                told = {"decision": decision, "observation": observation, "action": action}
                self._observe([told], now=time)
            return
        given = {"observation": observation} | ({} if action is None else {"action": action})
        rows = one_per_decision(list(decision), given)
        refuse_repeated([row["decision"] for row in rows])
        with self._turn():
            self._observe(rows, now=time)

    def cancel(self, decision: Named | Sequence[Named]) -> None:
        """Close a decision, or a list of them, whose action was never taken: it does not count.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
        >>> learner.cancel(learner.ask())
        >>> learner.open, learner.history
        ([], [])
        """
        given = list(decision) if _are_several(decision) else [decision]
        refuse_repeated(given)
        with self._turn():
            self._observe([{"decision": name} for name in given], steps.cancel)

    def amend(self, decision: Named | Sequence[Named], observation: Any) -> None:
        """Correct the answer to a decision, or to several, that are closed or wait to be due.

        What is known is then exactly as if this observation (None: no answer) had been told in the
        first place; decisions that were made in between stay what they were. It takes as long as to
        learn from all events again, and needs them all.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
        >>> decision = learner.ask()
        >>> learner.tell(decision, "no")
        >>> learner.amend(decision, "yes")
        >>> [row["observation"] for row in learner.history]
        ['yes']
        """
        if _are_several(decision):
            rows = one_per_decision(list(decision), {"observation": observation})
        else:
            rows = [{"decision": decision, "observation": observation}]
        with self._turn(), self._spec.patience:
            self._publish(*amend(self._spec, self._session, self._storage.after, rows))

    def reset(self) -> None:
        """Forget what was learned, because the world has changed: the next ask starts anew.

        The log stays, decisions stay open, and their answers will be learned from. For a world that
        keeps changing, policies have ``half_life``.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting())
        >>> learner.tell_past(["taste"] * 30, ["rotten"] * 30)
        >>> learner.reset()
        >>> learner.confidence_set().estimate, len(learner.events)
        (array([[0.5, 0.5]]), 31)
        """
        with self._turn():
            event = {"seq": self._session.seq + 1, "kind": "reset"}
            self._publish(steps.fold(self._spec, self._session, event), [event])

    def settle(self, *, now: Now = None) -> int:
        """Count the decisions that are due by a time, and return how many they are.

        With a window, ``ask`` and ``tell`` do so before anything else.
        """
        with self._turn(), self._spec.patience:
            events: list[Event] = []
            self._publish(self._settled(self._session, seconds(now), events), events)
        return len(events)

    def _observe(
        self,
        requests: Iterable[Request],
        step_of: StepOf = steps.observe,
        now: float | None = None,
    ) -> None:
        """Accept all that is reported, or nothing of it if a part is refused; under the lock.

        Decisions that are due at a given time count before.
        """
        events: list[Event] = []
        with self._spec.patience:
            session = self._session if now is None else self._settled(self._session, now, events)
            for request in requests:
                step = step_of(self._spec, session, request)
                session = steps.advance(self._spec, session, step)
                events.append(step.event)
        self._publish(session, events)

    # -- what it knows -----------------------------------------------------------------------

    def confidence_set(self, *, context: object = None) -> Any:
        """Return E_t, with the estimate and what is still plausible; with contexts, in one."""
        return confidence_of(self._spec, self._session, self._spec.context(context))

    def status(self, *, context: object = None) -> Status:
        """Return what each action earns, which may still be best, and where data and model clash.

        In games with contexts, the status is that of one of them.

        >>> import partial_monitoring as pm
        >>> learner = pm.Learner(pm.games.apple_tasting(), pm.IDS())
        >>> learner.tell_past(["taste"] * 200, ["good"] * 180 + ["rotten"] * 20)
        >>> status = learner.status()
        >>> status.table["sell"].may_be_best, status.table["taste"].plays, status.plausible
        (True, 200, ['sell'])
        """
        return status_of(self._spec, self._session, self._spec.context(context))

    # -- save and load -----------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write all but a log elsewhere, whole or not at all; loaded again, it decides the same."""
        files.write(path, self._spec, self._session, self._storage)

    @classmethod
    def load(cls, path: str | Path, *, storage: AnyStorage = MEMORY) -> Learner:
        """Read a learner that was saved; a file that is damaged or not consistent is refused.

        A log elsewhere must be named again. Events in the file move to an empty storage.
        """
        learner = cls.__new__(cls)
        learner._begin(*files.read(path, storage))
        return learner


class RemoteLearner(Client, Learner):
    """A learner whose decisions a service makes, which ``Learner`` is for the address of one.

    ``ask``, ``tell`` and all else are the same, but nothing is learned here: see the page on
    clients for what a service adds (keys, fallbacks, an outbox) and what only it can do.
    """


def _are_several(decision: Any) -> TypeGuard[Sequence[Named]]:
    """Whether decisions are given as a list."""
    return not isinstance(decision, (Decision, str)) and isinstance(decision, Sequence)
