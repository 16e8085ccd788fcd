"""Alarms of a study, and how strong the evidence against its model is."""

from __future__ import annotations

from math import exp
from typing import Any

from partial_monitoring.learner.alarms.watch import LEVEL
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.service.study.watched import watching
from partial_monitoring.service.views.plainly import plain_row


def active(hosted: LearnerBase) -> list[dict[str, Any]]:
    """Return the alarms that nobody has cleared."""
    own = watching(hosted)
    return [] if own is None else own.active


def alarms(hosted: LearnerBase) -> dict[str, Any]:
    """Return all alarms, the latest first, and the evidence when it was last looked at."""
    own = watching(hosted)
    if own is None:
        return {"watched": False, "alarms": [], "active": [], "evidence": [], "sentence": ""}
    level = getattr(hosted, "settings", {}).get("alarm_level", LEVEL)
    evidence: list[dict[str, Any]] = [
        {"kind": each.kind, "log_e": each.log_e, "e": exp(min(each.log_e, 690.0))}
        | {"limit": own.watch.limit(each.kind, level), "sentence": each.sentence}
        for each in own.evidence
    ]
    strongest = max((each["e"] for each in evidence), default=None)
    words = "The model has not been tested yet."
    if strongest is not None:
        often = "once" if own.checks == 1 else f"{own.checks:,} times"
        found_e = f"strongest evidence against it: e = {strongest:.2g}"
        words = f"The model has been tested {often}; {found_e}."
    known = {"watched": True, "checks": own.checks, "upto": own.seq, "sentence": words}
    found = {"alarms": own.alarms[::-1], "active": own.active, "evidence": evidence}
    return plain_row(known | found)
