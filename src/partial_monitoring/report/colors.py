"""One colour and dash for each policy, the same in every chart, figure and table of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partial_monitoring.simulation.result import Comparison

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
"""The palette of Okabe and Ito without its yellow, which is too light for lines on white."""

DASHES = ("solid", "dash", "dot", "dashdot")
"""When the colours are used up they come again with the next dash."""

ACTION_COLORS = ("#77aadd", "#eedd88", "#ee8866", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33")
"""The light palette of Paul Tol, for the areas of actions: no reader takes them for policies."""

OTHERS_COLOR = "#dddddd"
GUIDE_COLOR = "#767676"
"""For bounds and other lines that are not policies."""


@dataclass(frozen=True)
class Style:
    """How the line of a policy is drawn."""

    color: str
    dash: str

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
    return {name: style(i) for i, name in enumerate(names)}


def style(place: int) -> Style:
    """Return the style of the policy at a place.

    >>> style(0), style(7)
    (Style(color='#0072b2', dash='solid'), Style(color='#0072b2', dash='dash'))
    """
    again, color = divmod(place, len(COLORS))
    return Style(COLORS[color], DASHES[again % len(DASHES)])


def action_colors(count: int, *, others: bool) -> list[str]:
    """Return colours for the most played actions, and grey for the rest taken together."""
    colors = [ACTION_COLORS[i % len(ACTION_COLORS)] for i in range(count - others)]
    return [*colors, OTHERS_COLOR] if others else colors
