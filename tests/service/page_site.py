"""A service with a page, a browser, and what the tests of the page do with them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

XSS = (
    "<img src=x onerror=window.xss=1>",
    '"><script>window.xss=1</script>',
    "'\"`{{7*7}}${7*7}</textarea>",
    "日本語 ∂ 🙂 \u202e left",
    "x" * 64,
)
"""Words that would do something if a page did not show them as text."""


@contextmanager
def serving(folder: Path) -> Iterator[object]:
    """Serve a new database."""
    pytest.importorskip("starlette")
    from partial_monitoring.service.server import started

    with started(f"sqlite:///{folder / 'page.db'}") as own:
        yield own


@contextmanager
def browsing() -> Iterator[object]:
    """Give a browser, or skip and say why."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as own:
        browser = own.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A tab of a browser that is logged in, and all that went wrong in it."""

    def __init__(self, browser, service, **options) -> None:
        self.service, self.wrong = service, []
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(8000)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("response", self._answered)

    def _said(self, message) -> None:
        # a refusal is no error of the page; the browser reports each as one
        if message.type in ("error", "warning") and "status of 4" not in message.text:
            self.wrong.append(message.text)

    def _answered(self, response) -> None:
        if response.status >= 500:
            self.wrong.append(f"{response.status} {response.url}")

    def login(self) -> None:
        self.page.goto(f"{self.service.address}/login#{self.service.token}")
        self.page.wait_for_url(f"{self.service.address}/")

    def go(self, path: str) -> None:
        self.page.goto(self.service.address + path)

    @property
    def path(self) -> str:
        return urlsplit(self.page.url).path

    def close(self) -> None:
        self.context.close()


@contextmanager
def tab(browser, service, *, login=True, **options) -> Iterator[Tab]:
    """Give a tab in which nothing must go wrong, and nothing injected may run."""
    own = Tab(browser, service, **options)
    try:
        if login:
            own.login()
        yield own
        assert own.page.evaluate("window.xss === undefined")
        assert own.wrong == []
    finally:
        own.close()


def request(service, method, path, body=None, headers=None, *, token=True):
    """Send a request without a browser; return status, headers and body."""
    parts = urlsplit(service.address)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=20)
    given = {"Cookie": f"pm_token={service.token}"} if token else {}
    if isinstance(body, dict | list):
        body = urlencode(body, doseq=True)
        given["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        connection.request(method, path, body, given | (headers or {}))
        answer = connection.getresponse()
        found = answer.read().decode("utf-8", "replace")
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, found
    finally:
        connection.close()


def form_token(service) -> str:
    """Return what the forms of the administrator carry."""
    from partial_monitoring.service.http import tokens

    return tokens.form_token(service.token.encode())


def api(service, path, body):
    """Post JSON to the interface."""
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    status, _, text = request(
        service, "POST", path, json.dumps(body).encode(), headers, token=False
    )
    assert status < 300, text
    return json.loads(text)


def played(service, name, rounds, *, block=10, signal=None) -> None:
    """Ask and tell, the last outcome always, unless something else is shown."""
    game = service.engine.hosted(name).game
    for _ in range(0, rounds, block):
        asked = api(service, f"/v1/studies/{name}/ask", {"count": block})["decisions"]
        answers = [
            {
                "decision": own["id"],
                "observation": signal or game.signal(own["action"], len(game.outcomes) - 1),
            }
            for own in asked
        ]
        api(service, f"/v1/studies/{name}/tell", {"answers": answers})
