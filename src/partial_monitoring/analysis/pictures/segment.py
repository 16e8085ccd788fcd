"""Reward lines over a segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.pictures import parts
from partial_monitoring.analysis.pictures.frame import FAR, Frame, frame_of, interval, moved_apart
from partial_monitoring.validation import Array


def draw_segment(facts: Facts, ax: Axes) -> None:
    """Draw the reward of every action over a set of dimension one."""
    frame = frame_of(facts)
    ties = {pair: _crossing(frame, *pair) for pair in parts.kinds_of(facts)}
    low, high = _ends(frame, [x for x, _ in ties.values()])
    lines = np.array([frame.heights(a, [low, high]) for a in range(facts.game.k)])
    margin = 0.05 * (np.ptp(lines) or 1.0)
    bottom, top = lines.min() - margin, lines.max() + margin
    ax.set(xlim=(low, high), ylim=(bottom, top))
    _draw_rewards(ax, frame, lines, low, high)
    strokes = {pair: np.array([[x, bottom], [x, y]]) for pair, (x, y) in ties.items()}
    parts.draw_strokes(ax, facts, strokes)
    for x, y in ties.values():
        ax.plot(x, y, "o", color=parts.INK, ms=4.5, clip_on=False, zorder=4)
    points = {(x, float(frame.heights(who[0], [x])[0])) for (x,), who in frame.tie_points().items()}
    parts.draw_tie_points(ax, points)
    _name_axes(ax, frame, low, high)
    others = parts.singles(facts, (*facts.degenerate, *facts.dominated))
    unnamed = len(others) > parts.MOST_NAMED
    notes = parts.notes_on(facts, degenerate=unnamed, dominated=unnamed)
    parts.add_legend(ax, facts, notes, points=bool(points))
    ends = {a: np.array([high, lines[a, 1]]) for a in ([] if unnamed else others)}
    texts = _name_lines(ax, facts, ends)
    _name_bands(ax, frame, low, high)
    _move_apart(ax, texts)
    slack = 1e-9 * (high - low)
    ax.set_xticks([x for x in ax.get_xticks() if low - slack <= x <= high + slack])
    ax.spines["bottom"].set_bounds(low, high)


def _crossing(frame: Frame, a: int, b: int) -> tuple[float, float]:
    """Return where the rewards of two actions are equal, and how high they are there."""
    normal, bound = frame.tie(a, b)
    x = float(bound / normal[0])
    return x, float(frame.heights(a, [x])[0])


def _ends(frame: Frame, ties: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the set, or of a part of it that shows all ties if it has no end."""
    low, high = interval(*frame.sides)
    middle = float(frame.middle[0])
    reach = 1.5 * max((abs(x - middle) for x in ties), default=0.0)
    reach = reach if reach * FAR > 1 else 1.0
    return low if low > -np.inf else middle - reach, high if high < np.inf else middle + reach


def _draw_rewards(ax: Axes, frame: Frame, lines: Array, low: float, high: float) -> None:
    """Draw the lines, the cells below them as bands, and the best line thick."""
    colors = parts.colors_of(frame.facts)
    for a in range(len(lines)):
        color = parts.COLORS[colors[a]] if a in colors else parts.FAINT
        if a in colors or a not in frame.facts.pareto:
            ax.plot([low, high], lines[a], color=color, linewidth=0.9, gid=f"line-{a}", zorder=2)
    for a, color in colors.items():
        best = np.clip(interval(*frame.leads(a)), low, high)
        ax.axvspan(*best, color=color, alpha=0.55, linewidth=0, gid=f"cell-{a}", zorder=1)
        look = {"color": parts.COLORS[color], "linewidth": 3, "solid_capstyle": "butt"}
        ax.plot(best, frame.heights(a, best), gid=f"best-{a}", zorder=3, **look)  # type: ignore[arg-type]


def _name_axes(ax: Axes, frame: Frame, low: float, high: float) -> None:
    """Name the axes of the rewards; ends without a name are parameters."""
    if frame.names:
        ax.set_xlabel(frame.names[0], fontsize=parts.NORMAL)
    else:
        ax.set_xticks([low, high], [frame.coordinates(np.array([x])) for x in (low, high)])
    ax.set_ylabel("expected reward", fontsize=parts.NORMAL)
    parts.small_ticks(ax)
    ax.spines[["top", "right"]].set_visible(False)


def _name_bands(ax: Axes, frame: Frame, low: float, high: float) -> None:
    """Write the name of the best action above each part of the segment."""
    colors = parts.colors_of(frame.facts)
    middles = {a: np.mean(np.clip(interval(*frame.leads(a)), low, high)) for a in colors}
    order = sorted(colors, key=lambda a: float(middles[a]))
    parts.figure_of(ax).draw_without_rendering()
    texts = [
        ax.text(low, 0.99, parts.action_name(frame.facts, a), fontsize=parts.NORMAL) for a in order
    ]
    turned = 1.15 * parts.sizes_of(ax, texts)[:, 0].sum() > high - low
    for text, a in zip(texts, order, strict=True):
        text.set(color=parts.COLORS[colors[a]], ha="center", va="top", zorder=5)
        if turned:
            text.set(rotation=90, fontsize=parts.SMALL)
        text.set_transform(ax.get_xaxis_transform())
    widths, heights = 1.15 * parts.sizes_of(ax, texts).T
    places = moved_apart(np.array([middles[a] for a in order]), widths, low, high)
    for text, x in zip(texts, places, strict=True):
        text.set_x(float(x))
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, bottom + (top - bottom) / (1 - heights.max() / (top - bottom)))


def _name_lines(ax: Axes, facts: Facts, ends: Mapping[int, Array]) -> list[Annotation]:
    """Write the names of actions beside the right ends of their lines, from below."""
    texts = [
        parts.write_beside(
            ax, ends[a], np.array([4, 0]), parts.action_name(facts, a), parts.SMALL, parts.GREY
        )
        for a in sorted(ends, key=lambda a: float(ends[a][1]))
    ]
    parts.make_room(ax)
    return texts


def _move_apart(ax: Axes, texts: Sequence[Annotation]) -> None:
    """Move texts up or down so that they do not overlap."""
    if texts:
        places = np.array([text.xy[1] for text in texts])
        heights = 1.1 * parts.sizes_of(ax, texts)[:, 1]
        for text, y in zip(texts, moved_apart(places, heights, *ax.get_ylim()), strict=True):
            text.xy = (text.xy[0], float(y))
