"""Processes killed under load, and databases: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from subprocess import PIPE, Popen
from time import monotonic, sleep
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.learner import snapshots
from partial_monitoring.learner.checking import checked
from partial_monitoring.storage.opened import database_at
from tests.storage import crashing
from tests.storage.cluster import Cluster

ROOT = Path(__file__).parents[2]

PATIENCE = 60.0
"""Seconds within which something must be acknowledged."""


class Workers:
    """Processes that write to one study."""

    def __init__(self, starter: Popen[str], address: str, log: Path) -> None:
        self._starter, self._order = starter, [address, str(log)]
        self.running: list[int] = []

    def start(self) -> None:
        self.running.append(int(self._said(self._order)))

    def kill(self, place: int) -> None:
        process = self.running.pop(place)
        os.kill(process, SIGKILL)
        self._said(process)

    def _said(self, order: Any) -> str:
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        print(json.dumps(order), file=self._starter.stdin, flush=True)
        return self._starter.stdout.readline()


@pytest.fixture(scope="module")
def starter() -> Iterator[Popen[str]]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.storage.crashing"]
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as found:
        yield found


@contextmanager
def workers(starter: Popen[str], address: str, log: Path, count: int) -> Iterator[Workers]:
    """Run processes that write to one study, and kill them at the end."""
    found = Workers(starter, address, log)
    try:
        for _ in range(count):
            found.start()
        yield found
    finally:
        while found.running:
            found.kill(0)


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


def kill_writers(found: Workers, log: Path, times: int) -> None:
    """Kill one of some processes at random moments, and start another one in its place."""
    rng = random.Random(times)
    for _ in range(times):
        wait_for(log, rng.randrange(5, 60))
        found.kill(rng.randrange(len(found.running)))
        found.start()


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_file_survives_the_death_of_its_process(
    times: int, starter: Popen[str], tmp_path: Path
) -> None:
    address, log = f"sqlite:///{tmp_path}/shop.db", tmp_path / "log"
    with workers(starter, address, log, 1) as found:
        kill_writers(found, log, times)
    verify(address, log)


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_processes_share_a_study_whoever_dies(
    times: int, starter: Popen[str], cluster: Cluster, tmp_path: Path
) -> None:
    """Two processes, one sequence."""
    address, log = cluster.new(f"deaths{times}"), tmp_path / "log"
    with workers(starter, address, log, 2) as found:
        kill_writers(found, log, times)
    verify(address, log)
    tokens = {str(event["decision"]).partition("-")[0] for event in events_of(address)}
    assert len(tokens) > 2


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.nightly)])
def test_learners_survive_the_death_of_their_database(
    times: int, starter: Popen[str], cluster: Cluster, tmp_path: Path
) -> None:
    address, log, rng = cluster.new(f"away{times}"), tmp_path / "log", random.Random(times)
    with workers(starter, address, log, 2):
        for _ in range(times):
            wait_for(log, rng.randrange(5, 60))
            cluster.stop("immediate")
            cluster.start()
        wait_for(log, 20)
    verify(address, log)


def test_a_frozen_process_is_overtaken_and_rejoins(
    starter: Popen[str], cluster: Cluster, tmp_path: Path
) -> None:
    """Stopped in the middle of a turn, it is ended by the server, and knows all when it goes on."""
    option = "%20-cidle_in_transaction_session_timeout%3D500"
    address, log = f"{cluster.new('frozen')}{option}", tmp_path / "log"
    with workers(starter, address, log, 2) as found:
        for _ in range(3):
            wait_for(log, 10)
            os.kill(found.running[0], SIGSTOP)
            wait_for(log, 10)
            os.kill(found.running[0], SIGCONT)
        wait_for(log, 10)
    verify(address, log)


def events_of(address: str) -> list[dict[str, Any]]:
    return crashing.learner_at(address).events
