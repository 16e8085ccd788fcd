"""Mario sampling: the tree of neighbours, the water in it, and the actions between neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.numerics.compiled.play_mario import best_for, level, plant, spread
from partial_monitoring.numerics.compiled.redistribute import redistribute
from partial_monitoring.policies.finite.geometry import helpers
from tests.oracles.finite_games import NAMED, random_game
from tests.oracles.two_ways import compare

Array = NDArray[Any]

POLICIES = {
    "path": pm.Mario(allow_outside=True),
    "level": pm.Mario("level", samples=20, allow_outside=True),
}
GAMES = {**NAMED, **{f"random {seed}": random_game(seed) for seed in range(30)}}


def tree_at(shape: Any, nu: Array) -> tuple[int, Array, Array]:
    """The root, the parents and the rewards at nu."""
    values = np.empty(len(shape.own))
    root = best_for(shape.rewards, nu, values)
    parent = np.empty(len(values), dtype=np.int64)
    plant(shape.near, shape.tie, values, root, parent, np.empty(len(values), dtype=np.int64))
    return root, parent, values


def along_paths(parent: Array, q: Array) -> Array:
    """What "path" plays: every action spreads its probability over its path."""
    total, mass = np.zeros(len(q)), np.empty(len(q))
    for a, share in enumerate(q):
        spread(parent, a, mass)
        total += share * mass
    return total


def levelled(parent: Array, q: Array) -> Array:
    mass = q.copy()
    level(parent, mass, np.empty(len(q), dtype=np.int64), np.empty(len(q)), np.empty(len(q)))
    return mass


def conditions(parent: Array, root: int, values: Array, q: Array, p: Array) -> None:
    """(a), (b) and (c), and that p is a distribution."""
    assert abs(p.sum() - 1) < 1e-9
    assert p @ values >= q @ values - 1e-9
    others = np.flatnonzero(np.arange(len(q)) != root)
    assert (p[others] <= p[parent[others]] + 1e-9).all()
    assert (p >= q / len(q) - 1e-9).all()


def random_tree(rng: Any, c: int) -> tuple[Array, Array]:
    """Parents with a smaller number, and rewards that fall away from the root."""
    parent = np.array([-1, *(rng.integers(0, a) for a in range(1, c))], dtype=np.int64)
    values = np.zeros(c)
    for a in range(1, c):
        values[a] = values[parent[a]] - rng.choice([0.0, 0.1, 1.0])
    return parent, values


# -- water -----------------------------------------------------------------------------------------


def test_by_hand() -> None:
    """Two likely ends of a path, and a leader in the middle."""
    state = pm.Mario().init(NAMED["path"], 1)
    root, parent, _ = tree_at(state.shape, np.array([0.5, 0.5]))
    assert (root, parent.tolist()) == (1, [1, -1, 1])
    q = np.array([0.5, 0.0, 0.5])
    assert np.allclose(along_paths(parent, q), [0.25, 0.5, 0.25])
    assert np.allclose(levelled(parent, q), 1 / 3)


@pytest.mark.parametrize("seed", range(40))
def test_the_conditions_on_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent, values = random_tree(rng, c := int(rng.integers(1, 9)))
    for q in (rng.dirichlet(np.full(c, 0.3)), np.eye(c)[rng.integers(c)], np.full(c, 1 / c)):
        for operator in (along_paths, levelled):
            conditions(parent, 0, values, q, operator(parent, q))


@pytest.mark.parametrize("seed", range(15))
def test_levels_are_the_nearest_that_do_not_grow(seed: int) -> None:
    """Least squares over what every action has less than its parent."""
    rng = np.random.default_rng(seed)
    parent, _ = random_tree(rng, c := int(rng.integers(2, 8)))
    matrix = np.zeros((c, c))
    matrix[:, 0] = 1.0
    for a in range(1, c):
        matrix[a] = matrix[parent[a]]
        matrix[a, a] -= 1.0
    q = rng.dirichlet(np.full(c, 0.5))
    limits = (np.array([-np.inf] + [0.0] * (c - 1)), np.full(c, np.inf))
    best = matrix @ lsq_linear(matrix, q, limits, tol=1e-14).x
    assert np.allclose(levelled(parent, q), best, atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_the_conditions_in_games(name: str) -> None:
    """Trees of neighbours lead to the best action, also where several are tied."""
    shape = POLICIES["path"].init(GAMES[name], 1).shape
    rng, d, c = np.random.default_rng(1), GAMES[name].d, len(shape.own)
    for nu in (*rng.dirichlet(np.ones(d), 20), *np.eye(d), np.full(d, 1 / d)):
        root, parent, values = tree_at(shape, nu)
        assert values[root] == values.max()
        for a in np.flatnonzero(np.arange(c) != root):
            assert shape.near[a, parent[a]]
            steps, at = 0, a
            while at != root:
                assert values[parent[at]] >= values[at] - shape.tie
                at, steps = parent[at], steps + 1
                assert steps < c
        q = rng.dirichlet(np.full(c, 0.3))
        for operator in (along_paths, levelled):
            conditions(parent, root, values, q, operator(parent, q))


# -- actions between neighbours --------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_redistribution_changes_no_loss(name: str) -> None:
    analysis = pm.analyze(GAMES[name])
    between, own = helpers(analysis), analysis.representatives
    rewards, k = GAMES[name].rewards, GAMES[name].k
    mixed = between.shares[:, None] * rewards[between.ends[:, 0]]
    mixed += (1 - between.shares[:, None]) * rewards[between.ends[:, 1]]
    assert np.allclose(rewards[between.actions], mixed)
    near = {e for pair in analysis.neighbors for e in analysis.cells.faces[pair].neighborhood}
    assert set(between.actions.tolist()) == near - set(own)
    rng, count = np.random.default_rng(2), len(own) + len(between.actions)
    for _ in range(10):
        before, after = np.zeros(k), np.empty(k)
        before[own] = rng.dirichlet(np.full(len(own), 0.5))
        redistribute(between.actions, between.ends, between.shares, count, before, after)
        assert abs(after.sum() - 1) < 1e-12
        assert np.allclose(after @ rewards, before @ rewards)
        assert (after[own] >= before[own] / 2 - 1e-12).all()
        least = before[between.ends].min(axis=1) / (2 * count)
        assert (after[between.actions] >= least - 1e-12).all()


def test_a_midpoint_that_tells_is_played() -> None:
    """Thompson sampling never sees what it must; Mario sampling does."""
    theta = [0.6, 0.4]
    result = pm.simulate(NAMED["midpoint tells"], ["tspm", "mario"], theta, horizon=2000, seeds=40)
    means = {name: result.mean(name)[-1] for name in ("tspm", "mario")}
    assert means["mario"] < 100 < 150 < means["tspm"]


# -- rounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("name", NAMED)
def test_compiled_rounds_are_those_of_the_batches(name: str, policy: Any) -> None:
    compare(NAMED[name], policy, 60)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_checks(policy: Any) -> None:
    pm.testing.check_policy(policy, on=[NAMED["apples"], NAMED["copies"], NAMED["one action"]])


def test_what_is_available_is_refused() -> None:
    policy = pm.Mario()
    with pytest.raises(InvalidInput, match="available cannot be given with Mario"):
        policy.decide(policy.init(NAMED["apples"], 1), np.array([[0.5]]), np.array([True, True]))


def test_a_trivial_game_costs_nothing() -> None:
    trivial = pm.games.finite(losses=[[0, 1, 2], [3, 2, 3]], signals=["abb", "aab"])
    for policy in POLICIES.values():
        result = pm.simulate(trivial, {"own": policy}, horizon=30, seeds=5)
        assert (result.regret["own"] == 0).all()
