"""Finished runs on disk, by content key.

    FOLDER/games/GAME.json             the games, as game files
    FOLDER/runs/KEY/cell.json          what the runs of a configuration depend on, its former key,
                                       and the libraries that played them first
    FOLDER/runs/KEY/SEEDS.parquet      finished runs, some seeds per file: first, number, hash
    FOLDER/truths/SEARCH.json          parameters found by a search
    FOLDER/experiments/NAME.json       which configurations and seeds an experiment consists of

Every file is written whole or not at all, and two processes that finish the same runs write the
same file. A damaged file, or one of another configuration, is reported and ignored, so that its
runs are played again. A store whose runs are finished is only read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

import partial_monitoring
from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.runs import Configuration, put_together
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.files import game_to_dict, load_game
from partial_monitoring.policies import policy_from_dict
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.result import Result


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder
        Created if it does not exist.
    warn
        Called with a sentence that names a damaged file, once for each.
    """

    def __init__(self, folder: str | Path, warn: Callable[[str], None] = lambda line: None) -> None:
        self.folder = disk.make_folder(folder)
        self.warn = cache(warn)  # says each sentence once
        self._checked: dict[Path, Result] = {}
        self._former: dict[str, str] = {}

    def finished(self, key: str) -> Result | None:
        """Return all finished runs of the configuration with a key, or None."""
        found: Result | None = None
        keys = (key, self._former.get(key) or self.definition(key).get("former"))
        folders = [self.folder / "runs" / own for own in keys if isinstance(own, str)]
        for path in (path for own in folders for path in sorted(own.glob("[!.]*.parquet"))):
            some = self._read(path)
            if found is None or some is None:
                found = found or some
            elif (new := ~np.isin(some.seeds, found.seeds)).any():
                found = found.merged(some.only(some.seeds[new]))
        return found

    def recognize(self, own: Configuration) -> None:
        """Note the former key of a configuration if the store has runs under that key only."""
        runs = self.folder / "runs"
        if (runs / own.former_key).is_dir() and not (runs / own.key).exists():
            self._former[own.key] = own.former_key
            self.note(runs / own.key / "cell.json", own.definition() | {"former": own.former_key})

    def add(self, own: Configuration, result: Result) -> None:
        """Keep finished runs of a configuration."""
        folder = self.folder / "runs" / own.key
        if not (folder / "cell.json").exists():
            self.add_game(own.game_key, own.game)
            self.write_json(folder / "cell.json", own.definition() | {"libraries": libraries()})
        seeds = result.seeds
        digest = sha256(own.key.encode() + seeds.tobytes()).hexdigest()[:8]
        target = folder / f"{seeds[0]}-{len(seeds)}-{digest}.parquet"
        result.save(target, key=own.key)
        self._checked[target] = result

    def definition(self, key: str) -> dict[str, Any]:
        """Return what the runs of a configuration depend on, as plain data; {} if missing."""
        path = self.folder / "runs" / key / "cell.json"
        found = self.read_json(path)
        if found is not None and not isinstance(found, dict):
            self.warn(f"{path}: is damaged and ignored.")
        return found if isinstance(found, dict) else {}

    def add_game(self, key: str, game: AnyGame) -> None:
        """Keep a game under its content key."""
        path = self.folder / "games" / f"{key}.json"
        if self.read_json(path) is None:
            self.write_json(path, game_to_dict(game))

    def write_json(self, path: Path, data: Any) -> None:
        """Write plain data to a file, whole or not at all."""
        disk.make_folder(path.parent)
        disk.write_text(path, json.dumps(data, ensure_ascii=False))

    def note(self, path: Path, data: Any) -> None:
        """Write plain data for later readers, if it is new; say so if that is impossible."""
        try:
            if self.read_json(path) != data:
                self.write_json(path, data)
        except InvalidInput as error:
            self.warn(str(error))

    def tidy(self) -> None:
        """Remove what processes that died left behind."""
        for folder in (self.folder, *self.folder.glob("*/"), *self.folder.glob("runs/*/")):
            disk.remove_unfinished(folder)

    def read_json(self, path: Path) -> Any:
        """Return the plain data of a file; None if it is missing or damaged."""
        try:
            return disk.read_json(path) if path.exists() else None
        except (OSError, InvalidInput):
            self.warn(f"{path}: is damaged and ignored.")
            return None

    def _read(self, path: Path) -> Result | None:
        if path not in self._checked:
            try:
                found, key = Result.load_with_key(path)
            except InvalidInput as error:
                self.warn(f"{error} Its runs are played again.")
                return None
            if key not in (None, path.parent.name):
                self.warn(f"{path}: holds runs of {key} and is ignored.")
                return None
            self._checked[path] = found
        return self._checked[path]


@cache
def libraries() -> dict[str, str]:
    """Return the versions that numbers may depend on in their last digits."""
    named = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"python": python_version(), **named}


@dataclass(eq=False)
class StoredGroup:
    """All stored plans for one game with the same true parameters and checkpoints."""

    game_name: str
    game: str
    truth: str
    cells: dict[str, str] = field(default_factory=dict)
    """Content keys of the configurations by policy."""
    policies: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    seeds: dict[int, None] = field(default_factory=dict)
    """All that were planned, in their order."""
    fewer: dict[str, int] = field(default_factory=dict)
    """How many of them a policy plays, if not all."""


def stored_comparisons(store: Store) -> list[Comparison]:
    """Return what is finished of all experiments of a store.

    Policies that met the same game, true parameters and checkpoints are compared with each other on
    the seeds that all of them have played, even if they come from different experiments. A warning
    names what was planned and is not finished.
    """
    found = [comparison for group in _groups(store) for comparison in _finished(store, group)]
    if not found:
        raise InvalidInput(f"{store.folder}: holds no finished experiment.")
    return found


def open_store(folder: str | Path, warn: Callable[[str], None] = lambda line: None) -> Store:
    """Return the store of a folder that must exist."""
    if not (Path(folder) / "experiments").is_dir():
        raise InvalidInput(f"{folder}: is not a folder with results of experiments.")
    return Store(folder, warn)


def _groups(store: Store) -> list[StoredGroup]:
    """Merge the plans of all experiments."""
    groups: dict[str, StoredGroup] = {}
    for path in sorted((store.folder / "experiments").glob("[!.]*.json")):
        plan = store.read_json(path)
        try:
            for setting in plan["settings"] if plan is not None else ():
                what = [setting["game"], setting["truth_key"], plan["checkpoints"]]
                group = groups.setdefault(
                    json.dumps(what),
                    StoredGroup(setting["game_name"], setting["game"], setting["truth"]),
                )
                _add(group, setting, plan)
        except (KeyError, TypeError, AttributeError, ValueError):
            store.warn(f"{path}: is damaged and ignored.")
    return list(groups.values())


def _add(group: StoredGroup, setting: Any, plan: Any) -> None:
    """Add a plan; a label that another policy has gets the name of the experiment."""
    group.seeds |= dict.fromkeys(int(seed) for seed in plan["seeds"])
    group.refused |= setting["refused"]
    for label, key in setting["cells"].items():
        taken = group.cells.get(label, key) != key
        own = f"{label} [{plan['name']}]" if taken else label
        group.cells[own] = key
        if label in plan.get("fewer", {}):
            group.fewer[own] = int(plan["fewer"][label])
        data = setting["policies"][label]  # a text if the policy is not one of the library's
        group.policies[own] = policy_from_dict(data) if isinstance(data, dict) else data


def _finished(store: Store, group: StoredGroup) -> Iterator[Comparison]:
    """Return the comparison of a group, if anything of it is finished."""
    runs = {label: store.finished(key) for label, key in group.cells.items()}
    done = {label: run for label, run in runs.items() if run is not None}
    seeds = np.array(list(group.seeds), dtype=np.int64)
    for label, run in done.items():
        if label not in group.fewer:
            seeds = seeds[np.isin(seeds, run.seeds)]
    own = {label: seeds[: group.fewer.get(label)] for label in done}
    own = {label: some[np.isin(some, done[label].seeds)] for label, some in own.items()}
    done = {label: run for label, run in done.items() if len(own[label])}
    if not done:
        return
    title = f"{group.game_name}, θ = {group.truth}"
    for label in group.cells:
        if label not in done:
            store.warn(f"{title}: {label} is not finished.")
    if len(seeds) < len(group.seeds):
        store.warn(f"{title}: {len(seeds)} of {len(group.seeds)} seeds are finished by all.")
    for label in done:
        played = store.definition(group.cells[label]).get("version")
        if played not in (None, partial_monitoring.__version__):
            store.warn(
                f"{title}: {label} was played with partial-monitoring {played}; this is "
                f"{partial_monitoring.__version__}."
            )
    yield Comparison(
        group.game_name,
        load_game(store.folder / "games" / f"{group.game}.json"),
        group.truth,
        group.policies,
        put_together({label: run.only(own[label]) for label, run in done.items()}),
        group.refused,
    )
