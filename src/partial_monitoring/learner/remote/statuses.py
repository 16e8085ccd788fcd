"""The status of a study, from what its service answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.status import Status
from partial_monitoring.policies.promise import CERTIFIED, PRACTICAL

PREFIXES = ("Guaranteed: ", "Practical, no bound holds: ", "Practical, no bound holds")
"""How sentences about a promise begin."""

UNPROVEN = "no bound is proven"


def read_status(found: Mapping[str, Any]) -> Status:
    """Return the status that is meant by the plain data of a service."""
    if not found.get("actions") and found.get("why"):
        raise InvalidInput(str(found["why"]))
    promise = found.get("promise")
    said = None if promise is None else _promise(promise)
    return Status.from_dict({**found, "promise": said, "table": found["actions"]})


def _promise(found: Any) -> str:
    """Return a promise as its mode and its words."""
    if isinstance(found, str):
        return found
    words = str(found["sentence"]).rstrip(".")
    for prefix in PREFIXES:
        words = words.removeprefix(prefix)
    if found["guaranteed"]:
        return f"{CERTIFIED}: {words}"
    joined = f"{UNPROVEN} {words}" if words.startswith("for ") else f"{UNPROVEN}; {words}"
    return f"{PRACTICAL}: {joined if words else UNPROVEN}"
