"""The verbs that close, correct or add to what was told: cancel, activate, history, amend, void."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import corrections, holding, past
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.identity import decision_number, was_given_out
from partial_monitoring.learner.observations import from_log
from partial_monitoring.learner.past import ARGUMENTS
from partial_monitoring.learner.spec import Session
from partial_monitoring.learner.step import Request, Step
from partial_monitoring.learner.votes import UNSAID, Votes
from partial_monitoring.service.arguments import key_of, only, reason_of, several
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import boolean, brief, whole_number

MOST_ROWS = 10_000
"""Largest number of rows of logged data in a request."""

MOST_VOIDED = 100_000
"""Largest number of decisions whose answers are taken back at once."""

MOST_SHOWN = 1000
"""Largest number of ids in an answer."""

Given = dict[str, Any]


def cancel(draft: Draft, given: Given, actor: str) -> Given:
    """Close decisions whose action was never taken, all of them or none."""

    def step(session: Session, name: Any) -> Step | None:
        if session.open.get(name) is not None:
            return steps.cancel(draft.spec, session, {"decision": name})
        closing = _closing(draft, session, name)
        if closing["kind"] != "cancel":
            raise Problem(409, f"decision {brief(name)} has been answered, or closed.")
        return None

    return _each(draft, "cancel", given, actor, step, "cancelled")


def activate(draft: Draft, given: Given, actor: str) -> Given:
    """Let the windows of decisions begin that were held, all of them or none."""

    def step(session: Session, name: Any) -> Step | None:
        own = session.open.get(name)
        if own is None:
            _closing(draft, session, name)
            raise Problem(409, f"decision {brief(name)} has been answered, or closed.")
        if "begins" in own.event:
            return None
        if "held" not in own.event:
            raise Problem(409, f"decision {brief(name)} is not held.")
        time = draft.time(given.get("now"))
        return holding.activate(draft.spec, session, {"decision": name, "now": time})

    return _each(draft, "activate", given, actor, step, "activated")


def _each(
    draft: Draft,
    verb: str,
    given: Given,
    actor: str,
    step_of: Callable[[Session, Any], Step | None],
    result: str,
) -> Given:
    """Do something to one decision, or to each of several."""
    only(verb, given, ("decision", "decisions", "key", "now"))
    if ("decision" in given) == ("decisions" in given):
        raise InvalidInput(f"{verb} must be given either decision or decisions.")
    names = several("decisions", given.get("decisions", [given.get("decision")]))
    key, found, made = key_of(given), list[Given](), list[Step]()
    repeated = draft.repeats(key, verb)
    session = draft.settled(draft.session, draft.time(given.get("now")), made)
    if any(not isinstance(name, str) and type(name) is not int for name in names):
        raise InvalidInput(f"decision must be the id of one; got {brief(names)}.")
    due, done = {step.event["decision"] for step in made}, set[Any]()
    for name in names:
        if name in due:
            raise Problem(409, f"decision {brief(name)} has been answered, or closed.")
        step = None if name in done else step_of(session, name)
        done.add(name)
        if step is not None:
            session = steps.advance(draft.spec, session, step)
            made.append(step)
        found.append({"decision": name, "result": "duplicate" if step is None else result})
    if made:
        draft.add(session, made, actor, None if repeated else key)
    return {"decisions": found}


def _closing(draft: Draft, session: Session, name: Any) -> Event:
    """Return the event that closed a decision which is not open."""
    if not isinstance(name, str) and type(name) is not int:
        raise InvalidInput(f"decision must be the id of one; got {brief(name)}.")
    closing = draft.closing(name)
    if closing is None and not was_given_out(session.tokens, session.asked, name):
        raise Problem(404, f"decision {brief(name)} is not one of study {draft.hosted.name!r}.")
    if closing is None:
        raise Problem(409, f"decision {brief(name)} was closed before the study was edited.")
    return closing


# -- logged data -------------------------------------------------------------------------------


def history(draft: Draft, given: Given, actor: str) -> Given:
    """Learn from rows of logged data, all of them or none; rows with a known key are left out."""
    only("history", given, ("rows", "key"), ("rows",))
    key, rows, keys = key_of(given), list[Request](), list[str | None]()
    seen, given_rows = set[str](), several("rows", given["rows"], MOST_ROWS)
    if draft.repeats(key, "history"):
        return {"accepted": 0, "repeated": len(given_rows)}
    for number, row in enumerate(given_rows):
        only(f"row {number}", row, (*ARGUMENTS, "key"), ("action", "observation"))
    draft.look_up([own for own in map(key_of, given_rows) if own is not None])
    for row in given_rows:
        own = key_of(row)
        if own is None or (own not in seen and not draft.repeats(own, "history")):
            seen |= set() if own is None else {own}
            rows.append(_read(draft, row))
            keys.append(own)
    session, made = past.told(draft.spec, draft.session, rows)
    if None in keys and key not in keys:  # a row without one would be learned from again
        keys[keys.index(None)] = key
    for step, own in zip(made, keys, strict=True):
        draft.add(session, [step], actor, own)
    return {"accepted": len(rows), "repeated": len(given_rows) - len(rows)}


def _read(draft: Draft, row: Mapping[str, Any]) -> Request:
    """Return a row with its observation as the game has it."""
    found = {name: value for name, value in row.items() if name != "key"}
    if not isinstance(found["observation"], str):
        try:
            context = draft.spec.context(found.get("context"))
            action = context.game.action_index(found["action"])
            found["observation"] = from_log(context.game, action, found["observation"])
        except InvalidInput:
            pass  # it is refused below, with its number
    return found


# -- corrections -------------------------------------------------------------------------------


def amend(draft: Draft, given: Given, actor: str) -> Given:
    """Correct the answer to a decision that is closed, or has an answer that waits to be due."""
    only(
        "amend",
        given,
        ("decision", "observation", "reason", "key", "dry_run"),
        ("decision", "observation", "reason"),
    )
    name, seen = given["decision"], given["observation"]
    if not isinstance(name, str | int) or draft.session.open.get(name) is None:
        _closing(draft, draft.session, name)
    return _amended(draft, given, actor, [{"decision": name, "observation": seen}])


def void(draft: Draft, given: Given, actor: str) -> Given:
    """Take answers back: what is known is as if they had never been told."""
    only("void", given, ("decisions", "from", "to", "reason", "dry_run", "key"), ("reason",))
    if "decisions" in given:
        only("void", given, ("decisions", "reason", "dry_run", "key"))
        names = several("decisions", given["decisions"], MOST_VOIDED)
        for name in names:
            if not isinstance(name, str | int) or draft.session.open.get(name) is None:
                _closing(draft, draft.session, name)
        answered = _answered(draft, lambda number: True)
        left_out = [name for name in dict.fromkeys(names) if name not in answered]
        names = [name for name in dict.fromkeys(names) if name in answered]
    else:
        only("void", given, tuple(given), ("from", "to"))
        first = whole_number("from", given["from"], at_least=0)
        last = whole_number("to", given["to"], at_least=first, at_most=first + MOST_VOIDED)
        names, left_out = list(_answered(draft, lambda number: first <= number <= last)), []
    requests = [{"decision": name, "observation": None} for name in names]
    return _amended(draft, given, actor, requests) | {"left_out": left_out[:MOST_SHOWN]}


def _answered(draft: Draft, wanted: Callable[[int], bool]) -> dict[Any, None]:
    """Return the decisions, of those with wanted numbers, that have an answer that counts."""
    found: dict[Any, None] = {}
    for event in draft.following(1):
        if event["kind"] in ("tell", "answer", "amend"):
            if "observation" not in event:
                found.pop(event["decision"], None)
            elif wanted(decision_number(event["decision"])):
                found[event["decision"]] = None
    return found


def _amended(draft: Draft, given: Given, actor: str, requests: Sequence[Request]) -> Given:
    """Amend answers, or say what that would change."""
    reason, dry = reason_of(given), boolean("dry_run", given.get("dry_run", False))
    key = key_of(given)
    if draft.repeats(key, "amend"):
        return {"amended": 0, "decisions": [], "round": draft.session.round, "repeated": True}
    names = [own["decision"] for own in requests]
    session, events = corrections.amend(
        draft.spec, draft.session, lambda: draft.following(1), map(_with_votes, requests)
    )
    if not dry:
        for event in events:
            event["reason"] = reason
            draft.add(session, [Step(event, draft.spec.nowhere, -1)], actor, key)
            key = None
    found = {"amended": len(names), "decisions": names[:MOST_SHOWN], "round": session.round}
    return found | {"dry_run": dry, "round_before": draft.session.round if dry else None}


def _with_votes(request: Request) -> Request:
    """Return a request with votes as such."""
    match request["observation"]:
        case {"wins": wins, "of": of, **rest} if not rest:
            return {**request, "observation": Votes.told(UNSAID, wins, of)}
    return request


def reset(draft: Draft, given: Given, actor: str) -> Given:
    """Forget what was learned, because the world has changed."""
    only("reset", given, ("reason", "key"), ("reason",))
    key, reason = key_of(given), reason_of(given)
    if not draft.repeats(key, "reset"):
        event = {"seq": draft.session.seq + 1, "kind": "reset", "reason": reason}
        step = steps.event_step(draft.spec, draft.session, event)
        draft.add(steps.advance(draft.spec, draft.session, step), [step], actor, key)
    return {"version": draft.session.seq, "round": draft.session.round}
