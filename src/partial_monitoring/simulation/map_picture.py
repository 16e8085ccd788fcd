"""Pictures of maps of regret: a curve, a triangle, or two coordinates, with the cells on top."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from partial_monitoring.analysis import pictures
from partial_monitoring.analysis.pictures import parts
from partial_monitoring.analysis.pictures.frame import clipped, short_label, side_on
from partial_monitoring.simulation.curves import CALM, COLORS
from partial_monitoring.simulation.grids import CORNERS, Grid
from partial_monitoring.validation import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.6, 3.1
"""Size of a new figure in inches."""

SHADES = "YlGnBu"
"""From light, where little is lost, to dark; readable without colours as well."""

RING: dict[str, Any] = {"marker": "o", "ms": 8, "mfc": "none", "mec": "#c01048", "mew": 1.4}
"""Marker of the worst point."""

MOST_CELLS = 200
"""Largest number of actions whose cells are drawn."""


class Drawable(Protocol):
    """What is drawn of a map."""

    @property
    def game(self) -> Any: ...
    @property
    def horizon(self) -> int: ...
    @property
    def seeds(self) -> Indices: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def mean(self) -> Array: ...
    @property
    def standard_error(self) -> Array: ...


def draw_map(found: Drawable, ax: Any, title: str) -> Figure:
    """Draw a map into axes or a new figure."""
    import matplotlib as mpl

    with mpl.rc_context():
        if ax is None:
            mpl.rcdefaults()
            mpl.rcParams.update(CALM)  # type: ignore[arg-type]
        axes: Axes = pictures.new_figure(WIDTH, HEIGHT).add_subplot() if ax is None else ax
        if found.grid.places.shape[1] == 1:
            _draw_curve(found, axes)
        else:
            _draw_plane(found, axes)
        axes.set_title(fill(title, 60), fontsize=parts.NORMAL)
    return pictures.figure_of(axes)


def _draw_curve(found: Drawable, ax: Axes) -> None:
    """Draw the mean regret and its standard error over one coordinate."""
    order = np.argsort(found.grid.places[:, 0])
    order = order[np.isfinite(found.mean[order])]
    x, mean, error = found.grid.places[order, 0], found.mean[order], found.standard_error[order]
    color = COLORS[0]
    if len(found.seeds) > 1:
        ax.fill_between(x, mean - error, mean + error, color=color, alpha=0.3, linewidth=0)
    ax.plot(
        x, mean, color=color, linewidth=1.3, marker="o" if len(x) < 30 else None, markersize=2.5
    )
    ax.set_ylim(0, 1.12 * float(np.max(mean + np.nan_to_num(error))) or 1.0)
    ax.set_xlim(float(x.min()), float(x.max()))
    ax.set_xlabel(found.grid.names[0], fontsize=parts.NORMAL)
    ax.set_ylabel(f"mean regret after {found.horizon:,} rounds", fontsize=parts.NORMAL)
    parts.small_ticks(ax)
    for a, low, high in _bands(found, float(x.min()), float(x.max())):
        if low > x.min():
            ax.axvline(low, color=parts.INK, linewidth=0.6)
        name = short_label(found.game.action_label(a))
        look = {"fontsize": parts.SMALL, "color": parts.GREY, "ha": "center", "va": "top"}
        if high - low > 0.015 * len(name) * float(np.ptp(x)):
            ax.text((low + high) / 2, 0.99, name, transform=ax.get_xaxis_transform(), **look)  # type: ignore[arg-type]
    worst = int(np.argmax(mean))
    ax.plot(x[worst], mean[worst], clip_on=False, zorder=5, **RING)


def _draw_plane(found: Drawable, ax: Axes) -> None:
    """Draw the mean regret over a triangle or two coordinates."""
    from matplotlib.collections import LineCollection
    from matplotlib.tri import Triangulation

    places, mean = found.grid.places, found.mean
    played = np.isfinite(mean)
    top = float(np.nanmax(mean)) or 1.0
    look: dict[str, Any] = {"cmap": SHADES, "vmin": 0.0, "vmax": top, "zorder": 1}
    if found.grid.corners:
        mesh = Triangulation(*places[played].T)
        image: Any = ax.tripcolor(mesh, mean[played], shading="gouraud", **look)
    else:
        across, along = (np.unique(places[:, i]) for i in (0, 1))
        cells = np.full((len(along), len(across)), np.nan)
        columns, rows = np.searchsorted(across, places[:, 0]), np.searchsorted(along, places[:, 1])
        cells[rows, columns] = mean
        image = ax.pcolormesh(across, along, cells, shading="nearest", **look)
    lines = _sides(found)
    ax.add_collection(LineCollection(lines, colors=parts.INK, linewidths=0.6, zorder=2))
    worst = places[int(np.nanargmax(mean))]
    ax.plot(*worst, clip_on=False, zorder=5, **RING)
    bar = pictures.figure_of(ax).colorbar(image, ax=ax, shrink=0.8, pad=0.03)
    bar.set_label(f"mean regret after {found.horizon:,} rounds", fontsize=parts.NORMAL)
    bar.ax.tick_params(labelsize=parts.SMALL, length=2.5)
    bar.outline.set_visible(False)
    if found.grid.corners:
        _name_corners(found, ax)
    else:
        ax.set_xlabel(found.grid.names[0], fontsize=parts.NORMAL)
        up = found.game.traits.finite  # names of outcomes are long
        look = {"rotation": 90} if up else {"rotation": 0, "ha": "right"}
        ax.set_ylabel(found.grid.names[1], fontsize=parts.NORMAL, **look)
        sizes = np.ptp(places, axis=0)
        ax.set_aspect("equal" if sizes.max() < 4 * sizes.min() else "auto")
        ax.grid(False)
        parts.small_ticks(ax)


def _name_corners(found: Drawable, ax: Axes) -> None:
    """Draw the triangle, and write the outcomes beside its corners."""
    corners = CORNERS[3]
    ax.fill(*corners.T, fill=False, edgecolor=parts.INK, linewidth=0.8, zorder=3)
    ax.set(xlim=(-0.08, 1.08), ylim=(-0.12, 0.98), aspect="equal")
    ax.set_axis_off()
    for corner, label, below in zip(corners, found.grid.corners, (True, True, False), strict=True):
        offset = np.array([0, -4 if below else 4])
        parts.write_beside(ax, corner, offset, fill(label, 16), parts.NORMAL, parts.GREY)


def _rewards(found: Drawable) -> tuple[Array, Array] | None:
    """Return rewards of the actions as offsets (q,) + slopes (q, D) p; equal actions once.

    None if cells are not drawn: with contexts, where each has its own, or very many actions.
    """
    if found.game.traits.contexts or found.game.k > MOST_CELLS:
        return None
    features = found.game.linear.features
    return features @ found.grid.origin, features @ found.grid.axes


def _bands(found: Drawable, low: float, high: float) -> list[tuple[int, float, float]]:
    """Return which action is best from where to where on a segment, from left to right."""
    rewards = _rewards(found)
    if rewards is None:
        return []
    offsets, slopes = rewards[0], rewards[1][:, 0]
    bands, x = [], low
    for _ in range(len(slopes)):  # the best action gets steeper from band to band
        if x >= high:
            break
        near = x + 1e-9 * (high - low)
        best = int(np.argmax(offsets + slopes * near))
        steeper = np.flatnonzero(slopes > slopes[best] + 1e-12)
        crossings = (offsets[best] - offsets[steeper]) / (slopes[steeper] - slopes[best])
        end = min(float(crossings.min(initial=np.inf)), high)
        bands.append((best, x, end))
        x = max(end, near)
    return bands


def _sides(found: Drawable) -> list[Array]:
    """Return the sides (2, 2) between cells in which different actions are best."""
    rewards = _rewards(found)
    if rewards is None:
        return []
    numbers = np.unique(np.column_stack(rewards).round(12), axis=0)
    offsets, slopes = numbers[:, 0], numbers[:, 1:]
    region, lines = _outline(found), []
    for a in range(len(numbers)):
        others = np.arange(len(numbers)) != a
        cell = clipped(region, slopes[others] - slopes[a], offsets[a] - offsets[others])
        for b in range(a) if len(cell) > 2 else ():
            side = side_on(cell, slopes[b] - slopes[a], float(offsets[a] - offsets[b]))
            if side is not None:
                lines.append(side)
    return lines


def _outline(found: Drawable) -> Array:
    """Return the polygon that the points of the grid span, shape (corners, 2)."""
    from scipy.spatial import ConvexHull

    places = found.grid.places
    return np.asarray(places[ConvexHull(places).vertices])
