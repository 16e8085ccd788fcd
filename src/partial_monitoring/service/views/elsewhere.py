"""Views that take long, computed in a process of its own: those who ask and tell do not wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from threading import Lock
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service.problems import later, log

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
        done = subprocess.run(
            [sys.executable, "-m", EVALUATOR],
            input=json.dumps({**asked, "given": dict(given)}),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired:
        events = f"{given['events']:,}"
        raise InvalidInput(
            f"events must be fewer: {events} were not evaluated within {PATIENCE:g} s."
        ) from None
    finally:
        _busy.release()
    if done.returncode:
        log.error("an evaluation failed: %s", done.stderr)
        raise later("the evaluation failed; the log of the service says why.", 10)
    answer: dict[str, Any] = json.loads(done.stdout)
    if "refused" in answer:
        raise InvalidInput(answer["refused"])
    return answer
