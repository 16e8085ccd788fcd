"""Processes killed under load, and databases: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner import snapshots
from partial_monitoring.learner.checking import checked
from partial_monitoring.storage.opened import database_at
from tests.storage import crashing
from tests.storage.cluster import Cluster

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.storage.crashing"])

PATIENCE = 60.0
"""Seconds within which something must be acknowledged."""


@contextmanager
def workers(address: str, log: Path, count: int) -> Iterator[list[BaseProcess]]:
    """Run processes that write to one study, and kill them at the end."""
    found: list[BaseProcess] = []
    try:
        for _ in range(count):
            found.append(started(address, log))
        yield found
    finally:
        for process in found:
            killed(process)


def started(address: str, log: Path) -> BaseProcess:
    process = PROCESSES.Process(target=crashing.work, args=(address, log))
    process.start()
    return process


def killed(process: BaseProcess) -> None:
    process.kill()  # SIGKILL
    process.join()


def lines(log: Path) -> list[str]:
    """Return what was acknowledged; a line that was cut by the end of a process was not."""
    text = log.read_text() if log.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def wait_for(log: Path, more: int) -> None:
    end, target = monotonic() + PATIENCE, len(lines(log)) + more
    while len(lines(log)) < target:
        assert monotonic() < end, "nothing is acknowledged any more"
        sleep(0.005)


def verify(address: str, log: Path) -> None:
    """A gapless log with all that was acknowledged, once, that makes its own decisions."""
    learner = crashing.learner_at(address)
    events, said = learner.events, [line.split() for line in lines(log)]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for kind in ("ask", "tell"):
        names = [event["decision"] for event in events if event["kind"] == kind]
        acknowledged = [name for own, name in said if own == kind]
        assert len(set(names)) == len(names)
        assert len(set(acknowledged)) == len(acknowledged)
        assert set(acknowledged) <= set(names)
    again = pm.Learner.replay("dynamic_pricing", crashing.GREEDY, 1, events, check=True)
    assert state_of(again) == state_of(learner)
    assert checked(database_at(address, writes=False), "pricing").problems == []
    assert database_at(address, writes=False).handle.problems() == []


def state_of(learner: pm.Learner) -> Any:
    return snapshots.steps.snapshot(learner._spec, learner._session)


def kill_writers(address: str, log: Path, times: int, count: int, seed: int) -> None:
    """Kill one of some processes at random moments, and start another one in its place."""
    rng = random.Random(seed)
    with workers(address, log, count) as running:
        for time in range(times):
            wait_for(log, rng.randrange(5, 60))
            victim = rng.randrange(count)
            killed(running[victim])
            if time < times - 1:
                running[victim] = started(address, log)
    verify(address, log)


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_file_survives_the_death_of_its_process(times: int, tmp_path: Path) -> None:
    kill_writers(f"sqlite:///{tmp_path}/shop.db", tmp_path / "log", times, 1, times)


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_processes_share_a_study_whoever_dies(times: int, cluster: Cluster, tmp_path: Path) -> None:
    """Two processes, one sequence."""
    address = cluster.new(f"deaths{times}")
    kill_writers(address, tmp_path / "log", times, 2, times)
    tokens = {str(event["decision"]).partition("-")[0] for event in events_of(address)}
    assert len(tokens) > 2


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.nightly)])
def test_learners_survive_the_death_of_their_database(
    times: int, cluster: Cluster, tmp_path: Path
) -> None:
    address, log, rng = cluster.new(f"away{times}"), tmp_path / "log", random.Random(times)
    with workers(address, log, 2):
        for _ in range(times):
            wait_for(log, rng.randrange(5, 60))
            cluster.stop("immediate")
            cluster.start()
        wait_for(log, 20)
    verify(address, log)


def events_of(address: str) -> list[dict[str, Any]]:
    return crashing.learner_at(address).events
