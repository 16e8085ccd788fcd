"""Every kind of game and every state that learns in it, and rounds of play for both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import partial_monitoring as pm
from partial_monitoring.estimation.state import Prior, initial_duels, initial_state
from partial_monitoring.simulation.environment import Environment
from tests.golden.runs import GAMES

BUILD: dict[str, Callable[[], Any]] = {
    **{f"games.{name}": build for name, build in pm.games.GAMES.items()},
    **{kind: build for kind, (build, _) in GAMES.items()},
}
"""All games of the library with their defaults, and all kinds of the golden runs."""

NAMES = tuple(BUILD)
KINDS = tuple(GAMES)

Start = Callable[[Any, int], Any]
"""(game, replicates) -> the state before the first round."""

PRIOR = Prior()
STARTS: dict[str, tuple[Callable[[Any], bool], Start]] = {
    "any": (lambda game: True, lambda game, n: initial_state(game, n, PRIOR)),
    "function": (
        lambda game: game.traits.function and game.traits.listed,
        lambda game, n: initial_state(game, n, PRIOR, functions=True),
    ),
    "function with draws": (
        lambda game: game.traits.function and game.traits.listed,
        lambda game, n: initial_state(game, n, PRIOR, functions=True, draws=True),
    ),
    "duels": (
        lambda game: game.traits.duels and not game.traits.contexts,
        lambda game, n: initial_duels(game, n, PRIOR),
    ),
    "duels with draws": (
        lambda game: game.traits.duels and game.traits.function,
        lambda game, n: initial_duels(game, n, PRIOR, draws=True),
    ),
    "counted contexts": (
        lambda game: game.traits.contexts,
        lambda game, n: pm.ContextualIDS().init(game, n),
    ),
}
"""Which games have a state of each kind, and how it starts."""


@cache
def game_of(name: str) -> Any:
    return BUILD[name]()


@cache
def state_cases(kinds_only: bool = False) -> tuple[tuple[str, str], ...]:
    """Return names of games and of their states."""
    return tuple(
        (name, kind)
        for name in (KINDS if kinds_only else NAMES)
        for kind, (suits, _) in STARTS.items()
        if suits(game_of(name))
    )


def start_of(name: str, kind: str) -> Callable[[int], Any]:
    """Return what makes the state of some replicates before the first round."""
    return partial(STARTS[kind][1], game_of(name))


def environment_of(game: Any, seeds: Any) -> Environment:
    numbers = np.asarray(seeds)
    return Environment(game, game.draw_truths(numbers), numbers)


def actions_of(game: Any, seeds: Any, t: int, context: Any = None) -> Any:
    """Return an action for each seed in round t, which depends on nothing else, shape (n,)."""
    chosen = []
    for i, seed in enumerate(seeds):
        number = int(np.random.default_rng([int(seed), t]).integers(2**31))
        own = None if context is None else game.positions(int(context[i]))
        chosen.append(number % game.k if own is None else own[number % len(own)])
    return np.array(chosen, dtype=np.int64)


def learned(state: Any, environment: Environment, rounds: int, first: int = 0) -> Any:
    """Return a state after some rounds with actions that depend on the seeds only."""
    for t in range(first, first + rounds):
        context = environment.context(t)
        action = actions_of(environment.game, environment.seeds, t, context)
        state = state.after(action, environment.observe(action, t), context)
    return state
