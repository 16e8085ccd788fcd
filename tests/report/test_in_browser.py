"""The page in a browser: it fits on a desktop, and shows on a phone that its tables scroll."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
POLICIES = ["calibrated", "ids", "cbp", "randcbp", "linucb", "lints", "greedy"]
GAMES = ["dynamic_pricing", "apple_tasting", "linear_bandit"]
TABLES = """() => [...document.querySelectorAll("table")].map(table => {
  const around = table.parentElement
  return [table.scrollWidth > around.clientWidth, around.classList.contains("cut")]
})"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("plotly")
    pytest.importorskip("jinja2")
    played = pm.Experiment(GAMES, POLICIES, horizon=200, seeds=6).compare()
    page: Path = pm.write_report(played, tmp_path_factory.mktemp("report"), figures=False)
    return page.resolve().as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as own:
        browser = own.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Any, address: str, width: int, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(address)
    return page


def test_seven_policies_fit_on_a_desktop(browser: Any, address: str) -> None:
    page = opened(browser, address, 1400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    tables = page.evaluate(TABLES)
    assert len(tables) > 5
    assert not any(cut for cut, _ in tables)


def test_a_phone_shows_that_tables_scroll(browser: Any, address: str) -> None:
    page = opened(browser, address, 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    tables = page.evaluate(TABLES)
    assert any(cut for cut, _ in tables)
    assert all(cut == said for cut, said in tables)


def test_the_page_is_dark_where_the_browser_is(browser: Any, address: str) -> None:
    shade = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(browser, address, 1400, own).evaluate(shade) for own in ("light", "dark"))
    assert light == "rgb(255, 255, 255)"
    assert max(map(int, dark.removeprefix("rgb(").removesuffix(")").split(","))) < 60
