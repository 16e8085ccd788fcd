"""Where Theta lies and how large it is changes nothing: the same game in other units."""

import numpy as np
import pytest

import partial_monitoring as pm

MAPS = [[[1, 0]], [[0, 1]]]
ROOT = float(np.sqrt(2))
HALVES = [[1, 0], [0, 1], [0.5, 0.5]]
THREE = [[[1, 0]], [[0, 1]], [[1, 1]]]


@pytest.mark.parametrize("size", [1e-7, 1e-4, 1.0, 1e4, 1e6])
def test_balls_of_all_sizes(size: float) -> None:
    analysis = pm.analyze(pm.Game(np.eye(2), MAPS, pm.Ball([2 * size, size], 1.5 * size)))
    assert analysis.category == "easy"
    assert analysis.sound
    assert analysis.margin == pytest.approx(0.4485, abs=1e-4)


GAMES = {
    "a small ball far away": (
        pm.Game([[1, 0], [0, 1], [-1, -1]], THREE, pm.Ball([1000, 1000], 1e-3)),
        "easy",
        [0, 1],
    ),
    "a half line that begins near a tie": (
        pm.Game([[ROOT], [-ROOT]], [[], []], pm.Polytope([[-1]], [1e-6])),
        "hopeless",
        [0, 1],
    ),
    "a ball very far away": (pm.Game(HALVES, THREE, pm.Ball([1e6, 1e6], 1)), "easy", [0, 1]),
    "a box very far away": (
        pm.Game(HALVES, THREE, pm.Box([1e6, 1e6], [1e6 + ROOT, 1e6 + 1])),
        "easy",
        [0, 1],
    ),
    "one action is terrible": (
        pm.Game([[1, 0], [0, 1], [-1e6, -1e6]], [[[1, 0]], [[0, 1]], []], pm.Ball([1, 1], 0.5)),
        "easy",
        [0, 1],
    ),
    "a box of micrometres": (
        pm.Game(
            np.array([[1, 0], [1, 1], [-1, 0]]) * ROOT,
            [[], [], []],
            pm.Box([1e-6, 1e-6], [4e-6, 1e-6]),
        ),
        "trivial",
        [1],
    ),
    "hardly better": (
        pm.Game([[1, 0], [0, 1], [0.5 + 1e-7] * 2], [*MAPS, []], pm.Ball([1, 1], 0.5)),
        "hard",
        [0, 1, 2],
    ),
    "a square of nanometres": (
        pm.Game(np.eye(2), MAPS, pm.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [5e-9] * 4)),
        "easy",
        [0, 1],
    ),
}


@pytest.mark.parametrize("name", GAMES)
def test_games_of_odd_sizes(name: str) -> None:
    game, category, pareto = GAMES[name]
    analysis = pm.analyze(game)
    assert analysis.category == category
    assert analysis.pareto == pareto
    assert analysis.sound, analysis.problems()


@pytest.mark.parametrize("count", [3, 12, 20])
def test_prices_in_cents_are_as_good_as_whole_ones(count: int) -> None:
    """Differences of decimals carry rounding errors, which must not take the certificate away."""
    cents = pm.analyze(pm.games.dynamic_pricing(np.arange(1, count + 1) / 10, cost=0.001))
    whole = pm.analyze(pm.games.dynamic_pricing(np.arange(1, count + 1) * 100, cost=1))
    assert cents.certified
    assert cents.neighbors == whole.neighbors
    assert cents.category == whole.category


def test_support_functions_of_polytopes_scale() -> None:
    square = pm.Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 0, 1, 0])
    for size in (1e-12, 1e-6, 1.0, 1e6, 1e12):
        assert float(square.support([size, 2 * size])) == pytest.approx(3 * size)


def test_maps_of_very_different_size() -> None:
    game = pm.Game(np.eye(2), [[[1, 0]], [[0, 1e-9]]], pm.Box([-1, -1], [1, 1]))
    analysis = pm.analyze(game)
    assert analysis.category == "easy"
    assert analysis.alignment == pytest.approx((1 + 1e9) ** 2, rel=1e-6)
    np.testing.assert_allclose(analysis.estimation_weights(0, 1), [[1], [-1e9]], rtol=1e-6)


def test_a_confidence_set_is_a_region() -> None:
    game = pm.games.linear_bandit()
    policy = pm.IDS()
    confidence = policy.confidence_set(policy.init(game, 1))
    local = pm.local_alignment(game, confidence)
    assert 0 < local <= 4 + 1e-6
    assert local.gap <= 1e-6
    with pytest.raises(pm.errors.InvalidInput, match="must be the set of one replicate; got 2"):
        pm.local_alignment(game, policy.confidence_set(policy.init(game, 2)))
    with pytest.raises(pm.errors.InvalidInput, match="confidence must meet the game's parameter"):
        pm.local_alignment(game, pm.Ball([10, 10, 10], 0.1))
    free = pm.games.linear_bandit(np.eye(2), pm.AllParameters(2))
    with pytest.raises(pm.errors.InvalidInput, match="confidence must be a bounded set"):
        pm.local_alignment(free, pm.AllParameters(2))


def test_explanations_say_only_where_it_is_true() -> None:
    two_ways = pm.FiniteGame(
        [[0, -1], [-1, 0], [-2, -2], [-3, -3]],
        ["aa", "aa", "ab", "ab"],
        actions=["keep", "drop", "ask cheap", "ask dear"],
    )
    text = pm.analyze(two_ways).explain()
    assert "only" not in text
    assert "for instance 'ask cheap'" in text or "for instance 'ask dear'" in text


SETS = {
    "ball": lambda unit: pm.Ball([0, 0, unit / 2], unit),
    "box": lambda unit: pm.Box([-unit, -unit, -unit], [unit, unit, 2 * unit]),
    "polytope": lambda unit: pm.Polytope(
        [*np.eye(3), *-np.eye(3), np.ones(3)], np.array([1, 1, 1, 1, 1, 1, 2]) * unit
    ),
    "product": lambda unit: pm.Product(pm.Ball([0, 0], unit), pm.Ball([unit], unit)),
}


@pytest.mark.parametrize("exponent", [-200, -60, 14, 200])
@pytest.mark.parametrize("kind", SETS)
def test_policies_lose_the_same_in_all_units(kind: str, exponent: int) -> None:
    """Parameters, observations and noise in another unit, and so what is earned."""
    features = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.25, 0.25]])
    policies = ["calibrated", "ids", "gcb", "etc", "lints"]

    def lost(unit: float) -> dict[str, np.ndarray]:
        game = pm.Game(features, features[:, None], SETS[kind](unit), noise_std=unit / 8)
        truth = unit * np.array([0.5, 0.2, 0.7])
        found = pm.simulate(game, policies, truth, horizon=30, seeds=3)
        return {name: own / unit for name, own in found.regret.items()}

    plain, other = lost(1.0), lost(2.0**exponent)
    for name in policies:
        np.testing.assert_allclose(other[name], plain[name], rtol=1e-6, atol=1e-9, err_msg=name)
    assert plain["ids"][:, -1].min() > 0
