"""Every engine gives the same numbers, and workers may die."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute as pc

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments import runner
from partial_monitoring.experiments import workers as engines
from partial_monitoring.experiments.runs import Configuration
from partial_monitoring.experiments.workers import WorkersLost
from partial_monitoring.simulation.truths import FixedTruth
from tests.oracles.fragile import AlwaysDies, Counted, CountsThreads, DiesOnce
from tests.oracles.small_experiments import assert_same

HORIZON, SEEDS = 20, 4
GAMES = {"apples": "apple_tasting", "survey": "survey"}
THETA = {"apples": [0.7, 0.3], "survey": "random"}
POLICIES = {"ids": pm.IDS(), "cbp": pm.CBP(), "contextual": pm.ContextualIDS()}


def experiment(policies: dict[str, Any]) -> pm.Experiment:
    return pm.Experiment(GAMES, policies, THETA, horizon=HORIZON, seeds=SEEDS, checkpoints=[10])


def rows_of(table: Any, *policies: str) -> Any:
    return table.filter(pc.is_in(table["policy"], pa.array(policies)))


@pytest.fixture(scope="module", params=["processes", "dask"])
def by_workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what two workers play, one of which is killed once, and whether it was."""
    folder = tmp_path_factory.mktemp(request.param)
    flag = folder / "died"
    fragile = experiment({"fragile": DiesOnce(str(flag)), **POLICIES})
    return fragile.run(folder / "store", engine=request.param, workers=2), flag.exists()


def test_every_engine_gives_the_same_numbers(by_workers: Any) -> None:
    assert_same(rows_of(by_workers[0], *POLICIES), experiment(POLICIES).run())


def test_a_worker_that_dies_costs_only_its_chunk(by_workers: Any) -> None:
    table, died = by_workers
    assert died
    plain = experiment({"fragile": pm.IDS()}).run()
    apples = plain.filter(pc.equal(plain["game"], "apples"))  # it plays no contexts
    assert_same(rows_of(table, "fragile"), apples)


@pytest.fixture(scope="module")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """Return how workers that always die end, and how often a chunk beside them was begun."""
    marks = tmp_path_factory.mktemp("marks")
    policies = {"deadly": AlwaysDies(str(marks)), "slow": Counted(str(marks), seconds=60.0)}
    experiment = pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=20, seeds=1)
    with pytest.raises(WorkersLost) as caught:
        experiment.run(engine="processes", workers=2)
    return str(caught.value), len(list(marks.iterdir()))


def test_workers_that_always_die_end_the_experiment(deadly: tuple[str, int]) -> None:
    assert deadly[0] == "a chunk killed its worker 3 times; 2 chunks are left."


def test_chunks_beside_one_that_dies_are_played_once(deadly: tuple[str, int]) -> None:
    """The other worker is in the middle of its chunk when the first one is killed."""
    assert deadly[1] == 1


def test_seeds_are_spread_over_workers_in_small_chunks() -> None:
    cell = Configuration(
        pm.games.apple_tasting(), FixedTruth(np.array([0.7, 0.3])), pm.IDS(), np.array([30])
    )
    for count, workers, largest in ((10, 4, 3), (1000, 2, runner.CHUNK), (1, 8, 1), (0, 2, 0)):
        tasks = list(runner.chunks(cell, np.arange(count), workers))
        assert [seed for task in tasks for seed in task.seeds] == list(range(count))
        assert max((len(task.seeds) for task in tasks), default=0) == largest


def test_workers_have_one_thread_and_leave_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before, seen = dict(os.environ), []
    original = engines.wait

    def watching(*args: Any, **options: Any) -> Any:
        seen.append(dict(os.environ))
        return original(*args, **options)

    monkeypatch.setattr(engines, "wait", watching)
    policy = {"threads": CountsThreads(str(tmp_path / "threads"))}
    one = pm.Experiment("apple_tasting", policy, [0.7, 0.3], horizon=3, seeds=1)
    one.run(engine="processes", workers=1)
    assert seen
    assert all(own == before for own in seen)
    assert set((tmp_path / "threads").read_text().split()) == {"1"}


def test_a_cluster_of_this_machine_listens_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    original, addresses = distributed.LocalCluster, set()

    def start(**options: Any) -> Any:
        cluster, this = original(**options), psutil.Process()
        for process in (this, *this.children(recursive=True)):
            found = process.net_connections(kind="inet")
            addresses.update(own.laddr.ip for own in found if own.status == "LISTEN")
        return cluster

    monkeypatch.setattr(distributed, "LocalCluster", start)
    one = pm.Experiment("apple_tasting", "greedy", [0.7, 0.3], horizon=3, seeds=1)
    one.run(engine="dask", workers=1)
    assert addresses == {"127.0.0.1"}


def test_security_goes_with_a_scheduler() -> None:
    one = pm.Experiment("apple_tasting", "greedy", [0.7, 0.3], horizon=3, seeds=1)
    with pytest.raises(InvalidInput, match="security is for a scheduler; got 5 without one"):
        one.run(engine="dask", security=5)
    distributed = pytest.importorskip("distributed")
    with pytest.raises(InvalidInput, match=r"'tls://127.0.0.1:1' cannot be reached: .*TLS"):
        one.run(engine="dask", scheduler="tls://127.0.0.1:1", security=distributed.Security())
    with pytest.raises(InvalidInput, match=r"'tls://127.0.0.1:1' cannot be reached: "):
        one.run(engine="dask", scheduler="tls://127.0.0.1:1", security=5)
