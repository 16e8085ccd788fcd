"""A load of asks and their tells over HTTP, from a process of its own.

``python -m benchmarks.service_load ADDRESS TOKEN CLIENTS SECONDS`` keeps as many connections open,
each of which asks, tells, and asks again as soon as it is answered, and prints what it has found as
JSON. It knows as much of HTTP as that needs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from time import perf_counter
from urllib.parse import urlsplit

STUDY = "/v1/studies/bench"

WARM = 1.0
"""Seconds before what is measured."""


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, load: Load) -> None:
        self.load, self.rest, self.decision, self.sent = load, b"", b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send an ask, or the tell of what was decided."""
        verb, body = b"ask", b"{}"
        if self.decision:
            verb, body = b"tell", b'{"decision":"%b","observation":"yes"}' % self.decision
        self.sent = perf_counter()
        self.transport.write(self.load.head % (verb, len(body)) + body)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        data = self.rest + data
        head, gap, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if not gap or len(body) < length:
            self.rest = data
            return
        self.rest = b""
        self.load.note(perf_counter() - self.sent, ok=head[9:12] == b"200")
        was_ask = not self.decision
        self.decision = body.partition(b'"id":"')[2].partition(b'"')[0] if was_ask else b""
        if not self.load.done.done():
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.load.done.done():
            self.load.lost += 1


class Load:
    """What all connections have found."""

    def __init__(self, address: str, token: str, done: asyncio.Future[None]) -> None:
        self.place, self.done = urlsplit(address), done
        self.taken: list[float] = []
        self.refused, self.lost, self.measuring = 0, 0, False
        host = self.place.netloc.encode()
        self.head = b"POST %s/%%b HTTP/1.1\r\nHost: %b\r\nAuthorization: Bearer %b\r\n" % (
            STUDY.encode(),
            host,
            token.encode(),
        )
        self.head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    def note(self, seconds: float, *, ok: bool) -> None:
        if not ok:
            self.refused += 1
        elif self.measuring:
            self.taken.append(seconds)


async def main(address: str, token: str, clients: int, seconds: float) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    load = Load(address, token, loop.create_future())
    for _ in range(clients):
        await loop.create_connection(lambda: Client(load), load.place.hostname, load.place.port)
    await asyncio.sleep(WARM)
    print("measuring", flush=True)
    load.measuring, started = True, perf_counter()
    await asyncio.sleep(seconds)
    load.measuring, ended = False, perf_counter()
    load.done.set_result(None)
    taken = sorted(load.taken) or [float("nan")]
    shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
    found = {name: taken[int(share * (len(taken) - 1))] for name, share in shares.items()}
    counts = {"requests": len(load.taken), "refused": load.refused, "lost": load.lost}
    return {"seconds": ended - started, **counts, **found}


if __name__ == "__main__":
    with suppress(ImportError):
        import uvloop

        uvloop.install()
    given = sys.argv[1:]
    print(json.dumps(asyncio.run(main(given[0], given[1], int(given[2]), float(given[3])))))
