"""Limits: of bodies, of requests a second, of names, of connections and of time."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from partial_monitoring.service.http.limits import Buckets, Hosts, Limits
from partial_monitoring.service.problems import Problem
from partial_monitoring.service.server import Serving, started
from tests.service.http_client import Client, received

LIMITS = Limits(receive=0.7, idle=1.5, connections=30, rate=1e6, failures=1e6)
ASK = "/v1/studies/pricing/ask"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    url = f"sqlite:///{tmp_path_factory.mktemp('limits')}/shop.db"
    with started(url, limits=LIMITS) as found:
        Client(found.address, found.token).create("pricing")
        yield found


@pytest.fixture
def client(serving: Serving) -> Client:
    return Client(serving.address, serving.token)


def head(client: Client, length: int | None, *more: str, path: str = ASK) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {client.token}"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, *more, "", ""]).encode()


# -- bodies ------------------------------------------------------------------------------------


def test_long_bodies_are_refused_before_they_are_read(client: Client) -> None:
    with client.connected() as own:
        own.sendall(head(client, 10_000_000))  # nothing of it was sent
        assert b" 413 " in own.recv(4096).partition(b"\r\n")[0]


def test_ten_megabytes_are_answered_whatever_was_said_of_them(client: Client) -> None:
    body = b'{"x": "' + b"x" * 10_000_000 + b'"}'
    reply = client("POST", ASK, body)
    assert (reply.status, "65,536" in reply.json["detail"]) == (413, True)
    chunks = b"".join(b"%x\r\n%s\r\n" % (60_000, b"x" * 60_000) for _ in range(20)) + b"0\r\n\r\n"
    with client.connected() as own:
        own.sendall(head(client, None, "Transfer-Encoding: chunked") + chunks)
        assert b" 413 " in own.recv(4096).partition(b"\r\n")[0]


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_stays_flat_whatever_is_sent(client: Client) -> None:
    long = b'{"x": "' + b"x" * 1_000_000 + b'"}'
    deep = b"[" * 30_000 + b"]" * 30_000
    many = json.dumps({"answers": [{}] * 16_000}).encode()
    items = {"Content-Type": "application/x-ndjson"}
    before = 0
    for turn in range(60):
        assert client("POST", ASK, long).status == 413
        assert client("POST", ASK, deep).status == 400
        assert client("POST", "/v1/studies/pricing/tell", many).status == 422
        lines = client("POST", "/v1/studies/pricing/history", b"1\n" * 1_000_000, headers=items)
        assert lines.status == 422
        if turn == 20:
            before = resident()
    assert resident() - before < 8_000_000


@pytest.mark.parametrize(("levels", "status"), [(31, 422), (33, 422), (2000, 400)])
def test_deep_bodies_are_refused_in_a_sentence(client: Client, levels: int, status: int) -> None:
    body = b'{"context": ' + b"[" * levels + b"]" * levels + b"}"
    reply = client("POST", ASK, body)
    assert reply.status == status
    assert ("32 levels" in reply.json["detail"]) is (levels == 33)


def test_a_million_items_are_counted_not_read(client: Client) -> None:
    rows = {"rows": [0] * 1_000_000}
    reply = client("POST", "/v1/studies/pricing/history", rows)
    assert (reply.status, "10,000" in reply.json["detail"]) == (422, True)


# -- requests a second -------------------------------------------------------------------------


def test_a_bucket_is_filled_again() -> None:
    buckets = Buckets(20.0)
    taken = 0
    while taken < 20:
        buckets.take("a")
        taken += 1
    with pytest.raises(Problem) as caught:
        [buckets.take("a") for _ in range(5)]
    assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
    buckets.take("b")
    sleep(0.1)
    buckets.take("a")


def test_a_flood_is_answered_with_429_and_others_go_on(tmp_path: Path) -> None:
    with started(f"sqlite:///{tmp_path}/x.db", limits=Limits(rate=50.0, failures=10.0)) as serving:
        client, other = (
            Client(serving.address, serving.tokens.create("read")[1]) for _ in range(2)
        )
        replies = [client("GET", "/v1/studies") for _ in range(120)]
        refused = [own for own in replies if own.status == 429]
        assert len(refused) > 20
        assert {own.headers["retry-after"] for own in refused} == {"1"}
        assert {own.status for own in replies} == {200, 429}
        assert other("GET", "/v1/studies").status == 200
        guesses = [client("GET", "/v1/studies", token="pm_x").status for _ in range(60)]
        assert set(guesses) == {401, 429}
        sleep(0.2)
        assert client("GET", "/v1/studies").status == 200


# -- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "known"),
    [
        *(("localhost", True), ("LOCALHOST:80", True), ("127.0.0.1:8787", True)),
        *(("[::1]:8787", True), ("10.1.2.3", True), ("shop.corp", True), ("shop.corp.:1", True)),
        *(("evil.example", False), ("localhost.evil.example", False), ("", False)),
        *(("127.0.0.1.evil.example", False), ("localhost:80@evil", False), ("x" * 5000, False)),
    ],
)
def test_only_names_of_this_server_are_answered(host: str, known: bool) -> None:
    hosts = Hosts(["Shop.corp"])
    for _ in range(2):
        if known:
            hosts.check(host.encode())
        else:
            with pytest.raises(Problem) as caught:
                hosts.check(host.encode())
            assert caught.value.status == 421


def test_another_name_is_misdirected_even_with_a_token(client: Client) -> None:
    reply = client("GET", "/v1/studies", headers={"Host": "evil.example"})
    assert reply.status == 421
    assert client("GET", "/health/live", headers={"Host": "evil.example"}).status == 421


# -- connections and time ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /health", b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: "],
    ids=["silence", "a line", "a head"],
)
def test_a_request_that_does_not_come_is_waited_for_in_vain(client: Client, sent: bytes) -> None:
    begun = monotonic()
    with client.connected() as own:
        own.sendall(sent)
        assert received(own) == b""
    assert 0.6 < monotonic() - begun < 4.0


def test_slow_heads_and_bodies_end_in_time(client: Client) -> None:
    starts = [
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        head(client, 1000) + b'{"key": "',
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /",  # a second one on the same
    ]
    for start in starts:
        begun = monotonic()
        with client.connected() as own:
            own.sendall(start)
            try:
                while monotonic() - begun < 8:
                    own.sendall(b"x")
                    sleep(0.1)
            except OSError:
                pass
        assert 0.6 < monotonic() - begun < 5.0


def test_idle_connections_are_closed_but_may_wait_a_while(client: Client) -> None:
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with client.connected() as own:
        own.sendall(request)
        assert own.recv(4096).startswith(b"HTTP/1.1 200")
        sleep(0.8)  # longer than a request may take
        own.sendall(request)
        assert own.recv(4096).startswith(b"HTTP/1.1 200")
        begun = monotonic()
        assert received(own) == b""
        assert monotonic() - begun < 5.0


def test_heads_have_a_size(client: Client) -> None:
    with client.connected() as own:
        own.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n")
        try:
            for _ in range(200):
                own.sendall(b"X-Long: " + b"x" * 4000 + b"\r\n")
        except OSError:
            pass
        assert b"200 OK" not in received(own)
    assert client.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in client.raw(b"\x16\x03\x01\x02\x00")


def test_too_many_connections_are_told_to_come_again(client: Client) -> None:
    held: list[socket.socket] = []
    try:
        for _ in range(LIMITS.connections):
            held.append(client.connected())
        sleep(0.1)
        reply = client("GET", "/health/live")
        assert reply.status == 503
        assert reply.headers["retry-after"] == "1"
        assert "connections" in reply.json["detail"]
    finally:
        for own in held:
            own.close()
    sleep(0.2)
    assert client("GET", "/health/live").status == 200


def test_more_than_may_wait_is_told_to_come_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partial_monitoring.service.engine.engine.MOST_WAITING", 0)
    reply = client("POST", ASK, {})
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert client("POST", ASK, {}).status == 200


def test_limits_hold_without_httptools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from uvicorn.protocols.http import auto
    from uvicorn.protocols.http.h11_impl import H11Protocol

    monkeypatch.setattr(auto, "AutoHTTPProtocol", H11Protocol)
    with started(f"sqlite:///{tmp_path}/x.db", limits=LIMITS) as serving:
        client = Client(serving.address, serving.token)
        client.create("pricing")
        assert client("POST", ASK, b"x" * 1_000_000).status == 413
        assert client("POST", ASK, {}).status == 200
        begun = monotonic()
        for sent in (b"", b"GET /health/live HTTP/1.1\r\nX: ", head(client, 1000) + b"{"):
            with client.connected() as own:
                own.sendall(sent)
                assert received(own) == b""
        assert monotonic() - begun < 9.0
        assert client.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_an_engine_that_hangs_is_answered_for(tmp_path: Path) -> None:
    with started(f"sqlite:///{tmp_path}/x.db", limits=Limits(answer=0.5)) as serving:
        client = Client(serving.address, serving.token)
        client.create("pricing")
        service: Any = serving.app.service
        submit, delivery = service.engine.submit, service.delivery
        service.engine.submit = lambda *given: delivery.new()
        try:
            begun = monotonic()
            reply = client("POST", ASK, {})
            assert (reply.status, reply.headers["retry-after"]) == (503, "1")
            assert monotonic() - begun < 3.0
        finally:
            service.engine.submit = submit
        assert client("POST", ASK, {}).status == 200


def test_clients_that_go_away_do_no_harm(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    def leave() -> None:
        with client.connected() as own:
            own.sendall(head(client, 2) + b"{}")
        with client.connected() as own:
            own.sendall(head(client, 2) + b"{")

    threads = [Thread(target=leave) for _ in range(8)]
    for own in threads:
        own.start()
    for own in threads:
        own.join()
    sleep(0.3)
    assert client("POST", ASK, {}).status == 200
    assert not [own for own in caplog.records if own.levelname == "ERROR"]
