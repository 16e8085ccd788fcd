"""Say and draw what came out of a case."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from examples.cases.case import Case

Played = Mapping[str, tuple[np.ndarray, np.ndarray]]


def mean_and_error(totals: np.ndarray) -> tuple[float, float]:
    """Return the mean of the totals of random orders and its standard error."""
    return float(totals.mean()), float(totals.std(ddof=1) / np.sqrt(len(totals)))


def table(case: Case, played: Played) -> str:
    """Return a table with the regret of every policy and how often it played what."""
    actions = next(iter(case.segments.values())).game.actions
    certified = played["ids"][0][:, -1].mean()
    lines = [f"{'policy':<16}{'regret':>9}{'s.e.':>7}{'of ids':>8}   played"]
    for name, (regret, plays) in played.items():
        mean, error = mean_and_error(regret[:, -1])
        shares = plays.sum(axis=0) / plays.sum()
        shown = ", ".join(f"{a} {s:.0%}" for a, s in zip(actions, shares, strict=True))
        lines.append(f"{name:<16}{mean:>9.1f}{error:>7.1f}{mean / certified:>8.2f}   {shown}")
    return "\n".join(lines)


def draw(case: Case, played: Played, path: Path) -> None:
    """Draw the regret over the rounds, averaged over the orders, with its standard error."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.6), dpi=120)
    rounds = np.linspace(0, case.rounds, 101)
    for name, (regret, _) in played.items():
        mean, error = regret.mean(axis=0), regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
        (line,) = axis.plot(rounds, mean, label=name)
        axis.fill_between(rounds, mean - error, mean + error, color=line.get_color(), alpha=0.2)
    axis.set(title=case.title, xlabel="rounds", ylabel=f"regret, {case.unit}")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(case: Case) -> None:
    """Play a case, print its segments and its table, and draw the picture."""
    print(f"{case.title}: {case.rounds} rounds, {case.orders} random orders, regret in {case.unit}")
    for name, rows in case.segments.items():
        means = zip(rows.game.actions, np.nanmean(rows.earned, axis=0), strict=True)
        print(f"  {name}: " + ", ".join(f"{action} earns {mean:.2f}" for action, mean in means))
    played = case.played()
    print(table(case, played))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / f"{case.name}.png"
    draw(case, played, path)
    print(f"The picture: {path}")
