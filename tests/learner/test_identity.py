"""Ids of decisions are unique across learners, reloads, crashes, copies and forks."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.identity import new_token, was_given_out
from partial_monitoring.storage.memory import Memory
from tests.oracles.learners import refused, without_id

SAVED = Path(__file__).parents[1] / "golden" / "saved"


def pricing(seed: int = 1) -> pm.Learner:
    return pm.Learner(pm.games.dynamic_pricing(), seed=seed)


def reloaded(learner: pm.Learner, path: Path) -> pm.Learner:
    learner.save(path / "learner.json")
    return pm.Learner.load(path / "learner.json")


def token(decision: pm.Decision) -> str:
    return str(decision.id).rpartition("-")[0]


def test_a_decision_of_another_learner_is_refused() -> None:
    """Two learners of one game that are asked and told in step."""
    one, two = pricing(0), pricing(1)
    for _ in range(200):
        first, second = one.ask(), two.ask()
        for own, other in ((one, second), (two, first)):
            for given in (other, other.id):
                with pytest.raises(InvalidInput) as caught:
                    own.tell(given, "yes")
                assert str(caught.value) == f"decision {other.id!r} is not one of this learner's."
        one.tell(first, "yes")
        two.tell(second, "yes")
    assert (one.round, two.round) == (201, 201)


def test_an_answer_to_a_lost_decision_is_refused(tmp_path: Path) -> None:
    """It was given out after the last save; what follows the crash has other ids."""
    learner = pricing()
    told = learner.ask()
    learner.tell(told, "yes")
    before = learner.ask()
    learner.save(tmp_path / "learner.json")
    lost = [learner.ask() for _ in range(3)]
    again = pm.Learner.load(tmp_path / "learner.json")
    new = [again.ask() for _ in range(3)]
    assert [without_id(own.to_dict()) for own in lost] == [without_id(own.to_dict()) for own in new]
    for own in lost:
        refused(lambda own=own: again.tell(own.id, "yes"), again, "is not one of this learner's")
        refused(lambda own=own: again.tell(own, "yes"), again, "is not one of this learner's")
    refused(
        lambda: again.tell(told.id, "yes"), again, f"decision {told.id!r} has been told already"
    )
    again.tell([before.id, *new], ["yes"] * 4)
    third = reloaded(again, tmp_path)
    for own in (told, before, *new):
        refused(lambda own=own: third.tell(own.id, "yes"), third, "has been told already")
    refused(lambda: third.tell(lost[0].id, "yes"), third, "is not one of this learner's")


def test_two_processes_with_one_file_give_out_different_ids(tmp_path: Path) -> None:
    pricing().save(tmp_path / "learner.json")
    ids = [pm.Learner.load(tmp_path / "learner.json").ask().id for _ in range(50)]
    assert len(set(ids)) == 50


def test_a_learner_that_is_opened_again_from_its_storage_has_other_ids() -> None:
    storage = Memory()
    asked = [
        pm.Learner(pm.games.dynamic_pricing(), seed=1, storage=storage).ask() for _ in range(5)
    ]
    assert len({token(own) for own in asked}) == 5
    last = pm.Learner(pm.games.dynamic_pricing(), seed=1, storage=storage)
    last.tell(asked, ["yes"] * 5)
    assert last.round == 6


def test_ids_go_over_a_wire() -> None:
    learner = pricing()
    decision = learner.ask()
    name = json.loads(json.dumps(decision.to_dict()))["id"]
    assert name == decision.id
    assert name.isascii()
    assert len(name) < 20
    learner.tell(name, "yes")
    assert [event["decision"] for event in learner.events] == [name, name]
    again = pm.Learner.replay(learner.game, None, 1, json.loads(json.dumps(learner.events)))
    refused(lambda: again.tell(name, "yes"), again, "already")


@pytest.mark.parametrize("given", ["{}-00", "{}-+0", "{} -0", "x{}-0", "{}", "-0", "0", "", "{}-٠"])
def test_what_only_looks_like_an_id_is_refused(given: str) -> None:
    learner = pricing()
    decision = learner.ask()
    refused(
        lambda: learner.tell(given.format(token(decision)), "yes"),
        learner,
        "is not one of this learner's",
    )
    learner.tell(decision, "yes")
    refused(
        lambda: learner.tell(given.format(token(decision)), "yes"),
        learner,
        "is not one of this learner's",
    )


def test_ids_that_were_given_out_are_known_by_their_tokens() -> None:
    tokens = ((None, 0), ("a", 3), ("b", 5))
    given = [0, 2, "a-3", "a-4", "b-5", "b-6"]
    assert all(was_given_out(tokens, 7, own) for own in given)
    never = [
        -1,
        3,
        "a-2",
        "a-5",
        "b-4",
        "b-7",
        "c-3",
        "3",
        "a-03",
        "a",
        None,
        0.0,
        True,
        "a-" + "9" * 99,
    ]
    assert not any(was_given_out(tokens, 7, own) for own in never)
    assert not was_given_out((), 0, 0)
    assert len({new_token() for _ in range(1000)}) == 1000


# -- learners of earlier versions ------------------------------------------------------------


def test_open_decisions_of_old_files_are_told_by_their_numbers(tmp_path: Path) -> None:
    learner = pm.Learner.load(SAVED / "finite.json")
    refused(lambda: learner.tell("3", "yes"), learner, "decision '3' is not one")
    refused(lambda: learner.tell(0, "yes"), learner, "decision 0 has been told already")
    refused(lambda: learner.tell(True, "yes"), learner, "decision True is not one")
    new = learner.ask()
    assert str(new.id).endswith("-12")
    refused(lambda: learner.tell(12, "yes"), learner, "decision 12 is not one")
    again = reloaded(learner, tmp_path)
    rows = learner.history[3], learner.history[12]
    again.tell([3, new.id], [learner.game.signal(row["action"], 0) for row in rows])
    refused(lambda: again.tell(3, "yes"), again, "decision 3 has been told already")
    assert again.round == learner.round + 2


def test_files_without_tokens_and_checksum_are_read(tmp_path: Path) -> None:
    """As the version before this one wrote them: the numbers of decisions were their ids."""
    learner = pricing()
    for _ in range(3):
        learner.tell(learner.ask(), "yes")
    left, path = learner.ask(), tmp_path / "learner.json"
    learner.save(path)
    data: Any = json.loads(
        path.read_text().replace(f'"{token(left)}-', '"').replace("snapshot", "x")
    )
    kept = data.pop("x")
    for event in [*data["events"], *kept["open"]]:
        event["decision"] = int(event["decision"])
    del data["digest"], kept["tokens"]
    path.write_text(json.dumps(data | {"format": 2, "snapshot": kept}))
    again = pm.Learner.load(path)
    refused(lambda: again.tell(1, "yes"), again, "already")
    again.tell(3, "yes")
    assert again.round == 5


# -- copies ----------------------------------------------------------------------------------

COPIES = {
    "pickled": lambda learner: pickle.loads(pickle.dumps(learner)),
    "copied deeply": copy.deepcopy,
    "copied": copy.copy,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_gives_out_other_ids(copied: Any) -> None:
    learner = pricing()
    learner.tell(learner.ask(), "yes")
    shared = learner.ask()
    twin = copied(learner)
    mine, other = learner.ask(), twin.ask()
    assert without_id(mine.to_dict()) == without_id(other.to_dict())
    refused(lambda: learner.tell(other.id, "yes"), learner, "is not one of this learner's")
    refused(lambda: twin.tell(mine.id, "yes"), twin, "is not one of this learner's")
    for own, decision in ((learner, mine), (twin, other)):
        own.tell([shared, decision], ["yes", "yes"])
        assert len(own.events) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gives_out_other_ids_and_cannot_hang() -> None:
    """Also if a thread of the parent is deciding at that moment."""
    learner, stop = pricing(), Event()

    def work() -> None:
        while not stop.is_set():
            learner.tell(learner.ask(), "yes")

    def child(queue: Any) -> None:
        learner.tell(learner.ask(), "yes")
        events = learner.events
        replayed = pm.Learner.replay(learner.game, None, 1, events)
        queue.put((learner.ask().id, learner.round == replayed.round))

    thread = Thread(target=work)
    thread.start()
    try:
        forked = multiprocessing.get_context("fork")
        queue, ids = forked.SimpleQueue(), set()
        for _ in range(8):
            process = forked.Process(target=child, args=(queue,))
            process.start()
            process.join(30)
            process.kill()  # if it hangs
            assert process.exitcode == 0
            name, complete = queue.get()
            assert complete
            ids.add(name.rpartition("-")[0])
    finally:
        stop.set()
        thread.join()
    assert len(ids | {token(learner.ask())}) == 9
