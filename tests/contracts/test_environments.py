"""What every simulated environment promises: means, regret, contexts, and numbers of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partial_monitoring.simulation.environment import Environment
from tests.oracles.every_game import NAMES, actions_of, environment_of, game_of

LISTED = [name for name in NAMES if game_of(name).traits.listed]
CONTEXTS = [name for name in NAMES if game_of(name).traits.contexts]
SEEDS = np.array([4, 7, 1])
MANY, ROUNDS = 25, 40

every_game = pytest.mark.parametrize("name", NAMES)


def contexts_of(game: Any) -> list[Any]:
    """Return each context for all seeds, or that there is none."""
    if not game.traits.contexts:
        return [None]
    return [np.full(len(SEEDS), z) for z in range(len(game.games))]


def offered(game: Any, context: Any) -> Any:
    return range(game.k) if context is None else game.positions(int(context[0])).tolist()


# -- regret ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTED)
def test_the_best_action_loses_nothing_and_the_others_what_they_earn_less(name: str) -> None:
    game = game_of(name)
    truths = environment_of(game, SEEDS).truths
    for context in contexts_of(game):
        own = game if context is None else game.at(int(context[0]))
        rewards = truths.theta @ own.features.T
        gaps = [truths.gap(np.full(len(SEEDS), a), context) for a in offered(game, context)]
        found = np.stack(gaps, axis=1)
        assert (found >= 0).all()
        assert (found.min(axis=1) == 0).all()
        expected = rewards.max(axis=1, keepdims=True) - rewards
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_best_point_of_a_box_loses_nothing() -> None:
    game = game_of("box")
    middle = np.array([0.3, 1.1])

    def hill(x: Any) -> Any:
        return 0.5 - ((x - middle) ** 2).sum(axis=1)

    theta = np.repeat(game.function_values(hill)[None], 3, axis=0)
    environment = Environment(game, theta, SEEDS, function=hill)
    best = np.full(3, int(game.nearest(middle[None])[0]))
    np.testing.assert_allclose(environment.gap(best), 0.0, atol=1e-6)
    for action in actions_of(game, range(20), 0):
        lost = 0.5 - hill(game.points_of(np.array([action])))[0]
        np.testing.assert_allclose(environment.gap(np.full(3, action)), lost, atol=1e-6)


@every_game
def test_random_truths_of_a_box_or_a_list_have_no_negative_gap(name: str) -> None:
    game, environment = game_of(name), environment_of(game_of(name), SEEDS)
    for t in range(5):
        action = actions_of(game, SEEDS, t, environment.context(t))
        assert (environment.gap(action, t) >= 0).all()


# -- observations ----------------------------------------------------------------------------------


@every_game
def test_observations_have_the_means_that_the_truths_state(name: str) -> None:
    """Over many seeds and rounds, within five standard errors; the noise is not larger either."""
    game = game_of(name)
    seeds = np.arange(MANY)
    theta = np.repeat(game.draw_truths(SEEDS[:1]), MANY, axis=0)
    environment = Environment(game, theta, seeds)
    off, sizes = [], []
    for t in range(ROUNDS):
        context = environment.context(t)
        action = actions_of(game, seeds, t, context)
        shown = environment.observe(action, t)
        off.append(shown - environment.truths.means(action, context))
        sizes.append(environment.truths.sizes(action, context))
    rest, size = np.concatenate(off), np.concatenate(sizes)
    assert rest.shape == (MANY * ROUNDS, game.m)
    error = rest.std(axis=0) / np.sqrt(len(rest))
    assert (np.abs(rest.mean(axis=0)) <= 5 * error + 1e-12).all()
    own = game.games[0] if game.traits.contexts else game
    if own.noise != "gaussian":
        assert (np.square(rest) <= 4.0).all()  # signals, signs and coins
        return
    shares = (rest / size[:, None])[np.abs(rest) > 0]
    assert np.square(shares).mean() == pytest.approx(1.0, abs=5 * np.sqrt(2 / len(shares)))


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_come_as_often_as_their_chances_say(name: str) -> None:
    game, seeds = game_of(name), np.arange(MANY)
    environment = environment_of(game, seeds)
    met = np.concatenate([environment.context(t) for t in range(ROUNDS)])
    often = np.bincount(met, minlength=len(game.games)) / len(met)
    chance = game.context_distribution
    assert (np.abs(often - chance) <= 5 * np.sqrt(chance * (1 - chance) / len(met))).all()


# -- numbers of one's own --------------------------------------------------------------------------


@every_game
def test_what_a_replicate_meets_does_not_depend_on_the_others(name: str) -> None:
    """Not on how many they are, on their order, or on which rounds were asked for before."""
    game, whole = game_of(name), environment_of(game_of(name), SEEDS)
    others = environment_of(game, SEEDS[[2, 0]])
    np.testing.assert_array_equal(others.theta, whole.theta[[2, 0]])
    for t in (3, 0, 130):
        context, fewer = whole.context(t), others.context(t)
        if context is not None:
            np.testing.assert_array_equal(fewer, context[[2, 0]])
        action = actions_of(game, SEEDS, t, context)
        np.testing.assert_array_equal(
            others.observe(action[[2, 0]], t), whole.observe(action, t)[[2, 0]]
        )
        np.testing.assert_allclose(
            others.gap(action[[2, 0]], t), whole.gap(action, t)[[2, 0]], atol=1e-12
        )


@every_game
def test_the_same_round_is_the_same_for_every_policy(name: str) -> None:
    game, environment = game_of(name), environment_of(game_of(name), SEEDS)
    first = actions_of(game, SEEDS, 2, environment.context(2))
    shown = environment.observe(first, 2)
    other = actions_of(game, SEEDS + 1, 2, environment.context(2))
    environment.observe(other, 2)
    np.testing.assert_array_equal(environment.observe(first, 2), shown)
    np.testing.assert_array_equal(environment_of(game, SEEDS).observe(first, 2), shown)
