"""Experiments: what is there is not played again, and the numbers are the same everywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments import runner
from partial_monitoring.experiments import runs as cells
from partial_monitoring.experiments.runs import Configuration as Cell
from partial_monitoring.experiments.runs import SeededRun as Run
from partial_monitoring.experiments.store import Store, stored_comparisons
from partial_monitoring.experiments.workers import WorkersLost
from partial_monitoring.simulation.result import Result
from partial_monitoring.simulation.truths import FixedTruth as Fixed
from tests.experiments.fragile import AlwaysDies, Counted, DiesOnce, Slow, halves

ROOT = Path(__file__).parents[2]


def small(policies: Any = ("ids", "cbp"), **changes: Any) -> pm.Experiment:
    options: dict[str, Any] = {"horizon": 40, "seeds": 6, "checkpoints": [5, 20]} | changes
    games = {"apples": "apple_tasting", "pricing": pm.games.dynamic_pricing()}
    theta = {"apples": [0.7, 0.3], "pricing": {"any": "random", "one": [0.2, 0.5, 0.3]}}
    return pm.Experiment(games, policies, theta, **options)


def numbers(table: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: table[name].to_numpy() for name in table.column_names}


def assert_same(one: Any, other: Any) -> None:
    for name, column in numbers(one).items():
        np.testing.assert_array_equal(column, numbers(other)[name], err_msg=name)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[int]]]:
    """Record which cells and seeds are played."""
    record: list[tuple[str, list[int]]] = []
    original = Cell.play

    def play(cell: Cell, seeds: Any) -> Result:
        record.append((cell.key, seeds.tolist()))
        return original(cell, seeds)

    monkeypatch.setattr(Cell, "play", play)
    return record


# -- numbers -----------------------------------------------------------------------------------


def test_an_experiment_gives_what_simulate_gives() -> None:
    table = small().run().to_pandas()
    result = pm.simulate(
        pm.games.dynamic_pricing(),
        ["ids", "cbp"],
        [0.2, 0.5, 0.3],
        horizon=40,
        seeds=6,
        checkpoints=[5, 20],
    )
    for policy in ("ids", "cbp"):
        own = table[(table.game == "pricing") & (table.theta == "one") & (table.policy == policy)]
        regret = own.pivot(index="seed", columns="round", values="regret").to_numpy()
        np.testing.assert_array_equal(regret, result.regret[policy])


def test_finished_runs_are_not_played_again(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    first = small().run(tmp_path)
    assert len(played) == 6
    played.clear()
    assert_same(small().run(tmp_path), first)
    assert played == []


def test_added_seeds_and_policies_only_cost_what_is_new(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    small("ids", seeds=4).run(tmp_path)
    played.clear()
    more = small("ids", seeds=[9, 0, 5, 1, 2, 3]).run(tmp_path)
    assert [seeds for _, seeds in played] == [[9, 5]] * 3
    played.clear()
    both = small(seeds=[9, 0, 5, 1, 2, 3]).run(tmp_path)
    assert len({key for key, _ in played}) == 3
    assert all(len(seeds) == 6 for _, seeds in played)
    played.clear()
    assert_same(both, small(seeds=[9, 0, 5, 1, 2, 3]).run())
    assert more.num_rows * 2 == both.num_rows


def test_a_changed_definition_or_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    game, marks = pm.games.apple_tasting(), np.array([10, 20])
    base = Cell(game, Fixed(np.array([0.7, 0.3])), pm.IDS(), marks)
    others = [
        Cell(pm.games.apple_tasting(), Fixed(np.array([0.6, 0.4])), pm.IDS(), marks),
        Cell(game, base.truth, pm.IDS(gap=pm.gaps.relaxed), marks),
        Cell(game, base.truth, pm.IDS(sampling=pm.sampling.generalized(3)), marks),
        Cell(game, base.truth, pm.IDS(regularization=2.0), marks),
        Cell(game, base.truth, pm.IDS(gap=halves), marks),
        Cell(game, base.truth, pm.IDS(), np.array([10, 21])),
        Cell(game, base.truth, pm.IDS(), marks, "gaussian"),
        Cell(pm.games.inspection(), base.truth, pm.IDS(), marks),
    ]
    assert len({cell.key for cell in [base, *others]}) == len(others) + 1
    assert Cell(pm.games.apple_tasting(), base.truth, pm.IDS(), marks).key == base.key
    assert Run(base, 3).key != Run(base, 4).key
    assert Run(base, 3).name == "ids on θ = (0.7, 0.3), 20 rounds, seed 3"
    monkeypatch.setattr(cells.partial_monitoring, "__version__", "99.0")
    assert Cell(game, base.truth, pm.IDS(), marks).key != base.key


def test_a_run_is_what_its_cell_plays() -> None:
    cell = Cell(pm.games.apple_tasting(), Fixed(np.array([0.7, 0.3])), pm.IDS(), np.array([30]))
    alone, together = Run(cell, 5).play(), cell.play(np.array([4, 5, 6]))
    np.testing.assert_array_equal(alone.regret["policy"][0], together.regret["policy"][1])


def test_parts_without_a_name_cannot_be_stored() -> None:
    policy = pm.IDS(confidence=lambda t: 2 * np.log(t))
    with pytest.raises(InvalidInput, match="must be dataclasses or functions that have a name"):
        small({"mine": policy}).run()


def test_true_parameters_from_several() -> None:
    game = pm.games.apple_tasting()
    rows = [[0.9, 0.1], [0.1, 0.9]]
    theta = {"among": rows, "weights": [0.75, 0.25]}
    (found,) = pm.Experiment(game, "ids", theta, horizon=1, seeds=400).compare()
    first = (found.result.theta == rows[0]).all(axis=1)
    assert abs(first.mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 400)  # false alarm 6e-5
    assert ((found.result.theta == rows[1]).all(axis=1) | first).all()


def test_games_with_contexts(tmp_path: Path) -> None:
    policies = {"conditional": pm.IDS(), "contextual": pm.ContextualIDS()}
    experiment = pm.Experiment(
        ["survey", "segment_pricing"], policies, "random", horizon=30, seeds=3, checkpoints=[10]
    )
    table = experiment.run(tmp_path)
    assert_same(experiment.run(tmp_path), table)
    assert_same(experiment.run(engine="processes", workers=2), table)
    for one, two in zip(
        experiment.compare(tmp_path), stored_comparisons(Store(tmp_path)), strict=True
    ):
        np.testing.assert_array_equal(
            one.result.regret["contextual"], two.result.regret["contextual"]
        )
    page = pm.write_report(experiment.compare(tmp_path), tmp_path, figures=False).read_text()
    assert "what it needs to know is shown in other contexts" in page


def test_the_worst_case_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    original = runner.worst_for

    def search(*arguments: Any) -> Any:
        searches.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(runner, "worst_for", search)
    experiment = pm.Experiment("apple_tasting", ["ids", "cbp"], "worst", horizon=20, seeds=2)
    first = experiment.run(tmp_path)
    assert_same(experiment.run(tmp_path), first)
    assert len(searches) == 1


# -- engines -----------------------------------------------------------------------------------


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


# -- disk --------------------------------------------------------------------------------------


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
from tests.experiments.fragile import Slow

policies = {"slow": Slow(), "ids": pm.IDS()}
pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=30, seeds=150).run(sys.argv[1])
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}
    )


def slow_experiment() -> pm.Experiment:
    policies = {"slow": Slow(0.01), "ids": pm.IDS()}
    return pm.Experiment("apple_tasting", policies, [0.7, 0.3], horizon=30, seeds=150)


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
    assert_same(table, slow_experiment().run())


def test_two_processes_on_one_store(tmp_path: Path) -> None:
    both = [start(tmp_path), start(tmp_path)]
    assert [process.wait() for process in both] == [0, 0]
    assert_same(slow_experiment().run(tmp_path), slow_experiment().run())
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
    def most(horizon: int) -> int:
        experiment = pm.Experiment(
            "apple_tasting", "ids", [0.7, 0.3], horizon=horizon, seeds=5, checkpoints=[horizon]
        )
        tracemalloc.start()
        experiment.run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(50)
    assert most(6000) < 2 * most(600) + 200_000


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small(horizon=0), "horizon must be a whole number >= 1; got 0"),
        (lambda: small(seeds=-1), "seeds must be a whole number >= 1; got -1"),
        (lambda: small("idz"), "no policy named 'idz'; did you mean 'ids'?"),
        (lambda: small([]), "policies must hold at least one policy"),
        (
            lambda: small(["linucb"]),
            "policy 'linucb' plays none of the games: LinUCB plays bandits",
        ),
        (
            lambda: pm.Experiment("dynamic_prizing", "ids", horizon=1, seeds=1),
            "no game named 'dynamic_prizing'; did you mean 'dynamic_pricing'?",
        ),
        (
            lambda: pm.Experiment("apple_tasting", "ids", [0.5, 0.6], horizon=1, seeds=1),
            "a Simplex; got [0.5, 0.6]",
        ),
        (
            lambda: pm.Experiment("apple_tasting", "ids", [0.5, 0.2, 0.3], horizon=1, seeds=1),
            "shape",
        ),
        (lambda: pm.Experiment("apple_tasting", "ids", "worse", horizon=1, seeds=1), "'worst'"),
        (
            lambda: pm.Experiment("survey", "cbp", horizon=1, seeds=1),
            "CBP takes no contexts; the game has 2",
        ),
        (lambda: pm.Experiment([], "ids", horizon=1, seeds=1), "at least one game"),
        (
            lambda: pm.Experiment("apple_tasting", "ids", {"pears": "random"}, horizon=1, seeds=1),
            "no game of the experiment named 'pears'",
        ),
        (lambda: small().run(engine="slurm"), "no engine named 'slurm'"),
        (lambda: small().run(scheduler="tcp://x"), "scheduler is for the engine 'dask'"),
        (lambda: small().run(engine="processes", workers=0), "workers must be a whole number"),
    ],
)
def test_bad_experiments_are_refused_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)
