"""A learner as a fold of its log: the events in their order make what it knows. No input or output.

``decide`` and ``observe`` compute an event and change nothing; ``fold`` is the only way in which a
session moves on. Events are plain data. They name actions and contexts by label and carry the
observation as it was reported, so that a log can be folded again, by another version as well:

- ``ask``: decision, round, action, label, probability; context and available if they were given;
- ``tell``: decision, observation;
- ``history``: action, label, observation, of a time before the learner; context if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring import randomness
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.beliefs import signal_of
from partial_monitoring.learner.counts import Counts
from partial_monitoring.learner.decision import Decision, written
from partial_monitoring.learner.persistent import PersistentMap
from partial_monitoring.learner.states import saved, with_arrays
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.game import Game
from partial_monitoring.model.observation import observation_vector, plain
from partial_monitoring.model.place import Place, place_of
from partial_monitoring.policies import policy_from_dict, policy_to_dict
from partial_monitoring.policies.ids.ids import IDS
from partial_monitoring.policies.policy import Choices, Policy, is_policy, started, uniforms_of
from partial_monitoring.storage.base import Event, Snapshot
from partial_monitoring.validation import Array, is_whole

MOST_MASKED = 10**8
"""The largest number of actions among which ``available`` may be given."""

Request = Mapping[str, Any]
"""What is asked or reported: ``context`` and ``available`` of an ask, ``decision`` and
``observation`` of a tell, ``action``, ``observation`` and ``context`` of logged data."""


class Waiting(NamedTuple):
    """A decision whose observation is still to come."""

    event: Event
    """The ask."""
    place: Place
    action: int


@dataclass(frozen=True, eq=False, slots=True)
class Session:
    """What a learner knows after some events; its size does not grow with their number.

    Unless the state of its policy does, as that of games with a kernel.
    """

    state: Any
    """Of the policy."""
    seq: int = 0
    """The number of the last event."""
    asked: int = 0
    told: int = 0
    """The number of observations."""
    open: PersistentMap[int, Waiting] = field(default_factory=PersistentMap)
    """The decisions whose observations are still to come, by number."""
    counts: Counts = field(default_factory=Counts)

    @property
    def round(self) -> int:
        """t: one more than the number of observations."""
        return 1 + self.told


class Spec:
    """What a learner plays and how, built once: a game, a policy, a seed and settings.

    Parameters
    ----------
    game, policy, seed
        As for :class:`Learner`.
    settings
        Anything else that is kept with them, as plain data.
    """

    def __init__(
        self,
        game: AnyGame,
        policy: Policy[Any] | None = None,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(game, Game | ContextualGame):
            raise InvalidInput(f"game must be a Game or a ContextualGame; got {game!r}.")
        policy = IDS() if policy is None else policy
        if not is_policy(policy):
            raise InvalidInput(f"policy must be a policy such as IDS(); got {policy!r}.")
        self.game, self.policy = game, policy
        self.seed = randomness.checked_seed("seed", seed)
        self.settings = dict(settings or {})
        self.start = Session(started(policy, game, 1))
        self._drawn: tuple[int, Callable[[int], Array]] = -1, np.zeros

    def uniforms(self, number: int) -> Array:
        """Return the uniform numbers of a decision, which depend on the seed and its number.

        Threads may call it at the same time: only numbers that were drawn are shared.
        """
        block, draw = self._drawn
        if block != number // randomness.BLOCK:
            draw = uniforms_of(self.policy, self.start.state, np.array([self.seed]))
            draw(number)
            self._drawn = number // randomness.BLOCK, draw
        return draw(number)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain data."""
        return {
            "game": game_to_dict(self.game),
            "policy": policy_to_dict(self.policy),
            "seed": self.seed,
            "settings": self.settings,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Spec:
        """Return the spec from plain data."""
        game, policy = game_from_dict(data["game"]), policy_from_dict(data["policy"])
        return cls(game, policy, data["seed"], data["settings"])


class Step(NamedTuple):
    """An event, with what was computed or looked up on the way to it."""

    event: Event
    place: Place
    action: int
    vector: Array | None = None
    """The observation as a vector (m,), of a tell and of history."""
    decision: Decision | None = None
    """With its reasons, of an ask that was decided here."""


# -- requests to events ----------------------------------------------------------------------


def decide(spec: Spec, session: Session, request: Request) -> Event:
    """Return the ask that answers a request: what the policy chooses."""
    return asked(spec, session, request).event


def observe(spec: Spec, session: Session, request: Request) -> Event:
    """Return the tell of an open decision, or the history of an action, that a request reports."""
    return observed(spec, session, request).event


def asked(spec: Spec, session: Session, request: Request) -> Step:
    """Return the step of the next decision."""
    place = place_of(spec.game, request.get("context"))
    mask, offered = _available(spec.game, place, request.get("available"))
    uniforms = spec.uniforms(session.asked)
    choice = spec.policy.decide(session.state, uniforms, mask, **place.options)
    decision = _decision(session, place, choice)
    event = {
        "seq": session.seq + 1,
        "kind": "ask",
        "decision": decision.id,
        "round": decision.round,
        "action": decision.action,
        "label": decision.label,
        "probability": decision.probability,
    }
    if place.name is not None:
        event["context"] = written(place.name)
    if offered is not None:
        event["available"] = offered
    return Step(event, place, decision.action, decision=decision)


def observed(spec: Spec, session: Session, request: Request) -> Step:
    """Return the step of an observation."""
    seen = request["observation"]
    event: Event = {"seq": session.seq + 1}
    if "decision" in request:
        own = waiting(session, request["decision"])
        place, action = own.place, own.action
        event |= {"kind": "tell", "decision": own.event["decision"]}
    else:
        place = place_of(spec.game, request.get("context"))
        action = place.game.action_index(request["action"])
        event |= {"kind": "history", "action": action, "label": place.game.action_label(action)}
        if place.name is not None:
            event["context"] = written(place.name)
    vector = _vector(spec, place, action, seen)
    event["observation"] = _finite(plain(seen))
    return Step(event, place, action, vector)


def waiting(session: Session, decision: Decision | int) -> Waiting:
    """Return an open decision, given itself or by its number."""
    number = decision.id if isinstance(decision, Decision) else decision
    if is_whole(number):
        own = session.open.get(int(number))
        if own is not None:
            if isinstance(decision, Decision):
                _recognize(decision, own)
            return own
        if 0 <= number < session.asked:
            raise InvalidInput(f"decision {number} has been told already.")
    raise InvalidInput(f"decision must be one that was asked for; got {decision!r}.")


def _recognize(decision: Decision, own: Waiting) -> None:
    """Refuse a decision that only shares its number with an open one."""
    asked = own.event
    same = all(getattr(decision, name) == asked[name] for name in ("round", "label", "probability"))
    if same and decision.action == own.action:
        context = decision.context
        if context is own.place.name or written(context) == asked.get("context"):
            return
    raise InvalidInput(
        f"decision must be one of this learner, whose decision {decision.id} was "
        f"{asked['label']!r} in round {asked['round']}; got {decision.label!r} in round "
        f"{decision.round}."
    )


def _decision(session: Session, place: Place, choice: Choices) -> Decision:
    """Return what a policy chose, and why."""

    def own(values: Array | None) -> Array | None:
        return None if values is None else place.own(values)

    def first(values: Array | None) -> float:
        return float("nan") if values is None else float(values[0])

    action, where = place.local(int(choice.action[0])), place.local(int(choice.places[0]))
    considered = None if choice.candidates is None else choice.candidates[0]
    distribution = place.own(choice.distribution)
    return Decision(
        session.asked,
        session.round,
        action,
        place.game.action_label(action),
        distribution,
        float(distribution[where]),
        own(choice.gaps),
        own(choice.information),
        first(choice.ratio),
        first(choice.beta),
        None if choice.estimate is None else choice.estimate[0],
        place.game.actions
        if considered is None
        else [place.game.action_label(int(a)) for a in considered],
        where,
        own(choice.index),
        place.name,
        choice.basis,
        considered,
    )


def _available(
    game: AnyGame, place: Place, available: Iterable[int | str] | None
) -> tuple[Array | None, list[str] | None]:
    """Return the mask of the actions that can be played (k,), and their labels."""
    if available is None:
        return None, None
    if isinstance(available, str) or not isinstance(available, Iterable):
        raise InvalidInput(f"available must be a list of actions; got {available!r}.")
    if place.game.k > MOST_MASKED:
        raise InvalidInput(f"available cannot be given among {place.game.k} actions.")
    mask = np.zeros(place.game.k if place.positions is None else game.k, dtype=bool)
    chosen = [place.game.action_index(action) for action in available]
    if not chosen:
        raise InvalidInput("available must hold at least one action; got none.")
    mask[[place.outer(action) for action in chosen]] = True
    return mask, [place.game.action_label(action) for action in chosen]


def _vector(spec: Spec, place: Place, action: int, observation: Any) -> Array:
    length = max(spec.game.m, place.game.m)
    return observation_vector(place.game, action, observation, length)


def _finite(observation: Any) -> Any:
    """Return a plain observation with None for numbers that are not finite: they are padding."""
    if isinstance(observation, list):
        return [_finite(item) for item in observation]
    return None if isinstance(observation, float) and not isfinite(observation) else observation


# -- events to sessions ----------------------------------------------------------------------


def fold(spec: Spec, session: Session, event: Event) -> Session:
    """Return the session after one more event; an ask is taken as it is, not computed again."""
    return moved(spec, session, _step(spec, session, event))


def moved(spec: Spec, session: Session, step: Step) -> Session:
    """Return the session after one more step."""
    event, place, action, vector, _ = step
    if vector is None:
        opened = session.open.with_item(event["decision"], Waiting(event, place, action))
        return Session(
            session.state, event["seq"], session.asked + 1, session.told, opened, session.counts
        )
    played = np.array([place.outer(action)])
    state = spec.policy.update(session.state, played, vector[None], **place.options)
    still_open, context = session.open, event.get("context")
    if event["kind"] == "tell":
        context = still_open[event["decision"]].event.get("context")
        still_open = still_open.without(event["decision"])
    counts = session.counts.added(context, action, vector[: place.game.row_count(action)])
    return Session(state, event["seq"], session.asked, session.told + 1, still_open, counts)


def _step(spec: Spec, session: Session, event: Event) -> Step:
    """Return the step of an event that was logged."""
    try:
        if event["seq"] != session.seq + 1:
            raise InvalidInput(
                f"event must be the one after number {session.seq}; got number {event['seq']!r}."
            )
        match event["kind"]:
            case "ask":
                if event["decision"] != session.asked:
                    raise InvalidInput(
                        f"event must ask for decision {session.asked}; got {event['decision']!r}."
                    )
                return Step(event, *_placed(spec, event))
            case "tell":
                own = waiting(session, event["decision"])
                place, action = own.place, own.action
            case "history":
                place, action = _placed(spec, event)
            case other:
                raise InvalidInput(f"event must be an ask, a tell or history; got {other!r}.")
        seen = signal_of(place.game, action, event["observation"])
    except (KeyError, TypeError):
        raise InvalidInput(f"event must be one of a learner; got {event!r}.") from None
    return Step(event, place, action, _vector(spec, place, action, seen))


def _placed(spec: Spec, event: Event) -> tuple[Place, int]:
    """Return the game of the round of an event and the number of its action, named by its label.

    Points of a box have numbers only: the number counts where it has that label.
    """
    label, action = event["label"], event["action"]
    place = place_of(spec.game, _context(event))
    if not 0 <= action < place.game.k or place.game.action_label(action) != label:
        action = place.game.action_index(label)
    return place, action


def _context(event: Event) -> Any:
    """Return the context of an event, an unlisted one as its game."""
    context = event.get("context")
    return game_from_dict(context) if isinstance(context, Mapping) else context


# -- snapshots and replay --------------------------------------------------------------------


def snapshot(spec: Spec, session: Session) -> Snapshot:
    """Return a session as plain data; without its state if that is made again from events."""
    return {
        "seq": session.seq,
        "asked": session.asked,
        "told": session.told,
        "open": [own.event for _, own in sorted(session.open.items())],
        "counts": session.counts.to_dict(),
        "state": saved(session.state, spec.start.state),
    }


def restore(spec: Spec, snapshot: Snapshot | None, events: Iterable[Event] = ()) -> Session:
    """Return the session after all events, from a snapshot and the events after it.

    All events are needed without a snapshot, or with one that does not hold the state.
    """
    session, last = spec.start, 0
    if snapshot is not None:
        last = snapshot["seq"]
        if snapshot["state"] is not None:
            asks = snapshot["open"]
            session = Session(
                with_arrays(spec.start.state, snapshot["state"]),
                last,
                snapshot["asked"],
                snapshot["told"],
                PersistentMap((ask["decision"], Waiting(ask, *_placed(spec, ask))) for ask in asks),
                Counts.from_dict(snapshot["counts"]),
            )
    for event in events:
        if event["seq"] > session.seq:
            session = fold(spec, session, event)
    if session.seq < last:
        raise InvalidInput(
            f"events must hold all {last} events, of which the state of "
            f"{type(spec.policy).__name__} is made again; got {session.seq}."
        )
    return session


class Difference(NamedTuple):
    """An ask that is decided otherwise when it is computed again."""

    logged: Event
    computed: Event


def replay(
    spec: Spec, events: Iterable[Event], *, check: bool = True
) -> tuple[Session, list[Difference]]:
    """Return the session after all events, and (``check``) the asks that come out differently."""
    session, differences = spec.start, []
    for event in events:
        if check and event["kind"] == "ask":
            computed = decide(spec, session, event | {"context": _context(event)})
            if computed != event:
                differences.append(Difference(event, computed))
        session = fold(spec, session, event)
    return session, differences
