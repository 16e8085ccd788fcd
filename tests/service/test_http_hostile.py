"""Hostile texts in every field, and answers compared with what the OpenAPI file says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

from partial_monitoring.service.http.routes import ROUTES
from partial_monitoring.service.server import Serving, started
from tests.service.http_client import Client

TEXTS = [
    "'; DROP TABLE pm_event; --",
    '" OR 1=1 --',
    "<script>window.xss = 1</script>",
    "<img src=x onerror=alert(1)>",
    "../../etc/passwd",
    "..%2f..%2fetc",
    "{{7*7}}${7*7}%s%n",
    "=cmd|' /C calc'!A0",
    "a\r\nSet-Cookie: x=1",
    "\x00\x01\x1b[2J",
    "\u202e\u2066gnp.exe",
    "\ud7ff\ufffd𝕏" * 50,
    "x" * 60_000,
    "",
    " ",
]

FIELDS = [
    ("POST", "/v1/studies", {"name": None, "game": {"named": "dynamic_pricing"}}),
    ("POST", "/v1/studies", {"name": "n", "game": {"named": None}}),
    ("POST", "/v1/studies", {"name": "n", "game": {"file": {"kind": None}}}),
    ("POST", "/v1/studies", {"name": "n", "game": {"named": "dynamic_pricing"}, "policy": None}),
    ("POST", "/v1/studies/pricing/ask", {"context": None}),
    ("POST", "/v1/studies/pricing/ask", {"available": [None]}),
    ("POST", "/v1/studies/pricing/ask", {"key": None}),
    ("POST", "/v1/studies/pricing/ask", {"meta": {"note": None}}),
    ("POST", "/v1/studies/pricing/tell", {"decision": None, "observation": "yes"}),
    ("POST", "/v1/studies/pricing/tell", {"decision": "x-0", "observation": None}),
    ("POST", "/v1/studies/pricing/tell", {"answers": [{"decision": None, "observation": None}]}),
    ("POST", "/v1/studies/pricing/cancel", {"decision": None}),
    ("POST", "/v1/studies/pricing/activate", {"decisions": [None]}),
    ("POST", "/v1/studies/pricing/history", {"rows": [{"action": None, "observation": None}]}),
    ("POST", "/v1/studies/pricing/void", {"decisions": [None], "reason": None}),
    ("POST", "/v1/studies/pricing/amend", {"decision": None, "observation": 1, "reason": None}),
    ("POST", "/v1/studies/pricing/edit", {"policy": None, "reason": None, "dry_run": True}),
    ("POST", "/v1/studies/pricing/clear", {"alarm": None, "reason": None}),
    ("PATCH", "/v1/studies/pricing", {"state": None}),
    ("PATCH", "/v1/studies/pricing", {"settings": {"fallback": None}}),
    ("POST", "/v1/tokens", {"role": "read", "label": None}),
    ("POST", "/v1/tokens", {"role": "read", "study": None}),
    ("POST", "/v1/tokens", {"role": None}),
]

PATHS = [
    "/v1/studies/{}",
    "/v1/studies/{}/status",
    "/v1/studies/pricing/{}",
    "/v1/studies/pricing/decisions/{}",
    "/v1/studies/pricing/decisions/{}/why",
    "/v1/studies/pricing/status?context={}",
    "/v1/studies/pricing/off-policy?action={}",
    "/v1/studies/pricing/off-policy?policy={}",
    "/v1/studies/pricing/export?format={}",
    "/v1/studies/pricing/events?after={}",
    "/v1/{}",
    "/{}",
]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with started(f"sqlite:///{tmp_path_factory.mktemp('hostile')}/shop.db") as found:
        Client(found.address, found.token).create("pricing")
        yield found


@pytest.fixture
def client(serving: Serving) -> Client:
    return Client(serving.address, serving.token)


def filled(body: Any, text: str) -> Any:
    """A body with a text wherever it has None."""
    if body is None:
        return text
    if isinstance(body, dict):
        return {name: filled(own, text) for name, own in body.items()}
    return [filled(own, text) for own in body] if isinstance(body, list) else body


def check(status: int, headers: Any, body: bytes) -> None:
    assert status < 500
    assert "set-cookie" not in headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    if status >= 400:
        assert headers["content-type"] == "application/problem+json"
        detail = json.loads(body)["detail"]
        assert len(detail) < 2000
        assert not re.search(r"[\x00-\x1f\x7f\u202e\u2066]", detail)


@pytest.mark.parametrize("field", FIELDS, ids=lambda own: f"{own[1]} {list(own[2])}")
def test_hostile_texts_in_bodies_are_refused_or_kept_as_they_are(
    client: Client, field: tuple[str, str, Any]
) -> None:
    method, path, body = field
    for text in TEXTS:
        check(*client(method, path, filled(body, text)))


@pytest.mark.parametrize("path", PATHS)
def test_hostile_texts_in_paths_name_nothing(client: Client, path: str) -> None:
    for text in (own[:2000] for own in TEXTS if own):
        reply = client("GET", path.format(quote(text, safe="")))
        check(*reply)
        assert reply.status in (200, 404, 422)


def test_hostile_headers_name_nothing(client: Client) -> None:
    for text in (own[:2000] for own in TEXTS):
        try:
            text.encode("latin-1")
        except UnicodeEncodeError:
            continue
        if re.search(r"[\r\n\x00]", text):
            continue  # which cannot be sent
        for name in ("Idempotency-Key", "If-None-Match", "If-Match", "Content-Type", "Cookie"):
            check(*client("POST", "/v1/studies/pricing/ask", {}, headers={name: text}))


def test_the_study_is_as_it_was_after_all_that(client: Client, serving: Serving) -> None:
    [decision] = client.ask("pricing")
    told = {"decision": decision["id"], "observation": "yes"}
    assert client("POST", "/v1/studies/pricing/tell", told).status == 200
    names = {own["name"] for own in client("GET", "/v1/studies").json["studies"]}
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", own) for own in names)
    assert serving.database.handle.problems() == []


# -- answers as described ----------------------------------------------------------------------

FILE = Path(__file__).parents[2] / "src/partial_monitoring/service/http/openapi.json"


@pytest.fixture(scope="module")
def described() -> Any:
    return json.loads(FILE.read_text())


def validator(described: Any, schema: Any) -> Any:
    components = {"components": described["components"]}
    return jsonschema_rs.validator_for({**components, **schema})


def test_answers_are_as_described(client: Client, described: Any) -> None:
    client.create("plain")
    one, two = client.ask("plain", count=2)
    bodies: dict[str, Any] = {
        "create": {"name": "other", "game": {"named": "apple_tasting"}},
        "ask": {"key": "k", "meta": {"a": 1}},
        "tell": {"decision": one["id"], "observation": "yes"},
        "activate": {"decision": client.ask("plain", hold=True)[0]["id"]},
        "cancel": {"decision": two["id"]},
        "history": {"rows": [{"action": "$2", "observation": "yes"}]},
        "void": {"decisions": [one["id"]], "reason": "r"},
        "amend": {"decision": one["id"], "observation": "yes", "reason": "r"},
        "edit": {"policy": "random", "reason": "r", "dry_run": True},
        "reset": {"reason": "r"},
        "clear": {},
        "patch": {"settings": {"max_open": 5}},
        "new_token": {"role": "read"},
    }
    queries = {"off_policy": "?action=$2"}
    name = client("POST", "/v1/tokens", {"role": "read"}).json["id"]
    for route in ROUTES:
        path = route.path.replace("{study}", "plain").replace("{decision}", one["id"])
        path = path.replace("{token}", name) + queries.get(route.verb, "")
        reply = client(route.method, path, bodies.get(route.verb))
        assert reply.status < 300, (route.path, reply.body)
        own = described["paths"][route.path][route.method.lower()]
        if route.method in ("POST", "PATCH") and route.verb in bodies:
            sent = own["requestBody"]["content"]["application/json"]["schema"]
            validator(described, sent).validate(bodies[route.verb])
        content = own["responses"][str(reply.status)]["content"]
        kind = reply.headers["content-type"].partition(";")[0]
        assert kind in content
        if kind == "application/json":
            validator(described, content[kind]["schema"]).validate(reply.json)
    problem = client("GET", "/v1/studies/nobody").json
    validator(described, described["components"]["schemas"]["Problem"]).validate(problem)


def test_examples_are_as_described(described: Any) -> None:
    for path, item in described["paths"].items():
        for own in item.values():
            content = own.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                assert "example" in content, path
                validator(described, content["schema"]).validate(content["example"])
