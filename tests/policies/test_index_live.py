"""The default policy on games with signals, as users meet it: live, saved, replayed, explained."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.policies.calibrated.index import AnticipatingIndex
from tests.oracles.signal_games import SIGNALS

CALIBRATED = pm.Calibrated()


def test_the_library_has_such_games_of_every_kind() -> None:
    assert {"apple_tasting", "bernoulli_bandit_linear", "survey", "segment_pricing"} <= set(SIGNALS)


@pytest.mark.parametrize("name", SIGNALS)
def test_the_default_policy_keeps_the_promises_of_policies(name: str) -> None:
    assert isinstance(CALIBRATED.init(SIGNALS[name], 1).rule, AnticipatingIndex)
    pm.testing.check_policy(CALIBRATED, on=SIGNALS[name], rounds=12)


def play(game: Any, rounds: int, seed: int = 1) -> pm.Learner:
    """Return a learner that was answered by an opponent drawn from the middle of Theta."""
    learner = pm.Learner(game, CALIBRATED, seed=seed)
    go_on(learner, rounds, np.random.default_rng(seed))
    return learner


def go_on(learner: pm.Learner, rounds: int, rng: np.random.Generator) -> list[int]:
    game: Any = learner.game
    theta, actions = game.parameters.relative_interior_point(), []
    for _ in range(rounds):
        context = game.contexts[rng.integers(len(game.games))] if game.traits.contexts else None
        decision = learner.ask() if context is None else learner.ask(context=context)
        own = game if context is None else game.at(context)
        local = list(own.actions).index(decision.label)
        if own.traits.finite:
            shown: Any = own.signals[local][rng.choice(own.d, p=theta)]
        else:
            means = own.rows(local) @ theta
            hit = rng.random(len(means)) < (means if own.noise == "bernoulli" else (1 + means) / 2)
            shown = hit.astype(float) if own.noise == "bernoulli" else np.where(hit, 1.0, -1.0)
        learner.tell(decision, shown)
        actions.append(decision.action)
    return actions


@pytest.mark.parametrize("name", ["dynamic_pricing", "survey", "segment_pricing", "sign duels"])
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    one = play(SIGNALS[name], 30)
    one.save(tmp_path / "learner")
    two = pm.Learner.load(tmp_path / "learner")
    copy = pickle.loads(pickle.dumps(one))
    rest = [go_on(learner, 20, np.random.default_rng(7)) for learner in (one, two, copy)]
    assert rest[0] == rest[1] == rest[2]
    states = [learner._session.state.known for learner in (one, two, copy)]
    for field in ("counts", "coordinates", "ties", "means", "worth", "doubt", "plays", "seen"):
        first, *others = (getattr(state, field).tobytes() for state in states)
        assert all(other == first for other in others), field


def test_past_observations_count_as_if_they_had_been_asked_for() -> None:
    game = pm.games.label_efficient()
    past, live = pm.Learner(game, CALIBRATED), pm.Learner(game, CALIBRATED)
    answers = ["0"] * 12 + ["1"] * 5
    past.tell_past(["ask"] * 17, answers)
    for answer in answers:
        live.tell_past(["ask"], [answer])
    one, two = past.ask(), live.ask()
    assert one.round == two.round == 18
    assert np.array_equal(np.asarray(one.index), np.asarray(two.index))


def test_the_decisions_of_a_learner_can_be_replayed() -> None:
    game = pm.games.dynamic_pricing(range(1, 5))
    learner = play(game, 25)
    again = pm.Learner.replay(game, CALIBRATED, 1, learner.events, check=True)
    assert again.history == learner.history
    assert np.array_equal(np.asarray(again.ask().index), np.asarray(learner.ask().index))


def certified(learner: pm.Learner, options: dict[str, Any]) -> Any:
    """Return the status that IDS has of the same observations."""
    ids = pm.IDS(confidence=pm.confidence.paper())
    return pm.Learner.replay(learner.game, ids, 1, learner.events).status(**options)


@pytest.mark.parametrize("name", SIGNALS)
def test_what_is_counted_is_what_least_squares_needs(name: str) -> None:
    game = SIGNALS[name]
    learner = play(game, 15)
    options = {"context": game.contexts[0]} if game.traits.contexts else {}
    linear, state = certified(learner, options), learner._session.state.known
    known, model = state.least_squares(), state.model
    if options:
        known = known.through(through(model.design, model.games[0]))
    found = Ellipsoid.around(known, pm.confidence.paper())
    further, _, decide = found.ahead(0)
    own, best = model.games[0], decide()
    assert own.actions[int(found.means[0].argmax())] == linear.best or game.traits.duels
    assert float(further.max()) == pytest.approx(linear.at_risk, rel=1e-6)
    if not game.traits.duels:
        assert [own.actions[a] for a in np.flatnonzero(best)] == linear.plausible


@pytest.mark.parametrize("name", SIGNALS)
def test_the_status_is_that_of_the_likelihood(name: str) -> None:
    """Around the policy's own estimate, and narrower than what is proven."""
    game = SIGNALS[name]
    learner = play(game, 15)
    options = {"context": game.contexts[0]} if game.traits.contexts else {}
    status, linear = learner.status(**options), certified(learner, options)
    assert set(status.plausible) <= set(linear.plausible)
    assert status.best in status.plausible
    assert status.at_risk <= linear.at_risk * (1 + 1e-9)
    assert status.round == linear.round == 16
    assert "not proven" in status.explain()


def test_a_decision_explains_itself() -> None:
    learner = pm.Learner(pm.games.label_efficient(), CALIBRATED)
    learner.tell_past(["ask"], ["0"])
    first = learner.ask()
    text = first.explain()
    for column in ("ask <", "costs now", "worth later", "index", "chosen"):
        assert column in text
    assert "more now, and what it shows is valued at" in text
    assert first.probability == 1.0
    assert first.index is not None
    assert first.action == int(np.argmax(first.index))
    learner.tell_past(["ask"] * 200, ["0"] * 200)
    later = learner.ask().explain()
    assert "looks best, and no other action shows enough to pay off" in later


@pytest.mark.parametrize("size", [1e-99, 1e-30, 1.0, 1e30, 1e99])
def test_rewards_of_any_size_are_played_alike(size: float) -> None:
    rewards = np.array([[0, 0, 0], [1, 0, 0.5], [0, 1, 0.25]])
    game = pm.FiniteGame(size * rewards, ["abc", "aaa", "aaa"])
    plain = pm.FiniteGame(rewards, ["abc", "aaa", "aaa"])
    rng = np.random.default_rng(0)
    states = [CALIBRATED.init(own, 1) for own in (game, plain)]
    for _ in range(30):
        both = [CALIBRATED.decide(state, np.zeros((1, 1))) for state in states]
        assert both[0].action == both[1].action
        assert np.asarray(both[0].index) == pytest.approx(np.asarray(both[1].index), rel=1e-5)
        shown = plain.observation_maps[both[1].action[0]][:, rng.integers(3)][None]
        states = [CALIBRATED.update(state, both[0].action, shown) for state in states]


def test_signals_that_never_appear_do_no_harm() -> None:
    """An opponent on a corner of the simplex: most signals have probability zero."""
    game = pm.games.dynamic_pricing(range(1, 6))
    players = {"calibrated": CALIBRATED, "randcbp": pm.RandCBP()}
    for corner in np.eye(5)[[0, 2, 4]]:
        result = pm.simulate(game, players, corner, horizon=1000, seeds=3)
        assert np.isfinite(result.mean("calibrated")).all()
        assert result.mean("calibrated")[-1] < 0.6 * result.mean("randcbp")[-1]


def test_models_are_forgotten_with_their_states() -> None:
    game = pm.games.dynamic_pricing(range(1, 6))
    state = AnticipatingIndex().init(game, 1)
    AnticipatingIndex().decide(state, np.zeros(1), np.array([True, False, True, True, True]))
    kept = weakref.ref(state.model)
    del state
    gc.collect()
    assert kept() is None
