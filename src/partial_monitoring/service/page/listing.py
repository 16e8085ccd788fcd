"""The decisions that the page of a study lists: all of them, or those that somebody looks for."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.service import views
from partial_monitoring.service.http.call import a_time, a_word
from partial_monitoring.service.page.render import query
from partial_monitoring.service.page.rows import shown_row
from partial_monitoring.service.page.words import sentence
from partial_monitoring.service.problems import Problem, problem_of
from partial_monitoring.service.views.listing import STATES

PAGE = 25
"""Number of decisions on a page."""

SOUGHT = {"action": a_word, "since": a_time, "until": a_time}
"""What is typed to look for decisions."""


def query_of(asked: Mapping[str, str]) -> dict[str, str]:
    """Return which decisions are asked for, of the query of an address."""
    state = asked.get("show", "")
    typed = {name: text for name in SOUGHT if (text := asked.get(name, "")[:200])}
    return typed | ({"show": state} if state in STATES else {})


def add_decisions(
    own: SimpleNamespace, hosted: Any, asked: Mapping[str, str], chosen: str | None
) -> None:
    """Add one page of decisions, the latest first; of open ones, those that wait longest.

    ``chosen`` is the context that the page shows.
    """
    sought = query_of(asked)
    own.filter, own.typed = sought.get("show", ""), {name: sought.get(name, "") for name in SOUGHT}
    own.seeks = any(own.typed.values())
    own.states = [("", "All"), *((state, state.capitalize()) for state in STATES)]
    place = {name: n for name in ("after", "before") if (n := _number(asked, name)) is not None}
    if len(place) > 1:
        del place["after"]
    here = {"context": chosen, **sought}
    own.here = f"{own.path}?{query(**here, **place)}".rstrip("?")
    own.filtered = lambda show: query(**(here | {"show": show}))
    own.kept = {name: here[name] for name in ("context", "show") if here.get(name)}
    own.newer = own.older = None
    own.decisions, own.problem = [], ""
    try:
        given: dict[str, Any] = {
            name: read(name, sought[name]) for name, read in SOUGHT.items() if name in sought
        }
        state = own.filter or None
        found = views.decisions(hosted, limit=PAGE, state=state, **(given | place))
    except (PartialMonitoringError, Problem) as error:
        own.problem = sentence(problem_of(error).detail)
        return
    rows, following, previous = found["decisions"], found["next"], found["previous"]
    own.decisions = [shown_row(row, own) for row in (rows if own.filter == "open" else rows[::-1])]
    newer = None if following is None else query(**here, after=following)
    older = None if previous is None else query(**here, before=previous)
    own.newer, own.older = (older, newer) if own.filter == "open" else (newer, older)


def _number(asked: Mapping[str, str], name: str) -> int | None:
    text = asked.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
