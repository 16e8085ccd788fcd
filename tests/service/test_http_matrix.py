"""Every path x role x study: who may do what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any, NamedTuple

import pytest

from partial_monitoring.service.http.call import Route
from partial_monitoring.service.http.routes import ROUTES
from partial_monitoring.service.http.tokens import RANK, ROLES
from partial_monitoring.service.server import started
from tests.service.http_client import Client

OPENAPI = Path(__file__).parents[2] / "src/partial_monitoring/service/http/openapi.json"


class World(NamedTuple):
    client: Client
    tokens: dict[tuple[str, str | None], str]
    decisions: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with started(f"sqlite:///{tmp_path_factory.mktemp('matrix')}/shop.db") as serving:
        client = Client(serving.address, serving.token)
        for name in ("mine", "other"):
            client.create(name)
        tokens = {
            (role, study): serving.tokens.create(role, study=study)[1]
            for role in ROLES
            for study in (None, "mine")
        }
        decisions = {name: client.ask(name)[0]["id"] for name in ("mine", "other")}
        yield World(client, tokens, decisions)


def allowed(route: Route, role: str, scope: str | None, study: str | None) -> bool:
    """The rule: the role is high enough, and a token of a study is used for it."""
    if route.role is None:
        return True
    if RANK[role] < RANK[route.role]:
        return False
    return scope is None or route.scoped or study == scope


def path_of(route: Route, study: str, decision: str) -> str:
    found = route.path.replace("{study}", study).replace("{decision}", decision)
    return found.replace("{token}", "0123456789ab")


@pytest.mark.parametrize("route", ROUTES, ids=lambda own: f"{own.method} {own.path}")
def test_who_may_do_what(world: World, route: Route) -> None:
    studies = ("mine", "other") if "{study}" in route.path else (None,)
    for (role, scope), token in world.tokens.items():
        for study in studies:
            path = path_of(route, study or "mine", world.decisions[study or "mine"])
            # no body is valid: what is allowed is refused later, and changes nothing
            body = b'{"wat": 1}' if route.method in ("POST", "PATCH") else None
            reply = world.client(route.method, path, body, token=token)
            may = allowed(route, role, scope, study)
            assert (reply.status != 403) is may, (role, scope, study, reply.body[:200])
            if may:
                assert reply.status not in (401, 403, 405, 500)
            else:
                assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("route", ROUTES, ids=lambda own: f"{own.method} {own.path}")
def test_nobody_does_anything_without_a_token(world: World, route: Route) -> None:
    path = path_of(route, "mine", world.decisions["mine"])
    for token in ("", "pm_0123456789ab_" + "x" * 43, "nonsense"):
        reply = world.client(route.method, path, None, token=token)
        if route.role is None:
            assert reply.status < 400
        elif reply.status != 429:
            assert reply.status == 401
            assert reply.headers["www-authenticate"] == "Bearer"


def test_lists_have_what_a_token_may_see(world: World) -> None:
    for (_, scope), token in world.tokens.items():
        found = world.client("GET", "/v1/studies", token=token).json["studies"]
        names = {own["name"] for own in found}
        assert names == ({"mine", "other"} if scope is None else {"mine"})


def test_a_token_that_expires_or_is_revoked_counts_no_longer(world: World) -> None:
    created = world.client(
        "POST", "/v1/tokens", {"role": "read", "label": "short", "expires_at": time() + 0.5}
    ).json
    assert world.client("GET", "/v1/studies", token=created["token"]).status == 200
    while time() <= created["expires_at"]:
        pass
    assert world.client("GET", "/v1/studies", token=created["token"]).status == 401
    other = world.client("POST", "/v1/tokens", {"role": "read"}).json
    assert world.client("GET", "/v1/studies", token=other["token"]).status == 200
    revoked = world.client("DELETE", f"/v1/tokens/{other['id']}").json
    assert revoked["revoked_at"] is not None
    assert world.client("GET", "/v1/studies", token=other["token"]).status == 401
    listed = world.client("GET", "/v1/tokens").json["tokens"]
    assert not any("hash" in own or "token" in own for own in listed)


def test_the_file_describes_every_path_and_role() -> None:
    found = json.loads(OPENAPI.read_text())
    described = {
        (method.upper(), path, own["x-role"], own["operationId"])
        for path, item in found["paths"].items()
        for method, own in item.items()
    }
    assert described == {(own.method, own.path, own.role, own.verb) for own in ROUTES}


@pytest.mark.parametrize("given", [{"role": "root"}, {}, {"role": 1}, {"role": "read", "study": 7}])
def test_tokens_that_make_no_sense_are_refused(world: World, given: dict[str, Any]) -> None:
    assert world.client("POST", "/v1/tokens", given).status == 422


def test_a_browser_with_a_cookie_needs_a_form_of_this_server(world: World) -> None:
    from partial_monitoring.service.http.tokens import COOKIE, form_token

    text = world.tokens["admin", None]
    cookie = {"Cookie": f"a=b; {COOKIE}={text}"}
    client = Client(world.client.address)
    assert client("GET", "/v1/studies", headers=cookie).status == 200
    assert client("POST", "/v1/studies/mine/ask", {}, headers=cookie).status == 403
    form = cookie | {"X-Form-Token": form_token(text.encode())}
    assert client("POST", "/v1/studies/mine/ask", {}, headers=form).status == 200
    for foreign in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client("POST", "/v1/studies/mine/ask", {}, headers=form | foreign).status == 403
    own = {"Origin": world.client.address, "Sec-Fetch-Site": "same-origin"}
    assert client("POST", "/v1/studies/mine/ask", {}, headers=form | own).status == 200
