"""Write a report: the page, the figures and the tables, into one folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.report.ranking import ahead_of_others, duels, rankings
from partial_monitoring.report.series import Style, policy_styles
from partial_monitoring.report.summary import Section, sections
from partial_monitoring.report.tables import write_tables
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.validation import boolean, file_path, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTRAS = ("matplotlib", "plotly", "jinja2")

MADE = ".made-by-report"
"""The list of the figures that a report has written, which the next one may delete."""

FIGURE = re.compile(r"\d+-[a-z0-9-]*(cells|regret|plays|information)\.(svg|pdf)")
"""The names of figures."""


def write_report(
    comparisons: Comparison | Iterable[Comparison],
    folder: str | Path,
    *,
    title: str = "Policies compared",
    command: str | None = None,
    figures: bool = True,
) -> Path:
    """Write a report of experiments and return the path of its page.

    Parameters
    ----------
    comparisons
        What the experiments gave: policies on the same seeds of instances of games.
    folder
        Where to write ``report.html``, ``tables/`` (CSV and Markdown) and ``figures/`` (SVG, PDF).
    title
        The title of the page.
    command
        The command that makes this report again; the page shows it beside the versions.
    figures
        Whether to write the figures as files too; the page has them either way.

    Notes
    -----
    Of the files in the folder only those are replaced or deleted that a report has written: a list
    of its figures is kept in ``.made-by-report``. Every file is written whole or not at all.

    The page holds everything it shows, the drawing library included (about 5 MB), and opens without
    a network. What is drawn goes through at most a few hundred checkpoints, whatever the horizon.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> from tempfile import mkdtemp
    >>> game, policies = pm.games.apple_tasting(), {"ids": pm.IDS()}
    >>> result = pm.simulate(game, policies, [0.9, 0.1], horizon=50, seeds=4)
    >>> comparison = pm.Comparison("apple_tasting", game, "(0.9, 0.1)", policies, result)
    >>> pm.write_report([comparison], mkdtemp(), figures=False).name
    'report.html'
    """
    require_extras()
    boolean("figures", figures)
    written("title", title)
    if command is not None:
        written("command", command)
    from partial_monitoring.report.page import render_page

    counted = sections(comparisons)
    styles = policy_styles([section.comparison for section in counted])
    ranked = rankings(counted)
    order = sorted(ahead_of_others(ranked).items(), key=lambda item: -item[1])
    played = duels(counted, [name for name, _ in order])
    target = file_path(folder)
    path = target / "report.html"
    drawings, files = draw_figures(counted, styles, files=figures)
    page = render_page(counted, ranked, played, styles, drawings, title=title, command=command)
    write_tables(target / "tables", counted, ranked, played)
    if figures:
        write_figures(target, files)
    disk.write_text(path, page)
    return path


def require_extras() -> None:
    """Refuse to start without the packages that draw."""
    for package in EXTRAS:
        try:
            import_module(package)
        except ImportError:
            raise InvalidInput(
                f"a report needs {package}; install it with: pip install {' '.join(EXTRAS)}."
            ) from None


def draw_figures(
    counted: Sequence[Section], styles: Mapping[str, Style], *, files: bool
) -> tuple[list[dict[str, bytes]], dict[str, bytes]]:
    """Return the figures of every section as SVG by kind, and, if wanted, all files by name.

    The cells of a game are drawn once, with its first instance.
    """
    from partial_monitoring.report.figures import look, pdf, svg

    drawings: list[dict[str, bytes]] = []
    found: dict[str, bytes] = {}
    seen: set[int] = set()
    for place, section in enumerate(counted, start=1):
        slug = re.sub(r"[^a-z0-9]+", "-", section.comparison.game_name.lower()).strip("-")[:40]
        name = f"{place:02d}-{slug}".strip("-")
        with look():
            drawn = section_figures(section, styles, cells=id(section.verdict) not in seen)
            drawings.append({kind: svg(figure) for kind, figure in drawn.items()})
            seen.add(id(section.verdict))
            for kind, figure in drawn.items() if files else ():
                found[f"{name}-{kind}.svg"] = drawings[-1][kind]
                found[f"{name}-{kind}.pdf"] = pdf(figure)
    return drawings, found


def write_figures(target: Path, files: Mapping[str, bytes]) -> None:
    """Write the figures, and delete those of an earlier report that has left a list of its own."""
    folder, made = disk.make_folder(target / "figures"), target / MADE
    old: set[str] = set()
    with suppress(OSError):  # there is no earlier report
        listed = made.read_text(encoding="utf-8", errors="replace").splitlines()
        old = {name for name in listed if FIGURE.fullmatch(name)}
    disk.write_text(made, "\n".join(sorted(old | set(files))) + "\n")
    for name in sorted(old - set(files)):
        disk.remove(folder / name)
    for name, data in files.items():
        disk.write_bytes(folder / name, data)
    disk.write_text(made, "\n".join(sorted(files)) + "\n")


def section_figures(
    section: Section, styles: Mapping[str, Style], *, cells: bool
) -> dict[str, Figure]:
    """Return the figures of a section that have something to draw."""
    from partial_monitoring.report import figures

    drawn = {"cells": figures.cell_figure(section) if cells else None}
    if section.summaries:
        drawn["regret"] = figures.regret_figure(section, styles)
        drawn["information"] = figures.information_figure(section, styles)
        drawn["plays"] = figures.plays_figure(section.plays) if section.plays else None
    return {kind: figure for kind, figure in drawn.items() if figure is not None}
