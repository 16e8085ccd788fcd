"""The verbs of play: ask, tell, and what is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner import holding
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.answers import late
from partial_monitoring.learner.deciding import available_actions
from partial_monitoring.learner.identity import decision_number, was_given_out
from partial_monitoring.learner.observations import from_log, log_form
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.learner.waiting import Waiting
from partial_monitoring.service.arguments import MOST_ITEMS, key_of, meta_of, only, several
from partial_monitoring.service.problems import Problem, problem_of
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.service.study.hosted import PAUSED, RUNNING
from partial_monitoring.storage.base import Event, plain
from partial_monitoring.storage.log import DamagedEvent
from partial_monitoring.validation import boolean, brief, whole_number

ASK = ("context", "available", "count", "key", "hold", "meta", "now")
TELL = ("decision", "observation", "action", "key", "now")

Given = dict[str, Any]


def ask(draft: Draft, given: Given, actor: str) -> Given:
    """Decide, once or ``count`` times; a ``key`` that came before has the same decisions."""
    only("ask", given, ASK)
    key, meta = key_of(given), meta_of(given)
    count = whole_number("count", given.get("count", 1), at_least=1, at_most=MOST_ITEMS)
    hold = boolean("hold", given.get("hold", False))
    earlier = draft.by_key(key)
    if earlier is not None:
        return {"decisions": _repeated(draft, earlier)}
    if draft.state != RUNNING:
        return {"decisions": [_fallback(draft, given)] * count}
    most = draft.settings["max_open"]
    if len(draft.session.open) + count > most:
        raise Problem(
            429, f"study {draft.hosted.name!r} has {most:,} open decisions, its max_open."
        )
    spec, session, time = draft.spec, draft.session, draft.time(given.get("now"))
    request = {"now": time, "token": draft.hosted.token}
    request |= {name: given[name] for name in ("context", "available") if name in given}
    more: Given = {"held": True} if hold else {}
    more |= {} if meta is None else {"meta": meta}
    made: list[Step] = []
    asked: list[Event] = []
    for _ in range(count):
        session = draft.settled(session, time, made)
        step = draft.decide(session, request, made, more)
        session = steps.advance(spec, session, step)
        made.append(step)
        asked.append(step.event)
    if count > 1 and key is not None:
        asked[0]["together"] = count
    draft.add(session, made, actor, key)
    return {"decisions": [shown(spec, event) for event in asked]}


def shown(spec: Spec, event: Event, *, repeated: bool = False) -> Given:
    """Return an ask as its caller is answered."""
    found = {
        "id": event["decision"],
        "number": decision_number(event["decision"]),
        "label": event["label"],
        "action": event["action"],
        "probability": event["probability"],
        "round": event["round"],
        "asked_at": event.get("time"),
        "repeated": repeated,
    }
    window = spec.window
    if "context" in event:
        found["context"] = plain({"context": event["context"]})["context"]
    for name in ("probed", "point", "held"):
        if name in event:
            found[name] = event[name]
    if window is not None and window.rounds is None and "time" in event and "held" not in event:
        found["due_at"] = event["time"] + window.length
    return found


def _repeated(draft: Draft, earlier: Event) -> list[Given]:
    """Return the decisions of a request that came before."""
    if earlier["kind"] != "ask":
        raise Problem(409, f"key {brief(earlier['key'])} was used for a request of another kind.")
    found, count = list[Given](), earlier.get("together", 1)
    if count == 1:
        return [shown(draft.spec, earlier, repeated=True)]
    for event in draft.following(earlier["seq"], earlier.get("study")):
        if event["kind"] == "ask":
            found.append(shown(draft.spec, event, repeated=True))
        if len(found) == count:
            break
    return found


def _fallback(draft: Draft, given: Given) -> Given:
    """Return what is played while a study is paused; it is not stored."""
    hosted = draft.hosted
    label = draft.settings.get("fallback")
    if draft.state != PAUSED or label is None:
        raise Problem(409, f"study {hosted.name!r} is {draft.state}.")
    draft.time(given.get("now"))
    context = draft.spec.context(given.get("context"))
    action = context.game.action_index(label)
    if given.get("available") is not None:
        offered = available_actions(draft.spec, context, given["available"])[1]
        if context.game.action_label(action) not in offered:
            raise Problem(409, f"study {hosted.name!r} is paused, and its fallback not available.")
    return {
        "id": None,
        "number": None,
        "label": label,
        "action": action,
        "probability": 1.0,
        "round": draft.session.round,
        "asked_at": draft.now,
        "repeated": False,
        "fallback": True,
    }


def tell(draft: Draft, given: Given, actor: str) -> Given:
    """Report what was observed after one decision, or after several of them, each on its own."""
    if not isinstance(given, Mapping) or "answers" not in given:
        return {"answers": [_told(draft, given, actor)]}
    only("tell", given, ("answers", "now", "key"))
    key_of(given)  # to tell the same twice changes nothing
    found, time = [], draft.time(given.get("now"))
    for own in several("answers", given["answers"]):
        try:
            timed = {"now": time, **own} if "now" in given and isinstance(own, Mapping) else own
            found.append(_told(draft, timed, actor))
        except Exception as error:
            if isinstance(error, StorageError) and not isinstance(error, DamagedEvent):
                raise
            problem = problem_of(error)
            name = own.get("decision") if isinstance(own, Mapping) else None
            name = name if isinstance(name, str | int) else None
            refused = {"decision": name, "result": "refused", "status": problem.status}
            found.append(refused | {"detail": problem.detail})
    return {"answers": found}


def _told(draft: Draft, given: Given, actor: str) -> Given:
    """Report what was observed after one decision."""
    only("tell", given, TELL, ("decision", "observation"))
    key, name, seen = key_of(given), given["decision"], given["observation"]
    if not isinstance(name, str) and type(name) is not int:
        raise InvalidInput(f"decision must be the id of one; got {brief(name)}.")
    earlier = draft.by_key(key)
    if earlier is not None:
        return _answer(draft.session, name, _again(draft, earlier, name, seen))
    made: list[Step] = []
    time = draft.time(given.get("now"))
    session = draft.settled(draft.session, time, made)
    own = session.open.get(name)
    if own is not None and _is_held(draft.spec, own):  # an answer shows that it was used
        made.append(holding.activate(draft.spec, session, {"decision": name, "now": time}))
        session = steps.advance(draft.spec, session, made[-1])
        own = session.open[name]
    if own is None:
        result = _closed(draft, session, made, name, seen)
        if result == "duplicate":
            return _answer(session, name, result)
        step = late(draft.spec, session, name, seen)
        if step.event["observation"] in draft.late(name):
            return _answer(session, name, result)
    elif own.answer is not None:
        _same(draft, own.answer, seen)
        return _answer(session, name, "duplicate")
    else:
        if not isinstance(seen, str):
            seen = from_log(own.context.game, own.action, seen)
        request = {"decision": name, "observation": seen, "action": given.get("action")}
        step = steps.observe(draft.spec, session, request)
        results = {"tell": "told", "answer": "waits", "lapse": "closed", "late": "late"}
        result = results[step.event["kind"]]
    following = steps.advance(draft.spec, session, step)
    draft.add(session, made, actor)
    draft.add(following, [step], actor, key)
    return _answer(following, name, result)


def _is_held(spec: Spec, own: Waiting) -> bool:
    """Whether the window of a decision has not begun."""
    return spec.window is not None and "held" in own.event and "begins" not in own.event


def _answer(session: Session, name: Any, result: str) -> Given:
    return {"decision": name, "result": result, "round": session.round}


def _closed(draft: Draft, session: Session, made: list[Step], name: Any, seen: Any) -> str:
    """Return what an answer is to a decision that is not open: a duplicate, or late."""
    closing = next((x.event for x in made if x.event["decision"] == name), None)
    closing = closing or draft.closing(name)
    if closing is None and not was_given_out(session.tokens, session.asked, name):
        raise Problem(404, f"decision {brief(name)} is not one of study {draft.hosted.name!r}.")
    if closing is None:
        raise Problem(409, f"decision {brief(name)} was closed before the study was edited.")
    if closing["kind"] == "cancel":
        raise Problem(409, f"decision {brief(name)} was cancelled.")
    if "unanswered" in closing or (closing["kind"] == "lapse" and "due" in closing):
        return "late"
    _same(draft, closing, seen)
    return "duplicate"


def _same(draft: Draft, event: Event, seen: Any) -> None:
    """Refuse another observation than one that was told."""
    try:
        shown = log_form(seen, signal=draft.spec.signals)
    except RecursionError:
        raise InvalidInput("observation must be a signal or a vector.") from None
    if event.get("observation") != shown:
        before = brief(event.get("observation"))
        raise Problem(
            409, f"decision {brief(event['decision'])} was told {before} before; amend it instead."
        )


def _again(draft: Draft, earlier: Event, name: Any, seen: Any) -> str:
    """Return what a tell is whose key came before."""
    if earlier["kind"] not in ("tell", "answer", "late", "lapse") or earlier["decision"] != name:
        raise Problem(409, f"key {brief(earlier['key'])} was used for another request.")
    _same(draft, earlier, seen)
    return "late" if earlier["kind"] == "late" else "duplicate"


def settle(draft: Draft, given: Given, actor: str) -> Given:
    """Count the decisions that are due."""
    made: list[Step] = []
    session = draft.settled(draft.session, draft.now, made)
    draft.add(session, made, actor)
    return {"settled": len(made)}
