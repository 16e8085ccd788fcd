"""Kernel games of many actions are shown and judged without writing down what is not needed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import partial_monitoring as pm

MANY = 12_000


def known(count: int, deviations: float) -> pm.Learner:
    x = np.random.default_rng(0).random((count, 2))
    policy = pm.IDS(gap=pm.gaps.mean, confidence=pm.confidence.deviations(deviations))
    learner = pm.Learner(pm.games.kernelized_bandit(x), policy, seed=0)
    actions = np.random.default_rng(1).integers(0, count, 60)
    shown = 2 * np.exp(-10 * ((x[actions] - 0.3) ** 2).sum(axis=1))
    learner.tell_past(actions.tolist(), shown[:, None].tolist())
    return learner


def test_many_candidates_are_shown() -> None:
    game = pm.games.kernelized_bandit(np.linspace(0, 1, MANY))
    for text in (str(game), game._repr_html_()):
        assert f"θ{MANY}" in text
    assert "features" not in vars(game)


@pytest.mark.parametrize("items", [450, 3000])
def test_many_duels_are_shown(items: int) -> None:
    game = pm.games.kernelized_dueling(np.linspace(0, 1, items))
    tracemalloc.start()
    text = str(game)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "2 θ1 " in text
    assert f"2 θ{items}" in text
    assert peak < 30e6
    assert {"actions", "features", "reward"}.isdisjoint(vars(game))


def test_many_linear_duels_are_shown() -> None:
    items = np.random.default_rng(0).normal(size=(3000, 2))
    game = pm.games.dueling(items)
    assert str(game).startswith("9000000 duels of 3000 items")


@pytest.mark.parametrize(("deviations", "decided"), [(1.0, True), (100.0, False)])
def test_many_candidates_have_a_status(deviations: float, decided: bool) -> None:
    status = known(MANY, deviations).status()
    assert status.decided == decided
    assert status.best in status.plausible
    assert len(status.plausible) < MANY or not decided


@pytest.mark.parametrize("seed", range(4))
def test_which_functions_may_be_best(seed: int) -> None:
    """Of a bandit with few arms, by a conic program each."""
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    game = pm.games.kernelized_bandit(rng.random((12, 2)), noise_std=0.05)
    policy = pm.IDS(confidence=pm.confidence.deviations(1.5), regularization=0.0025)
    learner = pm.Learner(game, policy, seed=seed)
    learner.tell_past([0, 3, 5, 8, 11], (rng.normal(size=(5, 1)) / 2).tolist())
    confidence = learner.confidence_set()
    means, cross = confidence.means[0], confidence.cross(0)
    np.testing.assert_allclose(confidence.cross_of(0, np.arange(3, 9)), cross[3:9], atol=1e-9)
    greedy = int(means.argmax())
    rivals = means - means[greedy] + confidence.widths(0, greedy) >= 0
    found = confidence.plausible(0, rivals)
    root = np.linalg.cholesky(cross + 1e-12 * np.eye(12)) * np.sqrt(confidence.beta[0])
    for a in range(12):
        u, least = cvxpy.Variable(12), cvxpy.Variable()
        ahead = (means[a] - means) + (root[a] - root) @ u
        others = np.arange(12) != a
        problem = cvxpy.Problem(cvxpy.Maximize(least), [ahead[others] >= least, cvxpy.norm(u) <= 1])
        if abs(problem.solve()) > 1e-5:
            assert found[a] == (problem.value > 0)
