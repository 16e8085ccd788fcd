"""Contextual games in which the distribution of contexts matters (examples 11 and 12)."""

from __future__ import annotations

import numpy as np

from partial_monitoring.contextual_game import ContextualGame
from partial_monitoring.errors import InvalidInput
from partial_monitoring.game import Game
from partial_monitoring.parameter_sets import Ball, Box
from partial_monitoring.validation import real_number, whole_number


def survey(products: int = 2, answer_rate: float = 0.3) -> ContextualGame:
    """Survey: some clients say whether they were satisfied, the others never answer.

    Model: theta_a in [0, 1] is the chance that product a satisfies. In the context "answers" (with
    probability ``answer_rate``) a 0/1 answer is seen, in the context "silent" nothing: what is
    learned from the first kind of client has to serve the second.

    Example
    -------
    >>> survey().at("silent").row_counts
    (0, 0)

    Reference: example 11, the non-informative context.
    """
    k = whole_number("products", products, at_least=1)
    rate = real_number("answer_rate", answer_rate)
    if not 0 <= rate <= 1:
        raise InvalidInput(f"answer_rate must lie between 0 and 1; got {answer_rate!r}.")
    eye, box = np.eye(k), Box(np.zeros(k), np.ones(k))
    names = tuple(f"product {a}" for a in range(k))
    answers = Game(eye, eye[:, None, :], box, 0.5, names, noise="bernoulli")
    silent = Game(eye, np.zeros((k, 0, k)), box, 0.5, names, noise="bernoulli")
    return ContextualGame((answers, silent), np.array([rate, 1 - rate]), ("answers", "silent"))


def greedy_exploration(contexts: int = 8) -> ContextualGame:
    """Greedy exploration: contexts differ so much that the best actions show all.

    Model: a linear bandit in the plane. Context z of n offers the unit vectors at the angles
    2 pi z / n and 2 pi z / n + pi / 2; whatever theta is, the best actions of all contexts together
    span the plane. Theta is the unit ball.

    Example
    -------
    >>> greedy_exploration(4).at(1).k
    2

    Reference: example 12; Bastani, Bayati and Khosravi (2021).
    """
    n = whole_number("contexts", contexts, at_least=2)
    disk = Ball(np.zeros(2), 1.0)
    games = []
    for angle in 2 * np.pi * np.arange(n) / n:
        turned = np.array([angle, angle + np.pi / 2])
        arms = np.stack([np.cos(turned), np.sin(turned)], axis=1)
        games.append(Game(arms, arms[:, None, :], disk, 1.0, ("left", "right")))
    return ContextualGame(tuple(games))
