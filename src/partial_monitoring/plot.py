"""Curves of results over the rounds, for papers and notebooks.

``pm.plot.regret(results)`` makes a figure, ``pm.plot.regret(results, ax)`` draws into axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.comparison import Comparison
from partial_monitoring.simulation.curves import Look, draw
from partial_monitoring.simulation.result import Result
from partial_monitoring.validation import brief, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["information", "regret"]

Results = Result | Comparison | Sequence[Result | Comparison] | Mapping[str, Result | Comparison]


def __dir__() -> list[str]:
    return __all__


def regret(
    results: Results,
    ax: Any = None,
    *,
    band: str = "both",
    scale: str = "linear",
    columns: int = 1,
    height: float | None = None,
    font_size: float | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Figure:
    """Draw the mean regret of every policy over the rounds.

    Parameters
    ----------
    results
        A ``Result`` or a ``Comparison``, several of them in a list, or a dict from titles to them;
        each gets axes of its own.
    ax
        Axes to draw into, as many as there are results; without them a new figure is made, which
        pyplot does not know.
    band
        "error" (standard error of the mean), "quantiles" (5 to 95 % of the seeds), "both" or
        "none"; the legend says what they are.
    scale
        "linear", or "log" for two logarithmic axes, on which powers are straight lines.
    columns
        Width of a new figure: 1 or 2 columns of a journal (3.4 or 7 inches).
    height
        Its height in inches; by default what the panels need.
    font_size
        In points; 8 in new figures, your own setting in axes of yours.
    title
        Of a single panel; by default the game, or the numbers of seeds and rounds. "" for none.
    legend
        Whether to name policies and bands.

    Returns
    -------
    Figure
        The figure of the axes; ``savefig`` writes it as PDF, SVG or PNG.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> result = pm.simulate(pm.games.apple_tasting(), "ids", "random", horizon=50, seeds=4)
    >>> figure = pm.plot.regret(result, band="error", columns=1)
    >>> figure.axes[0].get_ylabel()
    'regret'
    """
    look = Look(band, scale, columns, height, font_size, legend)
    return draw("regret", _panels(results, title), ax, look)


def information(
    results: Results,
    ax: Any = None,
    *,
    band: str = "both",
    scale: str = "linear",
    columns: int = 1,
    height: float | None = None,
    font_size: float | None = None,
    title: str | None = None,
    legend: bool = True,
) -> Figure:
    """Draw the information that every policy has gained; the parameters are those of ``regret``.

    Policies that have no notion of information are left out.
    """
    look = Look(band, scale, columns, height, font_size, legend)
    return draw("information", _panels(results, title), ax, look)


def _panels(results: Results, title: str | None) -> list[tuple[str, Result]]:
    """Return the results with the titles of their panels."""
    if title is not None:
        written("title", title)
    several: Any = [results] if isinstance(results, Result | Comparison) else results
    if isinstance(several, str) or not isinstance(several, Mapping | Sequence) or not several:
        raise InvalidInput(f"results must be a Result or several of them; got {brief(results)}.")
    named = several.items() if isinstance(several, Mapping) else ((None, own) for own in several)
    panels = []
    for name, item in named:
        match item:
            case Comparison(title=own, result=result):
                pass
            case Result(title=own):
                result = item
            case _:
                raise InvalidInput(f"results must be Result objects; got {brief(item)}.")
        panels.append((own if name is None else str(name), result))
    return [(title, panels[0][1])] if title is not None and len(panels) == 1 else panels
