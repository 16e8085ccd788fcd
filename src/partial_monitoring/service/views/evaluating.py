"""What another action or policy would have earned, from the log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from partial_monitoring import policies
from partial_monitoring.errors import InvalidInput, PartialMonitoringError, StorageError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.amending import has_amendments
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.off_policy.estimating import off_policy as estimated
from partial_monitoring.learner.off_policy.logged import ROUNDING, decisions
from partial_monitoring.service.views.elsewhere import elsewhere
from partial_monitoring.service.views.plainly import plain_row
from partial_monitoring.service.views.reasons import session_before
from partial_monitoring.service.views.taken import Taken, remembered, taken
from partial_monitoring.service.words import in_words
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.database import Database
from partial_monitoring.validation import whole_number

EVENTS = 10_000
"""Number of events that are read, the last ones, unless another one is given."""

MOST_EVENTS = 200_000
"""Largest number of events; more than ``EVENTS`` are read in a process of its own."""


def off_policy(
    hosted: LearnerBase,
    action: str | None = None,
    policy: str | None = None,
    events: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return how much more another action or policy would have earned per round.

    Parameters
    ----------
    action
        The label of an action; all of them unless it or a policy is given.
    policy
        The name of a policy.
    events
        How many events are considered, the last ones of the log; a long log takes long.
    options
        As for :func:`partial_monitoring.off_policy`: ``against``, ``method``, ``interval``,
        ``level``.
    """
    if action is not None and policy is not None:
        raise InvalidInput("policy must be left out if an action is given.")
    events = EVENTS if events is None else events
    whole_number("events", events, at_least=1, at_most=MOST_EVENTS)
    target: Any = action if policy is None else policies.make(policy)
    own = taken(hosted)
    traits = own.spec.game.traits
    if action is not None and traits.listed and not traits.contexts:
        own.spec.game.action_index(action)  # refuses what is none
    seq = own.session.seq
    name = "off-policy", action, policy, events, *sorted(options.items())
    if min(events, seq) > EVENTS and isinstance(getattr(hosted, "database", None), Database):
        given = {"action": action, "policy": policy, "events": events, **options}
        return remembered(hosted, name, seq, lambda: elsewhere(hosted, seq, given))
    rows = partial(remembered, hosted, ("logged", events), seq, lambda: _rows(own, events))
    return remembered(hosted, name, seq, lambda: _estimated(own, target, options, rows))


def estimated_there(
    own: Taken, events: int, action: str | None, policy: str | None, **options: Any
) -> dict[str, Any]:
    """Return the same in another process, which knows no study that is served."""
    target: Any = action if policy is None else policies.make(policy)
    return _estimated(own, target, options, lambda: _rows(own, events))


def _estimated(
    own: Taken, target: Any, options: dict[str, Any], logged: Callable[[], Logged]
) -> dict[str, Any]:
    known: dict[str, Any] = {"version": own.session.seq, "values": [], "notes": [], "why": ""}
    known |= {"events": 0, "events_in_log": own.session.seq}
    if not own.spec.game.traits.listed:
        why = "The actions of this game are not listed: they are too many to reweight."
        return known | {"why": why, "decisions": 0}
    try:
        rows, notes, known["events"] = logged()
        found = estimated(rows, target, game=own.spec.game, **options)
    except StorageError:
        raise  # it may be over soon
    except PartialMonitoringError as error:
        return known | {"why": in_words(str(error)), "decisions": 0}
    values = [
        row | {"possible": not row["why"], "why": in_words(row["why"])} for row in found.table()
    ]
    known |= {"decisions": found.decisions, "method": found.method, "interval": found.interval}
    known |= {"level": found.level, "values": values, "notes": [*notes, *found.notes]}
    return plain_row(known)


Logged = tuple[list[dict[str, Any]], list[str], int]
"""Decisions, what is to be said of them, and the number of events that they are from."""


def _rows(own: Taken, most: int) -> Logged:
    """Return the last decisions of the log with the distributions that they were drawn from."""
    last, notes = own.session.seq, list[str]()
    first = max(last - most, 0)
    events = list(takewhile(lambda event: event["seq"] <= last, own.storage.after(first)))
    if first:
        notes.append(f"Of the last {len(events):,} events of the log.")
    rows = decisions(events)
    chances = _distributions(own, events)
    for row in rows:
        if row["id"] in chances:
            row["distribution"] = chances[row["id"]]
    if not chances:
        notes.append("The decisions do not come out again, so that only their probabilities count.")
    return rows, notes, len(events)


def _distributions(own: Taken, events: list[Event]) -> dict[Any, Any]:
    """Return the distributions of decisions by id, decided again; none if one is different.

    After a correction, what was known is read from the log again, which takes long; only the
    probabilities that are stored are used then.
    """
    spec, found = own.spec, dict[Any, Any]()
    if not events or has_amendments(events):
        return {}
    session = session_before(own, events[0]["seq"])
    with spec.patience:
        for event in events:
            if event["kind"] == "ask":
                context = spec.read_context(event.get("context"))
                decision = steps.decide(spec, session, event | {"context": context.name}).decision
                assert decision is not None
                if abs(decision.probability - event["probability"]) > ROUNDING:
                    return {}
                chances = np.asarray(decision.distribution)
                if decision.considered is not None:
                    real = decision.considered >= 0
                    chances = np.zeros(context.game.k)
                    chances[decision.considered[real]] = decision.distribution[real]
                found[event["decision"]] = chances
            session = steps.fold(spec, session, event)
    return found
