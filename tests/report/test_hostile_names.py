"""Names of every kind: no crash, no formula, no broken file, nothing raw in a terminal."""

from __future__ import annotations

import csv
import io
import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import partial_monitoring as pm
from tests.oracles.report_samples import comparison, made_up

pytest.importorskip("plotly")
pytest.importorskip("jinja2")

HOSTILE = {
    "surrogate": "\ud800 half",
    "escape": "\x1b]0;title\x07 and \x1b[31m",
    "nul": "a\x00b",
    "c1": "a\x9b31m",
    "bidi": "a\u202egnp.exe",
    "comment": "a --> <svg/onload=alert(1)> <!-- b",
    "glyphs": "价格 🍎",
    "noncharacter": "a\uffffb",
}


def hostile_comparison(*names: str) -> pm.Comparison:
    title = " ".join(names)
    game = pm.FiniteGame([[0.0, -1.0], [-2.0, 0.0]], ["yy", "ny"], actions=["one", "two"])
    if not any("\ud800" <= c <= "\udfff" for c in title):
        object.__setattr__(game, "actions", (title, "two"))  # even if constructors refuse it
    regret = dict.fromkeys(names, 0.5) | {"other": 0.6}
    result = replace(made_up(regret, k=2), theta=np.full((8, 2), 0.5))
    return comparison(result, name=title, game=game, instance=title, refused={f"{title}!": title})


@pytest.mark.parametrize("kinds", [["surrogate"], [*HOSTILE][1:]], ids=["surrogate", "others"])
def test_hostile_names_leave_every_file_well_formed(kinds: list[str], tmp_path: Path) -> None:
    names = [HOSTILE[kind] for kind in kinds]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = hostile_comparison(*names)
        page = pm.write_report(shown, tmp_path, title=names[0], command=names[0])
    figures = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(figures) == 4
    for path in figures:
        ElementTree.parse(path)
    for path in (page, *(tmp_path / "tables").iterdir()):
        written = path.read_text(encoding="utf-8")
        if path == page:
            written = written[: written.index("<script>")]
        assert not any(ord(c) < 32 and c not in "\n\r\t" for c in written)
        assert "\u202e" not in written


def test_cells_of_tables_start_no_formula(tmp_path: Path) -> None:
    names = ["=1+1", "+1-cmd", "-2+3", "@SUM(A1)", "\t=1", " =1", "＝1", "-0.5", "plain"]
    result = made_up(dict.fromkeys(names, 0.5))
    shown = comparison(result, name="=HYPERLINK(0)", instance="-1, 0.5")
    pm.write_report(shown, tmp_path, figures=False)
    for path in (tmp_path / "tables").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        risky = [c for c in cells if c.strip() and c.strip()[0] in "=+-@＝" and not _number(c)]
        assert risky == []
    summary = (tmp_path / "tables" / "summary.csv").read_text(encoding="utf-8")
    assert "'=1+1" in summary
    assert ",-0.5," in summary


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_names_reach_no_terminal_raw() -> None:
    from rich.console import Console

    from partial_monitoring.report.terminal import summary_table

    out = io.StringIO()
    Console(file=out, width=150).print(summary_table(hostile_comparison(HOSTILE["escape"])))
    assert "\x1b" not in out.getvalue()
    assert "\\x1b[31m" in out.getvalue()


def test_a_name_is_the_same_in_the_charts_and_on_the_buttons(tmp_path: Path) -> None:
    page = pm.write_report(hostile_comparison(HOSTILE["surrogate"]), tmp_path, figures=False)
    text = page.read_text(encoding="utf-8")
    assert 'data-policy="\\ud800 half"' in text
    assert '"policy":"\\\\ud800 half"' in text


def test_numbers_of_a_hostile_report_are_those_of_a_plain_one() -> None:
    from partial_monitoring.report.summary import summary_rows

    rows = summary_rows(hostile_comparison(HOSTILE["nul"]))
    plain = summary_rows(comparison(made_up({"a": 0.5, "other": 0.6}, k=2)))
    assert [row["regret_mean"] for row in rows] == [row["regret_mean"] for row in plain]
    assert np.isfinite(rows[0]["regret_mean"])
