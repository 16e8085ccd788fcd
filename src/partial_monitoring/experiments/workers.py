"""Where runs are played: here, in processes of this machine, or on a Dask cluster.

An engine takes tasks (a configuration and some seeds) and yields their results in any order. The
numbers are the same on every engine and for any number of workers, because a run depends only on
its configuration and its seed.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from threading import Thread
from types import MappingProxyType
from typing import Any

from threadpoolctl import threadpool_limits

import partial_monitoring
from partial_monitoring.errors import InvalidInput, PartialMonitoringError
from partial_monitoring.experiments.runs import Configuration
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Indices, brief

LOSSES = 3
"""How often a chunk may kill its worker before the experiment is abandoned."""


NOISY = ("distributed.client", "distributed.core", "distributed.utils", "asyncio")
"""Loggers of Dask, which describe at length what an error says in one sentence."""


class WorkersLost(PartialMonitoringError, RuntimeError):
    """The workers died repeatedly."""


@dataclass(frozen=True, eq=False)
class Task:
    """Runs that are played together."""

    configuration: Configuration
    seeds: Indices
    version: str = partial_monitoring.__version__
    """Version of the library under which the results are stored."""

    def play(self, threads: int | None = 1) -> Result:
        """Play the runs, if this process has the required version."""
        if self.version != partial_monitoring.__version__:
            raise WorkersLost(
                f"workers must have partial-monitoring {self.version}; one has "
                f"{partial_monitoring.__version__}."
            )
        return self.configuration.play(self.seeds, threads)


Finished = Iterator[tuple[Task, Result]]


def here(tasks: Sequence[Task], **unused: Any) -> Finished:
    """Play the tasks one after the other in this process, on all cores."""
    for task in tasks:
        yield task, task.play(threads=None)


def processes(tasks: Sequence[Task], *, workers: int, **unused: Any) -> Finished:
    """Play the tasks in worker processes; a worker that dies loses only its current task.

    Every worker has its own pool, because a pool that loses one process abandons all of them.
    """
    waiting = list(tasks)
    deaths = dict.fromkeys(tasks, 0)
    running: dict[Future[Result], tuple[Task, ProcessPoolExecutor]] = {}
    idle: list[ProcessPoolExecutor] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                pool = idle.pop() if idle else _worker()
                task = waiting.pop(0)
                running[pool.submit(task.play)] = task, pool
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task, pool = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    pool.shutdown()
                    deaths[task] += 1
                    if deaths[task] == LOSSES:
                        left = 1 + len(waiting) + len(running)
                        raise WorkersLost(
                            f"a chunk killed its worker {LOSSES} times; {left} chunks are left."
                        ) from None
                    waiting.append(task)
                    continue
                idle.append(pool)
                yield task, result
    finally:
        # After an error or an interruption, running tasks are abandoned; nothing is stored yet.
        for pool in [*idle, *(pool for _, pool in running.values())]:
            for process in list(pool._processes.values()):
                process.kill()
            pool.shutdown(cancel_futures=True)


def _worker() -> ProcessPoolExecutor:
    """Start a process that plays one task after the other."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Use one thread, leave interruptions from the keyboard to the parent, and end when it ends.

    With one thread each, the processes do not exceed the cores together.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    os.environ.update(dict.fromkeys(names, "1"))  # for libraries that are loaded later
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait_for_its_end() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait_for_its_end, daemon=True).start()


def dask(
    tasks: Sequence[Task], *, workers: int, scheduler: str | None, security: Any = None
) -> Finished:
    """Play the tasks on a Dask cluster: the one at an address, or one started on this machine.

    The latter listens only to this machine.
    """
    distributed, cluster = _distributed(), None
    if scheduler is None:
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # without it, everybody could read the dashboard
            silence_logs="ERROR",
        )
    client = distributed.Client(cluster) if scheduler is None else _client(scheduler, security)
    lost = (distributed.KilledWorker, distributed.CancelledError, OSError)
    loggers = [logging.getLogger(name) for name in NOISY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        futures = {client.submit(Task.play, task, pure=False): task for task in tasks}
        left = len(futures)
        for future in distributed.as_completed(list(futures)):
            try:
                result = future.result()
            except lost as error:
                reason = " ".join(str(error).split())
                raise WorkersLost(
                    f"the workers were lost with {left} chunks left: {reason}"
                ) from None
            left -= 1
            yield futures[future], result
    finally:
        client.close()
        if cluster is not None:
            cluster.close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _client(scheduler: str, security: Any) -> Any:
    """Connect to a Dask scheduler."""
    distributed = _distributed()
    try:
        return distributed.Client(scheduler, security=security)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(f"scheduler {brief(scheduler)} cannot be reached: {error}.") from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InvalidInput(
            "the engine 'dask' needs Dask; install it with: pip install distributed."
        ) from None
    return distributed


ENGINES: Mapping[str, Callable[..., Finished]] = MappingProxyType(
    {"here": here, "processes": processes, "dask": dask}
)
"""Every engine by name."""


def worker_count(scheduler: str | None = None, security: Any = None) -> int:
    """Return the default number of workers: the threads of a cluster, or the cores available."""
    if scheduler is None:
        here = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if here else os.cpu_count() or 1
    with _client(scheduler, security) as client:
        return max(1, int(sum(client.nthreads().values())))
