"""The two truths behind the lower bound of each class."""

from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.errors import InvalidInput
from partial_monitoring.simulation.truths.lower_bound import POWERS

HOPELESS = pm.FiniteGame([[1, 0], [0, 1]], ["aa", "aa"])
DEGENERATE = pm.FiniteGame([[1, 0], [0, 1], [0.5, 0.5]], ["aa", "aa", "ab"])
GAMES: dict[str, Any] = {
    "apples": pm.games.apple_tasting(),
    "labels": pm.games.label_efficient(),
    "prices": pm.games.dynamic_pricing(),
    "many prices": pm.games.dynamic_pricing(prices=[1, 2, 3, 4, 5]),
    "hopeless": HOPELESS,
    "degenerate": DEGENERATE,
}


def random_game(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    k, d = rng.integers(2, 6, 2)
    rewards = rng.integers(-3, 4, (k, d))
    return pm.FiniteGame(rewards, rng.integers(0, 2, (k, d)).tolist())


def truths(game: Any, horizon: int, **options: Any) -> Any:
    return pm.truths.lower_bound(game, horizon, **options).parameters  # type: ignore[attr-defined]


def check(game: Any, horizon: int) -> None:
    """Both are in the simplex, neighbours are best, and nothing good tells them apart."""
    analysis: Any = pm.analyze(game)
    plus, minus = truths(game, horizon)
    center, apart = (plus + minus) / 2, plus - minus
    for theta in (plus, minus):
        assert (theta > 0).all()
        assert abs(theta.sum() - 1) < 1e-12
    one, two = (
        set(np.flatnonzero(np.isclose(own, own.max(), atol=1e-12)))
        for own in (game.rewards @ plus, game.rewards @ minus)
    )
    assert not one & two
    pairs = [(a, b) for a, b in analysis.neighbors if {a, b} <= one | two]
    a, b = next((a, b) for a, b in pairs if (a in one) != (b in one))
    assert (game.rewards[a] - game.rewards[b]) @ center == pytest.approx(0, abs=1e-12)
    hidden = {"easy": (), "hard": analysis.cells.faces[a, b].neighborhood}
    for c in hidden.get(analysis.category, range(game.k)):
        np.testing.assert_allclose(game.rows(c) @ apart, 0, atol=1e-12)
    length = np.sqrt((apart**2 / center).sum()) / 2
    assert length <= horizon ** -POWERS[analysis.category] * (1 + 1e-9)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("horizon", [1, 100, 10**6])
def test_truths_are_hard_to_tell_apart(name: str, horizon: int) -> None:
    check(GAMES[name], horizon)


def test_truths_of_random_games() -> None:
    met = set()
    for seed in range(40):
        game = random_game(seed)
        category = pm.analyze(game).category
        if category == "trivial":
            with pytest.raises(InvalidInput, match="a trivial game has no lower bound"):
                truths(game, 100)
        else:
            check(game, 1000)
        met.add(category)
    assert met == {"trivial", "easy", "hard", "hopeless"}


def test_known_constructions() -> None:
    np.testing.assert_allclose(truths(GAMES["apples"], 100), [[0.45, 0.55], [0.55, 0.45]])
    np.testing.assert_allclose(truths(GAMES["apples"], 100, size=0.5)[0], [0.475, 0.525])
    np.testing.assert_allclose(abs(truths(GAMES["labels"], 1000) - 0.5), 0.05)
    assert pm.analyze(HOPELESS).category == "hopeless"
    assert (truths(HOPELESS, 10) == truths(HOPELESS, 10**6)).all()


def test_the_sign_belongs_to_the_seed() -> None:
    result = pm.simulate("apple_tasting", "cbp", "lower_bound", horizon=100, seeds=400)
    better = result.theta[:, 0] > 0.5
    assert 150 < better.sum() < 250
    assert result.against == ""
    fixed = pm.truths.lower_bound(horizon=10**4)
    theta = pm.simulate("apple_tasting", "cbp", fixed, horizon=100, seeds=9).theta
    np.testing.assert_allclose(abs(theta - 0.5), 0.005)


def test_pairs_can_be_chosen() -> None:
    game = pm.games.dynamic_pricing(prices=[1, 2, 3, 4])
    analysis: Any = pm.analyze(game)
    for pair in analysis.neighbors:
        labels = tuple(game.actions[a] for a in pair)
        if analysis.local_readings[pair].seen:
            with pytest.raises(InvalidInput, match="neighbours that make the game hard"):
                truths(game, 100, pair=labels)
        else:
            best = (game.rewards @ truths(game, 100, pair=labels).T).argmax(axis=0)
            assert {*best.tolist()} == {*pair}


@pytest.mark.parametrize(("name", "power"), [("apples", 1 / 2), ("labels", 2 / 3)])
def test_regret_on_the_construction_grows_at_the_rate_of_the_class(name: str, power: float) -> None:
    rounds = np.array([1000, 8000])
    means = [
        pm.simulate(GAMES[name], "cbp", "lower_bound", horizon=int(n), seeds=60).mean("cbp")[-1]
        for n in rounds
    ]
    assert np.log(means[1] / means[0]) / np.log(8) == pytest.approx(power, abs=0.15)
