"""A process that asks and tells until it is killed, and writes down what was acknowledged."""

from __future__ import annotations

import os
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

    for _ in range(THREADS):
        Thread(target=go_on).start()
