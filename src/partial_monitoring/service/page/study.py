"""What the page of a study shows, from the views: plain data for the templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from io import BytesIO
from threading import Lock
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner.observations import symbols
from partial_monitoring.model.files import game_to_dict
from partial_monitoring.service import views
from partial_monitoring.service.engine import VERBS
from partial_monitoring.service.page import words
from partial_monitoring.service.page.drawing import OTHER, bars, chart_of, colored, lanes_of
from partial_monitoring.service.page.render import query
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.views.taken import remembered
from partial_monitoring.service.views.theory import game_of_table, theory
from partial_monitoring.service.watching import watching

PAGE = 25
"""Number of decisions on a page."""

MOST_ROWS = 12
"""Largest number of actions in the table of what is known."""

LONGEST = 300
"""Letters of an answer that are shown."""

MOST_CELLS = 30
"""Number of actions that can be best from which on their cells are not drawn."""

_drawing = Lock()
"""Settings of matplotlib are shared by all threads."""

TESTS = {
    "misfit": "one truth explains what all actions show",
    "drift": "each action shows the same all the time",
    "answers": "how often answers come does not depend on the action",
}
"""What alarms test, by their kinds."""


TITLES = {
    "misfit": "the data do not fit the model",
    "drift": "the world has changed",
    "answers": "answers depend on the action",
}
"""What alarms say, by their kinds."""


def path_of(name: str) -> str:
    """Return the address of a study; a name with a slash, from a notebook, has none."""
    if "/" in name:
        return ""
    return f"/studies/{quote(name, safe='')}"


def version(hosted: Any) -> tuple[Any, ...]:
    """Return what changes whenever something changes on the page of a study."""
    own = watching(hosted)
    return hosted.version, hosted.state, 0 if own is None else own.seq


def basis(hosted: Any) -> SimpleNamespace:
    """Return what all pages of a study show: its name, its class, its game."""
    known = views.summary(hosted)
    game = known["game"]
    headline, *explanation = known["explanation"] or [""]
    return SimpleNamespace(
        name=known["name"],
        path=path_of(known["name"]),
        state=known["state"],
        settings=known["settings"],
        category=known["category"] or "unknown",
        headline=headline,
        explanation=explanation,
        policy=policy_name(known["policy"]),
        promise=(known["promise"] or {}).get("sentence", "").rstrip("."),
        created_at=known["created_at"],
        contexts=game.get("contexts") or [],
        summary=known,
    )


def policy_name(policy: Any) -> str:
    """Return what a policy is called, and how many decisions are probes."""
    if not isinstance(policy, Mapping):
        return str(policy)
    if isinstance(policy.get("inner"), Mapping) and "probe" in policy:
        return f"{policy_name(policy['inner'])} with {words.percent(policy['probe'])} probes"
    return str(policy.get("policy", policy.get("name", "")))


def full(hosted: Any, asked: Mapping[str, str]) -> SimpleNamespace:
    """Return what the page of a study shows; ``asked`` is the query of its address."""
    own = basis(hosted)
    chosen = asked.get("context") if own.contexts else None
    own.context = chosen or (own.contexts[0] if own.contexts else None)
    own.filter = "open" if asked.get("show") == "open" else ""
    own.query = f"?{query(context=chosen)}" if chosen else ""
    page = {"context": chosen, "show": own.filter, "before": asked.get("before")}
    here = query(**page)
    own.here = f"{own.path}?{here}" if here else own.path
    own.filtered = lambda show: query(context=chosen, show=show)
    own.paged = lambda before: query(**(page | {"before": before}))
    _counts(own)
    _known(own, hosted)
    _alarms(own, hosted)
    _last(own, hosted)
    _decisions(own, hosted, asked)
    own.picture = _has_picture(hosted)
    earlier = [before.name for before in hosted.before]
    own.earlier = [{"name": name, "path": path_of(name)} for name in earlier]
    own.advice = advice_lines(views.advice(hosted)) if own.category in ("hard", "hopeless") else []
    own.example_ask = json.dumps({"context": own.context} if own.contexts else {})
    own.example_observation = json.dumps(_example(hosted))
    return own


def _counts(own: SimpleNamespace) -> None:
    known = own.summary
    own.decided = known["decisions"] > 0 or known["round"] > 1


def _known(own: SimpleNamespace, hosted: Any) -> None:
    """Add what is known about the actions, and when each of them might be best."""
    known, trace = views.status(hosted, own.context), views.trace(hosted)
    rows = [dict(row) for row in known["actions"]]
    points = trace["points"]
    own.noun, own.against = known.get("noun", "action"), known.get("against", "")
    own.colors = colors_of(trace, known)
    labels = dict(_named(trace, own.colors))
    for row in rows:
        row["color"] = labels.get(row["label"], OTHER)
    own.rows = rows[:MOST_ROWS]
    bars(own.rows)
    own.more = len(rows) - len(own.rows) + known.get("more", 0)
    own.notes = [_sentence(note) for note in known.get("notes", ())]
    own.shares = own.noun != "point"
    own.unknown = _sentence(known.get("why", ""))
    own.warnings = [_sentence(text) for text in known.get("warnings", ())]
    own.lead = _lead(own, known)
    own.lanes = lanes_of(trace, own.colors, _total(own)) if own.decided else None
    latest = points[-1] if points else {}
    own.labels = labels
    _tiles(own, known, latest)


def _named(trace: Mapping[str, Any], colors: Mapping[int, str]) -> list[tuple[str, str]]:
    return [(trace["actions"][a], color) for a, color in colors.items()]


def colors_of(trace: Mapping[str, Any], known: Mapping[str, Any]) -> dict[int, str]:
    """Return the colours of the actions that were played most, and of the one that looks best."""
    plays = trace["points"][-1]["plays"] if trace["points"] else [0] * len(trace["actions"])
    best = [a for a, label in enumerate(trace["actions"]) if label == known.get("best")]
    return colored(plays, best)


def _lead(own: SimpleNamespace, known: Mapping[str, Any]) -> str:
    """Say in a sentence or two what is known."""
    if not known.get("best"):
        return str(own.unknown)
    best, plausible = known["best"], known["plausible"]
    guaranteed = own.summary["promise"]["guaranteed"]
    if len(plausible) == 1:
        can = "can be best any more" if guaranteed else "is likely to be best"
        return f"“{best}” looks best, and no other {own.noun} {can}."
    risk = words.number(known["at_risk"])
    loses = "loses at most" if guaranteed else "is likely to lose at most"
    others = len(plausible) - (best in plausible)
    still = "one other may" if others == 1 else f"{others:,} others may"
    return f"“{best}” looks best; {still} still be. Playing it {loses} {risk} per decision."


def _tiles(own: SimpleNamespace, known: Mapping[str, Any], latest: Mapping[str, Any]) -> None:
    counts = own.summary
    regret = views_regret(latest)
    tiles = [
        ("decisions", words.count(counts["decisions"])),
        ("answers told", words.count(counts["told"])),
        ("open", words.count(counts["open"])),
    ]
    tiles += [(name, words.count(latest[name])) for name in ("late", "lapsed") if latest.get(name)]
    if known.get("best"):
        tiles.append(("looks best", known["best"]))
        tiles.append(("may be best", f"{len(known['plausible'])} of {_total(own):,}"))
        tiles.append(("at risk per decision", words.number(known["at_risk"])))
        tiles.append(("next decision may lose", words.number(known["exploring"])))
    if own.decided and regret.get("estimate") is not None:
        tiles.append(("regret so far, estimated", words.number(regret["estimate"])))
    own.tiles = [
        {"name": name, "value": value, "words": name == "looks best"} for name, value in tiles
    ]


def _total(own: SimpleNamespace) -> int:
    return len(own.rows) + int(own.more)


def views_regret(latest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the regret at a point of the trace."""
    return latest.get("regret") or {}


def _alarms(own: SimpleNamespace, hosted: Any) -> None:
    """Add what the alarms say."""
    found = views.alarms(hosted)
    own.alarms = [
        {
            "kind": alarm["kind"],
            "title": TITLES.get(alarm["kind"], alarm["kind"]),
            "sentence": _sentence(alarm.get("sentence", "")),
            "since": f"Raised in round {alarm['round']:,}." if alarm.get("round") else "",
        }
        for alarm in found["active"]
    ]
    own.can_clear = "clear" in VERBS
    own.tested = found.get("sentence", "")
    own.alarm_level = own.settings.get("alarm_level", 0.01)
    own.evidence = [
        {
            "words": TESTS.get(row["kind"], row["kind"]),
            "e": _e(row["log_e"]),
            "limit": _e(row["limit"]),
        }
        for row in found["evidence"]
    ]


def _e(log_e: float | None) -> str:
    """Return an e-value from its logarithm."""
    if log_e is None:
        return words.NONE
    if log_e > 13.8:
        return f"10^{log_e / 2.302585:.0f}"
    return f"{2.718281828459045**log_e:,.3g}" if log_e > -6.9 else "< 0.001"


def _last(own: SimpleNamespace, hosted: Any) -> None:
    """Add the last decision, and why it was made."""
    own.last = None
    found = views.last(hosted)["decision"] if own.summary["decisions"] else None
    if found is not None:
        known = views.decision(hosted, found["id"])
        row = shown_row(known, own) | {"reason": found.get("reason", "").rstrip(".")}
        own.last = row | {"sheet": sheet_of(found)}


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
    notes = [_sentence(note) for note in why.get("notes", ())]
    return {"columns": why["columns"], "rows": rows, "notes": notes}


def _shorter(cell: str) -> str:
    """Return a number of a table with three digits; all else as it is."""
    try:
        return words.number(float(cell)) if cell not in ("inf", "nan") else cell
    except ValueError:
        return cell


def _decisions(own: SimpleNamespace, hosted: Any, asked: Mapping[str, str]) -> None:
    """Add one page of decisions, the latest first; of open ones, those that wait longest."""
    given = asked.get("before", "")
    place = int(given) if given.isdecimal() and len(given) < 16 else None
    count = own.summary["decisions"]
    own.newer = own.older = None
    if own.filter == "open":
        page = views.decisions(hosted, after=place, limit=PAGE, open=True)
        rows, own.older = page["decisions"], page["next"]
    else:
        end = count if place is None else min(place, count)
        first = max(end - PAGE, 0)
        rows = []
        if end > first:
            page = views.decisions(hosted, after=first - 1, limit=end - first)
            rows = page["decisions"][::-1]
        own.older = first if first > 0 else None
        own.newer = min(end + PAGE, count) if end < count else None
    own.decisions = [shown_row(row, own) for row in rows]


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
        "context": _text(row.get("context")),
        "answer": _text(row.get("observation")),
        "state": row["state"],
        "meta": _text(row.get("meta")),
    }


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


def decision(hosted: Any, name: str) -> dict[str, Any]:
    """Return a decision as its page shows it, computed again."""
    known = views.decision(hosted, name)
    own = SimpleNamespace(labels={})
    found = shown_row(known, own) | {"sheet": None, "verified": None, "why_not": ""}
    why = views.why(hosted, known["id"])
    found |= {"verified": why.get("verified"), "sheet": sheet_of(why)}
    found["why_not"] = _sentence(why.get("note", ""))
    found["reason"] = _sentence(why.get("reason", ""))
    found["symbols"] = symbols_of(hosted, known)
    found["shape"] = "a number, or several with commas between them"
    return found


def _example(hosted: Any) -> Any:
    """Return an observation that may be told."""
    game: Any = hosted.game
    if game.traits.contexts:
        game = game.games[0]
    own = symbols(game, 0) if game.traits.listed else ()
    return str(own[0]) if own and not isinstance(own[0], int | float) else own[0] if own else 1.0


def symbols_of(hosted: Any, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a decision may show, in words and as it is sent; nothing if it is numbers."""
    try:
        game = hosted._spec.read_context(row.get("context")).game
        known = symbols(game, game.action_index(row["label"]))
    except PartialMonitoringError:
        return []
    return [(str(own), json.dumps(own)) for own in known if isinstance(own, str | int | float)]


def advice_lines(advice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return advice line by line, and whether each is an item of a list."""
    lines = advice.get("sentences") or []
    return [
        {"text": line.strip().removeprefix("- "), "item": line.startswith("  - ")} for line in lines
    ]


def _has_picture(hosted: Any) -> bool:
    """Whether the cells of the game can be drawn: a picture takes matplotlib, and few actions."""
    if find_spec("matplotlib") is None or hosted.game.traits.contexts:
        return False
    return len(getattr(theory(hosted.game)._analysis, "pareto", range(MOST_CELLS))) < MOST_CELLS


def picture(hosted: Any) -> bytes:
    """Return the picture of the cells of the game as SVG, drawn once."""
    if not _has_picture(hosted):
        raise Problem(404, "the cells of this game are not drawn.")
    return remembered(hosted, "picture", 0, lambda: _drawn(theory(hosted.game)._analysis))


def _drawn(analysis: Any) -> bytes:
    from matplotlib import rc_context

    target = BytesIO()
    with _drawing, rc_context({"svg.fonttype": "path", "svg.hashsalt": "partial-monitoring"}):
        analysis.plot().savefig(target, format="svg", bbox_inches="tight", transparent=True)
    return target.getvalue()


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


def _sentence(text: str) -> str:
    """Return a sentence with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def chart(hosted: Any) -> dict[str, Any]:
    """Return what the charts of a study draw."""
    trace = views.trace(hosted)
    known = views.summary(hosted)
    return chart_of(trace, colors_of(trace, known))


def row_of(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a study in the list, from its summary."""
    return {
        "name": known["name"],
        "path": path_of(known["name"]),
        "problem": "",
        "category": known["category"] or "unknown",
        "decisions": known["decisions"],
        "open": known["open"],
        "best": known["best"] if known["decisions"] or known["told"] else None,
        "plausible": words.names(known["may_be_best"], 3),
        "at_risk": known["at_risk"],
        "alarms": ", ".join(known["alarms"]),
        "state": known["state"],
    }


def decision_path(name: str, decision: str) -> str:
    """Return the address of a decision."""
    return f"{path_of(name)}/decisions/{quote(str(decision), safe='')}"


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


def example_row(hosted: Any) -> str:
    """Return a row of a history in CSV."""
    game: Any = hosted.game
    context = f",{game.contexts[0]}" if game.traits.contexts else ""
    first = game.games[0] if game.traits.contexts else game
    action = first.action_label(0) if first.traits.listed else "..."
    return f"{action},{_example(hosted)}{context}"
