"""Read experiments back from a store, for reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.runner import put_together
from partial_monitoring.experiments.store import Store
from partial_monitoring.policies import policy_from_dict
from partial_monitoring.simulation.result import Comparison


@dataclass(eq=False)
class Group:
    """Everything that was planned on one game with one truth and the same checkpoints."""

    game_name: str
    game: str
    truth: str
    cells: dict[str, str] = field(default_factory=dict)
    """Content keys by policy."""
    policies: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    seeds: dict[int, None] = field(default_factory=dict)
    """All that were planned, in order."""


def stored_comparisons(store: Store) -> list[Comparison]:
    """Return what is finished of all experiments of a store.

    Policies that met the same game, true parameters and checkpoints are compared with each other on
    the seeds that all of them have played, also if they come from different experiments. What was
    planned and is not finished is said.
    """
    found = [comparison for group in _groups(store) for comparison in _finished(store, group)]
    if not found:
        raise InvalidInput(f"{store.folder}: holds no finished experiment.")
    return found


def open_store(folder: str | Path, warn: Callable[[str], None] = lambda line: None) -> Store:
    """Return the store of a folder that must be there."""
    if not (Path(folder) / "experiments").is_dir():
        raise InvalidInput(f"{folder}: is not a folder with results of experiments.")
    return Store(folder, warn)


def _groups(store: Store) -> list[Group]:
    """Put the plans of all experiments together."""
    groups: dict[str, Group] = {}
    for path in sorted((store.folder / "experiments").glob("[!.]*.json")):
        plan = store.read_json(path)
        try:
            for setting in plan["settings"] if plan is not None else ():
                what = [setting["game"], setting["truth_key"], plan["checkpoints"]]
                group = groups.setdefault(
                    json.dumps(what),
                    Group(setting["game_name"], setting["game"], setting["truth"]),
                )
                _add(group, setting, plan)
        except (KeyError, TypeError, AttributeError, ValueError):
            store.warn(f"{path}: is damaged and not used.")
    return list(groups.values())


def _add(group: Group, setting: Any, plan: Any) -> None:
    """Add what an experiment planned; a label that stands for another policy is made longer."""
    group.seeds |= dict.fromkeys(int(seed) for seed in plan["seeds"])
    group.refused |= setting["refused"]
    for label, key in setting["cells"].items():
        own = label
        if group.cells.get(label, key) != key:
            own = f"{label} [{plan['name']}]"
        group.cells[own] = key
        group.policies[own] = _policy(setting["policies"][label])


def _finished(store: Store, group: Group) -> Iterator[Comparison]:
    """Return the comparison of a group, if anything of it is finished."""
    runs = {label: store.finished(key) for label, key in group.cells.items()}
    done = {label: run for label, run in runs.items() if run is not None}
    seeds = np.array(list(group.seeds), dtype=np.int64)
    for run in done.values():
        seeds = seeds[np.isin(seeds, run.seeds)]
    if not done or len(seeds) == 0:
        return
    title = f"{group.game_name}, θ = {group.truth}"
    for label in group.cells:
        if label not in done:
            store.warn(f"{title}: {label} is not finished.")
    if len(seeds) < len(group.seeds):
        store.warn(f"{title}: {len(seeds)} of {len(group.seeds)} seeds are finished by all.")
    for label in done:
        version = (store.cell(group.cells[label]) or {}).get("version")
        if version not in (None, partial_monitoring.__version__):
            store.warn(
                f"{title}: {label} was played with partial-monitoring {version}; this is "
                f"{partial_monitoring.__version__}."
            )
    yield Comparison(
        group.game_name,
        store.game(group.game),
        group.truth,
        group.policies,
        put_together({label: run.only(seeds) for label, run in done.items()}),
        group.refused,
    )


def _policy(data: Any) -> Any:
    """Return a policy, or its description if it is not one of the library's."""
    return policy_from_dict(data) if isinstance(data, dict) else data
