"""What is reported of decisions that were made, as events. No input or output."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.ma import MaskedArray, is_masked

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.decision import Decision
from partial_monitoring.learner.identity import DecisionId, decision_number, was_given_out
from partial_monitoring.learner.observations import from_log, log_form, symbols
from partial_monitoring.learner.several import fields_of, logged_probability, shown_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Request, Step
from partial_monitoring.learner.votes import Votes
from partial_monitoring.learner.waiting import Waiting
from partial_monitoring.learner.window import Window
from partial_monitoring.model.any_game import AnyGame, Context
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import Array, brief, is_whole

MOST_CHECKED = 1000
"""Largest number of actions of a context that are searched for one that can show something."""


def observe(spec: Spec, session: Session, request: Request) -> Step:
    """Return what a request reports: of an open decision, or history of an action."""
    if "decision" in request:
        return told(spec, session, request)
    context = spec.context(request.get("context"))
    action = context.game.action_index(request["action"])
    label, seq = context.game.action_label(action), session.seq + 1
    event: Event = {"seq": seq, "kind": "history", "action": action, "label": label}
    event |= context.game.exact_form(action)
    if context.name is not None:
        event["context"] = spec.logged(context)
    vector = told_vector(spec, context, action, request["observation"])
    event["observation"] = log_form(request["observation"], signal=spec.signals)
    shown = shown_of(request, request["observation"], vector)
    drawn = logged_probability(request)
    return Step(event | fields_of(request), context, action, shown, None, drawn)


def told(spec: Spec, session: Session, request: Request) -> Step:
    """Return the tell of an open decision, or its lapse if no answer will come.

    With a window, an ``answer`` that counts when the decision is due, or that it came too ``late``.
    ``action`` in the request is the one that the answer is believed to belong to.
    """
    seen, name = request["observation"], decision_name(request["decision"])
    if spec.window is not None and is_past(session, name):
        return late(spec, session, name, seen)
    own = open_decision(session, name)
    if own.answer is not None:
        raise InvalidInput(
            f"decision {brief(own.event['decision'])} has been told already, and waits to be due; "
            f"amend it instead."
        )
    if request.get("action") is not None:
        check_action(own, request["action"])
    if is_no_answer(own.context, own.action, seen):
        return closed(session, own, "lapse")
    if spec.window is not None and spec.window.hold and waits(spec.window, own):
        return answered(spec, session.seq + 1, own, seen)
    event = {"seq": session.seq + 1, "kind": "tell", "decision": own.event["decision"]}
    vector = told_vector(spec, own.context, own.action, seen)
    event["observation"] = log_form(seen, signal=spec.signals)
    shown, drawn = shown_of({}, seen, vector), own.event["probability"]
    return Step(event, own.context, own.action, shown, None, drawn)


def answered(spec: Spec, seq: int, own: Waiting, observation: Any) -> Step:
    """Return the answer to an open decision that counts when it is due; or that it has none."""
    event = {"seq": seq, "kind": "answer", "decision": own.event["decision"]}
    if not is_no_answer(own.context, own.action, observation):
        told_vector(spec, own.context, own.action, observation)
        event["observation"] = log_form(observation, signal=spec.signals)
    return Step(event, own.context, own.action)


def is_past(session: Session, given: Any) -> bool:
    """Whether something is the id of a decision that is closed, and was due by now in any case."""
    known = was_given_out(session.tokens, session.asked, given)
    return known and decision_number(given) < session.due and session.open.get(given) is None


def late(spec: Spec, session: Session, name: DecisionId, observation: Any) -> Step:
    """Return that an answer came when its decision had been counted: it is noted, no more."""
    try:
        shown = log_form(observation, signal=spec.signals)
    except RecursionError:
        raise InvalidInput("observation must be a signal or a vector.") from None
    name = name if isinstance(name, str) else int(name)
    event = {"seq": session.seq + 1, "kind": "late", "decision": name, "observation": shown}
    return Step(event, spec.nowhere, -1)


def waits(window: Window, own: Waiting) -> bool:
    """Whether a decision will be due: its time is known, or the window is one of rounds.

    That of one that was held is not known before it is activated.
    """
    if "held" in own.event:
        return "begins" in own.event
    return window.rounds is not None or "time" in own.event


def cancel(spec: Spec, session: Session, request: Request) -> Step:
    """Return that the action of an open decision was never taken."""
    return closed(session, open_decision(session, request["decision"]), "cancel")


def closed(session: Session, own: Waiting, kind: str, **more: Any) -> Step:
    """Return that an open decision is closed, and nothing learned of it."""
    event = {"seq": session.seq + 1, "kind": kind, "decision": own.event["decision"], **more}
    return Step(event, own.context, own.action)


def open_decision(session: Session, decision: Any) -> Waiting:
    """Return an open decision, given itself or by its id."""
    given = decision_name(decision)
    if isinstance(given, str) or is_whole(given):
        own: Waiting | None = session.open.get(given)
        if own is not None:
            return own
        if was_given_out(session.tokens, session.asked, given):
            raise InvalidInput(f"decision {brief(given)} has been told already, or closed.")
    raise InvalidInput(f"decision {brief(given)} is not one of this learner's.")


def held_decision(session: Session, decision: Any) -> Waiting | None:
    """Return an open decision whose answer waits to be due, None if there is none of that id."""
    given = decision_name(decision)
    own: Waiting | None = None
    if isinstance(given, str) or is_whole(given):
        own = session.open.get(given)
    return None if own is None or own.answer is None else own


def check_closed(session: Session, decision: Any) -> DecisionId:
    """Return the id of a decision that is closed, given itself or by its id."""
    given = decision_name(decision)
    if isinstance(given, str) or is_whole(given):
        if session.open.get(given) is not None:
            raise InvalidInput(f"decision {brief(given)} is still open: tell it instead.")
        if was_given_out(session.tokens, session.asked, given):
            return given if isinstance(given, str) else int(given)
    raise InvalidInput(f"decision {brief(given)} is not one of this learner's.")


def decision_name(decision: Any) -> Any:
    """Return the id of a decision, given itself or by its id."""
    return decision.id if isinstance(decision, Decision) else decision


def refuse_repeated(decisions: Iterable[Any]) -> None:
    """Refuse decisions of which two are the same."""
    names = [name for name in map(decision_name, decisions) if isinstance(name, str | int)]
    if len(set(names)) < len(names):
        raise InvalidInput("decision must not name the same decision twice.")


def check_action(own: Waiting, believed: Any) -> None:
    """Refuse an answer that is believed to belong to another action than the one of a decision."""
    game = own.context.game
    called = isinstance(believed, str) and game.is_called(own.action, believed)
    if not called and game.action_index(believed) != own.action:
        raise InvalidInput(
            f"action must be that of decision {brief(own.event['decision'])}, "
            f"{brief(game.action_label(own.action))}; got {brief(believed)}."
        )


def is_no_answer(context: Context, action: int, observation: Any) -> bool:
    """Whether an observation says that no answer will come.

    None does, except where it has always been an observation: as a signal that is called None, and
    of an action that shows nothing.
    """
    if observation is not None or not context.game.row_count(action):
        return False
    return all(symbol is not None for symbol in symbols(context.game, action))


def shows_unanswered(spec: Spec, context: Context, action: int) -> bool:
    """Whether an action can show what a decision without an answer counts as."""
    if spec.window is None or spec.window.unanswered is None:
        return False
    try:
        encoded(spec, context, action, from_log(context.game, action, spec.window.unanswered))
    except InvalidInput:
        return False
    return True


def check_window(spec: Spec) -> None:
    """Refuse a window after which a decision counts as what no action can show."""
    if spec.window is None or spec.window.unanswered is None:
        return
    game: Any = spec.game
    for name in game.contexts if game.traits.contexts else (None,):
        context = spec.context(name)
        actions = range(min(context.game.k, MOST_CHECKED))
        if any(shows_unanswered(spec, context, action) for action in actions):
            return
    raise InvalidInput(
        f"unanswered must be what an action of the game can show; got "
        f"{brief(spec.window.unanswered)}."
    )


def told_vector(spec: Spec, context: Context, action: int, observation: Any) -> Array:
    """Return what is told of an action as a vector (m,), or refuse it; a duel at most one win."""
    vector, shows = encoded(spec, context, action, observation), context.feedback
    _check_padding(context.game, action, observation)
    if context.game.traits.duels and not shows.low <= vector[0] <= shows.high:
        raise InvalidInput(
            f"observation must be 'first', 'second' or 'tie', or a number between {shows.low:g} "
            f"and {shows.high:g}; got {brief(observation)}."
        )
    return vector


def _check_padding(game: AnyGame, action: int, observation: Any) -> None:
    """Refuse numbers beyond what an action shows: only zeros, NaN and None stand for nothing."""
    rows = game.row_count(action)
    if rows >= game.m or game.traits.signals or isinstance(observation, str | Votes):
        return
    for item in np.atleast_1d(np.asarray(observation, dtype=object))[rows:]:
        if item is not None and not (isinstance(item, Real) and (item == 0 or item != item)):
            label = brief(game.action_label(action))
            must = f"a vector of length {rows}, what action {label} shows"
            if not rows:
                must = f"None, because action {label} shows nothing"
            raise InvalidInput(f"observation must be {must}; got {brief(observation)}.")


def encoded(spec: Spec, context: Context, action: int, observation: Any) -> Array:
    """Return what an action of a context showed as a vector (m,), or refuse it.

    Logs of earlier versions may hold numbers that are out of bounds; they are still read.
    """
    length = max(spec.m, context.game.m)
    if isinstance(observation, Votes):
        return observation.mean(context, length)
    for item in observation if isinstance(observation, (list, tuple)) else (observation,):
        if type(item) is not float and isinstance(item, MaskedArray) and is_masked(item):
            raise InvalidInput(f"observation must not be masked; got {brief(observation)}.")
    return context.feedback.encode(context.game, action, observation, length)
