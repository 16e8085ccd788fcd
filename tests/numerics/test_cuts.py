"""Gaps over Theta cut by an ellipsoid: one replicate, all at once, and brute force agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import partial_monitoring as pm
from partial_monitoring.numerics.compiled import bodies, cut
from partial_monitoring.numerics.compiled.symmetric import tridiagonalize, turn, turn_back
from partial_monitoring.policies.ids.lazy_gaps import lazy_exact
from partial_monitoring.policies.ids.sampling import Generalized

Array = NDArray[np.float64]


# -- symmetric matrices ----------------------------------------------------------------------------


def drawn(kind: str, size: int, rng: np.random.Generator) -> Array:
    """Draw a symmetric matrix of a kind."""
    turned = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = {
        "random": rng.normal(size=size),
        "diagonal": rng.normal(size=size),
        "repeated": rng.choice([1.0, 3.0], size=size),
        "rank one": np.eye(size)[0] * 5.0,
        "badly scaled": 10.0 ** rng.uniform(-12, 6, size=size),
        "zero": np.zeros(size),
    }[kind]
    if kind == "diagonal":
        return np.diag(values)
    matrix = (turned * values) @ turned.T
    return np.asarray((matrix + matrix.T) / 2)


@given(
    st.sampled_from(["random", "diagonal", "repeated", "rank one", "badly scaled", "zero"]),
    st.integers(1, 12),
    st.integers(0, 10**6),
)
def test_tridiagonal_form(kind: str, size: int, seed: int) -> None:
    """Q T Q' is the matrix, Q is orthogonal, and T has its eigenvalues."""
    matrix = drawn(kind, size, np.random.default_rng(seed))
    reflectors, diagonal, beside = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    tridiagonalize(matrix, reflectors, diagonal, beside, np.zeros(size))
    form = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    basis = np.eye(size)
    for row in basis:  # row i becomes Q' e_i, the i-th row of Q
        turn(reflectors, row)
    scale = 1e-13 * max(1e-300, float(np.abs(matrix).max())) * size
    assert np.abs(basis @ form @ basis.T - matrix).max() <= scale
    assert np.abs(basis @ basis.T - np.eye(size)).max() <= 1e-13 * size
    assert np.linalg.eigvalsh(form) == pytest.approx(np.linalg.eigvalsh(matrix), abs=scale)
    for row in basis:
        turn_back(reflectors, row)
    assert np.abs(basis - np.eye(size)).max() <= 1e-13 * size


# -- gaps ------------------------------------------------------------------------------------------

SETS: dict[str, Any] = {
    "ball": lambda d: pm.Ball(np.full(d, 0.1), 1.0),
    "tiny ball": lambda d: pm.Ball(np.full(d, 3.0), 1e-6),
    "wide ball": lambda d: pm.Ball(np.zeros(d), 50.0),
    "box": lambda d: pm.Box(-np.ones(d), np.ones(d)),
    "simplex": pm.Simplex,
    "polytope": lambda d: pm.Polytope(np.vstack([np.eye(d), -np.ones((1, d))]), np.ones(d + 1)),
}


def played(kind: str, seed: int, k: int = 7, d: int = 4, flat: bool = False, n: int = 3) -> Any:
    """Return E_t of n replicates after some rounds with actions that tie, and IDS."""
    rng = np.random.default_rng(seed)
    features = rng.integers(-1, 2, size=(k, d)) * rng.choice([0.3, 1.0], size=(k, 1))
    if seed % 2:
        features = rng.normal(size=(k, d))
    features[k // 2] = features[0]  # a copy
    maps = features[:, None, :].copy()
    maps[:, :, -1] *= not flat  # else a direction that is never observed
    game = pm.Game(features, maps, SETS[kind](d))
    policy = pm.IDS(confidence=pm.confidence.deviations(float(rng.choice([0.1, 1.0, 3.0]))))
    state = policy.init(game, n)
    for _ in range(int(rng.choice([0, 1, 5, 40]))):
        shown = rng.normal(size=(n, 1)) * rng.choice([0.2, 5.0])  # often far outside
        state = policy.update(state, rng.integers(0, k, n), shown)
    return policy.confidence_set(state)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("seed", range(6))
def test_one_replicate_is_as_all_at_once(kind: str, seed: int, relaxed: bool) -> None:
    found = played(kind, seed, flat=seed == 3)
    design, metric = found.data.design, found.data.metric
    body = design.cut.numbers(design)
    k, dim = design.slopes.shape
    scratch = bodies.make_scratch(body, design.rank, k)
    together = found.relaxed_gaps() if relaxed else found.exact_gaps()
    for i, beta in enumerate(found.beta):
        x = np.zeros(dim)
        x[: design.rank] = found.data.coordinates[i]
        norm = metric.inverse[i], metric.regularization
        assert cut.project(body, *norm, scratch, x)
        assert np.array_equal(x, found.local_center[i])
        gaps = np.empty(k)
        actions = design.slopes, design.offsets, design.groups
        if cut.gaps(body, relaxed, *norm, x, beta, *actions, scratch, gaps):
            assert np.array_equal(gaps, together[i])


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("seed", range(6))
def test_gaps_are_those_of_all_pairs(kind: str, seed: int) -> None:
    found = played(kind, seed, flat=seed == 3)
    features = found.game.features
    ahead = np.stack([found.support(features - phi) for phi in features], axis=1)  # (n, a, b)
    exact, scale = found.exact_gaps(), 1.0 + np.abs(ahead).max()
    assert exact == pytest.approx(ahead.max(axis=2), abs=1e-8 * scale)
    greedy = found.means.argmax(axis=1)
    for i, g in enumerate(greedy):
        delta = max(ahead[i, g].max(), 0.0)
        expected = delta + np.maximum(ahead[i, :, g], 0.0)
        expected[g] = delta
        assert found.relaxed_gaps()[i] == pytest.approx(expected, abs=1e-8 * scale)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("seed", range(4))
def test_projections_are_nearest(kind: str, seed: int) -> None:
    found = played(kind, seed)
    if found.data.design.rank < found.data.design.slopes.shape[1]:
        pytest.skip("the norm of the set itself is needed")
    free = found.uncut.center
    for i in range(len(free)):
        nearest = found.game.parameters.project(free[i], found.gram[i])
        away, own = nearest - free[i], found.center[i] - free[i]
        size = 1.0 + float(np.abs(free[i]).max()) ** 2 * np.abs(found.gram[i]).max()
        assert found.game.parameters.contains(found.center[i])
        assert own @ found.gram[i] @ own <= away @ found.gram[i] @ away + 1e-9 * size


# -- exact gaps only where they matter -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ball", "tiny ball", "wide ball"])
@pytest.mark.parametrize("k", [1, 2, 9, 60])
@pytest.mark.parametrize("kappa", [2.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_lazy_gaps_give_the_same_distribution(kind: str, k: int, kappa: float, seed: int) -> None:
    found = played(kind, seed, k=k, flat=seed == 3)
    information = pm.information.log_det(found.game, found)
    exact, rule = found.exact_gaps(), Generalized(kappa)
    lower = lazy_exact(found, information, rule)
    size = float(exact.max()) + 1e-300
    assert (lower <= exact + 1e-10 * size).all()
    support = rule(lower, information) > 0
    assert lower[support] == pytest.approx(exact[support], abs=1e-10 * size)
    lazy, best = rule.pairs(lower, information), rule.pairs(exact, information)
    assert lazy.ratio == pytest.approx(best.ratio, rel=1e-8)


def test_lazy_gaps_are_exact_for_few_actions_only() -> None:
    """With many actions most gaps are not computed."""
    found = played("ball", 1, k=400, d=5)
    information = pm.information.log_det(found.game, found)
    lower = lazy_exact(found, information, Generalized())
    assert (lower < found.exact_gaps() - 1e-9).any()
