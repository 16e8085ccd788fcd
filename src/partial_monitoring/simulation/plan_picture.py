"""The picture of a plan: the share of runs that know the best action, and what that costs."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from partial_monitoring.analysis import pictures
from partial_monitoring.analysis.pictures import parts
from partial_monitoring.simulation.curves import CALM, COLORS, GREY
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.8, 2.8
"""Size of a new figure in inches."""


class Drawable(Protocol):
    """What is drawn of a plan."""

    @property
    def policy(self) -> str: ...
    @property
    def chance(self) -> float: ...
    @property
    def rounds(self) -> float: ...
    @property
    def share(self) -> Array: ...
    @property
    def result(self) -> Result: ...


def draw_plan(found: Drawable, ax: Any, title: str) -> Figure:
    """Draw a plan into axes or a new figure."""
    import matplotlib as mpl

    with mpl.rc_context():
        if ax is None:
            mpl.rcdefaults()
            mpl.rcParams.update(CALM)  # type: ignore[arg-type]
        axes = pictures.new_figure(WIDTH, HEIGHT).add_subplot() if ax is None else ax
        _draw(found, axes)
        axes.set_title(fill(title, 60), fontsize=parts.NORMAL)
    return pictures.figure_of(axes)


def _draw(found: Drawable, ax: Any) -> None:
    """Draw the share on the left axis, and the regret on the right one."""
    marks, regret = found.result.checkpoints, found.result.regret[found.policy]
    half = marks <= marks[-1] // 2  # later it is not checked whether runs go on to know
    ax.step(marks[half], 100 * found.share[half], where="post", color=COLORS[0], linewidth=1.4)
    ax.axhline(100 * found.chance, color=GREY, linewidth=0.8, linestyle="--")
    ax.set(xscale="log", ylim=(0, 104))
    ax.set_xlabel("rounds", fontsize=parts.NORMAL)
    ax.set_ylabel("runs that know the best action, %", fontsize=parts.NORMAL, color=COLORS[0])
    cost = ax.twinx()
    cost.plot(marks[half], regret.mean(axis=0)[half], color=COLORS[1], linewidth=1.2)
    low, high = np.quantile(regret[:, half], [0.05, 0.95], axis=0)
    cost.fill_between(marks[half], low, high, color=COLORS[1], alpha=0.15, linewidth=0)
    cost.set_ylim(bottom=min(0.0, float(low.min())))
    cost.set_ylabel("regret, mean and 5 % to 95 % of runs", fontsize=parts.NORMAL, color=COLORS[1])
    cost.grid(False)
    if np.isfinite(found.rounds):
        ax.axvline(found.rounds, color=GREY, linewidth=0.8)
        side = {"ha": "right", "va": "bottom", "fontsize": parts.SMALL, "color": GREY}
        ax.annotate(f"{found.rounds:,.0f} ", (found.rounds, 2), **side)
    for axes in (ax, cost):
        parts.small_ticks(axes)
