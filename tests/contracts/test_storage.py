"""What every storage of events promises; a new one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.storage.base import Event, Storage
from partial_monitoring.storage.memory import Memory
from tests.golden.runs import answer
from tests.oracles.every_game import KINDS, game_of
from tests.oracles.learners import without_id


def a_file() -> pm.LogFile:
    return pm.LogFile(Path(mkdtemp()) / "log.ndjson")


STORAGES: dict[str, Callable[[], Storage]] = {"memory": Memory, "file": a_file}

every_storage = pytest.mark.parametrize("build", STORAGES.values(), ids=STORAGES)


def events(first: int, last: int) -> list[Event]:
    return [
        {"seq": seq, "kind": "tell", "observation": [0.1 * seq, None, {"deep": [seq]}]}
        for seq in range(first, last + 1)
    ]


@every_storage
def test_a_new_storage_is_empty(build: Callable[[], Storage]) -> None:
    storage = build()
    assert list(storage.after()) == []
    assert list(storage.after(5)) == []
    assert storage.latest() is None


@every_storage
def test_events_come_back_in_order_from_any_number_on(build: Callable[[], Storage]) -> None:
    storage = build()
    storage.append(events(1, 3))
    storage.append([])
    storage.append(tuple(events(4, 4)))
    assert list(storage.after()) == events(1, 4)
    for seq in range(6):
        assert list(storage.after(seq)) == events(seq + 1, 4)


class Broken(Sequence[Event]):
    """Events of which the second cannot be read."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        if index:
            raise OSError("lost")
        return events(2, 2)[0]


@every_storage
def test_events_are_appended_all_or_none(build: Callable[[], Storage]) -> None:
    storage = build()
    storage.append(events(1, 1))
    with pytest.raises(OSError, match="lost"):
        storage.append(Broken())
    assert list(storage.after()) == events(1, 1)
    storage.append(events(2, 2))
    assert list(storage.after()) == events(1, 2)


@every_storage
def test_what_comes_back_is_the_callers_to_keep(build: Callable[[], Storage]) -> None:
    storage = build()
    storage.append(events(1, 2))
    for event in storage.after():
        event["observation"][2]["deep"].append("mine")
        event["kind"] = "mine"
    assert list(storage.after()) == events(1, 2)


@every_storage
def test_events_read_while_others_are_appended_do_not_change(build: Callable[[], Storage]) -> None:
    storage = build()
    storage.append(events(1, 2))
    reading = storage.after()
    first = next(reading)
    storage.append(events(3, 3))
    assert [first, *reading][:2] == events(1, 2)
    assert list(storage.after()) == events(1, 3)


@every_storage
def test_two_storages_share_nothing(build: Callable[[], Storage]) -> None:
    one, two = build(), build()
    one.append(events(1, 1))
    one.keep({"seq": 1})
    assert list(two.after()) == []
    assert two.latest() is None


@every_storage
def test_the_latest_snapshot_is_the_last_that_was_kept_or_none(
    build: Callable[[], Storage],
) -> None:
    """It may be lost at any time, and never touches the events."""
    storage = build()
    storage.append(events(1, 2))
    for seq in (1, 2):
        storage.keep({"seq": seq, "state": [0.5]})
        assert storage.latest() in (None, {"seq": seq, "state": [0.5]})
    assert list(storage.after()) == events(1, 2)


# -- learners --------------------------------------------------------------------------------------


def goes_on(learner: pm.Learner, rounds: int, seed: int) -> list[Any]:
    """Ask and answer for some rounds, and return what was decided."""
    game, rng, decided = learner.game, np.random.default_rng(seed), []
    for t in range(rounds):
        given = {"context": t % len(game.games)} if game.traits.contexts else {}  # type: ignore[attr-defined]
        decision = learner.ask(**given)
        decided.append((decision.action, decision.probability))
        learner.tell(decision, answer(game, decision, rng, **given))
    return decided


@every_storage
@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_goes_on_from_its_storage(kind: str, build: Callable[[], Storage]) -> None:
    game = game_of(kind)
    rounds = 6 if game.traits.listed else 2
    policy = pm.IDS(gap=pm.gaps.mean)
    without = pm.Learner(game, policy, seed=3)
    expected = [goes_on(without, rounds, 0), goes_on(without, rounds, 1)]
    storage = build()
    first = goes_on(pm.Learner(game, policy, seed=3, storage=storage), rounds, 0)
    second = goes_on(pm.Learner(game, policy, seed=3, storage=storage), rounds, 1)
    assert [first, second] == expected
    assert list(map(without_id, storage.after())) == list(map(without_id, without.events))
    assert [event["seq"] for event in storage.after()] == list(range(1, 4 * rounds + 1))


@every_storage
def test_what_a_learner_refuses_is_not_kept(build: Callable[[], Storage]) -> None:
    storage = build()
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1, storage=storage)
    decision = learner.ask()
    before = list(storage.after())
    with pytest.raises(pm.errors.InvalidInput):
        learner.tell(decision, "no such signal")
    with pytest.raises(pm.errors.InvalidInput):
        learner.tell_past(["$1", "$2"], ["yes", "no such signal"])
    assert list(storage.after()) == before
