"""The page of a report: one HTML file with everything inside, readable without a network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from math import isfinite
from typing import Any

from partial_monitoring.report import words
from partial_monitoring.report.charts import Chart, information_charts, plays_charts, regret_chart
from partial_monitoring.report.colors import Style, action_colors
from partial_monitoring.report.game_class import Verdict
from partial_monitoring.report.ranking import Duel, Standing
from partial_monitoring.report.reproduce import describe, versions
from partial_monitoring.report.sentences import answer, bound_note, facts, headline, refusals
from partial_monitoring.report.series import plays
from partial_monitoring.report.summary import Section

Drawings = Mapping[str, bytes]
"""The figures of a section as SVG by kind: cells, regret, plays, information."""

MOST_DUELS = 12
"""With more policies the table of every two would be too wide for any screen."""


@dataclass
class Group:
    """A game with its instances."""

    name: str
    verdict: Verdict
    picture: str | None
    instances: list[dict[str, Any]] = field(default_factory=list)


def render(
    sections: Sequence[Section],
    standings: Sequence[Standing],
    duels: Mapping[tuple[str, str], Duel],
    styles: Mapping[str, Style],
    drawings: Sequence[Drawings],
    *,
    title: str,
    command: str | None,
) -> str:
    """Return the page as HTML."""
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    charts: list[Chart] = []
    groups = grouped(sections, drawings, styles, charts)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"words": words, "describe": describe}
    template = environment.from_string(_part("page.html.jinja"))
    return template.render(
        title=title,
        headline=headline(sections, standings),
        facts=facts(sections, styles),
        sections=sections,
        standings=standings,
        duels=duels if len(standings) <= MOST_DUELS else {},
        groups=groups,
        styles=styles,
        refusals=refusals(sections),
        policies=_policies(sections),
        command=command,
        versions=versions(),
        css=_part("page.css"),
        script=_part("page.js"),
        plotly=get_plotlyjs(),
        charts=script_json(charts),
    )


def grouped(
    sections: Sequence[Section],
    drawings: Sequence[Drawings],
    styles: Mapping[str, Style],
    charts: list[Chart],
) -> list[Group]:
    """Put the instances of one game together, and their charts on the list."""
    groups: dict[tuple[str, int], Group] = {}
    for place, (section, drawn) in enumerate(zip(sections, drawings, strict=True), start=1):
        comparison = section.comparison
        key = (comparison.game_name, id(comparison.game))
        if key not in groups:
            picture = data_uri(drawn["cells"]) if "cells" in drawn else None
            groups[key] = Group(comparison.game_name, section.verdict, picture)
        groups[key].instances.append(_instance(section, drawn, styles, charts, place))
    return list(groups.values())


def data_uri(svg: bytes) -> str:
    """Return a picture as an address that holds it; its ids cannot clash with another one's."""
    return "data:image/svg+xml;base64," + b64encode(svg).decode()


def script_json(value: object) -> str:
    """Return JSON that cannot end the script element around it; numbers that are none are null."""
    clean = only_finite(value)
    text = json.dumps(clean, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def only_finite(value: Any) -> Any:
    """Return nested plain data with None in the place of nan and infinities.

    >>> only_finite({"x": [1.0, float("inf")], "y": "nan"})
    {'x': [1.0, None], 'y': 'nan'}
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: only_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [only_finite(item) for item in value]
    return value


def _instance(
    section: Section,
    drawn: Drawings,
    styles: Mapping[str, Style],
    charts: list[Chart],
    place: int,
) -> dict[str, Any]:
    """Return what the template shows of one instance."""

    def listed(chart: Chart) -> int:
        charts.append(chart)
        return len(charts) - 1

    shown: dict[str, Any] = {
        "id": f"instance-{place}",
        "section": section,
        "answer": answer(section),
        "pictures": {name: data_uri(svg) for name, svg in drawn.items()},
        "regret": None,
        "bound": None,
        "information": {},
        "plays": {},
        "actions": [],
    }
    if not section.summaries:
        return shown
    regret = regret_chart(section, styles)
    shown |= {"chart": regret, "regret": listed(regret), "bound": bound_note(section)}
    information = information_charts(section, styles)
    shown["information"] = {title: listed(chart) for title, chart in information.items()}
    played = plays(section.comparison)
    if played is not None:
        shown["plays"] = {name: listed(chart) for name, chart in plays_charts(played).items()}
        colors = action_colors(len(played.actions), others=played.others)
        shown["actions"] = list(zip(played.actions, colors, strict=True))
    return shown


def _policies(sections: Sequence[Section]) -> dict[str, Any]:
    """Return every policy by name."""
    found: dict[str, Any] = {}
    for section in sections:
        for name, policy in section.comparison.policies.items():
            found.setdefault(name, policy)
    return found


def _part(name: str) -> str:
    """Read a file that comes with the package."""
    return resources.files("partial_monitoring.report").joinpath(name).read_text(encoding="utf-8")
