"""Convex polygons and intervals of a drawing, and places for labels."""

from __future__ import annotations

import numpy as np

from partial_monitoring.numerics import conic
from partial_monitoring.validation import Array


def interval(normals: Array, bounds: Array) -> tuple[float, float]:
    """Return the lowest and the highest p, a number, with normals p <= bounds."""
    slopes = normals[:, 0]
    below, above = slopes < 0, slopes > 0
    low = (bounds[below] / slopes[below]).max(initial=-np.inf)
    return float(low), float((bounds[above] / slopes[above]).min(initial=np.inf))


def clipped(polygon: Array, normals: Array, bounds: Array) -> Array:
    """Return the part of a convex polygon, vertices (n, 2), where normals p <= bounds."""
    for normal, bound in zip(normals, bounds, strict=True):
        room = bound - polygon @ normal
        if (room >= 0).all():
            continue
        following = zip(np.roll(polygon, -1, axis=0), np.roll(room, -1), strict=True)
        kept = []
        for p, s, (q, t) in zip(polygon, room, following, strict=True):
            if s >= 0:
                kept.append(p)
            if s * t < 0:
                kept.append(p + s / (s - t) * (q - p))
        polygon = np.array(kept).reshape(-1, 2)
    return polygon


def side_on(polygon: Array, normal: Array, bound: float) -> Array | None:
    """Return the ends, shape (2, 2), of the side of a polygon on a line, if it has one there."""
    away = np.abs(polygon @ normal - bound)
    on = polygon[away <= 1e-9 * max(away.max(initial=0.0), abs(bound))]
    if len(on) < 2:
        return None
    along = on @ np.array([-normal[1], normal[0]])
    return np.stack([on[along.argmin()], on[along.argmax()]])


def area_and_centroid(polygon: Array) -> tuple[float, Array]:
    """Return the area and the centre of mass of a polygon whose vertices run anticlockwise."""
    x, y = (polygon - polygon[0]).T
    crosses = x * np.roll(y, -1) - y * np.roll(x, -1)
    middles = np.column_stack([x + np.roll(x, -1), y + np.roll(y, -1)]) / 3
    return float(crosses.sum()) / 2, polygon[0] + crosses @ middles / crosses.sum()


def roomiest(polygon: Array, half: Array) -> tuple[Array, float]:
    """Return where a box with half-sides ``half`` fits best, and how many times it fits.

    The centre of mass if the box has ample room there; otherwise the place p of the largest t with
    p + t box inside: normals p + t |normals| half <= bounds, a linear program.
    """
    steps = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.linalg.norm(steps, axis=1)
    real = lengths > 1e-12 * lengths.max()
    normals = np.column_stack([steps[:, 1], -steps[:, 0]])[real] / lengths[real, None]
    bounds, widths = (normals * polygon[real]).sum(axis=1), np.abs(normals) @ half
    centre = area_and_centroid(polygon)[1]
    room = float(((bounds - normals @ centre) / widths).min())
    if room >= 1.5:
        return centre, room
    rows, free = np.column_stack([normals, widths]), np.full(3, np.inf)
    program = conic.LinearProgram(rows, np.full(len(rows), -np.inf), bounds, -free, free)
    best = program.maximize(np.array([0.0, 0.0, 1.0]))
    return (centre, room) if best is None else (best.point[:2], best.value)


def spread(places: Array, sizes: Array | float, low: float, high: float) -> Array:
    """Move sorted places apart between low and high, about as little as boxes of these sizes need.

    >>> spread(np.array([0.0, 0.1, 3.0]), np.ones(3), -9.0, 9.0)
    array([-0.45,  0.55,  3.  ])
    """
    sizes = np.broadcast_to(sizes, places.shape)
    stack = np.cumsum(sizes) - sizes / 2
    free = places - stack
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    return np.clip((up + down) / 2, low, max(low, high - sizes.sum())) + stack
