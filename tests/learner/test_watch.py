"""What the alarms keep from event to event: as plain data, with late answers, votes and resets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.alarms import answers
from partial_monitoring.learner.alarms.answers import Answers, dependence
from partial_monitoring.learner.alarms.model import Watched
from partial_monitoring.learner.alarms.watch import KINDS, Watch
from partial_monitoring.learner.session import advance, event_step

PRICING = pm.games.dynamic_pricing()


def watch_of(learner: pm.Learner) -> Watch:
    return Watch.of(learner._spec, learner.events)


def played(game: Any, rounds: int, seed: int = 0, **options: Any) -> pm.Learner:
    """Return a learner of a game that holds, every second answer late, some missing."""
    learner, rng = pm.Learner(game, seed=seed, **options), np.random.default_rng(seed)
    theta = game.parameters.sample(np.array([seed]))
    waiting: list[Any] = []
    for _ in range(rounds):
        own, name = game, {}
        if game.traits.contexts:
            z = int(rng.integers(len(game.games)))
            own, name = game.games[z], {"context": game.contexts[z]}
        decision = learner.ask(**name)
        feedback, chosen = own.feedback(), np.array([decision.action])
        numbers = feedback.numbers(own, decision.action, rng)
        vector = feedback.draw(own.truths(theta), chosen, None, numbers)[0]
        waiting.append((decision, feedback.decode(own, decision.action, vector)))
        while waiting and rng.random() < 0.5:
            late, shown = waiting.pop(int(rng.integers(len(waiting))))
            learner.tell(late, None if rng.random() < 0.1 else shown)
    return learner


def as_bytes(watch: Watch) -> str:
    return json.dumps(watch.to_dict())


@pytest.mark.parametrize(
    "name", ["dynamic_pricing", "linear_bandit", "survey", "segment_pricing", "dueling"]
)
def test_as_plain_data_it_goes_on_the_same(name: str) -> None:
    learner = played(pm.games.make(name), 60)
    spec, events = learner._spec, learner.events
    whole = Watch.of(spec, events)
    half = Watch.of(spec, events[:70])
    again = Watch.from_dict(spec.game, json.loads(as_bytes(half)))
    assert as_bytes(again) == as_bytes(half)
    assert again.evidence() == half.evidence()
    session = spec.start
    for place, event in enumerate(events):
        step = event_step(spec, session, event)
        if place >= 70:
            again.note(step)
        session = advance(spec, session, step)
    assert as_bytes(again) == as_bytes(whole)
    assert [own.kind for own in whole.evidence()] == list(KINDS)
    assert not whole.alarms()
    assert all(own.round == session.round for own in whole.evidence())


def test_the_order_of_late_answers_is_that_of_the_log() -> None:
    learner = pm.Learner(PRICING, seed=0)
    decisions = [learner.ask() for _ in range(3)]
    for decision in reversed(decisions):
        learner.tell(decision, "yes")
    watch = watch_of(learner)
    assert sum(own.plays for own in watch.sums.values()) == 3
    assert sum(map(sum, watch.answers.counts.values())) == 3


def test_rising_demand_is_a_misfit_and_says_so() -> None:
    learner = pm.Learner(PRICING, seed=0)
    learner.tell_past(["$2"] * 300 + ["$3"] * 300, ["yes"] * 60 + ["no"] * 240 + ["yes"] * 300)
    (alarm,) = watch_of(learner).alarms()
    assert alarm.kind == "misfit"
    assert alarm.round == 601
    assert alarm.e_value > 1e6
    assert alarm.sentence == (
        "what the actions show together does not fit the game: '$3' showed 'no' 0 %, the closest "
        "fit to all actions has 'no' 40 %."
    )
    assert json.loads(json.dumps(alarm.to_dict()))["kind"] == "misfit"


def told(learner: pm.Learner, rounds: int, signal: str) -> None:
    for _ in range(rounds):
        learner.tell(learner.ask(available=["$2"]), signal)


def test_a_change_is_a_drift_and_a_reset_begins_anew() -> None:
    learner = pm.Learner(PRICING, seed=0)
    told(learner, 64, "yes")
    told(learner, 64, "no")
    watch = watch_of(learner)
    (alarm,) = watch.alarms()
    assert alarm.kind == "drift"
    assert alarm.sentence == (
        "what '$2' shows has changed since about answer 64: 'no' 0 % before, 'no' 100 % after."
    )
    before = watch.limit("drift"), watch.limit("answers")
    learner.reset()
    watch = watch_of(learner)
    assert not watch.alarms()
    assert not watch.sums
    assert watch.limit("drift") == pytest.approx(before[0] + np.log(3))  # 1/2, then 1/6
    assert watch.limit("answers") == before[1]


def test_logged_data_in_any_order_are_no_drift() -> None:
    learner = pm.Learner(PRICING, seed=0)
    learner.tell_past(["$2"] * 400, ["yes"] * 200 + ["no"] * 200)
    assert not watch_of(learner).alarms()


def test_votes_are_one_answer_each() -> None:
    """Of many votes told at once nobody knows the order: wins are no earlier than losses."""
    game = pm.games.dueling([[0.0], [0.5], [1.0]], feedback="sign")
    learner = pm.Learner(game, seed=0)
    for _ in range(20):
        learner.tell(learner.ask(), wins=500, of=1000)
    watch = watch_of(learner)
    assert watch.time == 20
    assert watch.told == 20_000
    assert watch.evidence()[KINDS.index("drift")].log_e < 0


def test_an_amendment_counts_as_if_told_at_once() -> None:
    one, two = (pm.Learner(PRICING, seed=0) for _ in range(2))
    decision = one.ask()
    one.tell(decision, "no")
    one.amend(decision, "yes")
    two.tell(two.ask(), "yes")
    assert watch_of(one).sums == watch_of(two).sums


def test_weighted_data_are_left_out() -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=0)
    learner.tell_past([0, 1], [[1e3], [0.5]], weights=[1e-6, 1.0])
    watch = watch_of(learner)
    assert list(watch.past) == [(None, 1)]


def test_louder_noise_is_a_misfit() -> None:
    learner, rng = pm.Learner(pm.games.linear_bandit(), seed=0), np.random.default_rng(0)
    for _ in range(100):
        learner.tell(learner.ask(), 2.0 * rng.standard_normal(1))
    (alarm,) = watch_of(learner).alarms()
    assert alarm.kind == "misfit"
    assert "times as much as noise_std says" in alarm.sentence


def test_answers_that_depend_on_the_action() -> None:
    learner = pm.Learner(PRICING, seed=0)
    for t in range(200):
        action = ["$2", "$3"][t % 2]
        decision = learner.ask(available=[action])
        learner.tell(decision, None if action == "$3" and t % 4 == 1 else "yes")
    (alarm,) = (own for own in watch_of(learner).alarms() if own.kind == "answers")
    assert alarm.sentence == (
        "whether an answer comes depends on the action: 100 % after '$2', 50 % after '$3'; what is "
        "learned may be biased."
    )


def test_decisions_count_in_the_order_in_which_they_were_made() -> None:
    """In the order of answers, those that come would be counted before those that never do."""
    known = Answers()
    for name in range(4):
        known.asked(name, (None, name % 2))
    known.closed(1, answered=True)
    known.closed(3, answered=True)
    assert not known.counts
    known.cancelled(2)
    known.closed(0, answered=False)
    assert known.counts == {(None, 0): (0, 1), (None, 1): (2, 0)}
    known.closed(0, answered=True)  # it counted already
    assert known.counts[None, 0] == (0, 1)


def test_a_cancelled_decision_holds_up_no_others() -> None:
    known = Answers()
    for name in range(2):
        known.asked(name, (None, 0))
    known.closed(1, answered=True)
    known.cancelled(0)
    assert known.counts == {(None, 0): (1, 0)}


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_WAITING", 10)
    known = Answers()
    for name in range(100):
        known.asked(name, (None, 0))
    assert len(known.to_dict()["waiting"]) == 10
    assert known.counts == {(None, 0): (0, 90)}
    known.closed(3, answered=True)
    assert known.counts == {(None, 0): (0, 90)}


def test_contexts_may_be_answered_at_different_rates() -> None:
    game = pm.games.segment_pricing()
    one, two, *_ = game.contexts
    counts = {(one, 0): (900, 100), (one, 1): (90, 10), (two, 0): (10, 90), (two, 1): (100, 900)}
    watched = Watched(game)
    assert dependence(watched, counts).log_e < 0


# -- degenerate inputs -----------------------------------------------------------------------


def test_nothing_observed_is_no_evidence() -> None:
    for name in ("dynamic_pricing", "linear_bandit", "kernelized_bandit", "survey"):
        evidence = Watch(pm.games.make(name)).evidence()
        assert [own.log_e for own in evidence] == [0.0, 0.0, 0.0]
        assert not any(own.sentence for own in evidence)


@pytest.mark.parametrize(
    "game",
    [
        pm.FiniteGame([[0, 1]], ["yn"]),
        pm.FiniteGame([[0, 1]], ["zz"]),
        pm.FiniteGame([[0]], ["z"]),
        pm.FiniteGame([[0, 1], [1, 0]], ["zz", "zz"]),
    ],
)
def test_games_with_one_action_or_one_signal(game: Any) -> None:
    learner = pm.Learner(game, seed=0, allow_hopeless=True)
    for _ in range(40):
        decision = learner.ask()
        learner.tell(decision, game.signal(decision.action, 0))
    watch = watch_of(learner)
    assert not watch.alarms()
    assert all(own.log_e <= 0 for own in watch.evidence()[:1])


def test_very_many_equal_observations() -> None:
    learner = pm.Learner(PRICING, seed=0)
    learner.tell_past(["$2", "$2", "$3"], ["yes", "no", "no"], counts=[10**12, 10**12, 10**12])
    watch = watch_of(learner)
    assert np.isfinite(watch.evidence()[0].log_e)
    assert not watch.alarms()


def test_actions_that_show_nothing() -> None:
    game = pm.Game([[1, 0], [0, 1]], [[], [[0, 1]]], pm.Ball([0, 0], 1))
    learner = pm.Learner(game, seed=0, allow_hopeless=True)
    learner.tell_past([0, 1], [[], [0.3]])
    assert not watch_of(learner).alarms()


def test_kernel_games_know_the_norm_of_their_function() -> None:
    learner = pm.Learner(pm.games.kernelized_bandit(), seed=0)
    learner.tell_past([10] * 30 + [11] * 30, [[9.0]] * 30 + [[-9.0]] * 30)
    assert [own.kind for own in watch_of(learner).alarms()] == ["misfit"]


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, float("nan")])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(InvalidInput, match="level must be between 0 and 1"):
        Watch(PRICING).alarms(level)
