"""What a report draws over the rounds, in which colours and under which names.

One colour and dash for each policy, the same in every chart, figure and table; regret, information
and its price; and the actions played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from partial_monitoring.report.names import short
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import Array, Indices

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
"""The palette of Okabe and Ito without its yellow, which is too light for lines on white."""

DARK = {"#333333": "#c9ced4", "#767676": "#9aa3ad", "#dddddd": "#5d6670"}
"""What takes the place of colours that are too dark, or too light, on a dark page."""

DASHES = ("solid", "dash", "dot", "dashdot")
"""When all colours are used they repeat with the next dash."""

ACTION_COLORS = ("#77aadd", "#eedd88", "#ee8866", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33")
"""The light palette of Paul Tol, for the areas of actions: they cannot be mistaken for policies."""

OTHERS_COLOR = "#dddddd"
GUIDE_COLOR = "#767676"
"""For bounds and other lines that are not policies."""

MOST_POINTS = 200
"""Largest number of checkpoints that a curve goes through; of more, some are chosen."""

FAR = 30.0
"""Largest multiple of the regret up to which logarithmic axes show a bound."""

MOST_ACTIONS = len(ACTION_COLORS)
"""Largest number of actions with their own areas; the rest are drawn together."""


@dataclass(frozen=True)
class Style:
    """How the line of a policy is drawn."""

    color: str
    dash: str

    @property
    def dark(self) -> str:
        """The colour on a dark page."""
        return DARK.get(self.color, self.color)

    @property
    def fill(self) -> str:
        """The colour as numbers, to be given an opacity: "0, 114, 178"."""
        return ", ".join(str(int(self.color[i : i + 2], 16)) for i in (1, 3, 5))


def policy_styles(comparisons: Sequence[Comparison]) -> Mapping[str, Style]:
    """Return the style of every policy, in order of first appearance.

    A policy added at the end of an experiment leaves the colours of the others as they were.
    """
    names = dict.fromkeys(
        name
        for comparison in comparisons
        for name in (*comparison.policies, *comparison.result.policies)
    )
    styles = (Style(color, dash) for dash in cycle(DASHES) for color in COLORS)
    return dict(zip(names, styles, strict=False))


def action_colors(count: int, *, others: bool) -> list[str]:
    """Return colours for the most played actions, and grey for the rest taken together."""
    colors = [ACTION_COLORS[i % len(ACTION_COLORS)] for i in range(count - others)]
    return [*colors, OTHERS_COLOR] if others else colors


INFORMATION = {
    "information": "information gained",
    "ratio": "information ratio",
    "price": "regret per unit of information",
}
"""The curves about information, with their titles."""


@dataclass(frozen=True, eq=False)
class Curves:
    """One policy over the rounds, each array of shape (points,)."""

    rounds: Indices
    mean: Array
    error: Array
    """Standard error of the mean; nan for a single seed."""
    low: Array
    median: Array
    high: Array
    """Quantiles 5, 50 and 95 % of the regret over seeds."""
    information: Array
    """Mean information gained; nan for a policy without that notion."""
    ratio: Array
    """Median over seeds of the average information ratio so far; may be infinite."""
    price: Array
    """Mean regret over mean information: what a unit of information has cost so far."""


def curves(result: Result, policy: str) -> Curves:
    """Return the curves of a policy through some of the checkpoints."""
    at = thinned(result.checkpoints)
    played = np.ix_(result.played(policy), at)
    regret = result.regret[policy][played]
    low, median, high = np.quantile(regret, [0.05, 0.5, 0.95], axis=0)
    mean = regret.mean(axis=0)
    information = result.information[policy][played].mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing learned: no price, or infinite
        price = mean / information
    return Curves(
        result.checkpoints[at],
        mean,
        result.standard_error(policy)[at],
        low,
        median,
        high,
        information,
        np.median(result.ratio[policy][played], axis=0),
        price,
    )


def log_range(drawn: Mapping[str, Curves], guides: Sequence[Array]) -> tuple[float, float] | None:
    """Return the lowest and highest regret on logarithmic axes; None if there is no regret.

    Bounds far above all regret would press the curves to the floor, so they may leave the view.
    """
    positive = np.concatenate([curve.mean[curve.mean > 0] for curve in drawn.values()])
    if not positive.size:
        return None
    # With regret in a few runs only, the mean may be above the quantile.
    top = max(float(max(curve.high.max(), curve.mean.max())) for curve in drawn.values())
    highest = max((float(np.nanmax(bound)) for bound in guides), default=top)
    return float(positive.min()) / 2, 1.5 * max(top, min(highest, FAR * top))


def thinned(checkpoints: Indices) -> Indices:
    """Choose checkpoints that are dense enough on a linear and on a logarithmic axis.

    >>> len(thinned(np.arange(1, 10**6))) <= 2 * MOST_POINTS
    True
    """
    if len(checkpoints) <= MOST_POINTS:
        return np.arange(len(checkpoints))
    ends = float(checkpoints[0]), float(checkpoints[-1])
    wanted = np.concatenate([np.linspace(*ends, MOST_POINTS), np.geomspace(*ends, MOST_POINTS)])
    at = np.searchsorted(checkpoints, np.floor(wanted))
    return np.unique(np.minimum(at, len(checkpoints) - 1))


@dataclass(frozen=True, eq=False)
class Plays:
    """The share of each action in the rounds between checkpoints."""

    rounds: Indices
    actions: tuple[str, ...]
    """The most played ones over all policies; last the others together, if ``others``."""
    others: bool
    shares: Mapping[str, Array]
    """By policy, shape (points, actions); every row sums to 1."""


def plays(comparison: Comparison) -> Plays | None:
    """Return what was played; None if plays were not counted because there are too many actions."""
    result = comparison.result
    if not result.plays or any(counts.shape[2] == 0 for counts in result.plays.values()):
        return None
    at = thinned(result.checkpoints)
    totals_at = {name: counts[:, at].sum(axis=0) for name, counts in result.plays.items()}
    played = {name: np.diff(total, axis=0, prepend=0) for name, total in totals_at.items()}
    totals = np.max([counts.sum(axis=0) for counts in played.values()], axis=0)
    k = len(totals)
    others = k > MOST_ACTIONS
    chosen = np.sort(np.argsort(-totals, kind="stable")[: MOST_ACTIONS - others])
    rest = np.setdiff1d(np.arange(k), chosen)
    names = tuple(short(comparison.game.action_label(int(a)), 24) for a in chosen)
    shares = {}
    for name, counts in played.items():
        grouped = counts[:, chosen]
        if others:
            grouped = np.column_stack([grouped, counts[:, rest].sum(axis=1)])
        shares[name] = grouped / grouped.sum(axis=1, keepdims=True)
    if others:
        names = (*names, f"{len(rest):,} others")
    return Plays(result.checkpoints[at], names, others, shares)
