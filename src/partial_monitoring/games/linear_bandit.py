"""Linear bandits: the reward is what is observed (example 1)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from partial_monitoring.model.game import Game
from partial_monitoring.parameter_sets import Ball, Box, ParameterSet
from partial_monitoring.validation import Array, real_array, whole_number

CORNERS_AND_MIDDLE = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0.5))

MOST_ARMS = 5000
"""Largest number of arms, products or contexts of a game that is given by their number."""


def linear_bandit(
    features: ArrayLike = CORNERS_AND_MIDDLE,
    parameters: ParameterSet | None = None,
    *,
    noise_std: ArrayLike = 1.0,
    actions: Iterable[object] | None = None,
) -> Game:
    """Linear bandit: each action shows its own reward with noise.

    Model: phi_a = a, M_a = a' for actions a in R^d. Theta is the unit ball unless given.

    Example
    -------
    >>> linear_bandit([[1, 0], [0, 1], [0.9, 0.2]]).rank
    2

    Reference: example 1; Abbasi-Yadkori, Pal and Szepesvari (2011).
    """
    phi = real_array("features", features, ("k", "d"))
    theta = unit_ball(phi) if parameters is None else parameters
    return Game(phi, phi[:, None, :], theta, noise_std, actions)


def heteroscedastic_linear_bandit(
    features: ArrayLike = CORNERS_AND_MIDDLE,
    noise_std: ArrayLike = (1.0, 1.0, 1.0, 0.1),
    parameters: ParameterSet | None = None,
    *,
    actions: Iterable[object] | None = None,
) -> Game:
    """Heteroscedastic linear bandit: some actions measure better than others.

    Model: phi_a = a, M_a = a', noise rho(a). Maps and observations stay in the user's units; the
    estimate divides both by rho(a).

    Example
    -------
    >>> heteroscedastic_linear_bandit([[1, 0], [0, 1]], [1.0, 0.2]).noise_std
    array([1. , 0.2])

    Reference: example 1; Kirschner and Krause (2018).
    """
    phi = real_array("features", features, ("k", "d"))
    std = real_array("noise_std", noise_std, (len(phi),))
    return linear_bandit(phi, parameters, noise_std=std, actions=actions)


def bernoulli_bandit_linear(arms: int = 3) -> Game:
    """Bernoulli bandit: one success probability per arm, as a linear game.

    Model: Theta = [0, 1]^k, phi_a = e_a, M_a = e_a', observations 0 or 1 (rho = 1/2).

    Example
    -------
    >>> bernoulli_bandit_linear(5).d
    5

    Reference: example 9, and section 1 on modelling it linearly.
    """
    k = whole_number("arms", arms, at_least=1, at_most=MOST_ARMS)
    eye = np.eye(k)
    names = [f"arm {a}" for a in range(k)]
    box = Box(np.zeros(k), np.ones(k))
    return Game(eye, eye[:, None, :], box, 0.5, names, noise="bernoulli")


def unit_ball(features: Array) -> Ball:
    """Return the unit ball around 0 that fits the features."""
    return Ball(np.zeros(features.shape[1]), 1.0)
