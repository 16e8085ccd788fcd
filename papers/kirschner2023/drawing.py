"""The figures of the page: a panel per game, and the worst cases with their reference slopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import partial_monitoring as pm
from papers.kirschner2023.findings import EXPONENTS, by_game
from partial_monitoring.report.figures import LINES, look, svg
from partial_monitoring.report.series import Style, policy_styles
from partial_monitoring.simulation.comparison import Comparison

COLUMNS = 3


def regret_panels(comparisons: Sequence[Comparison]) -> bytes:
    """Draw the mean regret of all policies on each game, on logarithmic axes."""
    styles = policy_styles(comparisons)
    with look():
        figure, panels = _panels(len(comparisons))
        for axes, comparison in zip(panels, comparisons, strict=False):
            _regret(axes, comparison, styles)
        handles = {}
        for axes in panels:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(5, len(handles))
        )
        return svg(figure)


def growth_panels(comparisons: Sequence[Comparison]) -> bytes:
    """Draw the worst case over the instances of each game, with the slope that theory gives."""
    games = by_game(comparisons)
    with look():
        figure, panels = _panels(len(games))
        for axes, (name, instances) in zip(panels, games.items(), strict=False):
            rounds = instances[0].result.checkpoints
            for instance in instances:
                mean = instance.result.mean("ids")
                axes.plot(rounds, mean, color="#bbbbbb", linewidth=0.7)
            worst = np.max([c.result.mean("ids") for c in instances], axis=0)
            axes.plot(rounds, worst, color="#0072b2", linewidth=1.8, label="worst case")
            category = pm.analyze(instances[0].game).category
            power = {"trivial": 0.0, "easy": 1 / 2, "hard": 2 / 3, "hopeless": 1.0}[category]
            if worst[-1] > 0:
                guide = worst[-1] * (rounds / rounds[-1]) ** power
                label = f"n^{EXPONENTS[category]}"
                axes.plot(rounds, guide, color="#444444", linestyle="--", linewidth=1, label=label)
                axes.set(xscale="log", yscale="log")
            axes.set(title=name, xlabel="round", ylabel="regret")
            axes.legend()
        return svg(figure)


def _panels(count: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = 2 if count == 4 else min(COLUMNS, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(2.9 * columns, 2.5 * rows + 0.3), layout="constrained")
    panels = list(np.atleast_1d(figure.subplots(rows, columns)).ravel())
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels


def _regret(axes: Any, comparison: Comparison, styles: Mapping[str, Style]) -> None:
    result = comparison.result
    for name in result.policies:
        mean, error = result.mean(name), result.standard_error(name)
        style = styles[name]
        shown = np.where(mean > 0, mean, np.nan)
        axes.plot(
            result.checkpoints,
            shown,
            color=style.color,
            linestyle=LINES[style.dash],
            linewidth=1.4,
            label=name,
        )
        low = np.maximum(mean - error, 1e-3 * shown)
        axes.fill_between(
            result.checkpoints, low, mean + error, color=style.color, alpha=0.2, linewidth=0
        )
    axes.set(xscale="log", yscale="log", title=comparison.game_name, xlabel="round")
    low, high = axes.get_ylim()
    if high > 10 * low:  # there is a power of ten to read the axis by
        axes.yaxis.set_minor_formatter("")
