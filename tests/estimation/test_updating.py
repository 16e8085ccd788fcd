"""An answer is taken in by one compiled call, which is the same as step by step, bit by bit."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.estimation.linear.design import design
from partial_monitoring.estimation.linear.least_squares import Estimate, initial
from partial_monitoring.estimation.linear.updating import updated, updated_by_rows
from partial_monitoring.numerics.compiled.linear import take_in


def games(d: int) -> list[pm.Game]:
    """Return games whose actions show their rewards, several rows, none, and zeros."""
    rng = np.random.default_rng(d)
    phi, everywhere = rng.normal(size=(5, d)), pm.AllParameters(d)
    maps = [rng.normal(size=(m, d)) for m in (2, 0, 1, 3, 1)]
    noises = np.array([0.5, 1.0, 2.0, 1.0, 3.0])
    ball = pm.Ball(np.full(d, 0.2), 1.0)
    return [
        pm.games.linear_bandit(phi),
        pm.games.linear_bandit(phi[[0, 1, 0]], everywhere),
        pm.Game(phi, maps, everywhere, noises),
        pm.Game(phi, maps, ball),
        pm.Game(phi, phi[:, None] * 150.0, everywhere),  # of high leverage
        pm.Game(np.zeros((2, d)), np.zeros((2, 1, d)), everywhere),
    ]


def step_by_step(estimate: Estimate, action: Any, shown: Any) -> Estimate:
    own = estimate.design
    known = own.maps, own.counts, own.whitening, own.expected, estimate.plays, estimate.sums
    rows, residual, plays, sums = take_in(action, shown, *known)
    return updated_by_rows(replace(estimate, plays=plays, sums=sums), rows, residual)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 17])
def test_one_call_is_learning_step_by_step(d: int) -> None:
    rng = np.random.default_rng(d)
    for game in games(d):
        for n in (1, 3):
            estimate = initial(design(game, regularization=0.7), n)
            for _ in range(40):
                action, shown = rng.integers(game.k, size=n), rng.normal(size=(n, game.m))
                before = {own.name: np.copy(getattr(estimate, own.name)) for own in arrays()}
                expected = step_by_step(estimate, action, shown)
                after = updated(estimate, action, shown)
                for own in arrays():
                    mine, other = getattr(after, own.name), getattr(expected, own.name)
                    assert np.array_equal(mine, other), own.name
                    assert np.array_equal(getattr(estimate, own.name), before[own.name])
                estimate = after


def arrays() -> list[Any]:
    return [own for own in fields(Estimate) if own.name != "design"]


@pytest.mark.parametrize("rule", [pm.sampling.exact, pm.sampling.approximate])
def test_drawing_with_the_best_pair_is_finding_it_and_drawing(rule: Any) -> None:
    from partial_monitoring.policies.ids.sampling import as_rule

    own: Any = as_rule(rule)
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 40):
        gaps, information = rng.exponential(size=(2, 200, k))
        gaps[:50, 0], information[50:100] = 0.0, 0.0
        gaps[100:110], uniforms = 0.0, rng.random(200)
        action, distribution, ratio = own.play(gaps, information, None, uniforms)
        pairs = own.pairs(gaps, information)
        drawn, spread = pairs.play(uniforms, k)
        assert np.array_equal(action, drawn)
        assert np.array_equal(distribution, spread)
        assert np.array_equal(ratio, pairs.ratio)
        gaps[7, 0] = np.nan
        with pytest.raises(pm.errors.InvalidInput, match="gaps must"):
            own.play(gaps, information, None, uniforms)
