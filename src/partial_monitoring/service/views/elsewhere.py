"""Views that take long, computed in a process of its own: those who ask and tell do not wait."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service.problems import later, log
from partial_monitoring.service.study.apart import answered_apart

PATIENCE = 50.0
"""Seconds after which it is given up."""

EVALUATOR = "partial_monitoring.service.views.evaluator"

_busy = Lock()


def elsewhere(hosted: Any, seq: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the off-policy values of a study up to an event; one such process at a time."""
    if not _busy.acquire(blocking=False):
        raise later("another evaluation of a long log is being computed.", 10)
    try:
        asked = {"address": hosted.database.given, "study": hosted.study.name, "seq": seq}
        answer = answered_apart(EVALUATOR, {**asked, "given": dict(given)}, PATIENCE)
    except TimeoutError:
        events = f"{given['events']:,}"
        raise InvalidInput(
            f"events must be fewer: {events} were not evaluated within {PATIENCE:g} s."
        ) from None
    except RuntimeError as error:
        log.error("an evaluation failed: %s", error)
        raise later("the evaluation failed; the log of the service says why.", 10) from None
    finally:
        _busy.release()
    if "refused" in answer:
        raise InvalidInput(answer["refused"])
    return dict(answer)
