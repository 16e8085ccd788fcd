"""Runs that are kept in a folder, so that a second call only plays what is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from sys import stderr
from time import perf_counter
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.experiments.runs import RECORDED, Configuration
from partial_monitoring.experiments.store import Store
from partial_monitoring.simulation.truths import read_truth

Array = np.ndarray

BLOCK = 500
"""Largest number of seeds that are played together."""

RULE = ("policies/calibrated/**/*.py", "estimation/profile/**/*.py", "numerics/compiled/*.py")
"""The code of the default policy: its runs are played anew when any of it has changed."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The runs of one policy on one game with some seeds."""

    setting: str
    policy_name: str
    configuration: Configuration
    seeds: Array

    @classmethod
    def of(
        cls,
        setting: str,
        policy_name: str,
        game: pm.FiniteGame,
        policy: Any,
        theta: Any,
        horizon: int,
        seeds: Iterable[int],
    ) -> Wanted:
        """Return runs whose regret is recorded after half of the rounds and after all of them."""
        marks = np.array([horizon // 2, horizon])
        own = Configuration(game, read_truth(theta, game), policy, marks)
        return cls(setting, policy_name, own, np.array(seeds, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class StoredRuns:
    """Runs in a folder, of which those of some policies (of all if none is named) are played."""

    folder: Path
    workers: int = 1
    played: tuple[str, ...] = ()
    stores: dict[Path, Store] = field(default_factory=dict)

    def regret(self, wanted: Wanted) -> Array | None:
        """Return the regret of the runs that are stored, shape (n, 2), or None."""
        done = self._store(wanted).finished(wanted.configuration.key)
        if done is None:
            return None
        there = wanted.seeds[np.isin(wanted.seeds, done.seeds)]
        return done.only(there).regret[RECORDED] if len(there) else None

    def play(self, wanted: Iterable[Wanted]) -> None:
        """Play what is missing, and say on standard error what was played."""
        pieces = [piece for runs in wanted for piece in self._missing(runs)]
        start = perf_counter()
        for count, (piece, result) in enumerate(_results(pieces, self.workers), start=1):
            self._store(piece).add(piece.configuration, result)
            what = f"{piece.setting}, {piece.policy_name}: {len(piece.seeds)} seeds"
            passed = perf_counter() - start
            print(f"{what}, {count} of {len(pieces)} pieces, {passed:.0f} s", file=stderr)

    def _missing(self, wanted: Wanted) -> Iterator[Wanted]:
        if self.played and wanted.policy_name not in self.played:
            return
        done = self._store(wanted).finished(wanted.configuration.key)
        seeds = wanted.seeds[~np.isin(wanted.seeds, [] if done is None else done.seeds)]
        for start in range(0, len(seeds), BLOCK):
            own = seeds[start : start + BLOCK]
            yield Wanted(wanted.setting, wanted.policy_name, wanted.configuration, own)

    def _store(self, wanted: Wanted) -> Store:
        changing = wanted.policy_name == "calibrated"
        folder = self.folder / f"calibrated-{rule_digest()}" if changing else self.folder
        if folder not in self.stores:
            self.stores[folder] = Store(folder, warn=lambda line: print(line, file=stderr))
        return self.stores[folder]


def _results(pieces: list[Wanted], workers: int) -> Iterator[tuple[Wanted, pm.Result]]:
    """Play pieces here or in several processes, and yield each when it is finished."""
    if workers == 1:
        for piece in pieces:
            yield piece, piece.configuration.play(piece.seeds)
        return
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(own.configuration.play, own.seeds): own for own in pieces}
        for finished in as_completed(running):
            yield running[finished], finished.result()


def rule_digest() -> str:
    """Return a hash of the code of the default policy."""
    source = Path(pm.__file__).parent
    files = sorted(path for pattern in RULE for path in source.glob(pattern))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]
