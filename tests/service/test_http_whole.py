"""An answer that is written at once is, byte for byte, the one that uvicorn writes in two parts."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

from uvicorn.protocols.http.httptools_impl import (  # noqa: E402
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState  # noqa: E402

from partial_monitoring.service.http.answer import Answer, data, page, refusal  # noqa: E402
from partial_monitoring.service.http.app import _sent  # noqa: E402
from partial_monitoring.service.http.call import WHOLE, Call  # noqa: E402
from partial_monitoring.service.http.limits import Limits  # noqa: E402
from partial_monitoring.service.http.protocol import protocol  # noqa: E402
from partial_monitoring.service.problems import Problem, later  # noqa: E402

ANSWERS = {
    "data": lambda: data({"a": [1, 2.5, None]}),
    "created": lambda: data({}, 201, {"location": "/v1/studies/shop"}),
    "page": lambda: page("<p>ü</p>"),
    "refusal": lambda: refusal(Problem(401, "no token.", WWW_Authenticate="Bearer")),
    "later": lambda: refusal(later("the disk is full.")),
    "unchanged": lambda: Answer(b"", [(b"etag", b'"7"')], 304),
    "empty": lambda: Answer(b"", []),
}


class Transport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def written(answer: Answer, *, head: str, whole: bool, requests: int = 1) -> Transport:
    """Return what a connection is answered with."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope.pop(WHOLE) is not None if not whole else WHOLE in scope
        await _sent(answer, Call(scope, receive), send)

    async def main() -> Transport:
        config = uvicorn.Config(app, log_level="critical")
        config.load()
        state = ServerState()
        state.default_headers = [(b"server", b"test")]
        kind = protocol(Limits())
        assert issubclass(kind, HttpToolsProtocol)
        own, transport = kind(config=config, server_state=state, app_state={}), Transport()
        own.connection_made(transport)
        own.data_received(head.encode() * requests)
        for _ in range(20 * requests):
            await asyncio.sleep(0)
        assert transport.closed or state.total_requests == requests
        return transport

    return asyncio.run(main())


def head(method: str = "GET", more: str = "") -> str:
    return f"{method} /v1/studies HTTP/1.1\r\nhost: localhost\r\n{more}\r\n"


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("more", ["", "connection: close\r\n"])
def test_both_ways_write_the_same(kind: str, method: str, more: str) -> None:
    one = written(ANSWERS[kind](), head=head(method, more), whole=True)
    two = written(ANSWERS[kind](), head=head(method, more), whole=False)
    shown = [b"".join(own.written) for own in (one, two)]
    parts = [own.partition(b"\r\n\r\n") for own in shown]
    assert parts[0][2] == parts[1][2]
    lines = [own[0].split(b"\r\n") for own in parts]
    assert lines[0][0] == lines[1][0]
    assert sorted(lines[0]) == sorted(lines[1])
    assert one.closed == two.closed == bool(more)
    if method == "GET" and kind != "unchanged":
        assert len(one.written) == 1


def test_nothing_is_left_for_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        written(data({"a": 1}), head=head(), whole=True, requests=3)
        left = [own for own in gc.get_objects() if type(own) is RequestResponseCycle]
    finally:
        gc.enable()
    assert len(left) <= 1  # the last one, which its connection knows


def test_requests_that_wait_for_each_other_are_answered_in_order() -> None:
    found = written(data({"a": 1}), head=head(), whole=True, requests=3)
    assert len(found.written) == 3
    assert len(set(found.written)) == 1


def test_a_header_with_a_line_break_is_not_written() -> None:
    bad = Answer(b"{}", [(b"location", b"/a\r\nset-cookie: b=c")])
    found = written(bad, head=head(), whole=True)
    assert found.closed
    assert not found.written
