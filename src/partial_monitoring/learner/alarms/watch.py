"""What the alarms of one study need, kept from event to event, and the alarms themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, log
from typing import Any, NamedTuple

from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.alarms.answers import Answers, dependence
from partial_monitoring.learner.alarms.drift import Split, drift, is_split
from partial_monitoring.learner.alarms.misfit import misfit
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.sums import AllSums, Cell, Sums, joined
from partial_monitoring.learner.amending import amended
from partial_monitoring.learner.session import advance, event_step
from partial_monitoring.learner.several import Shown
from partial_monitoring.learner.spec import Spec
from partial_monitoring.learner.step import Step
from partial_monitoring.model.any_game import AnyGame, Context
from partial_monitoring.storage.base import Event
from partial_monitoring.validation import brief

KINDS = ("misfit", "drift", "answers")
"""All alarms, each of which has a third of the probability of a false alarm."""

LEVEL = 0.01
"""The probability of a false alarm, of any kind, in the whole life of a study."""


class Alarm(NamedTuple):
    """Evidence against what is assumed."""

    kind: str
    """What it is about: "misfit", "drift" or "answers"."""
    round: int
    """One more than the number of observations when it was computed."""
    log_e: float
    """The logarithm of its e-value."""
    sentence: str
    """What was found, in the words of the user's game."""

    @property
    def e_value(self) -> float:
        """By how much it has multiplied a bet against what is assumed; infinite beyond 1e300."""
        return exp(self.log_e) if self.log_e < 690 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict()


class Watch:
    """The sufficient statistics of all alarms of one study, and their state after some events.

    It is moved on by the steps of a session, after they are stored. Observations with a weight,
    those in contexts that the game does not list, and those of an action that the game does not
    have are left out, which is decided before they are seen. Games whose actions are not listed
    (those over a box, combinatorial ones with an oracle) have no alarms: hardly a point is played
    twice. Data of the time before the learner are compared with the model, but not with later ones:
    they are told in any order.

    Parameters
    ----------
    game
        The game of the study.

    Examples
    --------
    >>> import partial_monitoring as pm
    >>> from partial_monitoring.learner.alarms.watch import Watch
    >>> game = pm.games.dynamic_pricing()
    >>> learner = pm.Learner(game, seed=0)
    >>> learner.tell_past(["$2"] * 400 + ["$3"] * 400, ["yes"] * 80 + ["no"] * 320 + ["yes"] * 400)
    >>> watch = Watch.of(learner._spec, learner.events)
    >>> [alarm.kind for alarm in watch.alarms()]
    ['misfit']
    """

    def __init__(self, game: AnyGame) -> None:
        self.watched = Watched(game)
        self.answers = Answers()
        self.told = 0
        """The number of answers since the last reset, each vote for one."""
        self.time = 0
        """The number of events with answers since the last reset."""
        self.resets = 0
        self.past: dict[Cell, Sums] = {}
        """What the data of the time before show."""
        self.sums: dict[Cell, Sums] = {}
        """What the answers to decisions show."""
        self.splits: list[Split] = []
        """What they showed at earlier times."""
        self._round = 1

    @classmethod
    def of(cls, spec: Spec, events: Iterable[Event]) -> Watch:
        """Return the watch after all events of a log, each answer as it was last amended."""
        watch, session = cls(spec.game), spec.start
        for event in amended(events):
            step = event_step(spec, session, event)
            watch.note(step)
            session = advance(spec, session, step)
        return watch

    def note(self, step: Step) -> None:
        """Move on by one step of the session; a log with amendments must be read again."""
        kind, name = step.event["kind"], step.event.get("decision")
        match kind:
            case "ask":
                self._ask(step.event, step.context, step.action)
            case "moved":
                assert step.begun is not None
                for own in step.begun.open.values():
                    self._ask(own.event, own.context, own.action)
            case "tell" | "lapse":
                self.answers.closed(name, answered=kind == "tell")
            case "cancel":
                self.answers.cancelled(name)
            case "reset":
                self.past, self.sums, self.splits = {}, {}, []
                self.told = self.time = 0
                self.resets += 1
        if step.shown:
            for each in step.shown:
                self._round += each.often
            cell = self._cell(step.context, step.action)
            if cell is not None and kind in ("tell", "history"):
                rows = step.context.game.row_count(step.action)
                self._show(step.shown, cell, rows, told=kind == "tell")

    def _ask(self, event: Event, context: Context, action: int) -> None:
        cell = self._cell(context, action)
        if cell is not None:
            self.answers.asked(event["decision"], cell)

    def _cell(self, context: Context, action: int) -> Cell | None:
        """Return the cell of an action; None if its context or the actions are not listed."""
        name = context.name
        listed = self.watched.listed and (name is None or isinstance(name, str))
        return (name, action) if listed else None

    def _show(self, shown: Iterable[Shown], cell: Cell, rows: int, *, told: bool) -> None:
        sums = self.sums if told else self.past
        for vector, often, weight, of in shown:
            if weight == 1.0 and of is None:
                total = vector[:rows] if often == 1 else often * vector[:rows]
                new = Sums(often, tuple(total.tolist()))
                sums[cell] = sums[cell].joined(new) if cell in sums else new
                self.told += often
        if told:
            self.time += 1
            if is_split(self.time):
                self.splits.append((self.time, dict(sums)))

    def evidence(self) -> list[Alarm]:
        """Return what is known of every kind of alarm, however weak it is.

        Only an e-value above 1 has a sentence, and only that of an alarm should be believed.
        """
        found = (
            misfit(self.watched, joined(self.past, self.sums)),
            drift(self.watched, self.splits, self.sums),
            dependence(self.watched, self.answers.counts),
        )
        return [
            Alarm(kind, self._round, own.log_e, own.sentence if own.log_e > 0.0 else "")
            for kind, own in zip(KINDS, found, strict=True)
        ]

    def alarms(self, level: float = LEVEL) -> list[Alarm]:
        """Return the alarms, false ones with at most a given probability in the whole life."""
        return [own for own in self.evidence() if own.log_e >= self.limit(own.kind, level)]

    def limit(self, kind: str, level: float = LEVEL) -> float:
        """Return the logarithm of the e-value from which evidence of a kind is an alarm.

        The level is divided among the kinds and, because what is learned begins anew, among the
        stretches between resets: the i-th has a share of 1 / (i (i + 1)).
        """
        if not 0.0 < level < 1.0:
            raise InvalidInput(f"level must be between 0 and 1; got {brief(level)}.")
        shares = 1 if kind == "answers" else (self.resets + 1) * (self.resets + 2)
        return log(len(KINDS) * shares / level)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; of the splits, what changed since the one before."""
        splits: list[Any] = []
        before: AllSums = {}
        for time, sums in self.splits:
            new = {cell: own for cell, own in sums.items() if own != before.get(cell)}
            splits.append([time, _written(new)])
            before = sums
        return {
            "counts": [self.told, self.time, self.resets, self._round],
            "past": _written(self.past),
            "sums": _written(self.sums),
            "splits": splits,
            "answers": self.answers.to_dict(),
        }

    @classmethod
    def from_dict(cls, game: AnyGame, data: Mapping[str, Any]) -> Watch:
        """Return it from plain data."""
        watch = cls(game)
        watch.told, watch.time, watch.resets, watch._round = data["counts"]
        watch.past, watch.sums = _read(data["past"]), _read(data["sums"])
        before: dict[Cell, Sums] = {}
        for time, changed in data["splits"]:
            before = before | _read(changed)
            watch.splits.append((time, before))
        watch.answers = Answers.from_dict(data["answers"])
        return watch


def _written(sums: AllSums) -> list[Any]:
    return [[*cell, own.plays, list(own.total), own.scatter] for cell, own in sums.items()]


def _read(rows: Iterable[Any]) -> dict[Cell, Sums]:
    return {(name, a): Sums(n, tuple(total), scatter) for name, a, n, total, scatter in rows}
