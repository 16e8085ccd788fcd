"""Open decisions: what learners expect of them, batches, and logs in which answers come late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partial_monitoring as pm
from partial_monitoring.learner.session import advance, decide, deciding
from partial_monitoring.learner.spec import Spec
from tests.oracles.learners import refused, without_id

POLICIES: list[Any] = [pm.Calibrated(), pm.IDS(), pm.RandCBP(), pm.FeedExp3()]


def answered(decision: Any) -> str:
    return "yes" if decision.action < 2 else "no"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_batch_is_as_many_asks(policy: Any) -> None:
    one, several = (pm.Learner("dynamic_pricing", policy, seed=4) for _ in range(2))
    single = [one.ask() for _ in range(7)]
    batch = several.ask(count=7)
    assert [own.action for own in batch] == [own.action for own in single]
    assert list(map(without_id, several.events)) == list(map(without_id, one.events))
    assert len(several.ask(count=1)) == 1
    several.tell(batch, list(map(answered, batch)))
    assert several.round == 8


def test_a_batch_is_stored_at_once() -> None:
    class Storage:
        def __init__(self) -> None:
            self.rows: list[list[Any]] = []

        def append(self, events: list[Any]) -> None:
            self.rows.append(events)

        def after(self, seq: int = 0) -> list[Any]:
            return [event for rows in self.rows for event in rows if event["seq"] > seq]

        def keep(self, snapshot: Any) -> None: ...

        def latest(self) -> None:
            return None

    kept = Storage()
    learner = pm.Learner("dynamic_pricing", storage=kept)  # type: ignore[arg-type]
    learner.ask(count=5, available=iter([0, 1]))
    assert [len(rows) for rows in kept.rows] == [5]


@pytest.mark.parametrize("count", [0, -1, 2.5, "many", True, 10**9])
def test_counts_of_a_batch_are_refused(count: Any) -> None:
    learner = pm.Learner("dynamic_pricing", pm.IDS())
    refused(lambda: learner.ask(count=count), learner, "count")


def test_a_batch_is_made_as_a_whole_or_not_at_all() -> None:
    learner = pm.Learner("dynamic_pricing", pm.IDS())
    refused(lambda: learner.ask(count=3, available=["nothing"]), learner, "nothing")


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(POLICIES),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=12),
)
def test_logs_with_open_decisions_are_replayed_exactly(
    policy: Any, script: list[tuple[int, int]]
) -> None:
    learner = pm.Learner("dynamic_pricing", policy, seed=1)
    waiting: list[Any] = []
    for asks, place in script:
        waiting += learner.ask(count=asks) if asks else []
        if waiting:
            decision = waiting.pop(place % len(waiting))
            learner.tell(decision, answered(decision))
    again = pm.Learner.replay("dynamic_pricing", policy, 1, learner.events, check=True)
    assert without_id(again.ask().to_dict()) == without_id(learner.ask().to_dict())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("pending", ["expected", "ignored"])
def test_saved_learners_go_on_as_before(policy: Any, pending: str, tmp_path: Path) -> None:
    learner = pm.Learner("dynamic_pricing", policy, seed=2, pending=pending)
    batch = learner.ask(count=20)
    learner.tell(batch[5:12], list(map(answered, batch[5:12])))
    learner.save(tmp_path / "it.json")
    loaded = pm.Learner.load(tmp_path / "it.json")
    one, two = (own.ask(count=10) for own in (learner, loaded))
    assert [own.action for own in one] == [own.action for own in two]
    assert [own.probability for own in one] == [own.probability for own in two]


@pytest.mark.parametrize("policy", [pm.Calibrated(), pm.IDS(), pm.LinUCB(allow_partial=True)])
@pytest.mark.parametrize("name", ["dynamic_pricing", "linear_bandit"])
def test_the_estimate_does_not_move_and_widths_shrink(name: str, policy: Any) -> None:
    game = pm.games.make(name)
    learner = pm.Learner(game, policy, seed=0)
    rng = np.random.default_rng(0)
    world = pm.Instance(game, game.parameters.relative_interior_point())
    for decision in learner.ask(count=30):
        learner.tell(decision, world.observe(decision.action, rng))
    before = learner.ask()
    learner.ask(count=40)
    after = learner.ask()
    assert before.estimate is not None
    assert np.array_equal(before.estimate, after.estimate)  # type: ignore[arg-type]
    spec, session = learner._spec, learner._session
    now, then = (
        policy.confidence_set(state).data.variances
        for state in (session.state, deciding(spec, session))
    )
    assert (then <= now * (1 + 1e-9)).all()
    assert then.sum() < now.sum()


def test_many_open_decisions_take_no_longer_than_few() -> None:
    """What a policy is handed has one column per different action, however many are open."""
    learner = pm.Learner("dynamic_pricing", pm.RandCBP())
    learner.ask(count=500)
    ((context, pending),) = learner._session.open.pending()
    assert context is None
    assert len(pending.action) <= learner.game.k
    assert pending.often.sum() == 500


def test_open_decisions_in_contexts() -> None:
    game = pm.games.survey()
    learner = pm.Learner(game, pm.ContextualIDS(), seed=0)
    for z in (1, 0, 1, 1):
        learner.ask(context=z)
    found = learner._session.open.pending()
    assert [int(context[0]) for context, _ in found] == [0, 1]
    assert [int(pending.often.sum()) for _, pending in found] == [1, 3]
    live = {"features": [[1.0, 0.2], [0.3, 0.7]], "observation_maps": [[[1.0, 0.0]], []]}
    decisions = [learner.ask(context=live) for _ in range(2)]
    (*_, (context, pending)) = learner._session.open.pending()
    assert isinstance(context, pm.Game)
    assert int(pending.often.sum()) == 2
    learner.tell(decisions, [[0.5] if own.action == 0 else [] for own in decisions])
    assert len(learner._session.open.pending()) == 2


def test_late_answers_are_weighted_by_the_probabilities_of_their_decisions() -> None:
    """What is estimated for a decision does not depend on what was learned since."""
    game, policy = pm.games.apple_tasting(), pm.FeedExp3(horizon=50)
    state = policy.init(game, 1)
    shown = np.array([[0.0, 1.0]])
    for _ in range(20):
        state = policy.update(state, np.array([0]), shown)
    fixed, probability = np.array([0]), np.array([0.25])
    for later in (state, policy.update(state, fixed, shown)):
        moved = policy.update(later, fixed, shown, probability=probability)
        twice = policy.update(later, fixed, shown, probability=2 * probability)
        np.testing.assert_allclose(
            moved.losses - later.losses, 2 * (twice.losses - later.losses), rtol=1e-9
        )


def test_files_of_earlier_versions_ignore_open_decisions() -> None:
    old, ignoring = (
        Spec("dynamic_pricing", pm.RandCBP(), 3, {"allow_hopeless": False} | own)
        for own in ({}, {"pending": "ignored"})
    )
    assert old.pending is None
    found = []
    for spec in (old, ignoring):
        session, actions = spec.start, []
        for _ in range(6):
            step = decide(spec, session, {"token": "a"})
            session = advance(spec, session, step)
            actions.append(step.action)
        found.append(actions)
    assert found[0] == found[1] == [found[0][0]] * 6
