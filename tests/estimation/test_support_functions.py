"""The support function of Theta cut by an ellipsoid, against a conic solver with proofs."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.estimation.confidence_set import ConfidenceSet
from partial_monitoring.parameter_sets import ParameterSet
from partial_monitoring.parameter_sets.compiled_cut import BallCut
from partial_monitoring.parameter_sets.cut import Metric
from tests.oracles.bodies import (
    ADVERSARIAL,
    KINDS,
    ONCE_UNCERTIFIED,
    SIZES,
    Body,
    draw_body,
    draw_gram,
    draw_instance,
    point_of,
    simplex,
)
from tests.oracles.conic_support import confidence, reference

Array = NDArray[np.float64]


# -- the library's answer and the reference ---------------------------------------------------


def check(
    body: Body,
    gram: Array,
    center: Array,
    beta: float,
    directions: Array,
    prior_mean: Array | None = None,
) -> float:
    """Compare one set in several directions; return the largest relative width of the proofs."""
    found = confidence(body, gram, center, beta, prior_mean)
    assert found.beta[0] == pytest.approx(beta, rel=1e-3)
    assert found.center[0] == pytest.approx(center, abs=1e-5)
    beta, center = float(found.beta[0]), found.center[0]  # the same set, to the last digit
    values, points = found.support(directions)[0], found.maximizer(directions)[0]
    widest = 0.0
    for c, value, point in zip(directions, values, points, strict=True):
        low, high, half = reference(body, gram, center, beta, c)
        rounding = 1e-11 * (1.0 + float(np.abs(c) @ np.abs(center)))
        tolerance = 1e-7 * half + rounding
        widest = max(widest, (high - low) / max(half, rounding))
        assert value <= high + tolerance
        assert value >= low - 1e-8 * half - rounding, "below the truth"
        if high - low <= tolerance:
            assert value == pytest.approx((low + high) / 2, abs=2 * tolerance)
        # The maximiser is in both sets and attains the value.
        assert c @ point == pytest.approx(value, abs=2 * tolerance)
        # (The ball's one-dimensional dual finds its point to half the digits of the value.)
        loose = 1e-5 if body.middle is not None else 1e-7
        away = point - center
        assert away @ gram @ away <= beta * (1 + loose) + 1e-12
        size = 1.0 + float(np.abs(point).max())
        local = body.basis.T @ (point - body.inside)
        assert point == pytest.approx(body.inside + body.basis @ local, abs=1e-8 * size)
        lengths = np.maximum(np.linalg.norm(body.a, axis=1), 1e-300)
        assert ((body.a @ local - body.b) / lengths).max(initial=0.0) <= 1e-7 * size
        if body.middle is not None:
            assert np.linalg.norm(point - body.middle) <= body.radius * (1 + loose)
    return widest


# -- instances -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_random_instances(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    widths = []
    for _ in range(30):
        d = int(rng.integers(1, 8)) if kind != "simplex" else int(rng.integers(2, 8))
        body = draw_body(rng, kind, d)
        center, gram = point_of(rng, body), draw_gram(rng, d)
        beta = float(rng.choice([0.01, 1.0, 30.0])) * (0.1 + rng.random())
        widths.append(check(body, gram, center, beta, rng.normal(size=(4, d))))
    assert np.quantile(widths, 0.9) <= 1e-7, "the reference proves too little"


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_agrees_with_cvxpy(kind: str) -> None:
    rng = np.random.default_rng(3)
    body = draw_body(rng, kind, 4)
    center, gram, c = point_of(rng, body), draw_gram(rng, 4), rng.normal(size=4)
    low, high, half = reference(body, gram, center, 1.5, c)
    x = cp.Variable(body.basis.shape[1])
    theta = body.inside + body.basis @ x
    constraints = [cp.norm(np.linalg.cholesky(gram).T @ (theta - center)) <= np.sqrt(1.5)]
    if len(body.a):
        constraints.append(body.a @ x <= body.b)
    if body.middle is not None:
        constraints.append(cp.norm(theta - body.middle) <= body.radius)
    problem = cp.Problem(cp.Maximize(c @ theta), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert low - 1e-7 * half <= problem.value <= high + 1e-7 * half
    found = confidence(body, gram, center, 1.5).support(c[None])[0, 0]
    assert found == pytest.approx(problem.value, abs=1e-6 * half)


# -- special cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_radius_only_the_center_is_left(kind: str) -> None:
    rng = np.random.default_rng(5)
    body = draw_body(rng, kind, 3)
    game = pm.Game(np.eye(3), np.eye(3)[:, None], body.parameters)
    policy = pm.IDS(norm_bound=0.0)  # beta_1 = 0, since log 1 = 0
    found = policy.confidence_set(policy.init(game, 2))
    directions = rng.normal(size=(4, 3))
    assert (found.beta == 0).all()
    assert found.support(directions) == pytest.approx(found.center @ directions.T, abs=1e-12)
    assert found.maximizer(directions) == pytest.approx(
        np.broadcast_to(found.center[:, None], (2, 4, 3)), abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_all_directions_have_no_height_in_nothing(kind: str) -> None:
    """The zero direction, and directions in which a flat set does not extend."""
    rng = np.random.default_rng(6)
    body = draw_body(rng, kind, 4)
    found = confidence(body, draw_gram(rng, 4), point_of(rng, body), 2.0)
    assert found.support(np.zeros((1, 4)))[0, 0] == pytest.approx(0.0, abs=1e-12)
    point = found.maximizer(np.zeros((1, 4)))[0, 0]
    assert body.parameters.contains(point)
    across = np.eye(4) - body.basis @ body.basis.T
    assert found.support(across)[0] == pytest.approx(across @ found.center[0], abs=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [
        pm.Ball([0.2, 0.5], 0.0),
        pm.Box([0.2, 0.5], [0.2, 0.5]),
        pm.Polytope(None, None, np.eye(2), [0.2, 0.5]),
    ],
    ids=["ball", "box", "polytope"],
)
def test_a_single_point(parameters: ParameterSet) -> None:
    game = pm.Game(np.eye(2), np.eye(2)[:, None], parameters)
    policy = pm.IDS()
    state = policy.update(policy.init(game, 1), np.array([0]), np.array([[7.0]]))
    found = policy.confidence_set(state)
    assert found.center[0] == pytest.approx([0.2, 0.5], abs=1e-12)
    assert found.support([[1.0, -1.0]])[0, 0] == pytest.approx(-0.3, abs=1e-12)
    assert pm.information.log_det(game, found)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_several_replicates_are_each_by_itself(kind: str) -> None:
    rng = np.random.default_rng(8)
    body = draw_body(rng, kind, 4)
    game = pm.Game(np.eye(4), rng.normal(size=(4, 2, 4)), body.parameters)
    policy = pm.IDS()
    actions, seen = rng.integers(0, 4, (6, 5)), rng.normal(size=(6, 5, 2))
    directions = rng.normal(size=(3, 4))

    def play(which: slice) -> ConfidenceSet:
        state = policy.init(game, len(actions[0, which]))
        for a, y in zip(actions[:, which], seen[:, which], strict=True):
            state = policy.update(state, a, y)
        return policy.confidence_set(state)

    together = play(slice(None))
    for i in range(5):
        alone = play(slice(i, i + 1))
        for name in ("center", "beta", "round", "plays", "sums"):
            assert np.array_equal(getattr(alone, name)[0], getattr(together, name)[i])
        assert np.array_equal(alone.support(directions)[0], together.support(directions)[i])
        assert np.array_equal(alone.maximizer(directions)[0], together.maximizer(directions)[i])


@pytest.mark.parametrize("directions", [[1.0, 2.0, 3.0], [[1.0, 2.0]], [[np.nan, 0.0, 0.0]], "c"])
def test_bad_directions_are_refused(directions: Any) -> None:
    found = confidence(simplex(3), np.eye(3), np.full(3, 1 / 3), 1.0)
    for method in (found.support, found.maximizer):
        with pytest.raises(InvalidInput, match="directions") as caught:
            method(directions)
        assert str(caught.value).endswith(".")


# -- instances that make ties ----------------------------------------------------------------


def check_adversarial(kind: str, seed: int, *sizes: int) -> float:
    case = draw_instance(kind, seed, *sizes)
    return check(case.body, case.gram, case.center, case.beta, case.directions, case.prior_mean)


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_adversarial_instances(kind: str) -> None:
    widths = [check_adversarial(kind, seed, 2, 3, 4, 5, 8) for seed in range(50)]
    widths += [check_adversarial(kind, seed, 12, 20) for seed in range(10)]
    assert np.quantile(widths, 0.8) <= 1e-7, "the reference proves too little"


@pytest.mark.parametrize(("kind", "seed"), ONCE_UNCERTIFIED)
def test_instances_on_which_the_path_once_broke_off(kind: str, seed: int) -> None:
    """Where the path gives no certificate another method has to: value and maximiser are due."""
    check_adversarial(kind, seed, *SIZES)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_many_adversarial_instances(kind: str) -> None:
    for seed in range(100, 4000):
        check_adversarial(kind, seed, *SIZES)


def test_maximisers_over_a_ball_meet_their_optimality_conditions() -> None:
    """The value is attained, in both sets, and the direction is a sum of the active normals."""
    rng = np.random.default_rng(0)
    for case in range(400):
        d = int(rng.integers(1, 8))
        weights, beta = 10 ** rng.uniform(-3, 3, d), 10 ** rng.uniform(-3, 3)
        center, radius = rng.normal(size=d), 10 ** rng.uniform(-1, 1)
        away = rng.normal(size=d)
        away *= radius * rng.choice([0.0, 0.5, 1.0]) / np.linalg.norm(away)
        x_hat = center + away
        c = [rng.normal(size=d), -away, np.zeros(d)][case % 3]
        gram, inverse = np.diag(weights), np.diag(1.0 / weights)
        metric = Metric(gram[None], inverse[None], 1.0)
        found = BallCut(center, radius).supports(metric, x_hat[None], np.array([beta]), c[None])
        value, point = float(found[0][0, 0]), found[1][0, 0]
        size = max(np.abs(c).max() * (radius + np.abs(center).max()), 1e-300)
        assert abs(value - c @ point) <= 1e-13 * size
        in_ball = ((point - center) ** 2).sum() / radius**2
        in_ellipsoid = (point - x_hat) @ gram @ (point - x_hat) / beta
        assert max(in_ball, in_ellipsoid) <= 1 + 1e-10
        normals = np.stack([gram @ (point - x_hat), point - center])
        lengths = np.linalg.norm(normals, axis=1)
        active = np.array([in_ellipsoid, in_ball]) >= 1 - 1e-9
        if not c.any():
            continue
        unit = normals[active] / lengths[active, None]
        shares, _ = optimize.nnls(unit.T, c)
        rest = c - shares @ unit
        assert np.abs(rest).max() <= 1e-6 * max(np.abs(c).max(), 1e-300)


@pytest.mark.parametrize("size", [1e-90, 1e-8, 1e4, 1e8, 1e90])
def test_units_of_a_product_do_not_matter(size: float) -> None:
    """Theta, observations and noise in other units: all that is known is the same in these."""
    features = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.2, 0.3]])

    def known(unit: float) -> Any:
        theta = pm.Product(pm.Ball([0.0, 0.0], unit), pm.Ball([unit], 2 * unit))
        game = pm.Game(features, features[:, None], theta, noise_std=unit / 10)
        learner = pm.Learner(game, pm.IDS(), seed=3)
        for shown in (0.3, -0.2, 0.5):
            learner.tell(learner.ask(), [unit * shown])
        rows = sorted(learner.status().table, key=lambda row: row.action)
        found = [np.array([row.earns, row.low, row.high]) / unit for row in rows]
        return found, learner.ask().distribution

    for one, other in zip(known(1.0), known(size), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)
