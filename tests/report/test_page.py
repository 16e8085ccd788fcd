"""The page: complete, valid, without anything from a network, whatever the numbers are."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.report import charts, figures
from partial_monitoring.report.series import policy_styles
from partial_monitoring.report.summary import sections
from partial_monitoring.report.write import EXTRAS
from tests.oracles import report_samples as samples
from tests.oracles.report_samples import comparison, made_up

pytest.importorskip("plotly")
pytest.importorskip("jinja2")

VOID = {"meta", "link", "img", "br", "hr", "input"}
FETCHING = {"src", "href", "srcset", "data", "action", "poster"}


class Page(HTMLParser):
    """Reads a page, checks that elements are closed in order, and keeps texts and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in FETCHING:
                self.addresses.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} is closed but not open"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open and self.open[-1] == "script" else self.texts).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def charts(self) -> list[charts.Chart]:
        found = next(script for script in self.scripts if script.startswith("[{"))
        return json.loads(found)  # type: ignore[no-any-return]


def odd_comparisons() -> list[pm.Comparison]:
    game = pm.games.dynamic_pricing()
    big = pm.games.linear_bandit(np.random.default_rng(0).normal(size=(150, 2)))
    return [
        comparison(samples.ten_odd_policies(), game=game, refused={"<i>no</i>": "because & so."}),
        comparison(samples.without_regret(), game=game, instance="without regret"),
        comparison(samples.without_information(), game=game, instance="odd information"),
        comparison(made_up({"ids": 0.5, "b": 0.6}, seeds=1, rounds=(1,)), game=game, instance="1"),
        comparison(samples.nothing_measured(), name="big <game>", game=big, instance="0.1, " * 60),
    ]


@pytest.fixture(scope="module")
def odd_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("odd")
    command = "pm run 'my file.toml' <&>"
    path = pm.write_report(
        odd_comparisons(), folder, title="A & <b>", command=command, figures=False
    )
    assert not (folder / "figures").exists()
    return path.read_text(encoding="utf-8")


def test_regret_in_few_runs_leaves_a_range_to_draw() -> None:
    (section,) = sections([comparison(samples.regret_in_one_run())])
    chart = charts.regret_chart(section, policy_styles([section.comparison]))
    limits = chart["views"]["log-log"]["layout"]["yaxis"]["range"]
    assert np.isfinite(limits).all()
    assert limits[0] < limits[1]


def test_the_page_is_valid_and_holds_everything_it_needs(odd_page: str) -> None:
    page = Page(odd_page)
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"url\(|@import", odd_page[: odd_page.index("</style>")])
    assert len(page.ids) == len(set(page.ids))
    links = {address[1:] for address in page.addresses if address.startswith("#")}
    assert links <= set(page.ids)
    assert 'name="viewport"' in odd_page


def test_the_page_forbids_the_browser_to_fetch(odd_page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', odd_page)
    assert "default-src 'none'" in policy
    assert "form-action 'none'" in policy
    assert "http" not in policy
    assert "modeBarButtons:" in odd_page  # of the buttons of plotly.js, one sends the data away


def test_every_name_stands_on_the_page_as_it_is(odd_page: str) -> None:
    page = Page(odd_page)
    long = {name for name in samples.ODD_NAMES if len(name) > 40}
    for name in (*samples.ODD_NAMES, "A & <b>", "pm run 'my file.toml' <&>", "because & so."):
        assert " ".join(name.split()) in page.text
    assert len(long) == 2
    assert "big <game>" in page.text
    assert "alert(1)" not in "".join(page.scripts[-1:])


def test_the_page_tells_what_is_missing(odd_page: str) -> None:
    text = Page(odd_page).text
    assert "was not analysed" in text
    assert "too many actions for their plays to be counted" in text
    assert "None of these policies measures information." in text
    assert "All policies have the same regret: 0 after" in text
    assert "1 seed cannot prove an order of 2 policies" in text


def test_the_charts_are_numbers_that_browsers_can_read(odd_page: str) -> None:
    drawn = Page(odd_page).charts
    traces = [t for chart in drawn for view in chart["views"].values() for t in view["data"]]
    assert all(len(trace["x"]) == len(trace["y"]) for trace in traces)
    for chart in drawn:
        for trace in chart["views"].get("log-log", {"data": []})["data"]:
            assert all(y is None or y > 0 for y in trace["y"])


def test_a_policy_has_one_colour_everywhere(odd_page: str) -> None:
    drawn = Page(odd_page).charts
    colors: dict[str, set[str]] = {}
    for chart in drawn:
        for view in chart["views"].values():
            for trace in view["data"]:
                if "policy" in trace["meta"]:
                    colors.setdefault(trace["meta"]["policy"], set()).add(trace["line"]["color"])
    assert {len(found) for found in colors.values()} == {1}


def test_the_verdict_the_bound_and_the_versions_are_told(odd_page: str) -> None:
    text = Page(odd_page).text
    analysis = pm.analyze(pm.games.dynamic_pricing())
    for sentence in analysis.explain().splitlines():
        assert sentence in text
    assert f"α = {analysis.alignment:.3g}" in text
    assert "yes, in exact arithmetic" in text
    assert re.search(r"theoretical bound for IDS \(.*\) says nothing before round", text)
    for package in ("python", "numpy", "scipy", "numba", "partial-monitoring"):
        assert package in text
    assert np.__version__ in text
    assert pm.__version__ in text


def test_files_are_written_and_the_same_twice(tmp_path: Path) -> None:
    game, policies = pm.games.apple_tasting(), {"ids": pm.IDS()}
    result = pm.simulate(game, policies, [0.6, 0.4], horizon=30, seeds=3)
    shown = pm.Comparison("apple/tasting", game, "(0.6, 0.4)", policies, result)
    path = pm.write_report(shown, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "report.html"
    names = sorted(file.name for file in (path.parent / "figures").iterdir())
    kinds = ("cells", "information", "plays", "regret")
    assert names == [f"01-apple-tasting-{kind}.{end}" for kind in kinds for end in ("pdf", "svg")]
    found = sorted(file.name for file in (path.parent / "tables").iterdir())
    assert {"summary.csv", "summary.md", "ranking.csv", "ranking.md", "pairs.csv"} <= set(found)
    before = {file: file.read_bytes() for file in path.parent.rglob("*.*")}
    pm.write_report([shown], path.parent)
    assert {file: file.read_bytes() for file in before} == before


def test_figures_leave_the_settings_of_matplotlib_alone() -> None:
    import matplotlib as mpl

    (section,) = sections(comparison(made_up({"_a $": 0.5, "b": 0.6})))
    before = dict(mpl.rcParams)
    with figures.look():
        figure = figures.regret_figure(section, policy_styles([section.comparison]))
        (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][:2] == [r" _a \$", "b"]
    assert dict(mpl.rcParams) == before


def test_nothing_played_is_a_page_too(tmp_path: Path) -> None:
    result = pm.Result(np.arange(2), np.array([10]), np.zeros((2, 3)), {}, {}, {}, {})
    shown = comparison(result, refused={"ids": "this game is hopeless."})
    text = Page(pm.write_report(shown, tmp_path, figures=False).read_text(encoding="utf-8")).text
    assert "No policy played" in text
    assert "this game is hopeless." in text


@pytest.mark.parametrize(
    ("given", "sentence"),
    [([], "at least one comparison"), (["ids"], "Comparison objects; got 'ids'")],
)
def test_what_is_no_comparison_is_refused(
    given: list[object], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(pm.errors.InvalidInput, match=sentence):
        pm.write_report(given, tmp_path / "folder")  # type: ignore[arg-type]
    assert not (tmp_path / "folder").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(pm.errors.InvalidInput, match="cannot be written"):
        pm.write_report(comparison(made_up({"ids": 0.5})), tmp_path / "taken")


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_extra_is_named(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        pm.errors.InvalidInput, match=rf"needs {package};.* pip install .*{package}"
    ):
        pm.write_report(comparison(made_up({"ids": 0.5})), tmp_path)


def test_the_terminal_table_needs_no_extras() -> None:
    code = """
import sys
for name in ("matplotlib", "plotly", "jinja2", "pandas"):
    sys.modules[name] = None
from rich.console import Console
import partial_monitoring as pm
from partial_monitoring.report.terminal import summary_rows, summary_table
game, policies = pm.games.apple_tasting(), {"ids": pm.IDS(), "[b]x": pm.IDS()}
result = pm.simulate(game, policies, [0.6, 0.4], horizon=30, seeds=3)
refused = {"linucb": "it needs rewards."}
shown = pm.Comparison("apple_tasting", game, "(0.6, 0.4)", policies, result, refused)
Console(width=120).print(summary_table([shown]))
print(summary_rows([shown])[0]["regret_mean"])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for word in ("* ids", "[b]x", "θ = (0.6, 0.4)", "easy", "n^1/2", "linucb", "refused"):
        assert word in run.stdout
