"""The asymptotic constant: closed forms, a conic solver, and what must hold for every game."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

import partial_monitoring as pm
from partial_monitoring.analysis.asymptotic import Rivals
from partial_monitoring.errors import InvalidInput
from tests.oracles import semi_infinite
from tests.oracles.finite_games import NAMED, random_game


def kl(p: float, q: float) -> float:
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


def arms(*losses: float) -> tuple[pm.FiniteGame, Any]:
    """A Bernoulli bandit, with independent losses that have these means."""
    table = np.indices((2,) * len(losses)).reshape(len(losses), -1)
    chances = [np.where(row == 1, mean, 1 - mean) for row, mean in zip(table, losses, strict=True)]
    return pm.games.finite(losses=table, signals=table.tolist()), np.prod(chances, axis=0)


APPLE = pm.games.finite(losses=[[1, 0], [0, 1]], signals=["aa", "ab"])
LABEL = pm.games.finite(losses=[[1, 1], [1, 0], [0, 1]], signals=["ab", "aa", "aa"])
PRICES = pm.games.finite(
    losses=np.array([[0, 1, 2], [2, 0, 1], [2, 2, 0]]) / 2, signals=["aaa", "baa", "bba"]
)
CLOSED: dict[str, tuple[Any, Any, float]] = {
    "two arms": (*arms(0.4, 0.6), 0.2 / kl(0.6, 0.4)),
    "three arms": (*arms(0.3, 0.5, 0.5), 0.4 / kl(0.5, 0.3)),
    "apples": (APPLE, [0.4, 0.6], 0.2 / kl(0.4, 0.5)),
    "apples that are shown": (APPLE, [0.6, 0.4], 0.0),
    "labels": (LABEL, [0.6, 0.4], 0.6 / kl(0.4, 0.5)),
    "prices": (PRICES, [0.2, 0.3, 0.5], 22.45),
    "path": (NAMED["path"], [0.9, 0.1], (7 / 30) / kl(0.1, 1 / 3)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name: str) -> None:
    game, theta, value = CLOSED[name]
    found = pm.asymptotic_constant(game, theta)
    assert found == pytest.approx(value, rel=1e-5)
    assert found.gap <= 1e-5
    gaps = game.rewards[found.leader] @ theta - game.rewards @ theta
    assert found.rates @ gaps == pytest.approx(found.value, rel=1e-9)


def conic(game: pm.FiniteGame, theta: Any) -> float:
    shape = Rivals(pm.analyze(game), game)
    expected = shape.losses @ theta
    leader = shape.groups[expected.argmin()]
    held = shape.groups == leader
    halves = list(shape.halves[shape.starts[leader] : shape.starts[leader + 1]])
    targets, none = game.observation_maps @ theta, np.zeros(game.k)
    gaps = expected - expected.min()
    return shape.unit * semi_infinite.constant(game, targets, none, gaps, held, halves)[0]


def certified(game: pm.FiniteGame, theta: Any, found: Any) -> None:
    """Rivals are rivals, the weights bound the constant from below, and rates satisfy them."""
    targets = game.observation_maps @ theta
    gaps = game.rewards[found.leader] @ theta - game.rewards @ theta
    away = np.zeros((len(found.rivals), game.k))
    for i, q in enumerate(found.rivals):
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1, abs=1e-8)
        assert (game.rewards @ q).max() >= game.rewards[found.leader] @ q - 1e-7
        chances = game.observation_maps @ q
        np.testing.assert_allclose(chances[found.leader], targets[found.leader], atol=1e-7)
        away[i] = [
            sum(p * log(p / c) for p, c in zip(*rows, strict=True) if p > 0)
            for rows in zip(targets, chances, strict=True)
        ]
    assert (found.weights >= 0).all()
    assert (found.weights @ away <= gaps * (1 + 1e-5) + 1e-7).all()
    assert found.weights.sum() == pytest.approx(found.value, rel=1e-4)
    assert (away @ found.rates >= 1 - 1e-6).all()


@pytest.mark.parametrize("seed", range(25))
def test_random_games(seed: int) -> None:
    game = random_game(seed)
    theta = np.random.default_rng(seed).dirichlet(np.ones(game.d))
    if len(pm.analyze(game).representatives) == 1:
        assert pm.asymptotic_constant(game, theta) == 0
        return
    found = pm.asymptotic_constant(game, theta)
    assert found == pytest.approx(conic(game, theta), rel=1e-4, abs=1e-6)
    certified(game, theta, found)


@pytest.mark.parametrize("name", CLOSED)
def test_the_certificate(name: str) -> None:
    game, theta, _ = CLOSED[name]
    certified(game, np.asarray(theta), pm.asymptotic_constant(game, theta))


def changed(game: pm.FiniteGame, losses: Any = None, signals: Any = None) -> pm.FiniteGame:
    return pm.games.finite(
        losses=-game.rewards if losses is None else losses,
        signals=game.signals if signals is None else signals,
    )


@pytest.mark.parametrize("name", CLOSED)
def test_it_is_homogeneous_and_ignores_what_outcomes_cost_anyway(name: str) -> None:
    game, theta, value = CLOSED[name]
    first = pm.asymptotic_constant(game, theta)
    double = pm.asymptotic_constant(changed(game, -2 * game.rewards), theta)
    assert double == pytest.approx(2 * value, rel=1e-5)
    np.testing.assert_allclose(double.rates, first.rates, rtol=1e-5, atol=1e-6)
    moved = changed(game, -game.rewards + np.arange(game.d))
    assert pm.asymptotic_constant(moved, theta) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["apples", "labels", "prices", "path"])
def test_an_action_that_tells_more_never_costs(name: str) -> None:
    game, theta, value = CLOSED[name]
    worst = (-game.rewards).max(axis=0)
    costs = []
    for extra in (0.0, 0.5, 2.0):
        losses = np.vstack([-game.rewards, worst + extra])
        more = changed(game, losses, [*game.signals, tuple(range(game.d))])
        costs.append(pm.asymptotic_constant(more, theta).value)
    assert (np.array(costs) <= value * (1 + 1e-6)).all()
    assert (np.diff(costs) >= -1e-6).all()  # the more it costs, the higher the constant


@pytest.mark.parametrize("name", CLOSED)
def test_it_is_zero_if_the_leader_tells_everything(name: str) -> None:
    game, theta, value = CLOSED[name]
    leader = int(np.argmax(game.rewards @ theta))
    signals = [tuple(range(game.d)) if a == leader else s for a, s in enumerate(game.signals)]
    found = pm.asymptotic_constant(changed(game, signals=signals), theta)
    assert found == 0
    assert not found.rates.any()
    assert (value > 0) == (name != "apples that are shown")


def test_duplicates_of_the_leader_tell_for_free() -> None:
    silent = pm.games.finite(losses=[[1, 0], [1, 0], [0, 1]], signals=["aa", "aa", "ab"])
    telling = pm.games.finite(losses=[[1, 0], [1, 0], [0, 1]], signals=["aa", "ab", "ab"])
    alone = pm.asymptotic_constant(APPLE, [0.4, 0.6])
    assert pm.asymptotic_constant(silent, [0.4, 0.6]) == pytest.approx(alone.value, rel=1e-6)
    assert pm.asymptotic_constant(telling, [0.4, 0.6]) == 0


def test_corners() -> None:
    for name in ("apples", "labels", "prices", "path"):
        game = CLOSED[name][0]
        for corner in np.eye(game.d):
            found = pm.asymptotic_constant(game, corner)
            assert np.isfinite(found)
            assert (found.rates >= 0).all()


def test_a_hopeless_game_has_no_finite_constant() -> None:
    hopeless = pm.games.finite(losses=[[0, 1], [1, 0]], signals=["aa", "aa"])
    found = pm.asymptotic_constant(hopeless, [0.7, 0.3])
    assert found == np.inf
    assert np.isnan(found.rates).all()


def test_relabelling_changes_nothing() -> None:
    game, theta, value = CLOSED["prices"]
    order = [2, 0, 1]
    signals = [["xyz"["ab".index(row[x])] for x in order] for row in game.signals]
    other = pm.games.finite(
        losses=-game.rewards[order][:, order], signals=[signals[a] for a in order]
    )
    found = pm.asymptotic_constant(other, np.asarray(theta)[order])
    assert found == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("game", "theta", "words"),
    [
        (APPLE, [0.5, 0.5], "one best action"),
        (APPLE, [0.5, 0.6], "a distribution over 2 outcomes"),
        (APPLE, [1.0], "theta must"),
        (pm.games.linear_bandit(), [1.0, 0.0], "needs a finite game"),
    ],
)
def test_refusals(game: Any, theta: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        pm.asymptotic_constant(game, theta)
