"""Points of the charts of a study: how it stands, and how it stood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.spec import Session
from partial_monitoring.service.study.watched import Watching, watching
from partial_monitoring.service.views.believed import Overview, overview
from partial_monitoring.service.views.knowledge import costs, known_of
from partial_monitoring.service.views.plainly import plainly
from partial_monitoring.service.views.taken import taken

MOST_POINTS = 500
"""Largest number of points of a study."""

MOST_ACTIONS = 30
"""Largest number of actions in a point."""


def point(hosted: LearnerBase, watching: Watching | None = None) -> dict[str, Any]:
    """Return the point of a study as it is now; its actions are those that earn most."""
    counts = {} if watching is None else watching.counts
    return _point(hosted, taken(hosted).session, known_of(hosted), counts)


def point_after(
    hosted: LearnerBase, session: Session, watching: Watching, counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return the point of a study as it was, from what was known then and had been counted."""
    own, past = taken(hosted)._replace(session=session), dict(watching.watch.past)
    return _point(hosted, session, overview(own, past), counts)


def _point(
    hosted: LearnerBase, session: Session, known: Overview, counts: Mapping[str, int]
) -> dict[str, Any]:
    rows = known.beliefs[:MOST_ACTIONS]
    numbers = {name: _short(x) for name, x in costs(hosted, known.cost).items()}
    found: dict[str, Any] = plainly(
        {
            "seq": session.seq,
            "decisions": session.asked,
            "told": session.told,
            "open": len(session.open),
            "late": counts.get("late", 0),
            "lapsed": counts.get("lapse", 0),
            "labels": [row.label for row in rows],
            "plays": [row.plays for row in rows],
            "estimate": [_short(row.earns) for row in rows],
            "low": [_short(row.low) for row in rows],
            "high": [_short(row.high) for row in rows],
            "may_be_best": [row.may_be_best for row in rows],
            "regret": numbers,
        }
    )
    return found


def _short(value: float | None) -> float | None:
    """Return a number with six digits, which charts do not show."""
    return None if value is None else float(f"{value:.6g}")


SERIES = {"plays": 0, "estimate": None, "low": None, "high": None, "may_be_best": False}
"""What a point has for each action, and what it is where the point does not have the action."""


def trace(hosted: LearnerBase) -> dict[str, Any]:
    """Return the points of the charts, with one as it is now, over the same actions."""
    own, now = taken(hosted), point(hosted, watching(hosted))
    last = now.pop("seq")
    rows = [row for row in own.storage.traces(limit=MOST_POINTS) if row[0] < last]
    rows.append((last, max([own.session.time or 0.0, *(at for _, at, _ in rows)]), now))
    labels = _labels(hosted, [body for *_, body in rows])
    points = [{"seq": seq, "at": at} | _over(labels, body) for seq, at, body in rows]
    return {"actions": labels, "points": points}


def _labels(hosted: LearnerBase, bodies: list[Mapping[str, Any]]) -> list[str]:
    """Return the actions that are drawn: all in their order if there are few."""
    game: Any = hosted.game
    names = dict.fromkeys(label for body in reversed(bodies) for label in body["labels"])
    listed = game.traits.listed and not game.traits.duels and game.k <= MOST_ACTIONS
    order = list(game.actions) if listed else []
    found = [label for label in order if label in names]
    return (found + [label for label in names if label not in set(found)])[:MOST_ACTIONS]


def _over(labels: list[str], body: Mapping[str, Any]) -> dict[str, Any]:
    place = {label: i for i, label in enumerate(body["labels"])}
    series = {
        name: [body[name][place[label]] if label in place else missing for label in labels]
        for name, missing in SERIES.items()
    }
    return {key: body[key] for key in body if key not in ("labels", "state")} | series
