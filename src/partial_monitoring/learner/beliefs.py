"""What a learner believes each action earns: a table with intervals, plays and shares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import erf, floor, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partial_monitoring.display import Bar, Sheet, TableCell
from partial_monitoring.errors import InvalidInput, entry
from partial_monitoring.estimation.confidence import level
from partial_monitoring.learner.counts import Tallies, width
from partial_monitoring.validation import Array, Indices

MOST_ROWS, MOST_SHOWN = 200, 12
"""Largest numbers of actions in the table, and of those that are printed: those that earn most."""

CROWDED = 0.03
"""Points of a box closer than this to a better one, in edges of the box, count as that one."""

HEADS = ("earns", "from", "to", "plays", "share", "next", "may be best")


@dataclass(frozen=True)
class Belief:
    """What is known about one action.

    Attributes
    ----------
    action
        Its number; in duels, that of the item.
    label
        Its label.
    earns
        Its estimated reward per round. In duels: how much more than the item that looks best.
    low, high
        The least and the largest value in the confidence set.
    plays
        How often it was observed; in duels, in how many duels the item was. Over a box, plays of
        points within 3 % of the edges count as well.
    share
        Its share of the latest quarter of the plays, to within a 32nd of all.
    next
        The probability that the next decision plays it.
    may_be_best
        Whether it may still be best.
    """

    action: int
    label: str
    earns: float
    low: float
    high: float
    plays: int
    share: float
    next: float
    may_be_best: bool


@dataclass(frozen=True)
class BeliefTable:
    """What is known about the actions, those that are estimated to earn most first.

    It is a sequence of :class:`Belief`, of which ``table["label"]`` is the one of an action.

    Attributes
    ----------
    rows
        One per action (in duels, per item; in a box, per point), at most 200 of them.
    more
        The number of actions that are left out.
    noun
        What a row is about: "action", "item" or "point".
    against
        In duels, what the rows are compared with: the item or point that looks best.
    notes
        What the columns mean, in sentences.
    """

    rows: tuple[Belief, ...] = ()
    more: int = 0
    noun: str = "action"
    against: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Belief]:
        return iter(self.rows)

    def __getitem__(self, label: str) -> Belief:
        return entry(self.noun, label, {row.label: row for row in self.rows})

    @property
    def shares(self) -> bool:
        """Whether shares are printed; those of single points say little."""
        return self.noun != "point"

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns that are printed after the first one."""
        return HEADS if self.shares else (*HEADS[:4], HEADS[-1])

    def to_list(self) -> list[dict[str, Any]]:
        """Return one row of plain data per action."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data: its rows as ``table``, and what they are."""
        rest = {"more": self.more, "noun": self.noun, "against": self.against}
        return {"table": self.to_list(), **rest, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BeliefTable:
        """Return the table from plain data; an end that is missing is infinite."""
        rows = []
        for row in data["table"]:
            ends = {name: row.get(name) for name in ("earns", "low", "high")}
            missing = {"earns": np.nan, "low": -np.inf, "high": np.inf}
            numbers = {name: missing[name] if x is None else x for name, x in ends.items()}
            rows.append(Belief(**row | numbers))
        rest = {name: data[name] for name in ("more", "noun", "against") if name in data}
        return cls(tuple(rows), **rest, notes=tuple(data.get("notes", ())))

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise InvalidInput(
                "a data frame needs pandas; install it with: pip install pandas."
            ) from None
        return pd.DataFrame(self.to_list(), columns=list(Belief.__dataclass_fields__))

    def sheet(self, title: str = "", notes: tuple[str, ...] = (), *, bars: bool = False) -> Sheet:
        """Return the table of the best actions, with a drawing of each interval if asked."""
        shown = self.rows[:MOST_SHOWN]
        if not shown:
            return Sheet(title, (), (), notes)
        money = _aligned(np.array([(row.earns, row.low, row.high) for row in shown]))
        ends = min(row.low for row in shown), max(row.high for row in shown)
        plays = _right([f"{row.plays:,}" for row in shown])
        rows = []
        for row, amounts, count in zip(shown, money, plays, strict=True):
            left, middle, right = (_between(ends, x) for x in (row.low, row.earns, row.high))
            drawn = Bar(left, middle, right, row.may_be_best)
            often = [f"{row.share:.1%}", f"{row.next:.1%}"] if self.shares else []
            rest = [count, *often, "yes" if row.may_be_best else "no"]
            bar = [TableCell("", bar=drawn)] if bars else []
            rows.append((TableCell(row.label), *bar, *map(TableCell, (*amounts, *rest))))
        hidden = len(self.rows) - len(shown) + self.more
        if hidden:
            blank = [TableCell("")] * (len(rows[0]) - 1)
            rows.append((TableCell(f"and {hidden:,} more"), *blank))
        columns = (self.noun, *([""] if bars else []), *self.heads)
        return Sheet(title, columns, tuple(rows), notes)


def _aligned(values: Array) -> list[list[str]]:
    """Show numbers (q, c) with the same decimals, four digits of the largest, aligned."""
    largest = float(np.abs(values).max())
    decimals = max(0, 3 - int(np.floor(np.log10(largest)))) if largest > 0 else 0
    usual = largest == 0 or 1e-3 <= largest < 1e9
    form = f",.{min(decimals, 6)}f" if usual else ".4g"
    columns = [_right([f"{x + 0.0:{form}}" for x in own]) for own in np.round(values, 12).T]
    return [list(row) for row in zip(*columns, strict=True)]


def _right(texts: list[str]) -> list[str]:
    longest = max(map(len, texts))
    return [text.rjust(longest) for text in texts]


def _between(ends: tuple[float, float], x: float) -> float:
    """Return where a number lies between two ends, from 0 to 1."""
    low, high = ends
    return (x - low) / (high - low) if high > low else 0.5


# -- from a confidence set -------------------------------------------------------------------


class _Estimates(NamedTuple):
    """What a confidence set says about some actions, those with the largest estimates first."""

    numbers: list[int]
    labels: list[str]
    values: Array
    """Estimates, least and largest values, shape (3, q)."""
    best: NDArray[np.bool_]
    """Which of them may be best, shape (q,)."""
    more: int
    noun: str
    against: str = ""
    counted: Mapping[int, int] = {}
    """Numbers of points whose plays count for better ones that are close."""


def table_of(
    game: Any,
    confidence: Any,
    best: NDArray[np.bool_],
    chances: Mapping[int, float],
    observed: Tallies,
    *,
    doubtful: bool = False,
) -> BeliefTable:
    """Return what is known about the actions of a game.

    Parameters
    ----------
    game, confidence
        The game and E_t (in duels, of items or of pairs).
    best
        Which actions of the confidence set may be best, shape (k,).
    chances
        The probabilities of actions in the next decision, by their numbers.
    observed
        What the actions have shown.
    doubtful
        Whether the confidence set may miss the truth whatever its width.
    """
    plays = {a: tally.plays for a, tally in observed.actions.items()}
    found = _estimates(game, confidence, best, rows_of(game, plays | dict(chances)))
    since = _latest(observed.rounds)
    latest = {a: tally.plays - tally.before(since)[0] for a, tally in observed.actions.items()}
    recent = sum(latest.values())
    often, lately, upcoming = (
        _moved(rows_of(game, own), found.counted) for own in (plays, latest, chances)
    )
    rows = []
    each = zip(found.numbers, found.labels, found.values.T.tolist(), found.best, strict=True)
    for number, label, (earns, low, high), plausible in each:
        played, share = int(often.get(number, 0)), lately.get(number, 0) / max(recent, 1)
        coming = upcoming.get(number, 0.0)
        bounds = earns, low, high
        rows.append(Belief(number, label, *bounds, played, share, coming, bool(plausible)))
    notes = _notes(game, confidence, found, recent, doubtful=doubtful)
    return BeliefTable(tuple(rows), found.more, found.noun, found.against, notes)


def _latest(rounds: int) -> int:
    """Return the first round of the latest quarter, or the block of rounds that begins nearest."""
    size = width(rounds)
    return (3 * rounds // 4 + size // 2) // size * size


def rows_of(game: Any, actions: Mapping[int, float]) -> dict[int, float]:
    """Return numbers of actions as numbers of rows: a duel counts for each of its items."""
    if not game.traits.duels:
        return dict(actions)
    items: dict[int, float] = {}
    for action, number in actions.items():
        for item in set(divmod(action, game.item_count)):
            items[item] = items.get(item, 0.0) + number
    return items


def _moved(rows: Mapping[int, float], counted: Mapping[int, int]) -> dict[int, float]:
    """Return numbers of rows with some of them added to others."""
    found: dict[int, float] = {}
    for row, number in rows.items():
        found[counted.get(row, row)] = found.get(counted.get(row, row), 0.0) + number
    return found


def _estimates(
    game: Any, confidence: Any, best: NDArray[np.bool_], played: Collection[int]
) -> _Estimates:
    """Return what a confidence set says about the actions, items or points of a game.

    Duels show differences only, so items are compared with the one that looks best.
    """
    if of_pairs(game, confidence):
        return _of_pairs(game, confidence, best)
    means, duels = confidence.means[0], game.traits.duels
    order, noun = _order(means), "item" if duels else "action"
    counted: dict[int, int] = {}
    if at_points(game):
        (order, counted), noun = _apart(game, confidence, order, played), "point"
    first, chosen = int(order[0]), order[:MOST_ROWS]
    middle = means[chosen] - means[first] if duels else means[chosen]
    values = _values(middle, confidence.intervals(chosen, first if duels else None))
    numbers = [number_of(game, confidence, int(a)) for a in chosen]
    labels = [confidence.game.actions[a] for a in chosen]
    more, against = len(order) - len(chosen), labels[0] if duels else ""
    return _Estimates(numbers, labels, values, best[chosen], more, noun, against, counted)


def _of_pairs(game: Any, confidence: Any, best: NDArray[np.bool_]) -> _Estimates:
    """Return what the confidence set of pairs says of items: a pair earns what both do."""
    count = game.item_count
    rows = np.stack([game.item_row(item) for item in range(count)])
    order = _order(rows @ confidence.center[0])
    chosen = order[:MOST_ROWS]
    away = rows[chosen] - rows[order[0]]
    ends = -confidence.support(-away), confidence.support(away)
    values, labels = _values(away @ confidence.center[0], ends), [game.items[a] for a in chosen]
    plausible, more = best[chosen * (count + 1)], count - len(chosen)
    return _Estimates(chosen.tolist(), labels, values, plausible, more, "item", labels[0])


def _order(means: Array) -> Indices:
    """Return the numbers of actions by their estimates (k,), the largest first."""
    return np.argsort(-means, kind="stable")


def _values(means: Array, ends: tuple[Array, Array]) -> Array:
    """Return estimates (q,) and the ends of intervals (1, q), each around its estimate, (3, q)."""
    return np.stack([means, np.minimum(ends[0][0], means), np.maximum(ends[1][0], means)])


def _apart(
    game: Any, confidence: Any, order: Indices, played: Collection[int]
) -> tuple[Indices, dict[int, int]]:
    """Return the best candidates, none of them close to a better one, and where the others count.

    That is a dict from the number of a point to that of the better one that is close.
    """
    points = np.stack([confidence.game.point(int(a)) for a in order])
    places, numbers = (points - game.low) / (game.high - game.low), game.nearest(points).tolist()
    kept: list[int] = []
    counted: dict[int, int] = {}
    for i, number in enumerate(numbers):
        away = np.abs(places[kept] - places[i]).max(axis=1)
        if len(away) and away.min() < CROWDED:
            counted[number] = numbers[kept[int(away.argmin())]]
        elif number in played or len(kept) < MOST_SHOWN:
            kept.append(i)
    return order[kept], counted


def at_points(game: Any) -> bool:
    """Whether a confidence set is over points, candidates among actions that are not listed."""
    return bool(game.traits.function and not game.traits.listed)


def of_pairs(game: Any, confidence: Any) -> bool:
    """Whether a confidence set is over the pairs of a game of duels, not over its items."""
    return bool(game.traits.duels and confidence.k == game.k > 1)


def number_of(game: Any, confidence: Any, action: int) -> int:
    """Return the number in the game of an action (in duels, an item) of the confidence set."""
    if not at_points(game):
        return action
    return int(game.nearest(confidence.game.point(action)[None])[0])


# -- in words ----------------------------------------------------------------------------------


def _notes(
    game: Any, confidence: Any, found: _Estimates, recent: int, *, doubtful: bool
) -> tuple[str, ...]:
    """Say what the columns mean."""
    what = "the estimated reward per round"
    latest, many = ("latest", "") if recent == 1 else (f"latest {recent:,}", "s")
    share = f"share: of the {latest} play{many}; " if recent else ""
    share += "next: the probability of the next decision."
    if found.against:
        own = "an item" if found.noun == "item" else "a point"
        what = f"how much more than '{found.against}' {own} is estimated to earn per round"
        share = (
            f"plays: the duels that {own} was in; share: of the {latest} duel{many}; next: "
            f"the probability that it is in the next one."
        )
    notes = [f"earns: {what}; from, to: {_coverage(confidence, doubtful=doubtful)}."]
    near = f"plays: of points within {CROWDED:.0%} of the edges of the box."
    notes.append(near if found.noun == "point" else share)
    if game.traits.finite and game.features.max() <= 0 > game.features.min():
        notes.append("no action ever earns more than 0: -1 earned is a loss of 1.")
    return tuple(notes)


def _coverage(confidence: Any, *, doubtful: bool) -> str:
    """Say what the intervals hold."""
    t, schedule = int(confidence.round[0]), confidence.schedule
    chance = None if schedule is None or doubtful else level(schedule, t)
    if chance is None:
        number = float(np.sqrt(confidence.beta[0]) / confidence.noise_std)
        each = f" (about {100 * erf(number / sqrt(2)):.2g} % each)" if number <= 2.5 else ""
        return f"{number:.3g} posterior standard deviations to either side{each}, not proven"
    if t == 1:
        return "all that the model allows, since nothing was observed"
    least = floor(chance * 1e4 + 1e-6) / 100
    return f"with probability at least {least:g} % all rewards lie there, if the model holds"
