"""Threads that share a learner, and threads that share a store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.attacks.killed import same

THREADS, PAIRS = 8, 40
POLICIES = {"ids": pm.IDS(), "cbp": pm.CBP(), "greedy": pm.Greedy()}
INTERVALS = (1e-6, 1e-5, 1e-4, 5e-3)


def attacks(seed: int) -> Iterator[Attack]:
    for name, policy in POLICIES.items():
        for interval in INTERVALS:
            for saving in (False, True):
                call = partial(share_learner, policy, interval, seed, saving)
                yield Attack(f"{name}, switched every {interval:g} s, saving: {saving}", call)
    for interval in INTERVALS:
        call = partial(share_store, interval, f"store{interval:g}")
        yield Attack(f"one store, switched every {interval:g} s", call)


def share_learner(policy: Any, interval: float, seed: int, saving: bool) -> None:
    """Ask and tell from several threads at once, perhaps with others that read and save."""
    learner, together = pm.Learner(pm.games.dynamic_pricing(), policy, seed), Barrier(THREADS)

    def work(number: int) -> list[Any]:
        together.wait()
        given = []
        for _ in range(PAIRS):
            decision = learner.ask()
            given.append(decision.id)
            learner.tell(decision, learner.game.signal(decision.action, 1))
            if saving and number % 2:
                learner.save(f"learner{number}.json")
                pm.Learner.load(f"learner{number}.json")
        return given

    ids = [number for own in switching(work, interval) for number in own]
    if len(set(ids)) != THREADS * PAIRS:
        raise Wrong("an id was given twice")
    if learner.round != THREADS * PAIRS + 1 or len(learner.events) != 2 * THREADS * PAIRS:
        raise Wrong(f"{THREADS * PAIRS} answers were told, {learner.round - 1} learned")
    again = pm.Learner.replay(learner.game, learner.policy, seed, learner.events)
    if again.ask().distribution.tolist() != learner.ask().distribution.tolist():
        raise Wrong("the log makes another learner")


def share_store(interval: float, folder: str) -> None:
    """Run one experiment from several threads at once into one store."""

    def play(number: int) -> Any:
        experiment = pm.Experiment(
            ["apple_tasting", "dynamic_pricing"], ["ids", "cbp"], horizon=20, seeds=5
        )
        return experiment.run(folder if number >= 0 else None)

    alone = play(-1)
    if not all(same(table, alone) for table in switching(play, interval)):
        raise Wrong("a thread has other numbers")


def switching(work: Any, interval: float) -> list[Any]:
    """Run work in all threads, while Python switches between them after an interval."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(interval)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(usual)
