"""Serves a study to 12 callers until it is killed. Forked from a process that has imported all.

A line with an address, a path and the number of the first request of each caller starts one, and is
answered with its number; a line with that number waits for its end. Whatever was acknowledged is a
line in the file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import Any

from partial_monitoring.service.engine.engine import Engine
from partial_monitoring.service.problems import Problem
from partial_monitoring.storage.opened import database_at

CALLERS = 12


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            os.waitpid(order, 0)
            print(flush=True)
            continue
        process = os.fork()
        if process == 0:
            _serve(*order)
        print(process, flush=True)


def _serve(address: str, path: str, firsts: list[int]) -> None:
    until = time.monotonic() + 20
    while True:
        with suppress(Exception):  # the lock of the one before may be held for a moment
            engine = Engine(database_at(address))
            break
        assert time.monotonic() < until
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    threads = [Thread(target=play, args=(engine, n, first, log)) for n, first in enumerate(firsts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(1)


def play(engine: Engine, caller: int, number: int, log: int, last: int = 10**9) -> None:
    """Ask and tell, each as often as it takes, and write down what is acknowledged."""
    while number < last:
        key = f"{caller}/{number}"
        own = done(engine, "ask", {"key": key})["decisions"][0]
        _write(log, ["ask", caller, number, own["id"], own["label"]])
        seen = "yes" if number % 2 or own["label"] == "$1" else "no"
        told = {"decision": own["id"], "observation": seen}
        result = done(engine, "tell", told)["answers"][0]["result"]
        assert result in ("told", "duplicate"), result
        _write(log, ["tell", caller, number, own["id"], seen])
        number += 1


def done(engine: Engine, verb: str, arguments: dict[str, Any]) -> Any:
    """Try until it is not refused for the moment."""
    until = time.monotonic() + 60
    while True:
        try:
            return engine.submit("pricing", verb, arguments).result(30)
        except Problem as problem:
            if problem.status != 503 or time.monotonic() > until:
                raise
            time.sleep(0.02)


def played(engine: Engine, count: int, log: int) -> None:
    """Let all callers make some decisions, from number 0."""
    with ThreadPoolExecutor(CALLERS) as pool:
        for own in [pool.submit(play, engine, n, 0, log, count) for n in range(CALLERS)]:
            own.result()


def _write(log: int, row: list[Any]) -> None:
    os.write(log, f"{json.dumps(row)}\n".encode())


if __name__ == "__main__":
    main()
