"""Processes that ask and tell until they are killed, and write down what was acknowledged.

Run as a program, it starts them: it has everything loaded and forks.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread
from time import sleep

import partial_monitoring as pm
from partial_monitoring.errors import StorageError
from partial_monitoring.learner import snapshots

THREADS = 3

GREEDY = pm.Greedy()


def learner_at(address: str) -> pm.Learner:
    return pm.Learner("dynamic_pricing", GREEDY, seed=1, storage=address, name="pricing")


def work(address: str, acknowledged: Path) -> None:
    """Go on for ever, with several threads; a database that is away comes back."""
    snapshots.EVERY = 16
    out = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    learner = learner_at(address)

    def go_on() -> None:
        while True:
            try:
                decision = learner.ask()
                os.write(out, f"ask {decision.id}\n".encode())
                learner.tell(decision, "yes")
                os.write(out, f"tell {decision.id}\n".encode())
            except StorageError:
                sleep(0.02)

    threads = [Thread(target=go_on) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """Obey lines on the standard input: [address, path] starts a process, its id waits for it."""
    warm = pm.Learner("dynamic_pricing", GREEDY)
    warm.tell(warm.ask(), "yes")
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            os.waitpid(order, 0)
            print("gone", flush=True)
        elif (child := os.fork()) == 0:
            try:
                work(order[0], Path(order[1]))
            finally:
                os._exit(1)
        else:
            print(child, flush=True)


if __name__ == "__main__":
    main()
