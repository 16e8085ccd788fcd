"""Where runs are played: here, in processes of this machine, or on a Dask cluster.

An engine takes tasks (a cell and some seeds) and gives back their results in any order. The numbers
are the same on every engine and for any number of workers, because what a seed does depends on
nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.experiments.cell import Cell
from partial_monitoring.result import Result
from partial_monitoring.validation import Indices

LOSSES = 3
"""So many times in a row all workers may be lost before the experiment is given up."""


class WorkersLost(PartialMonitoringError, RuntimeError):
    """The workers died again and again."""


@dataclass(frozen=True, eq=False)
class Task:
    """Runs that are played together."""

    cell: Cell
    seeds: Indices

    def play(self) -> Result:
        """Play the runs."""
        return self.cell.play(self.seeds)


Finished = Iterator[tuple[Task, Result]]


def here(tasks: Sequence[Task], *, workers: int, scheduler: str | None) -> Finished:
    """Play the tasks one after the other in this process."""
    for task in tasks:
        yield task, task.play()


def processes(tasks: Sequence[Task], *, workers: int, scheduler: str | None) -> Finished:
    """Play the tasks in worker processes; a worker that dies costs only the task it was at."""
    left = list(tasks)
    losses = 0
    while left:
        before = len(left)
        try:
            for task, result in _in_pool(left, min(workers, len(left))):
                left.remove(task)
                yield task, result
        except BrokenProcessPool:
            losses = losses + 1 if len(left) == before else 0
            if losses == LOSSES:
                raise WorkersLost(
                    f"all workers died {LOSSES} times in a row; {len(left)} chunks are left."
                ) from None


def _in_pool(tasks: Sequence[Task], workers: int) -> Finished:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_interrupts)
    with _one_thread_each():
        try:
            # A few tasks ahead of the workers, so that little is waited for in the end.
            waiting = list(tasks)
            running: dict[Any, Task] = {}
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    task = waiting.pop(0)
                    running[pool.submit(task.play)] = task
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except BaseException:
            # What runs is given up: it is not waited for, and stored nothing yet.
            for process in list(pool._processes.values()):
                process.kill()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts() -> None:
    """Let an interruption from the keyboard end the parent only, which then ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let new processes share the cores instead of each asking for all of them."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def dask(tasks: Sequence[Task], *, workers: int, scheduler: str | None) -> Finished:
    """Play the tasks on a Dask cluster: the one at an address, or one started on this machine."""
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise InvalidInput(
            "the engine 'dask' needs Dask; install it with: pip install 'partial-monitoring[dask]'."
        ) from None
    cluster = None
    if scheduler is None:
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR"
        )
    try:
        client = Client(cluster if scheduler is None else scheduler)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"scheduler {scheduler!r} cannot be reached: {error}.") from None
    try:
        futures = {client.submit(Task.play, task, pure=False): task for task in tasks}
        for future in as_completed(list(futures)):
            yield futures[future], future.result()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


Engine = Callable[..., Finished]

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {"here": here, "processes": processes, "dask": dask}
)
"""Every engine by name."""


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
