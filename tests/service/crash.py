"""Servers that are killed: ``pm serve`` in processes that start quickly.

Run as a program, it has everything loaded and forks; a fork runs the command with the words that it
was given. Snapshots and checkpoints are so frequent in them that kills hit them as well.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from subprocess import PIPE, Popen
from time import monotonic, sleep
from typing import Any

from tests.service.http_client import Client

ROOT = Path(__file__).parents[2]

TOKEN = re.compile(r"pm_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")

PATIENCE = 60.0
"""Seconds within which a server must be ready, or end."""

SNAPSHOTS, CHECKPOINTS = 32, 24
"""Events between two snapshots, and pages of the log ahead between two checkpoints."""

POINTS = ("before the commit", "after the commit", "in a snapshot")
"""Where a server can be made to die by itself."""


class Served:
    """A process that runs ``pm serve``, which can be started again at the same place."""

    def __init__(self, farm: Farm, folder: Path, address: str) -> None:
        self._farm, self.folder = farm, folder
        with socket.socket() as own:
            own.bind(("127.0.0.1", 0))
            self.port = own.getsockname()[1]
        self.words = ["serve", address, "--port", str(self.port), "--rate", "1000000"]
        self.out = folder / f"out-{self.port}"
        self.address = f"http://127.0.0.1:{self.port}"
        self.pid = 0

    @property
    def printed(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    @property
    def token(self) -> str:
        """The token that the first start has printed."""
        found = TOKEN.search(self.printed)
        assert found is not None, self.printed
        return found[0]

    def start(self, *, die: str = "") -> None:
        """Start it; it dies by itself at a point of ``POINTS``, if one is given."""
        self.pid = int(self._farm({"words": self.words, "out": str(self.out), "die": die}))

    def ready(self) -> None:
        """Wait until it answers."""
        end, client = monotonic() + PATIENCE, Client(self.address)
        while True:
            with suppress(OSError, HTTPException):
                if client("GET", "/health/ready").status == 200:
                    return
            assert monotonic() < end, self.printed
            sleep(0.01)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        """Wait for its end, and return what it ended with."""
        pid, self.pid = self.pid, 0
        return int(self._farm(pid))


class Farm:
    """The process that starts servers."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        command = [sys.executable, "-m", "tests.service.crash"]
        environment = os.environ | {"PYTHONPATH": path}
        self._own = Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True)
        self._served: list[Served] = []

    def __call__(self, order: Any) -> str:
        assert self._own.stdin is not None
        assert self._own.stdout is not None
        print(json.dumps(order), file=self._own.stdin, flush=True)
        return self._own.stdout.readline()

    def serving(self, folder: Path, address: str) -> Served:
        """Return a server that does not run yet."""
        self._served.append(Served(self, folder, address))
        return self._served[-1]

    def clear(self) -> None:
        """Kill what still runs."""
        for own in self._served:
            if own.pid:
                own.kill()
        self._served.clear()

    def close(self) -> None:
        self.clear()
        with self._own:
            assert self._own.stdin is not None
            self._own.stdin.close()


@contextmanager
def farm() -> Iterator[Farm]:
    found = Farm()
    try:
        yield found
    finally:
        found.close()


# -- the program -----------------------------------------------------------------------------------


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def prepare(point: str) -> None:
    """Checkpoint often, and die at a point."""
    from partial_monitoring.service.study.hosted import Hosted
    from partial_monitoring.storage.sqlite import Connection

    begin, published = Connection.__init__, Hosted.published
    counts = dict[str, int]()

    def traced(sql: str) -> None:
        if "pm_event" in sql:
            counts["event"] = 1
        if point == "before the commit" and sql == "COMMIT" and counts.get("event"):
            die()
        if point == "in a snapshot" and "INTO pm_snapshot" in sql:
            die()

    def with_checkpoints(self: Any, *given: Any, **more: Any) -> None:
        begin(self, *given, **more)
        if more["writes"]:
            self._own.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINTS}")
            if point:
                self._own.set_trace_callback(traced)

    def dying(self: Any, draft: Any) -> None:
        if draft.steps:
            die()
        published(self, draft)

    Connection.__init__ = with_checkpoints  # type: ignore[method-assign]
    if point == "after the commit":
        Hosted.published = dying  # type: ignore[method-assign]


def run(words: list[str], out: str, point: str) -> None:
    """Run a command of ``pm`` in this process."""
    from partial_monitoring.cli import main as pm

    for number, path, mode in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY)):
        found = os.open(path, mode | (os.O_CREAT | os.O_APPEND if number else 0))
        os.dup2(found, number)
    os.dup2(1, 2)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    prepare(point)
    pm(words)


def main() -> None:
    """Obey lines on the standard input: an object starts a process, its id waits for its end."""
    from partial_monitoring.learner import snapshots

    snapshots.EVERY = SNAPSHOTS  # before others know it
    import partial_monitoring as pm
    from partial_monitoring.service import process, server  # noqa: F401

    warm = pm.Learner("dynamic_pricing")
    warm.tell(warm.ask(), "yes")
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            _, status = os.waitpid(order, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
        elif (child := os.fork()) == 0:
            try:
                run(order["words"], order["out"], order["die"])
            except SystemExit as found:
                os._exit(found.code if isinstance(found.code, int) else 1)
            finally:
                os._exit(1)
        else:
            print(child, flush=True)


if __name__ == "__main__":
    main()
