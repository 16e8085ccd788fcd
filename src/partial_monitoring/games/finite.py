"""Finite partial monitoring games (examples 7 to 9)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.errors import InvalidInput
from partial_monitoring.model.finite import SIGNAL_NOISE, FiniteGame, finite_rewards
from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import Ball
from partial_monitoring.validation import one_of, whole_number

MOST_ARMS = 12
"""Largest number of arms of a finite Bernoulli bandit, which has 2^arms outcomes."""

EXAMPLE_REWARDS = ((0, 2, 4), (1, 3, 1), (2, 2, 2))
EXAMPLE_SIGNALS = ("aab", "cdd", "eee")


def finite(
    rewards: ArrayLike | None = None,
    signals: Iterable[Iterable[Hashable]] | None = None,
    *,
    losses: ArrayLike | None = None,
    actions: Iterable[object] | None = None,
    outcomes: Iterable[object] | None = None,
    noise_std: float = SIGNAL_NOISE,
) -> FiniteGame:
    """Finite game: a matrix of rewards or losses and one of signals.

    Model: rows are actions, columns outcomes; theta is the distribution of the outcomes. Losses
    are rewards with the sign turned. Without any argument it is a small example.

    Example
    -------
    >>> finite(losses=[[1, 0], [0, 1]], signals=["ab", "cc"]).rewards.tolist()
    [[-1.0, 0.0], [0.0, -1.0]]

    Reference: example 7; Bartok et al. (2014).
    """
    if rewards is None and losses is None and signals is None:
        rewards, signals = EXAMPLE_REWARDS, EXAMPLE_SIGNALS
    if signals is None:
        raise InvalidInput("a finite game needs signals, one row of symbols per action; got none.")
    return FiniteGame(
        finite_rewards(rewards, losses),
        signals,
        actions=actions,
        outcomes=outcomes,
        noise_std=noise_std,
    )


def finite_versus_linear(reading: str = "simplex") -> Game:
    """Finite versus linear: the same rewards, trivial, easy or hopeless by what Theta is.

    Model: phi = (1, 1) and (0, 0). Reading "simplex": a finite game with one symbol, where action 0
    always wins (trivial). "ball": Theta is the unit ball and the maps stay (1, 1), which shows
    theta_1 + theta_2 (easy). "silent ball": the unit ball without any observation (hopeless).

    Example
    -------
    >>> [finite_versus_linear(r).rank for r in ("simplex", "ball", "silent ball")]
    [0, 1, 0]

    Reference: example 8 with E28 of the paper notes.
    """
    one_of("reading", reading, ("simplex", "ball", "silent ball"))
    features = [[1.0, 1.0], [0.0, 0.0]]
    if reading == "simplex":
        return FiniteGame(features, [["-", "-"], ["-", "-"]])
    maps = np.ones((2, 1, 2)) if reading == "ball" else np.zeros((2, 0, 2))
    return Game(features, maps, Ball([0.0, 0.0], 1.0))


def bernoulli_bandit(arms: int = 3) -> FiniteGame:
    """Bernoulli bandit: all 2^arms success patterns, as a finite game.

    Model: R(a, x) = signal(a, x) = x_a. The dimension is 2^k but only r = k directions can be
    seen; :func:`bernoulli_bandit_linear` is the same problem in k dimensions.

    Example
    -------
    >>> game = bernoulli_bandit(3)
    >>> game.d, game.rank
    (8, 3)

    Reference: example 9 with E37 of the paper notes.
    """
    k = whole_number("arms", arms, at_least=1)
    if k > MOST_ARMS:
        raise InvalidInput(
            f"arms must be at most {MOST_ARMS}, since the finite game has 2^arms outcomes; got "
            f"{k} (bernoulli_bandit_linear has no such limit)."
        )
    patterns = list(product((0, 1), repeat=k))
    rows = list(zip(*patterns, strict=True))
    names = ["".join(map(str, pattern)) for pattern in patterns]
    return FiniteGame(rows, rows, actions=[f"arm {a}" for a in range(k)], outcomes=names)


def matching_pennies(information: str = "bandit") -> FiniteGame:
    """Matching pennies: guess the side of a coin, a wrong guess costs 1.

    Model: information "full" shows the coin, "bandit" shows the reward (which gives the coin away),
    "none" shows nothing.

    Example
    -------
    >>> [matching_pennies(i).rank for i in ("full", "bandit", "none")]
    [1, 1, 0]

    Reference: Lattimore and Szepesvari (2020), section 37.1.
    """
    one_of("information", information, ("full", "bandit", "none"))
    sides = ["heads", "tails"]
    rewards = [[0, -1], [-1, 0]]
    signals: dict[str, list[list[Hashable]]] = {
        "full": [["heads", "tails"], ["heads", "tails"]],
        "bandit": [[0, -1], [-1, 0]],
        "none": [["-", "-"], ["-", "-"]],
    }
    return FiniteGame(rewards, signals[information], actions=sides, outcomes=sides)
