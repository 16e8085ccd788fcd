"""Observations that are reported: in time, late, in bulk, from logs, or wrongly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.learner.observations import log_form
from tests.oracles.learners import GAMES, answer, fingerprint, played, refused

# -- tell ------------------------------------------------------------------------------------


def test_tell_by_decision_or_by_id() -> None:
    one, two = (pm.Learner(pm.games.dynamic_pricing(), seed=1) for _ in range(2))
    for _ in range(5):
        first, second = one.ask(), two.ask()
        one.tell(first, "yes")
        two.tell(second.id, "yes")
    assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize("name", GAMES)
def test_answers_may_come_late_and_in_any_order(name: str) -> None:
    game = GAMES[name]()
    learner = pm.Learner(game, pm.IDS(), seed=1)
    decisions = [learner.ask() for _ in range(6)]
    assert [d.round for d in decisions] == [1] * 6
    assert [d.id.rpartition("-")[2] for d in decisions] == list("012345")
    assert len({d.id.rpartition("-")[0] for d in decisions}) == 1
    rng = np.random.default_rng(0)
    answers = [answer(game, d, rng) for d in decisions]
    for i in (4, 0, 5, 2):
        learner.tell(decisions[i], answers[i])
    assert learner.round == 5  # the number of observations told plus one
    other = pm.Learner(game, pm.IDS(), seed=1)
    again = [other.ask() for _ in range(6)]
    other.tell([again[i] for i in (0, 2, 4, 5)], [answers[i] for i in (0, 2, 4, 5)])
    late, sorted_ = learner.ask(), other.ask()
    assert late.estimate == pytest.approx(sorted_.estimate, abs=1e-9)
    assert late.beta == pytest.approx(sorted_.beta, rel=1e-12)


def test_several_at_once_are_one_after_the_other() -> None:
    one, two = (pm.Learner(pm.games.dynamic_pricing(), seed=2) for _ in range(2))
    first, second = [one.ask() for _ in range(3)], [two.ask() for _ in range(3)]
    one.tell([first[2], first[0].id, first[1]], ["yes", "yes", "yes"])
    for i in (2, 0, 1):
        two.tell(second[i], "yes")
    assert fingerprint(one) == fingerprint(two)


def test_several_at_once_are_all_or_nothing() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=2)
    decisions = [learner.ask() for _ in range(3)]
    refused(lambda: learner.tell(decisions, ["yes", "maybe", "yes"]), learner, "maybe")
    refused(lambda: learner.tell(decisions, ["yes", "yes"]), learner, "3", "2")
    refused(lambda: learner.tell([decisions[0], decisions[0]], ["yes", "yes"]), learner, "twice")
    refused(lambda: learner.tell([decisions[0], 99], ["yes", "yes"]), learner, "99")
    learner.tell(decisions, ["yes"] * 3)


def test_nothing_at_all_is_fine() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing())
    learner.tell([], [])
    learner.tell_past([], [])
    assert learner.round == 1


UNKNOWN: dict[str, Any] = {
    "not asked": 99,
    "negative": -1,
    "none": None,
    "a word": "first",
    "a fraction": 0.5,
    "a float": 0.0,
    "a boolean": False,
    "a list inside": [[0]],
    "a dict": {},
    "an array": np.array([0]),
}


@pytest.mark.parametrize("decision", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_decision_is_refused(decision: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    learner.ask()
    refused(lambda: learner.tell(decision, [0.1]), learner)


def test_ids_may_be_numpy_strings_and_a_number_is_no_id() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    learner.tell(np.str_(decision.id), "yes")
    refused(lambda: learner.tell(np.str_(decision.id), "yes"), learner, "already")
    refused(lambda: learner.tell(np.int64(0), "yes"), learner, "is not one of this learner's")


def test_a_second_tell_is_refused() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    learner.tell(decision, "yes")
    refused(lambda: learner.tell(decision, "yes"), learner, "already", "0")
    refused(lambda: learner.tell(decision.id, "yes"), learner, "already")


BAD_VECTORS: dict[str, Any] = {
    "too long": [0.1, 0.2],
    "too short": [],
    "two axes": [[0.1]],
    "nan": [np.nan],
    "nan number": np.nan,
    "infinite": [np.inf],
    "a word": "yes",
    "none in a list": [None],
    "complex": [1j],
    "a dict": {"y": 1},
    "a word in a list": ["yes"],
}


@pytest.mark.parametrize("observation", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
def test_a_bad_observation_is_refused(observation: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    decision = learner.ask()
    refused(lambda: learner.tell(decision, observation), learner, "observation")
    learner.tell(decision, [0.1])


@pytest.mark.parametrize("signal", ["maybe", [None], 1, np.nan, ["yes"], {"a": 1}, ("yes",), "YES"])
def test_an_unknown_signal_is_refused(signal: Any) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=1)
    decision = learner.ask()
    refused(lambda: learner.tell(decision, signal), learner)


def test_a_signal_of_another_action_is_refused() -> None:
    learner = pm.Learner(pm.games.apple_tasting(), seed=0)
    decision = learner.ask(available=["sell"])
    refused(lambda: learner.tell(decision, "rotten"), learner, "sell", "rotten")


@pytest.mark.parametrize("decisions", [5, 3.0, None])
def test_a_list_of_decisions_needs_a_list_of_observations(decisions: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    pair = [learner.ask(), learner.ask()]
    refused(lambda: learner.tell(pair, decisions), learner, "observation")


@pytest.mark.parametrize("told", [0.5, [0.5], (0.5,), np.array([0.5]), np.float32(0.5), 1, "1/2"])
def test_one_number_in_many_guises(told: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    value = Fraction(told) if told == "1/2" else told
    decision = learner.ask()
    learner.tell(decision, value)
    assert learner.round == 2


def test_padding_is_ignored() -> None:
    game = GAMES["box"]()
    assert game.row_counts == (1, 2, 0)
    one, two = (pm.Learner(game, seed=1) for _ in range(2))
    for label, short, padded in (("0", [0.3], [0.3, np.nan]), ("2", None, [np.nan, 0.0])):
        first, second = one.ask(available=[label]), two.ask(available=[label])
        one.tell(first, short)
        two.tell(second, padded)
    nothing = one.ask(available=["2"])
    one.tell(nothing, [])
    two.tell(two.ask(available=["2"]), [0.0, 0.0])
    assert one.ask().estimate.tolist() == two.ask().estimate.tolist()
    assert one.round == two.round == 4


@pytest.mark.parametrize(
    ("label", "told", "words"),
    [
        ("0", [0.3, 7.0], "observation must be a vector of length 1, what action '0' shows; got"),
        ("0", np.array([0.3, 1e-9]), "observation must be a vector of length 1"),
        ("0", [0.3, "x"], "observation must be a vector of length 1"),
        ("0", [0.3, [0.0]], "observation must be a vector of length 1"),
        ("2", [np.nan, 7.0], "observation must be None, because action '2' shows nothing; got"),
        ("2", (1.0, 2.0), "observation must be None, because action '2' shows nothing"),
        ("2", [True, 0], "observation must be None, because action '2' shows nothing"),
    ],
)
def test_what_an_action_does_not_show_is_refused(label: str, told: Any, words: str) -> None:
    learner = pm.Learner(GAMES["box"](), seed=1)
    decision = learner.ask(available=[label])
    refused(lambda: learner.tell(decision, told), learner, words)
    refused(lambda: learner.tell_past([label], [told]), learner, words)


def test_a_number_is_no_answer_of_an_action_that_shows_nothing() -> None:
    game = pm.Game([[1.0], [0.0]], [[[1.0]], []], pm.Ball([0.0], 1.0), actions=["ask", "rest"])
    learner = pm.Learner(game)
    decision = learner.ask(available=["rest"])
    refused(lambda: learner.tell(decision, 0.5), learner, "action 'rest' shows nothing")
    learner.tell(decision, None)


def test_a_log_with_numbers_that_were_not_shown_is_read() -> None:
    game = GAMES["box"]()
    row = {"seq": 1, "kind": "history", "action": 2, "label": "2", "observation": [1.0, 2.0]}
    old = pm.Learner.replay(game, None, 0, [row])
    new = pm.Learner(game)
    new.tell_past([2], [None])
    assert old.ask().estimate.tolist() == new.ask().estimate.tolist()


# -- history and logged data -----------------------------------------------------------------


def test_history_has_a_row_per_decision() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    first, second = learner.ask(), learner.ask()
    learner.tell(second, "yes")
    rows = learner.history
    assert [row["id"] for row in rows] == [first.id, second.id]
    assert [row["observation"] for row in rows] == [None, "yes"]
    assert rows[0]["action"] == first.action
    assert rows[1]["label"] == second.label
    assert rows[1]["probability"] == second.probability
    assert rows[1]["round"] == 1
    rows[0]["observation"] = "changed"
    assert learner.history[0]["observation"] is None


def test_logged_data_count_as_observations() -> None:
    """tell_past is the same as having asked and told."""
    live = played("pricing", 20)
    logged = pm.Learner(live.game, pm.IDS(), seed=3)
    rows = live.history
    logged.tell_past([row["label"] for row in rows], [row["observation"] for row in rows])
    assert logged.round == live.round == 21
    one, two = logged.ask(), live.ask()
    assert np.array_equal(one.estimate, two.estimate)
    assert one.beta == two.beta
    assert np.array_equal(one.gaps, two.gaps)
    assert one.id.endswith("-0")


def test_logged_data_by_index_and_as_generators() -> None:
    one, two = (pm.Learner(pm.games.linear_bandit(), seed=3) for _ in range(2))
    one.tell_past([0, 1, 0], [[0.5], [0.2], 0.1])
    two.tell_past(iter(["0", "1", "0"]), (y for y in (0.5, [0.2], [0.1])))
    assert np.array_equal(one.ask().estimate, two.ask().estimate)


BAD_LOGS: dict[str, tuple[Any, Any]] = {
    "lengths": (["$1", "$2"], ["yes"]),
    "unknown action": (["$9"], ["yes"]),
    "unknown signal": (["$1", "$1"], ["yes", "maybe"]),
    "no list": (5, ["yes"]),
    "no list of observations": (["$1"], 5),
    "a word": ("$1", ["yes"]),
}


@pytest.mark.parametrize("log", BAD_LOGS.values(), ids=BAD_LOGS.keys())
def test_bad_logs_are_refused_as_a_whole(log: tuple[Any, Any]) -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), seed=0)
    refused(lambda: learner.tell_past(*log), learner)


def test_long_doubles_are_observations() -> None:
    shown = np.array([1.5, np.nan], dtype=np.longdouble)
    assert log_form(shown) == [1.5, None]
    assert type(log_form(shown[0])) is float
    assert log_form(np.array(2.5, dtype=np.longdouble)) == 2.5


def test_a_list_that_changes_after_it_was_told_changes_nothing() -> None:
    learner, shown = pm.Learner(pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]])), [0.25]
    learner.tell(learner.ask(), shown)
    shown[0] = 7.0
    assert learner.events[-1]["observation"] == [0.25]
    assert pm.Learner.replay(learner.game, events=learner.events, check=True).round == 2
