"""The steps of an experiment: what is missing, in which chunks to play it, what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.errors import InvalidInput
from partial_monitoring.experiments.content_key import content_key, described
from partial_monitoring.experiments.runs import Configuration, Plan, Setting, put_together
from partial_monitoring.experiments.store import Store
from partial_monitoring.experiments.workers import Task
from partial_monitoring.policies import policy_to_dict
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.progress import Progress
from partial_monitoring.simulation.result import TABLES
from partial_monitoring.simulation.simulate import worst_for
from partial_monitoring.simulation.truths import FixedTruth
from partial_monitoring.validation import Array, Indices

if TYPE_CHECKING:
    import pyarrow

CHUNK = 50
"""Largest number of seeds that are played together."""

ROUNDS = 1_000_000
"""Largest number of rounds of a chunk (unless one seed has more): what a crash can lose."""


Key = tuple[str, str, str]
"""The names of a game, of its true parameters and of a policy."""


def planned(plan: Plan, store: Store) -> dict[Key, Configuration]:
    """Return the configurations of an experiment; unknown worst cases are searched for."""
    configurations = {}
    for setting in plan.settings:
        truth = setting.truth
        if truth.searched:
            truth = FixedTruth(_worst(plan, setting, store))
        for name, policy in setting.players.items():
            configurations[setting.game_name, setting.truth_name, name] = Configuration(
                setting.game, truth, policy, plan.checkpoints, plan.noise, plan.late
            )
    for configuration in configurations.values():
        store.recognize(configuration)
    return configurations


def _worst(plan: Plan, setting: Setting, store: Store) -> Array:
    """Return a parameter on which the first policy has large regret, stored or searched for."""
    policy = next(iter(setting.players.values()))
    nothing = FixedTruth(np.zeros(0))
    last = plan.checkpoints[-1:]
    search = Configuration(setting.game, nothing, policy, last, plan.noise, plan.late)
    for key in (search.key, search.former_key):
        known = store.read_json(store.folder / "truths" / f"{key}.json")
        if known is not None:
            return np.array(known, dtype=float)
    found = worst_for(setting.game, policy, plan.horizon, plan.noise, late=plan.late)
    store.write_json(store.folder / "truths" / f"{search.key}.json", found.tolist())
    return found


def missing(
    plan: Plan,
    configurations: dict[Key, Configuration],
    store: Store,
    shown: Progress,
    workers: int,
) -> dict[Task, Key]:
    """Return the tasks that are left to play, and to which configuration each belongs."""
    tasks: dict[Task, Key] = {}
    for key, configuration in configurations.items():
        done, seeds = store.finished(configuration.key), plan.seeds_of(key[2])
        there = np.isin(seeds, [] if done is None else done.seeds)
        seeds = seeds[~there]
        shown.add(key, configuration.horizon, len(there), len(seeds))
        tasks |= dict.fromkeys(chunks(configuration, seeds, workers), key)
    return tasks


def chunks(configuration: Configuration, seeds: Indices, workers: int) -> Iterator[Task]:
    """Cut seeds into chunks that keep all workers busy."""
    size = min(CHUNK, -(-len(seeds) // workers), max(1, ROUNDS // configuration.horizon))
    for start in range(0, len(seeds), size or 1):
        yield Task(configuration, seeds[start : start + size])


def note(plan: Plan, store: Store, configurations: dict[Key, Configuration]) -> None:
    """Store which configurations and seeds an experiment consists of, for reports."""
    listed = []
    for setting in plan.settings:
        where = (setting.game_name, setting.truth_name)
        own = {name: configurations[*where, name] for name in setting.players}
        first = next(iter(own.values()))
        store.add_game(first.game_key, setting.game)
        listed.append(
            {
                "game_name": setting.game_name,
                "game": first.game_key,
                "truth": setting.truth_name,
                # the former key, so that old and new plans of a store are merged
                "truth_key": content_key(described(first.truth.content, former=True)),
                "cells": {name: one.key for name, one in own.items()},
                "policies": {name: _policy_dict(one.policy) for name, one in own.items()},
                "refused": dict(setting.refused),
            }
        )
    content = {
        "name": plan.name,
        "seeds": plan.seeds.tolist(),
        "fewer": dict(plan.fewer),
        "checkpoints": plan.checkpoints.tolist(),
        "settings": listed,
    }
    store.note(store.folder / "experiments" / f"{plan.name}.json", content)


def _policy_dict(policy: Any) -> Any:
    """Return a policy as it is written in files, or in words if it is not one of the library's."""
    try:
        return policy_to_dict(policy)
    except InvalidInput:
        return repr(policy)


def comparison_of(
    plan: Plan, setting: Setting, configurations: dict[Key, Configuration], store: Store
) -> Comparison:
    """Return the finished runs of a setting."""
    runs = {}
    for name in setting.players:
        found = store.finished(configurations[setting.game_name, setting.truth_name, name].key)
        assert found is not None
        runs[name] = found.only(plan.seeds_of(name))
    where = setting.game_name, setting.game, setting.truth_name
    return Comparison(*where, setting.players, put_together(runs), setting.refused)


def arrow_table(comparisons: Sequence[Comparison]) -> pyarrow.Table:
    """Return comparisons as one Arrow table, a row per policy, seed and checkpoint."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {
        name: [] for name in ("game", "theta", "policy", "seed", "round", *TABLES[:3])
    }
    for comparison in comparisons:
        result = comparison.result
        marks = len(result.checkpoints)
        for name in result.policies:
            names, played = (comparison.game_name, comparison.instance, name), result.played(name)
            seeds = result.seeds[played]
            blocks = [np.repeat(label, len(seeds) * marks) for label in names]
            blocks += [np.repeat(seeds, marks), np.tile(result.checkpoints, len(seeds))]
            blocks += [getattr(result, key)[name][played].ravel() for key in TABLES[:3]]
            for column, block in zip(columns.values(), blocks, strict=True):
                column.append(block)
    return pa.table({name: np.concatenate(parts) for name, parts in columns.items()})
