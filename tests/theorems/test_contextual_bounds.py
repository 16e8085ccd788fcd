"""Regret bounds for games with contexts."""

from __future__ import annotations

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput

HORIZONS = [10**3, 10**5, 10**7]


@pytest.mark.parametrize(
    "name", ["apple_tasting", "dynamic_pricing", "linear_bandit", "transductive"]
)
def test_one_context_has_the_bounds_of_the_plain_game(name: str) -> None:
    plain = pm.games.make(name)
    assert isinstance(plain, pm.Game)
    one = pm.bounds(plain, HORIZONS)
    two = pm.contextual_bounds(pm.ContextualGame([plain]), HORIZONS)
    np.testing.assert_allclose(two.conditional_global, one.global_regret, rtol=1e-9)
    np.testing.assert_allclose(two.contextual_global, one.global_regret, rtol=1e-6)
    np.testing.assert_allclose(two.conditional_local, one.local_regret, rtol=1e-9)
    np.testing.assert_allclose(two.contextual_local, one.local_regret, rtol=1e-6)
    np.testing.assert_allclose(two.regret, one.regret, rtol=1e-6)


def test_a_silent_context_makes_the_bounds_of_conditional_ids_vacuous() -> None:
    found = pm.contextual_bounds(pm.games.survey(), HORIZONS)
    assert np.isinf(found.conditional_regret).all()
    assert np.isfinite(found.regret).all()
    growth = np.log(found.regret[2] / found.regret[1]) / np.log(100)
    assert 1 / 2 <= growth < 0.6


def test_a_voucher_makes_the_local_bound_vacuous_and_leaves_the_global_one() -> None:
    found = pm.contextual_bounds(pm.games.survey(voucher=True), HORIZONS)
    assert np.isinf(found.conditional_regret).all()
    assert np.isinf(found.contextual_local).all()
    growth = np.log(found.regret[2] / found.regret[1]) / np.log(100)
    assert 2 / 3 <= growth < 0.75


def test_theorem_15_has_the_constant_16() -> None:
    """E16: (16 alpha(E, chi) beta gamma n)^(1/2), and what is lost in failed rounds."""
    found = pm.contextual_bounds(pm.games.survey(products=2, answer_rate=0.5), 1000)
    assert found.contextual_local_alignment == pytest.approx(8)
    inner = 16 * 8 * found.beta * found.total_information * 1000
    np.testing.assert_allclose(found.contextual_local, np.sqrt(inner) + np.pi**2 / 6, rtol=1e-6)


def test_the_bounds_hold() -> None:
    """Loosely: regret of a few runs stays below what is guaranteed."""
    for name, theta in (("survey", [0.3, 0.7]), ("segment_pricing", [0.2, 0.5, 0.3])):
        game = pm.games.make(name)
        assert isinstance(game, pm.ContextualGame)
        result = pm.simulate(game, "contextual_ids", theta, horizon=300, seeds=4)
        assert result.mean("contextual_ids")[-1] <= pm.contextual_bounds(game, 300).regret[0]


def test_noise_that_differs_between_contexts_is_divided_out() -> None:
    box = pm.Box([0, 0], [1, 1])
    loud, quiet = (pm.Game(np.eye(2), np.eye(2)[:, None], box, noise) for noise in (2.0, 0.5))
    found = pm.contextual_bounds(pm.ContextualGame([loud, quiet], [0.5, 0.5]), 1000)
    alike = [pm.Game(np.eye(2), np.eye(2)[:, None] / noise, box, 1.0) for noise in (2.0, 0.5)]
    again = pm.contextual_bounds(pm.ContextualGame(alike, [0.5, 0.5]), 1000)
    np.testing.assert_allclose(found.regret, again.regret, rtol=1e-9)


def test_trivial_games_cost_nothing() -> None:
    game = pm.ContextualGame([pm.games.finite_versus_linear()])
    assert (pm.contextual_bounds(game, HORIZONS).regret == 0).all()


def test_bad_input_is_refused() -> None:
    game = pm.games.survey()
    with pytest.raises(InvalidInput, match="horizon must be at least 1"):
        pm.contextual_bounds(game, 0)
    with pytest.raises(InvalidInput, match="analysis must be one of the same game"):
        pm.contextual_bounds(game, 10, analysis=pm.analyze(pm.games.survey()))
