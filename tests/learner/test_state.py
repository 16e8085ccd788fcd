"""What a learner needs to decide has a constant size; the log is apart, and may be left out."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner import identity
from partial_monitoring.learner.session import snapshot
from partial_monitoring.storage.memory import BLOCK, Memory

NO_LOG = r"^the events of this learner are not kept \(storage=None\); it has no log to read\.$"


def queue(k: int = 2, d: int = 3) -> pm.ContextualGame:
    return pm.ContextualGame([pm.games.linear_bandit(np.eye(k, d), pm.AllParameters(d))])


def described(rng: np.random.Generator, scale: float = 1.0) -> dict[str, Any]:
    own = scale * rng.standard_normal((2, 3))
    return {"features": own, "observation_maps": own[:, None, :]}


def known(learner: pm.Learner) -> Any:
    return snapshot(learner._spec, learner._session)


def play(learner: pm.Learner, rounds: int, seed: int = 0) -> pm.Learner:
    """Answer most decisions, all but the last three."""
    rng = np.random.default_rng(seed)
    for t in range(rounds):
        asked = {"context": described(rng)} if learner.game.traits.contexts else {}
        decision = learner.ask(**asked, now=t)
        if t < rounds - 3:
            seen: Any = "yes" if t % 3 else "no"
            learner.tell(decision, [0.1 * t % 1.0] if asked else seen)
    return learner


GAMES: dict[str, Callable[[], Any]] = {"finite": pm.games.dynamic_pricing, "live features": queue}
every_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


@every_game
def test_without_a_log_the_state_has_a_constant_size(game: Any, tmp_path: Path) -> None:
    sizes, files = [], []
    learner = pm.Learner(game(), storage=None)
    for rounds in (640, 640, 640):
        play(learner, rounds)
        for own in learner.open:
            learner.cancel(own.id)
        sizes.append(len(pickle.dumps(learner)))
        learner.save(tmp_path / "learner.json")
        text = (tmp_path / "learner.json").read_text(encoding="utf-8")
        files.append(len(re.sub(r"\d", "", text)))  # some numbers have more digits
    assert max(sizes[1:]) < 1.05 * sizes[0]
    assert max(files[1:]) < 1.05 * files[0]


@every_game
def test_without_a_log_it_decides_the_same(game: Any, tmp_path: Path) -> None:
    """As with one, also after it was saved or pickled, with decisions still open."""
    with_log = play(pm.Learner(game(), seed=5), 90)
    without = play(pm.Learner(game(), seed=5, storage=None), 90)
    without.save(tmp_path / "learner.json")
    loaded = pm.Learner.load(tmp_path / "learner.json")
    copies = [without, loaded, pickle.loads(pickle.dumps(without))]
    assert known(loaded) == known(without)
    assert [own.round for own in loaded.open] == [own.round for own in with_log.open]
    expected = [row["observation"] for row in with_log.history]
    assert len(expected) == 90
    for own in copies:
        again = pickle.loads(pickle.dumps(with_log))
        for learner in (again, own):
            learner.tell(learner.open[0].id, [0.5] if game is queue else "yes")
            play(learner, 4, seed=1)
        assert {**known(own), "tokens": 0, "open": 0} == {**known(again), "tokens": 0, "open": 0}
        assert [one.label for one in own.open] == [one.label for one in again.open]
    if game is not queue:
        assert loaded.status().explain() == without.status().explain()


def test_what_needs_a_log_is_refused_without_one(tmp_path: Path) -> None:
    learner = pm.Learner("dynamic_pricing", storage=None)
    assert learner.events == learner.history == []  # nothing has happened
    decision = learner.ask()
    learner.tell(decision, "yes")
    before = known(learner)
    for call in (
        lambda: learner.events,
        lambda: learner.history,
        lambda: pm.off_policy(learner, {"$1": 1.0}),
        lambda: learner.amend(decision, "no"),
    ):
        with pytest.raises(InvalidInput, match=NO_LOG):
            call()
    assert known(learner) == before
    box = pm.KernelBoxGame(pm.kernels.Matern(2.5, 0.3), [0.0], [1.0], noise_std=0.1)
    function = pm.Learner(box, storage=None)
    function.tell(function.ask(), [0.3])
    with pytest.raises(InvalidInput, match=r"cannot be saved if the state of Calibrated is made"):
        function.save(tmp_path / "learner.json")
    assert pickle.loads(pickle.dumps(function)).round == 2


def test_a_learner_moves_between_logs(tmp_path: Path) -> None:
    path, log = tmp_path / "learner.json", tmp_path / "log.ndjson"
    learner = play(pm.Learner("dynamic_pricing", seed=2), 20)
    learner.save(path)
    expected = known(learner)
    to_file = pm.Learner.load(path, storage=log)
    assert known(to_file) == expected
    assert to_file.events == learner.events
    to_file.ask(now=99)
    again = pm.Learner.load(path, storage=log)  # the log goes on after the save
    assert known(again) == known(to_file)
    again.save(path)
    with pytest.raises(InvalidInput, match=r"its events are kept apart; say where, as in load"):
        pm.Learner.load(path)
    assert known(pm.Learner.load(path, storage=log)) == known(to_file)
    alone = pm.Learner.load(path, storage=None)
    assert known(alone) == known(to_file)
    alone.save(path)
    with pytest.raises(InvalidInput, match=r"was saved after event 38, which is not in its stor"):
        pm.Learner.load(path, storage=tmp_path / "another.ndjson")


def test_an_amended_log_is_folded_again(tmp_path: Path) -> None:
    log = tmp_path / "log.ndjson"
    learner = pm.Learner("dynamic_pricing", seed=2, storage=log)
    first = learner.ask()
    learner.tell(first, "yes")
    learner.save(tmp_path / "learner.json")
    learner.amend(first, "no")
    expected = known(learner)
    assert known(pm.Learner("dynamic_pricing", seed=2, storage=log)) == expected
    assert known(pm.Learner.load(tmp_path / "learner.json", storage=log)) == expected


@pytest.mark.parametrize("policy", [None, pm.IDS(half_life=20.0)], ids=["default", "forgets"])
def test_what_is_forgotten_is_saved_as_it_is(policy: Any, tmp_path: Path) -> None:
    learner = play(pm.Learner("dynamic_pricing", policy, storage=None), 80)
    learner.reset()
    play(learner, 10)
    learner.save(tmp_path / "learner.json")
    assert known(pm.Learner.load(tmp_path / "learner.json")) == known(learner)


def test_contexts_with_longer_rows_are_saved(tmp_path: Path) -> None:
    """The estimate keeps how long the rows of all contexts are at most."""
    rng = np.random.default_rng(0)
    for policy in (None, pm.IDS(gap=pm.gaps.relaxed), pm.LinUCB()):
        learner = pm.Learner(queue(), policy, storage=None)
        for scale in (0.5, 3.0, 10.0):
            learner.tell(learner.ask(context=described(rng, scale)), [0.3])
        learner.save(tmp_path / "learner.json")
        again, asked = pm.Learner.load(tmp_path / "learner.json"), described(rng)
        one, two = learner.ask(context=asked), again.ask(context=asked)
        assert one.gaps.tolist() == two.gaps.tolist()  # type: ignore[union-attr]


def test_a_learner_that_is_opened_for_every_decision_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (identity, pm.learner.snapshots, pm.learner.files):  # type: ignore[attr-defined]
        monkeypatch.setattr(module, "MOST_TOKENS", 4)
    path = tmp_path / "learner.json"
    learner = pm.Learner("dynamic_pricing", storage=None)
    for _ in range(8):
        learner.ask()
        learner.save(path)
        learner = pm.Learner.load(path)
    assert len(learner._session.tokens) == 4
    assert len(learner.open) == 8
    learner.tell(learner.open[0].id, "yes")
    assert learner.round == 2


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 2 * BLOCK), max_size=6), seq=st.integers(0, 5 * BLOCK))
def test_packed_events_are_those_that_were_appended(sizes: list[int], seq: int) -> None:
    memory, all_events = Memory(), []
    for size in sizes:
        first = len(all_events) + 1
        new = [{"seq": n, "kind": "x", "seen": [0.1 * n]} for n in range(first, first + size)]
        all_events += new
        memory.append(new)
    assert list(memory.after(seq)) == list(Memory(all_events).after(seq)) == all_events[seq:]
