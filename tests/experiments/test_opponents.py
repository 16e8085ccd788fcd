"""Experiments with outcomes and opponents: files, stores, engines and reports."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import partial_monitoring as pm
from partial_monitoring.cli import main
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.store import open_store, stored_comparisons

FILE = """
horizon = 60
seeds = 3

[games.apple_tasting.instances]
random = "random"
given = "kept.txt"
listed = { outcomes = [0, 1, 1], repeat = true }
switch = { switching = [[0.9, 0.1], [0.2, 0.8]], at = [20] }
drift = { drifting = [[0.9, 0.1], [0.2, 0.8]] }
hostile = "hostile"
hard = "lower_bound"

[policies.cbp]
[policies.ids]
"""


def by_parity(t: int, seed: int) -> int:
    return (t + seed) % 2


def contrary(t: int, seed: int, actions: Any) -> int:
    return 0 if t == 0 else int(actions[-1])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "kept.txt").write_text("0\n1\n" * 30)
    (tmp_path / "worlds.toml").write_text(FILE)
    return tmp_path / "worlds.toml"


def test_files_stores_and_reports(file: Path, tmp_path: Path) -> None:
    experiment = pm.load_experiment(file)
    first = experiment.run(tmp_path / "store")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.parquet")}
    again = pm.load_experiment(file).run(tmp_path / "store")
    assert again["regret"].equals(first["regret"])
    assert written == {p: p.stat().st_mtime_ns for p in (tmp_path / "store").rglob("*.parquet")}
    found = stored_comparisons(open_store(tmp_path / "store"))
    against = {own.instance: own.result.against for own in found}
    fixed, moving = "the best fixed action in hindsight", "the best action of each round"
    assert against == {
        "random": "", "given": fixed, "listed": fixed, "switch": moving, "drift": moving,
        "hostile": fixed, "hard": "",
    }  # fmt: skip
    page = pm.write_report(found, tmp_path / "report", figures=False).read_text()
    assert "The same game with different truths" in page
    assert "given, listed and hostile: regret is measured against the best fixed action" in page
    side = (tmp_path / "report" / "tables" / "side_by_side.md").read_text()
    assert "| policy | random | given | listed | switch | drift | hostile | hard |" in side
    rows = (tmp_path / "report" / "tables" / "side_by_side.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 7


def test_a_changed_file_of_outcomes_is_played_again(file: Path, tmp_path: Path) -> None:
    keys = []
    for text in ("0\n1\n" * 30, "0\n1\n" * 35, "1\n0\n" * 30):
        (tmp_path / "kept.txt").write_text(text)
        pm.Experiment("apple_tasting", "cbp", str(tmp_path / "kept.txt"), horizon=60, seeds=2).run(
            tmp_path / "store"
        )
        keys.append({path.parent.name for path in (tmp_path / "store").rglob("*.parquet")})
    assert [len(own) for own in keys] == [1, 1, 2]  # outcomes after the last round do not count


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_functions_and_iterators(engine: str, tmp_path: Path) -> None:
    theta = {
        "parity": pm.truths.outcomes(by_parity),
        "once": pm.truths.outcomes(iter([0, 1] * 20)),
        "contrary": pm.truths.adaptive(contrary),
    }
    experiment = pm.Experiment(
        {"apples": "apple_tasting"}, ["cbp", "ids"], {"apples": theta}, horizon=40, seeds=3
    )
    for comparison in experiment.compare(tmp_path / "store", engine=engine, workers=1):
        truth = theta[comparison.instance]
        alone = pm.simulate("apple_tasting", ["cbp", "ids"], truth, horizon=40, seeds=3)
        for name in ("cbp", "ids"):
            assert (comparison.result.regret[name] == alone.regret[name]).all()
        assert comparison.result.against == alone.against
        assert np.array_equal(comparison.result.theta, alone.theta, equal_nan=True)


def test_refusals_come_before_anything_is_played() -> None:
    for theta, message in (
        (pm.truths.outcomes([0, 1]), "game 'apple_tasting': outcomes must last for 9 rounds"),
        (pm.truths.outcomes([0, 7] * 9), "game 'apple_tasting': outcome 2: outcome must be"),
    ):
        with pytest.raises(InvalidInput, match=message):
            pm.Experiment("apple_tasting", "cbp", theta, horizon=9, seeds=2)
    nameless = pm.truths.adaptive(lambda t, seed, actions: 0)
    experiment = pm.Experiment("apple_tasting", "cbp", nameless, horizon=9, seeds=2)
    with pytest.raises(InvalidInput, match="must be dataclasses or functions that have a name"):
        experiment.run()


def test_several_truths_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "kept.csv").write_text("0\n1\n" * 10)
    thetas = ["random", "hostile", "lower_bound", str(tmp_path / "kept.csv")]
    thetas.append('{"switching": [[1, 0], [0, 1]]}')
    words = [word for text in thetas for word in ("--theta", text)]
    more = ["--policy", "cbp", "--horizon", "20", "--seeds", "2", "--json"]
    out = CliRunner().invoke(main, ["simulate", "apple_tasting", *words, *more])
    assert out.exit_code == 0, out.output
    assert [row["instance"] for row in json.loads(out.output)] == thetas
    single = CliRunner().invoke(main, ["simulate", "apple_tasting", "--theta", "hostile", *more])
    assert json.loads(single.output)[0]["against"] == "the best fixed action in hindsight"
