"""The page of a report: one HTML file with everything inside, readable without a network."""

from __future__ import annotations

import json
import platform
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from hashlib import sha256
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import partial_monitoring
from partial_monitoring.errors import visible
from partial_monitoring.policies.policy import Policy
from partial_monitoring.report import text
from partial_monitoring.report.charts import Chart, information_charts, plays_charts, regret_chart
from partial_monitoring.report.leaderboard import leaderboard
from partial_monitoring.report.names import short
from partial_monitoring.report.ranking import Duel, Ranking
from partial_monitoring.report.series import DARK, Style, action_colors
from partial_monitoring.report.side_by_side import side_by_side
from partial_monitoring.report.significance import FEWEST
from partial_monitoring.report.summary import Section

Drawings = Mapping[str, bytes]
"""The figures of a section as SVG by kind: cells, regret, plays, information."""

PACKAGES = ("numpy", "scipy", "numba")
"""Packages on whose versions the numbers depend."""

MOST_DUELS = 12
"""Largest number of policies for which a table of all pairs fits on a screen."""


def render_page(
    sections: Sequence[Section],
    rankings: Sequence[Ranking],
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

    policies: dict[str, Any] = {}
    for section in sections:
        policies |= dict(section.comparison.policies) | policies
    charts: list[Chart] = []
    groups = game_groups(sections, drawings, styles, charts)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.globals |= {"text": text, "describe": describe, "short": short, "dark": DARK.get}
    scripts = {"plotly": get_plotlyjs().replace("\r\n", "\n"), "script": _part("page.js")}
    template = environment.from_string(_part("page.html.jinja"))
    return template.render(
        title=title,
        headline=text.headline(sections, rankings),
        facts=text.facts(sections, styles),
        sections=sections,
        sides=side_by_side(sections),
        places=leaderboard(sections) if len(sections) > 1 and len(styles) > 1 else [],
        rankings=rankings,
        duels=duels,
        rivals=list(dict.fromkeys(first for first, _ in duels)),
        most_duels=MOST_DUELS,
        fewest=FEWEST,
        groups=groups,
        styles=styles,
        policies=policies,
        promises=text.promises(sections),
        command=command,
        versions=versions(),
        css=_part("page.css"),
        **scripts,
        hashes=[script_hash(script) for script in scripts.values()],
        dark_colors=json.dumps(DARK),
        charts=script_json(charts),
    )


def game_groups(
    sections: Sequence[Section],
    drawings: Sequence[Drawings],
    styles: Mapping[str, Style],
    charts: list[Chart],
) -> list[dict[str, Any]]:
    """Group the instances by game, and append their charts to the list."""
    groups: dict[int, dict[str, Any]] = {}
    for place, (section, drawn) in enumerate(zip(sections, drawings, strict=True), start=1):
        comparison = section.comparison
        key = id(section.verdict)  # equal games share theirs
        if key not in groups:
            groups[key] = {
                "name": comparison.game_name,
                "verdict": section.verdict,
                "picture": data_uri(drawn["cells"]) if "cells" in drawn else None,
                "instances": [],
            }
        groups[key]["instances"].append(_instance(section, drawn, styles, charts, place))
    return list(groups.values())


def data_uri(svg: bytes) -> str:
    """Return a picture as an address that holds it; its ids cannot clash with another one's."""
    return "data:image/svg+xml;base64," + b64encode(svg).decode()


def script_hash(script: str) -> str:
    """Return what the page's security policy calls a script that may run."""
    return "sha256-" + b64encode(sha256(script.encode()).digest()).decode()


def _shown(value: object) -> object:
    """Replace what a browser cannot show, except in the page's own code."""
    return visible(value) if type(value) is str else value


def script_json(value: object) -> str:
    """Return JSON that cannot end the script element around it."""
    plain = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return plain.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _instance(
    section: Section, drawn: Drawings, styles: Mapping[str, Style], charts: list[Chart], place: int
) -> dict[str, Any]:
    """Return what the template shows of one instance."""

    def listed(chart: Chart) -> int:
        charts.append(chart)
        return len(charts) - 1

    shown: dict[str, Any] = {
        "id": f"instance-{place}",
        "section": section,
        "answer": text.answer(section),
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
    shown |= {"chart": regret, "regret": listed(regret), "bound": text.bound_note(section)}
    information = information_charts(section, styles)
    shown["information"] = {title: listed(chart) for title, chart in information.items()}
    played = section.plays
    if played is not None:
        shown["plays"] = {name: listed(chart) for name, chart in plays_charts(played).items()}
        colors = action_colors(len(played.actions), others=played.others)
        shown["actions"] = list(zip(played.actions, colors, strict=True))
    return shown


def _part(name: str) -> str:
    """Read a file that comes with the package."""
    return resources.files("partial_monitoring.report").joinpath(name).read_text(encoding="utf-8")


def versions() -> dict[str, str]:
    """Return the versions of everything that the numbers depend on."""
    found = {"partial-monitoring": partial_monitoring.__version__}
    found["python"] = platform.python_version()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def describe(policy: Policy[Any]) -> str:
    """Show a policy with the options that differ from their defaults.

    >>> import partial_monitoring as pm
    >>> describe(pm.IDS()), describe(pm.IDS(gap=pm.gaps.relaxed, regularization=2.0))
    ('IDS()', 'IDS(gap=relaxed, regularization=2.0)')
    """
    if isinstance(policy, str):
        return policy  # the description of a policy that is not the library's
    options: list[str] = []
    if is_dataclass(policy):
        for option in fields(policy):
            value, default = getattr(policy, option.name), option.default
            if option.default_factory is not MISSING:
                default = option.default_factory()
            if repr(value) != repr(default):
                options.append(f"{option.name}={_brief(value)}")
    return f"{type(policy).__name__}({', '.join(options)})"


def _brief(value: object) -> str:
    """Show a function by its name, everything else as Python does."""
    return short(getattr(value, "__name__", None) or repr(value), 80)
