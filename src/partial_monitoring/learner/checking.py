"""Whether a study is what its learners wrote: a log without gaps that makes its own decisions."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.opening import spec_of
from partial_monitoring.learner.states import alike, is_former
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.checks import wrong_columns, wrong_study
from partial_monitoring.storage.copying import found
from partial_monitoring.storage.database import Database
from partial_monitoring.validation import brief

MOST = 3
"""Largest number of decisions that are named."""


class Checked(NamedTuple):
    """What was found."""

    events: int
    problems: list[str]
    """In sentences."""


def checked(database: Database, name: str) -> Checked:
    """Read a study and compute every decision again."""
    events: list[Event] = []
    try:
        study, spec = found(database, name), spec_of(database, name)
        start = spec.start.state
        last, kept = study.version, study.latest()
        problems = list(wrong_study(study))
        for row in islice(study.rows_after(), last):
            events.append(study.event(row))
            problems += wrong_columns(row)
        for place, event in enumerate(events, 1):
            if event["seq"] != place:
                return Checked(len(events), [f"event {place} is missing."])
        if len(events) < last:
            return Checked(len(events), [f"event {last} is missing."])
        session, differences = steps.replay(spec, events)
        problems += [
            f"event {own.logged['seq']} has {brief(own.logged['label'])} with probability "
            f"{own.logged['probability']:g}, computed again it is {brief(own.computed['label'])} "
            f"with {own.computed['probability']:g}."
            for own in differences[:MOST]
        ]
        if len(differences) > MOST:
            problems.append(f"{len(differences) - MOST} more decisions differ.")
        if kept is not None and kept["seq"] <= last and not is_former(start, kept["state"]):
            again = steps.folded(spec, events[: kept["seq"]])
            rest = steps.snapshot(spec, again)
            if any(not alike(value, kept.get(key)) for key, value in rest.items()):
                problems.append(f"the snapshot after event {kept['seq']} is not what they make.")
    except PartialMonitoringError as error:
        return Checked(len(events), [str(error)])
    return Checked(session.seq, problems)
