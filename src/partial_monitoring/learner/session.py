"""A learner as a fold of its log: the events in their order make what it knows. No input or output.

``decide`` and ``observe`` compute an event and change nothing; ``fold`` is the only way in which a
session moves on. Events are plain data. They name actions and contexts by label and carry the
observation as it was reported, so that a log can be folded again, by another version as well:

- ``ask``: decision, round, action, label, probability; probed if there are probes; context and
  available if they were given;
- ``tell``: decision, observation; wins and of, if it was a vote;
- ``history``: action, label, observation, of a time before the learner; context if there is one;
  count, weight and probability if they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.ma import MaskedArray, is_masked

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.counts import Counts
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.identity import decision_id, token_of, was_given_out, with_token
from partial_monitoring.learner.observations import from_log, log_form
from partial_monitoring.learner.several import Shown, fields_of, logged_probability, several_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import saved, with_arrays
from partial_monitoring.learner.waiting import OpenDecisions, Waiting
from partial_monitoring.model.any_game import Context
from partial_monitoring.policies.policy import Choices, check_choices, drawn_with, expecting
from partial_monitoring.policies.repeated import update_often
from partial_monitoring.storage.base import Event, Snapshot, plain
from partial_monitoring.validation import Array, brief, is_whole, items

ROUNDING = 1e-9
"""By how much a probability may exceed 1."""

MOST_MASKED = 10**8
"""Largest number of actions among which ``available`` may be given."""

Request = Mapping[str, Any]
"""What is asked or reported: ``context``, ``available`` and the ``token`` of the id of an ask,
``decision`` and ``observation`` of a tell, ``action``, ``observation`` and ``context`` of logged
data."""


class Step(NamedTuple):
    """An event, with what was computed or looked up on the way to it."""

    event: Event
    context: Context
    action: int
    vector: Array | None = None
    """The observation as a vector (m,), of a tell and of history."""
    decision: Decision | None = None
    """With its reasons, of an ask that was decided here."""
    probability: float | None = None
    """With which the action was drawn, of a tell."""
    several: tuple[Shown, ...] = ()
    """How often the observation came and with which weight, if not just once; of votes, both."""

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What is to be learned from."""
        return self.several if self.several or self.vector is None else (Shown(self.vector),)


# -- requests to events ----------------------------------------------------------------------


def decide(spec: Spec, session: Session, request: Request) -> Step:
    """Return the ask that answers a request: what the policy chooses."""
    context = spec.context(request.get("context"))
    available, mask, offered = request.get("available"), None, None
    if available is not None:
        mask, offered = available_actions(spec, context, available)
    uniforms = spec.uniforms(session.asked)
    choice = spec.policy.decide(deciding(spec, session), uniforms, mask, **context.options)
    if spec.foreign:
        check_choices(choice, context.game.k if context.positions is None else spec.game.k, 1)
    decision = _decision(spec, session, request.get("token"), context, choice, mask)
    event = {
        "seq": session.seq + 1,
        "kind": "ask",
        "decision": decision.id,
        "round": decision.round,
        "action": decision.action,
        "label": decision.label,
        "probability": decision.probability,
    }
    if choice.probed is not None:
        event["probed"] = decision.probed
    if context.name is not None:
        event["context"] = spec.logged(context)
    if offered is not None:
        event["available"] = offered
    return Step(event, context, decision.action, None, decision)


def deciding(spec: Spec, session: Session) -> Any:
    """Return the state from which the policy decides: with open decisions, as it expects them."""
    if spec.pending != "expected" or not session.open:
        return session.state
    return expecting(spec.policy, session.state, session.open.pending())


def observe(spec: Spec, session: Session, request: Request) -> Step:
    """Return the tell of an open decision, or the history of an action, that a request reports."""
    seen, seq = request["observation"], session.seq + 1
    event: Event
    if "decision" in request:
        asked, context, action = open_decision(session, request["decision"])
        event = {"seq": seq, "kind": "tell", "decision": asked["decision"]}
        probability = asked["probability"]
    else:
        context = spec.context(request.get("context"))
        action = context.game.action_index(request["action"])
        label = context.game.action_label(action)
        event = {"seq": seq, "kind": "history", "action": action, "label": label}
        if context.name is not None:
            event["context"] = spec.logged(context)
        probability = logged_probability(request)
    vector = encoded(spec, context, action, seen)
    event["observation"] = log_form(seen, signal=spec.signals)
    event |= fields_of(request)
    several = several_of(context, request, vector)
    return Step(event, context, action, vector, None, probability, several)


def open_decision(session: Session, decision: Any) -> Waiting:
    """Return an open decision, given itself or by its id."""
    given = decision.id if isinstance(decision, Decision) else decision
    if isinstance(given, str) or is_whole(given):
        own: Waiting | None = session.open.get(given)
        if own is not None:
            return own
        if was_given_out(session.tokens, session.asked, given):
            raise InvalidInput(f"decision {brief(given)} has been told already.")
    raise InvalidInput(f"decision {brief(given)} is not one of this learner's.")


def _decision(
    spec: Spec, session: Session, token: str | None, context: Context, choice: Choices, mask: Any
) -> Decision:
    """Return what a policy chose, and why."""
    chosen = int(choice.action[0])
    action, game = context.local(chosen), context.game
    if mask is not None and not mask[chosen]:
        raise InvalidInput(
            f"a policy must choose an action that is available; got "
            f"{brief(game.action_label(action))}."
        )
    where, considered = action, None
    if choice.candidates is not None:
        where, considered = context.local(int(choice.positions[0])), choice.candidates[0]
    if mask is not None:
        mask = mask if context.positions is None else mask[context.positions]
        mask = mask if considered is None else mask[considered]
    probability = float(choice.distribution[0][context.outer(where)])
    if not 0 <= probability <= 1 + ROUNDING:
        raise InvalidInput(f"a policy must choose with a probability; got {probability}.")
    known = {
        "id": decision_id(token, session.asked),
        "round": session.round,
        "action": action,
        "label": game.action_label(action),
        "probability": probability,
        "place": where,
        "index": None if choice.index is None else context.own(choice.index),
        "context": context.name,
        "decided_by": choice.decided_by,
        "considered": considered,
        "available": mask,
        "probed": choice.probed is not None and bool(choice.probed[0]),
        "floor": 0.0 if choice.floor is None else float(choice.floor[0]),
        "promise": spec.promise,
    }
    return Decision.later(known, partial(_reason, context, choice))


def _reason(context: Context, choice: Choices, name: str) -> Any:
    """Return one of the fields of a decision that say why, which few ask for."""
    game, considered = context.game, choice.candidates
    if name == "labels":
        if considered is None:
            return game.actions
        return [game.action_label(number) for number in considered[0].tolist()]
    value = getattr(choice, name)
    if name in ("ratio", "beta"):
        return float("nan") if value is None else float(value[0])
    if value is None:
        return None
    return value[0] if name == "estimate" else context.own(value)


def available_actions(
    spec: Spec, context: Context, available: Iterable[int | str]
) -> tuple[Any, list[str]]:
    """Return the mask of the actions that can be played (k,), and their labels."""
    given = items("available", available, " of actions")
    if context.game.k > MOST_MASKED:
        raise InvalidInput(f"available cannot be given among {context.game.k} actions.")
    mask = np.zeros(context.game.k if context.positions is None else spec.game.k, dtype=bool)
    chosen = [context.game.action_index(action) for action in given]
    if not chosen:
        raise InvalidInput("available must hold at least one action; got none.")
    mask[[context.outer(action) for action in chosen]] = True
    return mask, [context.game.action_label(action) for action in chosen]


def encoded(spec: Spec, context: Context, action: int, observation: Any) -> Array:
    """Return what an action of a context showed as a vector (m,), or refuse it."""
    for item in observation if isinstance(observation, (list, tuple)) else (observation,):
        if isinstance(item, MaskedArray) and is_masked(item):
            raise InvalidInput(f"observation must not be masked; got {brief(observation)}.")
    length = max(spec.game.m, context.game.m)
    return context.feedback.encode(context.game, action, observation, length)


# -- events to sessions ----------------------------------------------------------------------


def fold(spec: Spec, session: Session, event: Event) -> Session:
    """Return the session after one more event; an ask is taken as it is, not computed again."""
    return advance(spec, session, event_step(spec, session, event))


def advance(spec: Spec, session: Session, step: Step) -> Session:
    """Return the session after one more step."""
    state = session.state if step.vector is None else learned(spec, session.state, step)
    return noted(session, step, state)


def learned(spec: Spec, state: Any, step: Step) -> Any:
    """Return the state of the policy after one more step."""
    if step.vector is None:
        return state
    context, played = step.context, np.array([step.context.outer(step.action)])
    options = dict(context.options)
    if step.probability is not None and spec.pending is not None:
        options |= drawn_with(spec.policy, np.array([step.probability]))
    for vector, often, weight in step.shown:
        state = update_often(spec.policy, state, played, vector[None], often, weight, **options)
    return state


def noted(session: Session, step: Step, state: Any) -> Session:
    """Return the session after one more step, with a given state of the policy."""
    _, seq, asked, told, waiting, counts, tokens = session
    event, context, action, vector, *_ = step
    if vector is None:
        name = event["decision"]
        waiting = waiting.with_item(name, Waiting(event, context, action))
        if not tokens or name != decision_id(tokens[-1][0], asked):
            tokens = with_token(tokens, name, asked)
        return Session(state, seq + 1, asked + 1, told, waiting, counts, tokens)
    if event["kind"] == "tell":
        name = event["decision"]
        event, waiting = waiting[name].event, waiting.without(name)
    for seen, often, _ in step.shown:
        shown = seen[: context.game.row_count(action)].tolist()
        counts, told = counts.added(event.get("context"), action, shown, often), told + often
    return Session(state, seq + 1, asked, told, waiting, counts, tokens)


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
                return Step(event, *_played(spec, event))
            case "tell":
                own = open_decision(session, event["decision"])
                context, action = own.context, own.action
                probability = own.event["probability"]
            case "history":
                context, action = _played(spec, event)
                probability = logged_probability(event)
            case other:
                raise InvalidInput(f"event must be an ask, a tell or history; got {brief(other)}.")
        seen = from_log(context.game, action, event["observation"])
    except (KeyError, TypeError):
        raise InvalidInput(f"event must be one of a learner; got {brief(event)}.") from None
    vector = encoded(spec, context, action, seen)
    several = several_of(context, event, vector)
    return Step(event, context, action, vector, None, probability, several)


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


def _played(spec: Spec, event: Event) -> tuple[Context, int]:
    """Return the game of the round of an event and the number of its action, named by its label.

    Points of a box have numbers only: the number counts where it has that label.
    """
    label, action = event["label"], event["action"]
    if not isinstance(label, str) or not is_whole(action):
        raise InvalidInput(f"event must name an action; got {brief(label)}, {brief(action)}.")
    context = spec.read_context(event.get("context"))
    if not 0 <= action < context.game.k or not context.game.is_called(action, label):
        action = context.game.action_index(label)
    return context, action


# -- snapshots and replay --------------------------------------------------------------------


def snapshot(spec: Spec, session: Session) -> Snapshot:
    """Return a session as plain data, without its state if that is made again from events."""
    return {
        "seq": session.seq,
        "asked": session.asked,
        "told": session.told,
        "open": sorted((plain(own.event) for own in session.open.values()), key=itemgetter("seq")),
        "tokens": [list(pair) for pair in session.tokens],
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
            asks, asked = snapshot["open"], snapshot["asked"]
            bare = [[None, 0]] if asked else []  # no tokens are in snapshots of earlier versions
            session = Session(
                with_arrays(spec.start.state, snapshot["state"]),
                last,
                asked,
                snapshot["told"],
                OpenDecisions.of((x["decision"], Waiting(x, *_played(spec, x))) for x in asks),
                Counts.from_dict(snapshot["counts"]),
                tuple((token, first) for token, first in snapshot.get("tokens", bare)),
            )
    for event in events:
        if event["seq"] > session.seq:
            session = fold(spec, session, event)
    if session.seq < last:
        raise InvalidInput(
            f"events must hold all {last} events, because the state of "
            f"{type(spec.policy).__name__} is made again from them; got {session.seq}."
        )
    return session


class Difference(NamedTuple):
    """An ask that is decided differently when it is computed again."""

    logged: Event
    computed: Event


def replay(
    spec: Spec, events: Iterable[Event], *, check: bool = True
) -> tuple[Session, list[Difference]]:
    """Return the session after all events, and (``check``) the asks that come out differently."""
    session, differences = spec.start, []
    for event in events:
        following = fold(spec, session, event)
        if check and event["kind"] == "ask":
            name = spec.read_context(event.get("context")).name
            computed = plain(decide(spec, session, event | {"context": name}).event)
            computed["decision"] = event["decision"]  # another opening, another token
            if any(_differ(event.get(name), value) for name, value in computed.items()):
                differences.append(Difference(event, computed))
        session = following
    return session, differences


def _differ(one: Any, two: Any) -> bool:
    """Whether entries of two events differ, numbers by more than rounding."""
    if type(one) is type(two) is float:
        return abs(one - two) > ROUNDING
    return bool(one != two)
