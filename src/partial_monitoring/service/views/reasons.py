"""Why a decision was made: it is computed again from the log, and compared with what is stored."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from partial_monitoring.errors import PartialMonitoringError, StorageError
from partial_monitoring.learner import session as steps
from partial_monitoring.learner import snapshots
from partial_monitoring.learner.amending import has_amendments
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.decision import MOST_SHOWN, Decision
from partial_monitoring.learner.identity import decision_number
from partial_monitoring.learner.spec import Session
from partial_monitoring.learner.step import ROUNDING
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.views.plainly import plain_row, plainly
from partial_monitoring.service.views.rows import found_ask
from partial_monitoring.service.views.taken import Taken, remembered, taken
from partial_monitoring.storage.base import Event, plain

COMPARED = ("label", "point", "probability", "round", "probed")
"""The entries of an ask that must come out again."""


def why(hosted: LearnerBase, decision: str) -> dict[str, Any]:
    """Return why a decision was made, recomputed from what was known before it.

    ``verified`` says whether the same comes out as is stored; None if that cannot be found out,
    with the reason in ``note``.
    """
    own, asked = found_ask(taken(hosted), decision)
    return remembered(hosted, ("why", asked["decision"]), 0, lambda: _why(own, asked))


def _why(own: Taken, asked: Event) -> dict[str, Any]:
    known = _known(asked)
    try:
        computed = recomputed(own, asked)
    except StorageError:
        raise  # it may be over soon
    except PartialMonitoringError as error:
        return plain_row(known | {"verified": None, "note": str(error)})
    decision, event = computed
    verified = all(_same(asked.get(name), event.get(name)) for name in COMPARED)
    note = (
        ""
        if verified
        else (
            f"Computed again, it is {event['label']!r} with probability {event['probability']:g}: "
            f"another version of the library has decided, or the log was changed."
        )
    )
    return plain_row(known | {"verified": verified, "note": note} | explained(decision))


def _known(asked: Event) -> dict[str, Any]:
    """Return what was decided."""
    name = asked["decision"]
    known: dict[str, Any] = {"id": name, "number": decision_number(name)}
    known |= {key: asked.get(key) for key in ("label", "action", "probability", "round")}
    return known | {"context": asked.get("context"), "probed": asked.get("probed", False)}


def recomputed(own: Taken, asked: Event) -> tuple[Decision, Event]:
    """Return the decision of an ask with its reasons, and the event that it makes now."""
    spec = own.spec
    with spec.patience:
        before = session_before(own, asked["seq"])
        name = spec.read_context(asked.get("context")).name
        step = steps.decide(spec, before, asked | {"context": name})
    assert step.decision is not None
    return step.decision, plain(step.event)


def session_before(own: Taken, seq: int) -> Session:
    """Return what was known before an event, from the nearest snapshot and the events after it."""
    spec, session = own.spec, own.spec.start
    kept = own.storage.nearest(seq - 1)
    if kept is not None and kept.get("spec") == spec.digest is not None:
        try:
            session = snapshots.restored(spec, kept)
        except snapshots.DAMAGE:  # the events are enough
            session = spec.start
    for event in takewhile(lambda event: event["seq"] < seq, own.storage.after(session.seq)):
        if has_amendments([event]):
            return steps.folded(spec, takewhile(lambda own: own["seq"] < seq, own.storage.after()))
        session = steps.fold(spec, session, event)
    return session


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return abs(one - two) <= ROUNDING
    return bool(one == two)


def explained(decision: Decision) -> dict[str, Any]:
    """Return the reasons of a decision: a sentence, a table as text, and its numbers."""
    sheet = decision.sheets()[0]
    reason, *notes = sheet.notes
    numbers = {"gaps": decision.gaps, "information": decision.information, "index": decision.index}
    order = np.argsort(-np.asarray(decision.distribution), kind="stable")[:MOST_SHOWN]
    rows = [
        {"label": decision.labels[a], "probability": float(decision.distribution[a])}
        | {name: None if own is None else float(own[a]) for name, own in numbers.items()}
        for a in order.tolist()
    ]
    return {
        "reason": reason,
        "notes": notes,
        "columns": sheet.columns,
        "rows": [[cell.text for cell in row] for row in sheet.rows],
        "actions": rows,
        "ratio": decision.ratio,
        "beta": decision.beta,
        "decided_by": decision.decided_by,
        "units": {"gaps": decision.units[0], "information": decision.units[1]},
    }


def last(hosted: LearnerBase) -> dict[str, Any]:
    """Return the last decision and why it was made, as it was known then if it was made here."""
    own, watched = taken(hosted), watching(hosted)
    if own.session.asked == own.session.before:
        return {"decision": None}
    step = None if watched is None else watched.last
    if step is None or decision_number(step.event["decision"]) != own.session.asked - 1:
        return {"decision": why(hosted, str(own.session.asked - 1))}
    assert step.decision is not None
    known = _known(plain(step.event)) | {"verified": None, "note": ""}
    return {"decision": plainly(known | explained(step.decision))}
