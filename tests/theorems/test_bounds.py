"""Regret bounds and their constants."""

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.guarantees import (
    information_constant,
    regret_bound,
    total_information_bound,
)
from partial_monitoring.errors import InvalidInput


def total_information(game: pm.Game, plays: np.ndarray, regularization: float) -> float:
    """Return gamma_n of a sequence of actions by its definition: half a log-determinant."""
    w = game.reduced.basis
    gram = regularization * np.eye(game.rank)
    for action in plays:
        seen = game.observation_maps[action] @ w
        gram = gram + seen.T @ seen
    return 0.5 * (np.linalg.slogdet(gram)[1] - game.rank * np.log(regularization))


@pytest.mark.parametrize(
    "name", ["dynamic_pricing", "dueling", "full_information", "linear_bandit"]
)
def test_lemma_total_information(name: str) -> None:
    """No sequence of actions gains more than the bound (E14)."""
    game = pm.games.make(name)
    rng = np.random.default_rng(0)
    for regularization in (0.3, 1.0, 4.0):
        for n in (1, 7, 60):
            plays = rng.integers(0, game.k, n)
            gained = total_information(game, plays, regularization)
            bound = float(total_information_bound(game, n, regularization))
            assert gained <= bound + 1e-9


def test_e14_the_printed_bound_fails() -> None:
    """M = 2 I in three dimensions with lambda = 4: 50 rounds gain 5.90, the paper allows 3.35."""
    game = pm.Game([[1, 0, 0]], [2 * np.eye(3)], pm.AllParameters(3))
    gained = total_information(game, np.zeros(50, int), 4.0)
    assert gained == pytest.approx(5.90, abs=0.005)
    printed = 3 / 2 * np.log(1 + 50 * 2 / (4 * 3))
    assert printed == pytest.approx(3.35, abs=0.005)
    assert gained <= float(total_information_bound(game, 50, 4.0)) + 1e-9


def test_e13_the_information_constant() -> None:
    """|M W|^2 <= c I holds with c = 4 up to x0 = 2.51 and needs more beyond."""
    for x0 in (1e-6, 0.5, 1.0, 2.5, 10.0, 1e4):
        c = information_constant(np.sqrt(x0), 1.0)
        x = np.linspace(1e-9, x0, 1000)
        assert (x <= c * 0.5 * np.log1p(x) * (1 + 1e-12)).all()
    assert information_constant(1.0, 1.0) == 4
    assert information_constant(0.0, 1.0) == 4
    assert information_constant(10.0, 10.0) > 4


def test_the_two_theorems_with_their_constants() -> None:
    """The formulas written out for a game with unit features and lambda >= L^2."""
    game = pm.games.bernoulli_bandit_linear(3)
    n, lam = 1000.0, 1.0
    b = pm.bounds(game, n)
    big_b, gap, rho = np.sqrt(3) / 2, 1.0, 0.5
    gamma = 1.5 * np.log(1 + n / 3)
    before = 1.5 * np.log(1 + (n - 1) / 3)
    beta = (rho * np.sqrt(2 * before + 2 * np.log(n**2)) + np.sqrt(lam) * big_b) ** 2
    assert b.total_information[0] == pytest.approx(gamma)
    assert b.beta[0] == pytest.approx(beta)
    missed = gap * np.pi**2 / 6
    far = n ** (2 / 3) * (54 * 4 * beta * gamma * (gap + 4 * big_b)) ** (1 / 3) + missed
    close = np.sqrt(16 * 4 * beta * gamma * n) + missed
    assert b.global_regret[0] == pytest.approx(far)
    assert b.local_regret[0] == pytest.approx(close)
    assert b.regret[0] == pytest.approx(min(far, close))


def test_e23_on_all_of_r_d_the_confidence_radius_replaces_the_norm_bound() -> None:
    game = pm.games.revealing_action(3)
    b = pm.bounds(game, 100.0)
    ceiling = b.max_gap + 4 * np.sqrt(b.beta[0])
    far = (54 * b.alignment * b.beta[0] * b.total_information[0] * ceiling) ** (1 / 3) * 100 ** (
        2 / 3
    )
    assert b.global_regret[0] == pytest.approx(far + b.max_gap * np.pi**2 / 6)
    assert b.norm_bound == 1


def test_e17_directed_information() -> None:
    """gamma_J <= 8 gamma; the product with the ratio is 216 instead of 54, and 16 as before."""
    game = pm.games.dynamic_pricing()
    plain, directed = pm.bounds(game, 1e4), pm.bounds(game, 1e4, information="directed")
    assert directed.total_information[0] == pytest.approx(8 * plain.total_information[0])
    missed = plain.max_gap * np.pi**2 / 6
    ratio = (directed.global_regret[0] - missed) / (plain.global_regret[0] - missed)
    assert ratio == pytest.approx(4 ** (1 / 3))
    easy = pm.games.apple_tasting()
    local = [pm.bounds(easy, 1e4, information=i).local_regret[0] for i in ("log_det", "directed")]
    assert local[0] == pytest.approx(local[1])


def test_rates() -> None:
    horizons = [1e6, 1e12]
    hard = pm.bounds(pm.games.dynamic_pricing(), horizons)
    slope = np.diff(np.log(hard.regret))[0] / np.diff(np.log(horizons))[0]
    assert 2 / 3 < slope < 0.75
    assert np.isinf(hard.local_regret).all()
    easy = pm.bounds(pm.games.apple_tasting(), horizons)
    slope = np.diff(np.log(easy.regret))[0] / np.diff(np.log(horizons))[0]
    assert 1 / 2 < slope < 0.6
    assert (pm.bounds(pm.games.finite_versus_linear(), horizons).regret == 0).all()
    assert np.isinf(pm.bounds(pm.games.matching_pennies("none"), horizons).regret).all()


def test_the_general_theorem() -> None:
    assert float(regret_bound(8.0, 27.0, 1000.0, kappa=3)) == pytest.approx(6 * 100)
    curve = regret_bound([4.0, 4.0], [1.0, 4.0], [1, 100], kappa=2, missed=1.0)
    np.testing.assert_allclose(curve, [3.0, 41.0])


def test_noise_that_depends_on_the_action_is_divided_out() -> None:
    uneven = pm.games.heteroscedastic_linear_bandit(np.eye(2), [0.5, 0.25])
    plain = pm.Game(np.eye(2), [[[2, 0]], [[0, 4]]], pm.Ball([0, 0], 1))
    first, second = pm.bounds(uneven, 100), pm.bounds(plain, 100)
    assert first.noise_std == 1
    np.testing.assert_allclose(first.beta, second.beta)
    np.testing.assert_allclose(first.total_information, second.total_information)
    np.testing.assert_allclose(first.regret, second.regret)


def test_table_1_has_the_corrected_entries() -> None:
    bounds = {row.example: row.bound for row in pm.table_1()}
    apples = pm.games.apple_tasting()
    assert bounds["finite, non-degenerate"] == 4 * apples.k**2 * apples.m**3
    assert bounds["graph dueling, path of 4"] == 4 * 3**2


BAD: list[tuple[Any, str]] = [
    (lambda g: pm.bounds(g, 0), "horizon must be at least 1; got 0."),
    (lambda g: pm.bounds(g, []), "horizon must be at least 1; got []."),
    (lambda g: pm.bounds(g, [[1]]), "horizon must have shape (n,); got (1, 1)."),
    (lambda g: pm.bounds(g, 5, regularization=0), "regularization must be positive; got 0."),
    (lambda g: pm.bounds(g, 5, information="bits"), "information must be one of 'log_det', 'direc"),
    (lambda g: pm.bounds(g, 5, norm_bound=-1), "norm_bound must not be negative; got -1."),
    (lambda g: regret_bound(1, 1, 1, kappa=1), "kappa must be at least 2; got 1."),
    (lambda g: regret_bound(1, 1, 1, kappa=np.nan), "kappa must be finite; got nan."),
    (lambda g: regret_bound(-1, 1, 1), "information_ratio must not be negative; got -1."),
    (
        lambda g: pm.bounds(g, 5, analysis=pm.analyze(pm.games.dueling())),
        "analysis must be one of the same game; got one of another game.",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_gets_one_sentence(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(pm.games.apple_tasting())
    assert str(caught.value).startswith(message)
