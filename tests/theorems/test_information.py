"""Information: its identities, its bounds, and what no observation sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from tests.oracles.bodies import KINDS, draw_body, point_of
from tests.oracles.linear_data import Data, draw_data, draw_game, learn

Array = NDArray[np.float64]


# -- what no observation sees ----------------------------------------------------------------


def test_single_symbol_game_has_no_information_at_all() -> None:
    """E3: S_a = (1, 1) on the simplex. Algorithm 2 as printed gives 0.549; r = 0, so it is 0."""
    game = pm.games.finite_versus_linear("simplex")
    printed = 0.5 * np.log(1 + np.ones(2) @ np.ones(2))
    assert printed == pytest.approx(0.549, abs=5e-4)
    data = Data(game, np.zeros(5, dtype=int), np.ones((5, 1)))
    for rounds in (0, 5):
        past = Data(game, data.actions[:rounds], data.observations[:rounds])
        found = learn(past, pm.IDS(confidence=pm.confidence.fixed(1.0)))
        assert pm.information.log_det(game, found)[0].tolist() == [0.0, 0.0]
        assert pm.information.directed(game, found)[0] == pytest.approx([0.0, 0.0], abs=1e-15)
        assert found.center[0] == pytest.approx([0.5, 0.5], abs=1e-15)
        assert found.beta[0] == pytest.approx(0.5, abs=1e-15)  # only lambda^(1/2) B is left


def test_beta_subtracts_r_log_lambda() -> None:
    """E2: the Bernoulli game with k = 3 has d = 8 but r = 3; log det(lambda I_d) is 1.78 off."""
    game = pm.games.bernoulli_bandit(3)
    assert (game.d, game.rank) == (8, 3)
    lam = 0.7
    rng = np.random.default_rng(0)
    data = draw_data(rng, game, np.full(8, 1 / 8), 40)
    found = learn(
        data, pm.IDS(regularization=lam, norm_bound=0.0, confidence=pm.confidence.fixed(1.0))
    )
    full = data.gram(lam)
    w = game.reduced.basis
    right = np.linalg.slogdet(w.T @ full @ w)[1] - 3 * np.log(lam)
    wrong = np.linalg.slogdet(w.T @ full @ w)[1] - 8 * np.log(lam)
    assert wrong - right == pytest.approx(1.78, abs=5e-3)
    assert found.beta[0] == pytest.approx(0.5 * right, rel=1e-10)  # rho^2 = 1/2


def test_unseen_directions_stay_at_the_prior() -> None:
    """The estimate moves along W only, as long as Theta does not push it."""
    game = pm.Game(np.eye(3), [[[1.0, 1.0, 0.0]]] * 3, pm.AllParameters(3))
    prior = np.array([0.5, -0.5, 2.0])
    data = draw_data(np.random.default_rng(0), game, np.array([3.0, 1.0, 9.0]), 50)
    moved = learn(data, pm.IDS(prior_mean=prior)).center[0] - prior
    assert moved[2] == pytest.approx(0.0, abs=1e-12)
    assert moved[0] == pytest.approx(moved[1], abs=1e-12)
    assert moved[0] > 1.0


# -- identities ------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from(["simplex", "flat polytope", "flat box", "ball"]))
@settings(max_examples=60)
def test_the_norm_on_theta_splits_into_seen_and_unseen(seed: int, kind: str) -> None:
    """|v|_V^2 = |W'v|^2 in the norm of W_t + lambda |(I - WW')v|^2 on differences (notes 1.4)."""
    rng = np.random.default_rng(seed)
    body = draw_body(rng, kind, int(rng.integers(2, 6)))
    game = draw_game(rng, body)
    data = draw_data(rng, game, body.inside, 10)
    gram, w = data.gram(0.6), game.reduced.basis
    v = point_of(rng, body) - point_of(rng, body)
    seen = w.T @ v
    rest = v - w @ seen
    split = seen @ (w.T @ gram @ w) @ seen + 0.6 * rest @ rest
    assert split == pytest.approx(v @ gram @ v, rel=1e-9, abs=1e-12)
    assert game.observation_maps @ v == pytest.approx(game.observation_maps @ (w @ seen), abs=1e-9)


def gaussian_entropy(covariance: Array) -> float:
    n = len(covariance)
    return float(0.5 * (n * np.log(2 * np.pi * np.e) + np.linalg.slogdet(covariance)[1]))


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
@settings(max_examples=60)
def test_information_is_mutual_information_of_the_posterior(seed: int, kind: str) -> None:
    """I(a) = H(y) - H(y | theta) for a Gaussian prior on span(Theta - Theta) and unit noise.

    The posterior is conditioned from the joint covariance of everything seen so far, without any
    least squares.
    """
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    body = draw_body(rng, kind, d)
    game = draw_game(rng, body)
    data = draw_data(rng, game, body.inside, int(rng.integers(0, 8)))
    lam = float(rng.choice([0.5, 2.0]))
    prior = body.basis @ body.basis.T / lam
    rows, _ = data.stacked()
    joint = rows @ prior @ rows.T + np.eye(len(rows))
    posterior = prior - prior @ rows.T @ np.linalg.solve(joint, rows @ prior)
    scale = np.ones(game.k) if np.ndim(game.noise_std) == 0 else 1 / np.asarray(game.noise_std)
    gains = pm.information.log_det(game, learn(data, pm.IDS(regularization=lam)))[0]
    for a in range(game.k):
        shown = game.rows(a) * scale[a]
        predicted = shown @ posterior @ shown.T + np.eye(len(shown))
        expected = gaussian_entropy(predicted) - gaussian_entropy(np.eye(len(shown)))
        assert gains[a] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
@settings(max_examples=40)
def test_lemma_total_information(seed: int, kind: str) -> None:
    """gamma_n = 1/2 log det W_{n+1} - r/2 log lambda <= r/2 log(1 + n min(m, r) L^2 / lambda r)."""
    rng = np.random.default_rng(seed)
    body = draw_body(rng, kind, int(rng.integers(2, 5)))
    game = draw_game(rng, body)
    n, lam = 15, 0.8
    data = draw_data(rng, game, body.inside, n)
    policy = pm.IDS(regularization=lam)
    state = policy.init(game, 1)
    gamma = 0.0
    for a, y in zip(data.actions, data.observations, strict=True):
        gamma += pm.information.log_det(game, policy.confidence_set(state))[0, a]
        state = policy.update(state, np.array([a]), y[None])
    w = game.reduced.basis
    r = game.rank
    assert gamma == pytest.approx(
        0.5 * np.linalg.slogdet(w.T @ data.gram(lam) @ w)[1] - 0.5 * r * np.log(lam), abs=1e-9
    )
    if r:
        scale = np.ones(game.k) if np.ndim(game.noise_std) == 0 else 1 / np.asarray(game.noise_std)
        whitened = game.observation_maps * scale[:, None, None]
        loudest = max(np.linalg.norm(m, 2) for m in whitened)
        bound = r / 2 * np.log(1 + n * min(game.m, r) * loudest**2 / (lam * r))
        assert gamma <= bound + 1e-9


def test_total_information_attains_its_bound() -> None:
    """E14: M = 2 I_3, lambda = 4, n = 50 gives 5.90, above the printed bound 3.35."""
    game = pm.Game(np.eye(3), [2 * np.eye(3)] * 3, pm.AllParameters(3))
    policy = pm.IDS(regularization=4.0)
    state = policy.init(game, 1)
    gamma = 0.0
    for _ in range(50):
        gamma += pm.information.log_det(game, policy.confidence_set(state))[0, 0]
        state = policy.update(state, np.array([0]), np.zeros((1, 3)))
    assert gamma == pytest.approx(1.5 * np.log(1 + 50 * 3 * 4 / (4 * 3)), rel=1e-12)
    assert gamma == pytest.approx(5.90, abs=5e-3)
    assert gamma > 1.5 * np.log(1 + 50 * 2 / (4 * 3))
