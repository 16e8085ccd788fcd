"""Processes killed at any moment: learners that save, and experiments, which are resumed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache, partial
from os import environ, pathsep
from pathlib import Path
from shutil import rmtree
from typing import Any

import partial_monitoring as pm
from tests.attacks.judge import Attack, Wrong
from tests.oracles.small_experiments import numbers

SAVING = """
import partial_monitoring as pm
learner = pm.Learner(pm.games.dynamic_pricing(), pm.Greedy(), seed=1)
learner.tell_past(["$1"] * 400, ["yes"] * 400)
learner.save("learner.json")
print("ready", flush=True)
while True:
    learner.save("learner.json")
"""
PLAYING = """
import partial_monitoring as pm
from tests.attacks.killed import experiment
print("ready", flush=True)
experiment().run("store")
"""
SAVES, RUNS = 30, 12
ROOT = Path(__file__).parents[2]


def experiment() -> pm.Experiment:
    games = {"apples": "apple_tasting", "pricing": "dynamic_pricing"}
    return pm.Experiment(games, ["ids", "cbp", "randcbp"], horizon=60, seeds=40)


def attacks(seed: int) -> Iterator[Attack]:
    rng = random.Random(seed)
    for i in range(SAVES):
        yield Attack(f"save, kill {i}", partial(kill_saving, rng.uniform(0.0, 0.2)))
    for i in range(RUNS):
        yield Attack(f"experiment, kill {i}", partial(kill_playing, rng.uniform(0.05, 1.5)))


def killed(code: str, seconds: float) -> None:
    """Run Python code and kill it some time after it said that it is ready."""
    paths = [str(ROOT), environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=environ | {"PYTHONPATH": pathsep.join(filter(None, paths))},
    ) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
    if ready != b"ready\n":
        raise Wrong("the process that was to be killed did not start")


def kill_saving(seconds: float) -> None:
    killed(SAVING, seconds)
    found = pm.Learner.load("learner.json")
    if found.round != 401:
        raise Wrong(f"the learner is in round {found.round}; it has 400 observations")


@cache
def undisturbed() -> Any:
    return experiment().run()


def same(one: Any, other: Any) -> bool:
    """Whether two tables of runs have the same columns, bit by bit."""
    columns = numbers(other)
    return all(
        repr(column.tolist()) == repr(columns[name].tolist())  # nan is nan
        for name, column in numbers(one).items()
    )


def kill_playing(seconds: float) -> None:
    rmtree("store", ignore_errors=True)
    killed(PLAYING, seconds)
    kept = {path: path.read_bytes() for path in Path("store").glob("runs/*/[!.]*.parquet")}
    if not same(experiment().run("store"), undisturbed()):
        raise Wrong("the resumed experiment has other numbers")
    if any(path.read_bytes() != content for path, content in kept.items()):
        raise Wrong("runs that were kept were played again")
