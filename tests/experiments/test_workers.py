"""Every engine gives the same numbers, and workers may die."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.experiments import runner
from partial_monitoring.experiments.runs import Configuration as Cell
from partial_monitoring.experiments.workers import WorkersLost
from partial_monitoring.simulation.truths import FixedTruth as Fixed
from tests.oracles.fragile import AlwaysDies, Counted, DiesOnce
from tests.oracles.small_experiments import assert_same, small


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_every_engine_gives_the_same_numbers(engine: str, tmp_path: Path) -> None:
    assert_same(small().run(tmp_path, engine=engine, workers=2), small().run())


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_worker_that_dies_costs_only_its_chunk(engine: str, tmp_path: Path) -> None:
    flag = tmp_path / "died"
    policy = {"fragile": DiesOnce(str(flag))}
    experiment = pm.Experiment("apple_tasting", policy, [0.7, 0.3], horizon=20, seeds=4)
    table = experiment.run(tmp_path / "store", engine=engine, workers=2)
    assert flag.exists()
    plain = pm.Experiment("apple_tasting", {"fragile": pm.IDS()}, [0.7, 0.3], horizon=20, seeds=4)
    assert_same(table, plain.run())


def test_chunks_beside_one_that_dies_are_played_once(tmp_path: Path) -> None:
    """The other worker is in the middle of its chunk when the first one is killed."""
    marks = tmp_path / "marks"
    marks.mkdir()
    policies = {
        "fragile": DiesOnce(str(tmp_path / "died")),
        "slow": Counted(str(marks), seconds=0.2),
    }
    pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=20, seeds=1).run(
        engine="processes", workers=2
    )
    assert (tmp_path / "died").exists()
    assert len(list(marks.iterdir())) == 1


def test_workers_that_always_die_end_the_experiment() -> None:
    policy = {"deadly": AlwaysDies("")}
    experiment = pm.Experiment("apple_tasting", policy, [0.7, 0.3], horizon=20, seeds=2)
    with pytest.raises(WorkersLost, match="a chunk killed its worker 3 times; 2 chunks are left"):
        experiment.run(engine="processes", workers=2)


def test_seeds_are_spread_over_workers_in_small_chunks() -> None:
    cell = Cell(pm.games.apple_tasting(), Fixed(np.array([0.7, 0.3])), pm.IDS(), np.array([30]))
    for count, workers, largest in ((10, 4, 3), (1000, 2, runner.CHUNK), (1, 8, 1), (0, 2, 0)):
        tasks = list(runner.chunks(cell, np.arange(count), workers))
        assert [seed for task in tasks for seed in task.seeds] == list(range(count))
        assert max((len(task.seeds) for task in tasks), default=0) == largest
