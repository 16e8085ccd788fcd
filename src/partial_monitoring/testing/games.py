"""Check a game."""

from __future__ import annotations

import numpy as np

from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.contextual import AnyGame, ContextualGame
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.finite import FiniteGame
from partial_monitoring.model.game import Game
from partial_monitoring.model.instance import Instance
from partial_monitoring.simulation.truth import random_truths
from partial_monitoring.testing.parameter_sets import check_parameter_set
from partial_monitoring.testing.requirements import require

MOST_ANALYZED = 30
"""Games with up to so many actions are also analysed."""


def check_game(game: AnyGame, *, seed: int = 0) -> None:
    """Check that a game is whole: shapes, parameter set, files, observations, analysis."""
    if isinstance(game, ContextualGame):
        for context in game.contexts:
            check_game(game.at(context), seed=seed)
        _check_whole(game)
        return
    require(isinstance(game, Game), "it is not a Game")
    k, m, d = game.k, game.m, game.d
    require(game.features.shape == (k, d), "features do not have shape (k, d)")
    require(game.observation_maps.shape == (k, m, d), "maps do not have shape (k, m, d)")
    require(len(game.actions) == len(set(game.actions)) == k, "actions are not k different labels")
    require(game.parameters.d == d, "the parameter set has another dimension")
    check_parameter_set(game.parameters, seed=seed)
    again = game_from_dict(game_to_dict(game))
    assert isinstance(again, Game)
    same = (
        np.array_equal(again.features, game.features)
        and np.array_equal(again.observation_maps, game.observation_maps)
        and again.actions == game.actions
    )
    require(same, "a game file does not give the same game again")
    rng = np.random.default_rng(seed)
    for theta in random_truths(game, np.arange(5)):
        try:
            instance = Instance(game, theta)
        except InvalidInput:
            continue  # some parameters of a set may not suit the noise of the game
        require(instance.gaps.min() == 0, "no action has gap zero")
        for action in range(min(k, 20)):
            seen = instance.observe(action, rng)
            if isinstance(game, FiniteGame):
                require(seen in game.signals[action], "an observation is not one of the signals")
            else:
                rows = game.row_count(action)
                require(np.shape(seen) == (rows,), "an observation has the wrong length")
    if k <= MOST_ANALYZED:
        require(analyze(game).verify(), "its analysis does not hold")


def _check_whole(game: ContextualGame) -> None:
    """Check what the contexts are together: one file, one analysis."""
    again = game_from_dict(game_to_dict(game))
    assert isinstance(again, ContextualGame)
    same = (
        again.contexts == game.contexts
        and again.actions == game.actions
        and np.array_equal(again.context_distribution, game.context_distribution)
        and np.array_equal(again.features, game.features)
        and np.array_equal(again.observation_maps, game.observation_maps)
    )
    require(same, "a game file does not give the same contexts again")
    if sum(own.k for own in game.games) <= MOST_ANALYZED:
        require(analyze(game).verify(), "the analysis of all contexts does not hold")
