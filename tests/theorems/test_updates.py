"""Estimates updated round by round equal those computed anew."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from tests.oracles.linear_data import KNOWN_GAMES, Data, draw_data, half_log_det, learn

Array = NDArray[np.float64]


def recomputed(data: Data, regularization: float = 1.0) -> dict[str, Array]:
    """Everything that follows from the data, from scratch in the coordinates of W."""
    game = data.game
    reduced = game.reduced
    w, center = reduced.basis, reduced.center
    rows, seen = data.stacked()
    gram = regularization * np.eye(w.shape[1]) + (rows @ w).T @ (rows @ w)
    vector = (rows @ w).T @ (seen - rows @ center)
    x = np.linalg.solve(gram, vector)
    scale = np.ones(game.k) if np.ndim(game.noise_std) == 0 else 1 / np.asarray(game.noise_std)
    maps = game.observation_maps * scale[:, None, None] @ w
    shown = np.stack([m @ np.linalg.solve(gram, m.T) for m in maps])
    rank = w.shape[1]
    return {
        "log_det": np.linalg.slogdet(gram)[1] - rank * np.log(regularization),
        "hull": center + w @ x,
        "information": half_log_det(shown),
    }


def compare(data: Data, found: ConfidenceSet, tolerance: float) -> None:
    expected = recomputed(data)
    game = data.game
    bound, rho = found.data.design.norm_bound, found.data.design.noise_std
    t = len(data.actions) + 1
    root = rho * np.sqrt(4 * np.log(t) + expected["log_det"]) + bound
    assert found.beta[0] == pytest.approx(root**2, rel=tolerance)
    gains = pm.information.log_det(game, found)[0]
    assert gains == pytest.approx(expected["information"], abs=tolerance)
    assert (gains >= 0).all()
    gram = data.gram(1.0)
    nearest = game.parameters.project(expected["hull"], gram)
    assert found.center[0] == pytest.approx(nearest, abs=tolerance)
    assert found.plays[0].tolist() == np.bincount(data.actions, minlength=game.k).tolist()
    sums = np.zeros((game.k, game.m))
    for a, y in zip(data.actions, data.observations, strict=True):
        sums[a, : game.row_counts[a]] += y[: game.row_counts[a]]
    assert found.sums[0] == pytest.approx(sums, abs=1e-9 * t)
    assert found.round[0] == t


@pytest.mark.parametrize("name", KNOWN_GAMES)
def test_updates_equal_recomputation_over_three_thousand_rounds(name: str) -> None:
    game = KNOWN_GAMES[name]()
    rng = np.random.default_rng(1)
    theta = game.parameters.relative_interior_point()
    data = draw_data(rng, game, theta, 3000)
    policy = pm.IDS()
    state = policy.init(game, 1)
    for t, (a, y) in enumerate(zip(data.actions, data.observations, strict=True), start=1):
        state = policy.update(state, np.array([a]), y[None])
        if t in (1, 2, 7, 998, 999, 1000, 1001, 2999, 3000):
            past = Data(game, data.actions[:t], data.observations[:t])
            compare(past, policy.confidence_set(state), 1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["pricing", "bandit", "bernoulli"])
def test_no_drift_in_a_million_rounds(name: str) -> None:
    game = KNOWN_GAMES[name]()
    rng = np.random.default_rng(2)
    theta = game.parameters.relative_interior_point()
    rounds = 1_000_000 - 1  # just before a refresh, when drift is largest
    data = draw_data(rng, game, theta, rounds)
    policy = pm.IDS()
    state = policy.init(game, 1)
    for a, y in zip(data.actions, data.observations, strict=True):
        state = policy.update(state, np.array([a]), y[None])
    found = policy.confidence_set(state)
    # Summed by action, the dense reference stays small.
    counts, sums = found.plays[0], found.sums[0]
    w, center = game.reduced.basis, game.reduced.center
    maps = game.observation_maps @ w
    gram = np.eye(w.shape[1]) + np.einsum("k,kmi,kmj->ij", counts, maps, maps)
    away = sums - counts[:, None] * (game.observation_maps @ center)
    x = np.linalg.solve(gram, np.einsum("kmi,km->i", maps, away))
    full = np.eye(game.d) + np.einsum(
        "k,kmi,kmj->ij", counts, game.observation_maps, game.observation_maps
    )
    nearest = game.parameters.project(center + w @ x, full)
    assert found.center[0] == pytest.approx(nearest, abs=1e-8)
    shown = np.stack([m @ np.linalg.solve(gram, m.T) for m in maps])
    expected = half_log_det(shown)
    gains = pm.information.log_det(game, found)[0]
    assert gains == pytest.approx(expected, rel=1e-5, abs=1e-12)
    root = found.data.design.noise_std * np.sqrt(
        4 * np.log(rounds + 1) + np.linalg.slogdet(gram)[1]
    ) + float(found.data.design.norm_bound)
    assert found.beta[0] == pytest.approx(root**2, rel=1e-9)


def test_one_loud_observation_among_many_quiet_ones() -> None:
    """Rows of very different size keep their digits through the rank-one updates."""
    maps = np.array([[[1e3, 1e3]], [[1.0, -1.0]], [[1e-3, 0.0]]])
    game = pm.Game(np.eye(3)[:, :2], maps, pm.AllParameters(2))
    rng = np.random.default_rng(3)
    data = draw_data(rng, game, np.array([0.3, -0.2]), 300)
    found = learn(data)
    expected = recomputed(data)
    gains = pm.information.log_det(game, found)[0]
    assert gains == pytest.approx(expected["information"], rel=1e-6, abs=1e-12)
    assert found.center[0] == pytest.approx(expected["hull"], abs=1e-7)


def test_an_update_leaves_the_state_before_it_as_it_was() -> None:
    game, policy = pm.games.dynamic_pricing(), pm.IDS()
    before = policy.init(game, 2)
    first = policy.confidence_set(before)
    kept = first.center.copy(), first.beta.copy(), first.plays.copy()
    policy.update(before, np.array([1, 2]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    again = policy.confidence_set(before)
    for old, new in zip(kept, (again.center, again.beta, again.plays), strict=True):
        assert np.array_equal(old, new)


def test_entries_beyond_the_rows_of_an_action_are_ignored() -> None:
    game = pm.Game(np.eye(2), [[[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], pm.AllParameters(2))
    one, two = (learn(Data(game, np.array([0]), np.array([[0.5, y]]))) for y in (0.0, 99.0))
    assert np.array_equal(one.center, two.center)
    assert np.array_equal(one.sums, two.sums)
