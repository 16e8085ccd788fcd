"""What forgetting saves in a world that moves, and what it costs in one that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import partial_monitoring as pm
from partial_monitoring.estimation.forgetting import Forgetting

HORIZON = 10_000

PAIRS, PAIRS_OF_DEFAULT = 50, 200
"""Numbers of pairs of random truths; each has noise of its own."""

HALF_LIFE = 2000.0
"""The half-life of the promise: with one switch at half of the rounds at most 0.5 times the regret
of no forgetting, and in a still world at most 2 times."""

HALF_LIVES = (None, 500.0, HALF_LIFE)

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
    "label_efficient": {"default": (pm.Calibrated, {})},
    "bernoulli_bandit": {"default": (pm.Calibrated, {})},
    "feedback_graph": {"default": (pm.Calibrated, {})},
    "spam_filter": {"default": (pm.Calibrated, {})},
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
    game: str, policies: dict[str, Any], world: str, horizon: int, count: int
) -> dict[str, np.ndarray]:
    """Return the regret of policies (runs,), one run for each pair of truths."""
    marks = np.array([horizon])
    return {name: own[:, -1] for name, own in curves(game, policies, world, marks, count).items()}


def curves(
    game: str, policies: dict[str, Any], world: str, marks: np.ndarray, count: int
) -> dict[str, np.ndarray]:
    """Return the regret of policies at some rounds, the last at the end, shape (runs, marks)."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in policies}
    for seed, (one, two) in enumerate(pairs(game, count)):  # a seed of its own is noise of its own
        options = {"horizon": int(marks[-1]), "checkpoints": marks, "seeds": [seed]}
        result = pm.simulate(game, policies, worlds(one, two)[world], **options)
        for name, regret in result.regret.items():
            found[name].append(regret)
    return {name: np.concatenate(each) for name, each in found.items()}


def forgetting(
    game: str, name: str, half_lives: tuple[float | None, ...] = HALF_LIVES, scale: float = 1.0
) -> dict[str, Any]:
    """Return a policy of a game with each half-life, times a scale."""
    build, options = GAMES[game][name]
    return {
        f"{life}": build(**options, half_life=None if life is None else scale * life)
        for life in half_lives
    }


def ratio(forgot: np.ndarray, plain: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means over the same pairs (runs,), and its standard error."""
    found = float(forgot.mean() / plain.mean())
    spread = float((forgot - found * plain).std(ddof=1)) / len(plain) ** 0.5
    return found, spread / float(plain.mean())


def without_noise(
    game: str, half_life: float | None, horizon: int = HORIZON, count: int = PAIRS_OF_DEFAULT
) -> np.ndarray:
    """Return the regret after a switch (runs,) of playing what is best by the mean truth.

    All rounds are observed without noise and weighed by age alone: what is left is the time that
    the mean of old and new ones takes to turn around.
    """
    features, before = pm.games.make(game).features, horizon // 2
    keep, new = Forgetting(half_life).keep, np.arange(horizon - before)
    if keep == 1.0:
        share = new / (before + new)
    else:
        share = (1.0 - keep**new) / (1.0 - keep ** (before + new))
    found = []
    for one, two in pairs(game, count):
        mean = np.outer(1.0 - share, features @ one) + np.outer(share, features @ two)
        rewards = features @ two
        found.append(float((rewards.max() - rewards[mean.argmax(axis=1)]).sum()))
    return np.array(found)


def table_of(game: str) -> Table:
    """Return the regret of every policy without forgetting, and the ratios to it with it."""
    table = Table(title=f"{game}: {HORIZON} rounds; regret, and ratio to it with a half-life")
    for head in ("policy", "pairs", "world", "regret", *(f"{h:g}" for h in HALF_LIVES[1:] if h)):
        table.add_column(head)

    def add(name: str, world: str, own: dict[str, np.ndarray]) -> None:
        plain = own["None"]
        error = plain.std(ddof=1) / len(plain) ** 0.5
        ratios = [ratio(own[f"{life}"], plain) for life in HALF_LIVES[1:]]
        cells = (f"{found:.2f} ± {spread:.2f}" for found, spread in ratios)
        table.add_row(name, f"{len(plain)}", world, f"{plain.mean():.1f} ± {error:.1f}", *cells)

    add("no noise", "switch", {f"{life}": without_noise(game, life) for life in HALF_LIVES})
    for name in GAMES[game]:
        count = PAIRS_OF_DEFAULT if name == "default" else PAIRS
        for world in ("still", "switch", "drift"):
            add(name, world, regrets(game, forgetting(game, name), world, HORIZON, count))
    return table


def picture(path: Path, count: int = PAIRS_OF_DEFAULT) -> None:
    """Draw the regret over time of the default policy on dynamic_pricing, still and switching."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6))
    names = {"None": "no forgetting", "500.0": "half_life=500", "2000.0": "half_life=2000"}
    marks = np.linspace(0, HORIZON, 101).astype(int)[1:]
    policies = forgetting("dynamic_pricing", "default")
    for axis, world in zip(axes, ("still", "switch"), strict=True):
        for name, runs in curves("dynamic_pricing", policies, world, marks, count).items():
            mean, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / len(runs) ** 0.5
            axis.plot(marks, mean, label=names[name])
            axis.fill_between(marks, mean - 2.0 * error, mean + 2.0 * error, alpha=0.2)
        axis.set_title("a still world" if world == "still" else "one switch at half of the rounds")
        axis.set_xlabel("round")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("regret")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def run() -> Iterator[Table]:
    yield from map(table_of, GAMES)


if __name__ == "__main__":
    picture(Path(__file__).parents[1] / "docs" / "assets" / "forgetting.svg")
