"""Every combination of the parts of IDS plays every kind of game."""

from itertools import product

import numpy as np
import pytest

import partial_monitoring as pm

GAPS = {"exact": pm.gaps.exact, "relaxed": pm.gaps.relaxed, "mean": pm.gaps.mean}
INFORMATION = {
    "log_det": pm.information.log_det,
    "directed": pm.information.directed,
    "directed_relaxed": pm.information.directed_relaxed,
}
SAMPLING = {
    "exact": pm.sampling.exact,
    "approximate": pm.sampling.approximate,
    "kappa 3": pm.sampling.generalized(3.0),
    "deterministic": pm.sampling.deterministic,
    "e2d": pm.sampling.e2d(0.5),
    "anytime e2d": pm.sampling.e2d("anytime"),
}
GAMES = {
    "plane": (pm.games.loopless_clique(3), [0.3, 0.2, 0.1]),
    "ball": (pm.games.linear_bandit(), [0.3, 0.2, 0.1]),
    "off-centre ball": (
        pm.Game(np.eye(2), [[[1, 0]], [[0, 1]]], pm.Ball([2, 1], 1.5)),
        [2.0, 1.0],
    ),
    "box": (pm.games.bernoulli_bandit_linear(3), [0.6, 0.5, 0.4]),
    "simplex": (pm.games.dynamic_pricing(), [0.2, 0.5, 0.3]),
    "flat polytope": (
        pm.Game(
            np.eye(3),
            [[[1, 0, 0]], [], []],
            pm.Polytope(-np.eye(3), np.zeros(3), [[1, 1, 1], [0, 1, -1]], [1, 0]),
        ),
        [0.2, 0.4, 0.4],
    ),
    "heteroscedastic": (pm.games.heteroscedastic_linear_bandit(), [0.3, 0.2, 0.1]),
    "many rows": (pm.games.full_information(3), [0.3, 0.2, 0.1]),
    "duels": (pm.games.dueling(feedback="sign"), [0.3, 0.2, 0.1]),
    "nothing to see": (pm.games.matching_pennies("none"), [0.4, 0.6]),
    "trivial": (pm.games.finite_versus_linear(), [0.5, 0.5]),
    "one action": (pm.Game([[1.0]], [[[1.0]]], pm.AllParameters(1)), [0.5]),
    "known parameter": (pm.Game(np.eye(2), np.ones((2, 1, 2)), pm.Box([1, 2], [1, 2])), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", GAMES)
def test_every_combination_plays(name: str) -> None:
    game, theta = GAMES[name]
    for gap, information, sampling in product(
        GAPS.values(), INFORMATION.values(), SAMPLING.values()
    ):
        policy = pm.IDS(gap=gap, information=information, sampling=sampling)
        result = pm.simulate(game, {"it": policy}, theta, horizon=6, seeds=2)
        assert np.isfinite(result.regret["it"]).all()
        if name in ("trivial", "one action", "known parameter"):
            assert (result.regret["it"] == 0).all()


@pytest.mark.parametrize("name", GAMES)
def test_three_estimates_agree_where_they_should(name: str) -> None:
    """Inside Theta the constrained estimate is the affine one; on R^d the free one as well."""
    from partial_monitoring.estimation.linear.least_squares import affine_estimate, free_estimate

    game, theta = GAMES[name]
    policy = pm.IDS()
    state = policy.init(game, 2)
    rng = np.random.default_rng(0)
    for _ in range(30):
        action = rng.integers(0, game.k, 2)
        seen = game.observation_maps[action] @ np.array(theta)
        noise = np.broadcast_to(game.noise_std, (game.k,))[action]
        state = policy.update(
            state, action, seen + noise[:, None] * rng.standard_normal(seen.shape)
        )
    confidence = policy.confidence_set(state)
    affine, free = affine_estimate(state.estimate), free_estimate(state.estimate)
    inside = game.parameters.contains(affine)
    np.testing.assert_allclose(confidence.center[inside], affine[inside], atol=1e-7)
    if game.dimension == game.d:
        np.testing.assert_allclose(free, affine, atol=1e-8)
    projected = np.array(
        [
            game.parameters.project(point, gram)
            for point, gram in zip(affine, confidence.gram, strict=True)
        ]
    )
    np.testing.assert_allclose(confidence.center, projected, atol=1e-6)
    whitened = game.observation_maps / np.broadcast_to(game.noise_std, (game.k,))[:, None, None]
    if np.ndim(game.noise_std) == 0:
        whitened = game.observation_maps
    np.testing.assert_allclose(
        confidence.observation_covariance(whitened), state.estimate.signals, atol=1e-9
    )
