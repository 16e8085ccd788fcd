"""Reports with hostile names: the page has the skeleton of one with harmless names.

Where playwright and its browser are installed, the page is opened as well, and no script of a name
may run and nothing be fetched.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import cache, partial
from html.parser import HTMLParser
from importlib.util import find_spec
from io import StringIO
from os import environ
from pathlib import Path
from shutil import which
from typing import Any
from xml.etree import ElementTree

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong, whole_memory
from tests.oracles.report_samples import made_up

BEACON = "owned"
PAYLOADS: dict[str, str] = {
    "script": f"<script>document.title='{BEACON}'</script>",
    "closed script": f"</script><script>document.title='{BEACON}'</script>",
    "image": f"<img src=x onerror=\"document.title='{BEACON}'\">",
    "svg": f"<svg onload=\"document.title='{BEACON}'\">",
    "attribute": f'" onmouseover="document.title=\'{BEACON}\'" x="',
    "single quotes": f"' onmouseover='document.title=\"{BEACON}\"' x='",
    "link": f"<a href=\"javascript:document.title='{BEACON}'\">x</a>",
    "address": "http://127.0.0.1:9/beacon",
    "fetched image": "<img src=http://127.0.0.1:9/beacon>",
    "comment": "<!--",
    "CDATA": "]]><script>",
    "style": "</style><style>*{display:none}",
    "template": "{{ 7*7 }}{% raw %}",
    "dollars": "${alert(1)} `x`",
    "TeX": r"$\frac{1}{$ \input{/etc/hostname}",
    "prototype": "__proto__",
    "constructor": "constructor",
    "entity": "&lt;script&gt; &#x3c;",
    "formula =": "=1+1",
    "formula +": "+1+1",
    "formula -": "-1+1",
    "formula @": "@SUM(A1)",
    "formula after a tab": "\t=1+1",
    "quotes": '"""',
    "commas": 'a,b;c\td"e',
    "two lines": "a\nb\r\nc",
    "pipes": "| a | b |",
    "Markdown": "[x](javascript:alert(1)) ![x](http://127.0.0.1:9/x)",
    "NUL": "a\0b",
    "escape": "\x1b[31m",
    "surrogate": "a\ud800b",
    "bidi": "\u202egnp.exe",
    "upwards": "../../x",
    "plotly": "<b>x</b><br><a href='http://127.0.0.1:9/'>y</a>",
    "10000 letters": "x" * 10_000,
    "empty": "",
    "blank": " ",
    "entity of a line": "a&#10;b",
    "line separators": "a\u2028b\u2029c",
    "closed title": "</title></head><body><h1>x</h1>",
}


def report(place: str, name: str) -> tuple[list[pm.Comparison], dict[str, Any]]:
    """Return the arguments of a report with a name at one place."""
    mine = name if place == "policy" else "mine"
    result = made_up({mine: 0.5, "ids": 0.6}, seeds=3, rounds=(1, 10, 100), k=2)
    actions = [name if place == "action" else "first", "second"]
    game = pm.FiniteGame([[0, -1, 1], [-2, 0, 1]], ["abc", "cdd"], actions=actions)
    compared = pm.Comparison(
        name if place == "game" else "game",
        game,
        name if place == "truth" else "truth",
        dict.fromkeys(result.policies, pm.IDS()),
        result,
        {"refused": name if place == "reason" else "reason"},
    )
    words = {
        "title": name if place == "title" else "title",
        "command": name if place == "command" else "command",
    }
    return [compared], words


PLACES = ("policy", "action", "game", "truth", "reason", "title", "command")


class Skeleton(HTMLParser):
    """The elements of a page with the names of their attributes, in order; no text, no values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"<{tag} {' '.join(sorted(name for name, _ in attrs))}>")

    def handle_endtag(self, tag: str) -> None:
        self.found.append(f"</{tag}>")


@cache
def harmless(place: str) -> list[str]:
    compared, words = report(place, "harmless")
    page = pm.write_report(compared, f"harmless-{place}", figures=False, **words)
    return Skeleton(page.read_text(encoding="utf-8")).found


def attacks(seed: int) -> Iterator[Attack]:
    for place in PLACES:
        for kind, name in PAYLOADS.items():
            if (kind, place) == ("empty", "command"):
                continue  # an empty command is none, and is not shown
            yield Attack(f"{kind} as {place}: page", partial(check_page, place, name))
            if place in ("policy", "action"):
                yield Attack(f"{kind} as {place}: figures", partial(check_figures, place, name))
    if why := no_browser():
        print(f"pages: no attacks in a browser: {why}")
        return
    for place in PLACES:
        for kind, name in PAYLOADS.items():
            yield Attack(f"{kind} as {place}: browser", partial(check_in_browser, place, name))


def written(place: str, name: str, figures: bool) -> Path:
    compared, words = report(place, name)
    with redirect_stderr(StringIO()) as said:
        page: Path = pm.write_report(compared, "report", figures=figures, **words)
    if said.getvalue():
        raise Wrong(f"said {said.getvalue()!r}")
    return page


def check_page(place: str, name: str) -> None:
    """Check the skeleton of the page, and that no cell of a table is a formula."""
    page = written(place, name, figures=False)
    if Skeleton(page.read_text(encoding="utf-8")).found != harmless(place):
        raise Wrong("the page has another skeleton")
    if not page.resolve().is_relative_to(Path().resolve()):
        raise Wrong(f"the page is {page}")
    for path in Path("report").rglob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if len({len(row) for row in rows}) > 1:  # a table without rows is an empty file
            raise Wrong(f"{path.name} is ragged")
        if found := [cell for row in rows for cell in row if is_formula(cell)]:
            raise Wrong(f"{path.name} has the formula {found[0]!r}")


def is_formula(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lstrip("\t\r\n ").startswith(("=", "+", "-", "@"))
    return False


def check_figures(place: str, name: str) -> None:
    """Check that the drawings are well formed and run no script."""
    written(place, name, figures=True)
    for path in Path("report").rglob("*.svg"):
        tags = [element.tag for element in ElementTree.parse(path).iter()]
        if any(str(tag).endswith("script") for tag in tags):
            raise Wrong(f"{path.name} has a script")


def no_browser() -> str:
    """Return why no page can be opened in a browser; empty if it can."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    try:
        in_browser(lambda page: None)
    except Exception as error:
        return f"no browser starts: {str(error).splitlines()[0]}"
    return ""


def in_browser(use: Callable[[Any], None]) -> None:
    from playwright.sync_api import sync_playwright

    with whole_memory(), sync_playwright() as started:
        chromium = environ.get("CHROMIUM") or which("chromium")  # one that is installed already
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            use(browser.new_page())
        finally:
            browser.close()


def check_in_browser(place: str, name: str) -> None:
    """Open the page, move over everything, press all buttons: nothing runs, nothing is fetched."""
    path = written(place, name, figures=False)
    fetched: list[str] = []
    errors: list[str] = []

    def use(page: Any) -> None:
        page.on("request", lambda request: fetched.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.resolve().as_uri())
        for button in page.query_selector_all("button, summary, input"):
            if button.is_visible():
                button.click()
        for element in page.query_selector_all("svg text, td, h1, h2, h3"):
            element.dispatch_event("mouseover")
        if page.title() == BEACON:
            raise Wrong("a script of a name ran")

    in_browser(use)
    if outside := [url for url in fetched if not url.startswith(("file:", "data:", "blob:"))]:
        raise Wrong(f"the page fetched {outside[0]}")
    if errors:
        raise Wrong(f"the page has an error: {errors[0]}")
