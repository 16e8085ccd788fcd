"""The verbs of those who run a study: pause, resume, settings."""

from __future__ import annotations

from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service.arguments import key_of, only, reason_of
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.service.study.hosted import ARCHIVED, PAUSED, RUNNING, SETTINGS
from partial_monitoring.validation import brief, real_number, whole_number

MOST_OPEN = 10_000_000

Given = dict[str, Any]


def pause(draft: Draft, given: Given, actor: str) -> Given:
    """Decide nothing until it is resumed; answers are still accepted."""
    return _changed(draft, "pause", given, actor, PAUSED)


def resume(draft: Draft, given: Given, actor: str) -> Given:
    """Decide again."""
    return _changed(draft, "resume", given, actor, RUNNING)


def _changed(draft: Draft, verb: str, given: Given, actor: str, state: str) -> Given:
    only(verb, given, ("reason", "key"))
    reason, key = reason_of(given, needed=False), key_of(given)
    if draft.state == ARCHIVED:
        raise Problem(409, f"study {draft.hosted.name!r} is archived.")
    if not draft.repeats(key, "note", verb) and draft.state != state:
        draft.note(verb, actor, key, reason=reason)
        draft.state = state
    return {"state": draft.state, "version": draft.session.seq}


def settings(draft: Draft, given: Given, actor: str) -> Given:
    """Change settings: those that are given."""
    only("settings", given, (*SETTINGS, "key", "reason"))
    reason, key = reason_of(given, needed=False), key_of(given)
    known = {name: value for name, value in given.items() if name in SETTINGS}
    checked = checked_settings(known, draft.spec.game)
    changes = (draft.settings | checked) != draft.settings
    if not draft.repeats(key, "note", "settings") and changes:
        draft.note("settings", actor, key, settings=checked, reason=reason)
        draft.settings = draft.settings | checked
    return {"settings": draft.settings, "version": draft.session.seq}


def note(draft: Draft, given: Given, actor: str) -> Given:
    """Add an event that means nothing to the learner, such as an alarm; not for callers outside."""
    more = {name: value for name, value in given.items() if name not in ("what", "key")}
    key, what = key_of(given), given["what"]
    earlier = draft.by_key(key)
    while earlier is not None and earlier.get("what") != what:
        key = f"{key}+"  # a caller has used it, who must not prevent it
        earlier = draft.by_key(key)
    if earlier is None:
        draft.note(what, actor, key, **more)
    return {"version": draft.session.seq}


def checked_settings(given: Any, game: Any) -> dict[str, Any]:
    """Return settings of a study, or refuse them."""
    only("settings", given, tuple(SETTINGS))
    found = dict(given)
    if "max_open" in found:
        whole_number("max_open", found["max_open"], at_least=1, at_most=MOST_OPEN)
    if "alarm_level" in found:
        level = real_number("alarm_level", found["alarm_level"])
        if not 0.0 < level < 1.0:
            raise InvalidInput(f"alarm_level must be between 0 and 1; got {brief(level)}.")
    label = found.get("fallback")
    if label is not None:
        every = [game.context(name).game for name in getattr(game, "contexts", ())] or [game]
        for own in every[:1000]:
            if not isinstance(label, str) or not own.is_called(own.action_index(label), label):
                raise InvalidInput(f"fallback must be the label of an action; got {brief(label)}.")
    return found
