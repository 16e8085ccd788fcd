"""A learner over another game, in which actions were added, removed or changed.

What was observed is told to a new learner as logged data: all of it, in its order, if there is a
log, otherwise from its sufficient statistics. The first event of its log, ``moved``, says how many
decisions were made before and which of them are open: asked (their number), tokens (of their ids),
open (the asks), and time if it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from partial_monitoring import display
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import session as steps
from partial_monitoring.learner.identity import DecisionId
from partial_monitoring.learner.matching import CHANGED, GONE, STAYS, Matching
from partial_monitoring.learner.observations import from_log, from_vector, symbols
from partial_monitoring.learner.several import Shown, fields_of
from partial_monitoring.learner.spec import Session, Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.model.any_game import Context
from partial_monitoring.storage.base import Event, plain


@dataclass(frozen=True)
class Moved:
    """What a learner kept when it moved to another game; printed, it says so.

    Attributes
    ----------
    kept
        How many observations were kept.
    observed
        How many of each action were, by label.
    left_out
        How many observations of each action were not kept, because it is gone or shows something
        else now.
    added, removed, changed
        The actions (in duels, the items) that are new, that are gone, and that show something else.
    open
        How many open decisions go on.
    cancelled
        The ids of those that do not, with the labels of their actions.
    notes
        What else happened, in sentences.
    """

    kept: int = 0
    observed: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    open: int = 0
    cancelled: Mapping[DecisionId, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def explain(self) -> str:
        """Say it in plain sentences."""
        kept = "observation is" if self.kept == 1 else "observations are"
        lines = [f"{self.kept:,} {kept} kept{_by_action(self.observed)}."]
        if self.left_out:
            lost = sum(self.left_out.values())
            lines.append(f"{lost:,} {'is' if lost == 1 else 'are'} not{_by_action(self.left_out)}.")
        for names, word in (
            (self.added, "new"),
            (self.removed, "gone"),
            (self.changed, "different in what is shown"),
        ):
            if names:
                lines.append(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {word}.")
        if self.open:
            lines.append(f"{self.open:,} open decision{'s go' if self.open > 1 else ' goes'} on.")
        if self.cancelled:
            own = [f"{name} ({label})" for name, label in self.cancelled.items()]
            lines.append(f"Cancelled, because their actions are gone: {_listed(own)}.")
        return display.as_lines([*lines, *(f"{note}." for note in self.notes)])

    def __str__(self) -> str:
        return self.explain()


class Seen(NamedTuple):
    """Something from which a learner has learned."""

    context: Context
    action: int
    shown: Shown
    probability: float | None = None
    label: str = ""


def moved(
    old: Spec, session: Session, events: Iterable[Event] | None, new: Spec
) -> tuple[Session, list[Event], Moved]:
    """Return the session of a learner that moved to a new spec, its events and what it kept.

    Without the events, sufficient statistics are told.
    """
    matching = Matching(old, new)
    going, cancelled = _open(matching, session)
    rows = _beginning(session, going) if session.asked else []
    following = new.start
    for event in rows:
        following = steps.fold(new, following, event)
    kept, lost = dict[str, int](), dict[str, int]()
    carried, changed = dict[str, None](), dict[str, None]()
    known: Iterable[Seen] = from_counts(old, session)
    if events is not None:
        known = from_events(old, events)
    with new.patience:
        for seen in known:
            step, fate = _told_again(matching, following, seen)
            counted = lost if step is None else kept
            counted[seen.label] = counted.get(seen.label, 0) + seen.shown.often
            if fate == CHANGED:
                changed[seen.label] = None
            if step is not None:
                following = steps.advance(new, following, step)
                rows.append(step.event)
                if step.shown and step.shown[0].of is not None:
                    carried[seen.label] = None
    added, removed = matching.names()
    notes = matching.notes + ([] if events is not None else [_without_log(session)])
    if carried:
        notes.append(
            f"What {_listed(carried)} showed says something of the unknowns, and still counts"
        )
    report = Moved(
        kept=sum(kept.values()),
        observed=kept,
        left_out=lost,
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        open=len(going),
        cancelled=cancelled,
        notes=tuple(notes),
    )
    return following, rows, report


def _told_again(matching: Matching, session: Session, seen: Seen) -> tuple[Step | None, str]:
    """Return the step in which what was seen is told to the new learner, if it means anything.

    It is that of the same action; or, if that is gone or shows something else, of what it showed of
    the unknowns, where the policy can learn from that.
    """
    fate, there, number = GONE, None, -1
    if seen.shown.of is None:
        fate, there, number = matching(seen.context, seen.action)
        if fate == STAYS and there is not None:
            request = _request(seen, there, number)
            return steps.observe(matching.new, session, request), fate
    event = _shown(matching, session, seen)
    if event is None:
        return None, fate
    step = steps.event_step(matching.new, session, event)
    try:
        steps.learned(matching.new, session.state, step)
    except InvalidInput:
        return None, fate
    return step, fate


def _shown(matching: Matching, session: Session, seen: Seen) -> Event | None:
    """Return what was seen as rows of the unknowns, if these are the same in both games."""
    shown, of = seen.shown, seen.shown.of
    if of is None:
        of = matching.rows_of(seen.context, seen.action)
    if of is None or len(of.rows) == 0 or of.rows.shape[1] != matching.new.game.d:
        return None
    event = {
        "seq": session.seq + 1,
        "kind": "shown",
        "name": seen.label,
        "rows": of.rows.tolist(),
        "noise": of.noise,
        "observation": shown.vector[: len(of.rows)].tolist(),
    }
    return event | fields_of(_multiple(shown))


def _multiple(shown: Shown) -> dict[str, Any]:
    """Return how often something was shown and with which weight, None where that is 1."""
    count, weight = shown.often, shown.weight
    return {"count": None if count == 1 else count, "weight": None if weight == 1.0 else weight}


# -- what was learned from ------------------------------------------------------------------


def from_events(spec: Spec, events: Iterable[Event]) -> list[Seen]:
    """Return what a learner has learned from since it was last reset, in order, from its events."""
    session, found = spec.start, list[Seen]()
    for event in steps.amended(events):
        step = steps.event_step(spec, session, event)
        for shown in step.shown:
            label = event["name"] if shown.of else step.context.game.action_label(step.action)
            found.append(Seen(step.context, step.action, shown, step.probability, label))
        if event["kind"] == "reset":
            found.clear()
        session = steps.noted(session, step, session.state)
    return found


def from_counts(spec: Spec, session: Session) -> Iterator[Seen]:
    """Yield the same without its events: signals as often as they came, numbers as their means."""
    settled = session.counts.settled()
    for name, tallies in settled.contexts.items():
        if name in settled.unlisted:
            continue
        context = spec.context(name)
        length = max(spec.game.m, context.game.m)
        for action, tally in sorted(tallies.actions.items()):
            label = context.game.action_label(action)
            if symbols(context.game, action):
                for place, count in enumerate(tally.total):
                    if round(count):
                        shown = Shown(np.eye(1, length, place)[0], round(count))
                        yield Seen(context, action, shown, None, label)
                continue
            mean = np.zeros(length)
            mean[: len(tally.total)] = np.array(tally.total) / tally.plays
            yield Seen(context, action, Shown(mean, tally.plays), None, label)


def _without_log(session: Session) -> str:
    """Say what is known without a log."""
    words = "There is no log: the numbers and means of observations were kept, not their order"
    return (
        f"{words}, and none from unlisted contexts" if session.counts.settled().unlisted else words
    )


def _request(seen: Seen, there: Context, number: int) -> dict[str, Any]:
    """Return what was observed as logged data of an action of the new game."""
    shown = seen.shown
    logged = from_vector(seen.context.game, seen.action, shown.vector)
    return {
        "action": number,
        "observation": from_log(there.game, number, logged),
        "context": there.name,
        "probability": seen.probability,
        **_multiple(shown),
    }


# -- open decisions -------------------------------------------------------------------------


def _open(matching: Matching, session: Session) -> tuple[list[Event], dict[DecisionId, str]]:
    """Return the asks of open decisions that go on, and the labels of those that do not."""
    going, cancelled = [], {}
    for own in session.open.in_order():
        fate, there, action = matching(own.context, own.action)
        if fate == STAYS and there is not None:
            event = plain(own.event) | {"action": action}
            if "available" in event:
                event["available"] = [x for x in event["available"] if _is_action(there, x)]
            going.append(event)
        else:
            cancelled[own.event["decision"]] = own.event["label"]
    return going, cancelled


def _is_action(context: Context, label: str) -> bool:
    """Whether a context has an action of that name."""
    try:
        return bool(context.game.is_called(context.game.action_index(label), label))
    except InvalidInput:
        return False


def _beginning(session: Session, going: list[Event]) -> list[Event]:
    """Return the first events of a learner that moved: open decisions, and answers that wait."""
    tokens = [list(pair) for pair in session.tokens]
    event = {"seq": 1, "kind": "moved", "asked": session.asked, "tokens": tokens, "open": going}
    rows = [event if session.time is None else event | {"time": session.time}]
    for ask in going:
        answer = session.open[ask["decision"]].answer
        if answer is not None:
            rows.append(plain(answer) | {"seq": len(rows) + 1})
    return rows


def _by_action(counts: Mapping[str, int]) -> str:
    """Return how many there are of each action, in words."""
    return f": {_listed([f'{n:,} of {name!r}' for name, n in counts.items()])}" if counts else ""


def _listed(names: Iterable[str], most: int = 12) -> str:
    """Return some names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
