"""Play an experiment: find out what is missing, play it in chunks, put everything together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.errors import InvalidInput, unknown_name
from partial_monitoring.experiments.content_key import content_key, described
from partial_monitoring.experiments.experiment import Experiment, Setting
from partial_monitoring.experiments.runs import RECORDED, Cell
from partial_monitoring.experiments.store import Store
from partial_monitoring.experiments.workers import ENGINES, Task, worker_count
from partial_monitoring.policies import policy_to_dict
from partial_monitoring.simulation.progress import Progress
from partial_monitoring.simulation.result import TABLES, Comparison, Result
from partial_monitoring.simulation.simulate import worst_for
from partial_monitoring.simulation.truths import Fixed, Worst
from partial_monitoring.validation import Array, Indices, whole_number

if TYPE_CHECKING:
    import pyarrow

CHUNK = 50
"""Most seeds that are played together."""

ROUNDS = 1_000_000
"""Most rounds of all seeds of a chunk together (unless one seed has more): what can be lost."""


def compare(
    experiment: Experiment,
    store: str | Path | None,
    *,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    progress: bool,
) -> list[Comparison]:
    """Play what is missing of an experiment and return its comparisons."""
    if not isinstance(engine, str) or engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if scheduler is not None and engine != "dask":
        raise InvalidInput(f"scheduler is for the engine 'dask'; got it with {engine!r}.")
    if scheduler is not None and not isinstance(scheduler, str):
        raise InvalidInput(f"scheduler must be an address; got {scheduler!r}.")
    count = (
        worker_count(scheduler) if workers is None else whole_number("workers", workers, at_least=1)
    )
    with ExitStack() as stack:
        folder = store if store is not None else stack.enter_context(TemporaryDirectory())
        shown = stack.enter_context(Progress(visible=progress))
        kept = Store(folder, warn=shown.say)
        cells = planned(experiment, kept)
        if store is not None:
            note(experiment, kept, cells)
        spread = 1 if engine == "here" else count
        tasks = missing(experiment, cells, kept, shown, spread)
        played = ENGINES[engine](list(tasks), workers=count, scheduler=scheduler)
        for task, part in played:
            kept.add(task.cell, part)
            shown.advance(tasks[task], len(part.seeds))
        return [_comparison(experiment, setting, cells, kept) for setting in experiment.settings]


Key = tuple[str, str, str]
"""The names of a game, of its true parameters and of a policy."""


def planned(experiment: Experiment, store: Store) -> dict[Key, Cell]:
    """Return the cells of an experiment; worst cases that are not known yet are searched."""
    cells = {}
    for setting in experiment.settings:
        truth = setting.truth
        if isinstance(truth, Worst):
            truth = Fixed(_worst(experiment, setting, store))
        for name in setting.players:
            cells[setting.game_name, setting.truth_name, name] = Cell(
                setting.game,
                truth,
                experiment.policies[name],
                experiment.checkpoints,
                experiment.noise,
            )
    for cell in cells.values():
        store.recognize(cell)
    return cells


def _worst(experiment: Experiment, setting: Setting, store: Store) -> Array:
    """Return the parameter that the first policy likes least, from the store if it is there."""
    policy = experiment.policies[setting.players[0]]
    nothing = Fixed(np.zeros(0))
    search = Cell(setting.game, nothing, policy, experiment.checkpoints[-1:], experiment.noise)
    for key in (search.key, search.former_key):
        known = store.read_json(store.folder / "truths" / f"{key}.json")
        if known is not None:
            return np.array(known, dtype=float)
    found = worst_for(setting.game, policy, experiment.horizon, experiment.noise)
    store.write_json(store.folder / "truths" / f"{search.key}.json", found.tolist())
    return found


def missing(
    experiment: Experiment, cells: dict[Key, Cell], store: Store, shown: Progress, workers: int
) -> dict[Task, Key]:
    """Return the tasks that are left to play, and to which cell each belongs."""
    tasks: dict[Task, Key] = {}
    for key, cell in cells.items():
        done = store.finished(cell.key)
        there = np.isin(experiment.seeds, [] if done is None else done.seeds)
        seeds = experiment.seeds[~there]
        shown.add(key, cell.horizon, len(there), len(seeds))
        tasks |= dict.fromkeys(chunks(cell, seeds, workers), key)
    return tasks


def chunks(cell: Cell, seeds: Indices, workers: int) -> Iterator[Task]:
    """Cut seeds into chunks that keep all workers busy."""
    if len(seeds) == 0:
        return
    size = min(CHUNK, -(-len(seeds) // workers), max(1, ROUNDS // cell.horizon))
    for start in range(0, len(seeds), size):
        yield Task(cell, seeds[start : start + size])


def note(experiment: Experiment, store: Store, cells: dict[Key, Cell]) -> None:
    """Write down which cells and seeds the experiment is made of, for reports."""
    listed = []
    for setting in experiment.settings:
        own = {name: cells[setting.game_name, setting.truth_name, name] for name in setting.players}
        first = next(iter(own.values()))
        store.add_game(first.game_key, setting.game)
        listed.append(
            {
                "game_name": setting.game_name,
                "game": first.game_key,
                "truth": setting.truth_name,
                # the former key, so that old and new plans of a store meet
                "truth_key": content_key(described(first.truth, former=True)),
                "cells": {name: cell.key for name, cell in own.items()},
                "policies": {name: _policy_dict(cell.policy) for name, cell in own.items()},
                "refused": dict(setting.refused),
            }
        )
    plan = {
        "name": experiment.name,
        "seeds": experiment.seeds.tolist(),
        "checkpoints": experiment.checkpoints.tolist(),
        "settings": listed,
    }
    store.write_json(store.folder / "experiments" / f"{experiment.name}.json", plan)


def _policy_dict(policy: Any) -> Any:
    """Return a policy as it is written in files, or in words if it is not one of the library's."""
    try:
        return policy_to_dict(policy)
    except InvalidInput:
        return repr(policy)


def _comparison(
    experiment: Experiment, setting: Setting, cells: dict[Key, Cell], store: Store
) -> Comparison:
    runs = {}
    for name in setting.players:
        found = store.finished(cells[setting.game_name, setting.truth_name, name].key)
        assert found is not None
        runs[name] = found.only(experiment.seeds)
    policies = {name: experiment.policies[name] for name in setting.players}
    return Comparison(
        setting.game_name,
        setting.game,
        setting.truth_name,
        policies,
        put_together(runs),
        setting.refused,
    )


def put_together(runs: dict[str, Result]) -> Result:
    """Return the stored results of single policies as one result of all of them."""
    first = next(iter(runs.values()))
    tables = {
        key: {name: getattr(result, key)[RECORDED] for name, result in runs.items()}
        for key in TABLES
    }
    seconds = {name: result.seconds[RECORDED] for name, result in runs.items()}
    return Result(first.seeds, first.checkpoints, first.theta, **tables, seconds=seconds)


def rows_of(comparisons: Sequence[Comparison]) -> pyarrow.Table:
    """Return comparisons as one Arrow table, a row per policy, seed and checkpoint."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {
        name: [] for name in ("game", "theta", "policy", "seed", "round", *TABLES[:3])
    }
    for comparison in comparisons:
        result = comparison.result
        n, marks = len(result.seeds), len(result.checkpoints)
        for name in result.policies:
            columns["game"].append(np.repeat(comparison.game_name, n * marks))
            columns["theta"].append(np.repeat(comparison.instance, n * marks))
            columns["policy"].append(np.repeat(name, n * marks))
            columns["seed"].append(np.repeat(result.seeds, marks))
            columns["round"].append(np.tile(result.checkpoints, n))
            for key in TABLES[:3]:
                columns[key].append(getattr(result, key)[name].ravel())
    return pa.table({name: np.concatenate(parts) for name, parts in columns.items()})
