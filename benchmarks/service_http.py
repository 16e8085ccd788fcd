"""The service over HTTP: requests a second, how long they take, and what they cost the server."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from benchmarks import service_peers as peers
from benchmarks.timing import fastest

SCRIPT = Path(__file__).with_name("service_load.lua")

SECONDS = 5
"""That a load lasts."""

ROWS = 32
"""Rows of a commit whose cost is the limit."""

BODY = "x" * 250
"""About the length of the body of an event, in JSON."""


class Load(NamedTuple):
    """What a load has found."""

    by: str
    clients: int
    requests: float
    """A second."""
    p50: float
    p99: float
    refused: int
    cpu: float
    """Processor time of the server, in seconds a request."""


class Server(NamedTuple):
    """A server in another process."""

    process: subprocess.Popen[str]
    address: str
    token: str
    start: float
    """Seconds until it was ready."""

    def memory(self) -> int:
        """Return the bytes that it holds."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, head, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)  # type: ignore[no-any-return]

    def load(self, clients: int, *, wrk: bool = False) -> Load:
        """Return what a load from as many clients finds."""
        given = ["-t1", f"-c{clients}", f"-d{SECONDS}s", "-s", str(SCRIPT), self.address]
        command = ["wrk", *given, "--", self.token]
        if not wrk:
            own = [self.address, self.token, str(clients), str(SECONDS)]
            command = [sys.executable, "-m", "benchmarks.service_load", *own]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            if not wrk:
                running.stdout.readline()
            used = peers.cpu_of(self.process.pid)
            found = json.loads(running.stdout.read().splitlines()[-1])
            used = peers.cpu_of(self.process.pid) - used
        count, times = max(found["requests"], 1), (found["p50"], found["p99"])
        rate = found["requests"] / found["seconds"]
        by = "wrk" if wrk else "own"
        return Load(by, clients, rate, *times, found["refused"], used / count)


@contextmanager
def started(url: str) -> Iterator[Server]:
    """Serve a database, or ``bare``, in another process."""
    began = perf_counter()
    command = [sys.executable, "-m", "benchmarks.service_server", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        yield Server(process, said["address"], said["token"], perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def with_study(server: Server) -> Server:
    """Return a server with the study that is asked."""
    server.post("/v1/studies", {"name": "bench", "game": {"named": "dynamic_pricing"}})
    return server


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def decision_seconds(open_: int) -> float:
    """Return the processor time of one event in process, half of an ask and its tell.

    A number of decisions are open all the time, each of which the policy expects an answer to.
    """
    pair = peers.ours("memory", open_)
    fastest(pair, repeat=20, seconds=1.0)
    return fastest(pair, repeat=20, seconds=2.0, clock=process_time) / 2


def row_seconds(folder: Path) -> float:
    """Return the processor time of one stored row, of a commit that has 32 of them."""
    own = sqlite3.connect(folder / "rows.db", isolation_level=None)
    own.execute("PRAGMA journal_mode = WAL")
    own.execute("PRAGMA synchronous = FULL")
    own.execute(
        "CREATE TABLE row (study INTEGER, seq INTEGER, at INTEGER, kind TEXT, decision TEXT, "
        "slot INTEGER, body TEXT, PRIMARY KEY (study, seq)) WITHOUT ROWID"
    )
    last = 0

    def commit() -> None:
        nonlocal last
        rows = [(1, last + i, last, "ask", f"abc-{last + i}", 0, BODY) for i in range(ROWS)]
        last += ROWS
        own.execute("BEGIN IMMEDIATE")
        own.executemany("INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        own.execute("COMMIT")

    try:
        return fastest(commit, repeat=20, seconds=1.0, clock=process_time) / ROWS
    finally:
        own.close()
