"""What the page of a study shows, from the views: plain data for the templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import exp
from types import SimpleNamespace
from typing import Any

from partial_monitoring.service import views
from partial_monitoring.service.engine.engine import VERBS
from partial_monitoring.service.page import gaming, words
from partial_monitoring.service.page.drawing import OTHER, bars, chart_of, colored, lanes_of
from partial_monitoring.service.page.listing import add_decisions
from partial_monitoring.service.page.render import query
from partial_monitoring.service.page.rows import path_of, sheet_of, shown_row
from partial_monitoring.service.page.words import sentence
from partial_monitoring.service.study.watched import watching

MOST_ROWS = 12
"""Largest number of actions in the table of what is known."""

TESTS = {
    "misfit": "one truth explains all actions",
    "drift": "what actions show stays the same",
    "answers": "answers do not depend on the action",
}
"""What alarms test, by their kinds."""

TITLES = {
    "misfit": "the data do not fit the model",
    "drift": "the world has changed",
    "answers": "answers depend on the action",
}
"""What alarms say, by their kinds."""


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
    own.query = f"?{query(context=chosen)}" if chosen else ""
    _counts(own)
    _known(own, hosted)
    _alarms(own, hosted)
    _last(own, hosted)
    add_decisions(own, hosted, asked, chosen)
    own.picture = gaming.has_picture(hosted)
    earlier = [before.name for before in hosted.before]
    own.earlier = [{"name": name, "path": path_of(name)} for name in earlier]
    own.advice = (
        gaming.advice_lines(views.advice(hosted)) if own.category in ("hard", "hopeless") else []
    )
    own.example_ask = json.dumps({"context": own.context} if own.contexts else {})
    own.example_observation = json.dumps(gaming.example(hosted))
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
    own.notes = [sentence(note) for note in known.get("notes", ())]
    own.shares = own.noun != "point"
    own.unknown = sentence(known.get("why", ""))
    own.warnings = [sentence(text) for text in known.get("warnings", ())]
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
        total = f" of {_total(own):,}" if own.shares else ""  # of a box, some points are compared
        tiles.append(("may be best", f"{len(known['plausible']):,}{total}"))
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
            "sentence": sentence(alarm.get("sentence", "")),
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
    if log_e < -6.9:
        return "< 0.001"
    return f"{exp(log_e):,.0f}" if log_e > 4.6 else f"{exp(log_e):.3g}"


def _last(own: SimpleNamespace, hosted: Any) -> None:
    """Add the last decision, and why it was made if that is known without computing it again."""
    own.last = None
    count = own.summary["decisions"]
    rows = views.decisions(hosted, after=count - 2, limit=1)["decisions"] if count else []
    for row in rows:
        watched = watching(hosted)
        fresh = watched is not None and watched.last is not None
        here = fresh and watched.last.event["decision"] == row["id"]  # type: ignore[union-attr]
        why = views.last(hosted)["decision"] if here else {}
        known = {"reason": why.get("reason", "").rstrip("."), "sheet": sheet_of(why)}
        own.last = shown_row(row, own) | known


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
