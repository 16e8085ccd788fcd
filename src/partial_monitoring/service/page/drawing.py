"""What the charts of a study show, from its trace: at most 500 points, whatever its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log1p
from typing import Any

Point = Mapping[str, Any]

NAMED = 8
"""Number of actions with colours of their own, those that were played most."""

OTHER = "other"
"""The colour of all others."""

LATEST = 0.75
"""Shares are those of the plays since this share of the decisions."""

LANE = 1000
"""Units of width of a lane."""


def colored(plays: Sequence[float], always: Sequence[int] = ()) -> dict[int, str]:
    """Return the colours of the actions that were played most, by number.

    >>> colored([0, 5, 3]), colored([1] * 20)[7]
    ({0: 'a0', 1: 'a1', 2: 'a2'}, 'a7')
    """
    if len(plays) <= NAMED:
        return {number: f"a{number}" for number in range(len(plays))}
    most = sorted(range(len(plays)), key=lambda a: (a not in always, -plays[a], a))[:NAMED]
    return {number: f"a{place}" for place, number in enumerate(sorted(most))}


def chart_of(trace: Mapping[str, Any], colors: Mapping[int, str]) -> dict[str, Any]:
    """Return what the script draws: columns over the points of the trace."""
    points: Sequence[Point] = [own for own in trace["points"] if own["decisions"] > 0]
    labels, chosen = trace["actions"], list(colors)
    shares = _shares(points, chosen)
    rest = [None if None in own else max(0.0, 1.0 - sum(own)) for own in zip(*shares, strict=True)]
    actions = [{"label": labels[a], "color": colors[a]} for a in chosen]
    if len(labels) > len(chosen) and any(own is not None and own > 1e-9 for own in rest):
        actions.append({"label": "others", "color": OTHER})
        shares.append(rest)
    regret = [own.get("regret") or {} for own in points]
    names = {
        "asked": "decisions",
        "told": "told",
        "open": "open",
        "late": "late",
        "lapsed": "lapsed",
    }
    return {
        "x": [own["decisions"] for own in points],
        "at": [own["at"] for own in points],
        "actions": actions,
        "shares": shares,
        **{name: _columns(points, name, chosen) for name in ("estimate", "low", "high")},
        "regret": {
            name: [own.get(name) for own in regret] for name in ("estimate", "at_most", "theory")
        },
        "answers": {name: [own.get(key, 0) for own in points] for name, key in names.items()},
    }


def _columns(points: Sequence[Point], name: str, chosen: Sequence[int]) -> list[list[Any]]:
    """Return one row of numbers over time for each of some actions."""
    return [[_at(own.get(name), a) for own in points] for a in chosen]


def _at(values: Sequence[Any] | None, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else None


def _shares(points: Sequence[Point], chosen: Sequence[int]) -> list[list[float | None]]:
    """Return shares of some actions in the latest quarter of the plays, over time."""
    found: list[list[float | None]] = [[] for _ in chosen]
    begin = 0
    for i, point in enumerate(points):
        while begin + 1 < i and points[begin + 1]["decisions"] <= LATEST * point["decisions"]:
            begin += 1
        late = points[begin]["decisions"] <= LATEST * point["decisions"] and begin < i
        since: Point = points[begin] if late else {"plays": [0] * len(point["plays"]), "told": 0}
        plays = [max(0, x - y) for x, y in zip(point["plays"], since["plays"], strict=True)]
        total = max(sum(plays), point["told"] - since["told"])  # others are not in the trace
        if not any(plays):  # nothing was played since, or everything was forgotten
            plays, total = point["plays"], max(sum(point["plays"]), point["told"])
        for own, a in zip(found, chosen, strict=True):
            own.append(plays[a] / total if any(plays) else None)
    return found


def lanes_of(
    trace: Mapping[str, Any], colors: Mapping[int, str], total: int
) -> dict[str, Any] | None:
    """Return when each action might be best: a lane with spans, over decisions on a log scale.

    Of many actions a point of the trace has only some; what it does not have is drawn faintly.
    """
    points = [own for own in trace["points"] if own["decisions"] > 0 and own.get("may_be_best")]
    if len(points) < 2:
        return None
    places = [own["decisions"] for own in points]
    labels = trace["actions"]
    rows = []
    for a, color in colors.items():
        flags = [
            None if _at(own["estimate"], a) is None else bool(own["may_be_best"][a])
            for own in points
        ]
        known = {"label": labels[a], "color": color, "words": _words(labels[a], flags, points)}
        rows.append(known | {"spans": _spans(flags, places)})
    return {"rows": rows, "more": total - len(rows), "first": places[0], "last": places[-1]}


def _spans(
    flags: Sequence[bool | None], places: Sequence[float]
) -> list[tuple[float, float, bool]]:
    """Return left edges and widths of the stretches in which a flag is set, or not known.

    Between two points the later one counts, so that the end of a lane is how things are now.
    """
    found: list[list[Any]] = []
    for flag, start, end in zip(flags[1:], places, places[1:], strict=False):
        if flag is False:
            continue
        if found and found[-1][1] == start and found[-1][2] == (flag is True):
            found[-1][1] = end
        else:
            found.append([start, end, flag is True])
    low = log1p(places[0])
    scale = LANE / ((log1p(places[-1]) - low) or 1.0)

    def place(x: float) -> float:
        return scale * (log1p(x) - low)

    return [(round(place(a), 1), round(place(b) - place(a), 1), c) for a, b, c in found]


def _words(label: str, flags: Sequence[bool | None], points: Sequence[Point]) -> str:
    """Say what a lane shows."""
    if flags[-1] is not False:
        return f"{label} may still be best"
    out = next((i for i in reversed(range(len(flags))) if flags[i] is not False), -1) + 1
    return f"{label} was ruled out by decision {points[out]['decisions']:,}"


def bars(rows: list[dict[str, Any]]) -> None:
    """Add to every row where its interval is drawn, between the ends of all of them."""
    values = [x for row in rows for x in (row["low"], row["earns"], row["high"]) if x is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    scale = 228 / ((high - low) or 1.0)

    def place(x: float | None, otherwise: float) -> float:
        return round(6 + scale * ((otherwise if x is None else x) - low), 1)

    for row in rows:
        row["bar"] = {
            "left": place(row["low"], low),
            "at": place(row["earns"], (low + high) / 2),
            "right": place(row["high"], high),
        }
