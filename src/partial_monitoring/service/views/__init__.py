"""What can be read of a study that is served, as plain data.

Each function takes a study, and what was asked for, and returns what JSON can hold: finite numbers
or None, texts, lists and objects. It uses the session as it was when it was called, without a lock,
and reads of the log only the rows that it shows, unless it says otherwise.
"""

from partial_monitoring.service.views.alarming import alarms
from partial_monitoring.service.views.evaluating import off_policy
from partial_monitoring.service.views.exporting import export
from partial_monitoring.service.views.knowledge import (
    estimate,
    gauges,
    regret,
    spec,
    status,
    summary,
)
from partial_monitoring.service.views.listing import decisions
from partial_monitoring.service.views.reasons import last, why
from partial_monitoring.service.views.rows import decision, events
from partial_monitoring.service.views.theory import advice, analysis, classify
from partial_monitoring.service.views.tracing import trace

__all__ = [
    "advice",
    "alarms",
    "analysis",
    "classify",
    "decision",
    "decisions",
    "estimate",
    "events",
    "export",
    "gauges",
    "last",
    "off_policy",
    "regret",
    "spec",
    "status",
    "summary",
    "trace",
    "why",
]
