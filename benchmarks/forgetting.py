"""What forgetting saves in a world that moves, and what it costs in one that stands still."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm

HORIZON, PAIRS, SEEDS = 10_000, 24, 2

HALF_LIFE = 2000.0
"""The half-life of the promise: with one switch at half of the rounds at most 0.5 times the regret
of no forgetting, and in a still world at most 2 times."""

HALF_LIVES = (None, 500.0, 1000.0, HALF_LIFE, 4000.0)

Build = Any
"""A policy without its half-life, and options."""

PRACTICAL = {"confidence": pm.confidence.calibrated()}

GAMES: dict[str, dict[str, tuple[Build, dict[str, Any]]]] = {
    "dynamic_pricing": {
        "default": (pm.Calibrated, {}),
        "IDS": (pm.IDS, {}),
        "IDS, calibrated": (pm.IDS, PRACTICAL),
        "epsilon-greedy": (pm.EpsilonGreedy, {}),
    },
    "apple_tasting": {
        "default": (pm.Calibrated, {}),
        "IDS": (pm.IDS, {}),
        "IDS, calibrated": (pm.IDS, PRACTICAL),
    },
    "linear_bandit": {
        "default": (pm.Calibrated, {}),
        "IDS": (pm.IDS, {}),
        "IDS, calibrated": (pm.IDS, PRACTICAL),
        "LinUCB": (pm.LinUCB, {}),
        "LinTS": (pm.LinTS, {}),
        "epsilon-greedy": (pm.EpsilonGreedy, {}),
        "SquareCB": (pm.SquareCB, {}),
    },
}


def pairs(game: str, count: int) -> list[tuple[Any, Any]]:
    """Return pairs of true parameters, drawn as random truths are; different actions are best."""
    drawn = pm.simulate(game, "random", "random", horizon=1, seeds=20 * count).theta
    features = pm.games.make(game).features
    best = (drawn @ features.T).argmax(axis=1)
    chosen = [i for i in range(0, 20 * count, 2) if best[i] != best[i + 1]]
    return [(drawn[i], drawn[i + 1]) for i in chosen[:count]]


def worlds(one: Any, two: Any) -> dict[str, Any]:
    """Return a world that stands still, one that switches, and one that drifts."""
    return {
        "still": one,
        "switch": pm.truths.switching([one, two]),
        "drift": pm.truths.drifting([one, two]),
    }


def regrets(
    game: str, policies: dict[str, Any], world: str, horizon: int, count: int, seeds: int
) -> dict[str, np.ndarray]:
    """Return the regret of policies (runs,) over pairs of truths and seeds."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in policies}
    for one, two in pairs(game, count):
        theta, options = worlds(one, two)[world], {"horizon": horizon, "seeds": seeds}
        result = pm.simulate(game, policies, theta, checkpoints=[horizon], **options)
        for name, regret in result.regret.items():
            found[name].append(regret[:, -1])
    return {name: np.concatenate(each) for name, each in found.items()}


def forgetting(
    game: str, half_lives: tuple[float | None, ...] = HALF_LIVES, scale: float = 1.0
) -> dict[str, Any]:
    """Return the policies of a game with each half-life, times a scale."""
    return {
        f"{name}, {half_life}": build(
            **options, half_life=None if half_life is None else scale * half_life
        )
        for name, (build, options) in GAMES[game].items()
        for half_life in half_lives
    }


def table_of(game: str, horizon: int = HORIZON, count: int = PAIRS, seeds: int = SEEDS) -> Table:
    """Return the regret of every policy without forgetting, and the ratios to it with it."""
    title = f"{game}: {horizon} rounds, {count} pairs of random truths, {seeds} seeds each"
    table = Table(title=title)
    for head in ("policy", "world", "no forgetting", *(f"{h:g}" for h in HALF_LIVES[1:] if h)):
        table.add_column(head)
    found = {
        world: regrets(game, forgetting(game), world, horizon, count, seeds)
        for world in ("still", "switch", "drift")
    }
    for name in GAMES[game]:
        for world, own in found.items():
            plain = own[f"{name}, None"]
            error = plain.std(ddof=1) / len(plain) ** 0.5
            ratios = [own[f"{name}, {h}"].mean() / plain.mean() for h in HALF_LIVES[1:]]
            cells = (f"{plain.mean():.0f} ± {error:.0f}", *(f"{ratio:.2f} x" for ratio in ratios))
            table.add_row(name, world, *cells)
    return table


def picture(path: Path, count: int = PAIRS, seeds: int = SEEDS) -> None:
    """Draw the regret over time of the default policy on dynamic_pricing, still and switching."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), sharey=True)
    lives: tuple[float | None, ...] = (None, 500.0, HALF_LIFE)
    policies = {f"{h}": pm.Calibrated(half_life=h) for h in lives}
    names = {"None": "no forgetting", "500.0": "half_life=500", "2000.0": "half_life=2000"}
    marks = np.linspace(0, HORIZON, 101).astype(int)[1:]
    for axis, world in zip(axes, ("still", "switch"), strict=True):
        runs: dict[str, list[np.ndarray]] = {name: [] for name in policies}
        for one, two in pairs("dynamic_pricing", count):
            options = {"horizon": HORIZON, "seeds": seeds, "checkpoints": marks}
            theta = worlds(one, two)[world]
            result = pm.simulate("dynamic_pricing", policies, theta, **options)
            for name, regret in result.regret.items():
                runs[name].append(regret)
        for name, each in runs.items():
            axis.plot(marks, np.concatenate(each).mean(axis=0), label=names[name])
        axis.set_title("a still world" if world == "still" else "one switch at half of the rounds")
        axis.set_xlabel("round")
    axes[0].set_ylabel("regret")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def run() -> list[Table]:
    return [table_of(game) for game in GAMES]


if __name__ == "__main__":
    picture(Path(__file__).parents[1] / "docs" / "assets" / "forgetting.svg")
