"""Stores of experiments: damaged, interrupted, shared, read back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.store import Store, stored_comparisons
from partial_monitoring.simulation.result import Result
from tests.oracles.fragile import Slow
from tests.oracles.small_experiments import assert_same, small

ROOT = Path(__file__).parents[2]


def damage_a_number(path: Path) -> None:
    """Rewrite a file with one number changed and everything else, checksums included, in order."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path)
    rows = table["regret"].to_pylist()
    rows[0][0] += 1e-9
    place = table.column_names.index("regret")
    changed = table.set_column(place, "regret", pa.array(rows, type=table["regret"].type))
    parquet.write_table(changed.replace_schema_metadata(table.schema.metadata), path)


def test_any_flipped_byte_is_harmless_or_found(tmp_path: Path) -> None:
    """Whatever byte is damaged, either the file is refused or its numbers are the right ones."""
    result = pm.simulate(pm.games.apple_tasting(), "ids", [0.7, 0.3], horizon=9, seeds=2)
    path = tmp_path / "result.parquet"
    result.save(path)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        try:
            found = Result.load(path)
        except InvalidInput:
            refused += 1
            continue
        np.testing.assert_array_equal(found.regret["ids"], result.regret["ids"])
        np.testing.assert_array_equal(found.plays["ids"], result.plays["ids"])
        np.testing.assert_array_equal(found.seeds, result.seeds)
    assert refused > 50


def test_damaged_files_are_named_and_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], played: list[tuple[str, list[int]]]
) -> None:
    first = small().run(tmp_path)
    files = sorted(tmp_path.glob("runs/*/*.parquet"))
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[: len(whole) // 2])
    damage_a_number(files[1])
    files[2].write_bytes(b"")
    for game in tmp_path.glob("games/*.json"):
        game.write_text("{")
    played.clear()
    assert_same(small().run(tmp_path), first)
    assert len(played) == 3
    said = capsys.readouterr().err
    assert all(f"{path}: is damaged" in said for path in files[:3])
    played.clear()
    assert_same(small().run(tmp_path), first)
    assert played == []
    assert len(stored_comparisons(Store(tmp_path))) == 3


PROGRAM = """
import sys
import partial_monitoring as pm
from tests.oracles.fragile import Slow

policies = {"slow": Slow(), "ids": pm.IDS()}
pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=30, seeds=150).run(sys.argv[1])
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([".", "src"])},
    )


def slow_experiment() -> pm.Experiment:
    policies = {"slow": Slow(0.01), "ids": pm.IDS()}
    return pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=30, seeds=150)


@cache
def without_store() -> Any:
    return slow_experiment().run()


def test_a_killed_process_loses_at_most_its_running_chunk(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    process = start(tmp_path)
    while not list(tmp_path.glob("runs/*/[!.]*.parquet")):
        assert process.poll() is None
        sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len(list(tmp_path.glob("runs/*/[!.]*.parquet")))
    assert 1 <= finished < 6
    table = slow_experiment().run(tmp_path)
    assert len(played) == 6 - finished
    assert_same(table, without_store())


def test_two_processes_on_one_store(tmp_path: Path) -> None:
    both = [start(tmp_path), start(tmp_path)]
    assert [process.wait() for process in both] == [0, 0]
    assert_same(slow_experiment().run(tmp_path), without_store())
    assert not list(tmp_path.rglob("*.unfinished"))


def test_threads_of_one_process_on_one_store(tmp_path: Path) -> None:
    """As containers that share a folder and have the same process id."""
    for trial in range(3):
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(small().run, tmp_path / str(trial)) for _ in range(4)]
        for job in jobs:
            assert_same(job.result(), jobs[0].result())
        assert not list(tmp_path.rglob("*.unfinished"))


def test_experiments_are_read_back(tmp_path: Path) -> None:
    whole = small().compare(tmp_path)
    read = stored_comparisons(Store(tmp_path))
    assert [c.title for c in read] == [c.title for c in whole]
    for one, other in zip(read, whole, strict=True):
        assert one.policies == dict(other.policies)
        for policy in one.result.policies:
            np.testing.assert_array_equal(one.result.regret[policy], other.result.regret[policy])
            np.testing.assert_array_equal(one.result.plays[policy], other.result.plays[policy])


def test_policies_of_several_experiments_are_put_together(tmp_path: Path) -> None:
    for name in ("ids", "cbp"):
        pm.Experiment(
            "apple_tasting", name, [0.7, 0.3], horizon=20, seeds=3, name=f"one {name}"
        ).run(tmp_path)
    (comparison,) = stored_comparisons(Store(tmp_path))
    assert set(comparison.result.policies) == {"ids", "cbp"}
    assert set(comparison.result.seconds) == {"ids", "cbp"}


def test_ten_million_stored_rounds_load_quickly(tmp_path: Path) -> None:
    seeds, marks = np.arange(1000), np.unique(np.geomspace(1, 10_000, 200).astype(np.int64))
    rng = np.random.default_rng(0)
    table = rng.random((len(seeds), len(marks)))
    plays = rng.integers(0, 100, (len(seeds), len(marks), 10))
    result = Result(
        seeds,
        marks,
        rng.random((len(seeds), 3)),
        *({"policy": x} for x in (table,) * 3),
        {"policy": plays},
        {"policy": 1.0},
    )
    result.save(tmp_path / "result.parquet")
    start = perf_counter()
    again = Result.load(tmp_path / "result.parquet")
    assert perf_counter() - start < 60  # of a second; only a hang fails
    np.testing.assert_array_equal(again.plays["policy"], plays)


def test_memory_does_not_grow_with_the_horizon() -> None:
    """Numbers of every round would take 320,000 bytes for each kind of number."""

    def most(horizon: int) -> int:
        experiment = pm.Experiment(
            "apple_tasting", "ids", [0.7, 0.3], horizon=horizon, seeds=20, checkpoints=[horizon]
        )
        tracemalloc.start()
        experiment.run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(50)
    assert most(2000) < 2 * most(200) + 200_000
