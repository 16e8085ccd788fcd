"""The regret of the default policy beside all others, on games whose feedback is Gaussian."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from partial_monitoring.experiments.files import experiment_from_dict
from partial_monitoring.policies.needs import refuse

Array = np.ndarray

PAPER = Path(__file__).parents[1] / "papers" / "kirschner2023"
LINEAR = ("calibrated", "lints", "linucb", "squarecb", "epsilon_greedy", "greedy", "ids")
DUELS = ("calibrated", "dueling_ids", "ids")
CONTEXTS = ("calibrated", "contextual_ids", *LINEAR[1:])
FUNCTIONS = ("calibrated", "gp_ts", "gp_ucb", "expected_improvement", "ids")
PREFERENCES = ("calibrated", "dueling_ts", "dueling_ids")


class Setting(NamedTuple):
    """A game with a kind of truth, and the policies that can play it, the default first."""

    group: str
    name: str
    game: Any
    theta: Any
    policies: tuple[str, ...]
    horizon: int


def unit(seed: int, *shape: int) -> Array:
    vectors = np.random.default_rng(seed).standard_normal(shape)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def settings() -> Iterator[Setting]:
    """Yield all settings; those of functions and preferences are the paper's page."""
    for d, k in ((3, 10), (5, 30), (10, 50)):
        game = pm.games.linear_bandit(unit(d, k, d))
        yield Setting("linear", f"d = {d}, k = {k}", game, "random", LINEAR, 3000)
    for d, items in ((3, 8), (5, 8), (5, 20)):
        game = pm.games.dueling(unit(d, items, d))
        yield Setting("duels", f"d = {d}, {items} items", game, "random", DUELS, 2000)
    for name, own in {
        "survey": pm.games.survey(),
        "survey, voucher": pm.games.survey(answer_rate=0.5, voucher=True),
        "greedy exploration": pm.games.greedy_exploration(),
        "three contexts, d = 3": pm.games.contextual_linear_bandit(),
        "eight contexts, d = 5": pm.games.contextual_linear_bandit(unit(3, 8, 6, 5)),
        "apple tasting": pm.games.contextual_apple_tasting(),
        "duels": pm.games.contextual_dueling(),
    }.items():
        yield Setting("contexts", name, own, "random", CONTEXTS, 1000)
    for file, policies in (("functions", FUNCTIONS), ("preferences", PREFERENCES)):
        data = tomllib.loads((PAPER / f"{file}.toml").read_text(encoding="utf-8"))
        whole = experiment_from_dict(data, name=file, folder=PAPER)
        for own in whole.settings:
            theta = data["games"][own.game_name]["theta"]
            yield Setting(file, own.game_name, own.game, theta, policies, 300)


def regrets(setting: Setting, seeds: int, store: Path | None) -> dict[str, Array]:
    """Return the regret of every policy that plays a game, one number per seed."""
    experiment = pm.Experiment(
        {setting.name: setting.game},
        [name for name in setting.policies if plays(name, setting.game)],
        {setting.name: setting.theta},
        horizon=setting.horizon,
        seeds=seeds,
        name="regret_gaussian",
    )
    (found,) = experiment.compare(store)
    return {name: found.result.regret[name][:, -1] for name in found.result.policies}


def plays(name: str, game: Any) -> bool:
    """Whether a policy is made for a game."""
    try:
        refuse(pm.policies.make(name), game)
    except pm.errors.InvalidInput:
        return False
    return True


def compare(seeds: int, groups: tuple[str, ...] = (), store: Path | None = None) -> list[Table]:
    """Return a table for each group: regrets, their geometric means, and where the first wins."""
    tables: dict[str, Table] = {}
    every: dict[str, dict[str, dict[str, Array]]] = {}
    for setting in settings():
        if groups and setting.group not in groups:
            continue
        if setting.group not in tables:
            table = Table(title=f"Regret, {setting.group}, {setting.horizon} rounds, {seeds} seeds")
            for column in ("game", *setting.policies):
                table.add_column(column)
            tables[setting.group] = table
        found = regrets(setting, seeds, store)
        every.setdefault(setting.group, {})[setting.name] = found
        shown = (spread(found[name]) if name in found else "-" for name in setting.policies)
        tables[setting.group].add_row(setting.name, *shown)
    for group, table in tables.items():
        means = geometric_means(every[group])
        names = [str(column.header) for column in table.columns[1:]]
        table.add_section()
        table.add_row("relative to the first", *(f"{means[name]:.2f}" for name in names))
        won = sum(map(wins, every[group].values()))
        table.caption = f"The first has the least regret on {won} of {len(every[group])}."
    return list(tables.values())


def spread(values: Array) -> str:
    """Show a mean with its standard error."""
    return f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}"


def geometric_means(found: dict[str, dict[str, Array]]) -> dict[str, float]:
    """Return the geometric mean of the ratio to the first policy, over the games of each policy."""
    logs: dict[str, list[float]] = {}
    for regret in found.values():
        first = next(iter(regret.values())).mean()
        for name, own in regret.items():
            logs.setdefault(name, []).append(float(np.log((own.mean() + 0.1) / (first + 0.1))))
    return {name: float(np.exp(np.mean(own))) for name, own in logs.items()}


def wins(regret: dict[str, Array]) -> bool:
    """Whether no other policy has less regret than the first."""
    first, *others = (own.mean() for own in regret.values())
    return bool(first <= min(others, default=np.inf))


def run(seeds: int = 20) -> list[Table]:
    return compare(seeds)
