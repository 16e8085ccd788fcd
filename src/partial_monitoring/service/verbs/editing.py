"""The verb that lets a study go on with another game or policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from partial_monitoring.analysis.classify import refuse_hopeless
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.answers import check_window
from partial_monitoring.learner.moved import Moved, moved
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.policies.on_device import on_host
from partial_monitoring.policies.policy import Policy
from partial_monitoring.policies.probing import Probing
from partial_monitoring.service.arguments import key_of, only, reason_of
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.study.draft import Draft
from partial_monitoring.service.study.hosted import ARCHIVED
from partial_monitoring.service.verbs.creating import game_from, policy_from
from partial_monitoring.storage.base import Event, plain
from partial_monitoring.storage.editions import edition
from partial_monitoring.storage.study import study_name
from partial_monitoring.validation import boolean, whole_number

MOST_SHOWN = 1000
"""Largest number of ids in an answer."""

Given = dict[str, Any]


class Successor(NamedTuple):
    """What a study goes on as."""

    spec: Spec
    session: Session
    events: list[Event]
    archived: str
    """The name under which it is kept as it was."""


def edit(draft: Draft, given: Given, actor: str) -> Given:
    """Go on with another game or policy, and with all that was observed and still means something.

    The study so far is kept under another name, as it was.
    """
    names = ("game", "policy", "reason", "dry_run", "if_version", "key")
    only("edit", given, names, ("reason",))
    key, reason = key_of(given), reason_of(given)
    dry = boolean("dry_run", given.get("dry_run", False))
    if draft.repeats(key, "note", "edit"):
        return {"repeated": True, "version": draft.session.seq}
    version, session = given.get("if_version"), draft.session
    if version is not None and whole_number("if_version", version, at_least=0) != session.seq:
        raise Problem(412, f"study {draft.hosted.name!r} has version {session.seq} by now.")
    if given.get("game") is None and given.get("policy") is None:
        raise InvalidInput("edit must be given a game or a policy.")
    spec = _edited(draft.spec, given)
    events = list(draft.following(1))
    following, rows, report = moved(draft.spec, session, events, spec)
    found = _said(report) | {"dry_run": dry}
    if dry:
        return found
    note: Event = {"seq": following.seq + 1, "kind": "note", "what": "edit", "reason": reason}
    note |= {"actor": actor} if actor else {}
    following = steps.fold(spec, following, note)
    written = [plain(event) for event in (*rows, note)]
    draft.note("edit", actor, key, reason=reason)
    draft.state = ARCHIVED
    hosted = draft.hosted
    archived = f"{hosted.name}~{1 + max(map(edition, hosted.before), default=0)}"
    draft.successor = Successor(spec, following, written, study_name(archived))
    return found | {"version": following.seq, "archived": archived}


def _edited(old: Spec, given: Given) -> Spec:
    """Return what plays from now on; probes stay."""
    game = old.game if given.get("game") is None else game_from(given["game"])
    policy: Policy[Any] | None = on_host(old.policy)
    if given.get("policy") is not None:
        policy = policy_from(given["policy"])
        if isinstance(old.policy, Probing) and policy is not None:
            policy = replace(old.policy, inner=policy)
    new = Spec(game, policy, old.seed, old.settings)
    check_window(new)
    if not old.settings.get("allow_hopeless"):
        refuse_hopeless(new.game)
    return new


def _said(report: Moved) -> Given:
    """Return what was kept as plain data."""
    return {
        "kept": report.kept,
        "observed": dict(report.observed),
        "left_out": dict(report.left_out),
        "added": list(report.added),
        "removed": list(report.removed),
        "changed": list(report.changed),
        "open": report.open,
        "cancelled": dict(list(report.cancelled.items())[:MOST_SHOWN]),
        "notes": list(report.notes),
        "explanation": report.explain(),
    }
