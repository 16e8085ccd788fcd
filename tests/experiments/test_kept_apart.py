"""Runs are found again only by the configuration that played them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.content_key import described
from partial_monitoring.experiments.store import Store, stored_comparisons
from partial_monitoring.simulation.result import Result
from tests.oracles.small_experiments import assert_same

LINE = pm.games.kernelized_bandit([[0.1], [0.5], [0.9]])


def apples(policies: Any, **options: Any) -> pm.Experiment:
    chosen: dict[str, Any] = {"horizon": 30, "seeds": 4, "checkpoints": [10]} | options
    return pm.Experiment("apple_tasting", policies, [0.7, 0.3], **chosen)


def defined(code: str, name: str = "part", **known: Any) -> Any:
    """Return what a module of the user's defines."""
    content: dict[str, Any] = {"__name__": "mine", "np": np, "pm": pm, **known}
    exec(code, content)
    return content[name]


def folders(store: Path) -> dict[str, Path]:
    found = {}
    for path in (store / "runs").iterdir():
        kind = Store(store).definition(path.name)["policy"]["kind"]
        found[kind.removeprefix("policy:")] = path
    return found


def test_a_run_file_of_another_policy_is_named_and_left_out(tmp_path: Path) -> None:
    (right,) = apples(["ids", "greedy"]).compare(tmp_path / "right")
    apples(["ids", "greedy"]).compare(tmp_path / "store")
    cells = folders(tmp_path / "store")
    (own,) = cells["ids"].glob("*.parquet")
    own.unlink()
    (foreign,) = cells["greedy"].glob("*.parquet")
    copy(foreign, cells["ids"])
    said: list[str] = []
    (found,) = stored_comparisons(Store(tmp_path / "store", said.append))
    assert found.result.policies == ["greedy"]
    copied = cells["ids"] / foreign.name
    assert said[0] == f"{copied}: holds runs of {cells['greedy'].name} and is ignored."
    assert len(set(said)) == len(said)  # each sentence once
    (again,) = apples(["ids", "greedy"]).compare(tmp_path / "store")
    assert np.array_equal(again.result.regret["ids"], right.result.regret["ids"])
    assert copied.read_bytes() == foreign.read_bytes()  # left where it is


def test_run_files_carry_the_key_of_their_configuration(tmp_path: Path) -> None:
    apples("ids").run(tmp_path)
    (path,) = tmp_path.glob("runs/*/*.parquet")
    result, key = Result.load_with_key(path)
    assert key == path.parent.name
    result.save(path)  # as it was before there were keys
    assert Result.load_with_key(path)[1] is None
    before = path.stat().st_mtime_ns
    apples("ids").run(tmp_path)
    assert path.stat().st_mtime_ns == before


def test_a_key_that_was_changed_is_damage(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "result.parquet"
    pm.simulate("apple_tasting", "greedy", horizon=3, seeds=2).save(path, key="a" * 20)
    table = parquet.read_table(path)
    meta = table.schema.metadata
    changed = {name: text.replace(b"a" * 20, b"b" * 20) for name, text in meta.items()}
    parquet.write_table(table.replace_schema_metadata(changed), path)
    with pytest.raises(InvalidInput, match="is damaged or not a saved result"):
        Result.load(path)


HILL = "def part(x):\n    return {}\n"


def test_a_truth_that_was_edited_finds_no_old_runs(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    regrets = []
    for slope in ("x[:, 0]", "-3 * x[:, 0]", "x[:, 0]"):
        truth = defined(HILL.format(slope))
        experiment = pm.Experiment(LINE, "ids", truth, horizon=20, seeds=2)
        (found,) = experiment.compare(tmp_path)
        regrets.append(found.result.mean("ids")[-1])
        (fresh,) = experiment.compare()
        assert np.array_equal(found.result.regret["ids"], fresh.result.regret["ids"])
    assert regrets[0] == regrets[2] != regrets[1]
    assert len(played) == 5  # three fresh ones, and two of three in the store


def test_a_truth_whose_helper_was_edited_finds_no_old_runs(
    tmp_path: Path, played: list[tuple[str, list[int]]]
) -> None:
    for factor in (1.0, 2.0):
        truth = defined("def part(x):\n    return helper(x[:, 0])\n", helper=lambda x: factor * x)  # noqa: B023
        pm.Experiment(LINE, "ids", truth, horizon=5, seeds=2).run(tmp_path)
    assert len({key for key, _ in played}) == 2


@dataclass
class Slope:
    """A true function with a number of its own; it cannot be hashed."""

    factor: float

    def __call__(self, x: Any) -> Any:
        return self.factor * x[:, 0]


def test_a_truth_may_be_an_object(tmp_path: Path, played: list[tuple[str, list[int]]]) -> None:
    for factor in (1.0, 2.0, 1.0):
        pm.Experiment(LINE, "ids", Slope(factor), horizon=5, seeds=2).run(tmp_path)
    assert len(played) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def part(x):\n    return x + 1", "def part(x):\n    return x + 2"),
        ("def part(x):\n    return np.sin(x)", "def part(x):\n    return np.cos(x)"),
        ("def part(x, y=1):\n    return y", "def part(x, y=2):\n    return y"),
        ("def part(x, *, y=1):\n    return y", "def part(x, *, y=2):\n    return y"),
        (
            "def part(x):\n    return [i + 1 for i in x]",
            "def part(x):\n    return [i + 2 for i in x]",
        ),
        ("def part(x):\n    return lambda: 1", "def part(x):\n    return lambda: 2"),
        ("def part(x):\n    return x in {1, 2}", "def part(x):\n    return x in {1, 3}"),
        ("class part:\n    def a(self): return 1", "class part:\n    def a(self): return 2"),
        ("class part:\n    a = 1", "class part:\n    a = 2"),
        (
            "class part(pm.IDS):\n    @property\n    def a(self): return 1",
            "class part(pm.IDS):\n    @property\n    def a(self): return 2",
        ),
        (
            "class part:\n    @staticmethod\n    def a(): return 1",
            "class part:\n    @staticmethod\n    def a(): return 2",
        ),
    ],
)
@pytest.mark.parametrize("former", [False, True])
def test_code_that_was_edited_has_another_key(one: str, other: str, former: bool) -> None:
    keys = [described(defined(code), former=former) for code in (one, other, "\n\n" + one)]
    assert keys[0] != keys[1]
    assert keys[0] == keys[2]
    assert keys[0].startswith("mine:part:")


SETS = """
from partial_monitoring.experiments.content_key import described
content = {"__name__": "mine"}
exec("def part(x):\\n    return x in {'a', 'b', 'c', 'd', 'e'}", content)
print(described(content["part"]))
"""


def test_keys_are_the_same_in_every_process() -> None:
    found = set()
    for seed in ("1", "2", "3"):
        command, environment = [sys.executable, "-c", SETS], os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_names_of_the_library_stand_for_themselves() -> None:
    assert described(pm.gaps.exact) == "gap:exact"
    assert described(disk.write_text) == "partial_monitoring.disk:write_text"
    assert described(np.sin) == "numpy:sin"


def test_a_finished_store_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = apples(["ids", "cbp"]).run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def refuse(path: Any, data: Any) -> None:
        raise InvalidInput(f"{path}: cannot be written: Read-only file system.")

    monkeypatch.setattr(disk, "write_bytes", refuse)
    assert_same(apples(["ids", "cbp"]).run(tmp_path), first)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}


def test_a_part_of_a_store_that_is_read_only_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    apples(["ids", "cbp"]).run(tmp_path)

    def refuse(path: Any, data: Any) -> None:
        raise InvalidInput(f"{path}: cannot be written: Read-only file system.")

    monkeypatch.setattr(disk, "write_bytes", refuse)
    assert apples("ids", seeds=2).run(tmp_path).num_rows == 4
    said = capsys.readouterr().err
    assert said.endswith("experiment.json: cannot be written: Read-only file system.\n")
    assert said.count("\n") == 1
    with pytest.raises(InvalidInput, match="Read-only file system"):
        apples("greedy").run(tmp_path)


def test_what_dead_processes_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    apples("ids").run(tmp_path)
    (cell,) = (tmp_path / "runs").iterdir()
    old, new = cell / ".x.parquet.1234.unfinished", tmp_path / "games" / ".y.5678.unfinished"
    for path in (old, new):
        path.write_text("half")
    days = disk.ABANDONED * 2
    os.utime(old, (old.stat().st_mtime - days,) * 2)
    apples("ids").run(tmp_path)
    assert not old.exists()
    assert new.exists()  # somebody may be writing it


def test_the_versions_of_libraries_are_noted_and_decide_nothing(tmp_path: Path) -> None:
    import numba
    import scipy

    apples("ids").run(tmp_path)
    (path,) = tmp_path.glob("runs/*/cell.json")
    noted = disk.read_json(path)["libraries"]
    assert (noted["numpy"], noted["scipy"]) == (np.__version__, scipy.__version__)
    assert noted["numba"] == numba.__version__
    assert noted["python"] == sys.version.split()[0]


@pytest.mark.parametrize("content", ["[1]", "3", '"x"', "[" * 100_000, '{"former": [1]}'])
def test_a_damaged_description_of_runs_is_ignored(content: str, tmp_path: Path) -> None:
    first = apples("ids").run(tmp_path)
    (path,) = tmp_path.glob("runs/*/cell.json")
    path.write_text(content)
    said: list[str] = []
    assert len(stored_comparisons(Store(tmp_path, said.append))) == 1
    assert said == ([] if "former" in content else [f"{path}: is damaged and ignored."])
    assert_same(apples("ids").run(tmp_path), first)


KEPT_IN = {
    "text": "class part:\n    kind = '{}'",
    "list": "class part:\n    weights = [{}]",
    "array": "class part:\n    weights = np.array([{}])",
    "dict": "class part:\n    weights = {{'a': {}}}",
    "default": "def part(x, weights=[{}]): return weights",
    "array as default": "def part(x, *, weights=np.array([{}])): return weights",
    "setter": "class part:\n    f = property(None, lambda own, x: x + {})",
    "cache": "from functools import cache\nclass part:\n    @cache\n    def f(own): return {}",
    "partial": "from functools import partialmethod\nclass part:\n    f = partialmethod(print, {})",
    "hook": "class part:\n    def __init_subclass__(cls): cls.x = {}",
}


@pytest.mark.parametrize("code", KEPT_IN.values(), ids=KEPT_IN)
def test_constants_of_classes_and_functions_are_part_of_their_code(code: str) -> None:
    one, two, again = (described(defined(code.format(x))) for x in (1, 2, 1))
    assert one == again != two


def test_where_a_class_is_written_is_not_part_of_its_code() -> None:
    """Python 3.13 notes the line, and the attributes in an order that differs every time."""
    code = "class part:\n    {}\n    def f(own): return 1"
    noted = [
        "__firstlineno__, __static_attributes__ = 1, ('a', 'b')",
        "__firstlineno__, __static_attributes__ = 2, ('b', 'a')",
        "'Says something.'",
    ]
    assert len({described(defined(code.format(line))) for line in noted}) == 1
