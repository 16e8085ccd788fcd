"""The game of a study: its class, its picture, its file, and what to measure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from io import BytesIO
from threading import Lock
from typing import Any

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner.observations import symbols
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.service import views
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.views.taken import remembered
from partial_monitoring.service.views.theory import game_of_table, theory

MOST_CELLS = 30
"""Number of actions that can be best from which on their cells are not drawn."""

_drawing = Lock()
"""Settings of matplotlib are shared by all threads."""


def classified(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the class of a table, as the template shows it."""
    found = views.classify(table)
    headline, *explanation = found["explanation"]
    lines = advice_lines(found["advice"]) if found["category"] in ("hard", "hopeless") else []
    known = {"category": found["category"] or "unknown", "headline": headline, "problem": ""}
    return known | {"explanation": explanation, "advice": lines}


def file_of_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the game file of a table."""
    return game_to_dict(game_of_table(table))


def game_file(hosted: Any) -> str:
    """Return the file of the game of a study."""
    try:
        parts = game_to_dict(hosted.game)
    except PartialMonitoringError:
        return ""
    rows = (
        f" {json.dumps(name)}: {json.dumps(own, ensure_ascii=False)}" for name, own in parts.items()
    )
    return "{\n" + ",\n".join(rows) + "\n}"


def advice_lines(advice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return advice line by line, and whether each is an item of a list."""
    lines = advice.get("sentences") or []
    return [
        {"text": line.strip().removeprefix("- "), "item": line.startswith("  - ")} for line in lines
    ]


def example(hosted: Any) -> Any:
    """Return an observation that may be told."""
    game: Any = hosted.game
    if game.traits.contexts:
        game = game.games[0]
    own = symbols(game, 0) if game.traits.listed else ()
    return str(own[0]) if own and not isinstance(own[0], int | float) else own[0] if own else 1.0


def example_row(hosted: Any) -> str:
    """Return a row of a history in CSV."""
    game: Any = hosted.game
    context = f",{game.contexts[0]}" if game.traits.contexts else ""
    first = game.games[0] if game.traits.contexts else game
    action = first.action_label(0) if first.traits.listed else "..."
    return f"{action},{example(hosted)}{context}"


def has_picture(hosted: Any) -> bool:
    """Whether the cells of the game can be drawn: a picture takes matplotlib, and few actions."""
    if find_spec("matplotlib") is None or hosted.game.traits.contexts:
        return False
    return len(getattr(theory(hosted.game)._analysis, "pareto", range(MOST_CELLS))) < MOST_CELLS


def picture(hosted: Any) -> bytes:
    """Return the picture of the cells of the game as SVG, drawn once."""
    if not has_picture(hosted):
        raise Problem(404, "the cells of this game are not drawn.")
    return remembered(hosted, "picture", 0, lambda: _drawn(theory(hosted.game)._analysis))


def _drawn(analysis: Any) -> bytes:
    from matplotlib import rc_context

    target = BytesIO()
    with _drawing, rc_context({"svg.fonttype": "path", "svg.hashsalt": "partial-monitoring"}):
        analysis.plot().savefig(target, format="svg", bbox_inches="tight", transparent=True)
    return target.getvalue()
