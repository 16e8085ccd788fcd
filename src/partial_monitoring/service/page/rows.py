"""Decisions as tables and pages show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner.observations import symbols
from partial_monitoring.service import views
from partial_monitoring.service.page import words
from partial_monitoring.service.page.drawing import OTHER
from partial_monitoring.service.page.words import sentence

LONGEST = 300
"""Letters of an answer that are shown."""


def path_of(name: str) -> str:
    """Return the address of a study; a name with a slash, from a notebook, has none."""
    if "/" in name:
        return ""
    return f"/studies/{quote(name, safe='')}"


def decision_path(name: str, decision: str) -> str:
    """Return the address of a decision."""
    return f"{path_of(name)}/decisions/{quote(str(decision), safe='')}"


def shown_row(row: Mapping[str, Any], own: SimpleNamespace) -> dict[str, Any]:
    """Return a decision as a table shows it."""
    return {
        "id": row["id"],
        "number": row["number"],
        "label": row["label"],
        "color": own.labels.get(row["label"], OTHER),
        "asked_at": row.get("asked_at"),
        "answered_at": row.get("closed_at"),
        "probability": row.get("probability"),
        "probed": row.get("probed", False),
        "context": _context(row.get("context")),
        "answer": _text(row.get("observation")),
        "state": row["state"],
        "meta": _text(row.get("meta")),
    }


def _context(value: Any) -> str:
    """Return the label of a context; one that is not listed was described in numbers."""
    return value if isinstance(value, str) else "" if value is None else "described when asked"


def _text(value: Any) -> str:
    """Return plain data as it is shown, cut to size."""
    text = (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def found_row(hosted: Any, name: str) -> Mapping[str, Any]:
    """Return a decision by its id or its number: one row, found by its number."""
    digits = name.rpartition("-")[2]
    if digits.isascii() and digits.isdecimal() and len(digits) < 16:
        page = views.decisions(hosted, after=int(digits) - 1, limit=1)["decisions"]
        for row in page:
            if name in (row["id"], str(row["number"])):
                return row  # type: ignore[no-any-return]
    return views.decision(hosted, name)


def decision(hosted: Any, name: str) -> dict[str, Any]:
    """Return a decision as its page shows it, without its reasons."""
    known = found_row(hosted, name)
    found = shown_row(known, SimpleNamespace(labels={}))
    found["symbols"] = symbols_of(hosted, known)
    found["shape"] = "a number, or several with commas between them"
    return found


def reasons(why: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return why a decision was made, as its page shows it; None is still being computed."""
    known = why or {}
    return {
        "computing": why is None,
        "verified": known.get("verified"),
        "sheet": sheet_of(known),
        "reason": sentence(known.get("reason", "")),
        "why_not": sentence(known.get("note", "")),
    }


def sheet_of(why: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table that explains a decision; "<" marks the chosen row there."""
    if not why.get("rows"):
        return None
    rows = [
        {
            "label": row[0].removesuffix(" <"),
            "chosen": row[0].endswith(" <"),
            "cells": [_shorter(cell) for cell in row[1:]],
        }
        for row in why["rows"]
    ]
    notes = [sentence(note) for note in why.get("notes", ())]
    return {"columns": why["columns"], "rows": rows, "notes": notes}


def _shorter(cell: str) -> str:
    """Return a number of a table with three digits; all else as it is."""
    try:
        return words.number(float(cell)) if cell not in ("inf", "nan") else cell
    except ValueError:
        return cell


def symbols_of(hosted: Any, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a decision may show, in words and as it is sent; nothing if it is numbers."""
    try:
        game = hosted._spec.read_context(row.get("context")).game
        known = symbols(game, game.action_index(row["label"]))
    except PartialMonitoringError:
        return []
    return [(str(own), json.dumps(own)) for own in known if isinstance(own, str | int | float)]
