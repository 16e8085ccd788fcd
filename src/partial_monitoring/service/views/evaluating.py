"""What another action or policy would have earned, from the log."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from partial_monitoring import policies
from partial_monitoring.errors import InvalidInput, PartialMonitoringError, StorageError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.amending import has_amendments
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.logged import ROUNDING, decisions
from partial_monitoring.learner.off_policy import off_policy as estimated
from partial_monitoring.service.views.plainly import plain_row
from partial_monitoring.service.views.reasons import session_before
from partial_monitoring.service.views.taken import Taken, remembered, taken
from partial_monitoring.storage.base import Event

MOST_EVENTS = 10_000
"""Largest number of events that are read, the last ones."""


def off_policy(
    hosted: LearnerBase, action: str | None = None, policy: str | None = None, **options: Any
) -> dict[str, Any]:
    """Return how much more another action or policy would have earned per round.

    Parameters
    ----------
    action
        The label of an action; all of them unless it or a policy is given.
    policy
        The name of a policy.
    options
        As for :func:`partial_monitoring.off_policy`: ``against``, ``method``, ``interval``,
        ``level``.
    """
    if action is not None and policy is not None:
        raise InvalidInput("policy must be left out if an action is given.")
    target: Any = action if policy is None else policies.make(policy)
    own = taken(hosted)
    traits = own.spec.game.traits
    if action is not None and traits.listed and not traits.contexts:
        own.spec.game.action_index(action)  # refuses what is none
    name, seq = ("off-policy", action, policy, *sorted(options.items())), own.session.seq
    return remembered(hosted, name, seq, lambda: _estimated(hosted, own, target, options))


def _estimated(
    hosted: LearnerBase, own: Taken, target: Any, options: dict[str, Any]
) -> dict[str, Any]:
    known: dict[str, Any] = {"version": own.session.seq, "values": [], "notes": [], "why": ""}
    if not own.spec.game.traits.listed:
        why = "The actions of this game are not listed: they are too many to reweight."
        return known | {"why": why, "decisions": 0}
    try:
        rows, notes = remembered(hosted, "logged", own.session.seq, lambda: _rows(own))
        found = estimated(rows, target, game=own.spec.game, **options)
    except StorageError:
        raise  # it may be over soon
    except PartialMonitoringError as error:
        return known | {"why": str(error), "decisions": 0}
    values = [row | {"possible": not row["why"]} for row in found.table()]
    known |= {"decisions": found.decisions, "method": found.method, "interval": found.interval}
    known |= {"level": found.level, "values": values, "notes": [*notes, *found.notes]}
    return plain_row(known)


def _rows(own: Taken) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the last decisions of the log with the distributions that they were drawn from."""
    last, notes = own.session.seq, list[str]()
    first = max(last - MOST_EVENTS, 0)
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
    return rows, notes


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
