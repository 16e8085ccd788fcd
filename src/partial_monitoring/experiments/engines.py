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
from threading import Thread
from types import MappingProxyType
from typing import Any

import partial_monitoring
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.experiments.cell import Cell
from partial_monitoring.result import Result
from partial_monitoring.validation import Indices

LOSSES = 3
"""So many times in a row all workers may be lost before the experiment is given up."""


NO_DASK = "the engine 'dask' needs Dask; install it with: pip install 'partial-monitoring[dask]'."


class WorkersLost(PartialMonitoringError, RuntimeError):
    """The workers died again and again."""


@dataclass(frozen=True, eq=False)
class Task:
    """Runs that are played together."""

    cell: Cell
    seeds: Indices
    version: str = partial_monitoring.__version__
    """Of the library that the results are kept under."""

    def play(self) -> Result:
        """Play the runs, with the version they are meant for."""
        if self.version != partial_monitoring.__version__:
            raise WorkersLost(
                f"workers must have partial-monitoring {self.version}; one has "
                f"{partial_monitoring.__version__}."
            )
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
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)
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


def _follow_parent() -> None:
    """Leave interruptions from the keyboard to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait_for_its_end() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait_for_its_end, daemon=True).start()


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
        from distributed import CancelledError, Client, KilledWorker, LocalCluster, as_completed
    except ImportError:
        raise InvalidInput(NO_DASK) from None
    cluster = None
    if scheduler is None:
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR"
        )
    client = Client(cluster) if scheduler is None else _client(scheduler)
    try:
        futures = {client.submit(Task.play, task, pure=False): task for task in tasks}
        left = len(futures)
        for future in as_completed(list(futures)):
            try:
                result = future.result()
            except (KilledWorker, CancelledError, OSError) as error:
                raise WorkersLost(
                    f"the workers were lost with {left} chunks left: {error}"
                ) from None
            left -= 1
            yield futures[future], result
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _client(scheduler: str) -> Any:
    """Connect to a Dask scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise InvalidInput(NO_DASK) from None
    try:
        return Client(scheduler)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"scheduler {scheduler!r} cannot be reached: {error}.") from None


Engine = Callable[..., Finished]

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {"here": here, "processes": processes, "dask": dask}
)
"""Every engine by name."""


def worker_count(scheduler: str | None = None) -> int:
    """Return how many workers there are: the threads of a Dask cluster, or the cores here."""
    if scheduler is None:
        return core_count()
    with _client(scheduler) as client:
        return max(1, int(sum(client.nthreads().values())))


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
