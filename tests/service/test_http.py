"""What is answered over HTTP."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner import session as steps
from partial_monitoring.service.http.warm import warm
from partial_monitoring.service.server import Serving, started
from tests.service.http_client import Client


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with started(f"sqlite:///{tmp_path_factory.mktemp('http')}/shop.db") as found:
        Client(found.address, found.token).create("pricing")
        yield found


@pytest.fixture
def client(serving: Serving) -> Client:
    return Client(serving.address, serving.token)


def test_a_decision_is_asked_for_and_told(client: Client) -> None:
    [decision] = client.ask("pricing")
    reply = client(
        "POST", "/v1/studies/pricing/tell", {"decision": decision["id"], "observation": "yes"}
    )
    assert reply.status == 200
    assert reply.json["answers"][0]["result"] == "told"
    assert reply.headers["content-type"] == "application/json"


def test_a_request_with_the_same_key_happens_once(client: Client) -> None:
    path, key = "/v1/studies/pricing/ask", {"Idempotency-Key": "customer-1"}
    one = client("POST", path, {}, headers=key).json["decisions"][0]
    two = client("POST", path, {}, headers=key).json["decisions"][0]
    three = client("POST", path, {"key": "customer-1"}).json["decisions"][0]
    assert one["id"] == two["id"] == three["id"]
    assert [own["repeated"] for own in (one, two, three)] == [False, True, True]


def test_several_are_told_at_once_each_with_its_result(client: Client) -> None:
    one, two = client.ask("pricing", count=2)
    answers = [
        {"decision": one["id"], "observation": "yes"},
        {"decision": two["id"], "observation": "purple"},
        {"decision": "nobody-7", "observation": "yes"},
    ]
    found = client("POST", "/v1/studies/pricing/tell", {"answers": answers}).json["answers"]
    assert [own["result"] for own in found] == ["told", "refused", "refused"]
    assert [own.get("status") for own in found] == [None, 422, 404]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/v1/studies/pricing/ask", b"{", 400, "JSON"),
        ("POST", "/v1/studies/pricing/ask", b"\xff", 400, "JSON"),
        ("POST", "/v1/studies/pricing/ask", b"[]", 422, "object"),
        ("POST", "/v1/studies/pricing/ask", b'{"cuont": 1}', 422, "cuont"),
        ("POST", "/v1/studies/pricing/ask", b'{"count": 0}', 422, "count"),
        ("POST", "/v1/studies/pricing/ask", b'{"count": 1001}', 422, "count"),
        ("POST", "/v1/studies/nobody/ask", b"{}", 404, "nobody"),
        ("POST", "/v1/studies/no body/ask".replace(" ", "%20"), b"{}", 404, "no body"),
        ("POST", "/v1/studies", b"{}", 422, "name"),
        ("POST", "/v1/studies", b'{"name": "../x", "game": {}}', 422, "../x"),
        ("POST", "/v1/studies", b'{"name": "x", "game": {"named": "y"}}', 422, "y"),
        ("POST", "/v1/studies", b'{"name": "%s", "game": {}}' % (b"x" * 61), 422, "1 to 60"),
        ("POST", "/v1/studies", b'{"name": "x", "game": "y"}', 422, "game must be an object"),
        ("POST", "/v1/studies", b'{"name": "x", "game": {"file": "y"}}', 422, "content of a game"),
        ("POST", "/v1/studies/pricing/tell", b"{}", 422, "decision"),
        ("GET", "/v1/studies/pricing/asks", None, 404, "asks"),
        ("GET", "/v1/studies/pricing/ask", None, 405, "POST"),
        ("GET", "/v1/studies?limit=x", None, 422, "limit"),
        ("GET", "/v1/studies?wat=1", None, 422, "wat"),
        ("PATCH", "/v1/studies/pricing", b"{}", 422, "state"),
        ("PATCH", "/v1/studies/pricing", b'{"state": "gone"}', 422, "gone"),
        ("DELETE", "/v1/tokens/abc", None, 404, "abc"),
        ("GET", "/nothing", None, 404, "nothing"),
    ],
)
def test_what_is_refused_says_why_in_a_sentence(
    client: Client, method: str, path: str, body: bytes | None, status: int, words: str
) -> None:
    reply = client(method, path, body)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json["status"] == status
    assert words in reply.json["detail"]
    assert "\n" not in reply.json["detail"]


def test_a_path_says_which_methods_it_takes(client: Client) -> None:
    assert client("DELETE", "/v1/studies").headers["allow"] == "POST, GET, HEAD"
    assert client("PUT", "/v1/studies/pricing/ask").headers["allow"] == "POST"


def test_what_has_not_changed_is_not_sent_again(client: Client) -> None:
    for path in ("/v1/studies", "/v1/studies/pricing", "/openapi.json"):
        first = client("GET", path)
        tag = first.headers["etag"]
        again = client("GET", path, headers={"If-None-Match": tag})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert client("GET", path, headers={"If-None-Match": f'W/{tag}, "x"'}).status == 304
    client.ask("pricing")
    assert client("GET", "/v1/studies/pricing", headers={"If-None-Match": tag}).status == 200


def test_heads_are_answered_without_a_body(client: Client) -> None:
    reply = client("HEAD", "/v1/studies/pricing")
    assert (reply.status, reply.body) == (200, b"")


def test_history_is_an_object_or_lines(client: Client) -> None:
    client.create("past")
    rows = [{"action": "$1", "observation": "yes", "key": f"k{i}"} for i in range(3)]
    lines = b"\n".join(json.dumps(row).encode() for row in rows) + b"\n\n"
    kind = {"Content-Type": "application/x-ndjson"}
    one = client("POST", "/v1/studies/past/history", lines, headers=kind)
    two = client("POST", "/v1/studies/past/history", {"rows": rows})
    assert one.json == {"accepted": 3, "repeated": 0}
    assert two.json == {"accepted": 0, "repeated": 3}
    wrong = client("POST", "/v1/studies/past/history", b'{"action": 0}\n{', headers=kind)
    assert (wrong.status, "line 2" in wrong.json["detail"]) == (400, True)


def test_a_study_is_paused_and_goes_on(client: Client) -> None:
    client.create("till")
    paused = client("PATCH", "/v1/studies/till", {"state": "paused", "reason": "broken"})
    assert paused.json["state"] == "paused"
    assert client("POST", "/v1/studies/till/ask", {}).status == 409
    given = {"settings": {"fallback": "$1"}, "reason": "the old price"}
    assert client("PATCH", "/v1/studies/till", given).json["settings"]["fallback"] == "$1"
    last = client("GET", "/v1/studies/till/events").json["events"][-1]
    assert (last["what"], last["reason"]) == ("settings", "the old price")
    shown = client("GET", "/v1/studies/till").json["settings"]
    assert shown == {"fallback": "$1", "max_open": 100_000, "alarm_level": 0.01}
    assert client("PATCH", "/v1/studies/till", {"settings": shown}).status == 200  # all of them
    wrong = client("PATCH", "/v1/studies/till", {"settings": {"reason": "none"}})
    assert (wrong.status, "Known: alarm_level, fallback, max_open." in wrong.json["detail"]) == (
        422,
        True,
    )
    assert client.ask("till")[0]["label"] == "$1"
    assert client("PATCH", "/v1/studies/till", {"state": "running"}).json["state"] == "running"
    assert client.ask("till")[0]["id"] is not None


def test_a_study_is_edited_if_it_is_as_the_caller_knows_it(client: Client) -> None:
    client.create("shop")
    client.ask("shop")
    body = {"policy": "random", "reason": "a test"}
    path = "/v1/studies/shop/edit"
    stale = client("POST", path, body, headers={"If-Match": '"7-summary"'})
    assert stale.status == 412
    assert client("POST", path, body, headers={"If-Match": "x"}).status == 422
    done = client("POST", path, body, headers={"If-Match": '"1"'})
    assert (done.status, done.json["archived"]) == (200, "shop~1")
    assert client("GET", "/v1/studies/shop~1").json["state"] == "archived"
    assert b'study="shop~1"' not in client("GET", "/metrics").body  # it would be counted twice
    names = [own["name"] for own in client("GET", "/v1/studies").json["studies"]]
    assert "shop" in names
    assert "shop~1" not in names
    found = client("GET", "/v1/studies?archived=true").json["studies"]
    assert "shop~1" in [own["name"] for own in found]


def test_answers_are_taken_back_and_corrected(client: Client) -> None:
    client.create("wrong")
    [one] = client.ask("wrong")
    told = {"decision": one["id"], "observation": "yes"}
    client("POST", "/v1/studies/wrong/tell", told)
    again = client("POST", "/v1/studies/wrong/tell", told | {"observation": None})
    assert again.status == 409
    reason = {"reason": "the till was broken"}
    dry = client("POST", "/v1/studies/wrong/void", {"from": 0, "to": 0, "dry_run": True, **reason})
    assert (dry.status, dry.json["amended"]) == (200, 1)
    assert client("POST", "/v1/studies/wrong/amend", told | reason).status == 200
    assert client("POST", "/v1/studies/wrong/amend", told).status == 422
    assert client("POST", "/v1/studies/wrong/reset", reason).status == 200


def test_decisions_are_held_activated_and_cancelled(client: Client) -> None:
    one, two = client.ask("pricing", count=2, hold=True)
    found = client("POST", "/v1/studies/pricing/activate", {"decision": one["id"]})
    assert found.status == 200
    found = client("POST", "/v1/studies/pricing/cancel", {"decisions": [one["id"], two["id"]]})
    assert [own["decision"] for own in found.json["decisions"]] == [one["id"], two["id"]]


@pytest.mark.parametrize(
    "path",
    [
        *("status", "estimate", "trace", "events", "decisions", "alarms", "analysis", "advice"),
        *("regret", "off-policy?action=$2", "decisions/0", "decisions/0/why", "events?limit=1"),
        *("decisions?open=true&limit=2", "decisions?after=0"),
        *("decisions?state=answered&before=9", "decisions?action=$2&state=open"),
        *("decisions?since=2026-05-01&until=2026-05-01T12:00:00Z", "decisions?since=1000000000.5"),
    ],
)
def test_everything_can_be_read(client: Client, path: str) -> None:
    client.ask("pricing")
    reply = client("GET", f"/v1/studies/pricing/{path}")
    assert reply.status == 200, reply.body
    assert isinstance(reply.json, dict)


@pytest.mark.parametrize("text", ["noon", "", "1e9", "-1", "nan", "1" * 41, "2026-13-01"])
def test_a_time_that_is_none_is_refused(client: Client, text: str) -> None:
    reply = client("GET", f"/v1/studies/pricing/decisions?until={text}")
    assert reply.status == 422
    assert "until must be seconds since 1970 or a date" in reply.json["detail"]


@pytest.mark.parametrize("what", ["decisions", "events"])
@pytest.mark.parametrize(
    ("format", "start"), [("ndjson", b"{"), ("csv", b""), ("parquet", b"PAR1")]
)
def test_a_study_is_exported(client: Client, what: str, format: str, start: bytes) -> None:
    client.ask("pricing")
    reply = client("GET", f"/v1/studies/pricing/export?what={what}&format={format}")
    assert reply.status == 200
    assert reply.body.startswith(start)
    assert len(reply.body) > 10
    assert f'filename="pricing-{what}.{format}"' in reply.headers["content-disposition"]


def test_the_database_is_copied(client: Client, tmp_path: Path) -> None:
    reply = client("POST", "/v1/backup")
    assert reply.headers["content-type"] == "application/vnd.sqlite3"
    copy = tmp_path / "copy.db"
    copy.write_bytes(reply.body)
    with sqlite3.connect(copy) as own:
        assert own.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert ("pricing",) in own.execute("SELECT name FROM pm_study").fetchall()
    own.close()


def test_health_needs_no_token(serving: Serving) -> None:
    nobody = Client(serving.address)
    assert nobody("GET", "/health/live").json == {"status": "live"}
    assert nobody("GET", "/health/ready").json == {"status": "ready"}
    serving.app.service.stopping = True
    try:
        reply = nobody("GET", "/health/ready")
    finally:
        serving.app.service.stopping = False
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "stopping" in reply.json["detail"]


def test_metrics_are_those_of_prometheus(client: Client) -> None:
    [decision] = client.ask("pricing")
    told = {"decision": decision["id"], "observation": "yes"}
    client("POST", "/v1/studies/pricing/tell", told)
    client("POST", "/v1/studies/pricing/tell", told)
    reply = client("GET", "/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.body.decode().splitlines()
    values = dict(own.rsplit(" ", 1) for own in lines if not own.startswith("#"))
    assert float(values['pm_requests_total{verb="ask",code="200"}']) >= 1
    assert float(values['pm_tells_total{kind="duplicate"}']) >= 1
    assert float(values['pm_version{study="pricing"}']) >= 2
    assert float(values["pm_ask_seconds_count"]) == float(
        values['pm_ask_seconds_bucket{le="+Inf"}']
    )
    for name in ("pm_plausible_actions", "pm_at_risk", "pm_regret_estimate", "pm_open_decisions"):
        assert f'{name}{{study="pricing"}}' in values
    assert 'pm_alarm{study="pricing",kind="misfit"}' in values
    assert float(values["pm_commit_seconds_count"]) > 0
    assert float(values["pm_batch_size_sum"]) >= float(values["pm_batch_size_count"]) > 0
    named = {own.split()[2] for own in lines if own.startswith("# TYPE")}
    samples = {own.partition("{")[0].partition(" ")[0] for own in values}
    endings = ("_bucket", "_sum", "_count")
    known = {*named, *(name + ending for name in named for ending in endings)}
    assert samples <= known


def test_the_interface_is_described(client: Client) -> None:
    page = client("GET", "/api", token="")
    assert page.status == 200
    assert "POST /v1/studies/{study}/ask" in page.body.decode()
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert b"<script" not in page.body
    assert b"style=" not in page.body
    assert client("GET", "/api/style.css", token="").headers["content-type"].startswith("text/css")
    assert client("GET", "/openapi.json", token="").json["openapi"] == "3.1.0"


def test_an_unexpected_error_is_an_incident_of_one_request(
    client: Client,
    serving: Serving,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(serving.tokens, "list", lambda: 1 / 0)
    reply = client("GET", "/v1/tokens")
    assert reply.status == 500
    incident = reply.json["detail"].partition("incident ")[2][:8]
    assert incident in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "division" not in reply.json["detail"]
    assert client("GET", "/v1/studies").status == 200


@pytest.mark.parametrize(
    "game", ["apple_tasting", "linear_bandit", "dueling", "segment_pricing", "kernelized_bandit"]
)
def test_a_warm_study_has_decided_and_learned_without_a_trace(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = pm.Learner(game, allow_hopeless=True)
    before, learned = learner._session, list[Any]()
    advance = steps.advance
    monkeypatch.setattr(steps, "advance", lambda *own: learned.append(own[2]) or advance(*own))
    warm(learner)
    assert {step.event["kind"] for step in learned} == {"ask", "tell"}
    assert learner._session is before
    assert learner.events == []
