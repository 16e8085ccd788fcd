"""What the page is made of: files and their hashes, forms, charts, words."""

import re
from hashlib import sha256
from importlib import resources
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("jinja2")

from partial_monitoring.errors import InvalidInput
from partial_monitoring.service.page import drawing, forms, render, words

VENDORED = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""uPlot 1.6.32 as it was published."""

PAGE = resources.files("partial_monitoring.service.page")


@pytest.mark.parametrize("name", VENDORED)
def test_the_chart_library_is_the_one_that_was_published(name):
    assert sha256(render.content(name)).hexdigest() == VENDORED[name]


def test_every_file_is_listed_and_has_a_kind():
    found = {own.name for own in PAGE.joinpath("static").iterdir()}
    assert found == set(render.FILES)
    for name in render.FILES:
        answer = render.static(name)
        assert answer.media_type is not None
        assert "immutable" in answer.headers["cache-control"]
        assert sha256(render.content(name)).hexdigest()[:12] in render.asset(name)


def test_the_wheel_has_templates_and_files():
    """Everything below ``src`` that git does not ignore is in the wheel."""
    root = Path(__file__).parents[2]
    patterns = (root / ".gitignore").read_text().split()
    folder = root / "src/partial_monitoring/service/page"
    names = [own.relative_to(root).as_posix() for own in folder.rglob("*.*")]
    kept = [name for name in names if "__pycache__" not in name]
    assert any(name.endswith("study.html.jinja") for name in kept)
    assert any(name.endswith("uPlot.LICENSE") for name in kept)
    for name in kept:
        assert not any(pattern.strip("/*") in name.split("/") for pattern in patterns), name


def test_own_scripts_and_templates_have_nothing_inline():
    for own in PAGE.joinpath("templates").iterdir():
        text = own.read_text()
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text), own.name
        assert "| safe" not in text
    for name in ("page.js", "charts.js"):
        text = render.content(name).decode()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)
        assert len(text.splitlines()) < 400


def test_what_is_typed_is_read():
    form = forms.Form(b"action=sell&action=taste&outcome=good&outcome=bad&x=%3Cb%3E", "")
    assert form.all["action"] == ["sell", "taste"]
    assert form["x"] == "<b>"
    assert form["missing"] == ""


def test_files_are_read_with_the_form():
    body = (
        b'--B\r\nContent-Disposition: form-data; name="name"\r\n\r\nshop\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="g.json"\r\n'
        b"Content-Type: application/json\r\n\r\n" + '{"a": "é\\n"}'.encode() + b"\r\n--B--\r\n"
    )
    form = forms.Form(body, "multipart/form-data; boundary=B")
    assert form["name"] == "shop"
    assert form["file"] == '{"a": "é\\n"}'
    assert form["file-name"] == "g.json"


@pytest.mark.parametrize("body", [b"\xff=1", b"a=1&" * 6000])
def test_forms_that_cannot_be_read_are_refused(body):
    with pytest.raises(InvalidInput, match="form cannot be read"):
        forms.Form(body, "")


def test_a_table_is_read_row_by_row():
    body = b"outcome=g&outcome=b&action=s&action=t&earns=1&earns=-1&earns=0,5&earns=x"
    table = forms.table_of(forms.Form(body + b"&shows=&shows=&shows=g&shows=b", ""))
    assert table["earns"] == [[1, -1], [0.5, "x"]]
    assert table["shows"] == [["", ""], ["g", "b"]]
    assert forms.shown_table(table)["rows"][1]["cells"][0] == {"earns": 0.5, "shows": "g"}
    with pytest.raises(InvalidInput, match="as many cells"):
        forms.table_of(forms.Form(body, ""))


def test_games_come_from_files():
    assert forms.game_of_file("", '{"rewards": [[1]]}') == {"file": {"rewards": [[1]]}}
    assert forms.game_of_file("g.toml", "rewards = [[1]]") == {"file": {"rewards": [[1]]}}
    found = forms.game_of_file("g.csv", ",good,bad\nsell,1 -,-1 -\ntaste,-1 good,0 bad\n")
    assert found["file"]["actions"] == ["sell", "taste"]
    for text in ("", "{", "a = ", ",good\nsell,x y"):
        with pytest.raises(InvalidInput) as error:
            forms.game_of_file("", text)
        assert "/tmp" not in str(error.value)


def test_named_games_have_their_options():
    known = forms.named_game("dynamic_pricing", {"option-cost": "3"})
    assert {"name": "cost", "default": "2.0", "typed": "3"} in known["options"]
    form = forms.Form(b"option-prices=1%2C+2&option-cost=&option-x=yes", "")
    assert forms.options_of(form) == {"prices": [1, 2], "x": "yes"}
    assert len(forms.named_games()) > 20
    with pytest.raises(InvalidInput, match="no game"):
        forms.named_game("nothing")


def test_rows_of_a_history():
    csv = "action,observation,probability,count\n$2,yes,0.5,3\n$1,no,,\n"
    assert forms.rows_of(csv) == [
        {"action": "$2", "observation": "yes", "probability": 0.5, "count": 3},
        {"action": "$1", "observation": "no"},
    ]
    assert forms.rows_of('{"action": "a", "observation": 1}\n') == [
        {"action": "a", "observation": 1}
    ]
    for text in ("", "a,b\n1,2", "action,observation\nx", "{", "action,observation,count\na,b,c"):
        with pytest.raises(InvalidInput):
            forms.rows_of(text)


def point(decisions, plays, best, **more):
    numbers = {"estimate": [0.5] * len(plays), "low": [0] * len(plays), "high": [1] * len(plays)}
    known = {"decisions": decisions, "told": sum(plays), "at": 1.0 * decisions, "plays": plays}
    return known | numbers | {"may_be_best": best, "open": 0, "late": 0, "lapsed": 0} | more


def test_charts_show_the_latest_quarter():
    points = [point(10, [10, 0], [True, True]), point(20, [10, 10], [True, False])]
    chart = drawing.chart_of({"actions": ["a", "b"], "points": points}, {0: "a0", 1: "a1"})
    assert chart["x"] == [10, 20]
    assert chart["shares"] == [[1.0, 0.0], [0.0, 1.0]]
    assert chart["answers"]["asked"] == [10, 20]
    assert chart["regret"]["theory"] == [None, None]


def test_many_actions_are_drawn_together():
    plays = list(range(20))
    colors = drawing.colored(plays, [0])
    assert len(colors) == drawing.NAMED
    assert {0, 19} <= set(colors)
    assert 1 not in colors
    trace = {"actions": [str(a) for a in plays], "points": [point(190, plays, [True] * 20)]}
    chart = drawing.chart_of(trace, colors)
    assert chart["actions"][-1] == {"label": "others", "color": "other"}
    assert sum(own[0] for own in chart["shares"]) == pytest.approx(1.0)


def test_nothing_played_has_no_shares():
    points = [point(3, [0, 0], [True, True])]
    chart = drawing.chart_of({"actions": ["a", "b"], "points": points}, {0: "a0", 1: "a1"})
    assert chart["shares"] == [[None], [None]]


def test_lanes_say_when_an_action_was_ruled_out():
    points = [
        point(1, [1, 0], [True, True]),
        point(10, [10, 0], [True, True]),
        point(100, [100, 0], [True, False]),
    ]
    lanes = drawing.lanes_of({"actions": ["a", "b"], "points": points}, {0: "a0", 1: "a1"}, 2)
    assert lanes["rows"][0]["spans"] == [(0.0, 1000.0, True)]
    assert lanes["rows"][1]["words"] == "b was ruled out by decision 100"
    [(left, width, known)] = lanes["rows"][1]["spans"]
    assert (left, known) == (0.0, True)
    assert 400 < width < 500  # the second half, on a logarithmic axis, is without it
    points[1]["estimate"] = [0.5, None]
    points[2]["may_be_best"] = [True, True]
    lanes = drawing.lanes_of({"actions": ["a", "b"], "points": points}, {1: "a1"}, 30)
    assert [known for *_, known in lanes["rows"][0]["spans"]] == [False, True]
    assert lanes["more"] == 29
    assert drawing.lanes_of({"actions": ["a"], "points": points[:1]}, {0: "a0"}, 1) is None


def test_intervals_lie_in_their_drawing():
    rows = [
        {"low": 0.0, "earns": 0.5, "high": 1.0},
        {"low": None, "earns": None, "high": None},
    ]
    drawing.bars(rows)
    assert rows[0]["bar"] == {"left": 6.0, "at": 120.0, "right": 234.0}
    assert all(6 <= x <= 234 for x in rows[1]["bar"].values())


def test_times_that_no_calendar_has():
    assert words.iso(1e300) == words.iso(1e18)
    assert words.ago(2e9, 1e9).endswith("UTC")


def test_lines_and_powers_are_escaped():
    assert str(render.lines("<b>\n\x07")) == "&lt;b&gt;\n\\x07"
    assert str(render.powers("<n^(1/2)>")) == "&lt;n<sup>1/2</sup>&gt;"
