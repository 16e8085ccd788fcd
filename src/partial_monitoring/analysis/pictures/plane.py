"""Cells in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.text import Text

from partial_monitoring.analysis.cells import Pair
from partial_monitoring.analysis.facts import Facts
from partial_monitoring.analysis.pictures import frame as frames
from partial_monitoring.analysis.pictures import parts
from partial_monitoring.analysis.pictures.frame import CORNERS, Frame, clipped, outline, side_on
from partial_monitoring.validation import Array

FADING = (1.25, 1.2, 1.15, 1.1, 1.05)
"""Factors by which an unbounded set is drawn beyond its window, ever fainter."""
MOST_LEADERS = 12
"""Largest number of names outside with a line to their cell; smaller cells stay nameless."""


def draw_plane(facts: Facts, ax: Axes) -> None:
    """Draw the cells of a game over a set of dimension two."""
    frame, colors = frames.frame_of(facts), parts.colors_of(facts)
    region, _ = outline(frame)
    polygons = {a: clipped(region, *frame.leads(a)) for a in colors}
    polygons = {a: polygon for a, polygon in polygons.items() if len(polygon) > 2}
    for a, polygon in polygons.items():
        ax.fill(*polygon.T, color=colors[a], linewidth=0, gid=f"cell-{a}", zorder=1)
    _draw_sides(ax, frame, colors)
    parts.draw_strokes(ax, facts, _shared_sides(frame))
    points = frame.tie_points()
    parts.draw_tie_points(ax, points)
    _set_frame(ax, frame)
    named = len(points) <= parts.MOST_NAMED
    notes = parts.notes_on(facts, degenerate=not named, dominated=True)
    parts.add_legend(ax, facts, notes, points=bool(points))
    parts.make_room(ax)
    _name_cells(ax, facts, polygons)
    for point, actions in points.items() if named else ():
        _name_point(ax, np.array(point), parts.label_list(facts, actions, 16))
    parts.make_room(ax)


def _draw_sides(ax: Axes, frame: Frame, colors: Mapping[int, str]) -> None:
    """Draw the sides of the set, and let its cells fade out where it has none."""
    region, endless = outline(frame)
    if not endless:
        ax.fill(*region.T, fill=False, edgecolor=parts.INK, linewidth=0.8, zorder=2)
        return
    for stretch in FADING:
        beyond, _ = outline(frame, stretch)
        for a, color in colors.items():
            polygon = clipped(beyond, *frame.leads(a))
            ax.fill(*polygon.T, color=color, alpha=0.25, linewidth=0, zorder=0.5)
    ends = [side_on(beyond, *side) for side in zip(*frame.sides, strict=True)]
    lines = [line for line in ends if line is not None]
    ax.add_collection(LineCollection(lines, colors=parts.INK, linewidths=0.8, zorder=2))


def _shared_sides(frame: Frame) -> dict[Pair, Array]:
    """Return the side, shape (2, 2), that each pair of neighbouring cells shares."""
    region, _ = outline(frame, FADING[2])
    sides = {}
    for a, b in parts.kinds_of(frame.facts):
        ends = side_on(clipped(region, *frame.leads(a)), *frame.tie(a, b))
        if ends is not None:
            sides[a, b] = ends
    return sides


def _set_frame(ax: Axes, frame: Frame) -> None:
    """Set the limits, and show axes where the coordinates mean something, else the corners."""
    region, _ = outline(frame, FADING[0])
    low, high = region.min(axis=0), region.max(axis=0)
    pad = 0.02 * (high - low).max()
    thin = (high - low).max() > 4 * (high - low).min() and bool(frame.names)
    pads = 0.02 * (high - low) if thin else np.full(2, pad)
    ax.set(
        xlim=(low[0] - pads[0], high[0] + pads[0]),
        ylim=(low[1] - pads[1], high[1] + pads[1]),
        aspect="auto" if thin else "equal",
    )
    if frame.names:
        ax.set_xlabel(frame.names[0], fontsize=parts.NORMAL)
        ax.set_ylabel(frame.names[1], fontsize=parts.NORMAL, rotation=0, ha="right", va="center")
        ax.locator_params(nbins=5)
        parts.small_ticks(ax)
        ax.spines[:].set_visible(False)
    else:
        ax.set_axis_off()
        _name_corners(ax, frame, region)
        parts.make_room(ax)


def _name_corners(ax: Axes, frame: Frame, region: Array) -> None:
    """Write the outcomes, or the coordinates if there are few, beside the corners of the set."""
    game = frame.facts.game
    if frame.corners:
        parts.figure_of(ax).draw_without_rendering()
        aligned = zip(CORNERS[3], frame.corners, ("left", "right", "center"), strict=True)
        for corner, label, align in aligned:
            offset = np.array([0, 4 if align == "center" else -4])
            size = parts.NORMAL if len(label) <= 12 else parts.SMALL
            text = parts.write_beside(ax, corner, offset, fill(label, 16), size, parts.GREY)
            text.set(ha=align if parts.sizes_of(ax, [text])[0, 0] < 0.25 else "center")
    elif len(region) <= 8 and game.d <= 5:
        for corner in region:
            away = (corner - frame.middle) / np.linalg.norm(corner - frame.middle)
            parts.write_beside(
                ax, corner, 4 * away, frame.coordinates(corner), parts.SMALL, parts.GREY
            )


def _name_cells(ax: Axes, facts: Facts, polygons: Mapping[int, Array]) -> None:
    """Write the name of each cell into it, or outside with a line to it where it does not fit.

    Names outside make the picture smaller, so that others may have to follow.
    """
    places = {a: frames.area_and_centroid(polygon) for a, polygon in polygons.items()}
    corners = np.concatenate(list(polygons.values()))
    margin = 0.02 * np.ptp(corners, axis=0) * [1, 0]
    low, high = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    outside: set[int] = set()
    texts: list[Text] = []
    while True:
        for text in texts:
            text.remove()
        largest = sorted(outside, key=lambda a: -places[a][0])[:MOST_LEADERS]
        names = [(places[a][1], parts.action_name(facts, a)) for a in largest]
        texts = _draw_leaders(ax, names, low, high)
        inside = {
            a: _name_inside(ax, polygons[a], parts.action_name(facts, a))
            for a in polygons
            if a not in outside
        }
        texts += [text for text in inside.values() if text]
        tight = {a for a, text in inside.items() if text is None}
        if not tight:
            return
        outside |= tight


def _name_inside(ax: Axes, polygon: Array, name: str) -> Text | None:
    """Write a name into a cell, unless it is too small."""
    text = ax.text(0, 0, name or " ", ha="center", va="center", color=parts.INK, zorder=5)
    for size in (parts.NORMAL, parts.SMALL):
        text.set_fontsize(size)
        place, room = frames.roomiest(polygon, parts.sizes_of(ax, [text])[0] / 2)
        if room >= 1.15:
            text.set_position((place[0], place[1]))
            return text
    text.remove()
    return None


def _draw_leaders(
    ax: Axes, places: Sequence[tuple[Array, str]], low: Array, high: Array
) -> list[Text]:
    """Write names left and right of a box, each with a line to its place."""
    bottom, top = ax.get_ylim()
    height = 1.6 * parts.SMALL / 72 * parts.figure_of(ax).dpi / ax.bbox.height * (top - bottom)
    line = {"arrowstyle": "-", "linewidth": 0.5, "color": parts.GREY, "shrinkB": 0}
    texts: list[Text] = []
    for edge, align in ((low[0], "right"), (high[0], "left")):
        own = [p for p in places if (p[0][0] < (low[0] + high[0]) / 2) == (align == "right")]
        own.sort(key=lambda found: float(found[0][1]))
        wanted = np.array([point[1] for point, _ in own])
        for (point, name), y in zip(
            own, frames.moved_apart(wanted, height, low[1], high[1]), strict=True
        ):
            text = ax.annotate(name, (point[0], point[1]), (edge, y), arrowprops=line)
            text.set(ha=align, va="center", fontsize=parts.SMALL, color=parts.INK, zorder=5)
            texts.append(text)
    if texts:
        parts.make_room(ax)
    return texts


def _name_point(ax: Axes, point: Array, name: str) -> None:
    """Write a name beside a point, on the side where it covers least."""
    corners = [np.asarray(patch.get_path().vertices) for patch in ax.patches]
    ends = np.concatenate([np.stack([path[:-1], path[1:]], axis=1) for path in corners])
    share = np.linspace(0, 1, 101)[:, None, None]
    busy = ax.transData.transform(((1 - share) * ends[:, 0] + share * ends[:, 1]).reshape(-1, 2))
    others = [text.get_window_extent() for text in ax.texts]
    found: list[tuple[float, Array]] = []
    for distance, turn in product((4.5, 8.0, 12.0), range(16)):
        angle = np.pi * turn / 8
        offset = distance * np.array([np.cos(angle), np.sin(angle)])
        text = parts.write_beside(ax, point, offset, name, parts.SMALL)
        box = text.get_window_extent()
        text.remove()
        covered = ((busy > box.p0) & (busy < box.p1)).all(axis=1).sum()
        beyond = ((box.p0 < ax.bbox.p0) | (box.p1 > ax.bbox.p1)).any()
        cost = distance + 5 * covered + 100 * beyond + 1000 * box.count_overlaps(others)
        found.append((float(cost), offset))
    best = min(found, key=lambda pair: pair[0])[1]
    parts.write_beside(ax, point, best, name, parts.SMALL)
