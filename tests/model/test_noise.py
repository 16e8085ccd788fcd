"""Equal noise of all actions is one number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model import game as game_module
from partial_monitoring.model.files import game_to_dict

X = np.random.default_rng(0).normal(size=(4, 3))
THETA = [0.5, -0.2, 0.1]


def bandit(noise_std):
    return pm.Game(X, X[:, None], pm.Ball(np.zeros(3), 1), noise_std)


def kernel_bandit(noise_std):
    return pm.games.kernelized_bandit([0.0, 0.3, 0.6, 1.0], noise_std=noise_std)


@pytest.mark.parametrize("build", [bandit, kernel_bandit])
def test_equal_noise_in_a_list_is_one_number(build):
    listed, plain = build([0.3] * 4), build(0.3)
    assert isinstance(listed.noise_std, float)
    assert listed.noise_std == 0.3
    assert game_to_dict(listed) == game_to_dict(plain)
    assert listed.restricted([0, 2]).noise_std == 0.3
    assert np.ndim(build([0.3, 0.3, 0.3, 0.4]).noise_std) == 1


@pytest.mark.parametrize("contexts", [False, True])
def test_decisions_and_bounds_are_those_of_one_number(contexts):
    listed, plain = bandit([0.3] * 4), bandit(0.3)
    if contexts:
        listed, plain = pm.ContextualGame([listed], [1.0]), pm.ContextualGame([plain], [1.0])
    runs = [
        pm.simulate(game, {"ids": pm.IDS()}, THETA, horizon=60, seeds=3).regret["ids"]
        for game in (listed, plain, bandit(0.3))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_allclose(runs[0], runs[2])
    bound = pm.contextual_bounds if contexts else pm.bounds
    bounds = [str(bound(game, horizon=1000)) for game in (listed, plain)]
    assert bounds[0] == bounds[1]


def test_a_learner_that_was_saved_with_equal_noise_in_a_list_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "learner.json"
    with monkeypatch.context() as patch:  # how files were written before
        patch.setattr(game_module, "noise_sizes", lambda value, k: np.array(value))
        learner = pm.Learner(bandit([0.3] * 4), seed=3)
        for observed in (0.2, -0.4, 0.9):
            learner.tell(learner.ask(), [observed])
        learner.save(path)
    loaded, again = pm.Learner.load(path), pm.Learner(bandit(0.3), seed=3)
    rows = learner.history
    again.tell_past([row["action"] for row in rows], [row["observation"] for row in rows])
    assert loaded.round == again.round == 4
    np.testing.assert_array_equal(loaded.ask().estimate, again.ask().estimate)


@pytest.mark.parametrize("given", [[0.25], 0.25, np.array([0.25]), np.float64(0.25), (0.25,)])
def test_an_observation_may_be_a_number_a_list_or_an_array(given: Any) -> None:
    game = pm.games.linear_bandit([[1.0, 0.0], [0.0, 1.0]])
    learner, other = (pm.Learner(game, seed=1) for _ in range(2))
    learner.tell(learner.ask(), given)
    other.tell(other.ask(), [0.25])
    assert np.ravel(learner.events[1]["observation"]).tolist() == [0.25]
    known = [own.confidence_set().center.tolist() for own in (learner, other)]
    assert known[0] == known[1]
    for bad in (np.array([np.nan]), np.inf, np.array(["a"]), np.array([True]), np.array([1j])):
        decision = learner.ask()
        with pytest.raises(InvalidInput, match="observation"):
            learner.tell(decision, bad)
        learner.cancel(decision)
