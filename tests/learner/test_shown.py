"""Learners by name, what they show, what cannot change them, and other processes."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from tests.golden import runs
from tests.oracles.cases import CASES, spec_of


def test_games_and_policies_may_be_given_by_name() -> None:
    learner = pm.Learner("dynamic_pricing", "randcbp", 3)
    assert learner.policy == pm.RandCBP()
    other = pm.Learner(pm.games.dynamic_pricing(), pm.RandCBP(), 3)
    for _ in range(5):
        one, two = learner.ask(), other.ask()
        assert (one.label, one.probability) == (two.label, two.probability)
        learner.tell(one, "yes")
        other.tell(two, "yes")
    again = pm.Learner.replay("dynamic_pricing", "randcbp", 3, learner.events, check=True)
    assert again.round == 6


def test_a_learner_shows_what_it_is() -> None:
    learner = pm.Learner(pm.games.dynamic_pricing(), "cbp")
    learner.tell(learner.ask(), "yes")
    learner.ask()
    assert repr(learner) == (
        "Learner(game=FiniteGame(k=3, d=3, m=2, parameters=Simplex), policy=cbp, round=2, open=1)"
    )
    for shown in ("FiniteGame(k=3", "cbp", ">2<", ">1<"):
        assert shown in learner._repr_html_()
    status = learner.status()
    assert "looks best" in status._repr_html_()
    assert "&#x27;" in status._repr_html_()  # names are escaped
    assert "<table" in learner.ask()._repr_html_()


@pytest.mark.parametrize("kind", [pm.Decision, pm.Status])
def test_help_explains_every_field(kind: Any) -> None:
    for field in fields(kind):
        assert f"\n    {field.name}\n        " in kind.__doc__


def test_rows_of_history_and_events_are_copies() -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    given = [0.5]
    learner.tell(learner.ask(), given)
    before = learner.events, learner.history
    given.append(99)
    learner.history[0]["observation"].append(99)
    learner.events[1]["observation"].append(99)
    learner.events[0]["label"] = "other"
    assert (learner.events, learner.history) == before
    rows = learner.events
    again = pm.Learner.replay(learner.game, None, 1, rows)
    rows[1]["observation"].append(99)
    assert again.events == before[0]


MASKED = [
    np.ma.array([7.0], mask=[True]),
    np.ma.array(7.0, mask=True),
    np.ma.masked,
    [np.ma.masked],
    (np.ma.masked,),
]


@pytest.mark.parametrize("answer", MASKED, ids=["array", "number", "masked", "list", "tuple"])
@pytest.mark.filterwarnings("error")
def test_a_masked_answer_is_no_answer(answer: Any) -> None:
    learner = pm.Learner(pm.games.linear_bandit(), seed=1)
    decision = learner.ask()
    for call in (
        lambda: learner.tell(decision, answer),
        lambda: learner.tell([decision], [answer]),
        lambda: learner.tell_past([0], [answer]),
        lambda: learner.tell_past([0, 1], np.ma.array([1.0, 2.0], mask=[False, True])),
    ):
        with pytest.raises(pm.errors.InvalidInput, match="observation must not be masked; got"):
            call()
    assert learner.round == 1
    learner.tell(decision, np.ma.array([7.0], mask=[False]))
    assert learner.history[0]["observation"] == [7.0]


@pytest.mark.parametrize("case", CASES, ids=map(" / ".join, CASES))
def test_learners_of_all_policies_can_be_pickled(case: tuple[str, str]) -> None:
    spec = spec_of(case)
    learner, rng = pm.Learner(spec.game, spec.policy, 7), np.random.default_rng(0)
    context = {"context": 0} if spec.game.traits.contexts else {}
    for _ in range(2):
        decision = learner.ask(**context)
        learner.tell(decision, runs.answer(spec.game, decision, rng, **context))
    again = pickle.loads(pickle.dumps(learner))
    assert again.events == learner.events
    one, two = learner.ask(**context), again.ask(**context)
    assert one.distribution.tolist() == two.distribution.tolist()
    assert one.id != two.id


def _goes_on(learner: pm.Learner) -> pm.Learner:
    learner.tell(learner.ask(), "yes")
    return learner


def test_learners_go_to_other_processes_and_come_back() -> None:
    learner = pm.Learner("dynamic_pricing", seed=2)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        (back,) = pool.map(_goes_on, [learner])
    assert (back.round, learner.round) == (2, 1)
    assert back.ask().action == _goes_on(learner).ask().action
