"""Check a game."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from partial_monitoring.analysis.classify import analyze
from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.any_game import AnyGame
from partial_monitoring.model.contextual import ContextualGame
from partial_monitoring.model.files import game_from_dict, game_to_dict
from partial_monitoring.model.game import Game
from partial_monitoring.model.instance import Instance
from partial_monitoring.model.oracle import OracleGame
from partial_monitoring.testing.parameter_sets import check_parameter_set
from partial_monitoring.testing.requirements import require

MOST_ANALYZED = 30
"""Largest number of actions of a game that is also analysed."""


def check_game(game: AnyGame, *, seed: int = 0) -> None:
    """Check that a game is consistent: shapes, parameter set, files, observations, analysis."""
    require(isinstance(game, AnyGame), "it is not a Game")
    _check(game, seed)


@singledispatch
def _check(game: AnyGame, seed: int) -> None:
    """Check a game that does not list its actions: its files and observations."""
    again = game_to_dict(game_from_dict(game_to_dict(game)))
    require(again == game_to_dict(game), "a game file does not give the same game again")
    theta = game.draw_truths(np.arange(2))
    _check_observed(game, theta, (0, game.k // 2, game.k - 1))


def _check_observed(game: AnyGame, theta: Any, actions: Iterable[int]) -> None:
    """Check what actions show and lose under true parameters (2, d)."""
    feedback, truths = game.feedback(), game.truths(theta)
    numbers = feedback.source(game, np.arange(2)).at(0)
    for action in actions:
        played = np.full(2, action)
        shape = feedback.draw(truths, played, None, numbers).shape
        require(shape == (2, game.m), "an observation has the wrong length")
        require(bool((truths.gap(played) >= 0).all()), "an action has a negative gap")


@_check.register
def _(game: OracleGame, seed: int) -> None:
    """Check that the oracle is right about the actions that it offers; it may not be saved."""
    check_parameter_set(game.parameters, seed=seed)
    for theta in game.draw_truths(np.arange(5)):
        best = game.best_action(theta)
        rounding = 1e-9 * float(np.abs(theta).sum())
        ahead = bool((game.offered @ theta <= best @ theta + rounding).all())
        require(ahead, "its oracle knows a better action for other parameters")
        label = game.action_label(game.number(best))
        require(game.action_index(label) == game.number(best), "a label is another action's")
    offered = [game.number(phi) for phi in game.offered[:20]]
    _check_observed(game, game.draw_truths(np.arange(2)), offered)


@_check.register
def _(game: Game, seed: int) -> None:
    k, m, d = game.k, game.m, game.d
    require(game.features.shape == (k, d), "features do not have shape (k, d)")
    require(game.observation_maps.shape == (k, m, d), "maps do not have shape (k, m, d)")
    require(len(game.actions) == len(set(game.actions)) == k, "actions are not k different labels")
    require(game.parameters.d == d, "the parameter set has another dimension")
    check_parameter_set(game.parameters, seed=seed)
    _check_file(game)
    rng = np.random.default_rng(seed)
    for theta in game.draw_truths(np.arange(5)):
        try:
            instance = Instance(game, theta)
        except InvalidInput:
            continue  # some parameters of a set may not suit the noise of the game
        require(instance.gaps.min() == 0, "no action has gap zero")
        for action in range(min(k, 20)):
            _check_observation(game, action, instance.observe(action, rng))
    if k <= MOST_ANALYZED:
        require(analyze(game).verify(), "its analysis does not hold")


@_check.register
def _(game: ContextualGame, seed: int) -> None:
    """Check every context, and all of them together: one file, one analysis."""
    for own in game.games:
        _check(own, seed)
    again = _check_file(game)
    same = again.contexts == game.contexts and np.array_equal(
        again.context_distribution, game.context_distribution
    )
    require(same, "a game file does not give the same contexts again")
    if sum(own.k for own in game.games) <= MOST_ANALYZED:
        require(analyze(game).verify(), "the analysis of all contexts does not hold")


def _check_file(game: Any) -> Any:
    """Check that a game with listed actions can be written and read, and return what was read."""
    again: Any = game_from_dict(game_to_dict(game))
    same = (
        np.array_equal(again.features, game.features)
        and np.array_equal(again.observation_maps, game.observation_maps)
        and again.actions == game.actions
    )
    require(same, "a game file does not give the same game again")
    return again


def _check_observation(game: Game, action: int, seen: Any) -> None:
    """Check that an observation is one that a user can give."""
    try:
        game.feedback().encode(game, action, seen, game.m)
    except InvalidInput as refusal:
        require(False, f"an observation is refused: {refusal}")
