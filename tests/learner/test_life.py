"""Any order of asks, answers, corrections, windows, files and replays equals an obvious model."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import partial_monitoring as pm
from partial_monitoring.learner.session import snapshot

GAME = pm.games.dynamic_pricing()
ANSWERS = st.sampled_from(["yes", "no", None])
HOUR = 3600.0


@dataclass
class Row:
    """A decision in the model."""

    id: str
    action: int
    time: float
    probability: float
    state: str = "open"
    """Or told, lapsed or cancelled."""
    answer: Any = None
    """What was told, also if it waits to be due."""
    closed: int = 0
    """When it was closed, counted over all that happened."""


@dataclass
class Model:
    """Lists of everything, and nothing clever: what is known follows from what is told by now."""

    window: pm.Window | None
    rows: list[Row] = field(default_factory=list)
    clock: int = 0
    latest: float = 0.0

    def close(self, row: Row, state: str, answer: Any = None) -> None:
        self.clock += 1
        row.state, row.answer, row.closed = state, answer, self.clock

    def settle(self, now: float) -> int:
        if self.window is None:
            return 0
        due = [
            (number, row)
            for number, row in enumerate(self.rows)
            if row.state == "open" and self.is_due(number, row, max(now, self.latest))
        ]
        for _, row in due:
            if row.answer is not None:
                self.close(row, "told", row.answer)
            elif self.window.unanswered in GAME.symbols[row.action]:
                self.close(row, "told", self.window.unanswered)
            else:
                self.close(row, "lapsed")
        return len(due)

    def is_due(self, number: int, row: Row, now: float) -> bool:
        assert self.window is not None
        if self.window.rounds is not None:
            return len(self.rows) > number + self.window.rounds
        return now >= row.time + self.window.length

    def learner(self) -> pm.Learner:
        """Return the learner to which all that counts was told, in its order, and nothing else."""
        found = pm.Learner(GAME, pm.IDS(), seed=1)
        told = sorted((x for x in self.rows if x.state == "told"), key=lambda row: row.closed)
        found.tell_past([row.action for row in told], [row.answer for row in told])
        return found


WINDOWS = st.sampled_from(
    [
        None,
        pm.Window(rounds=2, unanswered="yes"),
        pm.Window(rounds=1, unanswered="no"),
        pm.Window(hours=2),
        pm.Window(hours=3, unanswered="no"),
        pm.Window(hours=1, hold=False),
    ]
)


class Life(RuleBasedStateMachine):
    """One learner and its model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.now = 0.0

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(window=WINDOWS)
    def begin(self, window: pm.Window | None) -> None:
        self.learner = pm.Learner(GAME, pm.IDS(), seed=1, window=window)
        self.model = Model(window)

    def open_row(self, data: Any) -> Row:
        rows = [row for row in self.model.rows if row.state == "open"]
        return data.draw(st.sampled_from(rows))  # type: ignore[no-any-return]

    def has_open(self) -> bool:
        return any(row.state == "open" for row in self.model.rows)

    @rule(hours=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 5.0]))
    def time_passes(self, hours: float) -> None:
        self.now = max(0.0, self.now + hours * HOUR)  # clocks may go back

    @rule(count=st.integers(1, 3))
    def ask(self, count: int) -> None:
        for decision in self.learner.ask(count=count, now=self.now):
            self.model.settle(self.now)
            self.model.latest = max(self.model.latest, self.now)
            own = (decision.id, decision.action, self.model.latest, decision.probability)
            self.model.rows.append(Row(*own))

    @precondition(lambda self: self.has_open())
    @rule(data=st.data(), answer=ANSWERS)
    def tell(self, data: Any, answer: Any) -> None:
        row, window = self.open_row(data), self.model.window
        possible = answer is None or answer in GAME.symbols[row.action]
        number = self.model.rows.index(row)
        now = max(self.now, self.model.latest)
        late = window is not None and self.model.is_due(number, row, now)
        if late:  # it does not count, whatever it is
            self.learner.tell(row.id, answer, now=self.now)
            self.model.settle(self.now)
            return
        if not possible or row.answer is not None:
            try:
                self.learner.tell(row.id, answer, now=self.now)
            except pm.errors.InvalidInput:
                return
            raise AssertionError((row, answer))
        self.learner.tell(row.id, answer, action=row.action, now=self.now)
        self.model.settle(self.now)
        if answer is None:
            self.model.close(row, "lapsed")
        elif window is None or not window.hold:
            self.model.close(row, "told", answer)
        else:
            row.answer = answer

    @precondition(lambda self: self.has_open())
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        row = self.open_row(data)
        self.learner.cancel(row.id)
        self.model.close(row, "cancelled")

    @precondition(lambda self: any(row.state != "open" for row in self.model.rows))
    @rule(data=st.data(), answer=ANSWERS)
    def amend(self, data: Any, answer: Any) -> None:
        closed = [row for row in self.model.rows if row.state != "open"]
        row = data.draw(st.sampled_from(closed))
        if answer is not None and answer not in GAME.symbols[row.action]:
            return
        self.learner.amend(row.id, answer)
        row.state, row.answer = ("lapsed" if answer is None else "told"), answer

    @precondition(lambda self: any(x.state == "open" and x.answer for x in self.model.rows))
    @rule(data=st.data(), answer=ANSWERS)
    def amend_what_waits(self, data: Any, answer: Any) -> None:
        waiting = [x for x in self.model.rows if x.state == "open" and x.answer]
        row = data.draw(st.sampled_from(waiting))
        if answer is None or answer in GAME.symbols[row.action]:
            self.learner.amend(row.id, answer)
            row.answer = answer

    @rule()
    def settle(self) -> None:
        assert self.learner.settle(now=self.now) == self.model.settle(self.now)

    @rule(how=st.sampled_from(["save", "pickle", "replay", "check"]))
    def copy(self, how: str) -> None:
        learner, path = self.learner, Path(self.folder.name) / "learner.json"
        if how == "save":
            learner.save(path)
            self.learner = pm.Learner.load(path)
        elif how == "pickle":
            self.learner = pickle.loads(pickle.dumps(learner))
        else:
            given = (learner.game, learner.policy, 1, learner.events)
            check = how == "check"
            self.learner = pm.Learner.replay(*given, window=learner.window, check=check)

    @invariant()
    def is_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        rows = [row for row in self.model.rows if row.state != "cancelled"]
        answers = [(x.id, x.answer if x.state == "told" else None) for x in rows]
        assert [(row["id"], row["observation"]) for row in self.learner.history] == answers
        waiting = [(x.id, x.answer) for x in rows if x.state == "open"]
        assert [(own.id, own.answer) for own in self.learner.open] == waiting
        other = self.model.learner()
        one, two = (snapshot(own._spec, own._session) for own in (self.learner, other))
        assert one["told"] == two["told"] == self.learner.round - 1
        assert (one["state"], one["counts"]) == (two["state"], two["counts"])


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
