"""Confidence sets of likelihood ratios hold in all rounds at once (docs/certified-sets.md)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.likelihood.likely_set import LikelySet
from partial_monitoring.estimation.linear.ellipsoid import Ellipsoid
from partial_monitoring.numerics.compiled.likelihood import mixture_regret
from partial_monitoring.simulation.environment import Environment
from tests.oracles.every_game import environment_of, learned

PRICES = pm.games.dynamic_pricing([1, 2, 3])
LABELS = pm.FiniteGame([[-1, -1], [-1, 0], [0, -1]], ["ab", "cc", "cc"])
ARMS = pm.games.linear_bandit([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])

CASES: dict[str, tuple[Any, list[float]]] = {
    "labels, balanced": (LABELS, [0.5, 0.5]),
    "labels, lopsided": (LABELS, [0.97, 0.03]),
    "prices": (PRICES, [0.2, 0.5, 0.3]),
    "prices, at the boundary": (PRICES, [0.0, 1.0, 0.0]),
    "arms": (ARMS, [0.5, 0.4]),
    "arms, at the boundary": (ARMS, [-0.6, 0.8]),
}


def contains(known: Any, theta: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the truth is in E_t, shape (n,)."""
    if isinstance(known, LikelySet):
        return known.contains(theta)
    away = theta - known.center
    return np.asarray(np.einsum("ni,nij,nj->n", away, known.gram, away) <= known.beta)


def ever_outside(name: str, delta: float, *, replicates: int, rounds: int) -> NDArray[np.bool_]:
    """Whether the truth was outside E_t in some round of IDS, which plays by what it has seen."""
    game, theta = CASES[name]
    policy = pm.IDS(confidence=pm.confidence.likelihood_ratio(delta))
    seeds, state = np.arange(replicates), policy.init(game, replicates)
    environment = Environment(game, np.tile(theta, (replicates, 1)), seeds)
    outside = np.zeros(replicates, dtype=bool)
    uniforms = np.random.default_rng(1)
    for t in range(rounds):
        choice = policy.decide(state, uniforms.random(replicates))
        observation = environment.observe(choice.action, t)
        state = policy.update(state, choice.action, observation)
        outside |= ~contains(policy.confidence_set(state), np.array(theta))
    return outside


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_in_all_sets_at_once(name: str) -> None:
    """In 200 runs at most a fifth should fail; four standard errors more would be a mistake."""
    outside = ever_outside(name, 0.2, replicates=200, rounds=60)
    assert outside.mean() <= 0.2 + 4 * np.sqrt(0.2 * 0.8 / 200)


@pytest.mark.nightly
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_in_all_sets_for_a_thousand_rounds(name: str, delta: float) -> None:
    outside = ever_outside(name, delta, replicates=1000, rounds=1000)
    assert outside.mean() <= delta + 3 * np.sqrt(delta * (1 - delta) / 1000)


def test_without_a_margin_the_truth_is_often_outside() -> None:
    """The check can fail: with delta = 1 a good share of the runs leave their sets."""
    assert ever_outside("labels, balanced", 1.0, replicates=200, rounds=60).mean() > 0.2


# -- least squares --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["linear_bandit", "survey", "dueling", "kernelized_bandit", "kernelized_dueling"]
)
def test_beta_is_that_of_the_normal_mixture(name: str) -> None:
    """beta = rho^2 (log det + 2 log 1/delta) + lambda B^2, at most the square of the sum."""
    game = pm.games.make(name)
    policy = pm.IDS(confidence=pm.confidence.likelihood_ratio(0.1), regularization=2.0)
    wide = pm.IDS(confidence=pm.confidence.fixed(0.1), regularization=2.0)
    environment = environment_of(game, np.arange(2))
    state, context = learned(policy.init(game, 2), environment, 5), environment.context(5)
    found, other = (own.confidence_set(state, context) for own in (policy, wide))
    design = found.data.design
    spread = design.noise_std**2 * (found.log_det + 2 * np.log(10))
    expected = spread + design.regularization * design.norm_bound**2
    np.testing.assert_allclose(found.beta, expected, rtol=1e-12)
    assert (found.beta < other.beta).all()


def test_the_ellipsoid_is_the_set_of_the_likelihood_ratio() -> None:
    """By numerical integration over the mixture, in one dimension."""
    rng = np.random.default_rng(3)
    y, rho, lam = 0.4 + 0.5 * rng.normal(size=12), 0.5, 2.0
    grid = np.linspace(-6, 6, 400_001)

    def log_likelihood(theta: Any) -> Any:
        return -((y[:, None] - theta) ** 2).sum(axis=0) / (2 * rho**2)

    density = np.exp(-lam * grid**2 / (2 * rho**2)) * np.sqrt(lam / (2 * np.pi)) / rho
    mixture = np.log((density * np.exp(log_likelihood(grid))).sum() * (grid[1] - grid[0]))
    game = pm.Game([[1.0], [0.0]], np.array([[[1.0]], [[0.0]]]), pm.Box([-1], [1]), rho)
    policy = pm.IDS(confidence=pm.confidence.likelihood_ratio(0.05), regularization=lam)
    state = policy.init(game, 1)
    for shown in y:
        state = policy.update(state, np.array([0]), np.array([[shown]]))
    known = policy.confidence_set(state)
    assert isinstance(known, Ellipsoid)
    theta = np.linspace(-1, 1, 4001)
    ratio = mixture - log_likelihood(theta)
    away = known.gram[0, 0, 0] * (theta - known.center[0, 0]) ** 2 / (2 * rho**2)
    log_det = known.log_det[0]
    np.testing.assert_allclose(ratio, away - log_det / 2 - lam * theta**2 / (2 * rho**2), atol=1e-6)
    inside = ratio <= np.log(20)
    assert (known.gram[0, 0, 0] * (theta[inside] - known.center[0, 0]) ** 2 <= known.beta[0]).all()


# -- finite games ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["labels, balanced", "labels, lopsided", "prices"])
def test_the_set_is_as_narrow_as_an_ellipsoid_of_least_squares(name: str) -> None:
    """|theta - theta'|^2 in V_t is at most 4 beta with beta = omega + lambda / 2.

    omega = log 1/delta + the regrets of the mixtures; by Pinsker's inequality.
    """
    game, theta = CASES[name]
    policy = pm.IDS(confidence=pm.confidence.likelihood_ratio(0.05), regularization=0.7)
    environment = Environment(game, np.tile(theta, (4, 1)), np.arange(4))
    state = learned(policy.init(game, 4), environment, 40)
    known: Any = policy.confidence_set(state)
    starts = known.channels.starts
    points = known.maximizer(np.random.default_rng(0).normal(size=(30, game.d)))
    away = points[:, :, None] - points[:, None]
    squared = np.einsum("nabi,nij,nabj->nab", away, known.ellipsoid.gram, away).max(axis=(1, 2))
    for row, counts in enumerate(known.counts):
        omega = np.log(20) + sum(mixture_regret(counts, *ends) for ends in pairwise(starts))
        assert squared[row] <= 4 * (omega + 0.7 / 2)
