"""The picture of a learner: what actions earn with intervals, and how often they are played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partial_monitoring.display import HEX_COLORS
from partial_monitoring.errors import InvalidInput, visible
from partial_monitoring.learner.beliefs import Belief, at_points, rows_of
from partial_monitoring.learner.counts import Tallies, width
from partial_monitoring.learner.status import Status
from partial_monitoring.validation import Array, brief, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, PER_ROW, CURVE = 7.0, 1.1, 0.22, 2.6
"""Inches of a new figure: width, height, what each row adds to it, and height of a curve."""

MOST_ROWS = 16
"""Largest number of actions whose intervals are drawn, those that earn most."""

NAMED = 6
"""Number of actions with colours of their own, those that were played most."""

BINS, PER_BIN = 16, 8
"""Largest number of steps of the shares over time, and least number of plays in one of them."""

GREY, LIGHT = "#777777", "#d9d9d9"

GRID = 241
"""Number of points at which a curve is drawn."""


def draw(
    status: Status,
    game: Any,
    confidence: Any,
    observed: Tallies,
    ax: Any = None,
    title: str | None = None,
    place: str = "",
) -> Figure:
    """Draw what is known into a new figure, one axes (without the shares) or two.

    Parameters
    ----------
    status, game, confidence
        What is known, of which game, and E_t.
    observed
        What the actions have shown.
    ax
        One axes or two; without them a new figure is made.
    title
        By default the action that looks best.
    place
        Where it does, in words.
    """
    from partial_monitoring.analysis import pictures
    from partial_monitoring.analysis.pictures import parts

    if title is None:
        best = _name_of(game, status.action, status.best)
        title = f"Round {status.round:,}: {best} looks best{_text(place)}"
    written("title", title)
    shares = not at_points(game)
    curve = at_points(game) and len(game.low) == 1 and confidence.anywhere is not None
    beliefs = _drawn(status)
    if ax is None:
        height = CURVE if curve else max(HEIGHT + PER_ROW * len(beliefs), CURVE)
        figure = pictures.new_figure(WIDTH if shares else 0.6 * WIDTH, height)
        several = [figure.add_subplot(1, 2 if shares else 1, 1)]
        if shares:
            several.append(figure.add_subplot(1, 2, 2))
        for axes in several:
            axes.spines[["top", "right"]].set_visible(False)
            axes.spines[["left", "bottom"]].set_color("#888888")
    else:
        several = _given(ax)
    colors = _colors(game, observed)
    if curve:
        _draw_curve(several[0], status, game, confidence, observed)
    else:
        _draw_intervals(several[0], status, game, beliefs, colors)
    if len(several) == 2:
        _draw_shares(several[1], game, observed, colors)
        several[1].set_title("share of the plays", fontsize=parts.NORMAL)
    several[0].set_title(title, fontsize=parts.NORMAL)
    for axes in several:
        parts.small_ticks(axes)
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set_fontsize(parts.NORMAL)
    return pictures.figure_of(several[0])


def _given(ax: Any) -> list[Any]:
    """Return the axes that were given, one or two."""
    several = list(np.ravel(np.array(ax, dtype=object)))
    if not 1 <= len(several) <= 2 or not all(hasattr(own, "fill_between") for own in several):
        raise InvalidInput(f"ax must be one axes of matplotlib or two; got {brief(ax)}.")
    return several


def _drawn(status: Status) -> Sequence[Belief]:
    """Return the rows that are drawn: in the order of the game, or the best if they are many."""
    rows = status.table.rows
    if status.table.noun == "point" or len(rows) + status.table.more > MOST_ROWS:
        return rows[:MOST_ROWS]
    return sorted(rows, key=lambda row: row.action)


def _colors(game: Any, observed: Tallies) -> dict[int, str]:
    """Return the colours of the actions that were played most, by number."""
    often = rows_of(game, {a: tally.plays for a, tally in observed.actions.items()})
    most = sorted(often, key=lambda a: (-often[a], a))[:NAMED]
    return dict(zip(sorted(most), HEX_COLORS, strict=False))


def _draw_intervals(
    ax: Any, status: Status, game: Any, beliefs: Sequence[Belief], colors: dict[int, str]
) -> None:
    """Draw the interval of every action as a line, filled where it may be best."""
    points = at_points(game)
    for place, row in enumerate(beliefs):
        color = HEX_COLORS[0] if points else colors.get(row.action, GREY)
        ax.plot([row.low, row.high], [place, place], color=color, linewidth=1.6, alpha=0.7)
        face = color if row.may_be_best else "white"
        ax.plot([row.earns], [place], "o", color=color, markersize=4.5, markerfacecolor=face)
    names = [_name_of(game, row.action, row.label) for row in beliefs]
    if points and names[0] != _text(beliefs[0].label):
        ax.set_ylabel(visible(", ".join(game.lattice.titles)))
    ax.set_yticks(range(len(beliefs)), names)
    ax.set_ylim(len(beliefs) - 0.4, -0.6)
    best = "the first one" if points else _text(status.table.against)
    more, line = (f" more than {best}", "\n") if status.table.against else ("", " ")
    ax.set_xlabel(f"earns{more} per round;{line}filled: may be best")
    hidden = len(status.table) + status.table.more - len(beliefs)
    if hidden and not points:
        ax.set_ylabel(f"the best {len(beliefs)} of {hidden + len(beliefs):,}")


def _draw_curve(ax: Any, status: Status, game: Any, confidence: Any, observed: Tallies) -> None:
    """Draw the estimate over an interval with its band, and the means of what was seen."""
    ax.set_ylabel("earns per round")
    low, high = float(game.low[0]), float(game.high[0])
    grid = np.linspace(low, high, GRID)
    means, lengths = confidence.anywhere(grid[:, None])
    reach = float(np.sqrt(confidence.beta[0])) * lengths
    ax.fill_between(grid, means - reach, means + reach, color=HEX_COLORS[0], alpha=0.18, lw=0)
    ax.plot(grid, means, color=HEX_COLORS[0], linewidth=1.4)
    if observed.actions and not game.traits.duels:
        ax.set_ylabel("earns per round; dots: what was seen")
        played = np.array(list(observed.actions), dtype=np.int64)
        shown = [tally.total[0] / tally.plays for tally in observed.actions.values()]
        often = np.array([tally.plays for tally in observed.actions.values()])
        sizes = 10 * np.sqrt(often)
        ax.scatter(game.points_of(played)[:, 0], shown, sizes, color="#333333", alpha=0.7, lw=0)
    best = float(game.points_of(np.array([status.action]))[0, 0])
    ax.axvline(best, color=GREY, linewidth=0.8, linestyle="--")
    ax.set_xlim(low, high)


def _draw_shares(ax: Any, game: Any, observed: Tallies, colors: dict[int, str]) -> None:
    """Draw the shares of actions in the plays as stacked steps over the observations."""
    ax.set_xlabel("observations")
    ax.set_ylim(0, 100)
    ax.set_ylabel("%")
    if observed.rounds == 0:
        ax.text(0.5, 0.5, "no plays", transform=ax.transAxes, ha="center", color=GREY)
        return
    edges, shares = shares_over_time(game, observed, list(colors))
    stacked = np.concatenate([shares, 1.0 - shares.sum(axis=0, keepdims=True)])
    names = [_text(_name(game, a)) for a in colors]
    if stacked[-1].max() > 1e-9:
        names.append("others")
    else:
        stacked = stacked[:-1]
    heights = 100 * np.concatenate([stacked, stacked[:, -1:]], axis=1)
    shades = [*colors.values(), LIGHT][: len(names)]
    areas = ax.stackplot(edges, heights, labels=names, colors=shades, step="post", lw=0)
    for area in areas:
        area.set_alpha(0.75)
    ax.set_xlim(0, observed.rounds)
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.02),
        frameon=False,
        fontsize=6.5,
        handlelength=1.0,
        reverse=True,
    )


def _text(label: str) -> str:
    """Return a label that neither starts a formula nor hides in a legend, cut to size."""
    from partial_monitoring.analysis.pictures.frame import short_label

    shown = short_label(visible(label))
    return f" {shown}" if shown.startswith("_") else shown


def _name_of(game: Any, number: int, label: str) -> str:
    """Return a label cut to size; of a point of a box, then, its coordinates to four digits."""
    if not at_points(game) or _text(label) == visible(label):
        return _text(label)
    return ", ".join(f"{x:.4g}" for x in game.points_of(np.array(number)))


def _name(game: Any, number: int) -> str:
    """Return the label of an action, or in duels of an item."""
    return str(game.items[number] if game.traits.duels else game.action_label(number))


def shares_over_time(game: Any, observed: Tallies, rows: Sequence[int]) -> tuple[Array, Array]:
    """Return the shares of some actions (in duels, items) in the plays over time.

    Returns
    -------
    edges, shares
        The numbers of observations between which shares are taken, shape (b + 1,), at most 16
        steps, and the shares, shape (rows, b). A duel counts half for each of its items.
    """
    size, place = width(observed.rounds), {number: i for i, number in enumerate(rows)}
    blocks = -(-observed.rounds // size)
    bins = max(1, min(BINS, observed.rounds // PER_BIN))
    step = -(-blocks // bins)  # blocks in a bin
    bins = -(-blocks // step)
    plays, total = np.zeros((len(rows), bins)), np.zeros(bins)
    for action, tally in observed.actions.items():
        own = rows_of(game, {action: 1.0})
        for part in tally.parts:
            column = part.first // size // step
            total[column] += part.plays
            for number in own:
                if number in place:
                    plays[place[number], column] += part.plays / len(own)
    edges = np.minimum(np.arange(bins + 1.0) * step * size, observed.rounds)
    return edges, plays / np.maximum(total, 1.0)
