"""The size of a live learner: memory, processor time to save and load, bytes, over many decisions.

Every log has a process of its own. The memory of a learner without a log must be flat; so must the
time to save and to load it, and the size of its file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from benchmarks.timing import show

AT = (10_000, 100_000, 1_000_000)
"""Numbers of decisions after which a learner is measured."""

FEATURES = (20_000,)
"""The same with features that come with every ask."""

STORAGES = {"default": "memory", "a file": "log.ndjson", "none": None}


def learner_of(kind: str, storage: str | None) -> tuple[pm.Learner, Iterator[dict[str, Any]]]:
    """Return a learner, and what every ask of it is given."""
    if kind == "five prices":
        game: Any = pm.games.dynamic_pricing([1, 2, 3, 4, 5], cost=2)
        return pm.Learner(game, storage=storage), iter(dict, None)
    k, d = 3, 7
    shown = np.eye(k, d)
    queue = pm.Game(shown, shown[:, None, :], pm.AllParameters(d))
    return pm.Learner(pm.ContextualGame([queue]), storage=storage), described(k, d)


def described(k: int, d: int) -> Iterator[dict[str, Any]]:
    """Yield contexts that never came before."""
    rng = np.random.default_rng(1)
    while True:
        own = rng.standard_normal((k, d)) / d
        yield {"context": {"features": own, "observation_maps": own[:, None, :]}}


def memory() -> float:
    """Return the resident memory of this process, in MB; nan where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
    except OSError:
        return float("nan")


def measured(kind: str, storage: str | None, at: list[int]) -> Iterator[dict[str, float]]:
    """Play, and yield what a learner takes after some numbers of decisions."""
    learner, asks = learner_of(kind, storage)
    answers = np.random.default_rng(2)
    played, started = 0, process_time()
    for count in at:
        for _ in range(count - played):
            decision = learner.ask(**next(asks))
            seen: Any = [answers.standard_normal()]
            if kind == "five prices":
                seen = learner.game.signal(decision.action, int(answers.integers(5)))  # type: ignore[attr-defined]
            learner.tell(decision, seen)
        each, played, resident = (process_time() - started) / count, count, memory()
        begun = process_time()
        learner.save("learner.json")
        saved = process_time()
        again = pm.Learner.load("learner.json", storage=storage)
        loaded = process_time()
        assert again.round == learner.round
        del again
        yield {
            "decisions": count,
            "memory": resident,
            "decision": each,
            "save": saved - begun,
            "load": loaded - saved,
            "bytes": Path("learner.json").stat().st_size,
            "log": Path("log.ndjson").stat().st_size if storage == "log.ndjson" else 0,
        }
        started = process_time() - each * count


def rows(kind: str, storage: str | None, at: tuple[int, ...]) -> Iterator[dict[str, float]]:
    """Yield the measures of a learner in a process of its own."""
    given = json.dumps([kind, storage, at])
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.size", given],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)


def run(at: tuple[int, ...] = AT, features: tuple[int, ...] = FEATURES) -> list[Table]:
    tables = []
    for kind, counts in (("five prices", at), ("features with every ask", features)):
        table = Table(title=f"The size of a learner: {kind}, default policy, processor time")
        for column in ("log", "decisions", "memory", "one decision", "save", "load", "file", "log"):
            table.add_column(column)
        for name, storage in STORAGES.items():
            for own in rows(kind, storage, counts):
                table.add_row(
                    name,
                    f"{own['decisions']:,}",
                    f"{own['memory']:.0f} MB",
                    *(show(own[key]) for key in ("decision", "save", "load")),
                    *(f"{own[key] / 1e6:,.3f} MB" for key in ("bytes", "log")),
                )
        tables.append(table)
    return tables


if __name__ == "__main__":
    kind, storage, at = json.loads(sys.argv[1])
    for found in measured(kind, storage, at):
        print(json.dumps(found), flush=True)
