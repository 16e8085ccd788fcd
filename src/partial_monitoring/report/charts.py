"""The charts of the page: plain data that plotly.js draws in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from partial_monitoring.errors import visible
from partial_monitoring.report.names import short
from partial_monitoring.report.series import (
    GUIDE_COLOR,
    INFORMATION,
    Curves,
    Plays,
    Style,
    action_colors,
    log_range,
)
from partial_monitoring.report.summary import Section
from partial_monitoring.report.text import power
from partial_monitoring.validation import Array, Indices

Chart = dict[str, Any]
"""``views``: by name, each with ``data`` (traces) and ``layout``; the first one is shown."""

GRID = "#ececec"
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 13, "color": "#333"}
MARGIN = {"l": 56, "r": 12, "t": 10, "b": 44}
SMALL_MARGIN = {"l": 46, "r": 8, "t": 8, "b": 36}

FEW = 4
"""Largest number of policies whose quantile bands are shown from the start."""

NEAR = 2.0
"""Largest ratio of a bound to the regret at which linear axes show the bound."""


def regret_chart(section: Section, styles: Mapping[str, Style]) -> Chart:
    """Return regret over rounds on linear and, if there is any regret, on logarithmic axes."""
    drawn = section.curves
    rounds = next(iter(drawn.values())).rounds
    top = max(float(curve.high.max()) for curve in drawn.values())
    bounds = section.bounds(rounds)
    guides = [_guide(short(name, 60), rounds, bound, "dash") for name, bound in bounds.items()]
    fits = all(np.nanmax(bound) <= NEAR * top for bound in bounds.values())
    linear = _regret_traces(drawn, styles) + (guides if fits else [])
    views = {"linear": {"data": linear, "layout": _layout("linear")}}
    limits = log_range(drawn, [*bounds.values()])
    if limits is not None and len(rounds) > 1:
        layout = _layout("log")
        layout["yaxis"]["range"] = np.log10(limits).tolist()
        traces = _regret_traces(drawn, styles, limits[0])
        traces += [*guides, *_slope(section, rounds, top)]
        views["log-log"] = {"data": traces, "layout": layout}
    banded = len(section.comparison.result.seeds) > 1
    return {"views": views, "banded": banded, "quantiles": banded and len(drawn) <= FEW}


def information_charts(section: Section, styles: Mapping[str, Style]) -> dict[str, Chart]:
    """Return charts of the information gained, its ratio and its price, by title."""
    charts = {}
    for kind, title in INFORMATION.items():
        data = [
            _line(name, curve.rounds, getattr(curve, kind), styles[name])
            for name, curve in section.curves.items()
            if np.isfinite(getattr(curve, kind)).any()
        ]
        if data:
            charts[title.capitalize()] = _small_chart(data)
    return charts


def plays_charts(plays: Plays) -> dict[str, Chart]:
    """Return by policy a chart of the share of each action over the rounds."""
    colors = action_colors(len(plays.actions), others=plays.others)
    charts = {}
    for name, played in plays.shares.items():
        data = [
            {
                "x": plays.rounds.tolist(),
                "y": numbers(100 * played[:, a]),
                "name": action,
                "stackgroup": "plays",
                "mode": "lines",
                "line": {"width": 0, "color": colors[a]},
                "fillcolor": colors[a],
                "hovertemplate": "%{y:.0f} %",
                "meta": {},
            }
            for a, action in enumerate(map(_escaped, plays.actions))
        ]
        shares = {"range": [0, 100], "ticksuffix": " %", "rangemode": "normal"}
        charts[name] = _small_chart(data, **shares)
    return charts


def numbers(values: Array) -> list[float | None]:
    """Return numbers that JSON can hold, five digits each; None for infinity and nan.

    >>> numbers(np.array([1 / 3, np.inf, 2.0]))
    [0.33333, None, 2.0]
    """
    return [float(f"{x:.5g}") if np.isfinite(x) else None for x in values]


def _regret_traces(
    drawn: Mapping[str, Curves], styles: Mapping[str, Style], floor: float | None = None
) -> list[dict[str, Any]]:
    """Return bands first and lines above them.

    On logarithmic axes a band that reaches zero goes on below the axis, far under its ``floor``.
    """
    traces = []
    for name, c in drawn.items():
        traces.append(_band(name, c, c.low, c.high, styles[name], "quantiles", floor))
    for name, c in drawn.items():
        if np.isfinite(c.error).all():
            low, high = c.mean - c.error, c.mean + c.error
            traces.append(_band(name, c, low, high, styles[name], "error", floor))
    for name, c in drawn.items():
        mean = c.mean if floor is None else np.where(c.mean > 0, c.mean, np.nan)
        trace = _line(name, c.rounds, mean, styles[name])
        if np.isfinite(c.error).all():
            trace["customdata"] = numbers(c.error)
            trace["hovertemplate"] = "%{y:.4~g} ± %{customdata:.2~g}"
        traces.append(trace)
    return traces


def _line(name: str, rounds: Indices, values: Array, style: Style) -> dict[str, Any]:
    return {
        "x": rounds.tolist(),
        "y": numbers(values),
        "name": _escaped(short(name)),
        "mode": "lines" if len(rounds) > 2 else "lines+markers",
        "line": {"color": style.color, "dash": style.dash, "width": 2},
        "hovertemplate": "%{y:.4~g}",
        "meta": {"policy": visible(name), "part": "mean"},
    }


def _band(
    name: str, c: Curves, low: Array, high: Array, style: Style, part: str, floor: float | None
) -> dict[str, Any]:
    if floor is not None:
        low, high = (np.maximum(edge, floor / 1000) for edge in (low, high))
    rounds = c.rounds.tolist()
    opacity = 0.09 if part == "quantiles" else 0.25
    return {
        "x": rounds + rounds[::-1],
        "y": numbers(high) + numbers(low)[::-1],
        "fill": "toself",
        "mode": "lines",
        "line": {"width": 0, "color": style.color},
        "fillcolor": f"rgba({style.fill}, {opacity})",
        "hoverinfo": "skip",
        "meta": {"policy": visible(name), "part": part},
    }


def _slope(section: Section, rounds: Indices, top: float) -> list[dict[str, Any]]:
    """Return a line above the curves with the slope that the class predicts, if it has one."""
    exponent = section.verdict.exponent
    if not exponent:
        return []
    late = rounds[rounds >= rounds[-1] / 100]
    line = 1.25 * top * (late / rounds[-1]) ** exponent
    guide = _guide(f"slope {power(exponent)} ({section.verdict.category})", late, line, "dot")
    return [guide | {"hoverinfo": "skip", "hovertemplate": None}]


def _guide(name: str, rounds: Indices, values: Array, dash: str) -> dict[str, Any]:
    return _line(name, rounds, values, Style(GUIDE_COLOR, dash)) | {
        "name": _escaped(name),
        "mode": "lines",
        "line": {"color": GUIDE_COLOR, "dash": dash, "width": 1.5},
        "meta": {"part": "guide"},
    }


def _layout(scale: str) -> dict[str, Any]:
    return {
        "font": FONT,
        "margin": MARGIN,
        "height": 400,
        "showlegend": False,
        "hovermode": "x unified",
        "hoverlabel": {"namelength": -1},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#aaa", "activecolor": "#777"},
        "separators": ".,",
        "xaxis": _axis(scale, "round"),
        "yaxis": _axis(scale, "regret") | {"rangemode": "tozero"},
    }


def _small_chart(data: list[dict[str, Any]], **vertical: Any) -> Chart:
    """Return a chart of small size over the logarithm of the rounds."""
    layout = _layout("linear") | {
        "margin": SMALL_MARGIN,
        "height": 230,
        "font": FONT | {"size": 12},
        "xaxis": _axis("log", "round"),
        "yaxis": _axis("linear", "") | {"rangemode": "tozero", "nticks": 5} | vertical,
    }
    return {"views": {"log": {"data": data, "layout": layout}}}


def _axis(scale: str, title: str) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "type": scale,
        "title": {"text": title, "standoff": 6},
        "gridcolor": GRID,
        "linecolor": "#bbb",
        "zeroline": False,
        "automargin": True,
        "exponentformat": "SI",
        "separatethousands": True,
        "hoverformat": ",.0f",
    }
    if scale == "linear":
        return axis | {"nticks": 7}
    # Rounds are 1, 10, 100, 1k, ..., 10M; regret may lie below 1, where 100m would be odd.
    return axis | {"dtick": 1, "tickformat": "~s" if title == "round" else ",~r"}


def _escaped(name: str) -> str:
    """Keep plotly.js, which reads some HTML in texts, from reading any in names."""
    return escape(name, quote=False)
