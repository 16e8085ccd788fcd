"""Read experiments back from a store, for reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from partial_monitoring.comparison import Comparison
from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.runner import put_together
from partial_monitoring.experiments.store import Store
from partial_monitoring.policies import policy_from_dict
from partial_monitoring.result import TABLES


def stored_comparisons(store: Store) -> list[Comparison]:
    """Return what is finished of all experiments of a store.

    Policies that met the same game, true parameters, seeds and checkpoints are compared with each
    other, also if they come from different experiments. Runs that are not finished are left out.
    """
    found: dict[tuple[Any, ...], Comparison] = {}
    for path in sorted((store.folder / "experiments").glob("[!.]*.json")):
        plan = store.read_json(path)
        if plan is None:
            continue
        seeds = np.array(plan["seeds"], dtype=np.int64)
        for setting in plan["settings"]:
            comparison = _comparison(store, setting, seeds)
            if comparison is None:
                continue
            result = comparison.result
            same = (
                setting["game"],
                setting["truth"],
                tuple(result.seeds),
                tuple(result.checkpoints),
                result.theta.tobytes(),
            )
            found[same] = _joined(found[same], comparison) if same in found else comparison
    if not found:
        raise InvalidInput(f"{store.folder}: holds no finished experiment.")
    return list(found.values())


def open_store(folder: str | Path, warn: Any = lambda line: None) -> Store:
    """Return the store of a folder that must be there."""
    if not (Path(folder) / "experiments").is_dir():
        raise InvalidInput(f"{folder}: is not a folder with results of experiments.")
    return Store(folder, warn)


def _comparison(store: Store, setting: Any, seeds: Any) -> Comparison | None:
    """Return what is finished of a setting on the seeds that every policy has played."""
    runs = {name: store.finished(key) for name, key in setting["cells"].items()}
    finished = {name: run for name, run in runs.items() if run is not None}
    if not finished:
        return None
    for run in finished.values():
        seeds = seeds[np.isin(seeds, run.seeds)]
    if len(seeds) == 0:
        return None
    return Comparison(
        setting["game_name"],
        store.game(setting["game"]),
        setting["truth"],
        {name: _policy(setting["policies"][name]) for name in finished},
        put_together({name: run.only(seeds) for name, run in finished.items()}),
        setting["refused"],
    )


def _policy(data: Any) -> Any:
    """Return a policy, or its description if it is not one of the library's."""
    return policy_from_dict(data) if isinstance(data, dict) else data


def _joined(one: Comparison, other: Comparison) -> Comparison:
    """Return a comparison of the policies of two."""
    new = {name: policy for name, policy in other.policies.items() if name not in one.policies}
    if not new:
        return one
    tables = {
        key: getattr(one.result, key) | {name: getattr(other.result, key)[name] for name in new}
        for key in (*TABLES, "seconds")
    }
    result = replace(one.result, **tables)
    refused = {**other.refused, **one.refused}
    return replace(one, policies={**one.policies, **new}, result=result, refused=refused)
