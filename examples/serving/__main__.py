"""Play a case against ``pm serve``, with all that goes wrong in a week, and count what is left.

Three shops ask and tell over HTTP. Answers come late and out of order, some of them twice; in the
middle the server is killed (``kill -9``), and started again after a second. Then every answer must
be in the log once, and every decision must come out again when it is recomputed.

    python -m examples.serving [--file FILE] [--port PORT] [--once] [--pause SECONDS]
"""

from __future__ import annotations

import argparse
import heapq
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm
from examples.serving.customers import Stream, stream

SHOPS = 3
DELAY = 12.0
"""Customers of the same shop that come, on average, before an answer does."""

TWICE = 0.1
"""Share of the answers that are delivered twice."""

PM = [sys.executable, "-m", "partial_monitoring"]


class Server:
    """``pm serve``, as a process of its own."""

    def __init__(self, file: Path, port: int = 0) -> None:
        command = [*PM, "serve", f"sqlite:///{file}", "--port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if " at " not in line:
            self.stop()
            sys.exit("The server did not start.")
        self.address = line.partition(" at ")[2].split()[0]
        self.token = self._process.stdout.readline().partition("#")[2].strip()
        self.port = int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        self._process.communicate()

    def wait(self) -> None:
        """Return when it has ended."""
        self._process.wait()


class Shop(threading.Thread):
    """One of the callers; each has customers whose answers it delivers when they come."""

    def __init__(self, number: int, learner: Any, own: Stream, numbers: Any, pause: float) -> None:
        super().__init__(name=f"shop {number}")
        self._learner, self._stream, self._numbers, self._pause = learner, own, numbers, pause
        self._rng, self._waiting = np.random.default_rng(number), list[Any]()
        self.told: dict[str, Any] = {}
        self.counts: Counter[str] = Counter()
        self.longest = 0.0
        self.error: Exception | None = None

    def run(self) -> None:
        """Serve customers until there are none left, then deliver the last answers."""
        try:
            for visit in count():
                customer = next(self._numbers)
                if customer >= self._stream.count:
                    break
                self._ask(customer, visit)
                self._tell(visit)
                time.sleep(self._pause)
            self._tell(np.inf)
        except Exception as error:
            self.error = error

    def _ask(self, customer: int, visit: int) -> None:
        began = time.perf_counter()
        decision = self._learner.ask(timeout=0.25, fallback=self._stream.cautious)
        self.longest = max(self.longest, time.perf_counter() - began)
        self.counts["fallbacks" if decision.fallback else "decisions"] += 1
        answer = self._stream.answer(customer, decision.label)
        due = visit + self._rng.exponential(DELAY)
        heapq.heappush(self._waiting, (due, customer, decision.id, answer))

    def _tell(self, now: float) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            _, _, name, answer = heapq.heappop(self._waiting)
            self._learner.tell(name, answer, timeout=0.5)
            self.told[name] = answer
            if self._rng.random() < TWICE:
                self._learner.tell(name, answer, timeout=0.5)
                self.counts["told twice"] += 1


def play(file: Path, port: int, pause: float) -> tuple[Server, bool]:
    """Play all customers; return the server, which still runs, and whether nothing was lost."""
    own, server = stream(), Server(file, port)
    token = server.token or sys.exit(f"{file}: was served before; choose another file.")
    place = {"storage": server.address, "name": own.name, "token": token}
    print(f"{own.words[0].upper()}{own.words[1:]}.")
    print(f"Watch it: {server.address}/login#{token}", flush=True)
    learner = pm.Learner(own.game, seed=0, **place, outbox=file.with_suffix(".outbox"))  # type: ignore[arg-type]
    numbers = count()
    shops = [Shop(number, learner, own, numbers, pause) for number in range(SHOPS)]
    for shop in shops:
        shop.start()
    middle = own.count // 2
    while _visits(shops) < middle and any(shop.is_alive() for shop in shops):
        time.sleep(0.005)
    server.kill()
    print(f"Customer {_visits(shops)}: the server is killed (kill -9).", flush=True)
    time.sleep(1.0)
    server = Server(file, server.port)
    print(f"Customer {_visits(shops)}: it is back.", flush=True)
    for shop in shops:
        shop.join()
    for shop in shops:
        if shop.error is not None:
            raise shop.error
    end = time.monotonic() + 30
    while learner.flush() and time.monotonic() < end:  # type: ignore[attr-defined]
        time.sleep(0.1)
    return server, counted(learner, shops, file)


def _visits(shops: list[Shop]) -> int:
    return sum(shop.counts["decisions"] + shop.counts["fallbacks"] for shop in shops)


def counted(learner: Any, shops: list[Shop], file: Path) -> bool:
    """Say what happened, and compare what was told with what is stored."""
    total = sum((shop.counts for shop in shops), Counter[str]())
    told = {name: answer for shop in shops for name, answer in shop.told.items()}
    history = learner.history
    stored = {row["id"]: row["observation"] for row in history if row["id"] in told}
    past = sum(row["id"] is None for row in history)
    lost = [
        name
        for name, answer in told.items()
        if not name.startswith("fallback.") and stored.get(name, learner) != answer
    ]
    silent = sum(row["observation"] is None for row in history)
    longest = max(shop.longest for shop in shops)
    print(
        f"{total['decisions']} decisions and {total['fallbacks']} fallbacks while the server was "
        f"away; {len(told)} answers, {total['told twice']} of them delivered twice; no customer "
        f"waited longer than {longest:.2f} s."
    )
    print(
        f"In the log: {len(stored)} answers to decisions and {past} to fallbacks, {len(lost)} "
        f"lost, {silent} decisions without an answer."
    )
    print(learner.status())
    check = subprocess.run([*PM, "store", "check", f"sqlite:///{file}"], text=True)
    good = not lost and not silent and past == total["fallbacks"] and not check.returncode
    print("Nothing was lost." if good else "Something was lost.", flush=True)
    return good


def main() -> None:
    """Play, and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Play a case against pm serve, with a kill.")
    parser.add_argument("--file", type=Path, help="the database; a temporary one unless given")
    parser.add_argument("--port", type=int, default=0, help="a free one unless given")
    parser.add_argument("--once", action="store_true", help="do not go on serving")
    parser.add_argument("--pause", type=float, default=0.15, help="seconds between customers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pm-serving-") as folder:
        file = given.file or Path(folder) / "shop.db"
        server, good = play(file, given.port, given.pause)
        if not given.once:
            print(f"Still served at {server.address} (Ctrl-C ends it).", flush=True)
            try:
                server.wait()
            except KeyboardInterrupt:
                print()
        server.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
