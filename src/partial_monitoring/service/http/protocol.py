"""Connections that must not take for ever: uvicorn's protocols with deadlines and limits.

uvicorn waits for the head and the body of a request as long as the connection lives. Here, a
request is received within a time, and a head has a size. One timer looks at all connections.

An answer whose body is known is written with its head at once: applications find ``WHOLE`` in the
scope, where the protocol is the one of httptools.
"""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from partial_monitoring.service.http.answer import Answer, refusal
from partial_monitoring.service.http.call import WHOLE
from partial_monitoring.service.http.limits import Limits
from partial_monitoring.service.problems import Problem, later

LONGEST_HEAD: Final = 64 * 1024
"""Bytes of a head."""

DROPPED: Final = 16 * 1024 * 1024
"""Bytes that are received and dropped of a body that was refused, so that the answer arrives."""

TICK: Final = 0.5
"""Seconds between two looks at all connections."""

PHRASES: Final = {own.value: own.phrase.encode() for own in HTTPStatus}

_kinds: dict[type, type] = {}


def protocol(limits: Limits) -> type[Any]:
    """Return the protocol of uvicorn that is installed, with limits."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol
    found = _kinds.get(base)
    if found is None:
        found = _kinds[base] = type("Limited", (_Limited, base), {})
    return type("Protocol", (found,), {"limits": limits})


class _Limited:
    """What is added to a protocol."""

    limits: Limits

    def connection_made(self: Any, transport: Any) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self.since: float | None = self.loop.time()  # when a request began that is not complete
        self.idle = self.since
        self.stuck: float | None = None
        self.size = 0
        if len(self.connections) > self.limits.connections:
            self.app = _full
        if len(self.connections) > 2 * self.limits.connections:
            transport.abort()

    def data_received(self: Any, data: bytes) -> None:
        if self.since is None:
            self.since = self.loop.time()
        self.size += len(data)
        super().data_received(data)  # type: ignore[misc]
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            dropping = cycle is not None and cycle.more_body
            if self.size > (DROPPED if dropping else LONGEST_HEAD):
                if not dropping and not self.transport.is_closing():
                    self._refuse(Problem(431, f"a head has at most {LONGEST_HEAD:,} bytes."))
                self.transport.close()
        elif not cycle.more_body:
            self.since = None  # it is complete

    def on_headers_complete(self: Any) -> None:
        super().on_headers_complete()  # type: ignore[misc]
        self.scope[WHOLE] = partial(_written, self.cycle)

    def on_response_complete(self: Any) -> None:
        super().on_response_complete()  # type: ignore[misc]
        self.size, self.idle = 0, self.loop.time()
        if not self.cycle.more_body:
            self.since = None

    def pause_writing(self: Any) -> None:
        self.stuck = self.loop.time()
        super().pause_writing()  # type: ignore[misc]

    def resume_writing(self: Any) -> None:
        self.stuck = None
        super().resume_writing()  # type: ignore[misc]

    def send_400_response(self: Any, msg: str) -> None:
        self._refuse(Problem(400, "this is no request of HTTP."))

    def _refuse(self: Any, problem: Problem) -> None:
        """Answer outside the application, and close."""
        answer = refusal(problem)
        lines = [b"HTTP/1.1 %d Refused" % problem.status]
        lines += [b"%s: %s" % header for header in answer.headers]
        lines += [b"content-length: %d" % len(answer.body), b"connection: close", b"", b""]
        self.transport.write(b"\r\n".join(lines) + answer.body)
        self.transport.close()

    def overdue(self: Any, now: float) -> bool:
        """Whether it has taken too long."""
        limits = self.limits
        if self.since is not None:
            return bool(now - self.since > limits.receive)
        if self.stuck is not None:
            return bool(now - self.stuck > limits.idle)
        waits = self.cycle is None or self.cycle.response_complete
        return bool(waits and now - self.idle > limits.idle)


def _written(cycle: Any, answer: Answer) -> bool:
    """Write an answer with its head, if nobody must wait for that."""
    if cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
        return False
    headers = [*cycle.default_headers, *answer.headers]
    lines = [b"HTTP/1.1 %d %s" % (answer.status, PHRASES[answer.status])]
    lines += [b"%s: %s" % header for header in headers]
    lines.append(b"content-length: %d" % len(answer.body))
    if not cycle.keep_alive:
        lines.append(b"connection: close")
    text, breaks = b"\r\n".join(lines), len(lines) - 1
    if (text.count(b"\r"), text.count(b"\n")) != (breaks, breaks):
        return False  # uvicorn says which header is no header
    cycle.transport.write(b"".join((text, b"\r\n\r\n", answer.body)))
    cycle.waiting_for_100_continue = False
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


async def _full(scope: Any, receive: Any, send: Any) -> None:
    answer = refusal(later("there are too many connections."))
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [*answer.headers, length, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def look_after(connections: set[Any]) -> None:
    """Close connections that are overdue, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(TICK)
        now = loop.time()
        for own in [found for found in connections if found.overdue(now)]:
            own.transport.abort()
