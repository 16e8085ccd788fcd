"""Pages of decisions, all of them or those that are looked for.

They are in the order of their numbers: first those that were open when the study was edited, then
those that were made since. A page reads a bounded part of the log, so that where few decisions are
looked for among many, it may have fewer rows than it could, or none, and still others follow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.base import LearnerBase
from partial_monitoring.learner.clock import LATEST
from partial_monitoring.learner.identity import decision_number
from partial_monitoring.service.views.plainly import plainly
from partial_monitoring.service.views.rows import LARGEST, MOST, Row, ended, shown
from partial_monitoring.service.views.taken import Taken, remembered, taken
from partial_monitoring.storage.base import Event
from partial_monitoring.storage.finding import Carried, Pair, Wanted, carried_pairs, found_pairs
from partial_monitoring.validation import brief, one_of, real_number, whole_number

PIECE = 5000
"""How many numbers of decisions are searched at once."""

MOST_READ = 100_000
"""Number of decisions after which a page ends that has found few."""

STATES = {
    "open": ("open", "held", "waits"),
    "answered": ("told",),
    "late": ("told", "closed", "unanswered"),
    "lapsed": ("closed", "unanswered"),
    "cancelled": ("cancelled",),
}
"""The states that rows show, by what is looked for."""

WANTED = {
    "answered": Wanted("tell"),
    "late": Wanted(late=True),
    "lapsed": Wanted("lapse", unanswered=True),
    "cancelled": Wanted("cancel"),
}


class Filter(NamedTuple):
    """What is looked for."""

    state: str | None = None
    action: str | None = None
    since: float | None = None
    until: float | None = None

    @property
    def wanted(self) -> Wanted:
        """What the log is asked for."""
        return WANTED.get(self.state or "", Wanted())._replace(label=self.action)

    def takes(self, row: Row) -> bool:
        """Whether a row is looked for."""
        at = row["asked_at"]
        return (
            (self.state is None or row["state"] in STATES[self.state])
            and (self.state != "late" or "late" in row)
            and (self.action is None or row.get("label") == self.action)
            and (self.since is None or (at is not None and at >= self.since))
            and (self.until is None or (at is not None and at < self.until))
        )


class Range(NamedTuple):
    """The numbers of decisions from ``first`` on, before ``end``."""

    first: int
    end: int

    def within(self, first: int, end: int) -> Range:
        """Return those that are also in another range."""
        return Range(max(self.first, first), min(self.end, end))

    def pieces(self, size: int, *, newest: bool) -> Iterator[Range]:
        """Yield it in pieces of a size."""
        if newest:
            for end in range(self.end, self.first, -size):
                yield Range(max(end - size, self.first), end)
        else:
            for first in range(self.first, self.end, size):
                yield Range(first, min(first + size, self.end))


def decisions(
    hosted: LearnerBase,
    after: int | None = None,
    limit: int = 100,
    open: bool = False,
    *,
    before: int | None = None,
    state: str | None = None,
    action: str | None = None,
    since: float | None = None,
    until: float | None = None,
) -> Row:
    """Return a page of decisions in the order of their numbers.

    Parameters
    ----------
    after
        The number of the last decision before the page.
    before
        The number of the first decision after the page. Unless one of both is given, the page is
        the last one (of open decisions, the first).
    limit
        The largest number of decisions.
    open
        The same as the state "open".
    state
        Only those that are "open", "answered", "lapsed" (closed without an answer), "cancelled", or
        were answered too "late".
    action
        Only those with this label.
    since, until
        Only those that were asked for from one time on, and before another, in seconds since 1970.
        They are found by their order.
    """
    whole_number("limit", limit, at_least=1, at_most=MOST)
    if after is not None and before is not None:
        raise InvalidInput("before must be left out if after is given.")
    if after is not None:
        whole_number("after", after, at_least=-1, at_most=LARGEST)
    if before is not None:
        whole_number("before", before, at_least=0, at_most=LARGEST)
    own = taken(hosted)
    sought = _filter(own, "open" if open and state is None else state, action, since, until)
    carried = _carried(hosted, own)
    everything = _in_time(own, sought, Range(carried.first(own.session.before), own.session.asked))
    first, end = 0 if after is None else after + 1, LARGEST if before is None else before
    wanted = everything.within(first, end)
    newest = before is not None or (after is None and sought.state != "open")
    if sought.state == "open":
        parts = iter([Part(wanted, 0, _waiting(own, wanted, newest=newest))])
    else:
        parts = _parts(own, carried, sought.wanted, wanted, limit, newest=newest)
    rows, covered = _page(parts, sought, wanted, limit, newest=newest)
    return {
        "decisions": plainly(sorted(rows, key=lambda row: row["number"])),
        "next": covered.end - 1 if covered.end < everything.end else None,
        "previous": covered.first if covered.first > everything.first else None,
        "count": own.session.asked,
    }


def _filter(own: Taken, state: Any, action: Any, since: Any, until: Any) -> Filter:
    if state is not None:
        one_of("state", state, tuple(STATES))
    if action is not None:
        if not isinstance(action, str):
            raise InvalidInput(f"action must be the label of an action; got {brief(action)}.")
        traits = own.spec.game.traits
        if traits.listed and not traits.contexts and not traits.duels:
            own.spec.game.action_index(action)  # refuses what is none
    for name, given in (("since", since), ("until", until)):
        if given is not None and not 0 <= real_number(name, given) <= LATEST:
            raise InvalidInput(f"{name} must be seconds since 1970; got {brief(given)}.")
    return Filter(state, action, since, until)


def _carried(hosted: LearnerBase, own: Taken) -> Carried:
    """Return the decisions that were open when the study was edited."""
    if not own.session.before:
        return Carried([], [])
    return remembered(hosted, "carried", own.storage.name, lambda: Carried.of(own.storage))


def _in_time(own: Taken, sought: Filter, every: Range) -> Range:
    """Return the part of all decisions that may have been asked for within the time."""
    edited = max(own.session.before, every.first)
    made = range(edited, every.end)

    def time(number: int) -> float:
        rows = own.storage.decisions(number - 1, 1)
        return float(rows[0].asked.get("time", rows[0].asked_at)) if rows else LATEST

    first, end = every
    if sought.since is not None and (place := bisect_left(made, sought.since, key=time)):
        first = edited + place
    if sought.until is not None:
        end = edited + bisect_left(made, sought.until, key=time)
    return Range(first, end)


# -- what is read ------------------------------------------------------------------------------


class Part(NamedTuple):
    """Decisions with numbers in a range."""

    numbers: Range
    read: int
    """How many of them have to be read."""
    rows: Iterator[Row]
    """In their order, or the latest first."""


def _page(
    parts: Iterable[Part], sought: Filter, wanted: Range, limit: int, *, newest: bool
) -> tuple[list[Row], Range]:
    """Return the first rows that are looked for, and the range in which there are no others."""

    def covered(upto: Range) -> Range:
        return Range(upto.first, wanted.end) if newest else Range(wanted.first, upto.end)

    rows, left = list[Row](), MOST_READ
    for part in parts:
        for row in filter(sought.takes, part.rows):
            rows.append(row)
            if len(rows) == limit:
                return rows, covered(Range(row["number"], row["number"] + 1))
        left -= part.read
        if left <= 0:
            return rows, covered(part.numbers)
    return rows, wanted


def _waiting(own: Taken, wanted: Range, *, newest: bool) -> Iterator[Row]:
    """Yield open decisions."""
    numbers = {decision_number(name): name for name in own.session.open}
    for number in sorted(numbers, reverse=newest):
        if wanted.first <= number < wanted.end:
            asked = own.session.open[numbers[number]].event
            yield shown(own, asked, asked.get("time")) | ended(own, asked)


def _parts(
    own: Taken, carried: Carried, sought: Wanted, wanted: Range, limit: int, *, newest: bool
) -> Iterator[Part]:
    """Yield decisions from the log, after those that were carried."""
    for piece in wanted.pieces(PIECE, newest=newest):
        asks = carried.between(*piece)
        made = piece.within(own.session.before, piece.end)
        both = (
            _carried_pairs(own, asks[::-1] if newest else asks, limit),
            _made_pairs(own, sought, made, limit, newest=newest),
        )
        pairs = chain.from_iterable(both[::-1] if newest else both)
        yield Part(piece, len(asks) + max(made.end - made.first, 0), _rows(own, pairs))


def _carried_pairs(own: Taken, asks: list[Event], limit: int) -> Iterator[list[Pair]]:
    for first in range(0, len(asks), limit):
        yield carried_pairs(own.storage, own.before, asks[first : first + limit])


def _made_pairs(
    own: Taken, sought: Wanted, numbers: Range, limit: int, *, newest: bool
) -> Iterator[list[Pair]]:
    while numbers.first < numbers.end:
        pairs = found_pairs(own.storage, sought, *numbers, limit, newest=newest)
        yield pairs
        if len(pairs) < limit:
            return
        last = pairs[-1][0].number or 0
        numbers = Range(numbers.first, last) if newest else Range(last + 1, numbers.end)


def _rows(own: Taken, batches: Iterable[list[Pair]]) -> Iterator[Row]:
    for pairs in batches:
        others: dict[Any, list[Event]] = {}
        for row in own.storage.rows_of([str(asked.decision) for asked, _ in pairs]):
            if row.slot is None and row.seq <= own.session.seq:
                others.setdefault(row.decision, []).append(own.storage.event(row))
        for asked, closed in pairs:
            event = own.storage.event(asked)
            end = None if closed is None else own.storage.event(closed, at=True)
            more = others.get(asked.decision, ())
            yield shown(own, event, asked.at / 1e6) | ended(own, event, end, more)
