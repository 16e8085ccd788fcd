"""The page of which policy to use has the tables of its benchmark, and says what was measured."""

import re
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import which
from benchmarks.settings import Setting, Unlisted, in_contexts

import partial_monitoring as pm

PAGE = which.PAGE.read_text(encoding="utf-8")
CELL = re.compile(r"(\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)")


def table(name: str) -> list[list[str]]:
    """Return the rows of a table of the page, below its head."""
    (text,) = re.findall(rf"<!-- which: {name} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines()[2:]]


@pytest.mark.parametrize("name", which.TABLES)
def test_every_table_has_its_games_and_policies(name: str) -> None:
    """If not: ``python -m benchmarks which --write``."""
    groups = {"kinds": which.KINDS, "sizes": which.SIZES}.get(name)
    settings = groups or [own[0] for own in (which.DELAYS if name == "delays" else which.MOVING)]
    rows = table(name)
    column = 2 if groups else 1
    assert [row[0] for row in rows if row[0]] == [own.name for own in settings]
    assert [row[column] for row in rows] == [name for own in settings for name in own.policies]
    assert all(
        CELL.search(cell) for row in rows for cell in row[column + 1 :][: 1 if groups else 9]
    )


def test_tables_are_written_between_their_markers_and_nowhere_else() -> None:
    page = (
        "a\n<!-- which: kinds -->\nold\n<!-- end -->\n<!-- which: sizes -->\nkept\n<!-- end -->\n"
    )
    written = which.written(page, {"kinds": [("x", "y"), ("1", "2")]})
    assert written == page.replace("old\n", "| x | y |\n| --- | --- |\n| 1 | 2 |\n")
    assert which.written(written, {}) == written


def test_bold_is_what_the_lowest_does_not_clearly_beat() -> None:
    low = np.array([1.0, 2.0, 3.0, 4.0])
    found = {"low": low, "level": low + np.array([0.5, -0.4, 0.5, -0.4]), "high": low + 1}
    shown = which.shown(found)
    assert shown["low"].startswith("**")
    assert shown["level"].startswith("**")
    assert shown["high"] == "3.5 ± 0.6"


@pytest.mark.parametrize(
    "setting",
    [
        Setting("listed", pm.games.apple_tasting, which.named("random"), 20, 2),
        Setting("contexts", pm.games.survey, which.named(), 20, 2, live=in_contexts),
        Unlisted("described", which.anything, which.named(), 5, 2, live=which.described),
    ],
    ids=lambda own: own.name,
)
def test_a_setting_is_played_and_timed(setting: Setting) -> None:
    regrets = setting.regrets()
    assert {name: regret.shape for name, regret in regrets.items()} == dict.fromkeys(
        setting.policies, (2,)
    )
    first, each = setting.times("calibrated")
    assert 0 < each <= first


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(len(which.KINDS)), ids=lambda n: which.KINDS[n].name)
def test_the_page_says_what_was_measured(number: int) -> None:
    """With half of the seeds, which are the first ones of those on the page."""
    setting = which.KINDS[number]
    found = replace(setting, seeds=max(setting.seeds // 2, 2)).regrets()
    start = [row[0] for row in table("kinds")].index(setting.name)
    for row in table("kinds")[start : start + len(setting.policies)]:
        mean, error = map(float, CELL.search(row[3]).groups())  # type: ignore[union-attr]
        own = found[row[2]]
        assert abs(own.mean() - mean) <= 1 + 4 * max(error, which.spread(own))
