"""Corrections of answers: the learner is then the one that was told right."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.off_policy.logged import read_log
from partial_monitoring.learner.session import snapshot
from partial_monitoring.storage.memory import Memory
from tests.oracles.learners import GAMES, fingerprint, refused


def pricing(**options: Any) -> pm.Learner:
    return pm.Learner(pm.games.dynamic_pricing(), pm.IDS(), seed=1, **options)


def known(learner: pm.Learner) -> Any:
    """What a learner knows, bit by bit, but for ids, times and numbers of events."""
    found = snapshot(learner._spec, learner._session)
    for own in found["open"]:
        for name in ("seq", "decision", "time", "action", "label", "probability"):
            own.pop(name, None)
    return [found[name] for name in ("asked", "told", "open", "counts", "state")]


KINDS: dict[str, tuple[Any, Any]] = {
    "finite": (pm.games.dynamic_pricing, pm.IDS()),
    "default": (pm.games.dynamic_pricing, None),
    "counts": (pm.games.dynamic_pricing, pm.RandCBP()),
    "weights": (pm.games.dynamic_pricing, pm.FeedExp3()),
    "linear": (pm.games.linear_bandit, pm.IDS()),
    "replayed": (pm.games.kernelized_bandit, pm.GPUCB()),
}


def shown(learner: pm.Learner, decision: pm.Decision, which: int) -> Any:
    """One of two answers to a decision, of which the second is that of the best outcome."""
    game: Any = learner.game
    if not game.traits.finite:
        return [(-3.0, 0.5)[which]]
    return game.symbols[decision.action][which - 1]


@pytest.mark.parametrize("kind", KINDS)
def test_amended_is_as_told_right(kind: str) -> None:
    game, policy = KINDS[kind]
    learner, other = (pm.Learner(game(), policy, seed=1) for _ in range(2))
    for own in (learner, other):
        batch = own.ask(count=6)  # before any answer, so that both decide the same
        for number, decision in enumerate(batch[:4]):
            wrong = own is learner and number in (0, 2)
            own.tell(decision, shown(own, decision, not wrong))
        own.tell(batch[4], None)
        if own is learner:
            answers = [shown(own, batch[number], 1) for number in (2, 0)]
            own.amend([batch[2], batch[0].id], answers)
    assert known(learner) == known(other)
    one, two = learner.ask(), other.ask()
    assert (one.action, one.probability, one.round) == (two.action, two.probability, two.round)


def test_the_log_keeps_both_answers() -> None:
    learner = pricing()
    decision = learner.ask(available=["$2"])
    learner.tell(decision, "no")
    learner.amend(decision, "yes")
    learner.amend(decision.id, "no")
    *_, told, first, second = learner.events
    assert [own["observation"] for own in (told, first, second)] == ["no", "yes", "no"]
    assert first == {
        "seq": 3,
        "kind": "amend",
        "decision": decision.id,
        "action": 1,
        "label": "$2",
        "observation": "yes",
    }
    assert [row["observation"] for row in learner.history] == ["no"]


@pytest.mark.parametrize("first", ["yes", None, "cancel"])
@pytest.mark.parametrize("last", ["yes", "no", None])
def test_whether_there_is_an_answer_can_be_amended(first: Any, last: Any) -> None:
    learner, other = pricing(), pricing()
    for own in (learner, other):
        decision, waiting = own.ask(count=2)
        if own is other:
            own.tell(decision, last)
        elif first == "cancel":
            own.cancel(decision)
        else:
            own.tell(decision, first)
        own.ask(available=["$1"])
        if own is learner:
            own.amend([decision], [last])
        own.tell(waiting, "yes")
        own.ask(available=["$1"])
    assert known(learner) == known(other)
    assert [row["round"] for row in learner.history] == [row["round"] for row in other.history]
    assert len(learner.open) == 2
    copy = pm.Learner.replay(learner.game, learner.policy, 1, learner.events, check=True)
    assert known(copy) == known(learner)


def test_several_are_amended_together_or_not_at_all() -> None:
    learner = pricing()
    one, two, three = learner.ask(count=3)
    learner.tell([one, two], ["no", "no"])
    refused(lambda: learner.amend([one, two], ["yes", "maybe"]), learner, "maybe")
    refused(lambda: learner.amend([one, three], ["yes", "yes"]), learner, "still open")
    refused(lambda: learner.amend([one, two], ["yes"]), learner, "observation")
    refused(lambda: learner.amend("x-1", "yes"), learner, "is not one of this learner's")
    refused(lambda: learner.amend(None, "yes"), learner, "is not one of this learner's")
    learner.amend([one, two.id], ["yes", None])
    assert [row["observation"] for row in learner.history] == ["yes", None, None]
    assert learner.round == 2


def test_amendments_survive_files_copies_and_storages(tmp_path: Path) -> None:
    for name in GAMES:
        storage = Memory()
        learner = pm.Learner(GAMES[name](), pm.IDS(), seed=2, storage=storage)
        batch = learner.ask(count=4, available=[0])
        right = "yes" if name == "pricing" else [0.25] * learner.game.row_count(0)
        learner.tell(batch[0], None)
        learner.tell(batch[1], right)
        learner.ask()
        learner.amend(batch[:2], [right, None])
        learner.ask()
        learner.save(tmp_path / "learner.json")
        again = pm.Learner(GAMES[name](), pm.IDS(), seed=2, storage=storage)
        for copy in (
            pm.Learner.load(tmp_path / "learner.json"),
            pm.Learner.replay(learner.game, learner.policy, 2, learner.events, check=True),
            pickle.loads(pickle.dumps(learner)),
            again,
        ):
            assert fingerprint(copy) == fingerprint(learner)


def test_a_snapshot_before_an_amendment_is_not_trusted() -> None:
    storage = Memory()
    learner = pricing(storage=storage)
    decision = learner.ask()
    learner.tell(decision, "no")
    storage.keep(snapshot(learner._spec, learner._session))
    learner.ask()
    learner.amend(decision, "yes")
    learner.ask()
    again = pricing(storage=storage)
    assert known(again) == known(learner)
    storage.keep(snapshot(learner._spec, learner._session))
    learner.ask()
    assert known(pricing(storage=storage)) == known(learner)


class Forgetful(Memory):
    """A storage that keeps no events."""

    def append(self, events: Any) -> None:
        pass


def test_without_a_log_nothing_is_amended() -> None:
    learner = pricing(storage=Forgetful())
    decision = learner.ask()
    learner.tell(decision, "no")
    before = known(learner)
    with pytest.raises(InvalidInput, match="all events are kept") as caught:
        learner.amend(decision, "yes")
    assert str(caught.value).count(".") == 1
    assert known(learner) == before


def test_amended_answers_are_what_values_are_estimated_from() -> None:
    learner = pricing(probe=0.5)
    batch = [learner.ask(available=["$2", "$3"]) for _ in range(20)]
    learner.tell(batch, ["yes"] * 10 + ["no"] * 10)
    for _ in range(3):
        learner.ask()
    learner.amend(batch[5:15], ["no"] * 5 + ["yes"] * 4 + [None])
    log = read_log(learner, None)
    assert log.distributions is not None  # every decision comes out as it was made
    symbols: Any = log.game.symbols  # type: ignore[attr-defined]
    rows = zip(log.action, log.observation, strict=True)
    seen = [symbols[action][int(vector.argmax())] for action, vector in rows]
    assert seen == ["yes"] * 5 + ["no"] * 5 + ["yes"] * 4 + ["no"] * 5


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "x"},
        {"decision": []},
        {"decision": None},
        {"label": "$99"},
        {"observation": "maybe"},
        {"seq": 9},
        {"label": None},
    ],
    ids=repr,
)
def test_a_wrong_amendment_in_a_log_is_refused(change: Any) -> None:
    learner = pricing()
    decision = learner.ask()
    learner.tell(decision, "no")
    learner.ask()
    learner.amend(decision, "yes")
    learner.ask()
    rows = learner.events
    rows[3] |= change
    with pytest.raises(InvalidInput):
        pm.Learner.replay(learner.game, learner.policy, 1, rows)
    with pytest.raises(InvalidInput):
        pm.Learner.replay(learner.game, learner.policy, 1, rows, check=True)
