"""The regret of answers that come late or in batches, with open decisions expected and ignored."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm

HORIZON, SEEDS, BATCH = 10_000, 100, 300

GAME = "dynamic_pricing"

POLICIES: dict[str, Any] = {
    "default": pm.Calibrated(),
    "IDS, 2 deviations": pm.IDS(confidence=pm.confidence.deviations(2.0)),
    "RandCBP": pm.RandCBP(),
}

LATE: dict[str, dict[str, Any]] = {
    "batch 1": {},
    "batch 30": {"batch": 30},
    "batch 300": {"batch": BATCH},
    "delay 100": {"delay": 100},
}

OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "apple tasting": ("apple_tasting", {"default": pm.Calibrated(), "IDS": pm.IDS()}),
    "label-efficient": ("label_efficient", {"default": pm.Calibrated(), "CBP": pm.CBP()}),
    "Bernoulli bandit": ("bernoulli_bandit", {"default": pm.Calibrated(), "UCB1": pm.UCB1()}),
    "linear bandit": (
        "linear_bandit",
        {"default": pm.Calibrated(), "IDS": pm.IDS(), "LinUCB": pm.LinUCB()},
    ),
    "duels": ("dueling", {"default": pm.Calibrated(), "DuelingIDS": pm.DuelingIDS()}),
    "survey": ("survey", {"default": pm.Calibrated(), "ContextualIDS": pm.ContextualIDS()}),
}
"""Other games, with the policies that play them."""


def regrets(
    game: str, policies: dict[str, Any], late: dict[str, Any], horizon: int, seeds: int
) -> dict[str, np.ndarray]:
    """Return the regrets (seeds,) of policies, true parameters drawn."""
    marks, options = [horizon], {"horizon": horizon, "seeds": seeds}
    result = pm.simulate(game, policies, "random", checkpoints=marks, **options, **late)
    return {name: regret[:, -1] for name, regret in result.regret.items()}


def allowance(horizon: int = HORIZON, seeds: int = SEEDS, batch: int = BATCH) -> float:
    """Return 1.5 times what uniform play loses in one batch, the first of which is blind."""
    uniform = regrets(GAME, {"random": pm.Random()}, {}, horizon, seeds)["random"]
    return 1.5 * batch * float(uniform.mean()) / horizon


def shown(regret: np.ndarray) -> str:
    """Show a mean with its standard error."""
    return f"{regret.mean():.0f} ± {regret.std(ddof=1) / len(regret) ** 0.5:.0f}"


def batches(horizon: int = HORIZON, seeds: int = SEEDS) -> Table:
    """Regret of policies whose answers come late, and what is allowed for the largest batch."""
    table = Table(title=f"Regret on {GAME} with random truths, {horizon} rounds, {seeds} seeds")
    for title in ("policy", "open decisions", *LATE, f"allowed in batch {BATCH}"):
        table.add_column(title)
    more = allowance(horizon, seeds)
    for name, policy in POLICIES.items():
        for pending in ("expected", "ignored"):
            found = [
                regrets(GAME, {name: policy}, late | {"pending": pending}, horizon, seeds)[name]
                for late in LATE.values()
            ]
            table.add_row(name, pending, *map(shown, found), f"{found[0].mean() + more:.0f}")
    return table


def others(horizon: int = 2000, seeds: int = 40) -> Table:
    """Regret of the same kind on other games."""
    late = {"batch 1": {}, "batch 100": {"batch": 100}, "delay 100": {"delay": 100}}
    table = Table(title=f"Regret with random truths, {horizon} rounds, {seeds} seeds")
    for title in ("game", "policy", "batch 1"):
        table.add_column(title)
    for title in [*late][1:]:
        table.add_column(f"{title}, expected")
        table.add_column("ignored")
    for title, (game, policies) in OTHERS.items():
        found = [regrets(game, policies, {}, horizon, seeds)]
        for own in [*late.values()][1:]:
            for pending in ("expected", "ignored"):
                found.append(regrets(game, policies, own | {"pending": pending}, horizon, seeds))
        for name in policies:
            table.add_row(title, name, *(shown(own[name]) for own in found))
    return table


def run() -> list[Table]:
    return [batches(), others()]
