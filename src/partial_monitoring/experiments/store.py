"""Finished runs on disk, by content key.

    FOLDER/games/GAME.json             the games, as game files
    FOLDER/runs/CELL/cell.json         what the runs of a cell depend on, and its former key
    FOLDER/runs/CELL/SEEDS.parquet     finished runs, some seeds a file
    FOLDER/truths/SEARCH.json          parameters that a search has found
    FOLDER/experiments/NAME.json       which cells and seeds an experiment is made of

Files are written under another name and then renamed, so a reader never sees half a file, and two
processes that finish the same runs write the same file. A damaged file is named and left out, so
that its runs are played again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring import disk
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.runs import Cell
from partial_monitoring.model.contextual import AnyGame
from partial_monitoring.model.files import game_to_dict, load_game
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Indices


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder
        Made if it is not there.
    warn
        Called with a sentence that names a damaged file.
    """

    def __init__(self, folder: str | Path, warn: Callable[[str], None] = lambda line: None) -> None:
        self.folder, self.warn = disk.make_folder(folder), warn
        self._checked: dict[Path, Result] = {}

    def finished(self, key: str) -> Result | None:
        """Return all finished runs of the cell with a key, or None."""
        found: Result | None = None
        keys = (key, (self.cell(key) or {}).get("former"))
        folders = [self.folder / "runs" / own for own in keys if own is not None]
        for path in (path for own in folders for path in sorted(own.glob("[!.]*.parquet"))):
            part = self._read(path)
            if part is None:
                continue
            fresh = part if found is None else _without(part, found.seeds)
            if fresh is not None:
                found = fresh if found is None else found.merged(fresh)
        return found

    def recognize(self, cell: Cell) -> None:
        """Note under which key the store keeps runs of a cell from before, if it has some."""
        runs = self.folder / "runs"
        if (runs / cell.former_key).is_dir() and not (runs / cell.key).exists():
            former = {"former": cell.former_key}
            self.write_json(runs / cell.key / "cell.json", cell.definition | former)

    def add(self, cell: Cell, part: Result) -> None:
        """Keep finished runs of a cell."""
        folder = self.folder / "runs" / cell.key
        if not (folder / "cell.json").exists():
            self.add_game(cell.game_key, cell.game)
            self.write_json(folder / "cell.json", cell.definition)
        target = folder / f"{_seeds_name(part.seeds)}.parquet"
        part.save(target)
        self._checked[target] = part

    def cell(self, key: str) -> Any:
        """Return what the runs of a cell depend on, as plain data; None if it is not there."""
        return self.read_json(self.folder / "runs" / key / "cell.json")

    def add_game(self, key: str, game: AnyGame) -> None:
        """Keep a game under its content key."""
        path = self.folder / "games" / f"{key}.json"
        if self.read_json(path) is None:
            self.write_json(path, game_to_dict(game))

    def game(self, key: str) -> AnyGame:
        """Return the game of a content key."""
        return load_game(self.folder / "games" / f"{key}.json")

    def write_json(self, path: Path, data: Any) -> None:
        """Write plain data to a file, whole or not at all."""
        disk.make_folder(path.parent)
        disk.write_text(path, json.dumps(data, ensure_ascii=False))

    def read_json(self, path: Path) -> Any:
        """Return the plain data of a file; None if it is not there or damaged."""
        try:
            return disk.read_json(path) if path.exists() else None
        except (OSError, InvalidInput):
            self.warn(f"{path}: is damaged and not used.")
            return None

    def _read(self, path: Path) -> Result | None:
        if path not in self._checked:
            try:
                self._checked[path] = Result.load(path)
            except InvalidInput as error:
                self.warn(f"{error} Its runs are played again.")
                return None
        return self._checked[path]


def _seeds_name(seeds: Indices) -> str:
    """Return a file name for some seeds: the first, how many, and a hash of all."""
    return f"{seeds[0]}-{len(seeds)}-{sha256(seeds.tobytes()).hexdigest()[:8]}"


def _without(part: Result, seeds: Indices) -> Result | None:
    """Return a result without some seeds, or None if nothing is left."""
    new = ~np.isin(part.seeds, seeds)
    return part.only(part.seeds[new]) if new.any() else None
