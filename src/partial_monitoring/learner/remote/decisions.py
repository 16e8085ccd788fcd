"""Decisions that a service made, from what it answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from partial_monitoring.display import Sheet, TableCell
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.decision import Decision
from partial_monitoring.policies.units import USUAL, Units

Fetch = Callable[[str], Mapping[str, Any]]
"""Returns the fields of a group, "why" or "parts"."""

MISSING = {"probability": 0.0, "gaps": np.inf, "information": np.nan, "index": -np.inf}
"""Numbers of actions, and the one that JSON has no word for."""

KNOWN = {"id": str, "label": str, "action": int, "probability": float, "round": int}
"""What every decision has, and what kind of data it is."""


class _Fetched:
    """A field that the service is asked for when it is first read, with others of its group."""

    def __init__(self, group: str = "why") -> None:
        self._group = group

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, decision: RemoteDecision | None, owner: type) -> Any:
        if decision is None:
            return self
        known = vars(decision)
        known.update(known.get("_fetch", _nothing)(self._group))
        return known[self._name]


class RemoteDecision(Decision):
    """A decision of a service, or a fallback; why it was made is read when somebody looks.

    Arrays are over ``labels``, the actions that were considered, the most probable ones first and
    at most 12 of them; ``estimate`` is None. ``repeated`` says whether the service had made the
    decision before, for the same key, and ``number`` which of the study it is, from 0.
    """

    number: int | None
    repeated: bool

    distribution: Any = _Fetched()
    gaps: Any = _Fetched()
    information: Any = _Fetched()
    ratio: Any = _Fetched()
    beta: Any = _Fetched()
    estimate: Any = None
    labels: Any = _Fetched()
    place: Any = _Fetched()
    index: Any = _Fetched()
    decided_by: Any = _Fetched()
    units: Any = _Fetched()
    first: Any = _Fetched("parts")
    second: Any = _Fetched("parts")
    settings: Any = _Fetched("parts")

    @classmethod
    def made(cls, row: Mapping[str, Any], fetch: Fetch) -> RemoteDecision:
        """Return the decision of a row that the service answered."""
        decision = object.__new__(cls)
        known = {name: kind(row[name]) for name, kind in KNOWN.items()}
        known |= {"number": row.get("number"), "context": row.get("context"), "_fetch": fetch}
        for name in ("repeated", "probed", "fallback"):
            known[name] = bool(row.get(name, False))
        vars(decision).update(known)
        return decision

    @classmethod
    def instead(cls, name: str, action: int, label: str, context: Any) -> RemoteDecision:
        """Return the decision for a fallback; the number of its action is -1 if it is not known."""
        row = {"id": name, "round": 0, "action": action, "label": label, "probability": 1.0}
        decision = cls.made(row | {"context": context, "fallback": True}, _nothing)
        reason = "the service was away, or the study paused, and this is the fallback"
        actions = [{"label": label, "probability": 1.0}]
        sheet = {"columns": ["action", "chosen"], "rows": [[f"{label} <", "100.0%"]]}
        vars(decision).update(read_why(sheet | {"actions": actions, "reason": reason}, label))
        vars(decision).update(first=None, second=None, settings=None)
        return decision

    def sheets(self) -> list[Sheet]:
        """Return the table that explains the decision, as the service shows it."""
        assert self.labels is not None  # it is read now, if it was not
        columns, rows, notes = vars(self)["_sheet"]
        cells = tuple(tuple(map(TableCell, row)) for row in rows)
        return [Sheet(f"round {self.round}: {self.label}", columns, cells, notes)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_fetch"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def is_decision(row: Any) -> bool:
    """Whether the service answered what a decision has."""
    if not isinstance(row, dict):
        return False
    return all(
        isinstance(row.get(name), (int, float) if kind is float else kind)
        and not isinstance(row[name], bool)
        for name, kind in KNOWN.items()
    ) and bool(0 <= row["probability"] <= 1 and row["id"])


def read_why(found: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return the fields of a decision from what the service says about why it was made."""
    if "actions" not in found:
        note = found.get("note") or "the service does not know why this decision was made."
        raise InvalidInput(str(note))
    actions, units = found["actions"], found.get("units")
    labels = [str(own["label"]) for own in actions]
    arrays: dict[str, Any] = {}
    for name, missing in MISSING.items():
        numbers = [own.get(name) for own in actions]
        known = any(x is not None for x in numbers)
        filled = [missing if x is None else float(x) for x in numbers]
        arrays[name] = np.array(filled) if known else None
    sheet = (
        tuple(map(str, found["columns"])),
        [list(map(str, row)) for row in found["rows"]],
        (str(found["reason"]), *map(str, found.get("notes", ()))),
    )
    return {
        "distribution": arrays.pop("probability"),
        **arrays,
        "labels": tuple(labels),
        "place": labels.index(label) if label in labels else -1,
        "ratio": _number(found.get("ratio")),
        "beta": _number(found.get("beta")),
        "decided_by": found.get("decided_by"),
        "units": USUAL if units is None else Units(units["gaps"], units["information"]),
        "_sheet": sheet,
    }


def _number(given: Any) -> float:
    return float("nan") if given is None else float(given)


def _nothing(group: str) -> Mapping[str, Any]:
    raise InvalidInput("why this decision was made is not known here; the service knows its id.")
