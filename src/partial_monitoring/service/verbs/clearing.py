"""The verb with which somebody clears alarms."""

from __future__ import annotations

from typing import Any

from partial_monitoring.learner.alarms.watch import KINDS
from partial_monitoring.service.arguments import key_of, only, reason_of
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.validation import one_of


def clear(draft: Draft, given: dict[str, Any], actor: str) -> dict[str, Any]:
    """Note that the alarms of a kind, or all of them, were seen and dealt with.

    One that was cleared is raised again if the evidence grows by as much again.
    """
    only("clear", given, ("alarm", "reason", "key"))
    kind, key = given.get("alarm"), key_of(given)
    if kind is not None:
        one_of("alarm", kind, KINDS)
    reason = reason_of(given, needed=False)
    if not draft.repeats(key, "note", "clear"):
        draft.note("clear", actor, key, alarm=kind, reason=reason, when=draft.now)
    return {"cleared": kind, "version": draft.session.seq}
