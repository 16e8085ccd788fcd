"""Turns: collected, nested, and together with one commit; nothing has happened if that fails."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput, StorageError
from partial_monitoring.learner.checking import checked
from partial_monitoring.storage.opened import database_at
from tests.storage.conftest import Address
from tests.storage.failing import fail_in
from tests.storage.learners import learner_at, play


def learners_at(where: str, count: int) -> list[pm.Learner]:
    names = [f"study {number}" for number in range(count)]
    return [pm.Learner("dynamic_pricing", seed=1, storage=where, name=name) for name in names]


def statements(own: Any) -> list[str]:
    """Return what SQLite does from now on, by the first word of each statement."""
    found: list[str] = []
    own.set_trace_callback(lambda sql: found.append(sql.split()[0]))
    return found


def rows(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {"seq": seq, "kind": "history", "observation": seq} for seq in range(first, first + count)
    ]


def test_a_call_has_as_few_statements_as_possible(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/shop.db"
    learner = learner_at(where)
    play(learner, 2)
    database = database_at(where)
    found = statements(database.handle._own)  # type: ignore[attr-defined]
    decision = learner.ask()
    assert found == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
    found.clear()
    learner.tell(decision, "yes")
    assert found == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
    found.clear()
    with learner._turn():
        learner.ask(count=3)
        with learner._turn():
            learner.tell(learner.ask(), "no")
        assert found == []
    assert found == ["BEGIN", "UPDATE", *["INSERT"] * 5, "COMMIT"]
    found.clear()
    with learner._turn():
        pass
    assert found == []


def test_turns_nest_and_a_part_may_fail(address: Address) -> None:
    where = address()
    learner = learner_at(where)
    study: Any = learner._storage
    other = next(iter(learners_at(where, 1)))._storage
    with study.turn() as last:
        assert last == 0
        study.append(rows(1, 2))
        with study.turn() as last:
            assert last == study.version == 2
            study.append(rows(3, 1))
            assert [event["seq"] for event in study.after(1)] == [2, 3]
        with pytest.raises(ZeroDivisionError):
            fail_in(study.turn(), lambda: study.append(rows(4, 5)))
        assert study.version == 3
        with pytest.raises(StorageError, match=r"up to number 3; they are read now, so try"):
            study.append(rows(5, 1))
        study.append(rows(4, 1))
        assert list(other.after()) == []
    assert [event["seq"] for event in study.after()] == [1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        fail_in(study.turn(), lambda: study.append(rows(5, 5)))
    assert list(study.after()) == rows(1, 4)


def test_what_is_collected_is_seen_by_its_thread_only(address: Address) -> None:
    study: Any = learner_at(address())._storage
    seen: list[Any] = []
    with study.turn():
        study.append(rows(1, 3))
        thread = Thread(target=lambda: seen.append((study.version, list(study.after()))))
        if study._handle.owns:  # elsewhere, a connection has one turn at a time
            thread.start()
            thread.join()
            assert seen == [(0, [])]
        assert list(study.after(1)) == rows(2, 2)


def test_a_refused_call_in_a_turn_refuses_itself_only(address: Address) -> None:
    learner, model = learner_at(address()), pm.Learner("dynamic_pricing", seed=1)
    with learner._turn():
        decision = learner.ask(now=1.0)
        with pytest.raises(InvalidInput):
            learner.tell(decision, "perhaps", now=1.0)
        with pytest.raises(InvalidInput):
            learner.tell([decision, decision.id], ["yes", "yes"], now=1.0)
        learner.tell(decision, "yes", now=1.0)
    model.tell(model.ask(now=1.0), "yes", now=1.0)
    assert play(learner, 10) == play(model, 10)


def test_studies_share_a_commit(tmp_path: Path) -> None:
    where, model = f"sqlite:///{tmp_path}/shop.db", pm.Learner("dynamic_pricing", seed=1)
    learners, expected = learners_at(where, 3), play(model, 20)
    for learner in learners:
        assert play(learner, 2) == expected[:2]
    database = database_at(where)
    found = statements(database.handle._own)  # type: ignore[attr-defined]
    with database.together():
        for learner in learners:
            with learner._turn():
                assert play(learner, 1) == expected[2:3]
            assert play(learner, 1) == expected[3:4]
        assert found == []
    assert found == ["BEGIN", *["UPDATE", *["INSERT"] * 4] * 3, "COMMIT"]
    for learner in learners:
        assert len(learner.events) == 8
        assert play(learner, 16) == expected[4:]


class Full:
    """A disk with hardly any space left."""

    def __init__(self, where: str) -> None:
        self._own = database_at(where).handle._own  # type: ignore[attr-defined]
        [(pages,)] = self._own.execute("PRAGMA page_count").fetchall()
        self._own.execute(f"PRAGMA max_page_count = {pages + 2}")

    def end(self) -> None:
        self._own.execute("PRAGMA max_page_count = 100000")


def test_if_the_disk_is_full_nothing_has_happened_to_anybody(tmp_path: Path) -> None:
    where, model = f"sqlite:///{tmp_path}/shop.db", pm.Learner("dynamic_pricing", seed=1)
    learners, expected = learners_at(where, 4), play(model, 30)
    for learner in learners:
        play(learner, 10)
    database, full = database_at(where), Full(where)
    before = [learner.events for learner in learners]
    said = pytest.raises(StorageError, match=r"shop\.db: database or disk is full\.$")
    with said, database.together():
        assert [play(own, 15) for own in learners] == [expected[10:25]] * 4
    with pytest.raises(StorageError, match=r"disk is full\.$"), learners[0]._turn():
        learners[0].ask(count=100)
    for learner, events in zip(learners, before, strict=True):
        assert learner.events == events
        assert (learner._session.seq, learner.round) == (20, 11)
    full.end()
    with database.together():
        for learner in learners:
            assert play(learner, 10) == expected[10:20]
    for learner in learners:
        assert play(learner, 10) == expected[20:]
        assert checked(database, learner._storage.name).problems == []  # type: ignore[attr-defined]


def test_what_fails_in_a_group_undoes_all_of_it(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/shop.db"
    one, two = learners_at(where, 2)

    def refused() -> None:
        with pytest.raises(InvalidInput):
            two.tell("nobody", "yes")

    with pytest.raises(ZeroDivisionError):
        fail_in(database_at(where).together(), lambda: play(one, 3), refused, lambda: play(two, 3))
    assert (one.round, two.round, one.events, two.events) == (1, 1, [], [])
    with database_at(where).together(), database_at(where).together():
        play(one, 1)
    assert len(one.events) == 2


def test_others_wait_for_a_group_and_go_on(tmp_path: Path) -> None:
    """Threads with learners of their own, or the same one, beside one that groups."""
    where = f"sqlite:///{tmp_path}/shop.db"
    learners, begun = learners_at(where, 2), Signal()
    database = database_at(where)

    def alone(learner: pm.Learner) -> None:
        begun.wait(10)
        for _ in range(20):
            learner.tell(learner.ask(), "yes")

    def grouped(order: list[pm.Learner]) -> None:
        begun.set()
        for _ in range(20):
            with database.together():
                for learner in order:
                    with learner._turn():
                        learner.tell(learner.ask(), "yes")

    threads = [Thread(target=alone, args=(learner,)) for learner in learners]
    threads += [Thread(target=grouped, args=(order,)) for order in (learners, learners[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for learner in learners:
        assert len(learner.events) == 120
        assert checked(database, learner._storage.name).problems == []  # type: ignore[attr-defined]


def test_a_fork_does_not_wait_for_a_turn_of_its_parent(address: Address) -> None:
    learner, begun, done = learner_at(address()), Signal(), Signal()

    def hold() -> None:
        with learner._storage.turn():  # type: ignore[attr-defined]
            begun.set()
            done.wait(10)

    thread = Thread(target=hold)
    thread.start()
    begun.wait(10)
    if (child := os.fork()) == 0:
        study: Any = learner._storage
        os._exit(0 if study._lock.acquire(timeout=5) else 1)
    done.set()
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    play(learner, 1)
