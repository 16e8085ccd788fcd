"""Ask and tell in process: this library and Optuna, each on the storages that it has."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time
from typing import Any

from tests.storage import cluster

import partial_monitoring as pm

Pair = Callable[[], object]
"""One ask and its tell."""

OPTUNA = find_spec("optuna") is not None
POSTGRES = cluster.MISSING is None

PRICES = 5


class Cluster(cluster.Cluster):
    """A PostgreSQL whose commits wait for the disk, as its own default is."""

    OPTIONS = "-c listen_addresses='' -c max_connections=100"

    def start(self) -> None:
        options, log = f"-k {self.folder} {self.OPTIONS}", str(self.folder / "log")
        self._run("pg_ctl", "-w", "-D", str(self._data), "-l", log, "-o", options, "start")


def game() -> pm.AnyGame:
    """Three prices, the default, as in all tables of the service."""
    return pm.games.dynamic_pricing()


def ours(storage: Any, open_: int = 0) -> Pair:
    """Return a pair of a learner that decides by the default policy, with some decisions open."""
    learner = pm.Learner(game(), storage=storage, name=None if storage == "memory" else "bench")
    waiting = deque(learner.ask() for _ in range(open_))

    def pair() -> None:
        waiting.append(learner.ask())
        learner.tell(waiting.popleft(), "yes")  # which every price may show

    return pair


def optuna_study(storage: Any) -> Any:
    """Return a study of Optuna whose sampler learns nothing: what remains is its storage."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))


def optunas(storage: Any) -> Pair:
    """Return a pair of Optuna."""
    from optuna.distributions import CategoricalDistribution

    study, space = optuna_study(storage), {"price": CategoricalDistribution(range(PRICES))}
    return lambda: study.tell(study.ask(space), 0.0)


def journal(path: Path) -> Any:
    """Return Optuna's storage in a file of lines."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return JournalStorage(JournalFileBackend(str(path)))


def by_sqlalchemy(address: str) -> str:
    """Return the address of a PostgreSQL as Optuna takes it."""
    return address.replace("postgresql://", "postgresql+psycopg://", 1)


def timed(pair: Pair, count: int) -> tuple[float, float]:
    """Return the time of a pair by the clock and of the processor, in seconds."""
    began, used = perf_counter(), process_time()
    for _ in range(count):
        pair()
    return (perf_counter() - began) / count, (process_time() - used) / count


def in_threads(pair: Pair, threads: int, each: int) -> float:
    """Return the pairs a second of threads that share a study."""

    def play() -> None:
        for _ in range(each):
            pair()

    workers = [Thread(target=play) for _ in range(threads)]
    started = perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (perf_counter() - started)


def cpu_of(process: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
