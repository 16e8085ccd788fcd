"""Off-policy values of short, one-sided and extreme logs, and sentences for bad ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.learner.off_policy import estimating as route
from partial_monitoring.learner.off_policy.logged import read_log
from partial_monitoring.learner.off_policy.reweighted import Reweighting, Scores
from partial_monitoring.learner.off_policy.targets import logged_target, read_target

GAME = pm.games.dynamic_pricing()
YES = {"action": "$2", "probability": 0.5, "observation": "yes"}
NO = {"action": "$3", "probability": 0.5, "observation": "no"}
Row = dict[str, Any]


def scores(game: Any, rows: list[Row], target: Any, method: str) -> Scores:
    """Return the scores of a target against the policy that made a log without distributions."""
    log = read_log(rows, game)
    work = Reweighting(log, method, list(game.actions))
    own, base = read_target(log, work.places, target, 0), logged_target(log, work.places, "logged")
    difference: Any = route._difference(work, 0, own, base)
    feedback = work.places[0].context.feedback
    found = work.scores(0, difference, (feedback.low, feedback.high))
    assert isinstance(found, Scores)
    return found


@pytest.mark.parametrize("method", ["importance", "doubly_robust"])
def test_scores_against_the_log_are_within_their_range(method: str) -> None:
    """The Bernstein bound is about scores that include what the played action earned."""
    game = pm.FiniteGame([[0.0, 3.0], [1.0, 0.0]], [["x", "o"], ["x", "o"]])
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = []
        for _ in range(4):
            p, action, outcome = rng.uniform(0.1, 0.9), *rng.integers(0, 2, 2).tolist()
            row = {"action": action, "probability": p if action == 0 else 1 - p}
            rows.append(row | {"observation": game.signal(action, outcome)})
        found = scores(game, rows, 0, method)
        assert (found.low - 1e-9 <= found.values).all()
        assert (found.values <= found.high + 1e-9).all()


def test_the_log_is_a_target_as_well() -> None:
    bandit = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]])
    rng = np.random.default_rng(0)
    rows = [
        {"action": a, "probability": (0.75, 0.25)[a], "observation": [0.5 * (1 - a)]}
        for a in (rng.random(100) < 0.25).astype(int).tolist()
    ]
    one = pm.off_policy(rows, 0, "logged", game=bandit).values[0]
    other = pm.off_policy(rows, "logged", 0, game=bandit).values[0]
    assert other.estimate == pytest.approx(-one.estimate, abs=1e-12)
    assert other.low == pytest.approx(-one.high, abs=1e-12)
    assert pm.off_policy(rows, "logged", "logged", game=bandit).estimate == 0.0


def test_one_decision_has_an_estimate_without_an_interval() -> None:
    found = pm.off_policy([YES], "$2", {"$2": 1.0}, game=GAME)
    assert found.estimate == 0.0
    assert np.isnan(found.low)
    assert " - " in str(found)
    assert found.plot().axes


@pytest.mark.parametrize("interval", ["normal", "bernstein"])
def test_tiny_probabilities_have_wide_intervals(interval: str) -> None:
    rows = [YES | {"probability": 1e-30}, NO, YES]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pm.off_policy(rows, "$2", "$3", game=GAME, interval=interval)
    assert np.isfinite([found.low, found.estimate, found.high]).all()
    assert found.high - found.low > 1e20
    with pytest.raises(InvalidInput, match="row 0 of history: probability must be at least 1e-30"):
        pm.off_policy([YES | {"probability": 1e-31}], "$2", "$3", game=GAME)


def test_bernstein_intervals_are_never_wider_than_what_is_possible() -> None:
    found = pm.off_policy([YES, NO], "$2", "$2", game=GAME, interval="bernstein")
    assert (found.low, found.estimate, found.high) == (0.0, 0.0, 0.0)
    rows = [row | {"distribution": [0.0, 0.5, 0.5]} for row in (YES, NO)]
    short = pm.off_policy(rows, "$2", "$3", game=GAME, interval="bernstein", method="importance")
    assert short.high - short.low < 30.0


def test_doubts_about_unlisted_contexts() -> None:
    """Each is seen once: only all of them together can tell that an action was impossible."""
    base = pm.Game([[1, 0], [0, 1]], [[[1, 0]], [[0, 1]]], pm.AllParameters(2))
    game, rng = pm.ContextualGame([base]), np.random.default_rng(0)
    rows = []
    for t in range(200):
        x = rng.normal(size=(2, 2))
        context = {"features": x, "observation_maps": x[:, None, :]}
        row = {"action": int(t < 2), "probability": 0.5, "observation": [0.0]}
        rows.append(row | {"context": context})
    notes = pm.off_policy(rows, 0, 1, game=game).notes
    assert any("'1' seems to have had probability 0 at times" in note for note in notes)


def test_an_action_that_must_not_be_used_is_said_to_be_needed() -> None:
    why = pm.off_policy([YES, NO], "$3", "$2", game=GAME, observers=["$2"]).why
    assert "'$3' is not among observers, and what it shows is needed" in why


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"action": 1}, "$2", "$3"), r"history\['action'\] must be a list; got 1"),
        (([YES, NO], {"$2": "a"}, "$3"), "target must be"),
        (([YES, NO], {"$2": None}, "$3"), "target must be"),
        (([YES, NO], "$2", {}), "against must be non-negative and sum to 1"),
        (([YES, NO], "$2", pm.IDS), "against must be an action"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pm.off_policy(*arguments, game=GAME)
