"""Windows: answers count when their decisions are due, and those that never came as well."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.session import snapshot
from tests.oracles.learners import GAMES, fingerprint, refused

DAY = 86400.0
START = datetime(2026, 1, 1, tzinfo=UTC)


def pricing(**options: Any) -> pm.Learner:
    return pm.Learner(pm.games.dynamic_pricing(), pm.IDS(), seed=1, **options)


def observed(learner: pm.Learner) -> list[Any]:
    return [row["observation"] for row in learner.history]


def kinds(learner: pm.Learner) -> list[str]:
    return [event["kind"] for event in learner.events]


# -- when answers count ----------------------------------------------------------------------


def test_answers_count_when_their_decisions_are_due() -> None:
    learner = pricing(window=pm.Window(days=30, unanswered="yes"))
    first, second = learner.ask(available=["$3"], count=2, now=START)
    third = learner.ask(available=["$2"], now=START + timedelta(days=10))
    learner.tell(second, "no", now=START + timedelta(days=1))
    assert (learner.round, observed(learner)) == (1, [None] * 3)
    one, two, _ = learner.open
    assert (one.answer, two.answer) == (None, "no")
    assert one.due == START + timedelta(days=30)
    assert "due=2026-01-31 00:00, answer='no'" in repr(two)
    learner.ask(available=["$2"], now=START + timedelta(days=30))
    assert (learner.round, observed(learner)) == (3, ["yes", "no", None, None])
    assert kinds(learner) == ["ask"] * 3 + ["answer", "tell", "tell", "ask"]
    assert [event.get("unanswered") for event in learner.events[4:6]] == [True, None]
    assert learner.settle(now=START + timedelta(days=39)) == 0
    assert learner.settle(now=START + timedelta(days=40)) == 1
    assert learner.history[2]["id"] == third.id
    assert observed(learner)[2] == "yes"
    assert first.id not in {own.id for own in learner.open}


def test_what_is_learned_is_what_is_told_at_that_time() -> None:
    """Bit for bit, and decisions in between expect open ones with and without answers alike."""
    held = pricing(window=pm.Window(rounds=3, unanswered="yes"))
    plain, waiting = pricing(), []
    rng = np.random.default_rng(0)
    for t in range(40):
        if t >= 4:  # due before decision t: number t - 4, which was followed by three
            plain.tell(*waiting[t - 4])
        one, two = held.ask(available=["$2", "$3"]), plain.ask(available=["$2", "$3"])
        assert (one.action, one.probability, one.round) == (two.action, two.probability, two.round)
        answer = rng.choice(["yes", "no"]).item()
        waiting.append((two, answer))
        if answer == "no":
            held.tell(one, answer)
    states = [snapshot(own._spec, own._session) for own in (held, plain)]
    assert states[0]["state"] == states[1]["state"]
    assert states[0]["counts"] == states[1]["counts"]


def test_without_a_default_an_unanswered_decision_lapses() -> None:
    learner = pricing(window=pm.Window(hours=1))
    learner.ask(count=2, now=0)
    learner.tell(learner.open[0].id, "yes", now=60)
    assert learner.settle(now=3600) == 2
    assert (learner.round, observed(learner)) == (2, ["yes", None])
    assert kinds(learner)[-2:] == ["tell", "lapse"]


def test_an_action_that_cannot_show_the_default_lapses() -> None:
    game = pm.games.apple_tasting()
    learner = pm.Learner(game, pm.IDS(), window=pm.Window(seconds=1, unanswered="good"))
    learner.ask(available=["sell"], now=0)
    learner.ask(available=["taste"], now=0)
    learner.settle(now=1)
    assert observed(learner) == [None, "good"]


def test_other_games_have_observations_as_defaults() -> None:
    for unanswered in (0.5, [0.5], np.array([0.5])):
        window = pm.Window(rounds=1, unanswered=unanswered)
        learner = pm.Learner(pm.games.linear_bandit(), pm.IDS(), window=window)
        learner.ask(count=3)
        assert learner.round == 2
        assert np.ravel(observed(learner)[0]).tolist() == [0.5]


def test_expiry_closes_what_is_open_and_holds_nothing_back() -> None:
    learner = pricing(window=pm.Window(days=60, hold=False))
    one, _ = learner.ask(count=2, now=0)
    learner.tell(one, "yes", now=DAY)
    assert learner.round == 2
    assert learner.settle(now=60 * DAY) == 1
    assert learner.open == []
    assert kinds(learner) == ["ask", "ask", "tell", "lapse"]


def test_windows_of_rounds_are_exact() -> None:
    learner = pricing(window=pm.Window(rounds=2, unanswered="yes"))
    learner.ask(count=2, now=0)
    assert [own.due for own in learner.open] == [1, 2]
    learner.ask(now=10 * 365 * DAY)
    assert [own.due for own in learner.open] == [0, 1, 2]
    assert learner.settle() == 1
    assert len(learner.open) == 2


# -- answers that are late, wrong or withdrawn -----------------------------------------------


@pytest.mark.parametrize("storage", ["memory", None])
def test_an_answer_after_the_window_is_accepted_and_does_not_count(storage: str | None) -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"), storage=storage)
    first, second, third = learner.ask(available=["$3"], count=3, now=0)
    learner.cancel(third)
    with pytest.raises(InvalidInput, match="closed"):  # it was not due by then
        learner.tell(third, "no", now=1)
    learner.tell(first, "no", now=DAY)
    known = snapshot(learner._spec, learner._session)
    assert (learner.open, learner.round) == ([], 3)
    learner.tell([first.id, second], ["no", None], now=DAY)
    now = snapshot(learner._spec, learner._session)
    assert now | {"seq": known["seq"]} == known
    with pytest.raises(InvalidInput, match="not one of this learner's"):
        learner.tell("another-3", "no", now=DAY)
    if storage is not None:
        assert kinds(learner)[4:] == ["tell", "tell", "late", "late", "late"]
        assert learner.history[0] | {"observation": "yes", "late": "no"} == learner.history[0]
        again = pm.Learner.replay(
            learner.game, pm.IDS(), 1, learner.events, window=learner.window, check=True
        )
        assert snapshot(again._spec, again._session) == now
        learner.amend(first, "no")
        assert observed(learner) == ["no", "yes"]
        learner.tell(second, "no", now=DAY)  # also after an amendment


def test_an_answer_before_the_window_ends_is_told_once() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    decision = learner.ask(available=["$3"], now=0)
    learner.tell(decision, "no", now=DAY - 1)
    refused(lambda: learner.tell(decision, "no", now=DAY - 1), learner, "already", "amend")
    learner.settle(now=DAY)
    learner.amend(decision, "yes")
    assert observed(learner) == ["yes"]


def test_an_answer_that_waits_can_be_amended_without_a_log() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    one, two, three = learner.ask(available=["$3"], count=3, now=0)
    learner.tell([one, two], ["no", "no"], now=1)
    refused(lambda: learner.amend(one, "maybe"), learner, "maybe")
    refused(lambda: learner.amend([one, three], ["yes", "yes"]), learner, "still open")
    learner.amend([one, two.id], ["yes", None])
    assert [own.answer for own in learner.open] == ["yes", None, None]
    assert kinds(learner) == ["ask"] * 3 + ["answer"] * 4
    learner.tell(two, "no", now=2)
    learner.settle(now=DAY)
    assert observed(learner) == ["yes", "no", "yes"]


def test_open_and_closed_ones_are_amended_together() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    old = learner.ask(available=["$3"], now=0)
    new = learner.ask(available=["$3"], now=DAY)
    learner.tell(new, "no", now=DAY)
    learner.amend([new, old], ["yes", "no"])
    learner.settle(now=2 * DAY)
    assert observed(learner) == ["no", "yes"]
    copy = pm.Learner.replay(learner.game, learner.policy, 1, learner.events, window=learner.window)
    assert fingerprint(copy) == fingerprint(learner)


def test_decisions_that_wait_can_be_closed() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    one, two, three = learner.ask(available=["$3"], count=3, now=0)
    learner.tell(one, None, now=1)
    learner.tell(two, "no", now=1)
    learner.cancel([two, three])
    assert learner.settle(now=DAY) == 0
    assert (learner.round, observed(learner)) == (1, [None])


def test_decisions_without_a_time_are_told_at_once_and_never_due() -> None:
    learner = pricing()
    learner.ask(available=["$3"])
    learner.ask(available=["$3"])
    events = [{key: x for key, x in own.items() if key != "time"} for own in learner.events]
    window = pm.Window(days=1, unanswered="yes")
    copy = pm.Learner.replay(learner.game, learner.policy, 1, events, window=window)
    later = copy.ask(now=0)
    assert copy.settle(now=DAY) == 1
    copy.tell(events[0]["decision"], "no")
    assert copy.round == 3
    assert [own.due for own in copy.open] == [None]
    assert later.id not in {own.id for own in copy.open}


# -- clocks, files, threads ------------------------------------------------------------------


def test_clocks_that_go_back_make_nothing_due_and_nothing_undone() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    learner.ask(now=10 * DAY)
    learner.ask(now=0)
    assert [own.since for own in learner.open] == [datetime(1970, 1, 11, tzinfo=UTC)] * 2
    assert learner.settle(now=5 * DAY) == 0
    assert learner.settle(now=11 * DAY) == 2


def test_the_clock_of_the_system_is_used_unless_a_time_is_given() -> None:
    learner = pricing(window=pm.Window(days=1, unanswered="yes"))
    learner.ask(now=datetime.now(UTC) - timedelta(days=2))
    learner.ask()
    assert (learner.round, len(learner.open)) == (2, 1)
    assert learner.settle(now=datetime.now(UTC) + timedelta(days=2)) == 1


@pytest.mark.parametrize("name", ["pricing", "bandit"])
def test_windows_survive_files_copies_and_replay(name: str, tmp_path: Path) -> None:
    right = "yes" if name == "pricing" else [0.25]
    window = pm.Window(hours=1, unanswered=right)
    learner = pm.Learner(GAMES[name](), pm.IDS(), seed=2, window=window)
    for t in range(6):
        decision = learner.ask(now=900 * t)
        learner.tell(decision, right, now=900 * t)
    learner.ask(now=5000)
    learner.save(tmp_path / "learner.json")
    copies = [
        pm.Learner.load(tmp_path / "learner.json"),
        pm.Learner.replay(
            learner.game, learner.policy, 2, learner.events, window=window, check=True
        ),
        pickle.loads(pickle.dumps(learner)),
    ]
    learner.settle(now=8000)
    for copy in copies:
        assert repr(copy.window) == repr(window)
        assert copy.settle(now=8000) > 0
        assert fingerprint(copy) == fingerprint(learner)
        assert copy.open == learner.open
    assert pm.Learner.load(tmp_path / "learner.json").open[0].answer is not None


# -- refusals --------------------------------------------------------------------------------

BAD: list[dict[str, Any]] = [
    {},
    {"days": 0},
    {"days": -1},
    {"days": np.nan},
    {"days": "30"},
    {"days": 1e300},
    {"rounds": 0},
    {"rounds": 1.5},
    {"rounds": True},
    {"rounds": 5, "days": 1},
    {"days": 1, "hold": 1},
    {"days": 2, "hours": -24},
]


@pytest.mark.parametrize("options", BAD, ids=repr)
def test_a_bad_window_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        pm.Window(**options)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("window", [30, timedelta(days=30), "30 days", {"days": 30}, object()])
def test_what_is_no_window_is_refused(window: Any) -> None:
    with pytest.raises(InvalidInput, match="window must be a Window"):
        pricing(window=window)


@pytest.mark.parametrize("unanswered", ["maybe", 1, [1.0], object()])
def test_a_default_that_no_action_shows_is_refused(unanswered: Any) -> None:
    with pytest.raises(InvalidInput, match="unanswered must be"):
        pricing(window=pm.Window(days=30, unanswered=unanswered))


def test_a_window_in_a_game_with_contexts() -> None:
    game = pm.games.survey()
    shown = [0.5] * game.at(0).row_count(0)
    learner = pm.Learner(game, pm.ContextualIDS(), window=pm.Window(rounds=1, unanswered=shown))
    for _ in range(4):
        learner.ask(context=0, available=[game.at(0).actions[0]])
    assert learner.round == 3


@pytest.mark.parametrize("answer", [{"observation": "maybe"}, {"decision": "x"}, {"decision": []}])
def test_a_wrong_answer_in_a_log_is_refused(answer: Any) -> None:
    learner = pricing(window=pm.Window(days=1))
    learner.tell(learner.ask(now=0), "yes", now=0)
    rows = learner.events
    rows[1] |= answer
    with pytest.raises(InvalidInput):
        pm.Learner.replay(learner.game, learner.policy, 1, rows)


def test_a_time_in_words_is_refused_in_one_sentence() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    with pytest.raises(InvalidInput, match="now must be a datetime with a zone, or seconds") as own:
        learner.ask(now="tomorrow")  # type: ignore[call-overload]
    assert "'tomorrow'" in str(own.value)
    assert not learner.events
