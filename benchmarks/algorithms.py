"""Every algorithm for finite games: time of one core per round and seed, against existing code."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

from rich.table import Table

import partial_monitoring as pm
from benchmarks.standard_games import NAMED, TABLE
from benchmarks.timing import show

ROUNDS, SEEDS = 1000, 100

GAMES = {
    "apple tasting": "AT .45",
    "label-efficient": "LE .45",
    "3 prices": "DP3",
    "5 prices": "DP5",
    "3 arms": "BB3 .6",
}
"""Games of the standard table, by what they are called here."""

EXISTING = {
    "cbp": (74e-6, 363e-6),
    "randcbp": (134e-6, 2275e-6),
    "pm_dmed": (800e-6, 2200e-6),
    "bpm_least": (4700e-6, 4700e-6),
    "tspm": (780e-6, 6600e-6),
    "bpm_ts": (500e-6, 700e-6),
    "feedexp3": (105e-6, 140e-6),
}
"""Least and largest seconds of a round of the published code (Heuillet et al. 2024; for FeedExp3
pmlib), over games of this table; measured once, because it needs a commercial solver."""


def policy_for(name: str, game: Any) -> Any:
    """Return a policy with default options that plays a game, also outside its class; else None."""
    policy = pm.policies.make(name)
    if hasattr(policy, "allow_outside"):
        policy = replace(policy, allow_outside=True)
    try:
        pm.simulate(game, {"own": policy}, horizon=2, seeds=2)
    except pm.errors.InvalidInput:
        return None
    return policy


def seconds_per_round(policy: Any, game: Any, theta: Any, seeds: int = SEEDS) -> float:
    """Return the processor time of a round of a seed, those before the second left out."""
    spent = []
    for horizon in (1, ROUNDS):
        start = process_time()
        pm.simulate(game, {"own": policy}, theta, horizon=horizon, seeds=seeds, threads=1)
        spent.append(process_time() - start)
    return (spent[1] - spent[0]) / ((ROUNDS - 1) * seeds)


def run() -> list[Table]:
    """Return the tables of standard games and of many prices."""
    return [standard_games(), many_prices()]


def standard_games() -> Table:
    """Return a row per algorithm; a ratio is that to the fastest round of existing code."""
    table = Table(title=f"Time of one core per round and seed, {SEEDS} seeds, {ROUNDS:,} rounds")
    for column in ("policy", *GAMES, "backend", "existing code", "ratio, at most"):
        table.add_column(column)
    truths = {column.name: column for column in TABLE}
    for name in pm.policies.POLICIES:
        cells, slowest, backends = [], 0.0, set()
        for column in (truths[own] for own in GAMES.values()):
            game = NAMED[column.game_name]
            policy = policy_for(name, game)
            if policy is None:
                cells.append("")
                continue
            took = seconds_per_round(policy, game, column.theta)
            shown = pm.simulate(game, {"own": policy}, column.theta, horizon=2, seeds=2)
            backends.add(shown.backend["own"].partition(":")[0])
            slowest = max(slowest, took)
            cells.append(show(took))
        if not any(cells):
            continue
        least, most = EXISTING.get(name, (0.0, 0.0))
        known = f"{show(least)} to {show(most)}" if least else ""
        ratio = f"{slowest / least:.3f}" if least else ""
        table.add_row(name, *cells, ", ".join(sorted(backends)), known, ratio)
    return table


MANY_PRICES = (30, 80)
"""The number of prices in the table of games with many actions."""


def many_prices() -> Table:
    """Return the time of the first state and of a round of one seed where there are many pairs."""
    table = Table(title=f"Many prices: time of one core, one seed, {ROUNDS:,} rounds")
    for column in ("prices", "neighbours", "policy", "first state", "round", "backend"):
        table.add_column(column)
    for count in MANY_PRICES:
        for name in ("cbp", "randcbp"):
            game = pm.games.dynamic_pricing(range(1, count + 1))  # anew: its analysis is kept
            policy = pm.policies.make(name)
            start = process_time()
            state = policy.init(game, 1)
            first = process_time() - start
            took = seconds_per_round(policy, game, [1 / count] * count, seeds=1)
            shown = pm.simulate(game, {"own": policy}, horizon=2, seeds=1).backend["own"]
            pairs = str(len(state.geometry.pairs))
            table.add_row(str(count), pairs, name, show(first), show(took), shown)
    return table
