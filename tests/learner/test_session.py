"""A learner as a fold of its log: replay, snapshots, purity, for all kinds of game and policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.session import decide, fold, observe, replay, restore, snapshot
from partial_monitoring.learner.spec import Session, Spec
from tests.golden import runs
from tests.oracles.cases import CASES, spec_of
from tests.oracles.learners import without_id


def plain(data: Any) -> Any:
    return json.loads(json.dumps(data, allow_nan=False))


def lived(spec: Spec) -> tuple[list[Any], list[Session]]:
    """Play with answers that come late and out of order, and some logged data; keep it all."""
    rng, contexts = np.random.default_rng(1), getattr(spec.game, "contexts", None)
    rounds = 4 if isinstance(spec.game, pm.KernelBoxGame) else 14
    session, events, sessions = spec.start, [], [spec.start]
    waiting: list[tuple[int, Any]] = []

    def happen(event: Any) -> None:
        nonlocal session
        session = fold(spec, session, event)
        events.append(event)
        sessions.append(session)

    for t in range(rounds):
        given = {} if contexts is None else {"context": t % len(contexts)}
        step = decide(spec, session, given)
        happen(step.event)
        waiting.append((t, runs.answer(spec.game, step.decision, rng, **given)))
        if t % 3 == 0:
            seen = {"action": step.action, "observation": waiting[-1][1]}
            happen(observe(spec, session, seen | given).event)
        if t % 3 == 2:
            for number, answer in (waiting.pop(), waiting.pop(0)):
                happen(observe(spec, session, {"decision": number, "observation": answer}).event)
    return events, sessions


def fingerprint(spec: Spec, session: Session) -> Any:
    """Return all of a session that can be said, and the bits of what it decides next."""
    contexts = getattr(spec.game, "contexts", None)
    step = decide(spec, session, {} if contexts is None else {"context": 0})
    made = step.decision
    assert made is not None
    arrays = (made.distribution, made.gaps, made.information, made.estimate)
    bits = [np.asarray(x).tobytes() for x in (*arrays, made.ratio, made.beta)]
    return json.dumps(snapshot(spec, session)), json.dumps(step.event), bits


@pytest.mark.parametrize("case", CASES, ids=map(" / ".join, CASES))
def test_the_log_makes_the_same_learner_again(case: tuple[str, str]) -> None:
    """Replay is exact, folding changes no earlier session, and snapshots go on identically."""
    spec = spec_of(case)
    events, sessions = lived(spec)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    logged = plain(events)
    assert logged == events
    last = fingerprint(spec, sessions[-1])

    again = spec_of(case)
    session, differences = replay(again, logged)
    assert differences == []
    assert fingerprint(again, session) == last

    # A snapshot after any event, restored in a new process, leads to the same end.
    for cut in {0, 1, len(events) // 2, len(events) - 1, len(events)}:
        kept = plain(snapshot(spec, sessions[cut]))
        assert fingerprint(again, restore(again, kept, logged)) == last
        if kept["state"] is not None:
            assert fingerprint(again, restore(again, kept, logged[cut:])) == last
        elif cut:
            with pytest.raises(InvalidInput, match="events must hold all"):
                restore(again, kept, [])

    # The sessions on the way are what they were.
    early = spec.start
    for event, kept_session in zip(logged, sessions, strict=False):
        if event["kind"] == "ask":  # an ask can be computed again alone
            context = spec.read_context(event.get("context")).name
            assert decide(spec, kept_session, {"context": context}).event == event
        assert kept_session.seq == early.seq
        early = fold(spec, kept_session, event)


@pytest.mark.parametrize("name", ["linear", "contexts", "kernel"])
def test_folding_changes_no_earlier_session(name: str) -> None:
    spec = spec_of((name, "ids"))
    events, sessions = lived(spec)
    before = [fingerprint(spec, session) for session in sessions]
    for session in sessions:
        for event in events[session.seq : session.seq + 2]:
            session = fold(spec, session, event)
    assert [fingerprint(spec, session) for session in sessions] == before


def test_a_learner_is_the_fold_of_its_events() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=3)
    first, second = learner.ask(), learner.ask(available=["$1", 1])
    learner.tell_past(["$2", 0], ["yes", "yes"])
    learner.tell(second.id, "yes")
    events = learner.events
    assert [event["kind"] for event in events] == ["ask", "ask", "history", "history", "tell"]
    asked = without_id(first.to_dict())
    asked |= {"decision": first.id, "time": learner.open[0].since.timestamp()}
    assert events[0] == {"seq": 1, "kind": "ask", **asked}
    assert events[1]["available"] == ["$1", "$2"]
    assert events[2] == {
        "seq": 3, "kind": "history", "action": 1, "label": "$2", "observation": "yes"
    }  # fmt: skip
    assert events[4] == {"seq": 5, "kind": "tell", "decision": second.id, "observation": "yes"}
    events[0]["label"] = "changed"
    assert learner.events[0]["label"] == first.label
    again = pm.Learner.replay(learner.game, None, 3, plain(learner.events), check=True)
    assert again.events == learner.events
    assert again.history == learner.history
    assert again.round == learner.round == 4
    again.tell(first, "yes")
    learner.tell(first, "yes")
    assert without_id(again.ask().to_dict()) == without_id(learner.ask().to_dict())


def test_decisions_of_another_learner_are_noticed() -> None:
    learner = pm.Learner(pm.games.label_efficient(), pm.IDS(), seed=0)
    learner.tell_past(["ask"] * 160, ["0"] * 96 + ["1"] * 64)
    decisions = [learner.ask() for _ in range(30)]
    assert len({decision.label for decision in decisions}) > 1
    kept = pm.Learner.replay(learner.game, pm.IDS(), 5, learner.events)
    assert kept.history == learner.history  # decisions are taken from the log
    with pytest.raises(InvalidInput, match="events must be what this learner decides") as caught:
        pm.Learner.replay(learner.game, pm.IDS(), 5, learner.events, check=True)
    assert str(caught.value).endswith(".")


def test_actions_are_named_by_label() -> None:
    """A log is folded in a game whose actions have other numbers."""
    learner = pm.Learner(pm.games.apple_tasting(), seed=1)
    learner.tell_past(["taste"] * 5, ["good"] * 5)
    learner.tell(learner.ask(available=["taste"]), "rotten")
    game = learner.game
    turned = pm.FiniteGame(
        game.rewards[::-1], game.signals[::-1], actions=game.actions[::-1], outcomes=game.outcomes
    )
    other = pm.Learner.replay(turned, None, 1, learner.events)
    np.testing.assert_allclose(other.ask().estimate, learner.ask().estimate, atol=1e-12)
    with pytest.raises(InvalidInput, match="no action named 'taste'"):
        pm.Learner.replay(pm.games.dynamic_pricing(), None, 1, learner.events)


def test_unlisted_contexts_are_in_the_log() -> None:
    game = pm.games.survey(3, answer_rate=0.4)
    fresh = {"features": [[1, 0, 0], [0, 1, 0]], "observation_maps": [[[1, 0, 0]], [[0, 1, 0]]]}
    for policy in (pm.IDS(), pm.ContextualIDS(chances="growing")):
        learner = pm.Learner(game, policy, seed=2)
        for t in range(6):
            decision = learner.ask(context=fresh if t % 2 else "answers")
            learner.tell(decision, [1.0])
        learner.tell_past([1], [[0.0]], [fresh])
        again = pm.Learner.replay(game, policy, 2, plain(learner.events), check=True)
        one, two = (own.ask(context=fresh) for own in (learner, again))
        assert one.gaps.tolist() == two.gaps.tolist()
        assert again.status(context=fresh).explain() == learner.status(context=fresh).explain()


def test_signals_of_any_kind_are_in_the_log() -> None:
    signals = [[("a", 1), 2.5, True], [("a", 1), ("a", 1), float("inf")]]
    game = pm.FiniteGame(np.eye(3)[:2], signals)
    learner = pm.Learner(game, allow_hopeless=True)
    learner.tell_past([0, 0, 0, 1], [*signals[0], float("inf")])
    again = pm.Learner.replay(game, None, 0, plain(learner.events), allow_hopeless=True)
    assert again.ask().estimate.tolist() == learner.ask().estimate.tolist()


def test_padding_is_nothing_in_the_log() -> None:
    game = pm.Game(np.eye(2), [[[1.0, 0]], [[1.0, 1], [0, 1]]], pm.Box([0, 0], [1, 1]))
    learner = pm.Learner(game)
    learner.tell_past([0, 1], [[0.3, np.nan], np.array([0.5, 0.25])])
    assert [row["observation"] for row in plain(learner.events)] == [[0.3, None], [0.5, 0.25]]
    again = pm.Learner.replay(game, None, 0, plain(learner.events))
    assert again.ask().estimate.tolist() == learner.ask().estimate.tolist()


ASK = {"seq": 1, "kind": "ask", "decision": 0, "round": 1, "action": 0, "label": "$1"}
ASK |= {"probability": 1.0}
HISTORY = {"seq": 1, "kind": "history", "action": 0, "label": "$1", "observation": "yes"}
BAD: dict[str, tuple[list[Any], str]] = {
    "a gap": ([HISTORY | {"seq": 2}], "event must be the one after number 0; got number 2"),
    "twice": ([HISTORY, HISTORY], "event must be the one after number 1; got number 1"),
    "a kind": ([HISTORY | {"kind": "pause"}], "event must be of a kind learners log; got"),
    "a number": ([ASK | {"decision": 3}], "event must ask for decision 0; got 3"),
    "not asked": (
        [{"seq": 1, "kind": "tell", "decision": 0, "observation": "yes"}],
        "decision 0 is not one",
    ),
    "told": (
        [ASK, *({"seq": n, "kind": "tell", "decision": 0, "observation": "yes"} for n in (2, 3))],
        "decision 0 has been told already",
    ),
    "a signal": ([HISTORY | {"observation": "maybe"}], "shows one of 'yes'"),
    "no label": ([{"seq": 1, "kind": "history"}], "event must be one of a learner"),
    "no event": ([3], "event must be one of a learner; got 3"),
    "no action": ([HISTORY | {"label": "$9"}], "no action named"),
}


@pytest.mark.parametrize(("events", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_log_is_refused_in_one_sentence(events: list[Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.Learner.replay(pm.games.dynamic_pricing(), events=events)
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


# -- states of users' own policies -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Own:
    """A state whose number of rounds is no array."""

    totals: np.ndarray
    rounds: int = 0


class Plays:
    """A policy of one's own that plays the action that was observed least."""

    def init(self, game: pm.Game, replicates: int) -> Own:
        return Own(np.zeros((replicates, game.k)))

    def decide(self, state: Own, uniforms: Any, available: Any = None) -> pm.Choices:
        chosen = state.totals.argmin(axis=1)
        mu = np.eye(state.totals.shape[1])[chosen]
        blank = np.full(mu.shape, np.nan)
        return pm.Choices(chosen, mu, blank, blank, blank[:, 0], blank[:, 0], blank)

    def update(self, state: Own, action: Any, observation: Any) -> Own:
        totals = state.totals.copy()
        totals[np.arange(len(action)), action] += 1
        return replace(state, totals=totals, rounds=self.count(state))

    def count(self, state: Own) -> int:
        return state.rounds + 1


class Silent(Plays):
    def count(self, state: Own) -> int:
        return 0


def test_states_of_ones_own_policies_are_saved_if_their_arrays_are_all() -> None:
    for policy, is_saved in ((Plays(), False), (Silent(), True)):
        spec = Spec(pm.games.apple_tasting(), policy)  # type: ignore[arg-type]
        session, events = spec.start, []
        for _ in range(3):
            request = {"action": decide(spec, session, {}).event["label"]}
            symbol = spec.game.symbols[spec.game.action_index(request["action"])][0]
            events.append(observe(spec, session, request | {"observation": symbol}).event)
            session = fold(spec, session, events[-1])
        kept = plain(snapshot(spec, session))
        assert (kept["state"] is not None) == is_saved
        again = restore(spec, kept, [] if is_saved else events)
        assert again.state.totals.tolist() == session.state.totals.tolist()
        assert again.state.rounds == session.state.rounds
