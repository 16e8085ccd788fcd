"""What every storage does: memory, file, SQLite and PostgreSQL, by one suite."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import partial_monitoring as pm
from partial_monitoring.errors import PartialMonitoringError
from partial_monitoring.learner import snapshots
from partial_monitoring.storage.base import Event, log_of
from partial_monitoring.storage.memory import BLOCK, Memory
from tests.storage.conftest import Make

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def rows(first: int, values: list[Any]) -> list[Event]:
    return [
        {"seq": seq, "kind": "history", "observation": value}
        for seq, value in enumerate(values, first)
    ]


def exactly(events: Any) -> str:
    """Return events as text, in which 1 and 1.0, 0.0 and -0.0 are different."""
    return repr([sorted(event.items()) for event in events])


HOSTILE = [
    *(-0.0, 1e16, 1e308, 5e-324, 0.1 + 0.2, 10**30, True, None, [], {}),
    *("\0", "\ud800", "é\u2028", "'; DROP TABLE pm_event; --", "%s ? :x $1", '"' * 3),
]


def test_what_was_appended_is_read_again_exactly(make: Make) -> None:
    storage, expected = make(), rows(1, HOSTILE)
    storage.append(expected)
    storage.append([])
    for seq in range(len(expected) + 2):
        assert exactly(storage.after(seq)) == exactly(expected[seq:])
        assert exactly(make().after(seq)) == exactly(expected[seq:])


def test_many_events_are_read_in_their_order(make: Make) -> None:
    storage = make()
    storage.append(rows(1, list(range(2500))))
    assert [event["observation"] for event in storage.after(700)] == list(range(700, 2500))


def test_what_is_read_is_a_copy(make: Make) -> None:
    storage = make()
    storage.append(rows(1, [[1, 2]]))
    next(iter(storage.after()))["observation"].append(3)
    assert next(iter(storage.after()))["observation"] == [1, 2]


def test_the_latest_snapshot_is_found(make: Make) -> None:
    storage = make()
    assert storage.latest() is None
    storage.append(rows(1, list(range(9))))
    for seq in (3, 6, 9, 9):
        storage.keep({"seq": seq, "state": [0.1, seq]})
        assert storage.latest() == {"seq": seq, "state": [0.1, seq]}
    assert make().latest() == {"seq": 9, "state": [0.1, 9]}


def test_events_that_do_not_follow_are_refused(make: Make) -> None:
    storage = make()
    storage.append(rows(1, [1, 2]))
    if log_of(storage) != "apart":
        return  # a learner in memory appends to no other learner's log
    for first in (1, 2, 4):
        with pytest.raises(PartialMonitoringError, match=r"up to number 2; .* try again\.$"):
            storage.append(rows(first, ["x"]))
    assert exactly(storage.after()) == exactly(rows(1, [1, 2]))


class Log(RuleBasedStateMachine):
    """Appending, reading from any number, snapshots, reopening: as a list does it."""

    make: Make
    names: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self.name = f"machine{next(self.names)}"
        self.storage = self.make(self.name)
        self.model: list[Event] = []
        self.kept: Any = None

    @rule(values=st.lists(VALUES, max_size=4))
    def append(self, values: list[Any]) -> None:
        new = rows(len(self.model) + 1, values)
        self.storage.append(new)
        self.model += new

    @rule(values=st.lists(VALUES, min_size=1, max_size=2))
    def take_a_turn(self, values: list[Any]) -> None:
        turn = getattr(self.storage, "turn", None)
        if turn is None:
            return
        with turn() as last:
            assert last == len(self.model)
            new = rows(last + 1, values)
            self.storage.append(new)
            assert exactly(self.storage.after(last)) == exactly(new)
        self.model += new

    @rule(place=st.integers(0, 5))
    def read(self, place: int) -> None:
        seq = max(0, len(self.model) - place)
        assert exactly(self.storage.after(seq)) == exactly(self.model[seq:])

    @rule(state=VALUES)
    def keep(self, state: Any) -> None:
        if len(self.model) > (self.kept or {"seq": 0})["seq"]:
            self.kept = {"seq": len(self.model), "state": state}
            self.storage.keep(self.kept)

    @rule()
    def open_again(self) -> None:
        self.storage = self.make(self.name)

    @invariant()
    def holds(self) -> None:
        assert exactly(self.storage.after()) == exactly(self.model)
        assert self.storage.latest() == self.kept


def test_any_order_of_calls_is_that_of_a_list(make: Make) -> None:
    machine = type("Machine", (Log,), {"make": staticmethod(make), "names": count()})
    few = settings(
        max_examples=8,
        stateful_step_count=15,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=few)  # type: ignore[no-untyped-call]


# -- learners ------------------------------------------------------------------------------------


NAMES = count()


def state_of(learner: pm.Learner) -> Any:
    return snapshots.steps.snapshot(learner._spec, learner._session)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 99), steps=st.lists(st.integers(0, 4), max_size=25))
def test_a_learner_is_the_one_in_memory(make: Make, seed: int, steps: list[int]) -> None:
    """Asks, answers in any order, cancelled ones, resets, amendments; opened again at any time."""
    name = f"learner{next(NAMES)}"
    own = pm.Learner("dynamic_pricing", seed=seed, storage=make(name))
    model = pm.Learner("dynamic_pricing", seed=seed)
    for step in steps:
        for learner in (own, model):
            waiting = [one.id for one in learner.open]
            if step == 0 or not waiting:
                learner.ask(now=1.0)
            elif step == 1:
                learner.tell(waiting[-1], "yes", now=1.0)
            elif step == 2:
                learner.cancel(waiting[0])
            elif step == 3:
                learner.reset()
            else:
                learner.tell(waiting[0], "no", now=1.0)
                learner.amend(waiting[0], "yes")
        if step == 3:
            own = pm.Learner("dynamic_pricing", seed=seed, storage=make(name))
    one, two = state_of(own), state_of(model)
    for name in ("seq", "asked", "told", "counts", "state"):
        assert one[name] == two[name]


def test_memory_is_copied_as_it_is_and_keeps_all_or_none() -> None:
    storage = Memory(rows(1, [*range(BLOCK - 3)]))
    copied = pickle.loads(pickle.dumps(storage))
    reading = storage.after()
    storage.append(rows(BLOCK - 2, [0.5]))
    copied.append(rows(BLOCK - 2, ["other"]))
    assert [event["observation"] for event in reading] == [*range(BLOCK - 3)]
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        storage.append(rows(BLOCK - 1, [1, lambda: None]))
    assert len(list(storage.after())) == BLOCK - 2
    storage.append(rows(BLOCK - 1, [1, 2, 3]))
    assert [event["observation"] for event in storage.after(BLOCK - 3)] == [0.5, 1, 2, 3]
    assert [event["observation"] for event in copied.after(BLOCK - 3)] == ["other"]
