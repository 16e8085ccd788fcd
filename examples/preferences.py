"""Tune a setting from pairwise preferences.

Which of two espressos tastes better? Few people can say how good one is on a scale, but most can
say which of two they prefer. Here the setting is the grind of the coffee, from fine (0) to coarse
(10), and the answers come from a made-up person who prefers the better of two more often, the more
they differ. The learner asks for duels, and the picture shows what it believes after 10, 30 and 100
of them.

    python examples/preferences.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import partial_monitoring as pm

GRINDS = np.linspace(0, 10, 41)[:, None]
AFTER = (10, 30, 100)


def taste(grind: np.ndarray) -> np.ndarray:
    """Return how much the person likes a grind, between 0 and 1, which nobody ever sees."""
    x = np.asarray(grind, dtype=float).reshape(-1)
    good = 0.9 * np.exp(-0.5 * ((x - 6.3) / 1.4) ** 2)
    fair = 0.45 * np.exp(-0.5 * ((x - 2.0) / 1.1) ** 2)
    return np.asarray(good + fair)


def preferred(first: float, second: float, rng: np.random.Generator) -> str:
    """Return which of two espressos the person prefers."""
    ahead = float(taste(np.array([first]))[0] - taste(np.array([second]))[0])
    return "first" if rng.random() < (1 + ahead) / 2 else "second"


def learn(seed: int = 0) -> tuple[pm.Learner, dict[int, dict[str, Any]]]:
    """Ask for duels, and keep what is believed after some of them."""
    game = pm.games.kernelized_dueling(
        GRINDS,
        kernel=pm.kernels.SquaredExponential(lengthscale=1.5),
        feedback="sign",
        norm_bound=1.1,
        items=[f"{x:g}" for x in GRINDS[:, 0]],
    )
    # Two standard deviations are often enough and guarantee nothing; pm.DuelingIDS() itself is as
    # careful as the theory, and explores longer.
    learner = pm.Learner(game, pm.DuelingIDS(confidence=pm.confidence.deviations(2)), seed=seed)
    rng = np.random.default_rng(seed)
    believed = {}
    asked: list[float] = []
    for t in range(1, max(AFTER) + 1):
        decision = learner.ask()
        first, second = float(decision.first), float(decision.second)
        learner.tell(decision, preferred(first, second, rng))
        asked += [first, second]
        if t in AFTER:
            confidence = learner.confidence_set()
            best = int(confidence.means[0].argmax())
            believed[t] = {
                "best": float(GRINDS[best, 0]),
                "utility": confidence.means[0] - confidence.means[0, best],
                "width": confidence.widths(0, best),
                "asked": list(asked),
            }
    return learner, believed


def draw(believed: dict[int, dict[str, Any]], path: Path) -> None:
    """Draw the utility relative to the favourite, with its uncertainty, after some duels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(believed), figsize=(11, 3.4), sharey=True, dpi=120)
    x = GRINDS[:, 0]
    for axis, (t, known) in zip(axes, believed.items(), strict=True):
        low, high = known["utility"] - known["width"], known["utility"] + known["width"]
        axis.fill_between(x, low, high, color="#4C78A8", alpha=0.2, label="plausible")
        axis.plot(x, known["utility"], color="#4C78A8", label="estimate")
        truth = taste(x) - taste(np.array([known["best"]]))[0]
        axis.plot(x, truth, color="black", linestyle="--", linewidth=1, label="truth")
        axis.plot(known["asked"], np.full(len(known["asked"]), -1.45), "|", color="#E45756")
        axis.axvline(known["best"], color="#4C78A8", linewidth=0.8, linestyle=":")
        axis.set(title=f"after {t} duels: {known['best']:g}", xlabel="grind", ylim=(-1.55, 1.2))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("taste, compared with the favourite")
    axes[0].legend(frameon=False, loc="upper left", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(folder: str = ".") -> None:
    """Learn, say what was found, and draw it."""
    learner, believed = learn()
    best = float(GRINDS[int(taste(GRINDS).argmax()), 0])
    for t, known in believed.items():
        lost = float(taste(np.array([best]))[0] - taste(np.array([known["best"]]))[0])
        print(f"after {t:3d} duels: grind {known['best']:g} looks best, {lost:.2f} below the best")
    print(learner.status())
    path = Path(folder) / "preferences.png"
    draw(believed, path)
    print(f"The picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
