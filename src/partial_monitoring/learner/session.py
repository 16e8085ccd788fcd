"""A learner as a fold of its log: the events in their order make what it knows. No input or output.

``decide`` and ``observe`` compute an event and change nothing; ``fold`` is the only way in which a
session moves on. Events are plain data. They name actions and contexts by label and carry the
observation as it was reported, so that a log can be folded again, by another version as well:

- ``ask``: decision, round, action, label, probability; probed if there are probes; context and
  available if they were given; time, in seconds since 1970, never earlier than those before;
- ``tell``: decision, observation, of votes as a table with wins and of; due if it counts because
  its window has ended, and unanswered if there was no answer by then;
- ``answer``: decision, observation, which counts when the decision is due, by a tell; without an
  observation, that there is no answer after all;
- ``late``: decision and observation, which came when the decision had been due, and means nothing;
- ``lapse``: decision, which is closed because no answer will come; due as above;
- ``cancel``: decision, which is closed because its action was never taken;
- ``amend``: decision with its action, label and context, and the observation that should have been
  told, or none; see ``amending.py``;
- ``moved``: the first event of a learner that was moved to another game, see ``moved.py``;
- ``shown``: name, rows of theta, noise and observation of an action that the game before had;
- ``activate``: decision, which was held, and the time at which its window begins;
- ``history``: action, label, observation, of a time before the learner; context if there is one;
  count, weight and probability if they were given;
- ``reset``: what was learned before is forgotten; decisions stay open;
- ``note``: what, which means nothing to a learner.

An ask that is ``held`` has a window that begins when it is activated. A service adds who asked for
something (``actor``), by which ``key`` and why (``reason``), which mean nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.amending import CLOSING, amended, has_amendments
from partial_monitoring.learner.answers import (
    cancel,
    check_closed,
    encoded,
    observe,
    open_decision,
)
from partial_monitoring.learner.beginning import begun
from partial_monitoring.learner.clock import is_time
from partial_monitoring.learner.contexts import of_log
from partial_monitoring.learner.counts import Counts
from partial_monitoring.learner.deciding import available_actions, decide, deciding
from partial_monitoring.learner.holding import activated, check_activation
from partial_monitoring.learner.identity import decision_id, decision_number, token_of, with_token
from partial_monitoring.learner.observations import from_log
from partial_monitoring.learner.several import logged_probability, read_rows, shown_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import saved, with_arrays
from partial_monitoring.learner.step import ROUNDING, Request, Step
from partial_monitoring.learner.waiting import OpenDecisions, Started, Waiting
from partial_monitoring.model.any_game import Context
from partial_monitoring.policies.repeated import update_often, update_rows
from partial_monitoring.storage.base import Event, Snapshot, plain
from partial_monitoring.validation import brief, is_whole

__all__ = [
    "Difference",
    "Request",
    "Step",
    "advance",
    "along",
    "amended",
    "available_actions",
    "cancel",
    "decide",
    "deciding",
    "encoded",
    "event_step",
    "fold",
    "folded",
    "has_amendments",
    "learned",
    "noted",
    "observe",
    "open_decision",
    "played",
    "replay",
    "restore",
    "snapshot",
]

# -- events to sessions ----------------------------------------------------------------------


def fold(spec: Spec, session: Session, event: Event) -> Session:
    """Return the session after one more event; an ask is taken as it is, not computed again.

    A log with amendments is folded as a whole, see ``folded``.
    """
    step = event_step(spec, session, event)
    if step.event["kind"] == "amend":
        raise InvalidInput(f"event {event['seq']} amends another one: all must be folded again.")
    return advance(spec, session, step)


def folded(spec: Spec, events: Iterable[Event]) -> Session:
    """Return the session after all events of a log, each answer as it was last amended."""
    session = spec.start
    for event in amended(events):
        session = advance(spec, session, event_step(spec, session, event))
    return session


def along(spec: Spec, events: Iterable[Event]) -> Iterator[tuple[Event, Session, Session]]:
    """Yield the events of a log, each with what was known before it and after it."""
    session, rows = spec.start, list(events)
    for place, event in enumerate(rows):
        amends = has_amendments([event])
        following = folded(spec, rows[: place + 1]) if amends else fold(spec, session, event)
        yield event, session, following
        session = following


def advance(spec: Spec, session: Session, step: Step) -> Session:
    """Return the session after one more step."""
    return noted(session, step, learned(spec, session.state, step))


def learned(spec: Spec, state: Any, step: Step) -> Any:
    """Return the state of the policy after one more step."""
    if not step.shown:
        return spec.start.state if step.event["kind"] == "reset" else state
    options, played = step.context.options, np.array([step.context.outer(step.action)])
    if spec.weighted and step.probability is not None:
        options = {**options, "probability": np.array([step.probability])}
    for vector, often, weight, of in step.shown:
        if of is None:
            seen = played, vector[None], often, weight
            state = update_often(spec.policy, state, *seen, **options)
        else:
            state = update_rows(spec.policy, state, of, vector, often, weight)
            if state is None:
                raise InvalidInput("event must show something that an action of the game shows.")
    return state


def noted(session: Session, step: Step, state: Any) -> Session:
    """Return the session after one more step, with a given state of the policy."""
    if step.begun is not None:
        return step.begun
    event, kind = step.event, step.event["kind"]
    if kind == "ask":
        return _asked(session, step, state)
    if kind == "reset":
        anew = session._replace(state=state, counts=Counts(), since=session.told)
        return anew._replace(seq=session.seq + 1)
    if kind == "activate":
        return activated(session, event)
    others: list[Any]
    _, seq, asked, told, waiting, counts, *others = session
    due, repeated = session.due, session.repeated - bool(step.shown)
    if kind in CLOSING:
        name = event["decision"]
        own, waiting = waiting.taken(name)
        if event.get("due") and "held" not in own.event:
            due = decision_number(name) + 1
        event = own.event
    for vector, often, _, of in step.shown:
        told, repeated = told + often, repeated + often
        if of is None:
            seen = vector[: step.context.game.row_count(step.action)].tolist()
            where = of_log(event.get("context"), step.context)
            counts = counts.added(where, step.action, seen, often)
        else:
            counts = counts._replace(others=counts.others + often)
    if kind == "answer":
        waiting = waiting.answered(event["decision"], event if "observation" in event else None)
    following = Session(state, seq + 1, asked, told, waiting, counts, *others)
    if due == session.due and repeated == session.repeated:
        return following
    return following._replace(due=due, repeated=repeated)


def _asked(session: Session, step: Step, state: Any) -> Session:
    """Return the session after one more decision, which is open."""
    others: list[Any]
    event = step.event
    _, seq, asked, told, waiting, counts, tokens, time, *others = session
    name, time = event["decision"], event.get("time", time)
    if not tokens or name != decision_id(tokens[-1][0], asked):
        tokens = with_token(tokens, name, asked)
    waiting = waiting.with_item(name, Waiting(event, step.context, step.action))
    return Session(state, seq + 1, asked + 1, told, waiting, counts, tokens, time, *others)


def event_step(spec: Spec, session: Session, event: Event) -> Step:
    """Return the step of an event that was logged."""
    probability = None
    try:
        if not isinstance(event, Mapping):
            raise TypeError
        if not is_whole(event["seq"]) or event["seq"] != session.seq + 1:
            raise InvalidInput(
                f"event must be the one after number {session.seq}; got number "
                f"{brief(event['seq'])}."
            )
        match event["kind"]:
            case "ask":
                _check_ask(session, event)
                return Step(event, *played(spec, event))
            case "tell":
                own = open_decision(session, event["decision"])
                context, action = own.context, own.action
                probability = own.event["probability"]
            case "lapse" | "cancel":
                own = open_decision(session, event["decision"])
                return Step(event, own.context, own.action)
            case "answer":
                own = open_decision(session, event["decision"])
                if "observation" in event:
                    seen = from_log(own.context.game, own.action, event["observation"])
                    encoded(spec, own.context, own.action, seen)
                return Step(event, own.context, own.action)
            case "activate":
                own = open_decision(session, event["decision"])
                check_activation(session, own, event["time"])
                return Step(event, own.context, own.action)
            case "note":
                if not isinstance(event["what"], str):
                    raise TypeError
                return Step(event, spec.nowhere, -1)
            case "late":
                check_closed(session, event["decision"])
                return Step(event | {"observation": event["observation"]}, spec.nowhere, -1)
            case "amend":
                check_closed(session, event["decision"])
                return Step(event, *played(spec, event))
            case "moved":
                waiting = {
                    own["decision"]: Waiting(own, *played(spec, own)) for own in event["open"]
                }
                return Step(event, spec.nowhere, -1, begun=begun(session, event, waiting))
            case "shown":
                return Step(event, spec.nowhere, -1, (read_rows(event, spec.game.d),))
            case "reset":
                return Step(event, spec.nowhere, -1)
            case "history":
                context, action = played(spec, event)
                probability = logged_probability(event)
            case other:
                raise InvalidInput(f"event must be of a kind learners log; got {brief(other)}.")
        seen = from_log(context.game, action, event["observation"])
    except (KeyError, TypeError):
        raise InvalidInput(f"event must be one of a learner; got {brief(event)}.") from None
    vector = encoded(spec, context, action, seen)
    return Step(event, context, action, shown_of(event, seen, vector), None, probability)


def _check_ask(session: Session, event: Event) -> None:
    """Refuse an ask that is not of the next decision, or not of this round."""
    token_of(event["decision"], session.asked)
    if not is_whole(event["round"]) or event["round"] != session.round:
        raise InvalidInput(f"event must ask in round {session.round}; got {brief(event['round'])}.")
    probability = event["probability"]
    if type(probability) not in (int, float) or not 0 <= probability <= 1 + ROUNDING:
        raise InvalidInput(f"event must have a probability; got {brief(probability)}.")
    if type(event.get("probed", False)) is not bool:
        raise InvalidInput(f"event must be a probe or not; got {brief(event['probed'])}.")
    time = event.get("time", 0.0)
    if not is_time(time) or ("time" in event and time < (session.time or 0.0)):
        raise InvalidInput(f"event must not be earlier than those before it; got {brief(time)}.")


def played(spec: Spec, event: Event) -> tuple[Context, int]:
    """Return the game of the round of an event and the number of its action, named by its label.

    Points of a box are named by their coordinates; in logs of earlier versions they have numbers
    only, which count where they have that label.
    """
    label, action = event["label"], event["action"]
    if not isinstance(label, str) or not is_whole(action):
        raise InvalidInput(f"event must name an action; got {brief(label)}, {brief(action)}.")
    context = spec.read_context(event.get("context"))
    if "point" in event:
        return context, context.game.from_exact_form(event)
    if not 0 <= action < context.game.k or not context.game.is_called(action, label):
        action = context.game.action_index(label)
    return context, action


# -- snapshots and replay --------------------------------------------------------------------

RARE = ("since", "before", "due", "repeated")
"""Numbers of a session that a snapshot has unless they are 0."""


def snapshot(spec: Spec, session: Session) -> Snapshot:
    """Return a session as plain data, without its state if that is made again from events."""
    kept = {
        "seq": session.seq,
        "asked": session.asked,
        "told": session.told,
        "open": list(map(_waiting_to_dict, session.open.in_order())),
        "tokens": [list(pair) for pair in session.tokens],
        "counts": session.counts.to_dict(),
        "state": saved(session.state, spec.start.state),
    }
    for name in RARE:
        kept |= {name: getattr(session, name)} if getattr(session, name) else {}
    return kept if session.time is None else kept | {"time": session.time}


def restore(spec: Spec, snapshot: Snapshot | None, events: Iterable[Event] = ()) -> Session:
    """Return the session after all events, from a snapshot and the events after it.

    All events are needed without a snapshot, or with one that does not hold the state.
    """
    session, last, rows = spec.start, 0, list(events)
    if snapshot is not None:
        last = snapshot["seq"]
        if snapshot["state"] is not None:
            asks, asked = snapshot["open"], snapshot["asked"]
            bare = [[None, 0]] if asked else []  # no tokens are in snapshots of earlier versions
            session = Session(
                with_arrays(spec.start.state, snapshot["state"]),
                last,
                asked,
                snapshot["told"],
                OpenDecisions.of((x["decision"], _waiting_from_dict(spec, x)) for x in asks),
                Counts.from_dict(snapshot["counts"]),
                tuple((token, first) for token, first in snapshot.get("tokens", bare)),
                snapshot.get("time"),
                started=Started.of(asks),
                **{name: snapshot.get(name, 0) for name in RARE},
            )
    later = [event for event in rows if event["seq"] > session.seq]
    if has_amendments(later):
        session = folded(spec, rows)
    else:
        for event in later:
            session = fold(spec, session, event)
    if session.seq < last:
        raise InvalidInput(
            f"events must hold all {last} events, because the state of "
            f"{type(spec.policy).__name__} is made again from them; got {session.seq}."
        )
    return session


def _waiting_to_dict(own: Waiting) -> dict[str, Any]:
    asked = plain(own.event)
    return asked if own.answer is None else asked | {"answer": own.answer}


def _waiting_from_dict(spec: Spec, data: Mapping[str, Any]) -> Waiting:
    asked = {key: value for key, value in data.items() if key != "answer"}
    return Waiting(asked, *played(spec, asked), data.get("answer"))


class Difference(NamedTuple):
    """An ask that is decided differently when it is computed again."""

    logged: Event
    computed: Event


def replay(
    spec: Spec, events: Iterable[Event], *, check: bool = True
) -> tuple[Session, list[Difference]]:
    """Return the session after all events, and (``check``) the asks that come out differently."""
    if not check:
        return folded(spec, events), []
    session, differences = spec.start, []
    for event, before, after in along(spec, events):
        session = after
        if event["kind"] == "ask":
            name = spec.read_context(event.get("context")).name
            computed = plain(decide(spec, before, event | {"context": name}).event)
            computed["decision"] = event["decision"]  # another opening, another token
            computed.pop("action" if "point" in event else "point", None)  # the other names it
            if any(_differ(event.get(name), value) for name, value in computed.items()):
                differences.append(Difference(event, computed))
    return session, differences


def _differ(one: Any, two: Any) -> bool:
    """Whether entries of two events differ, numbers by more than rounding."""
    if type(one) is type(two) is float:
        return abs(one - two) > ROUNDING
    return bool(one != two)
