from io import StringIO

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import display
from partial_monitoring.display import linear_form, number


def test_numbers_are_short() -> None:
    shown = [number(x) for x in (1.0, -0.0, 1 / 3, 1e-20, 12345.678, -2.5)]
    assert shown == ["1", "0", "0.3333", "1e-20", "1.235e+04", "-2.5"]


def test_linear_forms() -> None:
    assert linear_form(np.array([0.0, 0.0])) == "0"
    assert linear_form(np.array([-1.0, 2.0])) == "-θ1 + 2 θ2"
    assert linear_form(np.array([1.0, 1e-17])) == "θ1"
    assert linear_form(np.ones(9)).endswith("+ … (5 more)")


@pytest.mark.parametrize("name", list(pm.games.GAMES))
def test_every_game_prints_and_has_html(name: str) -> None:
    game = pm.games.make(name)
    text, html = str(game), game._repr_html_()
    for label in game.actions[:5]:
        assert label in text
    assert html.count("<table>") == html.count("</table>") >= 1
    assert all(len(line) <= 100 for line in text.splitlines())


def test_signals_are_coloured_alike_in_html() -> None:
    html = pm.games.dynamic_pricing()._repr_html_()
    colors = {word: set() for word in ("yes", "no")}
    for part in html.split("<span style='color:")[1:]:
        colors[part.split(">")[1].split("<")[0]].add(part[:7])
    assert len(colors["yes"]) == len(colors["no"]) == 1
    assert colors["yes"] != colors["no"]


def test_html_is_escaped() -> None:
    game = pm.FiniteGame([[1]], [["<b>"]], actions=["<script>"])
    assert "<script>" not in game._repr_html_()
    assert "&lt;b&gt;" in game._repr_html_()


def test_rich_markup_in_labels_is_shown_as_is() -> None:
    assert "[red]x" in str(pm.FiniteGame([[1]], [["s"]], actions=["[red]x"]))


def test_contexts_share_only_the_notes_that_hold_for_all() -> None:
    shows, silent = pm.FiniteGame([[1, 0]], ["ab"]), pm.FiniteGame([[1, 0]], ["aa"])
    text = str(pm.ContextualGame([shows, silent]))
    assert text.index("shows the same signal") > text.index("context 1")
    assert text.index("each cell") < text.index("context 0")


def test_large_games_are_cut() -> None:
    assert len(str(pm.games.full_information(200)).splitlines()) < 25
    text = str(pm.games.dynamic_pricing(range(1, 101)))
    assert "…" in text
    assert len(text.splitlines()) < 25
    assert len(str(pm.games.greedy_exploration(50)).splitlines()) < 40


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_how_far_it_is_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(display, "monotonic", lambda: float(next(clock)))
    for stream, shows in ((Terminal(), True), (StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        assert list(display.counted(range(6), 6, "cells")) == list(range(6))
        assert ("of 6 cells, about" in stream.getvalue()) == shows
        assert "\n" not in stream.getvalue()
        assert stream.getvalue() == "" or stream.getvalue().endswith("\r\x1b[K")
