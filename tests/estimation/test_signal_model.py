"""Games with signals as the likelihood sees them, and the same observations by least squares."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.forgetting import Forgetting
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.estimation.linear.least_squares import affine_estimate
from partial_monitoring.estimation.linear.through import through
from partial_monitoring.estimation.profile.model import MOST_MASKS, signal_model
from partial_monitoring.estimation.profile.state import ProfileState
from partial_monitoring.estimation.state import Prior, initial_state
from tests.oracles.every_game import environment_of, learned
from tests.oracles.profile import GAMES


def test_games_that_show_no_signals_or_very_many_have_no_model() -> None:
    assert signal_model(pm.games.linear_bandit()) is None
    assert signal_model(pm.games.bernoulli_bandit_linear(501)) is None
    assert signal_model(pm.games.kernelized_bandit([0.0, 0.5, 1.0])) is None
    box = pm.Box([0, 0], [1, 1])
    certain = pm.Game([[1, 0], [0, 0]], [[[1, 0]], [[0, 0]]], box, 0.5, noise="bernoulli")
    assert signal_model(certain) is None


@pytest.mark.parametrize("name", GAMES)
def test_least_squares_is_that_of_the_linear_states(name: str) -> None:
    game = GAMES[name]()
    model = signal_model(game)
    assert model is not None
    environment = environment_of(game, [5, 6])
    counted = learned(ProfileState.initial(model, 2), environment, 30)
    linear = learned(initial_state(game, 2, Prior()), environment, 30)
    context = np.array([0, 0]) if game.traits.contexts else None
    schedule = pm.confidence.paper()
    known = counted.least_squares()
    if context is not None:
        known = known.through(through(model.design, model.games[0]))
    one, two = Ellipsoid.around(known, schedule), linear.confidence(schedule, context)
    assert affine_estimate(one.data) == pytest.approx(affine_estimate(two.data), abs=1e-9)
    for name in ("means", "lengths", "beta", "exact_gaps"):
        first, second = (getattr(found, name) for found in (one, two))
        pair = (first(), second()) if callable(first) else (first, second)
        assert pair[0] == pytest.approx(pair[1], rel=1e-6, abs=1e-9)
    assert (counted.round == 31).all()


def test_the_memory_of_available_actions_is_bounded_and_belongs_to_the_model() -> None:
    game = pm.games.dynamic_pricing(range(1, 11))
    model = signal_model(game)
    assert model is not None
    rng = np.random.default_rng(0)
    for i in range(2 * MOST_MASKS):
        mask = rng.random(10) < 0.7
        mask[0] = True
        rivals = model.available(0, mask)
        if i < 3:
            chosen = np.flatnonzero(mask)
            own = pm.analyze(game.restricted(chosen.tolist())).representatives
            assert chosen[own].tolist() == np.flatnonzero(rivals.pareto).tolist()
    assert len(model._masks) <= MOST_MASKS


def test_actions_that_show_the_same_share_directions() -> None:
    full = pm.FiniteGame(np.eye(3), ["abc", "bca", "cab"])
    model = signal_model(full)
    assert model is not None
    assert len(model.signals.base) == 9
    assert set(model.signals.direction) == {0, 1, 2}
    assert model.signals.extra.shape == (1, 2)
    prices = signal_model(pm.games.dynamic_pricing(range(1, 5)))
    assert prices is not None
    assert prices.signals.extra.shape == (0, 3)
    signals = prices.signals
    assert (signals.direction[0::2] == signals.direction[1::2]).all()
    assert (signals.sign[0::2] == -signals.sign[1::2]).all()


def test_coordinates_are_alone_where_no_direction_joins_them() -> None:
    bandit = signal_model(pm.games.bernoulli_bandit_linear(4))
    prices = signal_model(pm.games.dynamic_pricing(range(1, 5)))
    mixed = signal_model(pm.FiniteGame(np.eye(4), ["aabc", "abbb", "aaaa", "aabc"]))
    assert bandit is not None
    assert prices is not None
    assert mixed is not None
    assert bandit.signals.alone.tolist() == [True] * 4
    assert prices.signals.alone.tolist() == [True] * 3
    assert sorted(mixed.signals.alone) == [False, False, True]


def test_nearly_parallel_directions_are_no_obstacle() -> None:
    """What the first two signals say of theta is nearly the same."""
    rows = np.array([[0.5, 0.5, 0], [0.5, 0.5 + 1e-8, 0], [0, 0, 1]])
    game = pm.Game(np.eye(3), rows[:, None], pm.Box([0.2] * 3, [0.4] * 3), noise="bernoulli")
    model = signal_model(game)
    assert model is not None
    theta = np.array([0.31, 0.28, 0.33])
    again = model.parameter(model._coordinates(theta))
    assert rows @ again == pytest.approx(rows @ theta, abs=1e-8)
    state = learned(ProfileState.initial(model, 2), environment_of(game, [1, 2]), 20)
    assert np.isfinite(state.means).all()
    assert np.isfinite(state.worth).all()


def test_pareto_actions_are_found_once_for_a_game() -> None:
    game = pm.games.dynamic_pricing(range(1, 5))
    one, two = signal_model(game), signal_model(game, Forgetting(10.0))
    other = signal_model(pm.games.dynamic_pricing(range(1, 5)))
    assert one is not None
    assert two is not None
    assert other is not None
    assert one.rivals is two.rivals
    assert one.rivals is not other.rivals
    assert np.array_equal(one.rivals.pareto, other.rivals.pareto)
    assert np.array_equal(one.rivals.inside, other.rivals.inside)
