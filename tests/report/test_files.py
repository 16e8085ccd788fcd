"""The files of a report: which are written and deleted, and what the page and figures look like."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import disk
from partial_monitoring.report import figures
from partial_monitoring.report.series import plays, policy_styles
from partial_monitoring.report.summary import sections
from tests.oracles import report_samples as samples
from tests.oracles.report_samples import comparison, made_up

pytest.importorskip("plotly")
pytest.importorskip("jinja2")


@pytest.fixture
def plain_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("svg", "pdf"):
        monkeypatch.setattr(figures, kind, lambda figure, kind=kind: f"a new {kind}".encode())


@pytest.mark.usefixtures("plain_figures")
def test_a_report_deletes_only_what_a_report_made(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    own = ["01-my-own-drawing.svg", "02-mine-regret.pdf", "99-x.pdf", "notes.svg"]
    for name in own:
        (folder / name).write_text("mine")
    (tmp_path / "precious.txt").write_text("mine")
    (tmp_path / ".made-by-report").write_text("../precious.txt\n/etc/passwd\nnotes.svg\n")
    game = pm.games.dynamic_pricing()
    two = [comparison(made_up({"ids": 0.5}), name=name, game=game) for name in ("one", "two")]
    pm.write_report(two, tmp_path)
    assert (folder / "02-two-regret.svg").exists()
    pm.write_report(two[:1], tmp_path)
    made = {path.name for path in folder.iterdir()} - set(own)
    assert made == {
        f"01-one-{kind}.{end}"
        for kind in ("cells", "regret", "plays", "information")
        for end in ("svg", "pdf")
    }
    assert {(folder / name).read_text() for name in own} == {"mine"}
    assert (tmp_path / "precious.txt").read_text() == "mine"


@pytest.mark.usefixtures("plain_figures")
def test_every_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = comparison(made_up({"ids": 0.5}))
    written: list[Path] = []
    replace = disk._replace

    def watched(target: Path, data: bytes | memoryview) -> None:
        written.append(target)
        replace(target, data)

    monkeypatch.setattr(disk, "_replace", watched)
    pm.write_report(shown, tmp_path)
    found = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert found == set(written)
    before = {path: path.read_bytes() for path in found}

    def full(target: Path, data: bytes | memoryview) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "_replace", full)
    with pytest.raises(pm.errors.InvalidInput, match="No space left"):
        pm.write_report(comparison(made_up({"other": 0.9})), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("given", [None, 3])
def test_what_is_no_list_of_comparisons_is_refused(given: object, tmp_path: Path) -> None:
    with pytest.raises(pm.errors.InvalidInput, match=f"Comparison objects; got {given}"):
        pm.write_report(given, tmp_path / "folder")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    shown = comparison(made_up({f"policy {i}": 0.5 + i / 50 for i in range(6)}, seeds=60))
    path = pm.write_report(shown, tmp_path_factory.mktemp("page"), figures=False)
    return path.read_text(encoding="utf-8")


def test_only_the_scripts_of_the_page_may_run(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "script-src 'unsafe-inline'" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy


def test_the_page_follows_a_dark_scheme_and_shows_that_tables_scroll(page: str) -> None:
    css = resources.files("partial_monitoring.report").joinpath("page.css").read_text("utf-8")
    assert "@media (prefers-color-scheme: dark)" in css
    assert not re.search(r"(?<!-)\b(color|background): #", css)  # colours are variables
    assert ".scroll.cut::after" in css
    assert 'matchMedia("(prefers-color-scheme: dark)")' in page
    assert "--light: #333333; --dark: #c9ced4" in page or "--light: #0072b2" in page


def test_figures_label_their_axes_and_name_only_what_they_draw() -> None:
    shown = comparison(samples.without_information())
    (section,) = sections(shown)
    styles = policy_styles([shown])
    with figures.look():
        information = figures.information_figure(section, styles)
        regret = figures.regret_figure(section, styles)
        found = plays(comparison(made_up({str(i): 0.5 for i in range(6)})))
        assert found is not None
        played = figures.plays_figure(found)
    assert information is not None
    names = [text.get_text() for text in information.legends[0].get_texts()]
    assert names == ["ids", "infinite"]
    labels = [axes.get_xlabel() for axes in played.axes[:6]]
    assert labels == ["", "", "round", "round", "round", "round"]
    for axes in regret.axes:
        assert axes.get_ylim()[1] > max(curve.high.max() for curve in section.curves.values())
    assert np.isfinite(regret.axes[0].get_ylim()).all()
