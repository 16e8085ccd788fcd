"""What once went wrong with stores, names, keys and labels."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.content_key import described
from partial_monitoring.experiments.runs import Configuration
from partial_monitoring.experiments.store import Store, stored_comparisons
from partial_monitoring.experiments.workers import Task, WorkersLost
from partial_monitoring.report.page import describe
from partial_monitoring.simulation import play as simulation
from partial_monitoring.simulation.progress import Progress
from partial_monitoring.simulation.truths import FixedTruth
from tests.oracles.fragile import AlwaysDies

ROOT = Path(__file__).parents[2]


def apples(policies: Any = "ids", **changes: Any) -> pm.Experiment:
    options: dict[str, Any] = {"horizon": 30, "seeds": 4, "checkpoints": [10]} | changes
    theta = options.pop("theta", [0.7, 0.3])
    return pm.Experiment("apple_tasting", policies, theta, **options)


def test_chunks_of_any_size_count_plays_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "MOST_COUNTS", 7)
    small, large = apples(seeds=2).compare(tmp_path), apples(seeds=60).compare(tmp_path)
    shapes = {c.result.plays["ids"].shape[2] for c in (*small, *large)}
    assert shapes == {2}  # two checkpoints of two actions
    monkeypatch.setattr(simulation, "MOST_COUNTS", 3)
    none = apples(seeds=3, checkpoints=[5]).compare(tmp_path)[0].result
    assert none.plays["ids"].shape == (3, 2, 0)


@pytest.mark.parametrize(
    "name",
    ["../../mine", "a/b", "", ".x", " x", "x" * 200, [1], "a\nb", "con", "NUL", "Com1.x", "a."],
)
def test_names_that_are_no_file_names_are_refused(name: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="name must be plain words that can name a file"):
        apples(name=name)


class Gap:
    """Gaps by a method of an object that has something of its own."""

    def __init__(self, relaxed: bool) -> None:
        self.relaxed = relaxed

    def gap(self, game: Any, confidence: Any) -> Any:
        return (pm.gaps.relaxed if self.relaxed else pm.gaps.exact)(game, confidence)


@dataclass(frozen=True)
class KnownGap:
    relaxed: bool

    def gap(self, game: Any, confidence: Any) -> Any:
        return (pm.gaps.relaxed if self.relaxed else pm.gaps.exact)(game, confidence)


class WithMore(pm.IDS):
    """Has an attribute that is no field."""


def hidden(limit: float) -> Any:
    def gap(game: Any, confidence: Any) -> Any:
        return np.minimum(pm.gaps.exact(game, confidence), limit)

    return gap


@wraps(pm.gaps.exact)
def wrapped(game: Any, confidence: Any) -> Any:
    return pm.gaps.relaxed(game, confidence)


def test_what_a_key_cannot_see_is_refused(tmp_path: Path) -> None:
    more = WithMore()
    object.__setattr__(more, "secret", 3)
    for part in (pm.IDS(gap=Gap(True).gap), pm.IDS(gap=hidden(2.0)), pm.IDS(gap=wrapped), more):
        with pytest.raises(InvalidInput, match="must be dataclasses or functions that have a name"):
            apples({"p": part}).run(tmp_path)
    one, two = (pm.IDS(gap=KnownGap(relaxed).gap) for relaxed in (False, True))
    assert described(one) != described(two)
    assert described(one) == described(pm.IDS(gap=KnownGap(False).gap))


def test_workers_with_another_version_are_refused() -> None:
    cell = Configuration(
        pm.games.apple_tasting(), FixedTruth(np.array([0.7, 0.3])), pm.IDS(), np.array([5])
    )
    task = replace(Task(cell, np.arange(2)), version="9.9.9")
    with pytest.raises(WorkersLost, match=r"workers must have partial-monitoring 9\.9\.9; one has"):
        task.play()


def test_dask_says_when_workers_are_lost() -> None:
    pytest.importorskip("distributed")  # sets its defaults
    once = pytest.importorskip("dask").config.set({"distributed.scheduler.allowed-failures": 0})
    with once, pytest.raises(WorkersLost, match="workers were lost with 2 chunks left"):
        apples({"deadly": AlwaysDies("")}, seeds=2).run(engine="dask", workers=2)


def test_a_label_for_two_policies_keeps_both(tmp_path: Path) -> None:
    for name, policy in (("one", pm.IDS()), ("two", pm.CBP())):
        apples({"x": policy}, name=name).run(tmp_path)
    (comparison,) = stored_comparisons(Store(tmp_path))
    assert comparison.result.policies == ["x", "x [two]"]


def test_seeds_that_were_added_count_once(tmp_path: Path) -> None:
    for seeds in (3, 6):
        apples(["ids", "cbp"], seeds=seeds, name=f"{seeds} seeds").run(tmp_path)
    (comparison,) = stored_comparisons(Store(tmp_path))
    assert comparison.result.seeds.tolist() == list(range(6))


def test_unfinished_parts_are_said(tmp_path: Path) -> None:
    apples(["ids", "cbp"], seeds=4).run(tmp_path)
    keys = {c.policy.__class__.__name__: c.key for c in _cells(["ids", "cbp"])}
    for path in (tmp_path / "runs" / keys["CBP"]).glob("*.parquet"):
        path.unlink()
    apples("ids", seeds=6).run(tmp_path)  # the plan of the same name: now only ids
    apples(["ids", "cbp"], seeds=6, name="both")
    said: list[str] = []
    (comparison,) = stored_comparisons(Store(tmp_path, said.append))
    assert comparison.result.policies == ["ids"]
    (tmp_path / "runs" / keys["IDS"] / "cell.json").write_text('{"version": "0.0.1"}')
    stored_comparisons(Store(tmp_path, said.append))
    assert "ids was played with partial-monitoring 0.0.1" in said[-1]


def _cells(policies: list[str]) -> list[Configuration]:
    experiment = apples(policies)
    truth = FixedTruth(np.array([0.7, 0.3]))
    marks, game = experiment.checkpoints, pm.games.apple_tasting()
    return [Configuration(game, truth, policy, marks) for policy in experiment.policies.values()]


def test_missing_runs_are_said(tmp_path: Path) -> None:
    apples(["ids", "cbp"], seeds=4).run(tmp_path)
    for cell in _cells(["cbp"]):
        for path in (tmp_path / "runs" / cell.key).glob("*.parquet"):
            path.unlink()
    said: list[str] = []
    (comparison,) = stored_comparisons(Store(tmp_path, said.append))
    assert said == ["apple_tasting, θ = (0.7, 0.3): cbp is not finished."]
    assert list(comparison.policies) == ["ids", "cbp"]


def test_damaged_plans_are_left_out(tmp_path: Path) -> None:
    apples().run(tmp_path)
    (tmp_path / "experiments" / "bad.json").write_text('{"seeds": [1]}')
    (tmp_path / "experiments" / "worse.json").write_text("[]")
    said: list[str] = []
    assert len(stored_comparisons(Store(tmp_path, said.append))) == 1
    assert len(said) == 2


def test_truths_that_cannot_be_played_are_found_before_anything_starts(tmp_path: Path) -> None:
    bandit = pm.games.linear_bandit([[1, 0], [0, 1]], pm.Box([-1, -1], [1, 1]))
    for theta in ({"among": [[0.5, 0.5], [0.5, -0.5]]}, "random"):
        with pytest.raises(InvalidInput, match="game 'mine': bernoulli observations need means"):
            pm.Experiment({"mine": bandit}, "ids", theta, horizon=5, seeds=8, noise="bernoulli")
    with pytest.raises(InvalidInput, match="no noise named 'gausian'"):
        pm.Experiment({"mine": bandit}, "ids", "worst", horizon=5, seeds=8, noise="gausian")


def test_a_game_may_be_called_among(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(
        'horizon = 5\nseeds = 2\npolicies = ["ids"]\n[games.among]\ngame = "apple_tasting"\n'
        "[games.among.instances]\namong = [0.5, 0.5]\nweights = [0.2, 0.8]\n"
    )
    experiment = pm.load_experiment(path)
    assert [s.truth_name for s in experiment.settings] == ["among", "weights"]


def test_labels_are_no_markup() -> None:
    progress = Progress(visible=True)
    progress.visible = True
    with progress:
        progress.add(("game [/bold]", "θ [x]", "ids [/bold] x"), 10, 5, 3)
        progress.advance(("game [/bold]", "θ [x]", "ids [/bold] x"), 3)


def test_a_policy_of_ones_own_is_shown_as_it_describes_itself() -> None:
    assert describe("Mine(option=3)") == "Mine(option=3)"  # type: ignore[arg-type]


PARENT = """
import partial_monitoring as pm
from tests.oracles.fragile import Slow

if __name__ == "__main__":
    pm.Experiment("apple_tasting", {"slow": Slow(0.05)}, [0.7, 0.3], horizon=2000, seeds=4).run(
        engine="processes", workers=2
    )
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    parent = subprocess.Popen([sys.executable, str(script)], env=os.environ | {"PYTHONPATH": path})
    while len(children := _children(parent.pid)) < 3:  # two workers and a tracker
        assert parent.poll() is None
        sleep(0.05)
    sleep(1)  # until they are at work
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(200):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            return
        sleep(0.05)
    raise AssertionError("workers are still there")


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in tasks.read_text().split()] if tasks.exists() else []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pm.Experiment(None, "ids", horizon=1, seeds=1), "game must be a Game"),
        (
            lambda: pm.Experiment({1: "survey", "1": "survey"}, "ids", horizon=1, seeds=1),
            "different",
        ),
        (lambda: apples().run(5), "5"),
        (lambda: apples().run(engine=["x"]), "no engine named"),
        (lambda: apples().run(engine="dask", scheduler=5), "scheduler must be an address; got 5"),
        (lambda: apples(horizon=10**30), "horizon must be at most 1,000,000,000,000"),
        (lambda: pm.load_experiment(None), "None"),
    ],
)
def test_wrong_types_are_refused_in_one_sentence(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)


def test_a_folder_that_cannot_hold_the_report(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(InvalidInput, match="cannot be written"):
        pm.write_report(apples().compare(), tmp_path)
