"""Snapshots: what a learner knows, as plain data whose size does not depend on its history.

A storage that outlives the process keeps one every ``EVERY`` events, so that a learner is opened
again without folding its whole log. A snapshot is used if it is of the same game, policy, seed and
settings, consistent in itself, and of an event that is in the log; otherwise the events are enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.amending import has_amendments
from partial_monitoring.learner.clock import is_time
from partial_monitoring.learner.contexts import Unlisted, is_described
from partial_monitoring.learner.counts import BLOCKS, MOST_UNLISTED, TOGETHER
from partial_monitoring.learner.decision import written
from partial_monitoring.learner.identity import (
    MOST_TOKENS,
    decision_number,
    is_earlier,
    was_given_out,
)
from partial_monitoring.learner.session import Step
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.states import alike, check_rounds
from partial_monitoring.storage.base import APART, Event, Snapshot, Storage, log_of
from partial_monitoring.validation import brief

EVERY = 1000
"""Number of events after which a storage is handed another snapshot."""

MOST = (("since", "told"), ("before", "asked"), ("due", "asked"), ("repeated", "told"))
"""Numbers of a snapshot that are at most as large as others."""

DAMAGE = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError),
    *(ArithmeticError, RecursionError, AssertionError, MemoryError),
)
"""What reading data may end in that no learner has written."""


def keep(spec: Spec, before: Session, session: Session, storage: Storage) -> None:
    """Hand a snapshot to a storage if it is time to; whether it is kept is up to the storage."""
    if before.seq // EVERY == session.seq // EVERY or log_of(storage) != APART:
        return
    if spec.digest is not None:
        with suppress(Exception):  # the events are stored, which is what counts
            found = steps.snapshot(spec, session)
            if found["state"] is not None:
                storage.keep(found | {"spec": spec.digest})


def opened(spec: Spec, storage: Storage) -> Session:
    """Return the session after all events of a storage, from its latest snapshot if it is valid."""
    kept = storage.latest()
    if kept is not None and kept.get("spec") == spec.digest is not None:
        session = None
        with suppress(*DAMAGE):
            session = restored(spec, kept)
        if session is not None:
            last = next(iter(storage.after(session.seq - 1)), {})
            if last.get("seq") == session.seq:
                return caught_up(spec, session, storage)
    return caught_up(spec, spec.start, storage)


def caught_up(spec: Spec, session: Session, storage: Storage) -> Session:
    """Return the session after all events that are stored."""
    for event in storage.after(session.seq):
        if has_amendments([event]):
            return steps.folded(spec, storage.after())
        session = steps.fold(spec, session, event)
    return session


# -- a snapshot alone --------------------------------------------------------------------------


def restored(spec: Spec, kept: Snapshot) -> Session:
    """Return the session of a snapshot, or refuse one that no learner has made.

    Without the events, the numbers that were learned can be checked for their form only.
    """
    for name in ("seq", "asked", "told"):
        if type(kept[name]) is not int or kept[name] < 0:
            raise InvalidInput(f"its snapshot has {name!r} {brief(kept[name])}.")
    if kept["state"] is None:
        raise InvalidInput("its snapshot has no state, which is made again from events.")
    for name, most in MOST:
        if type(kept.get(name, 0)) is not int or not 0 <= kept.get(name, 0) <= kept[most]:
            raise InvalidInput(f"its snapshot has {name!r} {brief(kept[name])}.")
    elsewhere = kept.get("before", 0) + kept.get("repeated", 0)
    if kept["asked"] + kept["told"] - elsewhere > kept["seq"]:
        raise InvalidInput("its snapshot has more decisions or observations than events.")
    times = [event.get("time", 0.0) for event in kept["open"]] + [kept.get("time", 0.0)]
    if not all(map(is_time, times)) or times != sorted(times):
        raise InvalidInput(f"its snapshot has times {brief(times)}.")
    _check_tokens(kept["tokens"], kept["asked"])
    session = steps.restore(spec, kept)
    check_rounds(kept["state"], spec.counted(session))
    _check_open(spec, session, kept["open"])
    _check_counts(spec, session, kept["counts"])
    for name, value in steps.snapshot(spec, session).items():
        if not alike(value, kept[name]):
            raise InvalidInput(f"its snapshot has another {name!r} than a learner writes.")
    return session


def _check_tokens(tokens: list[Any], asked: int) -> None:
    """Refuse tokens that do not belong to the ids of so many decisions."""
    firsts = [first for _, first in tokens]
    valid = (
        all(type(first) is int for first in firsts)
        and (len(firsts) >= MOST_TOKENS or firsts[:1] in ([], [0]))
        and len(firsts) <= MOST_TOKENS
        and (bool(tokens) == (asked > 0))
        and all(one < two for one, two in pairwise([*firsts, asked]))
        and all(
            token is None or (isinstance(token, str) and token.isascii() and token.isalnum())
            for token, _ in tokens
        )
    )
    if not valid:
        raise InvalidInput(f"its snapshot has tokens {brief(tokens)}.")


def _check_open(spec: Spec, session: Session, asks: list[Event]) -> None:
    """Refuse open decisions that were never asked for."""
    if len(session.open) != len(asks):
        raise InvalidInput("its snapshot has a decision that is open twice.")
    last, latest = -1, 0
    for event in asks:
        name, number = event["decision"], decision_number(event["decision"])
        tokens = session.tokens
        known = is_earlier(tokens, name) or was_given_out(tokens, session.asked, name)
        if not known or event["kind"] != "ask" or not last < number or event["seq"] < 1:
            raise InvalidInput(f"its snapshot has an open decision {brief(name)}.")
        own = number >= session.before  # others have the seq and the round of another log
        if own and not latest < event["seq"] <= session.seq:
            raise InvalidInput(f"its snapshot has an open decision {brief(name)}.")
        if event["round"] < 1 or (own and event["round"] > session.round):
            raise InvalidInput(f"its snapshot has an open decision of round {event['round']}.")
        last, latest = number, event["seq"] if own else 0
        before = {"asked": number, "seq": event["seq"] - 1}
        asked = session._replace(**before, told=event["round"] - 1, time=None)
        check_names(spec, steps.event_step(spec, asked, event))
        if "begins" in event:
            _check_begins(session, event)
        if "answer" in event:
            _check_answer(spec, session, name, event["answer"])


def _check_answer(spec: Spec, session: Session, name: Any, answer: Event) -> None:
    """Refuse an answer to an open decision that was never given."""
    if answer["kind"] != "answer" or answer["decision"] != name or "observation" not in answer:
        raise InvalidInput(f"its snapshot has an answer to decision {brief(name)} that is none.")
    if not 0 < answer["seq"] <= session.seq:
        raise InvalidInput(f"its snapshot has an answer with number {brief(answer['seq'])}.")
    steps.event_step(spec, session._replace(seq=answer["seq"] - 1), answer)


def _check_begins(session: Session, event: Event) -> None:
    """Refuse the beginning of a window that is none of a decision that was held."""
    begins = event["begins"]
    valid = (
        event.get("held") is True
        and is_time(begins["time"])
        and begins["time"] <= (session.time or 0.0)
        and type(begins["seq"]) is int
        and type(begins["asked"]) is int
        and decision_number(event["decision"]) < begins["asked"] <= session.asked
    )
    if not valid:
        raise InvalidInput(f"its snapshot has a window that begins with {brief(begins)}.")


def check_names(spec: Spec, step: Step) -> None:
    """Refuse an event whose action or context has another name in the game."""
    event, context = step.event, step.context
    if "label" not in event:
        return
    given = event.get("context")
    described = isinstance(given, Mapping) and is_described(given)
    name = Unlisted(context.name).written() if described else written(context.name)
    if event["action"] != step.action or given != name:
        raise InvalidInput(f"event {event['seq']} has another action or context than it says.")
    if "available" in event:
        _, offered = steps.available_actions(spec, context, event["available"])
        if offered != event["available"] or event["label"] not in offered:
            raise InvalidInput(f"event {event['seq']} plays an action that was not available.")


def _check_counts(spec: Spec, session: Session, counts: Mapping[str, Any]) -> None:
    """Refuse counts that do not add up to the number of observations."""
    unlisted, recent = counts["unlisted"], counts["recent"]
    names = [name for name, _ in counts["contexts"]]
    once = len(set(names)) == len(names) and len(set(unlisted)) == len(unlisted)
    if not once or not set(unlisted) <= set(names) or len(unlisted) > MOST_UNLISTED:
        raise InvalidInput("its snapshot has counts of other contexts than came.")
    if len(recent) >= TOGETHER:
        raise InvalidInput(f"its snapshot has {len(recent)} recent observations.")
    rounds = len(recent)
    for name, own in counts["contexts"]:
        game = None if name in unlisted else spec.read_context(name).game
        rounds += own["rounds"]
        played = [action for action, *_ in own["actions"]]
        plays = [tally[1] for tally in own["actions"]]
        if sum(plays) != own["rounds"] or len(set(played)) < len(played):
            raise InvalidInput("its snapshot has counts that do not add up.")
        for tally in own["actions"]:
            _check_tally(game, own["rounds"], *tally)
    for context, action, shown in recent:
        _check_shown(spec.read_context(context).game, action, shown)
    others, told = counts.get("others", 0), session.told - session.since
    if type(others) is not int or others < 0:
        raise InvalidInput(f"its snapshot has counts of {brief(others)} other observations.")
    rounds += others
    if rounds > told or (not unlisted and rounds < told):
        raise InvalidInput(f"its snapshot has counts of {rounds} of {told} observations.")


def _check_tally(
    game: Any, rounds: int, action: Any, plays: Any, total: Any, scatter: Any, parts: Any
) -> None:
    """Refuse the tally of an action that is not the sum of its parts."""
    _check_shown(game, action, total)
    firsts, each, totals = zip(*parts, strict=True)
    valid = (
        len(parts) <= BLOCKS
        and all(type(number) is int for number in (*firsts, *each))
        and sum(each) == plays
        and min(each) > 0
        and all(one < two for one, two in pairwise([-1, *firsts, rounds]))
        and isfinite(scatter)
        and scatter >= 0
        and alike(np.sum(np.array(totals, dtype=float), axis=0).tolist(), list(map(float, total)))
    )
    if not valid:
        raise InvalidInput("its snapshot has counts that do not add up.")


def _check_shown(game: Any, action: Any, shown: Any) -> None:
    """Refuse an action that the game of a context does not have, or another number of rows."""
    known = game is None or (0 <= action < game.k and len(shown) == game.row_count(action))
    if type(action) is not int or not known or not all(map(isfinite, shown)):
        raise InvalidInput(f"its snapshot has counts of action {brief(action)}.")
