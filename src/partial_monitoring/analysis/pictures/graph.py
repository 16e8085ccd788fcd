"""The graph of neighbours."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text

from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.pictures import parts

NARROWEST = 5.0
"""Smallest distance of nodes, in points, at which all of them get a name."""


def draw_graph(facts: Facts, ax: Axes) -> None:
    """Draw the Pareto actions on a circle, with a line between neighbours."""
    nodes = facts.representatives
    turn = np.pi if len(nodes) == 2 else np.pi / 2
    angles = turn - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    at = dict(zip(nodes, places, strict=True))
    parts.draw_strokes(
        ax, facts, {(a, b): np.stack([at[a], at[b]]) for a, b in parts.kinds_of(facts)}
    )
    spacing = _circumference(ax) / len(nodes)
    size = float(np.clip(spacing / 2.5, 2, 7))
    look = {"mfc": next(iter(parts.COLORS)), "mec": parts.INK, "ms": size, "mew": 0.8}
    ax.plot(*places.T, "o", gid="nodes", zorder=4, **look)  # type: ignore[arg-type]
    bottom, top = places[:, 1].min() - 0.1, places[:, 1].max() + 0.1
    ax.set(xlim=(-1.05, 1.05), ylim=(bottom, top), aspect="equal")
    ax.set_axis_off()
    for i in range(0, len(nodes), int(np.ceil(NARROWEST / spacing))):
        name = parts.action_name(facts, nodes[i])
        text = parts.write_beside(ax, places[i], (size / 2 + 3) * places[i], name, parts.NORMAL)
        if len(nodes) > 12:
            _turn_outwards(
                text, angles[i], float(np.clip(0.8 * spacing, 0.8 * NARROWEST, parts.SMALL))
            )
    parts.make_room(ax)
    parts.add_legend(
        ax, facts, parts.notes_on(facts, degenerate=True, dominated=True), points=False
    )
    parts.make_room(ax)


def _circumference(ax: Axes) -> float:
    """Return the length in points of a circle that leaves room for names and a legend."""
    parts.figure_of(ax).draw_without_rendering()
    pixel = 72 / parts.figure_of(ax).dpi
    across = min(ax.bbox.width * pixel, ax.bbox.height * pixel - 3 * parts.NORMAL)
    return float(np.pi * 0.75 * max(across, parts.NORMAL))


def _turn_outwards(text: Text, angle: float, size: float) -> None:
    """Let a text point away from the middle, never upside down."""
    degrees = np.degrees(angle) % 360
    flip = 90.1 < degrees < 270.1
    text.set(rotation=degrees - 180 * flip, rotation_mode="anchor", fontsize=size)
    text.set(ha="right" if flip else "left", va="center_baseline")
